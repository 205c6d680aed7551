/* The cards of a run: its scores, what was invalid, proofs to read, every metric. */
import { aboutReason, metricView } from "./glossary";
import { count, type Filter, givesGrades, listAddress, namesSteps, only } from "./filters";
import { aboutInterval, between, figure, footnotes, intervalBar, score } from "./intervals";
import type { Column } from "../shell/table";
import type { Bounds, Run, Split } from "./model";
import { h, number, percent, table } from "./shell";
import { headline, label, metric as known, plural } from "./words";

export function splitCard(run: Run, name: string, split: Split) {
  const metric = headline(run.task);
  const value = split.metrics?.[metric];
  const interval = split.intervals?.[metric];
  const title = h(
    "h3",
    null,
    name !== "all" ? name : run.task === "prover" ? "All problems" : "All proofs",
    h("span", { class: "of" }, plural(split.selected_rows, run.task === "prover" ? "problem" : "proof")),
  );
  if (!split.metrics) {
    const why = split.selected_rows
      ? `${number(split.completed_records)} of ${plural(split.expected_records, "proof")} done`
      : "no rows";
    return h("div", { class: "card" }, title, h("p", { class: "big none" }, "no score yet"), h("p", null, why));
  }
  if (value === null || value === undefined) {
    return h(
      "div",
      { class: "card" },
      title,
      h("p", { class: "big none" }, "undefined"),
      h("p", null, `${label(metric)}: ${split.undefined[metric] ?? "nothing to average over"}.`),
    );
  }
  return h(
    "div",
    { class: "card" },
    title,
    h("p", { class: "name", title: known(metric)?.help }, label(metric), " ", metricView(metric)),
    h("p", { class: "big" }, figure(metric, value)),
    interval
      ? h(
          "p",
          { class: "ci", title: aboutInterval(interval) },
          "95 % interval ",
          h("b", null, `${between(interval)} %`),
        )
      : h("p", { class: "ci" }, "no interval"),
    intervalBar(value, interval),
    footnotes([interval]).map((says) => h("p", { class: "small" }, says)),
    favour(split.bounds?.[metric]),
    gradeLine(run, split),
    run.task === "prover"
      ? h(
          "p",
          { class: "small" },
          `${label("pass_any_sample")}: `,
          score("pass_any_sample", split.metrics.pass_any_sample, split.intervals?.pass_any_sample),
        )
      : h(
          "p",
          { class: "small" },
          h("span", { class: "pair" }, "TPR ", score("rough_tpr", split.metrics.rough_tpr, split.intervals?.rough_tpr)),
          " ",
          h("span", { class: "pair" }, "TNR ", score("rough_tnr", split.metrics.rough_tnr, split.intervals?.rough_tnr)),
        ),
  );
}

/* Where judges grade: the mean of their grades, or how far they are from people's. */
function gradeLine(run: Run, split: Split) {
  const metric = run.task === "prover" ? "mean_grade" : "mae_points";
  const value = split.metrics?.[metric];
  if (typeof value !== "number") return null;
  return h("p", { class: "small" }, `${label(metric)}: `, score(metric, value, split.intervals?.[metric]));
}

/* What the score could have been, had the invalid judgments been in its favour. */
function favour(bounds: Bounds | undefined) {
  if (!bounds || bounds.high - bounds.low <= 0.0005) return null;
  const all = bounds.invalid === 1 ? "the invalid judgment" : `all ${number(bounds.invalid)} invalid judgments`;
  return h("p", { class: "small" }, `${percent(bounds.high)} had ${all} been in its favour`);
}

/* The same of any metric, for a table. */
function atBest(metric: string, { low, high, invalid }: Bounds): string {
  const best = known(metric)?.better;
  if (!best) return `${figure(metric, low)} to ${figure(metric, high)} with ${invalid} invalid`;
  const end = best === "lower" ? `as low as ${figure(metric, low)}` : `up to ${figure(metric, high)}`;
  return `${end} had the ${number(invalid)} invalid been in its favour`;
}

export function validityCards(run: Run) {
  const roles = { verifier: "Invalid judgments", policy: "Invalid proofs", meta: "Invalid meta levels" };
  return Object.entries(roles)
    .filter(([role]) => run.answered[role] !== undefined)
    .map(([role, title]) => validityCard(run, role, title));
}

