/* The page of a plan: what was asked, its answers, plots, and the designs as a table. */
import { bar, h, number, percent, table, visible } from "../report/shell";
import { plural } from "../report/words";
import { costOf, planCharts } from "./charts";
import type { Design, Plan } from "./model";

async function start() {
  const plan: Plan = await PB.model();
  bar({});
  document.getElementById("main")!.replaceChildren(
    h(
      "div",
      { class: "overview" },
      h(
        "section",
        { "aria-labelledby": "plan" },
        h("h2", { id: "plan" }, "What problems, samples and money buy"),
        h("p", { class: "lead" }, visible(`${plan.basis}; R = ${plan.repeats}`)),
        h(
          "ul",
          null,
          plan.says.map((sentence) => h("li", null, sentence)),
        ),
      ),
      answers(plan),
      h("section", { class: "charts", "aria-label": "Plots" }, planCharts(plan.curves, plan.unit)),
      h(
        "section",
        { "aria-label": "Designs" },
        designs(plan),
        h("p", { class: "small" }, `Planned from the formulas of docs/metrics.md, "Planning", by ${plan.made_by}.`),
      ),
    ),
  );
  document.documentElement.dataset.ready = "yes";
}

function answers(plan: Plan) {
  if (!plan.answers.length) return null;
  return h(
    "section",
    { "aria-labelledby": "answers" },
    h("h3", { id: "answers" }, "Asked"),
    h(
      "ul",
      null,
      plan.answers.map(({ question, design, reason }) =>
        h("li", null, h("b", null, question), ": ", design ? described(design, plan) : `none: ${reason}`),
      ),
    ),
  );
}

const described = (design: Design, plan: Plan) =>
  `${plural(design.problems, "problem")} × ${plural(design.samples, "sample")}, ${costOf(design.cost, plan.unit)}; ` +
  `95 % interval of the score ${percent(design.low)} to ${percent(design.high)}` +
  (design.labelled_low === undefined
    ? ""
    : `, by labels ${percent(design.labelled_low)} to ${percent(design.labelled_high)}`);

function designs(plan: Plan) {
  const has = (name: keyof Design) => plan.designs.some((design) => design[name] !== undefined);
  const pts = (width: number) => (50 * width).toFixed(1);
  return table({
    caption: "What to expect of some designs",
    columns: [
      { key: "problems", label: "problems", numeric: true },
      { key: "samples", label: "samples", numeric: true },
      {
        key: "low",
        label: "95 % interval",
        numeric: true,
        show: (row: Design) => `${percent(row.low)} to ${percent(row.high)}`,
      },
      { key: "width", label: "± points", numeric: true, show: (row) => pts(row.width) },
      ...(has("width_range")
        ? [
            {
              key: "width_range",
              label: "likely",
              numeric: true,
              show: ({ width_range: range }: Design) => (range ? `±${pts(range[0])} to ±${pts(range[1])}` : "–"),
              value: (row: Design) => row.width_range?.[1],
            },
          ]
        : []),
      ...(has("detectable")
        ? [
            {
              key: "detectable",
              label: "shown with 80 %, points",
              numeric: true,
              show: (row: Design) => (100 * row.detectable!).toFixed(1),
            },
          ]
        : []),
      ...(has("labelled_low")
        ? [
            {
              key: "labelled_low",
              label: "by labels",
              numeric: true,
              show: (row: Design) => `${percent(row.labelled_low)} to ${percent(row.labelled_high)}`,
            },
          ]
        : []),
      {
        key: "cost",
        label: plan.unit === "USD" ? "US dollars" : (plan.unit ?? "calls"),
        numeric: true,
        show: (row) => number(plan.unit === "USD" ? row.cost.toFixed(2) : Math.round(row.cost)),
      },
    ],
    rows: plan.designs,
  });
}

start();
