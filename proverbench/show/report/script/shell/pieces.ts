/* Prose with mathematics, cut into text and formulas. */

const LONGEST = 8000; // characters of a formula that may be one at all

const ENVIRONMENTS = new Set(
  (
    "equation align alignat gather aligned alignedat gathered split array cases rcases dcases drcases matrix pmatrix " +
    "bmatrix Bmatrix vmatrix Vmatrix smallmatrix CD"
  ).split(" "),
);

export interface Text {
  text: string;
}

export interface Formula {
  formula: string;
  display: boolean;
  /** The formula with its delimiters, as it was written. */
  source: string;
}

export type Piece = Text | Formula;
export const isText = (piece: Piece | undefined): piece is Text => piece !== undefined && "text" in piece;

type Next = (closer: string, from: number) => number;

/** Cut prose into text and formulas, in one pass.
    A dollar opens a formula only before a non-space, and closes one only after a non-space and not before a digit, so
    that "$5 and $6" stays text. What never closes is text. */
export const pieces = (source: string): Piece[] => [...eachPiece(source)];

/** The same, one at a time. */
export function* eachPiece(source: string): Generator<Piece> {
  const opener = /\\\\|\\\$|\\\(|\\\[|\$\$?|\\begin\{([A-Za-z]{1,20})\*?\}/g;
  const next = finder(source);
  let from = 0;
  for (let match; (match = opener.exec(source));) {
    const [open, environment] = match;
    const start = match.index;
    const inside = start + open.length;
    const [end, closer] = closing(source, open, environment, inside, next);
    if (end === -1) {
      if (open === "$$") opener.lastIndex = start + 2;
      continue;
    }
    const after = end + closer.length;
    if (start > from) yield { text: source.slice(from, start) };
    const whole = source.slice(start, after);
    const formula = environment ? whole : source.slice(inside, end);
    yield { formula, display: open !== "$" && open !== "\\(", source: whole };
    from = opener.lastIndex = after;
  }
  if (from < source.length) yield { text: source.slice(from) };
}

/* Where a closer comes next: every closer is searched for once, however many openers there are. */
function finder(source: string): Next {
  const known = new Map<string, number>();
  return (closer, from) => {
    let at = known.get(closer);
    if (at === undefined || (at !== -1 && at < from)) known.set(closer, (at = source.indexOf(closer, from)));
    return at;
  };
}

/* Where the inside of a formula ends, -1 if it never does, and with what. */
function closing(source: string, open: string, environment: string, inside: number, next: Next): [number, string] {
  if (open === "\\(") return [next("\\)", inside), "\\)"];
  if (open === "\\[") return [next("\\]", inside), "\\]"];
  if (open === "$$") return [next("$$", inside), "$$"];
  if (open === "$") return [closingDollar(source, inside, next), "$"];
  if (!environment || !ENVIRONMENTS.has(environment)) return [-1, ""];
  const closer = open.replace("begin", "end");
  return [next(closer, inside), closer];
}

function closingDollar(source: string, inside: number, next: Next): number {
  if (/\s/.test(source[inside] ?? " ")) return -1;
  let at = next("$", inside);
  while (at !== -1 && source[at - 1] === "\\") at = next("$", at + 1);
  if (at <= inside || /\s/.test(source[at - 1]) || /[0-9]/.test(source[at + 1] ?? "")) return -1;
  return at - inside < LONGEST && /\n\s*\n/.test(source.slice(inside, at)) ? -1 : at;
}
