/* Scores against repeats, attempts and cost. */
import {
  asRows,
  base,
  costs,
  counts,
  curves,
  dots,
  type Entry,
  legendOf,
  plotsOf,
  pointsOf,
  shares,
  zoom,
} from "./drawing";
import { points } from "./intervals";
import type { Run, Task } from "./model";
import { chart, colour, number, percent } from "./shell";

const ends = (row: { low: number; high: number }) => `${percent(row.low)} to ${percent(row.high)}`;

/* Of each run, the headline score with the first 1, 2, ... R judgments. */
function byRepeats(entries: Entry[], task: Task) {
  const [metric, rule] = task === "prover" ? ["acceptance", "pessimistic"] : ["bal_f1", "majority"];
  return entries.flatMap(({ run, series }) =>
    pointsOf(
      plotsOf(run).voting.filter((row) => row.metric === metric && row.rules.includes(rule)),
      series,
    ).map(({ r, cost, value, low, high }) => ({ run: run.name, series, r, cost, value, low, high })),
  );
}

/** The score with the first 1, 2, ... R judgments: was R needed? */
export function repeatsPlot(entries: Entry[], run: Run) {
  const rows = byRepeats(entries, run.task).map(({ cost: _, ...row }) => row);
  const own = rows.filter((row) => row.run === run.name);
  if (own.length < 2) return null;
  const prover = run.task === "prover";
  return chart({
    title: prover
      ? `Was R = ${own.at(-1)!.r} needed? Pessimistic score against r`
      : "Majority vote against the number of judgments r",
    says: `${run.name}: ${prover ? wasNeeded(own) : majorityGains(own)} Averaged over all choices of r of the R judgments.`,
    rows: asRows(rows),
    legend: legendOf(entries),
    draw: (width) =>
      base(width, {
        x: counts(
          "r, judgments a proof",
          rows.map((row) => row.r),
        ),
        y: shares({ label: prover ? "pessimistic score, %" : "balanced F1, %", domain: zoom(rows) }),
        marks: curves(rows, "r", "run", (row) => `${row.run}\nr = ${row.r}: ${percent(row.value)}\n${ends(row)}`),
      }),
  });
}

interface AtR {
  r: number;
  value: number;
}

function wasNeeded(own: AtR[]): string {
  const [first, before, last] = [own[0], own.at(-2)!, own.at(-1)!];
  const moved = last.value - before.value;
  const lastOne = Math.abs(moved) < 0.0005 ? "did not change the score" : `changed the score by ${points(moved)}`;
  const all = `all ${last.r} give ${percent(last.value)}`;
  return `One judgment alone would have given ${percent(first.value)}; ${all}. The last one ${lastOne}.`;
}

function majorityGains(own: AtR[]): string {
  const [first, last] = [own[0], own.at(-1)!];
  const single = `a single one ${percent(first.value)} (${points(last.value - first.value)})`;
  const majority = `A majority of ${last.r} judgments gives a balanced F1 of ${percent(last.value)}`;
  return `${majority}, ${single}. An even r needs more than half.`;
}

export function passPlot(entries: Entry[], run: Run) {
  const rows = entries.flatMap(({ run: entry, series }) =>
    pointsOf(plotsOf(entry).pass_at_k ?? [], series).map(({ k, value, low, high }) => {
      return { run: entry.name, series, k, value, low, high };
    }),
  );
  if (!rows.some((row) => row.k > 1)) return null;
  const own = rows.filter((row) => row.run === run.name);
  const last = own.at(-1)!;
  const gains =
    own.length > 1
      ? `${run.name}: with one attempt ${percent(own[0].value)} of the problems are solved, with the best of ${last.k} ${percent(last.value)}. `
      : "";
  return chart({
    title: "pass@k: how much more attempts help",
    says: `${gains}Unbiased estimate from all samples.`,
    rows: asRows(rows),
    legend: legendOf(entries),
    draw: (width) =>
      base(width, {
        x: counts(
          "k, proofs a problem",
          rows.map((row) => row.k),
        ),
        y: shares({ label: "pass@k, %", domain: zoom(rows) }),
        marks: curves(rows, "k", "run", (row) => `${row.run}\npass@${row.k}: ${percent(row.value)}\n${ends(row)}`),
      }),
  });
}

export function costPlot(entries: Entry[]) {
  const unit = entries[0] && plotsOf(entries[0].run).cost_unit;
  const usable = entries.filter(({ run }) => plotsOf(run).cost_unit === unit);
  if (!unit || !usable.length) return null;
  const prover = usable[0].run.task === "prover";
  const rows = byRepeats(usable, usable[0].run.task);
  if (!rows.length) return null;
  const money = unit === "USD";
  const shown = (cost: number) => (money ? `$${cost.toPrecision(3)}` : `${number(Math.round(cost))} tokens`);
  const ofSeries = (row: { series: number }) => colour(row.series);
  return chart({
    title: "Cost against score",
    says: `Each point is a number of judgments r; the cost is that of writing and judging this split at the mean cost of a call, in ${money ? "US dollars" : "tokens (no prices were configured)"}.`,
    rows: asRows(rows).map(({ cost, ...row }) => ({ ...row, [`cost_${unit.toLowerCase()}`]: cost })),
    legend: legendOf(usable),
    draw: (width) =>
      base(width, {
        x: costs(money, width),
        y: shares({ label: prover ? "pessimistic score, %" : "balanced F1 of the majority, %", domain: zoom(rows) }),
        marks: [
          Plot.line(rows, { x: "cost", y: "value", z: "run", stroke: ofSeries, strokeOpacity: 0.5 }),
          Plot.ruleX(rows, { x: "cost", y1: "low", y2: "high", stroke: ofSeries, strokeOpacity: 0.55 }),
          dots(rows, "cost", (row) => `${row.run}\nr = ${row.r}: ${percent(row.value)}\n${shown(row.cost)}`),
          Plot.text(
            rows,
            Plot.selectLast({
              x: "cost",
              y: "value",
              z: "run",
              text: (row: { r: number }) => `r = ${row.r}`,
              dy: -12,
              fill: "currentColor",
            }),
          ),
        ],
      }),
  });
}
