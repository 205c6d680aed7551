/* Labelling mode: one drawn proof at a time, the judge's verdicts hidden until the label is given. Addresses:
     #/label   the next proof that is open          #/label/KEY   a drawn proof */
import { askName } from "./annotator";
import { download } from "./download";
import { draftOf, findings, type Draft } from "./draft";
import { gradeControls, gradeIn } from "./grading";
import { isDone, OPEN, openStore, type Labelling, type State, type Store } from "./labels";
import type { Chunk, Item } from "./model";
import { progressView } from "./progress";
import { goToFile, isHere, problemSheets, runView } from "./proof";
import { announce, h, settle } from "./shell";
import { head, proofAt } from "./state";
import { pressRaw, prose, rawButton, takeScope } from "./texts";

interface Desk {
  labelling: Labelling;
  store: Store;
  at: number;
  item: Item;
  content: Chunk;
  draft: Draft;
  /** When the proof was opened, milliseconds. */
  since: number;
  /** Draws what depends on draft and state. */
  draw(): void;
  comment: HTMLTextAreaElement;
  node: HTMLElement;
}

let store: Store | null = null;
let desk: Desk | null = null;
const said: string[] = []; // proofs in the order in which they were labelled, for undoing

/** Whether labelling mode is what is shown, so that its keys hold. */
export const isLabelling = () => desk?.node.isConnected ?? false;

export async function showLabelling(main: Element, key: string | undefined) {
  const labelling = head.labelling;
  if (!labelling?.drawn.length) {
    main.replaceChildren(
      h("p", { class: "callout" }, "This page has no draw of proofs to label; see `proverbench label`."),
    );
    return;
  }
  store ??= await openStore(labelling);
  if (!labelling.served && !store.annotator) {
    main.replaceChildren(askName(() => (store = null)));
    return;
  }
  const at = key === undefined ? nextOpen(labelling, store) : labelling.drawn.findIndex(([drawn]) => drawn === key);
  if (at < 0) {
    main.replaceChildren(h("p", { class: "callout bad" }, `The draw has no proof ${key ?? ""}.`));
    return;
  }
  await open(main, labelling, store, at);
}

function nextOpen(labelling: Labelling, from: Store, after = -1): number {
  const order = labelling.drawn.map((_, at) => (after + 1 + at) % labelling.drawn.length);
  return order.find((at) => !isDone(from.states.get(labelling.drawn[at][0])!)) ?? Math.max(after, 0);
}

// ------------------------------------------------------------ one proof

async function open(main: Element, labelling: Labelling, kept: Store, at: number) {
  const [key] = labelling.drawn[at];
  const item = proofAt(labelling.run, key);
  if (!item) return;
  if (!(await isHere(item))) {
    goToFile(item);
    return;
  }
  const content: Chunk = await PB.chunk(item.chunk, head.version);
  const comment = h("textarea", {
    rows: 3,
    "aria-label": "Comment (c)",
    placeholder: "Comment ( c ): why it is wrong, or what is unclear",
  });
  const node = h("div", { class: "labelling" });
  desk = {
    labelling,
    store: kept,
    at,
    item,
    content,
    draft: draftOf(kept.states.get(key)!),
    since: performance.now(),
    draw: () => {},
    comment,
    node,
  };
  comment.value = kept.states.get(key)!.annotation.reviewer_comment;
  build(desk);
  main.replaceChildren(node);
  window.scrollTo(0, 0);
  settle(80);
  announce(`Proof ${at + 1} of ${labelling.drawn.length}`);
}

/* Whether the draft says something that can be saved. */
const isSaid = ({ draft, labelling }: Desk) => (labelling.scale ? draft.grade : draft.first) !== null;

function build(on: Desk) {
  const { item, content } = on;
  takeScope(item, content);
  const show = on.labelling.scale ? plainStep : (step: string, index: number) => stepChoice(on, step, index);
  const steps = (content.proofs[item.place].steps ?? []).map(show);
  const left = h(
    "div",
    { class: "left" },
    problemSheets(content.problems[item.problem]),
    h(
      "section",
      { class: "sheet" },
      h("h3", null, "Proof"),
      h("ol", { class: on.labelling.scale ? "steps" : "steps choose" }, steps),
    ),
  );
  const panel = h("div", { class: "panel" });
  const right = h("div", { class: "right", tabindex: 0, role: "region", "aria-label": "Your label" }, panel);
  const place = `Proof ${on.at + 1} of ${on.labelling.drawn.length}`;
  on.node.append(
    h(
      "div",
      { class: "heading" },
      h("h2", null, `${on.labelling.scale ? "What is this proof worth?" : "Is this proof right?"} ${place}`),
      rawButton(),
    ),
    h("div", { class: "sides" }, left, right),
  );
  const verdicts = h("div");
  right.append(verdicts);
  on.draw = () => {
    const state = on.store.states.get(item.key)!;
    steps.forEach((step, index) => {
      step.classList.toggle("by-human", on.draft.first === index);
      step.querySelector("button")?.setAttribute("aria-pressed", String(on.draft.first === index));
    });
    panel.replaceChildren(...controls(on, state));
    if (!isDone(state)) verdicts.replaceChildren();
    else if (!verdicts.firstChild) verdicts.append(verdictsOf(on));
  };
  on.draw();
}

