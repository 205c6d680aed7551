/* When to typeset: as formulas come near the window, for a few milliseconds at a time. */
import { parsed } from "./data";
import { typeset } from "./formulas";
import { load } from "./libraries";
import type { Formula } from "./pieces";
import type { Scope } from "./scope";

const GROUP = 8; // formulas that are typeset together
const PASSES = 2; // a text is read first, then its formulas are typeset
const TURN = 25; // milliseconds of work before the browser is free again

/** A formula that waits, and the element that shows it. */
export interface Waiting {
  span: HTMLElement;
  piece: Formula;
  scope: Scope;
}

type Action = () => void;
const groups = new WeakMap<Element, Action[]>(); // an element -> what to do when it comes near the window
const waiting: Action[] = [];
let scheduled = false;

const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) demand(target);
  },
  { rootMargin: "600px 0px" },
);

/** Do something for an element when it comes near the window. */
export function whenNear(node: Element, actions: Action[]) {
  groups.set(node, actions);
  node.classList.add("untypeset");
  near.observe(node);
}

/** Typeset formulas as they come near the window. */
export function typesetLater(formulas: Waiting[]) {
  for (let at = 0; at < formulas.length; at += GROUP) {
    const group = formulas.slice(at, at + GROUP);
    const actions = group.map(({ span, piece, scope }) => () => {
      if (span.isConnected && typeof katex !== "undefined") typeset(span, piece, scope);
    });
    whenNear(group[0].span, actions);
  }
}

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

/* Do what is wanted, for at most so many milliseconds; the rest follows when the browser is free. */
function settle(budget: number) {
  if (document.readyState === "loading") return; // demand() has seen to it that this is called later
  if (waiting.length) {
    load("prose");
    load("math"); // a page without them shows the source
  }
  const deadline = performance.now() + budget;
  let done = 0;
  while (done < waiting.length && performance.now() < deadline) waiting[done++]();
  waiting.splice(0, done);
  scheduled = waiting.length > 0;
  if (scheduled) setTimeout(() => settle(TURN));
  document.documentElement.dataset.typeset = scheduled ? "no" : "yes";
}

function demandSeen(): boolean {
  const all = [...document.querySelectorAll(".untypeset")];
  // All places are asked for before anything changes: the browser then lays the page out once.
  const seen = all.filter(
    (node) => !node.closest("details:not([open])") && node.getBoundingClientRect().top < innerHeight,
  );
  seen.forEach(demand);
  return seen.length > 0;
}

/** Do at once what can be seen, so that nobody sees it change. */
export function settleSeen(budget: number) {
  const deadline = performance.now() + budget;
  for (let pass = 0; pass < PASSES && demandSeen(); pass += 1) settle(deadline - performance.now());
  settle(deadline - performance.now());
}

window.addEventListener("beforeprint", () => {
  for (let untypeset; (untypeset = document.querySelectorAll(".untypeset")).length;) {
    for (const node of untypeset) demand(node);
    settle(30_000);
  }
});
