/* "What does this say?": three sentences, made from the numbers of a run. */
import { bare } from "./intervals";
import type { Run, Split } from "./model";
import { h, number, percent } from "./shell";
import { roleOf } from "./state";
import { headline, plural } from "./words";

export function saysView(run: Run) {
  const said = run.splits.all?.metrics ? sentences(run, run.splits.all) : null;
  if (!said) return null;
  return h(
    "section",
    { class: "says", "aria-labelledby": "says" },
    h("h3", { id: "says" }, "What does this say?"),
    h(
      "ol",
      null,
      said.map((sentence) => h("li", null, sentence)),
    ),
  );
}

function sentences(run: Run, split: Split): string[] | null {
  const name = headline(run.task);
  const value = split.metrics?.[name];
  if (value === null || value === undefined) return null;
  return [run.task === "prover" ? written(run, value) : judged(run, split), doubt(split, name), caution(run, split)];
}

function written(run: Run, value: number): string {
  const all = run.repeats === 1 ? "the one judgment that" : `all ${run.repeats} judgments that`;
  const proofs = run.samples === 1 ? "of its proofs" : `of its proofs (${run.samples} for each problem)`;
  return `${roleOf(run, "policy")} wrote proofs of ${plural(run.rows, "problem")}; ${percent(value)} ${proofs} were accepted by ${all} ${roleOf(run, "verifier")} gave.`;
}

function judged(run: Run, { metrics }: Split): string {
  const right = percent(metrics?.rough_tpr);
  const wrong = percent(metrics?.rough_tnr);
  return `${roleOf(run, "verifier")} judged ${plural(run.rows, "proof")} that people have checked: it accepted ${right} of the correct ones and rejected ${wrong} of the incorrect ones.`;
}

function doubt({ intervals }: Split, name: string): string {
  const interval = intervals[name];
  if (!interval)
    return "There are too few problems to say how precisely this measures the score on all problems of their kind.";
  const width = interval.high - interval.low;
  const ends = [bare(name, interval.low), bare(name, interval.high)];
  const known = width > 0.2 ? "only roughly" : width > 0.08 ? "fairly well" : "well";
  const from = interval.n ? `, from ${plural(interval.n, "problem")}` : "";
  return `The 95 % interval, ${ends[0]} to ${ends[1]} %, says how precisely these problems measure the score on all problems of their kind: it is known ${known}${from}.`;
}

function caution(run: Run, split: Split): string {
  const lost = Object.values(run.invalid.verifier ?? {}).reduce((sum, times) => sum + times, 0);
  const invalid = lost ? ` ${number(lost)} of its judgments could not be read, and do not count as acceptance.` : "";
  if (run.task === "prover")
    return `The score counts what the judge accepts, not what is right, so it includes the judge's errors; \`proverbench correct\` estimates the share that is right, from proofs that people have labelled.${invalid}`;
  const { rough_tpr: tpr, rough_tnr: tnr } = split.metrics ?? {};
  const leans =
    typeof tpr === "number" && typeof tnr === "number" && Math.abs(tpr - tnr) > 0.1
      ? tpr > tnr
        ? "It is lenient: it accepts incorrect proofs more often than it rejects correct ones."
        : "It is strict: it rejects correct proofs more often than it accepts incorrect ones."
      : "It errs about as often in one direction as in the other.";
  return `${leans}${invalid}`;
}