const plainStep = (content: string) => h("li", null, h("div", null, prose(content.replace(/^\s*\n/, ""))));

function stepChoice(on: Desk, content: string, index: number) {
  const choose = () => {
    if (getSelection()?.isCollapsed ?? true) say(on, { first: on.draft.first === index ? null : index });
  };
  return h(
    "li",
    { id: `step-${index}`, onclick: choose },
    h(
      "button",
      {
        type: "button",
        class: "step-number",
        "aria-pressed": "false",
        "aria-label": `Step ${index} is the first wrong step`,
      },
      index,
    ),
    h("div", null, prose(content.replace(/^\s*\n/, ""))),
  );
}

/* What every judge of this very proof said. */
function verdictsOf({ item, content }: Desk) {
  const judged = content.proofs[item.place].runs;
  const said = item.runs.length > 1 ? "What the judges said" : "What the judge said";
  const views = item.runs.map((marks) =>
    runView(
      item,
      marks,
      judged.find((run) => run.run === marks[0]),
    ),
  );
  return h("div", null, h("h3", { class: "now" }, said), views);
}

// ------------------------------------------------------------ the controls

function controls(on: Desk, state: State): HTMLElement[] {
  const done = isDone(state);
  const press = (label: string, pressed: boolean, onclick: () => void) =>
    h("button", { type: "button", "aria-pressed": String(pressed), class: pressed ? "pressed" : "", onclick }, label);
  return [
    progressView(on.store, on.labelling),
    ...labelControls(on, press),
    on.comment,
    h(
      "div",
      { class: "choices" },
      h(
        "button",
        { type: "button", class: "main", onclick: () => (changed(on, state) ? save(on) : go(1)) },
        changed(on, state) || !done ? "Save (Enter)" : "Next (Enter)",
      ),
      press("Cannot say (u)", state.undecided, () => save(on, true)),
      h("button", { type: "button", disabled: !done && !said.length, onclick: () => undo(on) }, "Undo (z)"),
    ),
    walkView(on),
  ];
}

type Press = (label: string, pressed: boolean, onclick: () => void) => HTMLElement;

/* Where the first error is, or how many points the proof earns. */
function labelControls(on: Desk, press: Press): HTMLElement[] {
  const { draft } = on;
  const { scale } = on.labelling;
  if (scale) return gradeControls(scale, draft.grade, (grade, redraw) => say(on, { grade }, redraw));
  const number = h("input", {
    type: "number",
    min: 0,
    max: Math.max(on.item.steps - 1, 0),
    "aria-label": "First wrong step, counted from 0",
    oninput: (event: { target: HTMLInputElement }) => say(on, { first: stepIn(on, event.target.value) }, false),
  });
  number.value = draft.first !== null && draft.first >= 0 ? String(draft.first) : "";
  return [
    h(
      "div",
      { class: "choices" },
      press("✓ No error (a)", draft.first === -1, () => say(on, { first: draft.first === -1 ? null : -1 })),
    ),
    h(
      "div",
      { class: "choices" },
      h("label", null, "✗ First wrong step ", number),
      press("fatal (f)", draft.severity === "fatal", () => say(on, { severity: "fatal" })),
      press("recoverable (r)", draft.severity === "recoverable", () => say(on, { severity: "recoverable" })),
    ),
  ];
}

/* Whether the draft says another thing than what was saved; nothing can be saved while it says nothing. */
function changed(on: Desk, state: State): boolean {
  if (!isSaid(on)) return false;
  const before = draftOf(state);
  const regraded = before.grade !== on.draft.grade;
  const other =
    regraded ||
    before.first !== on.draft.first ||
    ((on.draft.first ?? -1) >= 0 && before.severity !== on.draft.severity);
  return !state.labelled || other || on.comment.value !== state.annotation.reviewer_comment;
}

function walkView(on: Desk) {
  const { labelling, store: kept, at } = on;
  return h(
    "div",
    { class: "choices walk" },
    h("button", { type: "button", "aria-label": "Previous proof (k)", disabled: at === 0, onclick: () => go(-1) }, "←"),
    h("span", { class: "small" }, `${at + 1} of ${labelling.drawn.length}`),
    h(
      "button",
      {
        type: "button",
        "aria-label": "Next proof (j)",
        disabled: at === labelling.drawn.length - 1,
        onclick: () => go(1),
      },
      "→",
    ),
    labelling.served
      ? null
      : h("button", { type: "button", onclick: () => download(labelling, kept).then(on.draw) }, "Download the labels"),
  );
}

