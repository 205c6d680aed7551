/* Marks of judgments, as the index of proofs has them. */
import type { Marks } from "./model";
import { h } from "./shell";
import { head } from "./state";

type Kind = "accept" | "reject" | "invalid" | "missing";
type Counts = Record<Kind, number>;

export const ACCEPTS = -1;

export const MISSING = -2;

export const INVALID_FROM = -10;

/** The human's label of a proof that is wrong somewhere: no step was named. */
export const UNLOCATED = -3;

export const kind = (mark: number): Kind =>
  mark === ACCEPTS ? "accept" : mark >= 0 ? "reject" : mark === MISSING ? "missing" : "invalid";

export const reasonOf = (mark: number) => head.index.reasons[INVALID_FROM - mark];

export const sign = (mark: number) =>
  mark === ACCEPTS ? "✓" : mark >= 0 ? String(mark) : mark === MISSING ? "·" : "!";

export const words = (mark: number) =>
  mark === ACCEPTS
    ? "accepts"
    : mark >= 0
      ? `rejects at step ${mark}`
      : mark === MISSING
        ? "not answered yet"
        : `invalid: ${reasonOf(mark)}`;

export function marksOf(marks: number[], compact = false) {
  if (compact && marks.length > 10) {
    const counts = counted(marks);
    return (Object.entries({ accept: "✓", reject: "✗", invalid: "!", missing: "·" }) as [Kind, string][])
      .filter(([name]) => counts[name])
      .map(([name, shown]) => h("span", { class: `tally ${name}` }, `${shown}${counts[name]}`));
  }
  return marks.map((mark: number) => h("span", { class: `mark ${kind(mark)}` }, sign(mark)));
}

export function strip(run: Marks, compact = false) {
  const [number_, why, marks] = run;
  const name = head.runs.length > 1 ? `${head.runs[number_].name}: ` : "";
  const said = why ? (why === "pending" ? "no proof yet" : `no proof: ${why}`) : tally(marks);
  return h(
    "span",
    { class: "strip", role: "img", "aria-label": name + said, title: name + said },
    why
      ? h("span", { class: "nothing" }, why === "pending" ? "no proof yet" : `no proof: ${why}`)
      : marksOf(marks, compact),
  );
}

export function counted(marks: number[]) {
  const counts: Counts = { accept: 0, reject: 0, invalid: 0, missing: 0 };
  for (const mark of marks) counts[kind(mark)] += 1;
  return counts;
}

export function tally(marks: number[]) {
  const counts = counted(marks);
  const said = [`${counts.accept} of ${marks.length} accept`];
  if (counts.reject) said.push(`${counts.reject} reject`);
  if (counts.invalid) said.push(`${counts.invalid} invalid`);
  if (counts.missing) said.push(`${counts.missing} not answered`);
  return said.join(", ");
}
