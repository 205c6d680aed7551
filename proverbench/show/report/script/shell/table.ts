/* Tables that can be sorted by their headings. */
import { h, type Child } from "./elements";

export interface Column<R> {
  key: string;
  label: string;
  title?: string;
  numeric?: boolean;
  show?(row: R): Child;
  /** What to sort by, and to show unless `show` does; by default the row's field called `key`. */
  value?(row: R): unknown;
}

interface Table<R> {
  caption: string;
  columns: Column<R>[];
  rows: R[];
  sort?: { key: string; descending?: boolean } | null;
  sortable?: boolean;
  className?: string;
}

const own = (row: object, key: string) => (row as Record<string, any>)[key];
const valueOf = <R extends object>(column: Column<R>, row: R) =>
  column.value ? column.value(row) : own(row, column.key);
const shown = (value: any): Child => value ?? "–";

export function table<R extends object>(wanted: Table<R>): HTMLElement {
  const { caption, columns, rows, sort = null, sortable = true, className = "" } = wanted;
  const body = h("tbody");
  const heads = columns.map((column) => {
    const head = h("th", { scope: "col", class: column.numeric ? "number" : null, title: column.title });
    if (sortable && rows.length > 1)
      head.append(h("button", { type: "button", onclick: () => by(column) }, column.label));
    else head.append(column.label);
    return head;
  });
  const fill = (shown: R[]) => body.replaceChildren(...shown.map((row) => line(columns, row)));
  let sorted: { column: Column<R>; down: boolean } | null = null;
  function by(column: Column<R>, descending?: boolean) {
    const down = descending ?? (sorted?.column === column ? !sorted.down : Boolean(column.numeric));
    sorted = { column, down };
    heads.forEach((head, at) =>
      columns[at] === column
        ? head.setAttribute("aria-sort", down ? "descending" : "ascending")
        : head.removeAttribute("aria-sort"),
    );
    fill([...rows].sort((one, other) => compare(valueOf(column, one), valueOf(column, other), down)));
  }
  fill(rows);
  const start = sort && columns.find((column) => column.key === sort.key);
  if (start) by(start, sort.descending);
  return h(
    "div",
    { class: "tabled" },
    h("p", { class: "caption" }, caption),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      h("table", { class: className, "aria-label": caption }, h("thead", null, h("tr", null, heads)), body),
    ),
  );
}

function line<R extends object>(columns: Column<R>[], row: R) {
  return h(
    "tr",
    { class: own(row, "className") },
    columns.map((column, at) => {
      const content = column.show ? column.show(row) : shown(valueOf(column, row));
      const kind = column.numeric ? "number" : null;
      return at === 0 ? h("th", { class: kind, scope: "row" }, content) : h("td", { class: kind }, content);
    }),
  );
}

/* What is unknown comes last, whichever way. */
function compare(a: any, b: any, down: boolean): number {
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  const both = typeof a === "number" && typeof b === "number";
  const difference = both ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  return down ? -difference : difference;
}