// ------------------------------------------------------------ what is done

function say(on: Desk, changes: Partial<Draft>, redraw = true) {
  Object.assign(on.draft, changes);
  if (on.draft.first === -1) on.draft.severity = "fatal";
  if (redraw) on.draw();
  else {
    on.node
      .querySelectorAll(".steps > li")
      .forEach((step, index) => step.classList.toggle("by-human", on.draft.first === index));
    const button = on.node.querySelector(".panel .main")!;
    button.textContent = changed(on, on.store.states.get(on.item.key)!) ? "Save (Enter)" : "Next (Enter)";
  }
}

function stepIn(on: Desk, typed: string): number | null {
  return /^\d{1,4}$/.test(typed) && Number(typed) < on.item.steps ? Number(typed) : null;
}

async function save(on: Desk, undecided = false, taken = false) {
  const { first, severity, grade } = on.draft;
  if (!undecided && !taken && !isSaid(on)) {
    announce(on.labelling.scale ? "Give a grade first" : "Say first whether there is an error");
    return;
  }
  const nothing = undecided || taken;
  const found = nothing || first === null ? OPEN : findings(first, severity);
  const annotation = { ...found, reviewer_comment: on.comment.value };
  const seconds = Math.round((performance.now() - on.since) / 100) / 10;
  const saved = await on.store.save(on.item.key, { annotation, grade: nothing ? null : grade, undecided, seconds });
  if ("fault" in saved) fail(on, saved.fault);
  if (saved.state) on.draft = draftOf(saved.state);
  if (!("fault" in saved)) {
    if (!taken) said.push(on.item.key);
    announce(taken ? "Taken back" : "Saved");
  }
  on.draw();
  if ("fault" in saved) fail(on, saved.fault);
  settle(60);
}

function fail(on: Desk, why: string) {
  on.node.querySelector(".panel .callout")?.remove();
  on.node.querySelector(".panel")!.prepend(h("p", { class: "callout bad", role: "alert" }, `Not saved: ${why}.`));
}

/* Take a label back: this proof's, else that of the proof that was labelled last. */
async function undo(on: Desk) {
  if (isDone(on.store.states.get(on.item.key)!)) {
    said.splice(said.lastIndexOf(on.item.key), said.includes(on.item.key) ? 1 : 0);
    await save(on, false, true);
    return;
  }
  const last = said.at(-1);
  if (last !== undefined) location.hash = `#/label/${encodeURIComponent(last)}`;
}

function go(by: 1 | -1 | "open") {
  if (!desk) return;
  const { labelling, store: kept, at } = desk;
  const next = by === "open" ? nextOpen(labelling, kept, at) : at + by;
  const drawn = labelling.drawn[next];
  if (drawn && next !== at) location.hash = `#/label/${encodeURIComponent(drawn[0])}`;
  else announce(by === "open" ? "Every proof of the draw is labelled" : "There is no proof further on");
}

const labelKeys = (on: Desk): Record<string, () => void> =>
  on.labelling.scale
    ? { a: () => say(on, { grade: on.labelling.scale!.max }) }
    : {
        a: () => say(on, { first: -1 }),
        f: () => say(on, { severity: "fatal" }),
        r: () => say(on, { severity: "recoverable" }),
      };

/** Do what a key means in labelling mode; whether it means anything. */
export function onLabelKey(event: KeyboardEvent): boolean {
  if (!desk || !isLabelling()) return false;
  const on = desk;
  const state = on.store.states.get(on.item.key)!;
  const number = on.node.querySelector<HTMLInputElement>(".panel input[type=number]")!;
  const typing = event.target === on.comment || event.target === number;
  if (event.key === "Escape" && typing) (event.target as HTMLElement).blur();
  else if (event.key === "Enter" && (!typing || event.target === number)) {
    if (changed(on, state)) save(on);
    else if (isDone(state)) go("open");
    else save(on);
  } else if (typing) return false;
  else if (/^[0-9]$/.test(event.key)) {
    number.value = event.key;
    const { scale } = on.labelling;
    say(on, scale ? { grade: gradeIn(scale, event.key) } : { first: stepIn(on, event.key) }, false);
    number.focus();
  } else {
    const actions: Record<string, () => void> = {
      ...labelKeys(on),
      u: () => save(on, true),
      z: () => undo(on),
      c: () => on.comment.focus(),
      t: pressRaw,
      j: () => go(1),
      ArrowRight: () => go(1),
      k: () => go(-1),
      ArrowLeft: () => go(-1),
    };
    if (!Object.hasOwn(actions, event.key)) return false;
    actions[event.key]();
  }
  event.preventDefault();
  return true;
}
