/* A run's scores by group, first errors, and agreement. */
import type { Markish } from "@observablehq/plot";
import { base, shares, tip } from "./drawing";
import { aboutInterval, footnotes, range } from "./intervals";
import type { AgreementRow, Plots, Run } from "./model";
import { chart, copyButton, csv, h, percent, table } from "./shell";
import { chosen } from "./state";
import { label, plural } from "./words";

const FACTORS: Record<string, string> = {
  subject: "subject",
  length: "length of the proof",
  domain: "domain",
  severity: "severity of the human's finding",
  policy: "author of the proof",
};
const MOST_GROUPS = 30;
const LONGEST_NAME = 34; // characters on an axis

export function breakdownPlot(run: Run, data: Plots): HTMLElement | null {
  const factors = Object.keys(data.breakdown).filter(
    (by) => new Set(data.breakdown[by].map((row) => row.group)).size > 1,
  );
  if (!factors.length) return null;
  const by = chosen.by !== null && factors.includes(chosen.by) ? chosen.by : factors[0];
  const { rows, metrics } = groupsOf(run, data, by);
  const small = rows.some((row) => row.note);
  const figure = chart({
    title: `By ${FACTORS[by]}`,
    says: `${run.name}, ${metrics.map(label).join(" or ")}.${small ? " Hollow points: fewer than 10 problems, no interval and no conclusion." : ""}`,
    rows,
    draw: (width) => {
      const longest = Math.max(...rows.map((row) => row.group.length));
      return base(width, {
        marginLeft: Math.min(width * 0.42, 30 + 6.4 * Math.min(longest, LONGEST_NAME)),
        height: 64 + 26 * rows.length,
        x: shares({ label: "%" }),
        y: { label: null, domain: rows.map((row) => row.group), tickSize: 0, tickFormat: shortened },
        marks: groupMarks(rows),
      });
    },
  });
  const choose = (event: { target: HTMLSelectElement }) => {
    chosen.by = event.target.value;
    const fresh = breakdownPlot(run, data);
    if (!fresh) return;
    figure.replaceWith(fresh);
    fresh.querySelector("select")?.focus();
  };
  const options = factors.map((name) => h("option", { value: name, selected: name === by }, FACTORS[name]));
  const picker = h("label", { class: "picker" }, "Break down by ", h("select", { onchange: choose }, options));
  figure.querySelector("figcaption")?.append(picker);
  return figure;
}

const shortened = (name: string) => (name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name);

interface Group {
  group: string;
  metric: string;
  value: number;
  low: number | null;
  high: number | null;
  proofs: number;
  problems: number;
  note: string;
}

function groupsOf(run: Run, data: Plots, by: string): { rows: Group[]; metrics: string[] } {
  const candidates = run.task === "prover" ? ["pessimistic"] : ["rough_bal_f1", "rough_tpr", "rough_tnr"];
  const found = data.breakdown[by];
  const metric = candidates.find((name) => found.some((row) => row.metric === name)) ?? found[0].metric;
  const metrics = run.task === "verifier" && by === "severity" ? ["rough_tpr", "rough_tnr"] : [metric];
  const rows = found
    .filter((row) => metrics.includes(row.metric))
    .slice(0, MOST_GROUPS)
    .map(({ group, metric: of, value, interval, proofs, problems, note }) => {
      const [low, high] = range(interval) ?? [null, null];
      return { group, metric: of, value, low, high, proofs, problems, note: note ?? "" };
    });
  return { rows, metrics };
}

function groupMarks(rows: Group[]): Markish[] {
  const ink = "var(--series-1)";
  const bar = { stroke: ink, strokeWidth: 3, strokeOpacity: 0.55, strokeLinecap: "round" as const };
  const title = (row: Group) => {
    const ends = row.low === null ? "" : `\n${percent(row.low)} to ${percent(row.high)}`;
    const size = `${plural(row.proofs, "proof")}, ${plural(row.problems, "problem")}`;
    return `${row.group}\n${label(row.metric)} ${percent(row.value)}${ends}\n${size}`;
  };
  const fill = (row: Group) => (row.note ? "var(--raised)" : ink);
  const known = rows.filter((row) => row.low !== null);
  return [
    Plot.ruleY(rows, { y: "group", x1: 0, x2: 1, stroke: "var(--line)" }),
    Plot.ruleY(known, { y: "group", x1: "low", x2: "high", ...bar }),
    Plot.dot(rows, tip({ y: "group", x: "value", r: 4.5, fill, stroke: ink, strokeWidth: 1.5, title })),
  ];
}

// ------------------------------------------------------------ where the first error is

const DEEP = 12; // where there are many steps, those from here on share a row and a column

interface Cell {
  annotated: string;
  reported: string;
  judgments: number;
  /** Of the judgments of proofs annotated so. */
  share: number;
}

