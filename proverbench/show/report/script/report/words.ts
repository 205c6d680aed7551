/* Names of benchmarks and metrics. */
import type { Task } from "./model";
import { number } from "./shell";

export const TASKS: Record<Task, string> = { prover: "ProverBench", verifier: "VerifierBench" };

/** Label and meaning of each metric. */
export const METRICS: Record<string, [label: string, meaning: string]> = {
  pessimistic: [
    "Pessimistic score",
    "Share of proofs that all R judgments accept, averaged over problems. An invalid judgment never accepts.",
  ],
  pass_any_sample: ["Any sample passes", "Share of problems with at least one accepted proof."],
  generation_failure_rate: [
    "Generation failures",
    "Share of replies of the policy in which there is no valid proof. They score 0.",
  ],
  verifier_valid_rate: ["Valid judgments", "Share of requested judgments that could be read by the protocol."],
  rough_bal_f1: ["Balanced F1", "Harmonic mean of TPR and TNR."],
  rough_tpr: [
    "TPR: right proofs accepted",
    "Of the proofs in which people found no error: share of judgments that accept.",
  ],
  rough_tnr: [
    "TNR: wrong proofs rejected",
    "Of the proofs in which people found an error: share of judgments that reject.",
  ],
  rough_accuracy: ["Accuracy", "Share of judgments that agree with people on right or wrong."],
  balanced_accuracy: ["Balanced accuracy", "Mean of TPR and TNR."],
  first_error_step_accuracy: [
    "First error found",
    "Share of judgments that name the same first wrong step as people (or agree that there is none).",
  ],
  first_error_step_accuracy_incorrect: [
    "First error found, wrong proofs",
    "The same, over proofs in which people found an error.",
  ],
  meta_ver_tpr: ["Meta TPR", "As TPR, weighted by how well the explanation matches the human one."],
  meta_ver_tnr: ["Meta TNR", "As TNR, weighted by how well the explanation matches the human one."],
  meta_ver_bal_f1: ["Meta balanced F1", "Harmonic mean of meta TPR and meta TNR."],
  meta_valid_rate: ["Valid meta levels", "Share of requested levels that could be read."],
};
export const HEADLINE: Record<Task, string> = { prover: "pessimistic", verifier: "rough_bal_f1" };
export const label = (metric: string) => METRICS[metric]?.[0] ?? metric;
export const plural = (count: number | string, one: string) =>
  `${number(count)} ${one}${Number(count) === 1 ? "" : "s"}`;

// ------------------------------------------------------------ marks of judgments
