/* Several runs: leaderboards and paired differences. */
import type { Column } from "../shell/table";
import { costOf, costWords } from "./details";
import { bare, between, score } from "./intervals";
import type { Comparison, Run, Task } from "./model";
import { h, percent, table, visible } from "./shell";
import { head, roleOf } from "./state";
import { headline, label, metric as known, plural, TASKS } from "./words";

export function leaderboards() {
  const tasks = [...new Set(head.runs.map((run) => run.task))];
  return h("section", { "aria-label": "Leaderboard" }, tasks.map(leaderboard));
}

export function leaderboard(task: Task) {
  const metric = headline(task);
  const runs = head.runs.filter((run) => run.task === task);
  const splits = [...new Set(runs.flatMap((run) => Object.keys(run.splits)))].filter((name) =>
    runs.some((run) => run.splits[name]?.metrics),
  );
  const compared = head.comparisons.filter(
    (comparison) => comparison.task === task && comparison.split === "all" && !comparison.reason,
  );
  const rank = (run: Run) =>
    compared.length === 1 ? compared[0].ranks.find((row) => row.metric === metric && row.run === run.name) : undefined;
  const boards = head.boards.filter((board) => board.task === task);
  return [
    h("h2", null, runs.length > 1 ? `${TASKS[task]} leaderboard` : TASKS[task]),
    boards.length > 1 ? standingApart(task) : null,
    boards.map((board) => {
      const mine = runs.filter((run) => board.runs.includes(run.name));
      // Ranks are of all runs that were compared: on a board that lacks some of them they would mislead.
      const whole = compared.length === 1 && compared[0].runs.every((name) => board.runs.includes(name));
      const rankHere = whole ? rank : () => undefined;
      const caption = boardCaption(
        mine,
        compared,
        mine.every((run) => rankHere(run)),
      );
      return [
        boards.length > 1 ? h("h3", null, board.what) : null,
        table({
          caption: `${board.what}. ${caption}`,
          columns: columns(task, splits, mine.length > 1 ? rankHere : null),
          rows: mine,
          sort: { key: "split-all", descending: known(metric)?.better !== "lower" },
        }),
        sentences(board.notes),
      ];
    }),
    runs.length > 1 ? pairs(task, splits) : null,
  ];
}

/* Why there are several boards, and what is offered instead. */
function standingApart(task: Task) {
  const offers = (head.common[task] ?? []).map(
    ({ repeats, scores }) =>
      `At the R = ${repeats} that all have: ${scores.map((row) => `${row.run} ${percent(row.value)}${row.interval ? ` [${between(row.interval)}]` : ""}`).join(", ")} (exact means over all subsets of ${repeats} judgments; proverbench compare --repeats ${repeats}).`,
  );
  return h(
    "div",
    { class: "callout warn", role: "note" },
    h("b", null, "Not all of these runs may stand in one table. "),
    sentences([...(head.apart[task] ?? []), ...offers]),
  );
}

const sentences = (all: string[]) =>
  all.length
    ? h(
        "ul",
        { class: "small" },
        all.map((sentence) => h("li", null, visible(sentence))),
      )
    : null;

interface Rank {
  best: number;
  worst: number;
}

