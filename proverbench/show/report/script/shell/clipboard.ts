/* The clipboard, and the line that tells screen readers what happened. */
import { h } from "./elements";

export async function copy(text: string) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function copyButton(label: string, content: () => string): HTMLButtonElement {
  const button = h("button", { type: "button", class: "quiet" }, label);
  button.addEventListener("click", async () => {
    await copy(content());
    button.textContent = "Copied";
    announce("Copied to the clipboard");
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

const status = h("div", { class: "offscreen", role: "status" });

export function announce(message: string) {
  status.textContent = message;
}

document.addEventListener("DOMContentLoaded", () => document.body.append(status));

// Copied mathematics is its source.
document.addEventListener("copy", (event) => {
  const selection = getSelection();
  if (!selection?.rangeCount || selection.isCollapsed) return;
  const part = selection.getRangeAt(0).cloneContents();
  const formulas = part.querySelectorAll<HTMLElement>("[data-source]");
  if (!formulas.length) return;
  for (const formula of formulas) formula.textContent = formula.dataset.source ?? "";
  event.clipboardData?.setData("text/plain", part.textContent ?? "");
  event.preventDefault();
});
