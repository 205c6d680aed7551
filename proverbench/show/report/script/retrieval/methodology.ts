/* What is held constant, formulas, what limits comparison, prior work; and the runs by date. */
import { h, table } from "../report/shell";
import type { Page } from "./model";
import { says } from "./pieces";

type Change = Page["changelog"][number];

const facts = (rows: Record<string, string>[]) =>
  rows.map((row) =>
    h(
      "dl",
      null,
      Object.entries(row).map(([term, fact]) => [h("dt", null, term), h("dd", null, fact)]),
    ),
  );

export const methodologyView = ({ methodology }: Page) => [
  h("h2", null, "Methodology"),
  says("Written from the manifests of the runs that are shown."),
  methodology.held
    .filter((part) => part.rows.length)
    .map((part) => h("section", null, h("h3", null, part.title), facts(part.rows))),
  h(
    "section",
    null,
    h("h3", null, "Metrics"),
    h(
      "dl",
      null,
      methodology.formulas.map((row) => [h("dt", null, row.name), h("dd", null, row.says)]),
    ),
  ),
  h(
    "section",
    null,
    h("h3", null, "What limits comparison"),
    h(
      "ul",
      null,
      methodology.caveats.map((line) => h("li", null, line)),
    ),
  ),
  h(
    "section",
    null,
    h("h3", null, "Prior work"),
    h(
      "ul",
      null,
      methodology.prior_work.map(({ title, arxiv }) =>
        h(
          "li",
          null,
          `${title}, `,
          h("a", { href: `https://arxiv.org/abs/${arxiv}`, rel: "noreferrer" }, `arXiv:${arxiv}`),
        ),
      ),
    ),
  ),
];

export const changelogView = ({ changelog }: Page) => [
  h("h2", null, "Changelog"),
  says("A run has a new id when its queries, corpus, document text, system or settings change."),
  table({
    caption: "Runs, newest first",
    rows: changelog,
    columns: [
      { key: "at", label: "Last answer", show: (row: Change) => row.at || "unknown" },
      { key: "label", label: "System" },
      { key: "run_id", label: "Run", show: (row: Change) => h("code", null, row.run_id.slice(0, 16)) },
      { key: "task", label: "Task" },
      { key: "corpus", label: "Corpus" },
      { key: "version", label: "Version" },
    ],
  }),
];
