/* Prose with mathematics, as an element: Markdown and text-mode LaTeX as they are meant, the text as it came one key away.
   It is read when it comes near the window; a long text comes in sections. */
import { h } from "./elements";
import { append, appendInline, canRead, type Fill } from "./markdown";
import { eachPiece, isText, pieces, type Formula } from "./pieces";
import { EMPTY, type Scope } from "./scope";
import { demand, typesetLater, whenNear, type Waiting } from "./typesetting";
import { visible } from "./visible";

const LONG = 12_000; // weight of a text that comes in sections
const SECTION = 3000; // weight of a section, at most
const MARK = 15; // a formula's delimiter weighs as much as so many characters: a formula of one letter is a dozen boxes
const AHEAD = 2000; // characters beyond a section that are looked at, so that no formula is cut
const GROUP = 100; // sections that are made in one turn

interface Look {
  tag?: "div" | "span";
  className?: string;
  /** What the texts around it define. */
  scope?: Scope;
}

const sources = new WeakMap<HTMLElement, () => void>(); // a text's element -> what fills it anew
let asTheyCame = false;

/** Show all texts as they came, or as they are meant; returns which. */
export function toggleRaw(): boolean {
  asTheyCame = !asTheyCame;
  for (const node of document.querySelectorAll<HTMLElement>(".prose")) sources.get(node)?.();
  return asTheyCame;
}

export const isRaw = () => asTheyCame;

export function text(
  source: string | null | undefined,
  { tag = "div", className = "prose", scope = EMPTY }: Look = {},
): HTMLElement {
  const node = h(tag, { class: className });
  const all = source ?? "";
  const show = () => {
    node.classList.toggle("as-it-came", asTheyCame);
    node.replaceChildren();
    if (all.length > LONG || weight(all) > LONG) node.append(...sections(all, scope));
    else if (canRead() && !asTheyCame) fill(node, all, scope);
    else part(node, all, scope);
  };
  sources.set(node, show);
  show();
  return node;
}

const MARKED = /[^\p{L}\p{N} .,;:'"()?!]/u; // what may mean more than it is

/* Until it is near, or can be read, a part is plain text, which a search on the page finds. */
function part(node: HTMLElement, source: string, scope: Scope): HTMLElement {
  node.append(visible(source));
  readLater(node, source, scope);
  return node;
}

function readLater(node: HTMLElement, source: string, scope: Scope) {
  if (asTheyCame || !MARKED.test(source)) return;
  whenNear(node, [{ run: () => fill(node, source, scope), cost: source.length }]);
}

// ------------------------------------------------------------ long texts

const DELIMITER = /\$|\\[()[\]]/g;
const weight = (source: string) => source.length + MARK * (source.match(DELIMITER)?.length ?? 0);

/* A long text in groups of sections: the first at once, the others when the browser is free. What is not near is never
   laid out, and of its groups only the near ones are watched. */
function sections(source: string, scope: Scope): HTMLElement[] {
  const cuts: string[] = [];
  let from = 0;
  while (cuts.length < GROUP && from < source.length) {
    const to = sectionEnd(source, from);
    cuts.push(source.slice(from, to));
    from = to;
  }
  const parts = cuts.map((cut) => h("div", { class: "section" }, cut));
  const group = h("div", { class: "sections" }, parts);
  whenNear(group, [{ run: () => parts.forEach((node, at) => readLater(node, cuts[at], scope)), cost: 0 }]);
  return from < source.length ? [group, rest(source.slice(from), scope)] : [group];
}

function rest(source: string, scope: Scope): HTMLElement {
  const node = h("div", { class: "sections" });
  const run = () => {
    if (node.isConnected) node.replaceWith(...sections(source, scope));
    else wait(); // until it is shown
  };
  const wait = () => whenNear(node, [{ run, cost: GROUP * SECTION }]);
  wait();
  demand(node);
  return node;
}

/* Where a section ends: where a line is empty, else where one ends, else where a word ends, else where it must; in no
    formula that is shorter than AHEAD. */
function sectionEnd(source: string, from: number): number {
  const most = heaviest(source, from);
  if (most === source.length) return most;
  // Formulas have no places to cut.
  const words = pieces(source.slice(from, most)).map((piece) =>
    isText(piece) ? piece.text : "x".repeat(piece.source.length),
  );
  const seen = words.join("");
  for (const mark of ["\n\n", "\n", " "]) {
    const at = seen.lastIndexOf(mark);
    if (at >= seen.length / 2) return from + at + mark.length;
  }
  const pair = /[\ud800-\udbff]/.test(source[most - 1]);
  return pair ? most - 1 : most;
}

/* The furthest end of a section by its weight. */
function heaviest(source: string, from: number): number {
  let left = SECTION;
  let at = from;
  for (const piece of eachPiece(source.slice(from, from + SECTION + AHEAD))) {
    const words = isText(piece) ? piece.text : piece.source;
    const cost = weight(words);
    if (cost > left && isText(piece)) return at + Math.min(Math.max(left, 1), words.length);
    if (cost > left && at > from) return at;
    left -= cost;
    at += words.length;
  }
  return at;
}

// ------------------------------------------------------------ one part

// Formulas are kept out of Markdown's way: each is one character of its own there, which no text may hold.
const FIRST = 0xf0000; // a plane for private use; a text's own characters of it are spelled out
const MOST = 0xfffd;
const HELD = /[\u{f0000}-\u{ffffd}]/gu;

function fill(node: HTMLElement, source: string, scope: Scope) {
  const formulas: Formula[] = [];
  const held = pieces(source)
    .map((piece) => {
      if (isText(piece))
        return visible(piece.text).replace(HELD, (one) => `⟨U+${one.codePointAt(0)!.toString(16).toUpperCase()}⟩`);
      return formulas.length >= MOST ? piece.source : String.fromCodePoint(FIRST + formulas.push(piece) - 1);
    })
    .join("");
  const formulaOf = (one: string) => formulas[one.codePointAt(0)! - FIRST];
  const waiting: Waiting[] = [];
  const plain = ((into, words) => {
    let from = 0;
    for (const match of words.matchAll(HELD)) {
      if (match.index > from) into.append(referred(words.slice(from, match.index), scope));
      from = match.index + match[0].length;
      // A full stop must not begin a line; a browser would break before it.
      const piece = formulaOf(match[0]);
      const short = !piece.display && piece.source.length < 40;
      const [stop] = (short && words.slice(from, from + 4).match(/^[.,;:!?)]+/)) || [""];
      from += stop.length;
      const span = h("span", { class: piece.display ? "math display" : "math" }, piece.source);
      into.append(stop ? h("span", { class: "bound" }, span, stop) : span);
      waiting.push({ span, piece, scope });
    }
    if (from < words.length) into.append(referred(words.slice(from), scope));
  }) as Fill;
  plain.source = (words) => words.replace(HELD, (one) => formulaOf(one).source);
  node.replaceChildren();
  if (!canRead()) plain(node, held);
  else if (!MARKED.test(held)) plain(node, held);
  else if (node.tagName === "SPAN") appendInline(node, held, plain);
  else append(node, held, plain);
  typesetLater(waiting);
}

/* Words with references to equations as the numbers that these have. */
function referred(words: string, { labels }: Scope): string {
  if (!labels.size) return words;
  return words.replace(/\\(eq)?ref\s*\{([^{}]{1,30})\}/g, (all, eq, label) => {
    const number = labels.get(label);
    return number === undefined ? all : eq ? `(${number})` : String(number);
  });
}
