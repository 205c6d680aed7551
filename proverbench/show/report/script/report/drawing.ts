/* What the plots share. */
import type { Markish, PlotOptions, ScaleOptions } from "@observablehq/plot";
import { high, low } from "./intervals";
import type { Interval, Plots, Run } from "./model";
import { colour, symbol } from "./shell";
import { chosen } from "./state";

/** A run, and the number of its colour. */
export interface Entry {
  run: Run;
  series: number;
}

/** A value with the ends of its interval, which are the value itself where there is no interval. */
export interface Point {
  series: number;
  value: number;
  low: number;
  high: number;
}

/** What is plotted of a run's chosen split; only runs that have it are drawn. */
export const plotsOf = (run: Run): Plots => run.splits[chosen.split].plots!;

export const legendOf = (entries: Entry[]) => entries.map(({ run, series }) => ({ label: run.name, series }));

/** The rows that have a value, as points of a series. */
export function pointsOf<R extends { value: number | null; interval: Interval | null }>(rows: R[], series: number) {
  return rows.flatMap((row) =>
    row.value === null ? [] : [{ ...row, series, value: row.value, low: low(row)!, high: high(row)! }],
  );
}

export const base = (width: number, options: PlotOptions) =>
  Plot.plot({
    className: "plot",
    width,
    height: Math.min(360, Math.max(240, width * 0.5)),
    marginLeft: 48,
    marginRight: 30,
    marginBottom: 40,
    style: { background: "transparent" },
    symbol: { type: "identity" },
    color: { type: "identity" },
    ...options,
  });

/** A scale of shares, in percent. */
export const shares = (options: ScaleOptions = {}): ScaleOptions => ({
  domain: [0, 1],
  tickFormat: (value: number) => `${Math.round(100 * value)}`,
  grid: true,
  ...options,
});

/** A scale of whole numbers. */
export const counts = (label: string, values: number[]): ScaleOptions => ({
  label,
  ticks: [...new Set(values)],
  tickFormat: "d",
  grid: false,
});

/** A scale of costs: US dollars, or tokens where prices are not known. */
export const costs = (money: boolean, width: number): ScaleOptions => ({
  label: money ? "cost, US dollars" : "tokens",
  grid: false,
  tickFormat: money ? (value: number) => `$${value}` : "~s",
  ticks: Math.max(3, Math.round(width / 110)),
  zero: true,
});

export const tip = <T extends object>(channels: T) => ({
  tip: { fill: "var(--raised)", stroke: "var(--line)" },
  ...channels,
});

/** The points of one or more series, each with what a pointer is shown. */
export const dots = <R extends Point>(rows: R[], x: keyof R & string, title: (row: R) => string): Markish =>
  Plot.dot(
    rows,
    tip({
      x,
      y: "value",
      fill: (row: R) => colour(row.series),
      symbol: (row: R) => symbol(row.series) as any,
      r: 4.5,
      title,
    }),
  );

/** Curves with their intervals as bands; z names what makes a curve of its own. */
export function curves<R extends Point>(
  rows: R[],
  x: keyof R & string,
  z: keyof R & string,
  title: (row: R) => string,
  { opacity = 0.16 } = {},
): Markish[] {
  const ofSeries = (row: R) => colour(row.series);
  return [
    Plot.areaY(rows, { x, y1: "low", y2: "high", z, fill: ofSeries, fillOpacity: opacity }),
    Plot.line(rows, { x, y: "value", z, stroke: ofSeries, strokeWidth: 2 }),
    dots(rows, x, title),
  ];
}

/** A part of 0..1 that shows differences, never less than 20 points wide. */
export function zoom(rows: Point[]): [number, number] {
  const ends = rows.flatMap((row) => [row.low, row.high, row.value]);
  let [from, to] = [Math.min(...ends) - 0.04, Math.max(...ends) + 0.04];
  const spare = 0.2 - (to - from);
  if (spare > 0) [from, to] = [from - spare / 2, to + spare / 2];
  return [Math.max(0, Math.floor(from * 20) / 20), Math.min(1, Math.ceil(to * 20) / 20)];
}

/** Points as rows of a CSV file: without what only the drawing needs. */
export const asRows = <R extends Point>(rows: R[]) => rows.map(({ series: _, ...row }) => row);
