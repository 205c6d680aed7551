/* Who labels: asked where the page keeps the labels. */
import { annotators } from "./labels";
import { h } from "./shell";

/** A form that asks for the name; `then` is done before labelling begins. */
export function askName(then: () => void) {
  const field = h("input", { id: "annotator", required: true, maxlength: 60, autocomplete: "name" });
  const form = h(
    "form",
    { class: "sheet name", onsubmit: (event: Event) => (event.preventDefault(), start()) },
    h("h2", null, "Label proofs"),
    h(
      "p",
      null,
      "You will see one proof at a time, and the judge's verdicts once your label is given. Your labels stay in this browser until you download them.",
    ),
    h("label", { for: "annotator" }, "Your name, for the file "),
    field,
    " ",
    h("button", { type: "submit" }, "Begin"),
  );
  const start = () => {
    if (!field.value.trim()) return;
    annotators.set(field.value.trim());
    then();
    dispatchEvent(new Event("hashchange"));
  };
  setTimeout(() => field.focus());
  return form;
}
