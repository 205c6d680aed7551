/* Places in the page have addresses:
     #/                                   the overview                 #/run/NAME          of one run
     #/proofs?show=split&text=...         the list, filtered           #/proof/RUN/KEY     a proof
     #/proof/RUN/KEY/REPEAT               one judgment of it         #/label, #/label/KEY  to label it (labelling.ts) */
import { NO_FILTER, filter, matches, readFilter, setFilter } from "./filters";
import { openReader, refresh, search, type Reader } from "./list";
import { showLabelling } from "./labelling";
import { overview } from "./overview";
import { showProof } from "./proof";
import { h } from "./shell";
import { head, ofRuns, proofAt } from "./state";

export const main = document.querySelector("main")!;

let routes = 0;

/** Show what the address says. */
export async function route() {
  const mine = ++routes;
  document.documentElement.dataset.ready = "no";
  await show();
  if (mine === routes) document.documentElement.dataset.ready = "yes";
}

async function show() {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
  const [part, ...rest] = path.split("/").filter(Boolean).map(decoded);
  markLinks(part === "proofs" || part === "proof" ? "#/proofs" : part === "label" ? "#/label" : "#/");
  if (part === "proofs") await showList(reading(), query);
  else if (part === "label" || (part === undefined && head.labelling?.served)) await showLabelling(main, rest[0]);
  else if (part === "proof") await showOne(reading(), rest);
  else {
    main.replaceChildren(overview(part === "run" ? rest[0] : undefined));
    if (part === "run") document.getElementById("glance")?.closest("section")?.scrollIntoView(); // below a leaderboard
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function markLinks(here: string) {
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function reading(): Reader {
  const reader = openReader();
  if (!reader.node.isConnected) main.replaceChildren(reader.node);
  return reader;
}

async function showList(reader: Reader, query: string) {
  const before = filter.text;
  setFilter(readFilter(query));
  if (filter.text !== before) search();
  refresh();
  if (reader.shown.length && !narrow()) {
    await showFirst(reader);
    return;
  }
  reader.current = null;
  const says = reader.shown.length ? "Choose a proof." : "No proof matches these filters.";
  reader.pane.replaceChildren(h("p", { class: "small" }, says));
  reader.showList(true);
}

async function showOne(reader: Reader, [run = "", key = "", repeat = ""]: string[]) {
  const number = head.runs.findIndex((entry) => entry.name === run);
  const item = proofAt(number, key);
  if (!reader.shown.length) refresh();
  if (!item) {
    reader.pane.replaceChildren(h("p", { class: "callout bad" }, `This page has no proof ${key} in a run ${run}.`));
    return;
  }
  if (!matches(item)) {
    setFilter({ ...NO_FILTER });
    refresh();
  }
  await showProof(reader, item, number, /^\d+$/.test(repeat) ? Number(repeat) : null);
}

const narrow = () => matchMedia("(max-width: 900px)").matches;

/* A filtered list shows its first proof, without an entry of its own in the history. */
function showFirst(reader: Reader) {
  const item = reader.current && reader.shown.includes(reader.current) ? reader.current : reader.shown[0];
  return showProof(reader, item, ofRuns(item, filter.run)[0][0], null);
}
