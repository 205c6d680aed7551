/* The texts of the proof that is shown: they share what they define. */
import type { Chunk, Item } from "./model";
import { h, scopeOf, settle, text } from "./shell";

let scope = scopeOf([]);

/** Take what the texts of a proof define: macros, and labels of equations. */
export function takeScope(item: Item, content: Chunk) {
  const problem = content.problems[item.problem];
  scope = scopeOf([problem.text, problem.reference, ...(content.proofs[item.place].steps ?? [])]);
}

/** A text of that proof, as an element. */
export const prose = (source: string | null | undefined, tag: "div" | "span" = "div") => text(source, { tag, scope });

/** Shows texts as they came, or as they are meant. */
export function rawButton() {
  const button = h("button", { type: "button", class: "quiet raw-toggle", title: "Text as it came (t)" });
  const label = () => {
    button.textContent = PB.isRaw() ? "Formatted text" : "Raw text";
    button.setAttribute("aria-pressed", String(PB.isRaw()));
  };
  label();
  button.addEventListener("click", () => {
    PB.toggleRaw();
    label();
    settle(80);
  });
  return button;
}

/** The button that shows texts as they came. */
export const pressRaw = () => document.querySelector<HTMLElement>(".raw-toggle")?.click();
