/* What the page knows of a study: proverbench/show/study.py writes it. */
import type { Shown } from "./model";

/** A run of a study, or a calibration of one. */
export interface StudyCell {
  policy?: string;
  judge: string;
  done: number;
  wanted: number;
  metric: string;
  value: number | null;
  interval: Shown["interval"];
  rank: number | null;
  corrected?: { value?: number; interval?: Shown["interval"]; refused?: string } | null;
  cost_usd: number | null;
  /** What it would have cost without the other runs. */
  alone_usd?: number | null;
}

export type PanelRule = "any" | "majority" | "all";

export interface Panel {
  repeats: number;
  rules: Record<PanelRule, Shown>;
  /** The score for each r, the number of judgments that each judge must accept with. */
  curve: { rule: PanelRule; repeats: number; value: number }[];
}

export interface Study {
  runs: StudyCell[];
  calibrations: StudyCell[];
  orders: { first: string; second: string; tau_b: number; policies: number }[];
  panels: Record<string, Panel>;
  crossed: Record<string, { accepts: string; rejects: string; proofs: number; of: number }[]>;
  notes: string[];
}
