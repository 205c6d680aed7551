/* The texts of the proof that is shown: they share what they define. */
import type { Chunk, Item } from "./model";
import { scopeOf, text } from "./shell";

let scope = scopeOf([]);

/** Take what the texts of a proof define: macros, and labels of equations. */
export function takeScope(item: Item, content: Chunk) {
  const problem = content.problems[item.problem];
  scope = scopeOf([problem.text, problem.reference, ...(content.proofs[item.place].steps ?? [])]);
}

/** A text of that proof, as an element. */
export const prose = (source: string | null | undefined, tag: "div" | "span" = "div") => text(source, { tag, scope });
