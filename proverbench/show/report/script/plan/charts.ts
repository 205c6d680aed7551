/* Width and power against problems, samples, judgments, labels and cost. */
import type { Markish, PlotOptions } from "@observablehq/plot";
import { base, tip } from "../report/drawing";
import { chart, colour, number, percent, symbol } from "../report/shell";
import { plural } from "../report/words";
import type { Curves, LabelsCurve, RepeatsCurve, RunCurve, Unit, WidthRow } from "./model";

type XY = "problems" | "cost";
interface Row {
  samples: number;
  problems: number;
  cost: number;
}

const UNITS = { USD: "US dollars", tokens: "tokens" };
const samplesOf = (rows: Row[]) => [...new Set(rows.map((row) => row.samples))];
const seriesOf = (rows: Row[]) => {
  const order = samplesOf(rows);
  return (row: Row) => order.indexOf(row.samples);
};
const legendOf = (rows: Row[]) =>
  samplesOf(rows).map((samples, series) => ({ label: plural(samples, "sample"), series }));

/** Half the width of an interval, in points: the 2 of ±2. */
const points = (row: { width: number }) => 50 * row.width;
const reach = (row: { low: number; high: number }) => `${percent(row.low)} to ${percent(row.high)}`;

export function costOf(cost: number, unit: Unit): string {
  if (unit === "USD") return `$${number(cost.toFixed(2))}`;
  return `${number(Math.round(cost))} ${unit ?? "calls"}`;
}

/* A curve for each number of samples. */
function curvesOf<R extends Row>(rows: R[], x: XY, y: (row: R) => number, title: (row: R) => string): Markish[] {
  const series = seriesOf(rows);
  const stroke = (row: R) => colour(series(row));
  return [
    Plot.line(rows, { x, y, z: "samples", stroke, strokeWidth: 2 }),
    Plot.dot(rows, tip({ x, y, fill: stroke, symbol: (row: R) => symbol(series(row)) as any, r: 3, title })),
  ];
}

const problemsAxis: PlotOptions = { x: { type: "log", label: "problems", tickFormat: "d", ticks: 6, grid: false } };
const costAxis = (unit: Unit): PlotOptions => ({
  x: {
    type: "log",
    label: unit ? UNITS[unit] : "calls",
    tickFormat: unit === "USD" ? (value: number) => `$${value}` : "~s",
    ticks: 5,
    grid: false,
  },
});
const pointsAxis: PlotOptions = { y: { label: "± points", grid: true, zero: true } };

const about = (row: Row & WidthRow, unit: Unit) =>
  `${plural(row.problems, "problem")} × ${plural(row.samples, "sample")}: ±${points(row).toFixed(1)} points\n` +
  `${reach(row)}\n${costOf(row.cost, unit)}`;

function widthChart(rows: WidthRow[], unit: Unit, x: XY, words: { title: string; says: string }, more: Markish[] = []) {
  return chart({
    ...words,
    rows,
    legend: legendOf(rows),
    draw: (width) =>
      base(width, {
        ...(x === "problems" ? problemsAxis : costAxis(unit)),
        ...pointsAxis,
        marks: [...curvesOf(rows, x, points, (row) => about(row, unit)), ...more],
      }),
  });
}

const best = (rows: WidthRow[]) => rows.reduce((least, row) => (row.width < least.width ? row : least));

/** What more problems or samples of a run would buy. */
export function runPlot(name: string, { problems, samples, unit, rows }: RunCurve) {
  const all = Math.max(...rows.map((row) => row.problems));
  const last = (count: number) => rows.find((row) => row.problems === all && row.samples === count);
  const more = last(1) ? ` With ${number(all)} problems and one sample of each ±${points(last(1)!).toFixed(1)}.` : "";
  const says =
    `${name} has ${plural(problems, "problem")} × ${plural(samples, "sample")} (the line). Half the width of the 95 % ` +
    `interval to expect with more or fewer.${more} proverbench plan answers more, and by cost.`;
  const here = () => Plot.ruleX([problems], { stroke: "currentColor", strokeDasharray: "3 4" });
  return chart({
    title: "What more problems or samples would buy",
    says,
    rows,
    legend: legendOf(rows),
    draw: (width) =>
      base(width, {
        ...problemsAxis,
        ...pointsAxis,
        marks: [here(), ...curvesOf(rows, "problems", points, (row) => about(row, unit))],
      }),
  });
}

