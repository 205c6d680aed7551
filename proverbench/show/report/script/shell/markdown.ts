/* Markdown as elements: read by markdown-it into tokens, of which elements are made here. No markup is ever parsed from a
   text, links and images stay as they are written, and nothing that a text says can vanish or be drawn as another thing. */
import type MarkdownIt from "markdown-it";
import { h } from "./elements";
import { structured, useLatex, type StateInline } from "./latex";

type Token = ReturnType<MarkdownIt["parse"]>[number];

let reader: MarkdownIt | null = null;

/** Whether the library is there. */
export const canRead = () => typeof markdownit !== "undefined";

function read(): MarkdownIt {
  if (reader) return reader;
  reader = markdownit("commonmark", { html: false, breaks: false }).enable("table");
  // Links could lead away, indented lines are no code, `> 0` and `+ 1` at the start of a line are mathematics.
  reader.disable([
    "html_block",
    "html_inline",
    "link",
    "image",
    "autolink",
    "entity",
    "reference",
    "code",
    "lheading",
    "blockquote",
  ]);
  useLatex(reader);
  wholeWords(reader);
  noPlusLists(reader);
  return reader;
}

/* `2*3*4` is a product: emphasis begins and ends at the border of a word, with `*` as with `_`. */
function wholeWords(md: MarkdownIt) {
  const State = md.inline.State as any;
  const scan = State.prototype.scanDelims;
  if (scan.wholeWords) return;
  State.prototype.scanDelims = function (this: StateInline, start: number) {
    return scan.call(this, start, false);
  };
  State.prototype.scanDelims.wholeWords = true;
}

/* `+ 1` at the start of a line is a sum, not a list. */
function noPlusLists(md: MarkdownIt) {
  const { ruler } = md.block;
  const rule = (ruler as any).__rules__.find(({ name }: { name: string }) => name === "list").fn as Parameters<
    typeof ruler.at
  >[1];
  const list: typeof rule = (state, line, end, silent) =>
    state.src[state.bMarks[line] + state.tShift[line]] !== "+" && rule(state, line, end, silent);
  ruler.at("list", list, { alt: ["paragraph", "reference", "blockquote"] });
}

/** Where the elements of a text go, and how its plain parts are made. */
export interface Fill {
  (node: Node & ParentNode, text: string): void;
  /** The text as it was written, where Markdown shows it as it is (code). */
  source(text: string): string;
}

/** Append a text to a node. */
export function append(node: HTMLElement, source: string, fill: Fill) {
  const text = structured(source);
  const lines = text.split("\n");
  build(read().parse(text, {}), node, fill, lines);
}

/** Append a text of one line to a node, without lists and headings. */
export function appendInline(node: HTMLElement, source: string, fill: Fill) {
  build(read().parseInline(source, {}), node, fill, []);
}

const PLAIN = new Set([
  "p",
  "ul",
  "ol",
  "li",
  "table",
  "thead",
  "tbody",
  "tr",
  "th",
  "td",
  "hr",
  "strong",
  "em",
  "u",
  "code",
  "span",
  "br",
]);

function build(tokens: Token[], into: HTMLElement, fill: Fill, lines: string[]) {
  const open: HTMLElement[] = [into];
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    const parent = open.at(-1)!;
    if (token.type === "table_open" && loses(token, lines)) {
      parent.append(h("pre", null, fill.source(lines.slice(...token.map!).join("\n"))));
      while (tokens[at].type !== "table_close") at += 1;
    } else if (token.type === "inline") build(token.children ?? [], parent, fill, lines);
    else if (token.type === "text") fill(parent, token.content);
    else if (token.type === "softbreak") parent.append("\n");
    else if (token.type === "code_inline") parent.append(h("code", null, fill.source(token.content)));
    else if (token.type === "fence") parent.append(fence(token, fill));
    else if (token.hidden) continue;
    else if (token.nesting === -1) open.pop();
    else {
      const node = element(token);
      parent.append(node);
      if (token.nesting === 1) open.push(node);
    }
  }
}

function element(token: Token): HTMLElement {
  // Headings of a proof are none of the page.
  if (token.type === "heading_open") return h("p", { class: `heading-${token.tag.slice(1)}` });
  const node = h((PLAIN.has(token.tag) ? token.tag : "span") as "span");
  if (token.type === "list_item_open" && token.info) node.setAttribute("value", token.info);
  if (token.type === "bullet_list_open") node.dataset.mark = token.markup;
  if (token.tag === "ol" && token.markup === ")") node.dataset.mark = ")";
  return node;
}

function fence(token: Token, fill: Fill) {
  const info = token.info.trim();
  return h(
    "div",
    { class: "fence" },
    info ? h("p", { class: "info" }, fill.source(info)) : null,
    h("pre", null, fill.source(token.content)),
  );
}

/* Whether a row has more cells than the head: Markdown leaves them out. */
function loses(token: Token, lines: string[]): boolean {
  const cells = (line: string) =>
    line
      .replace(/\\\|/g, "")
      .replace(/^\s*\||\|\s*$/g, "")
      .split("|").length;
  const [from, to] = token.map!;
  const rows = lines.slice(from, to);
  return rows.some((line) => cells(line) > cells(rows[0]));
}