function columns(task: Task, splits: string[], rank: ((run: Run) => Rank | undefined) | null): Column<Run>[] {
  const metric = headline(task);
  const all: (Column<Run> | null)[] = [
    {
      key: "run",
      label: "Run",
      value: (run) => run.name,
      show: (run) => [
        h("a", { href: `#/run/${encodeURIComponent(run.name)}` }, run.name),
        h(
          "div",
          { class: "small" },
          task === "prover"
            ? `${roleOf(run, "policy")}, judged by ${roleOf(run, "verifier")}`
            : roleOf(run, "verifier"),
        ),
        run.complete ? null : h("span", { class: "chip bad" }, "UNFINISHED"),
      ],
    },
    { key: "n", label: "n", title: "Rows of the run", numeric: true, value: (run) => run.rows },
    task === "prover"
      ? { key: "s", label: "S", title: "Proofs of each problem", numeric: true, value: (run) => run.samples }
      : null,
    { key: "r", label: "R", title: "Judgments of each proof", numeric: true, value: (run) => run.repeats },
    ...splits.map((name): Column<Run> => ({
      key: `split-${name}`,
      label: `${label(metric)}, ${name}`,
      title: known(metric)?.help,
      numeric: true,
      value: (run) => run.splits[name]?.metrics?.[metric] ?? null,
      show: (run) =>
        score(
          metric,
          run.splits[name]?.metrics?.[metric],
          run.splits[name]?.intervals?.[metric],
          run.splits[name]?.fractions[metric],
        ),
    })),
    rank && {
      key: "rank",
      label: "Rank",
      title: "The ranks that the differences shown below allow",
      numeric: true,
      value: (run) => rank(run)?.best ?? null,
      show: (run) => ranks(rank(run)),
    },
    {
      key: "valid",
      label: "Valid judgments",
      numeric: true,
      value: (run) => run.splits.all?.metrics?.verifier_valid_rate ?? null,
      show: (run) => percent(run.splits.all?.metrics?.verifier_valid_rate),
    },
    {
      key: "cost",
      label: "Cost",
      numeric: true,
      value: (run) => costOf(run)?.usd ?? null,
      show: (run) => costWords(run),
    },
  ];
  return all.filter((column) => column !== null);
}

const ranks = (found?: Rank) =>
  !found ? "no rank" : found.best === found.worst ? found.best : `${found.best}–${found.worst}`;

export function boardCaption(runs: Run[], compared: Comparison[], ranked: boolean) {
  if (runs.length < 2) return "Scores with 95 % intervals.";
  const holds = "Scores with 95 % intervals; a rank interval holds every rank that the shown differences allow.";
  if (ranked) return holds;
  if (compared.length > 1)
    return "Scores with 95 % intervals. No ranks: not all of these runs may be compared with one another (see below).";
  return `${compared.length ? holds : "Scores with 95 % intervals."} No rank: a run that is not finished, or may not be compared with the others (see below).`;
}

export function pairs(task: Task, splits: string[]) {
  const found = head.comparisons.filter((comparison) => comparison.task === task && splits.includes(comparison.split));
  if (!found.length) return h("p", { class: "small" }, "Differences are shown between runs that are complete.");
  return h(
    "details",
    { class: "all-metrics", open: found.some((comparison) => comparison.reason || comparison.pairs.length <= 12) },
    h("summary", null, "Paired differences"),
    found.map((comparison) => {
      if (comparison.reason)
        return h(
          "p",
          { class: "callout warn" },
          h("b", null, `Not compared: ${comparison.runs.join(", ")}. `),
          visible(comparison.reason),
        );
      const shown = differences(comparison);
      const warnings = comparison.warnings.length
        ? h(
            "ul",
            { class: "small" },
            comparison.warnings.map((warning) => h("li", null, visible(warning))),
          )
        : null;
      return [shown, warnings];
    }),
  );
}

function differences(comparison: Comparison) {
  const left = Object.entries(comparison.left_out).filter(([, lost]) => lost);
  const leftOut = left.length ? ` (left out: ${left.map(([name, lost]) => `${lost} of ${name}`).join(", ")})` : "";
  return table({
    caption: `Split ${comparison.split}: first minus second, on the ${plural(comparison.problems, "problem")} that all runs have${leftOut}; intervals and p hold for all pairs of a metric together (Holm).`,
    columns: [
      { key: "metric", label: "Metric", show: (row) => label(row.metric) },
      { key: "first", label: "First" },
      { key: "second", label: "Second" },
      {
        key: "difference",
        label: "Difference",
        numeric: true,
        show: (row) => `${row.difference > 0 ? "+" : ""}${bare(row.metric, row.difference)}`,
      },
      {
        key: "interval",
        label: "Interval",
        numeric: true,
        value: (row) => row.interval?.low,
        show: (row) =>
          row.interval ? `${bare(row.metric, row.interval.low)} to ${bare(row.metric, row.interval.high)}` : "–",
      },
      {
        key: "p_holm",
        label: "p (Holm)",
        numeric: true,
        show: (row) => (row.p_holm < 0.001 ? "< 0.001" : row.p_holm.toFixed(3)),
      },
      { key: "verdict", label: "So" },
    ],
    rows: comparison.pairs,
  });
}
