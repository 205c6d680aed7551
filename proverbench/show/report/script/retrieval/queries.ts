/* Every query and where each system put its answer; one query with what each system listed. */
import { h, number, table, text, visible } from "../report/shell";
import type { Details, Found, Page, Query, Run } from "./model";
import { says, valueOf } from "./pieces";

const chosen = { text: "", label: "", only: "" };

const answered = (entry: Query) => Object.values(entry.runs).filter((where) => where.positions);
const best = (where: Found | undefined) =>
  where?.positions ? Math.min(...where.positions.map((rank) => rank ?? Infinity)) : null;
const near = (where: Found) => best(where)! <= 10;

const FILTERS: Record<string, [string, (entry: Query) => boolean]> = {
  "": ["All queries", () => true],
  differs: ["Systems differ within the first ten", (entry) => new Set(answered(entry).map(near)).size > 1],
  missed: [
    "Missed by every system within the first ten",
    (entry) => answered(entry).length > 0 && !answered(entry).some(near),
  ],
  dropped: ["Dropped: no gold in the corpus", (entry) => Object.values(entry.runs).some((where) => where.dropped)],
  overlapping: ["One document in two units", (entry) => Object.values(entry.runs).some((where) => where.overlapping)],
};

const labelsOf = (entry: Query) => Object.entries(entry.labels).map(([key, value]) => `${key}: ${value}`);

export function queryList({ queries, runs }: Page) {
  const labels = [...new Set(queries.flatMap(labelsOf))].sort();
  const place = h("div");
  const fill = () => place.replaceChildren(queryTable(queries, runs));
  const set = (key: keyof typeof chosen) => (event: Event) => {
    chosen[key] = valueOf(event);
    fill();
  };
  const only = h(
    "select",
    { onchange: set("only") },
    Object.entries(FILTERS).map(([key, [label]]) => h("option", { value: key, selected: key === chosen.only }, label)),
  );
  const kind = h(
    "select",
    { onchange: set("label") },
    h("option", { value: "" }, "all"),
    labels.map((label) => h("option", { value: label, selected: label === chosen.label }, label)),
  );
  fill();
  return [
    h("h2", null, "Queries"),
    says("The rank at which each system put each gold unit; – is a unit that is not within the first 200."),
    h(
      "div",
      { class: "controls" },
      h("label", null, "Search ", h("input", { type: "search", value: chosen.text, oninput: set("text") })),
      h("label", null, "Show ", only),
      labels.length ? h("label", null, "Kind ", kind) : null,
    ),
    place,
  ];
}

function queryTable(queries: Query[], runs: Run[]) {
  const wanted = chosen.text.toLowerCase();
  const rows = queries
    .map((entry, at) => ({ ...entry, at }))
    .filter((entry) => !wanted || `${entry.id} ${entry.text}`.toLowerCase().includes(wanted))
    .filter((entry) => !chosen.label || labelsOf(entry).includes(chosen.label))
    .filter(FILTERS[chosen.only]![1]);
  type Listed = (typeof rows)[number];
  const one = new Set(queries.map((entry) => entry.task)).size === 1;
  return table({
    caption: `${number(rows.length)} of ${number(queries.length)} queries`,
    className: "queries",
    rows,
    columns: [
      {
        key: "text",
        label: "Query",
        show: (entry: Listed) =>
          h(
            "a",
            { href: `#/query/${entry.at}` },
            visible(entry.text.length > 140 ? `${entry.text.slice(0, 140)}…` : entry.text),
          ),
      },
      {
        key: "id",
        label: "Id",
        show: (entry: Listed) => h("code", null, one ? entry.id : `${entry.task}/${entry.id}`),
      },
      ...runs.map((run, at) => ({
        key: `run${at}`,
        label: run.label,
        numeric: true,
        show: (entry: Listed) => ranks(entry.runs[at]),
        value: (entry: Listed) => best(entry.runs[at]),
      })),
    ],
  });
}

/* Where a run put the units of a query: each unit's rank, – for one that is not in the list. */
function ranks(where: Found | undefined) {
  const none = (title: string, shown: string) => h("span", { class: "rank none", title }, shown);
  if (!where) return none("not a query of this run", "·");
  if (where.dropped) return none("no gold in the corpus: dropped", "dropped");
  if (!where.positions) return none("not answered yet", "open");
  const shown = [...where.positions].sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
  const place = (rank: number | null) =>
    rank === null ? "missed" : rank === 1 ? "first" : rank <= 10 ? "near" : "far";
  return h(
    "span",
    { class: "ranks" },
    shown.map((rank) => h("span", { class: `rank ${place(rank)}` }, rank ?? "–")),
  );
}

export async function oneQuery({ queries, queries_per_chunk: size, runs }: Page, at: number) {
  const entry = queries[at];
  if (!entry) return [h("p", null, "There is no such query.")];
  const details: Record<number, Details> = (await PB.chunk(Math.floor(at / size)))[at % size];
  const step = (to: number, label: string) =>
    queries[to] ? h("a", { href: `#/query/${to}` }, label) : h("span", { class: "says" }, label);
  return [
    h(
      "p",
      { class: "steps" },
      step(at - 1, "← previous"),
      h("a", { href: "#/queries" }, "all queries"),
      step(at + 1, "next →"),
    ),
    h("h2", null, entry.id),
    text(entry.text),
    says(labelsOf(entry).join(" · ")),
    h(
      "div",
      { class: "lists" },
      runs.map((run, nth) => listOf(run, entry.runs[nth], details[nth])),
    ),
  ];
}

/* Mathlib's documentation finds a declaration by its full name, which is what follows the module of a row's id. */
function named(run: Run, row: string, shown: Node | string) {
  if (!run.mathlib) return shown;
  const name = row
    .replace(/::\d+$/, "")
    .split("::")
    .at(-1)!;
  const href = `https://leanprover-community.github.io/mathlib4_docs/find/#doc/${encodeURIComponent(name)}`;
  return h("a", { href, rel: "noreferrer" }, shown);
}

function listOf(run: Run, where: Found | undefined, details: Details | undefined) {
  if (!where || !details) return null;
  const gold = new Map(details.units.flatMap((unit, at) => unit.map((row) => [row, at] as const)));
  const unitOf = (row: string) => h("span", { class: "unit" }, `unit ${gold.get(row)! + 1}`);
  const units = details.units.map((unit, at) =>
    h(
      "li",
      null,
      h("span", { class: "unit" }, `unit ${at + 1}`),
      ` at ${where.positions?.[at] ?? "–"}: `,
      h(
        "span",
        { class: "members" },
        unit.map((row, place) => [place ? " or " : "", named(run, row, row)]),
      ),
    ),
  );
  return h(
    "section",
    { class: "list" },
    h("h3", null, run.label),
    where.dropped ? says("No gold in the corpus: dropped and counted, never scored 0.") : null,
    h("ul", { class: "units" }, units),
    details.units_left_out ? says(`${details.units_left_out} more without a member in the corpus`) : null,
    where.overlapping ? says("One document is in two units: P, AP and nDCG are capped at 1.") : null,
    h(
      "ol",
      { class: "top" },
      details.top.map((row) =>
        h(
          "li",
          { class: gold.has(row) ? "gold" : null },
          named(run, row, h("code", null, visible(row))),
          gold.has(row) ? unitOf(row) : null,
        ),
      ),
    ),
    where.n_retrieved === null ? null : says(`${number(where.n_retrieved)} returned`),
  );
}
