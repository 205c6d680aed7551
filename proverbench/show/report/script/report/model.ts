/* What the page is made from: the report's model, as proverbench/show/report/build.py writes it. */
import type { Study } from "./study-model";
import type { RunCurve } from "../plan/model";
import type { Grades } from "./grades";
import type { Facts } from "./published";
import type { Labelling } from "./labels";

export type Task = "prover" | "verifier";

export interface Interval {
  low: number;
  high: number;
  /** Problems that count. */
  n: number | null;
  /** Problems that carry the rarer outcome. */
  evidence: number | null;
}

export interface Bounds {
  low: number;
  high: number;
  invalid: number;
}

export interface VotingRow {
  metric: string;
  r: number;
  k: number;
  rules: string[];
  value: number | null;
  interval: Interval | null;
  cost: number;
}

export interface BreakdownRow {
  group: string;
  metric: string;
  value: number;
  interval: Interval | null;
  proofs: number;
  problems: number;
  note?: string | null;
}

export interface AgreementRow {
  measure: string;
  on: string;
  value: number | null;
  reason?: string;
  interval: Interval | null;
  n: number;
  left_out: number;
}

export interface Plots {
  voting: VotingRow[];
  cost_unit: string | null;
  breakdown: Record<string, BreakdownRow[]>;
  agreement?: AgreementRow[];
  human_agreement?: AgreementRow[];
  pass_at_k?: { k: number; value: number | null; interval: Interval | null }[];
  confusion?: { annotated: string[]; reported: string[]; counts: number[][] };
  grades?: Grades;
  /** What more problems or samples would buy. */
  plan?: RunCurve;
  threshold?: { k: number; value: number | null; majority: number; pessimistic: number };
}

export interface Split {
  selected_rows: number;
  expected_records: number;
  completed_records: number;
  complete: boolean;
  metrics: Record<string, number | null> | null;
  intervals: Record<string, Interval | null>;
  bounds: Record<string, Bounds> | null;
  /** The exact fraction behind a metric, by metric. */
  fractions: Record<string, string>;
  /** Why a metric has no value, by metric. */
  undefined: Record<string, string>;
  plots?: Plots;
}

export interface Role {
  role: string;
  model: string;
  kind: string;
  generation: Record<string, unknown>;
  prompt_sha256: string | null;
  own_prompt: boolean;
}

export interface Session {
  start: string;
  end: string;
  calls: number;
  unanswered: number;
  stop: string | null;
}

export interface Calls {
  calls: number;
  latency_s: number;
  latency_max_s: number;
  cost_usd?: number;
  cost_is_at_least?: boolean;
}

export interface Run {
  name: string;
  task: Task;
  complete: boolean;
  run_id: string;
  protocol: string;
  /** What a judgment says under it. */
  verdict: "first-error-step" | "grade" | "label";
  scored_by: string;
  tool: string | null;
  imported: { evaluator_version: string | null; run_id: string | null; code_sha256: string | null } | null;
  roles: Role[];
  data_sha256: string | null;
  /** Lines of calls.jsonl, and the head of their chain (docs/run-format.md). */
  /** Run, seal and summary in one line, which `proverbench verify-run` checks. */
  quote: string;
  proofs_sha256: string | null;
  use_reference_solution: boolean;
  neutralise: boolean;
  rows: number;
  samples: number;
  repeats: number;
  meta: boolean;
  domain: string | null;
  limit: number | null;
  shard: string | null;
  sessions: Session[];
  seconds: number | null;
  calls: Record<string, Calls>;
  usage: Record<string, { input?: number; output?: number }>;
  invalid: Record<string, Record<string, number>>;
  /** Replies that are there, by role. */
  answered: Record<string, number>;
  missing: Record<string, number>;
  closed_unanswered: number;
  warnings: string[];
  /** What was lost of the run's replies, a sentence each; its owner accepted the loss. */
  losses?: string[];
  splits: Record<string, Split>;
}

export interface Pair {
  metric: string;
  first: string;
  second: string;
  difference: number;
  interval: Interval | null;
  p_holm: number;
  verdict: string;
}

export interface Comparison {
  task: Task;
  split: string;
  runs: string[];
  /** Why these runs are not compared; null where they are. */
  reason: string | null;
  warnings: string[];
  problems: number;
  left_out: Record<string, number>;
  pairs: Pair[];
  ranks: { metric: string; run: string; best: number; worst: number }[];
}

/** Runs whose figures may stand in one table. */
export interface Board {
  task: Task;
  runs: string[];
  what: string;
  /** What differs nevertheless, a sentence each. */
  notes: string[];
}

/** Runs that differ in R alone, at the R that all have. */
export interface Common {
  repeats: number;
  scores: { run: string; value: number; interval: Interval | null }[];
}

