/* Names of benchmarks and metrics. */
import type { Metric, Task } from "./model";
import { number } from "./shell";
import { head } from "./state";

export const TASKS: Record<Task, string> = { prover: "ProverBench", verifier: "VerifierBench" };

/** What the model says of a metric; nothing where it is a count. */
export const metric = (name: string): Metric | undefined =>
  Object.values(head.metrics)
    .flat()
    .find((known) => known.name === name);
/** The metric that runs of a benchmark are ranked by. */
export const headline = (task: Task) => head.metrics[task]![0].name;
export const label = (name: string) => metric(name)?.label ?? name;
export const plural = (count: number | string, one: string) =>
  `${number(count)} ${one}${Number(count) === 1 ? "" : "s"}`;

// ------------------------------------------------------------ marks of judgments
