/* "What does this say?": three sentences, made from the numbers of a run. */
import { between } from "./intervals";
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
  return `${roleOf(run, "verifier")} judged ${plural(run.rows, "proof")} that people have checked: it let ${right} of the right ones through, and turned ${wrong} of the wrong ones away.`;
}

function doubt({ intervals }: Split, name: string): string {
  const interval = intervals[name];
  if (!interval)
    return "With so few problems nothing can be said of how far another choice of problems would move this.";
  const width = interval.high - interval.low;
  const known = width > 0.2 ? "only roughly" : width > 0.08 ? "fairly well" : "well";
  return `Had other problems of the same kind been drawn, the score would most likely be between ${between(interval)} %: it is known ${known}${interval.n ? `, from ${plural(interval.n, "problem")}` : ""}.`;
}

function caution(run: Run, split: Split): string {
  const lost = Object.values(run.invalid.verifier ?? {}).reduce((sum, times) => sum + times, 0);
  const invalid = lost ? ` ${number(lost)} of its judgments could not be read, and count as no acceptance.` : "";
  if (run.task === "prover")
    return `This is what the judge accepts, which is not the same as what is right: unless people have labelled some of these proofs, the judge's own errors are in the score.${invalid}`;
  const { rough_tpr: tpr, rough_tnr: tnr } = split.metrics ?? {};
  const leans =
    typeof tpr === "number" && typeof tnr === "number" && Math.abs(tpr - tnr) > 0.1
      ? tpr > tnr
        ? "It is lenient: it rather lets wrong proofs through than turns right ones away."
        : "It is strict: it rather turns right proofs away than lets wrong ones through."
      : "It errs about as often one way as the other.";
  return `${leans}${invalid}`;
}
