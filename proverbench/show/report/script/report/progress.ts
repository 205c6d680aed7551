/* How far whoever labels is, and what the labels buy. */
import { unsaved, type Labelling, type Store } from "./labels";
import { h } from "./shell";
import { plural } from "./words";

export function progressView(kept: Store, labelling: Labelling) {
  const { labelled, undecided, drawn, width, expected } = kept.progress;
  const points = (share: number) => `± ${(50 * share).toFixed(0)} points`;
  const now = width ? points(width) : null;
  const gain =
    now && labelled + undecided === drawn
      ? ` The corrected score is known to about ${now}.`
      : expected === null || expected === undefined
        ? ""
        : ` The corrected score will be known to about ${points(expected)} with all labels${now ? `, ${now} now` : ""}.`;
  const notKept = labelling.served ? "" : unsaved ? ` ${plural(unsaved, "label")} not downloaded yet.` : "";
  return h(
    "div",
    { class: "progress" },
    h("progress", { max: drawn, value: labelled + undecided, "aria-label": "Labelled" }),
    h(
      "p",
      { class: "small" },
      `${labelled} of ${drawn} labelled${undecided ? `, ${undecided} undecided` : ""}.${gain}${notKept}`,
    ),
  );
}
