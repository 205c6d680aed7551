/* Figures by style, kind and difficulty: each label's values as rows, the runs as columns. */
import { h, number, table } from "../report/shell";
import type { Metrics, Page, Run } from "./model";
import { says, three, valueOf } from "./pieces";

const METRICS = ["nDCG@10", "R@10", "MRR"];

interface Group {
  task: string;
  label: string;
  /** A label's value → its figures in each run. */
  rows: Map<string, { value: string; runs: Record<number, Metrics & { n: number }> }>;
}

export function breakdowns({ runs }: Page) {
  const groups = groupsOf(runs);
  if (!groups.length)
    return [h("h2", null, "Breakdowns"), h("p", null, "No query of these runs has labels, or no run is complete.")];
  const place = h("div");
  const fill = (metric: string) => place.replaceChildren(...groups.map((group) => groupTable(group, runs, metric)));
  fill(METRICS[0]!);
  const select = h(
    "select",
    { onchange: (event: Event) => fill(valueOf(event)) },
    METRICS.map((metric) => h("option", { value: metric }, metric)),
  );
  return [
    h("h2", null, "Breakdowns"),
    says(
      "Macro averages over the queries of each label. Columns are whole runs: only those of one board are comparable.",
    ),
    h("label", null, "Metric ", select),
    place,
  ];
}

function groupsOf(runs: Run[]): Group[] {
  const groups = new Map<string, Group>();
  runs.forEach((run, at) => {
    for (const [label, values] of Object.entries(run.summary.groups ?? {}))
      for (const [value, figures] of Object.entries(values)) {
        const key = `${run.task}\u0000${label}`;
        const group = groups.get(key) ?? { task: run.task, label, rows: new Map() };
        groups.set(key, group);
        const row = group.rows.get(value) ?? { value: value || "(none)", runs: {} };
        group.rows.set(value, row);
        row.runs[at] = figures;
      }
  });
  return [...groups.values()];
}

function groupTable({ task, label, rows }: Group, runs: Run[], metric: string) {
  type Row = Group["rows"] extends Map<string, infer R> ? R : never;
  return table({
    caption: `${metric} by ${label} (${task})`,
    rows: [...rows.values()],
    columns: [
      { key: "value", label },
      ...runs.map((run, at) => ({
        key: `run${at}`,
        label: run.label,
        numeric: true,
        value: (row: Row) => row.runs[at]?.[metric] ?? null,
        show: ({ runs: { [at]: figures } }: Row) =>
          figures
            ? [h("span", null, three(figures[metric])), h("span", { class: "interval" }, `n ${number(figures.n)}`)]
            : "–",
      })),
    ],
  });
}
