/* Curves and paired differences of the runs of one board, with the controls of what is drawn. */
import { h, table } from "../report/shell";
import { CURVES, called, curveChart, precisionChart, type Drawn } from "./curves";
import type { Board, Page, Pair, Row, Unit, Value } from "./model";
import { says, valueOf } from "./pieces";

const chosen = { board: 0, curve: "R", unit: "query" as Unit, upTo: 50, off: new Set<string>() };

export function compare({ boards, runs }: Page) {
  const drawn = boards.filter((board) => board.rows.some((row) => row.curves));
  if (!drawn.length) return [h("h2", null, "Compare"), h("p", null, "No run is complete yet.")];
  const body = h("div");
  const fill = () => body.replaceChildren(...ofBoard(drawn, fill));
  fill();
  return [h("h2", null, "Compare"), body];

  /* The controls stay as they are while one of them is used; only what they show is drawn anew. */
  function ofBoard(drawn: Board[], onboard: () => void) {
    const board = drawn[chosen.board] ?? drawn[0]!;
    const rows = board.rows.filter((row) => row.curves);
    const series = new Map(rows.map((row, at) => [row.label, at]));
    const offered = Object.entries(CURVES).filter(([key]) => rows.some((row) => row.curves?.[key]));
    const refused = chosen.curve === "P" && !board.precision.offered;
    if (refused || !offered.some(([key]) => key === chosen.curve)) chosen.curve = "R";
    const place = h("div");
    const update = () => {
      const shown: Drawn = { rows: rows.filter((row) => !chosen.off.has(row.label)), series };
      // With a single gold unit the best precision is the same at every level, and the chart a flat line.
      const levels = board.precision.offered ? [precisionChart(runs, shown)] : [];
      place.replaceChildren(curveChart(board, shown, chosen), ...levels, differences(board, shown.rows));
    };
    update();
    return [controls({ drawn, board, rows, series, offered, update, onboard }), place];
  }
}

interface Controls {
  drawn: Board[];
  board: Board;
  rows: Row[];
  series: Map<string, number>;
  offered: [string, [string, string]][];
  update(): void;
  onboard(): void;
}

function controls({ drawn, board, rows, series, offered, update, onboard }: Controls) {
  const pick =
    <K extends "board" | "curve" | "unit" | "upTo">(key: K, then = update) =>
    (value: (typeof chosen)[K]) => {
      chosen[key] = value;
      then();
    };
  const boardSelect = h(
    "select",
    { onchange: (event: Event) => pick("board", onboard)(Number(valueOf(event))) },
    drawn.map((one, at) => h("option", { value: at, selected: at === chosen.board }, one.title)),
  );
  const curves = offered.map(([key, [label]]): Option<string> => {
    const why = key === "P" && !board.precision.offered ? `not offered: ${board.precision.why}` : "";
    return [key, label, why];
  });
  const units: Option<Unit>[] = [
    ["query", "over queries, as published"],
    ["cluster", "over declarations"],
  ];
  const levels = [10, 50, 200].map((k): Option<number> => [k, String(k)]);
  return h(
    "div",
    { class: "controls" },
    drawn.length > 1 ? h("label", null, "Board ", boardSelect) : says(board.title),
    choice("curve", curves, chosen.curve, pick("curve"), "Metric"),
    choice("unit", units, chosen.unit, pick("unit"), "95 % interval"),
    choice("upTo", levels, chosen.upTo, pick("upTo"), "k up to"),
    h(
      "fieldset",
      { class: "choice" },
      h("legend", null, "Systems"),
      rows.map((row) => systemBox(row, series.get(row.label)!, update)),
    ),
  );
}

function systemBox(row: Row, series: number, update: () => void) {
  const onchange = (event: Event) => {
    if ((event.target as HTMLInputElement).checked) chosen.off.delete(row.label);
    else chosen.off.add(row.label);
    update();
  };
  return h(
    "label",
    null,
    h("input", { type: "checkbox", checked: !chosen.off.has(row.label), onchange }),
    PB.swatch({ series, dashed: row.kind === "engine" }),
    ` ${called(row)}`,
  );
}

/** Value, label, and why it cannot be chosen, if so. */
type Option<T> = [T, string, string?];

const choice = <T extends string | number>(
  name: string,
  options: Option<T>[],
  value: T,
  onpick: (value: T) => void,
  legend: string,
) =>
  h(
    "fieldset",
    { class: "choice" },
    h("legend", null, legend),
    options.map(([key, label, why]) =>
      h(
        "label",
        { class: why ? "disabled" : null },
        h("input", {
          type: "radio",
          name,
          checked: key === value,
          disabled: Boolean(why),
          onchange: () => onpick(key),
        }),
        ` ${label}`,
        why ? h("span", { class: "why" }, ` ${why}`) : null,
      ),
    ),
  );

function differences(board: Board, shown: Row[]) {
  const names = new Set(shown.map((row) => row.label));
  const pairs = board.pairs.filter((pair) => names.has(pair.first) && names.has(pair.second));
  if (!pairs.length) return says("Two systems are needed for a difference.");
  return h(
    "section",
    null,
    h("h3", null, "Paired differences"),
    says(
      "First minus second on the same queries, in percentage points; whole declarations are resampled and exchanged. p is adjusted over the pairs of a metric (Holm).",
    ),
    table({
      caption: "Paired differences",
      rows: pairs,
      columns: [
        { key: "metric", label: "Metric" },
        { key: "first", label: "First" },
        { key: "second", label: "Second" },
        { key: "difference", label: "Difference", numeric: true, show: (row: Pair) => points(row.difference) },
        {
          key: "interval",
          label: "95 % interval",
          numeric: true,
          show: ({ interval }: Pair) =>
            interval.low === null ? "–" : `${points(interval.low)} to ${points(interval.high)}`,
          value: (row: Pair) => row.interval.low,
        },
        {
          key: "p_holm",
          label: "p",
          numeric: true,
          show: (row: Pair) => (row.p_holm < 0.001 ? "< 0.001" : row.p_holm.toFixed(3)),
        },
        { key: "verdict", label: "Verdict" },
      ],
    }),
  );
}

const points = (value: Value) =>
  value === null ? "–" : `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)}`.replace(/^[+-]0\.0$/, "0.0");
