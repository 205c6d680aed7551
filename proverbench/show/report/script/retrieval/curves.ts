/* The charts: a metric by k with its bands, and precision at levels of recall. */
import { chart, colour, percent, symbol } from "../report/shell";
import type { Board, Row, Run, Unit, Value } from "./model";

/** Metric → its label, and what it says. */
export const CURVES: Record<string, [string, string]> = {
  R: ["R@k", "share of the gold units within the first k"],
  nDCG: ["nDCG@k", "normalised discounted gain of the first k"],
  Covered: ["Covered@k", "share of queries with every gold unit within the first k"],
  CoveredRoute: [
    "CoveredRoute@k",
    "share of queries with all original groups, or all alternative ones, within the first k",
  ],
  CoveredOriginal: ["CoveredOriginal@k", "share of queries with all original groups within the first k"],
  P: ["P@k", "gold units within the first k, divided by k"],
};

export interface Drawn {
  rows: Row[];
  /** A system's label → the number of its colour and symbol. */
  series: Map<string, number>;
}

interface Point {
  system: string;
  engine: boolean;
  series: number;
  k: number;
  value: number;
  low: Value;
  high: Value;
}

interface OutsidePoint {
  system: string;
  reference: string;
  k: number;
  value: number;
}

/** A published engine is dashed, and named with the corpus that it searches. */
export function called(row: Row) {
  if (row.kind === "engine") return `${row.label}: published engine, ${row.corpus}`;
  return row.kind === "run file" ? `${row.label}: run file` : row.label;
}

const plot = (width: number, options: object) =>
  Plot.plot({
    className: "plot",
    width,
    height: Math.min(380, Math.max(260, width * 0.52)),
    marginLeft: 52,
    marginRight: 24,
    marginBottom: 40,
    style: { background: "transparent" },
    ...options,
  });

export function curveChart(board: Board, shown: Drawn, chosen: { curve: string; unit: Unit; upTo: number }) {
  const { curve, unit, upTo } = chosen;
  const [label, meaning] = CURVES[curve]!;
  const points = pointsOf(shown, curve, unit, upTo);
  const outside = outsideOf(board, curve, upTo);
  const marked = points.filter((point) => point.k === 1 || point.k % Math.max(5, upTo / 10) === 0);
  const tip = (row: Point | OutsidePoint) => {
    const ends = "low" in row && row.low !== null ? `\n${percent(row.low)} to ${percent(row.high!)}` : "";
    return `${row.system}\n${label.replace("k", String(row.k))}: ${percent(row.value)}${ends}`;
  };
  const stroke = (row: Point) => colour(row.series);
  const line = { x: "k", y: "value", z: "system", stroke, strokeWidth: 2 };
  return chart({
    title: label,
    says: saysOf(board, shown, meaning, outside, chosen),
    legend: shown.rows.map((row) => ({
      label: called(row),
      series: shown.series.get(row.label)!,
      dashed: row.kind === "engine",
    })),
    rows: [
      ...points.map(({ system, k, value, low, high }) => ({ system, metric: `${curve}@${k}`, value, low, high })),
      ...outside.map(({ system, k, value }) => ({ system, metric: `${curve}@${k}`, value })),
    ],
    draw: (width) =>
      plot(width, {
        x: { label: "k", domain: [1, upTo] },
        y: { label: "%", percent: true, domain: [0, 100], grid: true },
        marks: [
          Plot.areaY(
            points.filter((row) => row.low !== null),
            { x: "k", y1: "low", y2: "high", z: "system", fill: stroke, fillOpacity: 0.14 },
          ),
          Plot.line(
            points.filter((row) => !row.engine),
            line,
          ),
          Plot.line(
            points.filter((row) => row.engine),
            { ...line, strokeDasharray: "7 4" },
          ),
          Plot.dot(marked, {
            x: "k",
            y: "value",
            fill: stroke,
            symbol: (row: Point) => symbol(row.series) as never,
            r: 3.5,
          }),
          Plot.line(outside, { x: "k", y: "value", z: "system", stroke: "var(--soft)", strokeDasharray: "4 3" }),
          Plot.dot(outside, { x: "k", y: "value", stroke: "var(--soft)", symbol: "diamond", title: tip }),
          Plot.tip(points, Plot.pointer({ x: "k", y: "value", title: tip, fill: "var(--raised)" })),
        ],
      }),
  });
}

