/* An explanation one press away: by pointer, touch and keyboard alike. */
import { h, type Child } from "./elements";

let dialog: HTMLDialogElement | null = null;

/** A button that tells what something is. */
export function explain(what: string, ...says: Child[]): HTMLButtonElement {
  return h(
    "button",
    { type: "button", class: "explain", "aria-label": `What is ${what}?`, onclick: () => show(what, says) },
    "?",
  );
}

function show(what: string, says: Child[]) {
  dialog ??= document.body.appendChild(h("dialog", { class: "explanation" }));
  const close = h("button", { type: "button", onclick: () => dialog!.close() }, "Close");
  const paragraphs = says.map((said) => (typeof said === "string" ? h("p", null, said) : said));
  dialog.setAttribute("aria-label", what);
  dialog.replaceChildren(h("h2", null, what), ...paragraphs.filter((part) => part instanceof Node), close);
  dialog.showModal();
}
