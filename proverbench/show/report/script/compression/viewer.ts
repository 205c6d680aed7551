/* The term viewer: charged declarations, opened node by node. */
import { h, percent } from "../report/shell";
import { count, share } from "./counts";
import type { Content, Count, Item, Nodes } from "./model";

/* Kinds of nodes, as compression/export.py numbers them. */
const [BVAR, SORT, CONST, APP, LAM, PI, LET, LIT, , PROJ] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] as const;

const WORDS: Record<number, string> = {
  [APP]: "application",
  [LAM]: "λ",
  [PI]: "∀",
  [LET]: "let",
  [SORT]: "sort",
  [CONST]: "constant",
  [LIT]: "literal",
  [PROJ]: "projection",
  [BVAR]: "variable",
};
const ROLES: Record<number, string[]> = {
  [APP]: ["function", "argument"],
  [LAM]: ["type", "body"],
  [PI]: ["type", "body"],
  [LET]: ["type", "value", "body"],
  [PROJ]: ["of"],
};

const binds = (kind: number) => kind === LAM || kind === PI || kind === LET;

/** The declarations of a view, the largest first. */
export const viewer = ({ count: whole, items, nodes }: Content) => items.map((one) => item(one, whole, nodes));

function item(entry: Item, whole: Count, nodes: Nodes) {
  const part = share(entry.nodes, whole);
  return h(
    "details",
    { class: "item" },
    h(
      "summary",
      null,
      h("span", { class: "nodes" }, count(entry.nodes)),
      meter(part),
      h("code", null, entry.name),
      h("span", { class: "kind" }, `${entry.kind}, ${percent(part)}`),
    ),
    entry.parts.map((each) =>
      h(
        "div",
        { class: "part" },
        h(
          "p",
          null,
          `${each.label}: ${count(each.nodes)} nodes`,
          each.root === null ? " (too large for this page)" : "",
        ),
        each.root === null ? null : h("ul", { class: "tree" }, branch(nodes, each.root, "", [], each.nodes)),
      ),
    ),
  );
}

const meter = (part: number) =>
  h("span", { class: "meter", "aria-hidden": "true" }, h("span", { style: { width: `${100 * part}%` } }));

/* One node below binders with these names. Its children are made when it is opened, so that a large term costs nothing
   before. */
function branch(nodes: Nodes, node: number, role: string, names: string[], whole: Count): HTMLElement {
  const children = nodes.children[node]!;
  if (!children.length) return h("li", { class: "leaf" }, line(nodes, node, role, names, whole));
  const list = h("ul");
  const details = h("details", null, h("summary", null, line(nodes, node, role, names, whole)), list);
  details.addEventListener(
    "toggle",
    () => {
      const kind = nodes.kind[node]!;
      const inner = binds(kind) ? [...names, nodes.label[node]!] : names;
      const last = children.length - 1;
      list.append(
        ...children.map((child, at) =>
          branch(nodes, child, ROLES[kind]?.[at] ?? "", at === last ? inner : names, whole),
        ),
      );
    },
    { once: true },
  );
  return h("li", null, details);
}

function line(nodes: Nodes, node: number, role: string, names: string[], whole: Count) {
  const kind = nodes.kind[node]!;
  const total = nodes.count[node]!;
  return [
    h("span", { class: "nodes", title: `${count(total)} nodes, ${own(nodes, node)} of its own` }, count(total)),
    meter(share(total, whole)),
    role ? h("span", { class: "role" }, role) : null,
    h("code", null, title(nodes, node, names)),
    binds(kind) ? null : h("span", { class: "kind" }, WORDS[kind]),
  ];
}

/* What a node is called. */
function title(nodes: Nodes, node: number, names: string[]): string {
  const kind = nodes.kind[node]!;
  const label = nodes.label[node]!;
  if (kind === BVAR) return names[names.length - 1 - Number(label)] ?? `variable ${label}`;
  if (kind === APP) {
    const head = headOf(nodes, node);
    return `${title(nodes, head, nodes.kind[head] === BVAR ? names : [])} …`;
  }
  return binds(kind) ? `${WORDS[kind]} ${label}` : label;
}

function headOf(nodes: Nodes, node: number) {
  while (nodes.kind[node] === APP) node = nodes.children[node]![0]!;
  return node;
}

function own(nodes: Nodes, node: number) {
  const below = nodes.children[node]!.reduce((sum, child) => sum + BigInt(nodes.count[child]!), 0n);
  return BigInt(nodes.count[node]!) - below;
}
