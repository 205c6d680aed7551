/* The list of proofs beside the one that is read. Only the rows in sight exist. */
import {
  HUMAN,
  NO_FILTER,
  SHOWN,
  filter,
  listAddress,
  matches,
  offered,
  searchTexts,
  searching,
  type Filter,
} from "./filters";
import { strip, UNLOCATED } from "./marks";
import type { Item } from "./model";
import { announce, h, number, text } from "./shell";
import { address, head, items, ofRuns } from "./state";

const ROW = 60; // pixels a row of the list is high (report.css)
const SPARE = 6; // rows beyond those in sight

type Option = [value: string, label: string];

/** The reader: list and pane. One at a time; it is kept while somebody looks at the overview. */
export interface Reader {
  node: HTMLElement;
  pane: HTMLElement;
  search: HTMLInputElement;
  showList(yes: boolean): void;
  /** The proofs that match the filter. */
  shown: Item[];
  /** The one that is read. */
  current: Item | null;
}

interface Parts {
  selects: Map<keyof Filter, HTMLSelectElement>;
  hits: HTMLElement;
  rows: HTMLElement;
  scroller: HTMLElement;
  nodes: Map<number, HTMLElement>;
}

export let reader: Reader | null = null;
let parts: Parts;

export const closeReader = () => (reader = null);

export function openReader(): Reader {
  if (reader) return reader;
  const hits = h("p", { class: "hits", role: "status" });
  const rows = h("ol", { class: "rows", "aria-label": "Proofs" });
  const scroller = h("div", { class: "scroller", onscroll: drawRows }, rows);
  const search = searchField();
  parts = { selects: new Map(), hits, rows, scroller, nodes: new Map() };
  const clear = h("button", { type: "button", class: "quiet", onclick: () => apply({ ...NO_FILTER }) }, "Clear");
  const list = h("div", { class: "list" }, filterForm(search), h("div", { class: "hits-line" }, hits, clear), scroller);
  const pane = h("div", { class: "pane" });
  const toggle: HTMLElement = h(
    "button",
    {
      type: "button",
      class: "toggle",
      "aria-expanded": "false",
      onclick: () => showList(!node.classList.contains("with-list")),
    },
    "List and filters",
  );
  const node: HTMLElement = h("div", { class: "reader" }, toggle, list, pane);
  const showList = (yes: boolean) => {
    node.classList.toggle("with-list", yes);
    toggle.setAttribute("aria-expanded", String(yes));
    if (yes) drawRows();
  };
  reader = { node, pane, search, showList, shown: [], current: null };
  new ResizeObserver(drawRows).observe(scroller);
  return reader;
}

// ------------------------------------------------------------ the filter's fields

function searchField() {
  return h("input", {
    type: "search",
    placeholder: head.files ? "Search names, openings, this part  ( / )" : "Search texts  ( / )",
    "aria-label": "Search in problems, proofs and judgments",
    oninput: debounce((event) => apply({ text: event.target.value }), 150),
  });
}

function filterForm(search: HTMLElement) {
  const reasons = distinct([...head.index.reasons, ...items.flatMap((item) => item.runs.map(([, why]) => why ?? ""))]);
  const invalid = reasons.filter((reason) => reason !== "pending");
  const labelled = items.some((item) => item.label !== null);
  return h(
    "form",
    {
      class: "filters",
      role: "search",
      "aria-label": "Filter the proofs",
      onsubmit: (event) => event.preventDefault(),
    },
    search,
    head.files
      ? h(
          "p",
          { class: "small where" },
          "Ids and openings are searched in all parts; whole texts only in the part that is open.",
        )
      : null,
    pick("show", offered(SHOWN), "Which proofs"),
    pick("human", labelled ? offered(HUMAN) : [], "Human verdict"),
    pick(
      "reason",
      anyOf("Any reason", invalid, (reason) => `Invalid: ${reason}`, 1),
      "Why invalid",
    ),
    pick(
      "run",
      anyOf(
        "Every run",
        head.runs.map((run) => run.name),
      ),
      "Run",
    ),
    ofStudy(),
    pick("domain", anyOf("Every domain", distinct(items.map((item) => item.domain))), "Domain"),
    pick("subject", anyOf("Every subject", distinct(items.map((item) => item.subject))), "Subject"),
  );
}

/* Whose proofs, and what one judge accepts and another does not. */
function ofStudy() {
  if (!head.study) return null;
  const policies = distinct(head.study.runs.map((cell) => cell.policy ?? ""));
  const judges = distinct(head.study.runs.map((cell) => cell.judge));
  return [
    pick("of", anyOf("Every policy", policies), "Policy"),
    pick(
      "yes",
      anyOf("Accepted by…", judges, (judge) => `${judge} accepts`),
      "Accepted by",
    ),
    pick(
      "no",
      anyOf("Not accepted by…", judges, (judge) => `${judge} does not accept`),
      "Not accepted by",
    ),
  ];
}

