/* The top bar: links, the choice of colours, help. */
import { h, type Child } from "./elements";

interface Bar {
  links?: { href: string; label: string }[];
  help?: Child;
}

const THEMES = { auto: "◐ Auto", light: "☀ Light", dark: "☾ Dark" };
type Theme = keyof typeof THEMES;
const CHOICES = Object.keys(THEMES) as Theme[];

export function bar({ links = [], help = null }: Bar): { help(): void } {
  const nav = h(
    "nav",
    { "aria-label": "Parts of the page" },
    links.map(({ href, label }) => h("a", { href }, label)),
  );
  const header = document.querySelector("header.bar")!;
  header.querySelectorAll("nav, .tools, dialog").forEach((old) => old.remove());
  const tools = h("div", { class: "tools" }, themeButton());
  header.append(nav, tools);
  if (!help) return { help: () => {} };
  const form = h("form", { method: "dialog" }, h("button", { type: "submit" }, "Close"));
  const dialog = h("dialog", { "aria-label": "Help" }, help, form);
  form.addEventListener("submit", (event) => {
    event.preventDefault(); // the page's policy lets no form be sent, not even to a dialog
    dialog.close();
  });
  const open = () => dialog.showModal();
  tools.append(h("button", { type: "button", class: "quiet", "aria-label": "Help", onclick: open }, "?"));
  header.append(dialog);
  return { help: open };
}

function themeButton() {
  const button = h("button", { type: "button", class: "quiet" });
  let choice = storedTheme();
  const apply = () => {
    document.documentElement.dataset.theme = choice;
    button.textContent = THEMES[choice];
    button.setAttribute("aria-label", `Colours: ${choice}. Change`);
  };
  apply();
  button.addEventListener("click", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    apply();
    try {
      localStorage.setItem("theme", choice);
    } catch {
      // A page opened from a file may have no storage; the choice then lasts as long as the page.
    }
  });
  return button;
}

function storedTheme(): Theme {
  try {
    return CHOICES.find((name) => name === localStorage.getItem("theme")) ?? "auto";
  } catch {
    return "auto"; // no storage, as above
  }
}
