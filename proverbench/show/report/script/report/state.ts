/* The page's model, and the index of proofs made from it. */
import type { Head, Item, Marks, Run } from "./model";

export let head: Head;
export let items: Item[] = [];
let byPlace = new Map<string, Item>();

/** What the overview shows: a run, a split, a factor to break scores down by, a policy that panels judge. */
export const chosen = { run: 0, split: "all", by: null as string | null, panel: "" };

/** Read the model, at the start and whenever the runs have moved on. */
export async function readModel() {
  head = await PB.model();
  const { columns, proofs, problems, domains, subjects, policies } = head.index;
  items = proofs.map((row) => {
    const item = Object.fromEntries(columns.map((column, at) => [column, row[at]])) as any;
    [item.problemId, item.opening] = problems[item.problem];
    item.domain = domains[item.domain];
    item.subject = subjects[item.subject];
    item.policy = policies[item.policy];
    item.marks = item.runs.flatMap((run: Marks) => run[2]);
    return item as Item;
  });
  byPlace = new Map();
  for (const item of items) for (const [run] of item.runs) byPlace.set(place(run, item.key), item);
}

const place = (run: number, key: string) => `${run}/${key}`;

/** The proof that a run has under a key. */
export const proofAt = (run: number, key: string) => byPlace.get(place(run, key));

/** The address of a proof, or of one judgment of it. */
export const address = (item: Item, run = item.runs[0][0], repeat: number | null = null) =>
  `#/proof/${encodeURIComponent(head.runs[run].name)}/${encodeURIComponent(item.key)}${repeat === null ? "" : `/${repeat}`}`;

/** What the run of that name says of a proof; every run, where there is no name. */
export const ofRuns = (item: Item, run: string) =>
  run === "" ? item.runs : item.runs.filter(([number]) => head.runs[number].name === run);

/** Of a study: the policy and the judge of a run; a calibration has no policy. */
export function cellOf(run: number): { policy?: string; judge: string } {
  const [policy, judge] = head.runs[run].name.split("--");
  return judge === undefined ? { judge: policy } : { policy, judge };
}

export const roleOf = (run: Run, role: string) => run.roles.find((entry) => entry.role === role)?.model ?? "–";