export function confusionPlot(run: Run, data: Plots) {
  if (!data.confusion) return null;
  const { cells, rows, columns, totals } = confusion(data.confusion);
  if (!cells.length) return null;
  return chart({
    title: "Where the first error is: reported against annotated",
    says: `${run.name}: each row is the human's first wrong step, shaded by the share of that row's judgments; the diagonal is agreement. "none": no error.`,
    rows: cells.map(({ share: _, ...cell }) => cell),
    draw: (width) =>
      base(width, {
        height: 70 + 24 * rows.length,
        marginLeft: 60,
        x: {
          label: "reported by the judge",
          domain: columns,
          tickSize: 0,
          tickFormat: (step: string) => (step === "invalid" && width < 480 ? "inv." : step),
        },
        y: { label: "annotated", domain: rows, tickSize: 0 },
        marks: cellMarks(cells, totals),
        opacity: { type: "identity" },
      }),
  });
}

function confusion({ annotated, reported, counts }: NonNullable<Plots["confusion"]>) {
  const deep = reported.length > 16 ? DEEP : Infinity;
  const name = (step: string) => (step === "-1" ? "none" : Number(step) >= deep ? `${deep}+` : step);
  const totals = new Map<string, number>(); // annotated -> judgments
  const all = new Map<string, Omit<Cell, "share">>();
  annotated.forEach((row, i) =>
    reported.forEach((column, j) => {
      const key = JSON.stringify([name(row), name(column)]);
      const cell = all.get(key) ?? { annotated: name(row), reported: name(column), judgments: 0 };
      all.set(key, { ...cell, judgments: cell.judgments + counts[i][j] });
      totals.set(name(row), (totals.get(name(row)) ?? 0) + counts[i][j]);
    }),
  );
  const rows = [...totals.keys()].filter((row) => totals.get(row));
  const said = new Set([...all.values()].filter((cell) => cell.judgments > 0).map((cell) => cell.reported));
  const columns = [...new Set(reported.map(name))].filter((column) => rows.includes(column) || said.has(column));
  const cells = [...all.values()]
    .filter((cell) => rows.includes(cell.annotated) && columns.includes(cell.reported))
    .map((cell): Cell => ({ ...cell, share: cell.judgments / (totals.get(cell.annotated) ?? 1) }));
  return { cells, rows, columns, totals };
}

function cellMarks(cells: Cell[], totals: Map<string, number>): Markish[] {
  const place = { x: "reported", y: "annotated", inset: 0.5 };
  const title = (cell: Cell) => {
    const share = `${cell.judgments} of ${totals.get(cell.annotated)} judgments (${percent(cell.share)})`;
    return `annotated ${cell.annotated}, reported ${cell.reported}\n${share}`;
  };
  const shade = (cell: Cell) => 0.04 + 0.86 * cell.share;
  const agreeing = cells.filter((cell) => cell.annotated === cell.reported && !cell.annotated.endsWith("+"));
  const ink = (cell: Cell) => (cell.share > 0.45 ? "var(--paper)" : "var(--ink)");
  const some = cells.filter((cell) => cell.judgments);
  return [
    Plot.cell(cells, tip({ ...place, fill: "var(--heat)", fillOpacity: shade, title })),
    Plot.cell(agreeing, { ...place, stroke: "var(--soft)" }),
    Plot.text(some, { x: "reported", y: "annotated", text: "judgments", fontSize: 11, fill: ink }),
  ];
}

// ------------------------------------------------------------ agreement

const VIEWS: Record<string, string> = { accept: "right or wrong", step: "same step", step_within_1: "step, ± 1" };
const MEASURES: Record<string, string> = {
  raw_agreement: "Raw agreement",
  fleiss_kappa: "Fleiss' kappa",
  krippendorff_alpha: "Krippendorff's alpha",
  cohen_kappa: "Cohen's kappa",
  gwet_ac1: "Gwet's AC1",
};

export function agreementTable(data: Plots) {
  const named = (between: string, found: AgreementRow[] = []) => found.map((row) => ({ ...row, between }));
  const rows = [...named("between repeats", data.agreement), ...named("with people", data.human_agreement)];
  if (!rows.length) return null;
  const about = "1 is full agreement; 0, for kappa and alpha, is chance. Invalid judgments are left out.";
  const numbers = () =>
    rows.map(({ measure, between, on, value, interval, n, left_out }) => {
      return { measure, between, on, value, low: interval?.low ?? null, high: interval?.high ?? null, n, left_out };
    });
  return h(
    "figure",
    { class: "chart whole" },
    h("figcaption", null, h("h3", null, "How far judgments agree")),
    table({
      caption: [about, ...footnotes(rows.map((row) => row.interval))].join(" "),
      columns: [
        { key: "measure", label: "Measure", show: (row) => MEASURES[row.measure] ?? row.measure },
        { key: "between", label: "Agreement" },
        { key: "on", label: "On", show: (row) => VIEWS[row.on] ?? row.on },
        { key: "value", label: "Value", numeric: true, show: agreement },
        { key: "n", label: "Proofs", numeric: true },
      ],
      rows,
    }),
    h(
      "p",
      { class: "below" },
      copyButton("Copy the numbers as CSV", () => csv(numbers())),
    ),
  );
}

function agreement({ value, interval, reason }: AgreementRow) {
  if (value === null) return h("span", { title: reason }, "–");
  const ends = interval && ` [${interval.low.toFixed(2)}, ${interval.high.toFixed(2)}]`;
  return h("span", null, value.toFixed(2), ends && h("span", { class: "ends", title: aboutInterval(interval) }, ends));
}
