/* Which proofs the list shows: the filter, its address, and the search through texts. */
import { acceptedBy, accepts, INVALID_FROM, MISSING, reasonOf, rejects, UNLOCATED, valid } from "./marks";
import type { Chunk, Item, Marks, Run } from "./model";
import { cellOf, head, items, ofRuns } from "./state";

type Choice = [label: string, holds: (item: Item, runs: Marks[]) => boolean, offered?: (runs: Run[]) => boolean];
type Choices = Record<string, Choice>;

const some = (runs: Marks[], holds: (mark: number) => boolean) => runs.some(([, , marks]) => marks.some(holds));

export const SHOWN: Choices = {
  "": ["All proofs", () => true],
  accepted: ["Accepted by all judgments", (_, runs) => runs.every(acceptedBy)],
  rejected: ["Rejected by a judgment", (_, runs) => some(runs, rejects)],
  split: ["One judgment accepts, one rejects", (_, runs) => some(runs, accepts) && some(runs, rejects)],
  differ: ["Judgments differ: verdict or step", (_, runs) => differ(runs), namesSteps],
  grades: ["Judgments differ in grade", (_, runs) => differentGrades(runs), givesGrades],
  invalid: ["With an invalid judgment", (_, runs) => some(runs, (mark) => mark <= INVALID_FROM)],
  failed: ["Without a valid proof", (_, runs) => runs.some(([, why]) => why !== null && why !== "pending")],
  unanswered: [
    "Not fully answered",
    (_, runs) => runs.some(([, why, marks]) => why === "pending" || marks.includes(MISSING)),
  ],
};

export const HUMAN: Choices = {
  "": ["Human: any", () => true],
  right: ["Human: right", (item) => item.label === -1],
  wrong: ["Human: wrong", (item) => item.label !== null && item.label !== -1],
  differs: ["Judge against human", judged((mark, label) => accepts(mark) !== (label === -1))],
  "false-accept": ["Judge accepts a wrong proof", judged((mark, label) => accepts(mark) && label !== -1)],
  "false-reject": ["Judge rejects a right proof", judged((mark, label) => rejects(mark) && label === -1)],
  elsewhere: [
    "Error found at another step",
    judged((mark, label) => mark >= 0 && label >= 0 && mark !== label),
    namesSteps,
  ],
};

/** Whether the judges of some of these runs say where a proof goes wrong. */
export function namesSteps(runs: Run[]) {
  return runs.some((run) => run.verdict === "first-error-step");
}

/** Whether the judges of some of these runs give grades. */
export function givesGrades(runs: Run[]) {
  return runs.some((run) => run.verdict === "grade");
}

/** The choices that make sense for the runs of this page, with their labels. */
export const offered = (choices: Choices) =>
  Object.entries(choices)
    .filter(([, [, , fits]]) => !fits || fits(head.runs))
    .map(([value, [label]]): [string, string] => [value, label]);

/* A rejection that names no step is at odds with an acceptance, not with another rejection. */
function differ(runs: Marks[]): boolean {
  const said = new Set(runs.flatMap(([, , marks]) => marks.filter(valid)));
  const places = [...said].filter((mark) => mark >= 0).length;
  return said.size - (said.has(UNLOCATED) && places ? 1 : 0) > 1;
}

const differentGrades = (runs: Marks[]) =>
  new Set(runs.flatMap(([, , , grades]) => grades ?? []).filter((grade) => grade !== null)).size > 1;

function judged(differs: (mark: number, label: number) => boolean): Choice[1] {
  return ({ label }, runs) => label !== null && some(runs, (mark) => valid(mark) && differs(mark, label));
}

export const NO_FILTER = {
  show: "",
  reason: "",
  human: "",
  run: "",
  /** Of a study: whose proofs, which judge accepts them, and which does not, each by its run's rule. */
  of: "",
  yes: "",
  no: "",
  domain: "",
  subject: "",
  text: "",
};
export type Filter = typeof NO_FILTER;

export let filter: Filter = { ...NO_FILTER };
export const setFilter = (next: Filter) => (filter = next);

