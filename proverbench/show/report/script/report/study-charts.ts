/* The charts of a study: panels against the number of judgments, scores against costs. */
import { asRows, base, costs, counts, curves, dots, shares, zoom } from "./drawing";
import { high, low } from "./intervals";
import type { PanelRule, Study } from "./study-model";
import { chart, h, number, percent } from "./shell";
import { chosen, head } from "./state";

const RULES: [PanelRule, string][] = [
  ["any", "any judge accepts"],
  ["majority", "more than half accept"],
  ["all", "all judges accept"],
];

/** Of one policy at a time: the score of each panel with 1, 2, ... R judgments of each judge. */
export function panelCurves(study: Study): HTMLElement | null {
  const policies = Object.keys(study.panels).filter((policy) => study.panels[policy].repeats > 1);
  if (!policies.length) return null;
  const policy = policies.includes(chosen.panel) ? chosen.panel : policies[0];
  const rows = study.panels[policy].curve.map(({ rule, repeats, value }) => {
    const series = RULES.findIndex(([name]) => name === rule);
    return { rule: RULES[series][1], series, r: repeats, value, low: value, high: value };
  });
  const pick = (event: { target: HTMLSelectElement }) => {
    chosen.panel = event.target.value;
    const fresh = panelCurves(study)!;
    section.replaceWith(fresh);
    fresh.querySelector("select")?.focus();
  };
  const section: HTMLElement = h(
    "div",
    { class: "panel-curves" },
    policies.length > 1
      ? h(
          "label",
          { class: "picker" },
          "Panels on the proofs of ",
          h(
            "select",
            { onchange: pick },
            policies.map((name) => h("option", { value: name, selected: name === policy }, name)),
          ),
        )
      : null,
    chart({
      title: `Panels of judges: ${policy}`,
      says: "Each judge accepts with r judgments when all of them do; exact means over all choices of r of its R.",
      rows: asRows(rows).map(({ rule, r, value }) => ({ rule, r, value })),
      legend: RULES.map(([, label], series) => ({ label, series })),
      draw: (width) =>
        base(width, {
          x: counts(
            "r, judgments of each judge",
            rows.map((row) => row.r),
          ),
          y: shares({ label: "score, %", domain: zoom(rows) }),
          marks: curves(rows, "r", "rule", (row) => `${row.rule}\nr = ${row.r}: ${percent(row.value)}`),
        }),
    }),
  );
  return section;
}

/** What each run would cost by itself against its score: in US dollars, or in tokens where prices are missing. */
export function costChart(study: Study): HTMLElement | null {
  const scored = study.runs.filter((cell) => cell.value !== null);
  const money = scored.every((cell) => cell.alone_usd != null);
  const judges = [...new Set(scored.map((cell) => cell.judge))].sort();
  const rows = scored.map((cell) => ({
    policy: cell.policy ?? "",
    judge: cell.judge,
    series: judges.indexOf(cell.judge),
    cost: money ? cell.alone_usd! : tokensOf(`${cell.policy}--${cell.judge}`),
    value: cell.value!,
    low: low(cell) ?? cell.value!,
    high: high(cell) ?? cell.value!,
  }));
  if (rows.length < 2 || !rows.every((row) => row.cost > 0)) return null;
  const shown = (cost: number) => (money ? `$${cost.toPrecision(3)}` : `${number(Math.round(cost))} tokens`);
  return chart({
    title: "Cost against score",
    says: `Each point is a policy under a judge, with what writing its proofs and judging them costs, in ${money ? "US dollars" : "tokens (prices are not known for all of it)"}.`,
    rows: asRows(rows),
    legend: judges.map((label, series) => ({ label, series })),
    draw: (width) =>
      base(width, {
        x: costs(money, width),
        y: shares({ label: "score, %", domain: zoom(rows) }),
        marks: [
          Plot.ruleX(rows, { x: "cost", y1: "low", y2: "high", strokeOpacity: 0.4 }),
          dots(rows, "cost", (row) => `${row.policy}, ${row.judge}\n${percent(row.value)}\n${shown(row.cost)}`),
          Plot.text(rows, { x: "cost", y: "value", text: "policy", textAnchor: "end", dx: -8, dy: -8 }),
        ],
      }),
  });
}

function tokensOf(name: string): number {
  const usage = Object.values(head.runs.find((run) => run.name === name)?.usage ?? {});
  return usage.reduce((sum, role) => sum + (role.input ?? 0) + (role.output ?? 0), 0);
}
