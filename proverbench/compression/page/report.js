"use strict";
(() => {
  // report/shell.ts
  var {
    announce,
    bar,
    chart,
    colour,
    copyButton,
    csv,
    explain,
    h,
    later,
    number,
    percent,
    raw,
    settle,
    symbol,
    scopeOf,
    table,
    text,
    unseen,
    visible
  } = PB;

  // compression/counts.ts
  var grouped = new Intl.NumberFormat("en");
  var count = (value) => typeof value === "number" ? grouped.format(value) : BigInt(value).toLocaleString("en");
  var share = (part, whole) => Number(whole) ? Number(part) / Number(whole) : 0;

  // compression/ranking.ts
  function ranking(data) {
    const cell = ({ counts, places }, at) => {
      const nodes = counts[at] ?? null;
      return `${nodes === null ? "No score" : count(nodes)} (${places[at]})`;
    };
    return h(
      "section",
      null,
      h("h2", null, `Track ${data.track}`),
      h(
        "p",
        null,
        "Kernel nodes of each agent’s best verified run; fewer is better. In brackets its place: agents that tie share the mean of the places they fill, and so do all without a verified run, at the end."
      ),
      table({
        caption: `Agents on ${data.track} by average rank`,
        columns: [
          { key: "agent", label: "Agent" },
          {
            key: "average",
            label: "Average rank",
            numeric: true,
            show: (row) => row.average.toFixed(2),
            title: "Lower is better"
          },
          ...data.tasks.map((task, at) => ({
            key: `task-${at}`,
            label: task.label,
            numeric: true,
            title: `${count(task.original)} nodes in the original; in brackets the place`,
            value: (row) => row.counts[at],
            show: (row) => cell(row, at)
          })),
          { key: "no_score", label: "No score", numeric: true, title: "Runs without a verified score" }
        ],
        rows: data.agents
      }),
      h(
        "p",
        null,
        "For reference, no participants: ",
        data.tasks.map((task) => `${task.label}: original ${count(task.original)}, automatic sharing ${count(task.sharing)}`).join("; "),
        "."
      )
    );
  }
  function apart(items) {
    const columns = [
      { key: "receipt", label: "Receipt" },
      { key: "agent", label: "Agent" },
      { key: "task", label: "Task" },
      { key: "reason", label: "Why it has no place" }
    ];
    return h(
      "section",
      null,
      h("h2", null, "Receipts without a place"),
      table({ caption: "Receipts without a place", columns, rows: items })
    );
  }

  // compression/rules.ts
  var ruleTable = ({ head, rows }) => h(
    "table",
    { class: "rules" },
    head.some(Boolean) ? h(
      "thead",
      null,
      h(
        "tr",
        null,
        head.map((text2) => h("th", { scope: "col" }, text2))
      )
    ) : null,
    h(
      "tbody",
      null,
      rows.map(
        (row) => h(
          "tr",
          null,
          row.map((text2) => h("td", null, text2))
        )
      )
    )
  );
  var rules = (sections) => h(
    "section",
    null,
    h("h2", null, "Rules and scoring"),
    sections.map(
      (section) => h(
        "details",
        { class: "rule" },
        h("summary", null, section.title),
        section.text.map((text2) => h("p", null, text2)),
        section.code ? h("pre", null, h("code", null, section.code)) : null,
        section.rows.length ? ruleTable(section) : null
      )
    )
  );

  // compression/viewer.ts
  var [BVAR, SORT, CONST, APP, LAM, PI, LET, LIT, , PROJ] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
  var WORDS = {
    [APP]: "application",
    [LAM]: "λ",
    [PI]: "∀",
    [LET]: "let",
    [SORT]: "sort",
    [CONST]: "constant",
    [LIT]: "literal",
    [PROJ]: "projection",
    [BVAR]: "variable"
  };
  var ROLES = {
    [APP]: ["function", "argument"],
    [LAM]: ["type", "body"],
    [PI]: ["type", "body"],
    [LET]: ["type", "value", "body"],
    [PROJ]: ["of"]
  };
  var binds = (kind) => kind === LAM || kind === PI || kind === LET;
  var viewer = ({ count: whole, items, nodes }) => items.map((one) => item(one, whole, nodes));
  function item(entry, whole, nodes) {
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
        h("span", { class: "kind" }, `${entry.kind}, ${percent(part)}`)
      ),
      entry.parts.map(
        (each) => h(
          "div",
          { class: "part" },
          h(
            "p",
            null,
            `${each.label}: ${count(each.nodes)} nodes`,
            each.root === null ? " (too large for this page)" : ""
          ),
          each.root === null ? null : h("ul", { class: "tree" }, branch(nodes, each.root, "", [], each.nodes))
        )
      )
    );
  }
  var meter = (part) => h("span", { class: "meter", "aria-hidden": "true" }, h("span", { style: { width: `${100 * part}%` } }));
  function branch(nodes, node, role, names, whole) {
    const children = nodes.children[node];
    if (!children.length) return h("li", { class: "leaf" }, line(nodes, node, role, names, whole));
    const list = h("ul");
    const details = h("details", null, h("summary", null, line(nodes, node, role, names, whole)), list);
    details.addEventListener(
      "toggle",
      () => {
        const kind = nodes.kind[node];
        const inner = binds(kind) ? [...names, nodes.label[node]] : names;
        const last = children.length - 1;
        list.append(
          ...children.map(
            (child, at) => branch(nodes, child, ROLES[kind]?.[at] ?? "", at === last ? inner : names, whole)
          )
        );
      },
      { once: true }
    );
    return h("li", null, details);
  }
  function line(nodes, node, role, names, whole) {
    const kind = nodes.kind[node];
    const total = nodes.count[node];
    return [
      h("span", { class: "nodes", title: `${count(total)} nodes, ${own(nodes, node)} of its own` }, count(total)),
      meter(share(total, whole)),
      role ? h("span", { class: "role" }, role) : null,
      h("code", null, title(nodes, node, names)),
      binds(kind) ? null : h("span", { class: "kind" }, WORDS[kind])
    ];
  }
  function title(nodes, node, names) {
    const kind = nodes.kind[node];
    const label = nodes.label[node];
    if (kind === BVAR) return names[names.length - 1 - Number(label)] ?? `variable ${label}`;
    if (kind === APP) {
      const head = headOf(nodes, node);
      return `${title(nodes, head, nodes.kind[head] === BVAR ? names : [])} …`;
    }
    return binds(kind) ? `${WORDS[kind]} ${label}` : label;
  }
  function headOf(nodes, node) {
    while (nodes.kind[node] === APP) node = nodes.children[node][0];
    return node;
  }
  function own(nodes, node) {
    const below = nodes.children[node].reduce((sum, child) => sum + BigInt(nodes.count[child]), 0n);
    return BigInt(nodes.count[node]) - below;
  }

  // compression/main.ts
  async function start() {
    const page = await PB.model();
    bar({ links: [] });
    document.getElementById("main").replaceChildren(
      ...page.rankings.map(ranking),
      ...page.apart.length ? [apart(page.apart)] : [],
      ...page.views.length ? [views(page.views)] : [],
      rules(page.rules)
    );
  }
  function views(all) {
    const place = h("div");
    const choose = async (at) => {
      place.replaceChildren(h("p", { role: "status" }, "Unpacking …"));
      const content = await PB.chunk(at);
      place.replaceChildren(h("p", null, summary(all[at])), ...viewer(content));
    };
    const select = h(
      "select",
      { id: "view", onchange: (event) => choose(Number(event.target.value)) },
      all.map((view, at) => h("option", { value: at }, view.title))
    );
    choose(0);
    return h(
      "section",
      null,
      h("h2", null, "Where the nodes go"),
      h(
        "p",
        null,
        "Open a declaration, then its terms, node by node. Each number is what the node costs with all that is below it."
      ),
      h("p", null, h("label", { for: "view" }, "Proofs: "), select),
      place
    );
  }
  function summary(view) {
    const saved = view.original - Number(view.count);
    const compared = saved === 0 ? "as many as the original" : `${count(Math.abs(saved))} ${saved > 0 ? "fewer" : "more"} than the original’s ${count(view.original)}`;
    return `${count(view.count)} nodes, ${compared}.`;
  }
  start();
})();
