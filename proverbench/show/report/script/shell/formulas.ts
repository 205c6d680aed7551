/* One formula, typeset by KaTeX. A formula must neither kill the page nor deceive its reader: what is nested too deeply,
   too large, moved out of its place or holds what cannot be seen is shown as source. Colours are those of the page, and
   what a formula hides is shown as hidden (page.css). */
import type { Formula } from "./pieces";
import { EMPTY, LABEL, type Scope } from "./scope";
import { unseen, visible } from "./visible";

export const LONGEST = 8000; // characters
const DEEPEST = 60; // braces within braces
const DEEPEST_LAYOUT = 430; // boxes within boxes: what 60 nested exponents come to
const LARGEST_LAYOUT = 20_000; // boxes

/* What has no box of its own in KaTeX's tree of boxes has no children either. */
interface Box {
  children?: Box[];
  toNode(): Node;
}

export function typeset(span: HTMLElement, piece: Formula, scope: Scope = EMPTY) {
  try {
    const fault = tooMuch(piece.formula);
    if (fault) throw new Error(fault);
    const boxes = layout(piece, scope);
    span.replaceChildren(boxes.toNode());
    span.dataset.source = piece.source;
    if (MOVING.test(piece.formula) && leaves(span)) throw new Error("moves text out of its place");
  } catch (error) {
    asSource(span, piece, (error as Error).message);
  }
}

/** Show a formula as its source, and say why. */
export function asSource(span: HTMLElement, piece: Formula, why: string) {
  span.className = "math source";
  span.title = `Shown as source: ${visible(why.slice(0, 200))}`;
  delete span.dataset.source;
  span.textContent = visible(piece.source);
}

function tooMuch(formula: string): string | null {
  if (formula.length > LONGEST) return "too long to typeset";
  if (unseen(formula)) return "holds characters that cannot be seen";
  let depth = 0;
  for (const [brace] of formula.matchAll(/\\[^]|[{}]/g)) {
    if (brace === "{" && ++depth > DEEPEST) return "nested too deeply";
    if (brace === "}") depth -= 1;
  }
  return null;
}

function layout(piece: Formula, { macros, labels }: Scope): Box {
  let refused = false;
  // An unescaped % would hide the rest of its line.
  const formula = numbered(piece.formula, labels).replace(/(\\[^])|%/g, (_, escaped) => escaped ?? "\\%");
  const boxes: Box = (katex as any).__renderToDomTree(formula, {
    displayMode: piece.display,
    throwOnError: true,
    strict: "ignore",
    maxExpand: 500,
    maxSize: 8,
    macros: { ...TEXT_MACROS, ...macros },
    trust: () => {
      refused = true; // \href, \includegraphics, \htmlClass and the like: shown as source, so that nothing vanishes
      return false;
    },
  });
  if (refused) throw new Error("uses a command that is not allowed here");
  const fault = tooLarge(boxes);
  if (fault) throw new Error(fault);
  return boxes;
}

// What LaTeX has and KaTeX has not.
const TEXT_MACROS = {
  "\\mbox": "\\text{#1}",
  "\\qed": "\\square",
  "\\qedhere": "\\square",
  "\\mathbbm": "\\mathbb{#1}",
  "\\hfill": "\\quad",
};

/* Labels and references of equations as numbers; without a label an equation has none. */
function numbered(formula: string, labels: Scope["labels"]): string {
  const starred = formula.replace(/\\(begin|end)\{(equation|align|gather|alignat)\}/g, "\\$1{$2*}");
  if (!labels.size) return starred;
  return starred
    .replace(LABEL, (all, label) => (labels.has(label) ? `\\tag{${labels.get(label)}}` : all))
    .replace(/\\eqref\s*\{([^{}]{1,30})\}/g, (all, label) =>
      labels.has(label) ? `\\text{(${labels.get(label)})}` : all,
    );
}

function tooLarge(boxes: Box): string | null {
  let count = 0;
  const open: [Box, number][] = [[boxes, 1]];
  for (let next; (next = open.pop());) {
    const [box, depth] = next;
    count += 1;
    if (depth > DEEPEST_LAYOUT) return "nested too deeply";
    if (count > LARGEST_LAYOUT) return "too large to typeset";
    for (const child of box.children ?? []) open.push([child, depth + 1]);
  }
  return null;
}

// Commands that move what they typeset; others keep it where it is.
const MOVING = /\\(?:[lrc]lap|math[lrc]lap|raisebox|m?kern|[mh]skip|m?hspace|smash|lower|raise)(?![A-Za-z])/;

/* Whether any part of a formula is outside the block of text that it belongs to, where it is cut off. */
function leaves(span: HTMLElement): boolean {
  const block = span.closest(".prose")?.getBoundingClientRect();
  const scrolls = span.classList.contains("display"); // a wide formula of its own scrolls, but only to the right
  if (!block?.width) return false;
  for (const part of span.querySelectorAll(".katex-html *")) {
    if (part.firstElementChild || !part.textContent?.trim()) continue;
    const { left, right, top, bottom } = part.getBoundingClientRect();
    const outside = left < block.left - 1 || top < block.top - 4 || bottom > block.bottom + 4;
    if (outside || (!scrolls && right > block.right + 1)) return true;
  }
  return false;
}
