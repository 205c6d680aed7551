/* Marks of judgments, as the index of proofs has them. */
import type { Marks } from "./model";
import { h } from "./shell";
import { head } from "./state";

type Kind = "accept" | "reject" | "invalid" | "missing";
type Counts = Record<Kind, number>;

export const ACCEPTS = -1;

export const MISSING = -2;

export const INVALID_FROM = -10;

/** Wrong, and no step was named: a human's label, or a judgment that rejects. */
export const UNLOCATED = -3;

export const accepts = (mark: number) => mark === ACCEPTS;
export const rejects = (mark: number) => mark >= 0 || mark === UNLOCATED;
export const valid = (mark: number) => accepts(mark) || rejects(mark);

/** Whether a run accepts a proof: it exists, and all judgments accept it. */
export const acceptedBy = ([, why, marks]: Marks) => !why && marks.length > 0 && marks.every(accepts);

export const kind = (mark: number): Kind =>
  mark === ACCEPTS ? "accept" : rejects(mark) ? "reject" : mark === MISSING ? "missing" : "invalid";

export const reasonOf = (mark: number) => head.index.reasons[INVALID_FROM - mark];

/** A judgment in a sign or two; a grade is shown as one. */
export const sign = (mark: number, grade: number | null = null) =>
  grade !== null
    ? String(grade)
    : mark === ACCEPTS
      ? "✓"
      : mark >= 0
        ? String(mark)
        : mark === UNLOCATED
          ? "✗"
          : mark === MISSING
            ? "·"
            : "!";

export const words = (mark: number, grade: number | null = null) =>
  said(mark) + (grade === null ? "" : `, grade ${grade}`);

const said = (mark: number) =>
  mark === ACCEPTS
    ? "accepts"
    : mark >= 0
      ? `rejects at step ${mark}`
      : mark === UNLOCATED
        ? "rejects"
        : mark === MISSING
          ? "not answered yet"
          : `invalid: ${reasonOf(mark)}`;

export function marksOf(marks: number[], compact = false, grades: (number | null)[] = []) {
  if (compact && marks.length > 10) {
    const counts = counted(marks);
    return (Object.entries({ accept: "✓", reject: "✗", invalid: "!", missing: "·" }) as [Kind, string][])
      .filter(([name]) => counts[name])
      .map(([name, shown]) => h("span", { class: `tally ${name}` }, `${shown}${counts[name]}`));
  }
  return marks.map((mark, at) => h("span", { class: `mark ${kind(mark)}` }, sign(mark, grades[at] ?? null)));
}

export function strip(run: Marks, compact = false) {
  const [number_, why, marks, grades] = run;
  const name = head.runs.length > 1 ? `${head.runs[number_].name}: ` : "";
  const said = why ? (why === "pending" ? "no proof yet" : `no proof: ${why}`) : tally(marks);
  return h(
    "span",
    { class: "strip", role: "img", "aria-label": name + said, title: name + said },
    why
      ? h("span", { class: "nothing" }, why === "pending" ? "no proof yet" : `no proof: ${why}`)
      : marksOf(marks, compact, grades),
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