/** All charts of a plan. */
export function planCharts({ width, power, repeats, labels }: Curves, unit: Unit) {
  const least = best(width);
  const floor = `The narrowest here is ±${points(least).toFixed(1)} points, with ${plural(least.problems, "problem")} × ${plural(least.samples, "sample")}.`;
  return [
    widthChart(width, unit, "problems", {
      title: "Precision against problems and samples",
      says: `Half the width of the 95 % interval of the score. ${floor}`,
    }),
    widthChart(width, unit, "cost", {
      title: "Precision against cost",
      says: `The same against what it costs, in ${unit ? UNITS[unit] : "calls (no prices are known)"}: the lowest curve is the best use of it.`,
    }),
    powerPlot(power),
    repeats && repeats.rows.length > 1 ? repeatsPlot(repeats) : null,
    labels && labels.rows.length > 1 ? labelsPlot(labels) : null,
  ];
}

function powerPlot(power: Curves["power"]) {
  if (!power) return null;
  const { points: size, wanted, rows } = power;
  const enough = rows.filter((row) => row.power >= wanted).sort((one, other) => one.cost - other.cost)[0];
  const says = enough
    ? `Of these designs ${plural(enough.problems, "problem")} × ${plural(enough.samples, "sample")} of each run is the cheapest with ${percent(wanted, 0)}.`
    : `No design here has ${percent(wanted, 0)}: more problems are needed.`;
  return chart({
    title: `Power to show a difference of ${size} points`,
    says: `Chance that a difference of that size between two runs on the same problems is shown. ${says}`,
    rows,
    legend: legendOf(rows),
    draw: (width) =>
      base(width, {
        ...problemsAxis,
        y: {
          label: "power, %",
          domain: [0, 1],
          tickFormat: (value: number) => `${Math.round(100 * value)}`,
          grid: true,
        },
        marks: [
          Plot.ruleY([wanted], { stroke: "currentColor", strokeDasharray: "3 4" }),
          ...curvesOf(
            rows,
            "problems",
            (row) => row.power,
            (row) =>
              `${plural(row.problems, "problem")} × ${plural(row.samples, "sample")}: power ${percent(row.power, 0)}`,
          ),
        ],
      }),
  });
}

const atDesign = (curve: { problems: number; samples: number }) =>
  `${plural(curve.problems, "problem")} × ${plural(curve.samples, "sample")}`;

function repeatsPlot(curve: RepeatsCurve) {
  const { rows } = curve;
  return chart({
    title: "Score to expect by R",
    says: `R is part of what the score is: another R is another score, not a better known one. With ${atDesign(curve)}.`,
    rows,
    draw: (width) =>
      base(width, {
        x: { label: "R, judgments a proof", ticks: rows.map((row) => row.repeats), tickFormat: "d", grid: false },
        y: { label: "pessimistic score, %", tickFormat: (value: number) => `${Math.round(100 * value)}`, grid: true },
        marks: [
          Plot.ruleX(rows, { x: "repeats", y1: "low", y2: "high", stroke: colour(0), strokeWidth: 2 }),
          Plot.dot(
            rows,
            tip({
              x: "repeats",
              y: "value",
              fill: colour(0),
              r: 4.5,
              title: (row: (typeof rows)[number]) => `R = ${row.repeats}: ${percent(row.value)}\n${reach(row)}`,
            }),
          ),
        ],
      }),
  });
}

function labelsPlot(curve: LabelsCurve) {
  const { rows } = curve;
  const known = curve.known ? "the pilot's labels say" : "nothing is known yet (at the widest)";
  return chart({
    title: "Precision of the score by labels",
    says: `Half the width of the 95 % interval of the score that people's labels correct, as far as ${known}. With ${atDesign(curve)}.`,
    rows,
    draw: (width) =>
      base(width, {
        x: { label: "labelled proofs", tickFormat: "d", grid: false, zero: true },
        ...pointsAxis,
        marks: [
          Plot.line(rows, { x: "labels", y: points, stroke: colour(0), strokeWidth: 2 }),
          Plot.dot(
            rows,
            tip({
              x: "labels",
              y: points,
              fill: colour(0),
              r: 4.5,
              title: (row: (typeof rows)[number]) =>
                `${row.labels} labels: ±${points(row).toFixed(1)} points\n${reach(row)}`,
            }),
          ),
        ],
      }),
  });
}
