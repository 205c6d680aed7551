/* Rates of a judge against people's annotations. */
import type { Markish } from "@observablehq/plot";
import { asRows, base, counts, curves, type Entry, legendOf, pointsOf, shares, tip } from "./drawing";
import { range } from "./intervals";
import type { Plots, PublishedRow, Run } from "./model";
import { chart, colour, percent, symbol } from "./shell";
import { chosen, head } from "./state";

const ISO = [0.2, 0.4, 0.6, 0.8]; // values of balanced F1 that have a curve

/* Harmonic mean f of x and y: y = f x / (2x - f). */
function isoCurves() {
  return ISO.flatMap((f) => {
    const xs = Array.from({ length: Math.ceil((1 - f / 2) / 0.005) }, (_, at) => f / 2 + 0.001 + 0.005 * at);
    return xs.map((x) => ({ f, x, y: (f * x) / (2 * x - f) })).filter(({ y }) => y <= 1 && y >= 0);
  });
}

interface Rates {
  run: string;
  series: number;
  tpr: number;
  tpr_low: number;
  tpr_high: number;
  tnr: number;
  tnr_low: number;
  tnr_high: number;
  bal_f1: number | null;
}

function ratesOf({ run, series }: Entry): Rates[] {
  const { metrics, intervals } = run.splits[chosen.split];
  const tpr = metrics?.rough_tpr;
  const tnr = metrics?.rough_tnr;
  if (tpr === null || tpr === undefined || tnr === null || tnr === undefined) return [];
  const [tpr_low, tpr_high] = range(intervals.rough_tpr) ?? [tpr, tpr];
  const [tnr_low, tnr_high] = range(intervals.rough_tnr) ?? [tnr, tnr];
  const bal_f1 = metrics?.rough_bal_f1 ?? null;
  return [{ run: run.name, series, tpr, tpr_low, tpr_high, tnr, tnr_low, tnr_high, bal_f1 }];
}

export function ratesPlot(entries: Entry[]) {
  const rows = entries.flatMap(ratesOf);
  if (!rows.length) return null;
  const published = chosen.split === "all" && head.published ? head.published.rows : [];
  const about = published.length ? " Hollow diamonds are published results, not comparable with yours." : "";
  const theirs = published.map((row) => ({
    run: `${row.model} (published)`,
    tpr: row.rough_tpr,
    tnr: row.rough_tnr,
    bal_f1: row.rough_bal_f1,
  }));
  return chart({
    title: "Leniency against strictness: TPR and TNR",
    says: `Up: wrong proofs are caught. Right: right proofs are let through. Along a grey curve the balanced F1 is the same.${about}`,
    rows: [...rows.map(({ series: _, ...row }) => row), ...theirs],
    legend: legendOf(entries),
    draw: (width) =>
      base(width, {
        height: Math.min(width, 460),
        x: shares({ label: "TPR, % of right proofs accepted" }),
        y: shares({ label: "TNR, % of wrong proofs rejected" }),
        marks: [...isoMarks(), publishedMark(published), ...rateMarks(rows)],
      }),
  });
}

function isoMarks(): Markish[] {
  const soft = "var(--soft)";
  const labels = ISO.map((f) => ({ x: f, y: f, text: `F1 ${100 * f}` }));
  const dashed = { stroke: soft, strokeOpacity: 0.45, strokeDasharray: "2 3" };
  return [
    Plot.line(isoCurves(), { x: "x", y: "y", z: "f", ...dashed }),
    Plot.text(labels, { x: "x", y: "y", text: "text", fill: soft, stroke: "var(--raised)", strokeWidth: 4 }),
  ];
}

function publishedMark(rows: PublishedRow[]): Markish {
  const title = (row: PublishedRow) =>
    `${row.model} (published)\nTPR ${percent(row.rough_tpr)}, TNR ${percent(row.rough_tnr)}`;
  const look = { stroke: "var(--soft)", symbol: "diamond" as const, r: 4 };
  return Plot.dot(rows, tip({ x: "rough_tpr", y: "rough_tnr", title, ...look }));
}

function rateMarks(rows: Rates[]): Markish[] {
  const ofSeries = (row: Rates) => colour(row.series);
  const title = (row: Rates) =>
    `${row.run}\nTPR ${percent(row.tpr)}, TNR ${percent(row.tnr)}\nbalanced F1 ${percent(row.bal_f1)}`;
  const mark = (row: Rates) => symbol(row.series) as any;
  return [
    Plot.ruleX(rows, { x: "tpr", y1: "tnr_low", y2: "tnr_high", stroke: ofSeries, strokeWidth: 2 }),
    Plot.ruleY(rows, { y: "tnr", x1: "tpr_low", x2: "tpr_high", stroke: ofSeries, strokeWidth: 2 }),
    Plot.dot(rows, tip({ x: "tpr", y: "tnr", fill: ofSeries, symbol: mark, r: 6, title })),
  ];
}

const VOTED: Record<string, { name: string; series: number }> = {
  bal_f1: { name: "balanced F1", series: 0 },
  tpr: { name: "TPR", series: 2 },
  tnr: { name: "TNR", series: 1 },
};

/** Balanced F1, TPR and TNR of "at least k of R accept". */
export function votingPlot(run: Run, data: Plots) {
  const largest = run.repeats;
  if (largest < 2) return null;
  const rows = Object.entries(VOTED).flatMap(([metric, { name, series }]) =>
    pointsOf(
      data.voting.filter((row) => row.metric === metric && row.r === largest),
      series,
    ).map(({ k, value, low, high, rules }) => ({ k, metric: name, series, value, low, high, rules: rules.join(" ") })),
  );
  if (!rows.length) return null;
  const best = data.threshold;
  const chosenBy =
    best && best.value !== null
      ? `${run.name}: chosen by cross-validation, k = ${best.k} gives ${percent(best.value)} on proofs that did not choose it; the majority gives ${percent(best.majority)}, all ${largest} ${percent(best.pessimistic)}.`
      : "The best threshold needs right and wrong proofs of two problems.";
  const title = (row: (typeof rows)[number]) =>
    `at least ${row.k} of ${largest}\n${row.metric} ${percent(row.value)}\n${percent(row.low)} to ${percent(row.high)}`;
  return chart({
    title: `Voting rules: accept when at least k of ${largest} judgments accept`,
    says: chosenBy,
    rows: asRows(rows),
    legend: Object.values(VOTED).map(({ name, series }) => ({ label: name, series })),
    draw: (width) =>
      base(width, {
        x: counts(
          `k of ${largest}`,
          rows.map((row) => row.k),
        ),
        y: shares({ label: "%" }),
        marks: curves(rows, "k", "metric", title, { opacity: 0.12 }),
      }),
  });
}
