/* Marks of judgments, as the index of proofs has them. */
import type { Marks, Run } from "./model";
import { h } from "./shell";
import { head } from "./state";

export type Kind = "accept" | "reject" | "invalid" | "missing";
type Counts = Record<Kind, number>;

export const ACCEPTS = -1;

export const MISSING = -2;

export const INVALID_FROM = -10;

/** Rejects, or is wrong, without a step that is named: a grade, or a verdict on the proof as a whole. */
export const UNLOCATED = -3;

export const accepts = (mark: number) => mark === ACCEPTS;
export const rejects = (mark: number) => mark >= 0 || mark === UNLOCATED;
export const valid = (mark: number) => accepts(mark) || rejects(mark);

export const kind = (mark: number): Kind =>
  accepts(mark) ? "accept" : rejects(mark) ? "reject" : mark === MISSING ? "missing" : "invalid";

export const reasonOf = (mark: number) => head.index.reasons[INVALID_FROM - mark];

type Grade = number | null | undefined;
const isGrade = (grade: Grade) => grade !== null && grade !== undefined;

/** A grade as it is written: 6, or 0.5. */
export const gradeText = (grade: number) => String(Number(grade.toPrecision(6)));

/** What a small mark shows: the grade where there is one, and whether it accepts. */
export function sign(mark: number, grade?: Grade): string {
  if (mark === MISSING) return "·";
  if (!valid(mark)) return "!";
  if (mark >= 0) return String(mark);
  return (isGrade(grade) ? gradeText(grade!) : "") + (accepts(mark) ? "✓" : "✗");
}

/** What a judgment of a run says, after "Judgment 0". */
export function words(mark: number, run: Run, grade?: Grade): string {
  if (mark === MISSING) return "not answered yet";
  if (!valid(mark)) return `invalid: ${reasonOf(mark)}`;
  const verdict = accepts(mark) ? "accepts" : mark >= 0 ? `rejects at step ${mark}` : "rejects";
  if (!isGrade(grade)) return verdict;
  const of = run.max_grade === null ? "" : ` of ${gradeText(run.max_grade)}`;
  return `gives ${gradeText(grade!)}${of} and ${verdict}`;
}

export function marksOf(marks: number[], grades: Marks[3], compact = false) {
  if (compact && marks.length > 10) {
    const counts = counted(marks);
    return (Object.entries({ accept: "✓", reject: "✗", invalid: "!", missing: "·" }) as [Kind, string][])
      .filter(([name]) => counts[name])
      .map(([name, shown]) => h("span", { class: `tally ${name}` }, `${shown}${counts[name]}`));
  }
  return marks.map((mark, at) => h("span", { class: `mark ${kind(mark)}` }, sign(mark, grades?.[at])));
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
      : marksOf(marks, grades, compact),
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