export function validityCard(run: Run, role: string, title: string) {
  const reasons = Object.entries(run.invalid[role] ?? {}).sort(([, a], [, b]) => b - a);
  const total = reasons.reduce((sum, [, times]) => sum + times, 0);
  const asked = run.answered[role];
  const open = run.missing[role] ?? 0;
  const row = ([reason, times]: [string, number]) =>
    h(
      "li",
      null,
      role === "meta"
        ? h("span", { title: aboutReason(reason) }, reason)
        : h("a", { href: listAddress({ reason, run: only(run) }), title: aboutReason(reason) }, reason),
      h("span", { class: "bar-of", style: { "--share": `${(100 * times) / reasons[0][1]}%` } }),
      h("span", { class: "times" }, number(times)),
    );
  return h(
    "div",
    { class: "card" },
    h("h3", null, title, h("span", { class: "of" }, `${number(total)} of ${number(asked)}`)),
    h("p", { class: "big" }, asked ? percent(total / asked) : "–"),
    reasons.length
      ? h("ul", { class: "reasons" }, reasons.map(row))
      : h("p", { class: "small" }, asked ? "Every reply could be read." : "Nothing was asked yet."),
    open ? h("p", { class: "small" }, `Counted is what was answered; ${number(open)} more to be answered.`) : null,
    role === "verifier"
      ? h("p", { class: "small" }, "They stay in every denominator and never count as acceptance.")
      : null,
  );
}

export function readCard(run: Run) {
  const several = run.repeats > 1;
  const all: [Partial<Filter>, string | null][] = [
    [{ show: "accepted" }, "accepted by every judgment"],
    [{ show: "rejected" }, "rejected by a judgment"],
    [{ show: "split" }, several ? "where one judgment accepts and another rejects" : null],
    [{ show: "differ" }, several && namesSteps([run]) ? "where judgments differ in verdict or step" : null],
    [{ show: "grades" }, several && givesGrades([run]) ? "where judgments differ in grade" : null],
    [{ human: "false-accept" }, run.task === "verifier" ? "wrong, but accepted" : null],
    [{ human: "false-reject" }, run.task === "verifier" ? "right, but rejected" : null],
    [{ human: "elsewhere" }, run.task === "verifier" && namesSteps([run]) ? "error found elsewhere" : null],
    [{ show: "invalid" }, "with an invalid judgment"],
    [{ show: "failed" }, run.task === "prover" ? "without a valid proof" : null],
    [{ show: "unanswered" }, run.complete ? null : "not fully answered"],
  ];
  const links = all.filter(([, what]) => what);
  return h(
    "nav",
    { class: "read", "aria-label": "Proofs to read" },
    h("span", null, "Read the proofs"),
    links.map(([values, what]) => {
      const wanted = { ...values, run: only(run) };
      const found = count(wanted);
      return h(
        found ? "a" : "span",
        { class: "place", href: found ? listAddress(wanted) : null },
        h("b", null, number(found)),
        ` ${what}`,
      );
    }),
  );
}

export function metricsTable(run: Run, splits: [string, Split][]) {
  const withScores = splits.filter(([, split]) => split.metrics);
  if (!withScores.length) return null;
  const names = Object.keys(withScores[0][1].metrics ?? {});
  const marked = footnotes(withScores.flatMap(([, split]) => Object.values(split.intervals ?? {})));
  return h(
    "details",
    { class: "all-metrics", open: run.task === "verifier" },
    h("summary", null, "Every metric, with intervals and bounds"),
    table({
      caption: ["95 % intervals over problems.", ...marked].join(" "),
      sortable: false,
      columns: [
        {
          key: "metric",
          label: "Metric",
          show: (row) =>
            known(row.metric)
              ? [label(row.metric), " ", metricView(row.metric), " ", h("code", null, row.metric)]
              : row.metric,
        },
        ...withScores.map(([name, split]): Column<{ metric: string }> => ({
          key: name,
          label: name,
          numeric: true,
          show: (row) => {
            const value = split.metrics?.[row.metric];
            if (value === null || value === undefined) return h("span", { title: split.undefined[row.metric] }, "–");
            if (!known(row.metric)) return number(value);
            const bounds = split.bounds?.[row.metric];
            return [
              score(row.metric, value, split.intervals?.[row.metric], split.fractions[row.metric]),
              bounds && bounds.high - bounds.low > 0.0005
                ? h("div", { class: "small" }, atBest(row.metric, bounds))
                : null,
            ];
          },
        })),
      ],
      rows: names.map((metric) => ({ metric })),
    }),
  );
}