export const matches = (item: Item) => holds(item, filter);

function holds(item: Item, wanted: Filter): boolean {
  const runs = ofRuns(item, wanted.run);
  if (!runs.length) return false;
  if (!SHOWN[wanted.show][1](item, runs) || !HUMAN[wanted.human][1](item, runs)) return false;
  if (wanted.of && !item.runs.some(([run]) => cellOf(run).policy === wanted.of)) return false;
  if (wanted.yes && !says(item, wanted.yes, true)) return false;
  if (wanted.no && !says(item, wanted.no, false)) return false;
  if (wanted.reason && !invalidFor(runs, wanted.reason)) return false;
  if (wanted.domain && item.domain !== wanted.domain) return false;
  if (wanted.subject && item.subject !== wanted.subject) return false;
  if (!wanted.text) return true;
  return found.has(item) || contains([item.key, item.opening, item.subject, item.policy].join("\n"), wanted.text);
}

/* Whether a judge of a study, by its run's rule, accepts a proof, or else has judged it and does not. */
function says(item: Item, judge: string, accepting: boolean): boolean {
  const marks = item.runs.find(([run]) => cellOf(run).judge === judge && head.runs[run].task === "prover");
  return marks !== undefined && !pending(marks) && acceptedBy(marks) === accepting;
}

const pending = ([, why, marks]: Marks) => why === "pending" || marks.includes(MISSING);

const invalidFor = (runs: Marks[], reason: string) =>
  runs.some(
    ([, why, marks]) => why === reason || marks.some((mark) => mark <= INVALID_FROM && reasonOf(mark) === reason),
  );

const contains = (haystack: string, words: string) => haystack.toLowerCase().includes(words.toLowerCase());

/** How many proofs a filter finds. */
export const count = (wanted: Partial<Filter>) =>
  items.filter((item) => holds(item, { ...NO_FILTER, ...wanted })).length;

// ------------------------------------------------------------ addresses

/** The name of a run, where there are several to choose from. */
export const only = (run: Run) => (head.runs.length > 1 ? run.name : "");

export function listAddress(wanted: Partial<Filter>): string {
  const kept = Object.entries(wanted).filter(([, value]) => value !== "");
  return `#/proofs${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
}

export function readFilter(query: string): Filter {
  const given = new URLSearchParams(query);
  const next = { ...NO_FILTER };
  for (const name of Object.keys(NO_FILTER) as (keyof Filter)[]) next[name] = given.get(name) ?? "";
  if (!Object.hasOwn(SHOWN, next.show)) next.show = "";
  if (!Object.hasOwn(HUMAN, next.human)) next.human = "";
  return next;
}

// ------------------------------------------------------------ search

let found = new Set<Item>(); // items whose texts hold the filter's words, as far as they have been looked through
let searches = 0;
/** Whether texts are still being looked through. */
export let searching = false;

export const forgetSearch = () => (found = new Set());

/** Look through the texts for the filter's words, chunk by chunk, while the browser stays free.
    Returns how many chunks are in other files; null when another search has taken over. */
export async function searchTexts(progress: () => void): Promise<number | null> {
  const words = filter.text;
  const mine = ++searches;
  forgetSearch();
  searching = words !== "";
  if (!searching) return null;
  let elsewhere = 0;
  for (const number of new Set(items.map((item) => item.chunk))) {
    const here = !head.files || (await PB.has(number));
    const content: Chunk | null = here ? await PB.chunk(number, head.version) : null;
    if (mine !== searches) return null;
    if (content === null) {
      elsewhere += 1;
      continue;
    }
    for (const item of items) if (item.chunk === number && contains(textsOf(item, content), words)) found.add(item);
    progress();
    await new Promise((go) => setTimeout(go));
  }
  if (mine !== searches) return null;
  searching = false;
  return elsewhere;
}

function textsOf(item: Item, content: Chunk): string {
  const proof = content.proofs[item.place];
  const runs = proof.runs.map((run) => ({ ...run, prompt: null }));
  return JSON.stringify([content.problems[item.problem], { ...proof, runs }]);
}
