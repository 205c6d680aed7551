/* Libraries are loaded when they are wanted, and what can wait waits until the page stands. */

const unshaped: (() => void)[] = []; // what waits for D3

/** markdown-it ("prose"), KaTeX ("math") and D3 with Plot ("plots") are in templates, which cost next to nothing. Moved into the document, their
    scripts run at once: they are those that the parser made, and that the page's policy knows by their hashes. */
export function load(name: "math" | "plots" | "prose") {
  const template = document.readyState === "loading" ? null : document.getElementById(`library-${name}`);
  if (!(template instanceof HTMLTemplateElement)) return; // not there yet, there already, or a page without it
  document.head.append(template.content);
  template.remove();
  if (name === "plots") for (const shape of unshaped.splice(0)) shape();
}

/** Run an action that needs D3: now, or as soon as it is there. */
export function withD3(action: () => void) {
  if (typeof d3 === "undefined") unshaped.push(action);
  else action();
}

const loaded = new Promise<void>((go) => {
  if (document.readyState === "complete") go();
  else window.addEventListener("load", () => go());
});

const idle = () =>
  new Promise<void>((go) =>
    "requestIdleCallback" in window ? requestIdleCallback(() => go(), { timeout: 500 }) : setTimeout(go, 50),
  );

export const painted = () => new Promise<void>((go) => requestAnimationFrame(() => requestAnimationFrame(() => go())));

/** Whether the file is read to its end, and what could be shown then has been painted. */
export let standing = false;

export const stands = loaded.then(painted).then(() => {
  standing = true;
});

// When nothing else is to be done, so that the first proof that is looked at need not wait.
stands
  .then(idle)
  .then(idle)
  .then(() => (load("prose"), load("math")));
