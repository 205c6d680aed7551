/* The rules and the scoring, as sections that open. */
import { h } from "../report/shell";
import type { Rules } from "./model";

const ruleTable = ({ head, rows }: Rules) =>
  h(
    "table",
    { class: "rules" },
    head.some(Boolean)
      ? h(
          "thead",
          null,
          h(
            "tr",
            null,
            head.map((text) => h("th", { scope: "col" }, text)),
          ),
        )
      : null,
    h(
      "tbody",
      null,
      rows.map((row) =>
        h(
          "tr",
          null,
          row.map((text) => h("td", null, text)),
        ),
      ),
    ),
  );

export const rules = (sections: Rules[]) =>
  h(
    "section",
    null,
    h("h2", null, "Rules and scoring"),
    sections.map((section) =>
      h(
        "details",
        { class: "rule" },
        h("summary", null, section.title),
        section.text.map((text) => h("p", null, text)),
        section.code ? h("pre", null, h("code", null, section.code)) : null,
        section.rows.length ? ruleTable(section) : null,
      ),
    ),
  );