function pointsOf({ rows, series }: Drawn, curve: string, unit: Unit, upTo: number): Point[] {
  return rows.flatMap((row) => {
    const band = row.bands[curve]![unit];
    return row.curves![curve]!.flatMap((value, at) =>
      value === null || at >= upTo
        ? []
        : [
            {
              system: row.label,
              engine: row.kind === "engine",
              series: series.get(row.label)!,
              k: at + 1,
              value,
              low: band.low[at] ?? null,
              high: band.high[at] ?? null,
            },
          ],
    );
  });
}

/* Published figures of this curve, by k. */
const outsideOf = (board: Board, curve: string, upTo: number): OutsidePoint[] =>
  board.published
    .filter((row) => row.drawn)
    .flatMap((row) =>
      Object.entries(row.metrics)
        .filter(([name]) => name.startsWith(`${curve}@`))
        .map(([name, value]) => ({
          system: row.label,
          reference: row.reference,
          k: Number(name.slice(curve.length + 1)),
          value,
        }))
        .filter((point) => point.k <= upTo),
    )
    .sort((one, other) => one.k - other.k);

function saysOf(
  board: Board,
  shown: Drawn,
  meaning: string,
  outside: OutsidePoint[],
  { curve, unit }: { curve: string; unit: Unit },
) {
  const besides = board.published.filter(
    (row) => !row.drawn && Object.keys(row.metrics).some((name) => name.startsWith(`${curve}@`)),
  );
  const sources = [...new Set(outside.map((row) => `${row.system}, ${row.reference}`))];
  const first = besides[0];
  return [
    `${meaning[0]!.toUpperCase()}${meaning.slice(1)}, averaged over queries; the bands are 95 % intervals over ${unit === "query" ? "queries" : "declarations"}.`,
    shown.rows.some((row) => row.kind === "engine") ? "Dashed: published engines, each on its own corpus." : "",
    sources.length ? `Diamonds: published figures, not run here: ${sources.join("; ")}.` : "",
    first
      ? `${besides.length} published rows are not drawn: ${first.label}: ${first.why}${besides.length > 1 ? ", and so on" : ""}.`
      : "",
    "A line that ends early belongs to a service that returns no more.",
  ]
    .filter(Boolean)
    .join(" ");
}

export function precisionChart(runs: Run[], { rows, series }: Drawn) {
  const points = rows.flatMap((row) =>
    (row.pr11 ?? runs[row.run]!.pr11).map((value, at) => ({
      system: row.label,
      series: series.get(row.label)!,
      recall: at / 10,
      value,
    })),
  );
  type Level = (typeof points)[number];
  const stroke = (row: Level) => colour(row.series);
  return chart({
    title: "Precision at recall levels",
    says: "Interpolated: the best precision at or beyond each recall; 0 where a level is not reached within the list.",
    legend: rows.map((row) => ({ label: row.label, series: series.get(row.label)! })),
    rows: points.map(({ system, recall, value }) => ({ system, recall, value })),
    draw: (width) =>
      plot(width, {
        x: { label: "recall, %", percent: true, domain: [0, 100] },
        y: { label: "precision, %", percent: true, domain: [0, 100], grid: true },
        marks: [
          Plot.line(points, { x: "recall", y: "value", z: "system", stroke, strokeWidth: 2 }),
          Plot.dot(points, {
            x: "recall",
            y: "value",
            fill: stroke,
            symbol: (row: Level) => symbol(row.series) as never,
            r: 4,
            title: (row: Level) => `${row.system}\nrecall ${percent(row.recall, 0)}: ${percent(row.value)}`,
          }),
        ],
      }),
  });
}
