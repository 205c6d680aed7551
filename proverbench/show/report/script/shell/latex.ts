/* The text-mode LaTeX that models write, as Markdown: lists, theorems, headings, and commands within a line. */
import type MarkdownIt from "markdown-it";
import { closingBrace } from "./scope";

/** What a rule of markdown-it reads. */
export type StateInline = Parameters<Parameters<MarkdownIt["inline"]["ruler"]["before"]>[2]>[0];

const THEOREMS =
  "theorem|lemma|claim|proposition|corollary|definition|remark|example|case|fact|observation|proof|solution";
const LAYOUT = "center|quote|quotation|abstract|document|flushleft|flushright";
const STRUCTURE = new RegExp(
  [
    `\\\\(begin|end)\\s*\\{(enumerate|itemize|description|${THEOREMS}|${LAYOUT})(\\*?)\\}`,
    "[ \\t]*(?:\\[([^\\]\\n]{0,80})\\])?[ \\t]*",
    "|\\\\(item)(?![A-Za-z])[ \\t]*(?:\\[([^\\]\\n]{0,80})\\])?[ \\t]*",
    "|\\\\((?:sub){0,2}section|(?:sub)?paragraph|chapter)\\*?\\s*\\{([^{}\\n]{0,300})\\}",
    "|\\n",
  ].join(""),
  "g",
);
const WIDTH = 4; // columns of a list item's mark

/** Environments and headings as Markdown; what is none of these stays as it is. */
export function structured(source: string): string {
  if (!/\\(?:begin|item|(?:sub)*section|(?:sub)?paragraph|chapter)/.test(source)) return source;
  const lists: { kind: string; count: number }[] = [];
  const indent = () => " ".repeat(WIDTH * lists.length);
  return source.replace(STRUCTURE, (all, border, environment, _star, title, item, label, heading, text) => {
    if (all === "\n") return `\n${indent()}`;
    if (heading) return `\n\n${indent()}### ${text.trim()}\n\n${indent()}`;
    if (item) {
      const list = lists.at(-1);
      if (!list) return all;
      const mark = list.kind === "enumerate" ? `${(list.count += 1)}.` : "-";
      return `\n${" ".repeat(WIDTH * (lists.length - 1))}${mark.padEnd(WIDTH)}${label ? `**${label}** ` : ""}`;
    }
    if (/^(?:enumerate|itemize|description)$/.test(environment)) {
      if (border === "begin") lists.push({ kind: environment, count: 0 });
      else if (lists.pop() === undefined) return all;
      return `\n\n${indent()}`;
    }
    if (new RegExp(`^(?:${LAYOUT})$`).test(environment)) return `\n\n${indent()}`;
    if (border === "end") return environment === "proof" ? ` ∎\n\n${indent()}` : `\n\n${indent()}`;
    const name = environment[0].toUpperCase() + environment.slice(1);
    return `\n\n${indent()}**${name}${title ? ` (${title})` : ""}.** `;
  });
}

const STYLES: Record<string, string> = {
  textbf: "strong",
  emph: "em",
  textit: "em",
  textsl: "em",
  texttt: "code",
  underline: "u",
  textsc: "span",
  textrm: "span",
  textup: "span",
  text: "span",
  mbox: "span",
};
const SIGNS: Record<string, string> = {
  qed: "∎",
  qedsymbol: "∎",
  qedhere: "∎",
  blacksquare: "■",
  ldots: "…",
  dots: "…",
  S: "§",
  quad: "\u2003",
  qquad: "\u2003\u2003",
  newline: "\n",
  noindent: "",
  medskip: "",
  smallskip: "",
  bigskip: "",
  hfill: " ",
};
const COMMAND = /\\([A-Za-z]+)\*?/y;

/** Have Markdown read commands within a line, and `\\` at the end of one. */
export function useLatex(md: MarkdownIt) {
  md.inline.ruler.before("escape", "latex", (state, silent) => {
    if (state.src[state.pos] !== "\\") return false;
    if (lineBreak(state, silent)) return true;
    COMMAND.lastIndex = state.pos;
    const [all, name] = COMMAND.exec(state.src) ?? [];
    if (all === undefined || name === undefined) return false;
    const after = state.pos + all.length;
    if (Object.hasOwn(SIGNS, name)) return sign(state, SIGNS[name], after, silent);
    return Object.hasOwn(STYLES, name) && styled(state, STYLES[name], after, silent);
  });
}

function lineBreak(state: StateInline, silent: boolean): boolean {
  const found = /^\\\\(?:\[[\d.]{1,6}(?:pt|em|ex|mm|cm)\])?[ \t]*(?=\n|$)/.exec(
    state.src.slice(state.pos, state.pos + 30),
  );
  if (!found || state.pos + found[0].length > state.posMax) return false;
  if (!silent) state.push("hardbreak", "br", 0);
  state.pos += found[0].length;
  return true;
}

function sign(state: StateInline, shown: string, after: number, silent: boolean): boolean {
  // Like TeX, a command takes the white space after it along, and an empty group.
  const rest = /^(?:\{\}|[ \t]+)?/.exec(state.src.slice(after, after + 40))![0];
  if (!silent) state.push("text", "", 0).content = shown + (rest.startsWith(" ") && shown.trim() ? " " : "");
  state.pos = after + rest.length;
  return true;
}

function styled(state: StateInline, tag: string, after: number, silent: boolean): boolean {
  if (state.src[after] !== "{") return false;
  const end = closingBrace(state.src, after + 1, state.posMax);
  if (end === -1) return false;
  if (!silent) {
    const most = state.posMax;
    state.push("styled_open", tag, 1);
    state.pos = after + 1;
    state.posMax = end;
    state.md.inline.tokenize(state);
    state.posMax = most;
    state.push("styled_close", tag, -1);
  }
  state.pos = end + 1;
  return true;
}