function pick(name: keyof Filter, options: Option[], title: string) {
  if (options.length < 2) return null;
  const select = h(
    "select",
    { "aria-label": title, onchange: (event) => apply({ [name]: event.target.value }) },
    options.map(([value, label]) => h("option", { value }, label)),
  );
  parts.selects.set(name, select);
  return select;
}

const distinct = (values: string[]) => [...new Set(values)].filter((value) => value !== "").sort();

/* Options for values of which there are at least so many; none otherwise. */
function anyOf(any: string, values: string[], label = (value: string) => value, least = 2): Option[] {
  return values.length < least ? [] : [["", any], ...values.map((value): Option => [value, label(value)])];
}

export function debounce(action: (event?: any) => void, milliseconds: number) {
  let timer: number | undefined;
  return (event?: unknown) => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds, event);
  };
}

/* Change the filter; the address follows, so that a filtered list can be linked. */
function apply(changed: Partial<Filter>) {
  const next = { ...filter, ...changed };
  if (JSON.stringify(next) === JSON.stringify(filter)) return;
  history.replaceState(null, "", listAddress(next));
  dispatchEvent(new Event("hashchange"));
}

/** Look through the texts for the filter's words, and show what is found. */
export async function search() {
  const elsewhere = await searchTexts(refresh);
  if (elsewhere === null || !reader) return;
  refresh();
  if (elsewhere) parts.hits.textContent += " (whole texts: of this part only)";
}

/** Show the proofs that match the filter. */
export function refresh() {
  if (!reader) return;
  for (const [name, select] of parts.selects) select.value = filter[name];
  if (document.activeElement !== reader.search) reader.search.value = filter.text;
  reader.shown = items.filter(matches);
  parts.nodes.clear();
  parts.rows.replaceChildren();
  const going = filter.text && searching ? ", searching…" : "";
  parts.hits.textContent = `${number(reader.shown.length)} of ${number(items.length)} proofs${going}`;
  drawRows();
}

// ------------------------------------------------------------ rows

/** Draw the rows in sight; those that stay in sight are kept, and the focus with them. */
export function drawRows() {
  if (!reader) return;
  const { scroller, rows, nodes } = parts;
  const { shown, current } = reader;
  const from = Math.max(0, Math.floor(scroller.scrollTop / ROW) - SPARE);
  const to = Math.min(shown.length, Math.ceil((scroller.scrollTop + (scroller.clientHeight || 600)) / ROW) + SPARE);
  rows.style.height = `${shown.length * ROW}px`;
  for (const [at, node] of nodes) {
    if (at >= from && at < to) continue;
    node.remove();
    nodes.delete(at);
  }
  let next: HTMLElement | null = null;
  for (let at = to - 1; at >= from; at -= 1) {
    const node: HTMLElement = nodes.get(at) ?? rows.insertBefore(row(shown[at], at, shown.length), next);
    nodes.set(at, node);
    const link = node.firstElementChild!;
    if (shown[at] === current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    next = node;
  }
}

function row(item: Item, at: number, of: number) {
  const runs = ofRuns(item, filter.run);
  return h(
    "li",
    { style: { top: `${at * ROW}px` }, "aria-posinset": at + 1, "aria-setsize": of },
    h(
      "a",
      { href: address(item, runs[0][0]) },
      h("span", { class: "name" }, nameOf(item)),
      h(
        "span",
        { class: "below-name" },
        humanSays(item),
        runs.map((run) => strip(run, true)),
        text(item.opening, { tag: "span", className: "opening" }),
      ),
    ),
  );
}

export function nameOf(item: Item): string {
  if (item.task !== "prover") return item.key;
  return `${item.problemId}${head.runs.some((run) => run.samples > 1) ? ` #${item.sample}` : ""}`;
}

function humanSays(item: Item) {
  if (item.label === null) return null;
  const wrong = item.label === UNLOCATED ? "Human: wrong, no step named" : `Human: first error at step ${item.label}`;
  const said = item.grade !== null ? `Human: ${item.grade} points` : item.label === -1 ? "Human: right" : wrong;
  return h(
    "span",
    { class: "human-says", role: "img", title: said, "aria-label": said },
    item.grade ?? (item.label === -1 ? "✓" : item.label === UNLOCATED ? "✗" : String(item.label)),
  );
}

/** Scroll the list to a proof. */
export function reveal(item: Item) {
  const at = reader?.shown.indexOf(item) ?? -1;
  const { scroller } = parts;
  if (at < 0 || !scroller.clientHeight) return;
  const top = at * ROW;
  if (top < scroller.scrollTop || top + ROW > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = top - scroller.clientHeight / 2;
}

/** Go to the next proof of the list, or the one before. */
export function step(by: 1 | -1) {
  if (!reader?.node.isConnected) return;
  const at = reader.current ? reader.shown.indexOf(reader.current) : -1;
  const next = reader.shown[at < 0 ? 0 : at + by];
  if (next) location.hash = address(next, ofRuns(next, filter.run)[0][0]);
  else announce(by > 0 ? "This is the last proof of the list" : "This is the first proof of the list");
}
