/* Prose with mathematics, as an element. A long text comes in sections that are filled as they come near the window. */
import { h } from "./elements";
import type { Macros } from "./formulas";
import { isText, pieces } from "./pieces";
import { typesetLater, whenNear, type Waiting } from "./typesetting";
import { visible } from "./visible";

const LONG = 12_000; // characters of a text that comes in sections
const SECTION = 3000; // characters of a section, about

interface Look {
  tag?: "div" | "span";
  className?: string;
}

export function text(source: string | null | undefined, { tag = "div", className = "prose" }: Look = {}): HTMLElement {
  const node = h(tag, { class: className });
  const all = source ?? "";
  if (all.length <= LONG) {
    fill(node, all);
    return node;
  }
  for (const part of sections(all)) {
    // Until it is near, a section is one plain text, which a search on the page finds.
    const section = h("div", { class: "section" }, part);
    whenNear(section, [() => (section.replaceChildren(), fill(section, part))]);
    node.append(section);
  }
  return node;
}

/** A long text, cut where a line is empty, else where one ends, else where a word ends, else where it must be. */
export function sections(source: string): string[] {
  const found: string[] = [];
  for (let from = 0; from < source.length;) {
    const to = from + SECTION >= source.length ? source.length : end(source, from + SECTION / 2, from + SECTION);
    found.push(source.slice(from, to));
    from = to;
  }
  return found;
}

function end(source: string, least: number, most: number): number {
  for (const mark of ["\n\n", "\n", " "]) {
    const at = source.lastIndexOf(mark, most - mark.length);
    if (at >= least) return at + mark.length;
  }
  const pair = /[\ud800-\udbff]/.test(source[most - 1]);
  return pair ? most - 1 : most;
}

function fill(node: HTMLElement, source: string, macros: Macros = {}) {
  const found: Waiting[] = [];
  const cut = pieces(source);
  cut.forEach((piece, at) => {
    if (isText(piece)) {
      node.append(visible(piece.text));
      return;
    }
    const span = h("span", { class: piece.display ? "math display" : "math" }, piece.source);
    // A full stop must not begin a line; a browser would break before it.
    const after = cut[at + 1];
    const short = !piece.display && piece.source.length < 40 && isText(after);
    const [stop] = (short && after.text.match(/^[.,;:!?)]+/)) || [""];
    if (stop && isText(after)) cut[at + 1] = { text: after.text.slice(stop.length) };
    node.append(stop ? h("span", { class: "bound" }, span, stop) : span);
    found.push({ span, piece, macros });
  });
  typesetLater(found);
}
