/* Mathematics is typeset by KaTeX when it comes near the window, for a few milliseconds at a time. */
import { parsed } from "./data";
import { h } from "./elements";
import { load } from "./libraries";
import { LONGEST_FORMULA, isText, pieces, type Formula } from "./pieces";
import { visible } from "./visible";

const GROUP = 8; // formulas that are typeset together
const TURN = 25; // milliseconds of typesetting before the browser is free again

type Waiting = [HTMLElement, Formula];
const groups = new WeakMap<Element, Waiting[]>(); // first formula of a group -> the group, while it is far from the window
const waiting: Waiting[] = []; // formulas to typeset now
let scheduled = false;

const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) demand(target);
  },
  { rootMargin: "600px 0px" },
);

function demand(node: Element) {
  near.unobserve(node);
  node.classList.remove("untypeset");
  waiting.push(...(groups.get(node) ?? []));
  groups.delete(node);
  if (waiting.length && !scheduled) {
    scheduled = true;
    document.documentElement.dataset.typeset = "no";
    parsed.then(() => setTimeout(() => settle(TURN)));
  }
}

interface Look {
  tag?: "div" | "span";
  className?: string;
}

/** Prose with mathematics, as an element. */
export function text(source: string | null | undefined, { tag = "div", className = "prose" }: Look = {}): HTMLElement {
  const node = h(tag, { class: className });
  const found: Waiting[] = [];
  const cut = pieces(source ?? "");
  cut.forEach((piece, at) => {
    if (isText(piece)) {
      node.append(visible(piece.text));
      return;
    }
    const span = h("span", { class: piece.display ? "math display" : "math" }, visible(piece.source));
    // A full stop must not begin a line; a browser would break before it.
    const after = cut[at + 1];
    const short = !piece.display && piece.source.length < 40 && isText(after);
    const [stop] = (short && after.text.match(/^[.,;:!?)]+/)) || [""];
    if (stop && isText(after)) cut[at + 1] = { text: after.text.slice(stop.length) };
    node.append(stop ? h("span", { class: "bound" }, span, stop) : span);
    if (piece.formula.length > LONGEST_FORMULA) asSource(span, piece, "too long to typeset");
    else found.push([span, piece]);
  });
  for (let at = 0; at < found.length; at += GROUP) {
    const [first] = found[at];
    groups.set(first, found.slice(at, at + GROUP));
    first.classList.add("untypeset");
    near.observe(first);
  }
  return node;
}

/* Typeset what is wanted, for at most so many milliseconds; the rest follows when the browser is free. */
function settle(budget: number) {
  if (document.readyState === "loading") return; // demand() has seen to it that this is called later
  if (waiting.length) load("math");
  if (typeof katex === "undefined") waiting.length = 0; // a page without KaTeX shows the source
  const deadline = performance.now() + budget;
  while (waiting.length && performance.now() < deadline) {
    const [span, piece] = waiting.shift()!;
    if (span.isConnected) typeset(span, piece);
  }
  scheduled = waiting.length > 0;
  if (scheduled) setTimeout(() => settle(TURN));
  document.documentElement.dataset.typeset = scheduled ? "no" : "yes";
}

/** Typeset at once what can be seen, so that nobody sees it change. */
export function settleSeen(budget: number) {
  for (const node of document.querySelectorAll(".untypeset")) {
    if (!node.closest("details:not([open])") && node.getBoundingClientRect().top < innerHeight) demand(node);
  }
  settle(budget);
}

window.addEventListener("beforeprint", () => {
  for (const node of document.querySelectorAll(".untypeset")) demand(node);
  settle(30_000);
});

function typeset(span: HTMLElement, piece: Formula) {
  let refused = false;
  // An unescaped % would hide the rest of its line.
  const formula = piece.formula.replace(/(\\[^])|%/g, (_, escaped) => escaped ?? "\\%");
  try {
    katex.render(formula, span, {
      displayMode: piece.display,
      throwOnError: true,
      strict: "ignore",
      maxExpand: 500,
      maxSize: 8,
      trust: () => {
        refused = true; // \href, \includegraphics, \htmlClass and the like: shown as source, so that nothing vanishes
        return false;
      },
    });
    if (refused) asSource(span, piece, "uses a command that is not allowed here");
    else span.dataset.source = piece.source;
  } catch (error) {
    asSource(span, piece, (error as Error).message);
  }
}

function asSource(span: HTMLElement, piece: Formula, why: string) {
  span.className = "math source";
  span.title = `Shown as source: ${why.slice(0, 200)}`;
  span.textContent = visible(piece.source);
}
