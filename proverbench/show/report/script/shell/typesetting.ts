/* When to typeset: as formulas come near the window, for a few milliseconds at a time. */
import { parsed } from "./data";
import { typeset } from "./formulas";
import { load } from "./libraries";
import type { Formula } from "./pieces";
import type { Scope } from "./scope";

const GROUP = 8; // formulas that are typeset together
const PASSES = 3; // the sections of a long text are found, a text is read, its formulas are typeset
const TURN = 25; // milliseconds of work before the browser is free again
const TURN_COST = 20_000; // and how much it may make the browser lay out
const SEEN_COST = 3 * TURN_COST; // the same of what is done at once

/** A formula that waits, and the element that shows it. */
export interface Waiting {
  span: HTMLElement;
  piece: Formula;
  scope: Scope;
}

/** What is to be done, and what it costs to lay out: about as much as so many characters of plain text. */
export interface Action {
  run: () => void;
  cost: number;
}

/* A formula of one letter is a dozen boxes. */
const costOf = (formula: Formula) => 150 + 15 * formula.source.length;

const groups = new WeakMap<Element, Action[]>(); // an element -> what to do when it comes near the window
const waiting: Action[] = [];
let coming = false; // whether a turn is

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
    const actions = group.map(({ span, piece, scope }) => ({
      run: () => {
        if (span.isConnected && typeof katex !== "undefined") typeset(span, piece, scope);
      },
      cost: costOf(piece),
    }));
    whenNear(group[0].span, actions);
  }
}

/** Do what waits for an element, near or not, when the browser is free. */
export function demand(node: Element) {
  near.unobserve(node);
  node.classList.remove("untypeset");
  waiting.push(...(groups.get(node) ?? []));
  groups.delete(node);
  if (waiting.length) {
    document.documentElement.dataset.typeset = "no";
    parsed.then(turn);
  }
}

/* Go on when what was done is painted and the browser is free. */
function turn() {
  if (coming || !waiting.length) return;
  coming = true;
  requestAnimationFrame(() =>
    setTimeout(() => {
      coming = false;
      settle(TURN, TURN_COST);
    }),
  );
}

/* Do what is wanted, for at most so many milliseconds and at most so much to lay out; the rest follows in turns.
   Returns what it cost. */
function settle(budget: number, most = Infinity): number {
  if (document.readyState === "loading") return 0; // demand() has seen to it that this is called later
  if (waiting.length) {
    load("prose");
    load("math"); // a page without them shows the source
  }
  const deadline = performance.now() + budget;
  let done = 0;
  let cost = 0;
  while (done < waiting.length && cost < most && performance.now() < deadline) {
    cost += waiting[done].cost;
    waiting[done++].run();
  }
  waiting.splice(0, done);
  turn();
  document.documentElement.dataset.typeset = waiting.length ? "no" : "yes";
  return cost;
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
  let left = SEEN_COST;
  for (let pass = 0; pass < PASSES && left > 0 && demandSeen(); pass += 1)
    left -= settle(deadline - performance.now(), left);
  if (left > 0) settle(deadline - performance.now(), left);
}

window.addEventListener("beforeprint", () => {
  if (document.readyState === "loading") return;
  for (let untypeset; (untypeset = document.querySelectorAll(".untypeset")).length || waiting.length;) {
    for (const node of untypeset) demand(node);
    settle(30_000);
  }
});
