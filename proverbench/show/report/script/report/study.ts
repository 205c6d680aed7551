/* A study: policies by judges, as judged and corrected, panels of judges, where judges cross, what it cost. */
import type { Child } from "../shell/elements";
import { between } from "./intervals";
import { listAddress } from "./filters";
import type { Shown } from "./model";
import type { Study, StudyCell } from "./study-model";
import { costChart, panelCurves } from "./study-charts";
import { h, number, percent, table, visible } from "./shell";

export function studyView(study: Study) {
  const policies = names(study.runs.map((cell) => cell.policy ?? ""));
  const judges = names(study.runs.map((cell) => cell.judge));
  const matrix = (caption: string, show: (cell: StudyCell) => Child) =>
    table({
      caption,
      columns: [
        { key: "policy", label: "policy", show: (row: { policy: string }) => visible(row.policy) },
        ...judges.map((judge) => ({
          key: judge,
          label: judge,
          numeric: true,
          show: (row: { policy: string }) => {
            const cell = found(study, row.policy, judge);
            return cell ? show(cell) : "–";
          },
          value: (row: { policy: string }) => found(study, row.policy, judge)?.value,
        })),
      ],
      rows: policies.map((policy) => ({ policy })),
    });
  const corrected = study.runs.some((cell) => cell.corrected?.value !== undefined);
  return h(
    "section",
    { "aria-label": "Study", class: "study" },
    h("h2", null, `Study: ${policies.length} policies, ${judges.length} judges`),
    matrix(
      `${names(study.runs.map((cell) => cell.metric)).join(", ")}, 95 % interval in percent; # is the rank under this judge`,
      score,
    ),
    corrected ? matrix("Corrected by each judge's calibration", correctedScore) : null,
    panels(study),
    crossed(study),
    study.orders.length
      ? table({
          caption: "How far judges agree on the order of the policies",
          columns: [
            { key: "first", label: "judge" },
            { key: "second", label: "judge" },
            { key: "policies", label: "policies", numeric: true },
            { key: "tau_b", label: "Kendall's τ-b", numeric: true, show: (row) => row.tau_b.toFixed(2) },
          ],
          rows: study.orders,
        })
      : null,
    costs(study),
    h("div", { class: "charts" }, panelCurves(study), costChart(study)),
    sentences(study.notes),
  );
}

const names = (all: string[]) => [...new Set(all)].sort();

const found = (study: Study, policy: string, judge: string) =>
  study.runs.find((cell) => cell.policy === policy && cell.judge === judge);

const link = (cell: StudyCell, words: string) =>
  h("a", { href: `#/run/${encodeURIComponent(`${cell.policy}--${cell.judge}`)}` }, words);

const within = (interval: Shown["interval"]) => (interval?.low == null ? "" : ` [${between(interval)}]`);

function score(cell: StudyCell): Child {
  if (cell.value === null) return `${cell.done} of ${cell.wanted} records`;
  const rank = cell.rank === null ? "" : ` #${cell.rank}`;
  return [link(cell, percent(cell.value)), `${within(cell.interval)}${rank}`];
}

function correctedScore(cell: StudyCell): Child {
  if (!cell.corrected) return "–";
  if (cell.corrected.value === undefined) return h("span", { title: cell.corrected.refused }, "refused");
  return `${percent(cell.corrected.value)}${within(cell.corrected.interval ?? null)}`;
}

function panels(study: Study) {
  const rows = Object.entries(study.panels).map(([policy, panel]) => ({
    policy,
    ...panel.rules,
    repeats: panel.repeats,
  }));
  if (!rows.length) return null;
  const rule = (key: "any" | "majority" | "all", label: string) => ({
    key,
    label,
    numeric: true,
    show: (row: (typeof rows)[number]) => `${percent(row[key].value)}${within(row[key].interval)}`,
    value: (row: (typeof rows)[number]) => row[key].value,
  });
  return table({
    caption: "Panels: the score when so many of the judges must accept a proof",
    columns: [
      { key: "policy", label: "policy" },
      { key: "repeats", label: "R", numeric: true },
      rule("any", "any judge"),
      rule("majority", "more than half"),
      rule("all", "all judges"),
    ],
    rows,
  });
}

function crossed(study: Study) {
  const rows = Object.entries(study.crossed).flatMap(([policy, pairs]) => pairs.map((pair) => ({ policy, ...pair })));
  if (!rows.length) return null;
  return table({
    caption: "Proofs that one judge accepts, by its run's rule, and another does not",
    columns: [
      { key: "policy", label: "policy" },
      { key: "accepts", label: "accepted by" },
      { key: "rejects", label: "not by" },
      { key: "proofs", label: "proofs", numeric: true, show: (row) => (row.proofs ? proofsOf(row) : "0") },
      { key: "of", label: "of", numeric: true },
    ],
    rows,
  });
}

const proofsOf = (row: { policy: string; accepts: string; rejects: string; proofs: number }) =>
  h("a", { href: listAddress({ of: row.policy, yes: row.accepts, no: row.rejects }) }, number(row.proofs));

function costs(study: Study) {
  const rows = [...study.runs, ...study.calibrations].filter((cell) => cell.cost_usd !== null);
  if (!rows.length) return null;
  return table({
    caption: "Cost and score of each run; a proof that several judges read is paid in one of them",
    columns: [
      { key: "run", label: "run", show: (cell: StudyCell) => `${cell.policy ?? "calibration"}--${cell.judge}` },
      {
        key: "value",
        label: "score",
        numeric: true,
        show: (cell) => (cell.value === null ? "–" : percent(cell.value)),
      },
      { key: "cost_usd", label: "US dollars", numeric: true, show: (cell) => (cell.cost_usd ?? 0).toFixed(2) },
    ],
    rows,
  });
}

const sentences = (all: string[]) =>
  all.length
    ? h(
        "ul",
        { class: "small" },
        all.map((sentence) => h("li", null, visible(sentence))),
      )
    : null;
