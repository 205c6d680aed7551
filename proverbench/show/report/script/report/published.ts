/* The published results, and how far they are from comparable. */
import type { Column } from "../shell/table";
import type { Head, PublishedRow, Run } from "./model";
import { h, percent, table } from "./shell";
import { head, roleOf } from "./state";

/** A benchmark's published figures, in words. */
export interface Facts {
  title: string;
  what: string;
  source: string;
  figures: { who: string; what: string; value: string }[];
}

type Figure = Exclude<keyof PublishedRow, "model" | "group">;
type Shown = PublishedRow & { className?: string };

const NAMES: Record<Figure, string> = {
  prover_ug: "Prover ugd",
  prover_qe: "Prover qe",
  rough_tpr: "TPR",
  rough_tnr: "TNR",
  rough_bal_f1: "Balanced F1",
  meta_tpr: "Meta TPR",
  meta_tnr: "Meta TNR",
  meta_bal_f1: "Meta bal. F1",
};

function ownRow(run: Run): Shown {
  const value = (split: string, metric: string) => run.splits[split]?.metrics?.[metric] ?? null;
  return {
    className: "own",
    model: run.name,
    group:
      run.task === "prover"
        ? `your run, judged by ${roleOf(run, "verifier")}; n = ${run.rows}, S = ${run.samples}, R = ${run.repeats}`
        : `your run; n = ${run.rows}, R = ${run.repeats}`,
    prover_ug: run.task === "prover" ? value("ugd", "pessimistic") : null,
    prover_qe: run.task === "prover" ? value("qe", "pessimistic") : null,
    rough_tpr: value("all", "rough_tpr"),
    rough_tnr: value("all", "rough_tnr"),
    rough_bal_f1: value("all", "rough_bal_f1"),
    meta_tpr: value("all", "meta_ver_tpr"),
    meta_tnr: value("all", "meta_ver_tnr"),
    meta_bal_f1: value("all", "meta_ver_bal_f1"),
  };
}

export function publishedTable({ source, rows, differences }: NonNullable<Head["published"]>) {
  const reasons = Object.entries(differences).filter(([, why]) => why.length);
  return h(
    "section",
    { "aria-labelledby": "published" },
    h("h2", { id: "published" }, "Beside the published results"),
    h(
      "div",
      { class: "callout warn", role: "note" },
      h("b", null, "Published numbers are not comparable with yours "),
      "unless prompts, judge, repeats and problems are the published ones. ",
      reasons.length
        ? h(
            "ul",
            null,
            reasons.map(([name, why]) => h("li", null, `${name}: ${why.join("; ")}`)),
          )
        : "Whether the judge is the published one, you must say.",
    ),
    table({
      caption: `Published: ${source}, without intervals. Your runs are marked.`,
      columns: [
        {
          key: "model",
          label: "Model or run",
          show: (row) => [
            row.model,
            " ",
            h(
              "span",
              { class: row.className === "own" ? "chip good" : "chip" },
              row.className === "own" ? "your run" : "published",
            ),
          ],
        },
        { key: "group", label: "Group" },
        ...(Object.entries(NAMES) as [Figure, string][]).map(([key, shown]): Column<Shown> => ({
          key,
          label: shown,
          numeric: true,
          show: (row) => (row[key] === null ? "–" : percent(row[key])),
        })),
      ],
      rows: [...head.runs.map(ownRow), ...rows] as Shown[],
    }),
  );
}

/** Another benchmark's published figures: facts with their source, never beside a run's own in one table. */
export function factsTable({ title, what, source, figures }: Facts) {
  return h(
    "section",
    { "aria-labelledby": "facts" },
    h("h2", { id: "facts" }, `Published figures: ${title}`),
    h(
      "div",
      { class: "callout warn", role: "note" },
      h("b", null, "Facts, not comparable with your runs: "),
      "other problems, judges and prompts. Nothing here is ranked with them.",
    ),
    table({
      caption: `${what}. Source: ${source}.`,
      columns: [
        { key: "who", label: "Who" },
        { key: "what", label: "Figure" },
        { key: "value", label: "Value", numeric: true },
      ],
      rows: figures,
      sortable: false,
    }),
  );
}
