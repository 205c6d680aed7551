/* The labels of a page as the file that `proverbench correct --labels` takes (docs/labels.md). */
import { downloaded, isDone, OPEN, type Labelling, type State, type Store } from "./labels";
import type { Chunk } from "./model";
import { h } from "./shell";
import { head, proofAt } from "./state";

/** Offer the labels as a file; the whole draw is in it, so that what is open is known. */
export async function download(labelling: Labelling, store: Store) {
  const lines = [];
  for (const drawn of labelling.drawn) lines.push(JSON.stringify(await rowOf(labelling, store, drawn)));
  const name = `${head.runs[labelling.run].name}-labels-${store.annotator || "page"}`.replace(/[^\w.-]+/g, "-");
  const url = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "application/x-ndjson" }));
  h("a", { href: url, download: `${name}.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  downloaded();
}

async function rowOf(
  labelling: Labelling,
  store: Store,
  [key, stratum, size, probability]: Labelling["drawn"][number],
) {
  const item = proofAt(labelling.run, key)!;
  const content: Chunk = await PB.chunk(item.chunk, head.version);
  const problem = content.problems[item.problem];
  const state = store.states.get(key);
  const said = state && isDone(state);
  return {
    proof_id: key,
    problem_id: problem.id,
    problem: problem.text,
    reference_solution: problem.reference ?? "",
    reference_answer: problem.answer ?? "",
    ...(item.domain ? { domain: item.domain } : {}),
    subject: item.subject,
    source_id: problem.source_id ?? "",
    policy: item.policy || null,
    ...(problem.rubric ? { rubric: problem.rubric } : {}),
    steps: (content.proofs[item.place].steps ?? []).map((step) => step.replace(/\p{Surrogate}/gu, "\ufffd")),
    ...(labelling.scale
      ? { grade: said && state.labelled ? state.grade : null, max_grade: labelling.scale.max, annotation: texts(state) }
      : { annotation: said && state.labelled ? state.annotation : { ...OPEN, ...texts(state) } }),
    run_id: labelling.run_id,
    annotator: store.annotator,
    stratum,
    stratum_size: size,
    probability,
    ...(state?.undecided ? { undecided: true } : {}),
    ...(state?.seconds !== undefined ? { seconds: state.seconds } : {}),
  };
}

/* What was written about a proof, whatever its label. */
const texts = (state?: State) => ({ reviewer_comment: state?.annotation.reviewer_comment ?? "" });
