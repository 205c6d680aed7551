/* What the texts of one proof define for each other: macros, and the numbers of labelled equations. */
import { isText, pieces } from "./pieces";

export interface Scope {
  /** Name with its backslash, to what it stands for. */
  macros: Record<string, string>;
  /** Label of an equation, to its number. */
  labels: Map<string, number>;
}

export const EMPTY: Scope = { macros: {}, labels: new Map() };

const LONGEST = 200_000; // characters that are looked through for definitions
const DEFINITION =
  /\\(?:(?:re)?newcommand|providecommand|def|DeclareMathOperator)\*?\s*\{?\s*(\\[A-Za-z]+)\s*\}?\s*(?:\[\d\])?\s*\{/g;
// A label that a person would write; any other stays where it is, so that nothing can be hidden in one.
export const LABEL = /\\label\s*\{([A-Za-z0-9:._-]{1,30})\}/g;

/** The scope of a proof's texts, in their order. */
export function scopeOf(texts: (string | null | undefined)[]): Scope {
  const scope: Scope = { macros: {}, labels: new Map() };
  for (const text of texts) {
    if (!text || text.length > LONGEST) continue;
    if (text.includes("\\")) define(text, scope.macros);
    if (!text.includes("\\label")) continue;
    for (const piece of pieces(text)) {
      if (isText(piece)) continue;
      for (const [, label] of piece.source.matchAll(LABEL)) {
        if (!scope.labels.has(label)) scope.labels.set(label, scope.labels.size + 1);
      }
    }
  }
  return scope;
}

function define(text: string, macros: Scope["macros"]) {
  for (const found of text.matchAll(DEFINITION)) {
    const inside = found.index + found[0].length;
    const end = closingBrace(text, inside);
    if (end === -1 || end - inside > 200) continue;
    const body = text.slice(inside, end);
    macros[found[1]] = found[0].startsWith("\\Declare") ? `\\operatorname{${body}}` : body;
  }
}

/** Where the brace that was opened before `from` closes; -1 if it never does. */
export function closingBrace(text: string, from: number, to = text.length): number {
  let depth = 1;
  for (let at = from; at < to; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "{") depth += 1;
    else if (text[at] === "}" && --depth === 0) return at;
  }
  return -1;
}
