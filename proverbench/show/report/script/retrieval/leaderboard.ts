/* The leaderboard: a table for each board, figures that others published, and what was run. */
import { h, number, percent, raw, table } from "../report/shell";
import type { Board, Outside, Page, Row, Run, Value } from "./model";
import { badge, says, sparkline, three } from "./pieces";

const KINDS: Record<string, { label: string; why: string }> = {
  engine: { label: "published engine", why: "a service of others, asked politely; it searches a corpus of its own" },
  "run file": { label: "run file", why: "lists made elsewhere" },
};

const COVERED: Record<string, string> = {
  "Covered@10": "every premise group, original or alternative, within the first ten",
  "CoveredRoute@10":
    "all original groups, or all alternative ones, within the first ten: the release's and the paper's Covered",
  "CoveredOriginal@10": "all original groups within the first ten: the paper's appendix",
};

const PUBLISHED = ["nDCG@10", "R@10", "MRR", ...Object.keys(COVERED)];

export const leaderboard = ({ boards, published, runs }: Page) => [
  h("h2", null, "Leaderboard"),
  says(
    "Only rows of one board may be compared: each says what its rows have in common. Beneath each value are two 95 % intervals: over queries, as published, and over declarations.",
  ),
  boards.map((board) =>
    h("section", { class: "board-section" }, board.note ? says(board.note) : null, boardTable(board), heldBy(board)),
  ),
  published.length ? publishedTable(published) : null,
  h("section", null, h("h2", null, "What was run"), runs.map(identityOf)),
];

function boardTable(board: Board) {
  const metric = (key: string, title?: string) => ({
    key,
    label: key,
    title,
    numeric: true,
    show: (row: Row) => withIntervals(row, key),
    value: (row: Row) => row.metrics?.[key] ?? null,
  });
  return table({
    caption: board.title,
    className: "board",
    rows: board.rows,
    sort: { key: "nDCG@10", descending: true },
    columns: [
      { key: "label", label: "System", show: systemCell },
      metric("nDCG@10", "normalised discounted gain of the first ten; the default order"),
      metric("R@1", "share of the gold units at the first place"),
      metric("R@5", "share of the gold units within the first five"),
      metric("R@10", "share of the gold units within the first ten"),
      metric("R@50", "share of the gold units within the first fifty"),
      metric("R@100", "share of the gold units within the first hundred"),
      ...coveredOf(board).map((key) => metric(key, COVERED[key])),
      {
        key: "spark",
        label: "R@k",
        title: "R@k for k = 1 to 200",
        show: (row: Row) => sparkline(row.sparkline) ?? "–",
        value: (row: Row) => row.metrics?.["R@10"] ?? null,
      },
      metric("MRR", "mean of 1 / rank of the first gold unit"),
      metric("MAP", "mean average precision, divided by the number of gold units"),
      {
        key: "latency_p95_s",
        label: "p95",
        title: "95 % of the answers came within; where a service was asked now",
        numeric: true,
        show: (row: Row) => seconds(row.latency_p95_s),
      },
      { key: "n", label: "n", title: "queries that count", numeric: true, show: (row: Row) => number(row.n) },
      {
        key: "dropped",
        label: "Dropped",
        title: "queries without gold in the corpus: counted here, never scored 0",
        numeric: true,
        show: (row: Row) => number(row.dropped),
      },
      {
        key: "coverage",
        label: "Coverage",
        title: "share of the queries whose gold the searched corpus has",
        numeric: true,
        show: (row: Row) => (row.coverage === null ? "unknown" : percent(row.coverage)),
        value: (row: Row) => row.coverage,
      },
    ],
  });
}

const seconds = (value: Value | undefined) =>
  value === null || value === undefined ? "–" : `${value.toFixed(value < 10 ? 2 : 0)} s`;

const coveredOf = (board: Board) =>
  board.precision.offered
    ? Object.keys(COVERED).filter((key) => board.rows.some((row) => (row.metrics?.[key] ?? null) !== null))
    : [];

const systemCell = (row: Row) => [
  h("span", { class: "system" }, row.label),
  h(
    "span",
    { class: "badges" },
    KINDS[row.kind] ? badge(KINDS[row.kind]!) : null,
    row.complete ? null : badge({ label: "incomplete", why: "some queries are unanswered" }),
    row.badges.map(badge),
  ),
];

/* The value and, smaller, its two intervals: over queries as published, and over declarations. */
function withIntervals(row: Row, metric: string) {
  const value = row.metrics?.[metric];
  if (value === null || value === undefined) return "–";
  const of = row.intervals?.[metric];
  if (!of) return three(value);
  return [
    h("span", null, three(value)),
    [of.query, of.cluster].map((interval) =>
      h(
        "span",
        { class: "interval", title: `95 %, ${interval.method}, n = ${interval.n}` },
        interval.low === null ? "–" : `${three(interval.low)} to ${three(interval.high)}`,
      ),
    ),
  ];
}

/* What every row of a board has in common, and what of some rows is not known. */
const heldBy = (board: Board) =>
  h(
    "details",
    { class: "held" },
    h("summary", null, "The same for every row"),
    h(
      "ul",
      null,
      board.held.map((line) => h("li", null, line)),
    ),
    board.loose.length
      ? h(
          "ul",
          { class: "loose" },
          board.loose.map((line) => h("li", null, line)),
        )
      : null,
  );

const publishedTable = (published: Outside[]) =>
  h(
    "section",
    { class: "published" },
    h("h2", null, "Published figures"),
    says(
      "Not run here. A paper's figures and a hosted service's differ, so each is a row of its own; none of them is ranked with the rows above.",
    ),
    table({
      caption: "Published figures",
      rows: published,
      sort: { key: "system", descending: false },
      columns: [
        { key: "system", label: "System" },
        {
          key: "source",
          label: "Source",
          show: (row: Outside) => h("span", { title: row.reference }, `${row.source}: ${row.reference}`),
        },
        { key: "task", label: "Task" },
        { key: "corpus", label: "Corpus" },
        ...PUBLISHED.filter((key) => published.some((row) => key in row.metrics)).map((key) => ({
          key,
          label: key,
          numeric: true,
          show: (row: Outside) => three(row.metrics[key]),
          value: (row: Outside) => row.metrics[key] ?? null,
        })),
        { key: "n", label: "n", numeric: true, show: (row: Outside) => number(row.n) },
      ],
    }),
  );

function identityOf(run: Run) {
  const { gold_units, units_left_out, overlapping } = run.summary;
  const facts = [
    ["Run", run.run_id.slice(0, 16)],
    ["Corpus", run.corpus],
    ["Benchmark", `${run.benchmark.file}, SHA-256 ${run.benchmark.sha256.slice(0, 12)}`],
    [
      "Gold units",
      `${number(gold_units)}; ${number(units_left_out)} more have no member in the corpus and are left out`,
    ],
    ["Document text", run.renderer],
    [
      "Overlapping",
      overlapping.length
        ? `${overlapping.length} queries list one document in two units; P, AP and nDCG are capped at 1`
        : "none",
    ],
  ];
  return h(
    "details",
    null,
    h("summary", null, run.label),
    h(
      "dl",
      null,
      facts.map(([term, fact]) => [h("dt", null, term), h("dd", null, fact)]),
    ),
    raw(JSON.stringify(run.identity, null, 1)),
  );
}
