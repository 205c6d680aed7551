/* What the page of a plan gets from Python (show/plan/tables.py, show/plan/curves.py). */

export interface WidthRow {
  samples: number;
  problems: number;
  low: number;
  high: number;
  width: number;
  cost: number;
}

export interface PowerRow {
  samples: number;
  problems: number;
  power: number;
  cost: number;
}

/** What costs are in; null: in calls. */
export type Unit = "USD" | "tokens" | null;

/** What more of a run would buy; of a run that has so many problems and samples. */
export interface RunCurve {
  problems: number;
  samples: number;
  unit: Unit;
  rows: WidthRow[];
}

interface AtOneDesign<Row> {
  problems: number;
  samples: number;
  rows: Row[];
}

export type RepeatsCurve = AtOneDesign<{ repeats: number; value: number; low: number; high: number; width: number }>;
export type LabelsCurve = AtOneDesign<{ labels: number; low: number; high: number; width: number }> & {
  known: boolean;
};

export interface Curves {
  width: WidthRow[];
  power: { points: number; wanted: number; rows: PowerRow[] } | null;
  repeats: RepeatsCurve | null;
  labels: LabelsCurve | null;
}

export interface Design {
  problems: number;
  samples: number;
  low: number;
  high: number;
  width: number;
  width_range?: [number, number];
  detectable?: number;
  labelled_low?: number;
  labelled_high?: number;
  cost: number;
}

export interface Plan {
  made_by: string;
  basis: string;
  repeats: number;
  unit: Unit;
  says: string[];
  designs: Design[];
  answers: { question: string; design: Design | null; reason: string | null }[];
  curves: Curves;
}