export interface PublishedRow {
  model: string;
  group: string;
  prover_ug: number | null;
  prover_qe: number | null;
  rough_tpr: number | null;
  rough_tnr: number | null;
  rough_bal_f1: number | null;
  meta_tpr: number | null;
  meta_tnr: number | null;
  meta_bal_f1: number | null;
}

/** Of one run: its number, why there is no proof (or null), a mark for each judgment, and its grade if there are any. */
export type Marks = [run: number, why: string | null, marks: number[], grades?: (number | null)[]];

/** A metric, as proverbench.metrics declares it. */
export interface Metric {
  name: string;
  label: string;
  /** The label in a column, as short as it can be. */
  heading: string;
  help: string;
  unit: "share" | "points" | "number";
  /** Smallest and largest possible value; null where there is no end. */
  range: [low: number | null, high: number | null];
  /** Null where neither is, as of a bias. */
  better: "higher" | "lower" | null;
  /** Place among the headlines of its benchmark, from 1. */
  headline: number | null;
}

/** Findings of a person, as a VerifierBench row has them; null steps: nothing was found yet. */
export interface Findings {
  first_fatal_error_step: number | null;
  recoverable_error_steps: number[] | null;
  reviewer_comment: string;
  first_error_reason: string;
  remark: string;
}

/** A value with its interval, as shares. */
export interface Shown {
  value: number;
  interval: Interval | null;
}

export interface Head {
  /** Where the runs are those of a study. */
  study?: Study;
  made_by: string;
  /** The metrics of each benchmark that a run is of, headlines first. */
  metrics: Partial<Record<Task, Metric[]>>;
  /** Reason code of an invalid reply, to what it means. */
  reasons: Record<string, string>;
  /** Intervals that rest on fewer problems say so. */
  little_evidence: number;
  runs: Run[];
  comparisons: Comparison[];
  boards: Board[];
  /** Why runs of a benchmark stand on several boards. */
  apart: Partial<Record<Task, string[]>>;
  common: Partial<Record<Task, Common[]>>;
  /** Published figures of another benchmark. */
  facts: Facts | null;
  published: { source: string; rows: PublishedRow[]; differences: Record<string, string[]> } | null;
  index: {
    columns: string[];
    proofs: any[][];
    problems: [id: string, opening: string][];
    reasons: string[];
    domains: string[];
    subjects: string[];
    policies: string[];
  };
  /** In a folder of pages: each file, and the chunks that it holds (from, and up to but not including). */
  files?: [file: string, from: number, to: number][];
  labelling?: Labelling;
  /** Served by `proverbench view`: the page follows the runs. */
  live?: boolean;
  version?: string;
}

/** A proof of the index. */
export interface Item {
  task: Task;
  key: string;
  problem: number;
  problemId: string;
  opening: string;
  sample: number;
  domain: string;
  subject: string;
  policy: string;
  label: number | null;
  /** People's grade: 6/7. */
  grade: string | null;
  steps: number;
  chunk: number;
  place: number;
  runs: Marks[];
  /** Of all runs. */
  marks: number[];
}

export interface Problem {
  id: string;
  text: string;
  reference: string | null;
  answer: string | null;
  source_id: string | null;
  /** What earns how many points. */
  rubric: string | null;
}

export interface Annotation {
  /** Null where no step is named: the proof was judged as a whole. */
  fatal: number | null;
  recoverable: number[];
  comment: string | null;
  reason: string | null;
  remark: string | null;
  correct: boolean;
  first: number | null;
  /** Points, and the most there are. */
  grade: [number, number] | null;
  grades: [grader: string, grade: number, comment: string][];
}

/** A reply as it came, and what is known of the call. */
export interface Call {
  prompt?: string | null;
  reply: string | null;
  reasoning?: string | null;
  finish?: string | null;
  refused?: string | null;
  model?: string | null;
  at?: string | null;
  seconds?: number;
  usage?: Record<string, unknown> | null;
}

export interface MetaLevel extends Call {
  level: string | null;
  reason: string | null;
}

export interface Judgment extends Call {
  repeat: number;
  valid: boolean;
  step: number | null;
  reason: string | null;
  assessment: string;
  errors: string[];
  meta?: MetaLevel;
}

/** What one run says of a proof. */
export interface Judged {
  run: number;
  complete: boolean;
  score: number | null;
  neutralised: number;
  /** Characters of the proof that a reader cannot see. */
  unseen: number;
  prompt: string | null;
  judgments: Judgment[];
  policy?: Call;
}

export interface Proof {
  problem: number;
  steps?: string[];
  annotation?: Annotation;
  runs: Judged[];
}

export interface Chunk {
  problems: Record<string, Problem>;
  proofs: Proof[];
}
