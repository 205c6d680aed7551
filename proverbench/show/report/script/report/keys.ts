/* Keys, the top bar and its help. */
import { glossary } from "./glossary";
import { filter } from "./filters";
import { isLabelling, onLabelKey } from "./labelling";
import { openReader, reader, step } from "./list";
import { main } from "./routes";
import { bar, h } from "./shell";
import { address, head, ofRuns } from "./state";
import { pressRaw } from "./texts";

const KEYS = [
  ["j or →", "next proof"],
  ["k or ←", "previous proof"],
  ["0 … 9", "open that judgment"],
  ["e", "open or close all judgments"],
  ["t", "texts as they came, or formatted"],
  ["/", "search"],
  ["o", "overview"],
  ["p", "proofs"],
  ["?", "this help"],
];

const STEP_KEYS = [
  ["a", "no error"],
  ["0 … 9", "the first wrong step (or click it)"],
  ["f, r", "that error is fatal, recoverable"],
];
const GRADE_KEYS = [
  ["a", "full marks"],
  ["0 … 9", "the grade"],
];
const LABEL_KEYS = [
  ["u", "cannot say"],
  ["c", "comment; Esc leaves it"],
  ["Enter", "save; once saved, the next open proof"],
  ["z", "undo"],
  ["j, k", "next, previous proof"],
];

let showHelp = () => {};

export function makeBar() {
  const reading = [
    { href: "#/", label: "Overview" },
    { href: "#/proofs", label: "Proofs" },
  ];
  // Whoever labels is not shown the verdicts before.
  const label = head.labelling ? [{ href: "#/label", label: "Label" }] : [];
  const links = head.labelling?.served ? label : [...reading, ...label];
  showHelp = bar({ links, help: help() }).help;
}

const keyList = (keys: string[][]) =>
  h(
    "dl",
    { class: "facts" },
    keys.map(([key, does]) => [h("dt", null, h("kbd", null, key)), h("dd", null, does)]),
  );

function help() {
  const mark = (name: string, sign: string) => h("span", { class: `mark ${name}` }, sign);
  return h(
    "div",
    null,
    h("h2", null, "Keys and signs"),
    head.labelling
      ? [
          h("h3", null, "Labelling"),
          keyList([...(head.labelling.scale ? GRADE_KEYS : STEP_KEYS), ...LABEL_KEYS]),
          h("h3", null, "Reading"),
        ]
      : null,
    keyList(KEYS),
    h(
      "p",
      null,
      mark("accept", "✓"),
      " accepts  ",
      mark("reject", "3"),
      " rejects, first wrong step 3 (steps count from 0)  ",
      mark("invalid", "!"),
      " invalid  ",
      mark("missing", "·"),
      " not answered",
    ),
    h("p", null, "Every word and number of this page is explained below."),
    h("h2", null, "Glossary"),
    glossary(),
  );
}

type Actions = Record<string, () => void>;

const ANYWHERE: Actions = {
  "/": () => {
    const open = openReader();
    if (!open.node.isConnected) {
      main.replaceChildren(open.node);
      location.hash = "#/proofs";
    }
    open.showList(true);
    open.search.focus();
  },
  "?": () => showHelp(),
  o: () => (location.hash = "#/"),
  p: () => (location.hash = "#/proofs"),
};

const READING: Actions = {
  j: () => step(1),
  ArrowRight: () => step(1),
  k: () => step(-1),
  ArrowLeft: () => step(-1),
  t: pressRaw,
  e: () => {
    const all = [...document.querySelectorAll<HTMLDetailsElement>("details.judgment")];
    const open = all.some((node) => !node.open);
    for (const node of all) node.open = open;
  },
};

export function onKey(event: KeyboardEvent) {
  const target = event.target as HTMLElement;
  // A dialog that was closed may keep the focus until the next frame is drawn.
  const typing = target.closest?.("input, select, textarea, dialog[open]");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isLabelling()) {
    if (!target.closest?.("dialog[open], button, a, select, details > summary") || !["Enter", " "].includes(event.key))
      if (!onLabelKey(event) && event.key === "?" && !typing) showHelp();
    return;
  }
  if (event.key === "Escape" && target === reader?.search) target.blur();
  if (typing) return;
  const reading = reader?.node.isConnected;
  const action = (Object.hasOwn(ANYWHERE, event.key) && ANYWHERE[event.key]) || (reading && READING[event.key]);
  if (/^[0-9]$/.test(event.key) && reading && reader?.current) {
    const [run, , marks] = ofRuns(reader.current, filter.run)[0];
    if (Number(event.key) < marks.length) location.hash = address(reader.current, run, Number(event.key));
  } else if (action) {
    event.preventDefault();
    action();
  }
}
