/* The words of this page, for a reader who has nothing else. */
import type { Metric, Run } from "./model";
import { explain, h } from "./shell";
import { head } from "./state";
import { metric as known } from "./words";

type Term = [term: string, means: string];

const TERMS: Term[] = [
  ["Problem", "A statement to be proved."],
  ["Policy", "The model that writes the proofs."],
  ["Sample", "One of the S proofs that the policy writes of a problem."],
  ["Step", "A part of a proof, as its author divided it; steps are counted from 0."],
  ["Judgment, repeat", "One answer of the judge; it is asked R times for each proof."],
  [
    "Invalid",
    "A reply that could not be read as a verdict. It counts as no acceptance, and stays in every denominator.",
  ],
  ["Reference solution", "A solution that came with the problem; the judge may be shown it."],
  [
    "Human annotation",
    "What a person found: the first step with a fatal error, and steps with errors that can be mended.",
  ],
  ["Meta-verifier", "A model that grades how well a judge's explanation matches the human one."],
  ["Split", 'A part of the problems, such as one collection; "all" is all of them.'],
  [
    "95 % interval",
    "How precisely these problems measure the score on all problems of their kind: of 100 intervals made this way, about 95 contain that score.",
  ],
  [
    "Neutralised",
    "Tags in a proof that could pass for the judge's own were shown to the judge as plain text; here you see the original.",
  ],
  ["Labels", "What people said of a random draw of this run's proofs; they correct the judge's score."],
];

const JUDGE = "Judge, verifier";
const VERDICTS: Record<Run["verdict"], Term[]> = {
  "first-error-step": [
    [JUDGE, "The model that reads a proof and names the first step that is wrong, or finds none."],
    ["Accepts", "The judge finds no error. A proof counts as accepted only if all R judgments are valid and accept."],
  ],
  grade: [
    [JUDGE, "The model that reads a proof and gives it a grade."],
    [
      "Accepts",
      "The grade is at least the one that the protocol accepts. A proof counts as accepted only if all R judgments are valid and accept.",
    ],
  ],
  label: [
    [JUDGE, "The model that reads a proof and accepts or rejects it as a whole."],
    ["Accepts", "A proof counts as accepted only if all R judgments are valid and accept."],
  ],
};

const LEVELS: Record<string, string> = {
  EXACT_MATCH: "The explanation names the error that people named, for the same reason. It earns full credit.",
  BASIC_MATCH: "The explanation finds that error, with gaps or inaccuracies. It earns three quarters.",
  POOR_MATCH: "The verdict is right, and the explanation hardly matches. It earns half.",
  WRONG_POLARITY: "The verdict is wrong: an error where there is none, or none where there is one. It earns nothing.",
};

export const aboutReason = (code: string) => head.reasons[code];

/** What a reason code means, in place. */
export function reasonView(code: string) {
  const says = aboutReason(code);
  return [h("b", null, code), says ? [" ", explain(code, says)] : null];
}

/** A level of the meta-verifier, with what it means. */
export const levelView = (level: string) => [
  h("b", null, level),
  " ",
  Object.hasOwn(LEVELS, level) ? explain(level, LEVELS[level]) : null,
];

/** The definition of a metric, one press away. */
export function metricView(name: string) {
  const found = known(name);
  return found ? explain(found.label, ...definition(found)) : null;
}

const definition = ({ name, help, better, unit, range: [low, high] }: Metric) => [
  help,
  `${{ higher: "Higher is better", lower: "Lower is better", none: "0 is best" }[better ?? "none"]}; ${
    unit === "share"
      ? "a share, from 0 to 100 %"
      : unit === "points"
        ? "in points of people's scale"
        : `a plain number, ${low === null ? "at most" : `from ${String(low).replace("-", "−")} to`} ${high}`
  }.`,
  h("p", { class: "small" }, "In files and commands: ", h("code", null, name)),
];

/** Everything that the page's words mean. */
export function glossary() {
  const verdicts = [...new Set(head.runs.map((run) => run.verdict))];
  const terms = (rows: Term[]) =>
    h(
      "dl",
      { class: "terms" },
      rows.map(([term, means]) => [h("dt", null, term), h("dd", null, means)]),
    );
  const metrics = Object.values(head.metrics).flat();
  const codes = new Set([
    ...head.index.reasons,
    ...head.runs.flatMap((run) => Object.values(run.invalid).flatMap(Object.keys)),
  ]);
  const reasons = [...codes].filter(aboutReason).sort();
  const graded = head.runs.some((run) => run.meta);
  return [
    h("h3", null, "Words"),
    terms([...TERMS, ...verdicts.flatMap((verdict) => VERDICTS[verdict])]),
    h("h3", null, "Metrics"),
    terms(metrics.map((found) => [found.label, found.help])),
    reasons.length
      ? [h("h3", null, "Why replies were invalid"), terms(reasons.map((code) => [code, aboutReason(code)]))]
      : null,
    graded ? [h("h3", null, "Levels of the meta-verifier"), terms(Object.entries(LEVELS))] : null,
  ];
}
