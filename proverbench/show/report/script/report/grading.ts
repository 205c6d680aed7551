/* Labelling where people give points: the controls of a grade. */
import { h } from "./shell";

/** What people grade by. */
export interface Scale {
  /** The most points; the least are 0. */
  max: number;
  /** From one grade to the next; null: any number. */
  step: number | null;
  /** The points from which a proof counts as correct. */
  accept_from: number;
}

const MOST_BUTTONS = 11;

const grid = ({ max, step }: Scale) =>
  step === null ? [] : Array.from({ length: Math.floor(max / step + 1e-9) + 1 }, (_, at) => at * step);

/** The grade that was typed; null where it is none of the scale. */
export function gradeIn(scale: Scale, typed: string): number | null {
  if (!/^\d{1,6}(\.\d{1,6})?$/.test(typed)) return null;
  const grade = Number(typed);
  const there = scale.step === null || grid(scale).some((one) => Math.abs(one - grade) < 1e-9);
  return grade <= scale.max && there ? grade : null;
}

/** Buttons for a short scale, a field for any; `say` is called with the grade that was chosen, or null. */
export function gradeControls(
  scale: Scale,
  grade: number | null,
  say: (grade: number | null, redraw: boolean) => void,
) {
  const values = grid(scale);
  const field = h("input", {
    type: "number",
    min: 0,
    max: scale.max,
    step: scale.step ?? "any",
    "aria-label": `Grade, 0 to ${scale.max}`,
    oninput: (event: { target: HTMLInputElement }) => say(gradeIn(scale, event.target.value), false),
  });
  field.value = grade === null ? "" : String(grade);
  const button = (value: number) =>
    h(
      "button",
      {
        type: "button",
        "aria-pressed": String(value === grade),
        class: value === grade ? "pressed" : "",
        onclick: () => say(value === grade ? null : value, true),
      },
      String(value),
    );
  return [
    h("div", { class: "choices" }, h("label", null, `Grade, 0 to ${scale.max} `, field)),
    values.length && values.length <= MOST_BUTTONS
      ? h("div", { class: "choices", role: "group", "aria-label": "Grade" }, values.map(button))
      : null,
    h("p", { class: "small" }, `Counts as correct from ${scale.accept_from} of ${scale.max}.`),
  ].filter((part) => part !== null);
}
