/* The plots of a run. */
import { runPlot } from "../plan/charts";
import { agreementTable, breakdownPlot, confusionPlot } from "./breakdowns";
import { costPlot, passPlot, repeatsPlot } from "./curves";
import { gradePlots } from "./grades";
import type { Plots, Run } from "./model";
import { ratesPlot, votingPlot } from "./rates";
import { h } from "./shell";
import { chosen, head } from "./state";

export function plots(run: Run): HTMLElement | null {
  const scored = Object.keys(run.splits).filter((name) => run.splits[name].plots);
  if (!scored.length) return null;
  const picked = (name: string) => h("option", { value: name, selected: name === chosen.split }, name);
  const choose = (event: { target: HTMLSelectElement }) => {
    chosen.split = event.target.value;
    redraw();
  };
  return h(
    "section",
    { "aria-labelledby": "plots", id: "plots-section" },
    h(
      "div",
      { class: "heading" },
      h("h2", { id: "plots" }, "Plots"),
      scored.length > 1
        ? h("label", { class: "picker" }, "Split ", h("select", { onchange: choose }, scored.map(picked)))
        : null,
    ),
    h("p", { class: "small" }, "Bands and bars are 95 % intervals over problems.", apart(run)),
    h("div", { class: "charts" }, figures(run)),
  );
}

const apart = (run: Run) => {
  const others = head.runs.filter((entry) => entry.task === run.task && !together(run, entry));
  return others.length
    ? ` Not drawn beside ${run.name}: ${others.map((entry) => entry.name).join(", ")} (see above).`
    : "";
};

/* Whether two runs may stand in one table, and so in one plot. */
const together = (run: Run, other: Run) =>
  head.boards.some((board) => board.runs.includes(run.name) && board.runs.includes(other.name));

function figures(run: Run) {
  const data = run.splits[chosen.split].plots;
  if (!data) return null;
  const drawn = head.runs
    .map((entry, at) => ({ run: entry, series: at }))
    .filter(({ run: entry }) => together(run, entry) && entry.splits[chosen.split]?.plots);
  const shared = [repeatsPlot(drawn, run), costPlot(drawn), breakdownPlot(run, data)];
  return run.task === "prover"
    ? [
        shared[0],
        passPlot(drawn, run),
        shared[1],
        ...gradePlots(run, data),
        ahead(run, data),
        shared[2],
        agreementTable(data),
      ]
    : [
        ...gradePlots(run, data),
        ratesPlot(drawn),
        votingPlot(run, data),
        ...shared,
        confusionPlot(run, data),
        agreementTable(data),
      ];
}

const ahead = (run: Run, { plan }: Plots) => (plan ? runPlot(run.name, plan) : null);

function redraw() {
  const fresh = plots(head.runs[chosen.run]);
  if (fresh) document.getElementById("plots-section")?.replaceWith(fresh);
  document.querySelector<HTMLElement>("#plots-section select")?.focus();
}
