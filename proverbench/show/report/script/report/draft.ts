/* What is said of a proof before it is saved. */
import { OPEN, type State } from "./labels";

export interface Draft {
  /** The first wrong step; -1: none; null: not said yet. */
  first: number | null;
  severity: "fatal" | "recoverable";
  /** Where people grade: the points; null: not said yet. */
  grade: number | null;
}

export function draftOf({ annotation, grade = null, labelled }: State): Draft {
  if (!labelled || grade !== null) return { first: null, severity: "fatal", grade: labelled ? grade : null };
  const steps = [annotation.first_fatal_error_step ?? -1, ...(annotation.recoverable_error_steps ?? [])];
  const wrong = steps.filter((step) => step >= 0);
  const first = wrong.length ? Math.min(...wrong) : -1;
  return {
    first,
    severity: first >= 0 && annotation.first_fatal_error_step !== first ? "recoverable" : "fatal",
    grade: null,
  };
}

/** An annotation that says where the first error is, or that there is none. */
export function findings(first: number, severity: Draft["severity"]) {
  const fatal = severity === "fatal";
  return { ...OPEN, first_fatal_error_step: fatal ? first : -1, recoverable_error_steps: fatal ? [-1] : [first] };
}
