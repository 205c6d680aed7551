/* What the page of retrievalbench gets from Python (retrieval/leaderboard.py, retrieval/boards.py). */

export type Value = number | null;
export type Metrics = Record<string, Value | undefined>;

export interface Badge {
  label: string;
  why: string;
}

export interface Interval {
  low: Value;
  high: Value;
  n: number;
  method: string;
}

/** The unit that is resampled: queries, as published, or whole declarations. */
export type Unit = "query" | "cluster";

export interface Row {
  label: string;
  kind: string;
  run: number;
  corpus: string;
  complete: boolean;
  badges: Badge[];
  metrics?: Metrics | null;
  intervals?: Record<string, Record<Unit, Interval> | undefined> | null;
  curves?: Record<string, Value[]> | null;
  bands: Record<string, Record<Unit, { low: Value[]; high: Value[] }>>;
  pr11?: number[] | null;
  sparkline?: Value[] | null;
  latency_p95_s: Value;
  n: number;
  dropped: number;
  coverage: Value;
}

export interface Outside {
  system: string;
  label: string;
  source: string;
  reference: string;
  task: string;
  corpus: string;
  metrics: Record<string, number>;
  n: number;
}

export interface Pair {
  metric: string;
  first: string;
  second: string;
  difference: Value;
  interval: { low: Value; high: Value };
  p_holm: number;
  verdict: string;
}

export interface Board {
  title: string;
  note?: string;
  rows: Row[];
  held: string[];
  loose: string[];
  precision: { offered: boolean; why: string };
  published: (Outside & { drawn: boolean; why: string })[];
  pairs: Pair[];
}

export interface Run {
  label: string;
  task: string;
  run_id: string;
  corpus: string;
  benchmark: { file: string; sha256: string };
  renderer: string;
  mathlib: boolean;
  identity: unknown;
  pr11: number[];
  summary: {
    gold_units: number;
    units_left_out: number;
    overlapping: string[];
    groups?: Record<string, Record<string, Metrics & { n: number }>>;
  };
}

/** Where a run put the units of a query. */
export interface Found {
  dropped: boolean;
  overlapping: boolean;
  positions: Value[] | null;
  n_retrieved: Value;
}

/** What is unpacked only when one query is looked at. */
export interface Details {
  units: string[][];
  units_left_out: number;
  top: string[];
}

export interface Query {
  id: string;
  task: string;
  text: string;
  labels: Record<string, string>;
  runs: Record<number, Found>;
}

export interface Methodology {
  held: { title: string; rows: Record<string, string>[] }[];
  formulas: { name: string; says: string }[];
  caveats: string[];
  prior_work: { title: string; arxiv: string }[];
}

export interface Page {
  banners: string[];
  licences: string[];
  runs: Run[];
  boards: Board[];
  published: Outside[];
  queries: Query[];
  queries_per_chunk: number;
  methodology: Methodology;
  changelog: { label: string; run_id: string; at: string; version: string; task: string; corpus: string }[];
}
