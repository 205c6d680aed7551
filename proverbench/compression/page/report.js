"use strict";
/* The page of compressionbench: the ranking, and a viewer that opens terms node by node. */
(async () => {
  const { h } = PB;
  const model = await PB.model();
  const main = document.getElementById("main");
  const [BVAR, SORT, CONST, APP, LAM, PI, LET, LIT, , PROJ] = Array(10).keys();
  const grouped = new Intl.NumberFormat("en");
  const count = (value) => (typeof value === "number" ? grouped.format(value) : BigInt(value).toLocaleString("en"));
  const share = (part, whole) => (Number(whole) ? Number(part) / Number(whole) : 0);

  // ------------------------------------------------------------ ranking

  function ranking(data) {
    const cell = (row, at) => (row.counts[at] === null ? "No score" : count(row.counts[at])) + ` (${row.places[at]})`;
    const columns = [
      { key: "agent", label: "Agent" },
      { key: "average", label: "Average rank", numeric: true, show: (row) => row.average.toFixed(2), title: "Lower is better" },
      ...data.tasks.map((task, at) => ({
        key: `task-${at}`,
        label: task.label,
        numeric: true,
        title: `${count(task.original)} nodes in the original; in brackets the place`,
        value: (row) => row.counts[at],
        show: (row) => cell(row, at),
      })),
      { key: "no_score", label: "No score", numeric: true, title: "Runs without a verified score" },
    ];
    return h(
      "section",
      null,
      h("h2", null, `Track ${data.track}`),
      h(
        "p",
        null,
        "Kernel nodes of each agent’s best verified run; fewer is better. In brackets its place: agents that tie share the mean of the places they fill, and so do all without a verified run, at the end.",
      ),
      PB.table({ caption: `Agents on ${data.track} by average rank`, columns, rows: data.agents }),
      h(
        "p",
        null,
        "For reference, no participants: ",
        data.tasks.map((task) => `${task.label}: original ${count(task.original)}, automatic sharing ${count(task.sharing)}`).join("; "),
        ".",
      ),
    );
  }

  function apart(items) {
    const columns = [
      { key: "receipt", label: "Receipt" },
      { key: "agent", label: "Agent" },
      { key: "task", label: "Task" },
      { key: "reason", label: "Why it has no place" },
    ];
    return h("section", null, h("h2", null, "Receipts without a place"), PB.table({ caption: "Receipts without a place", columns, rows: items }));
  }

  // ------------------------------------------------------------ rules

  function rules(sections) {
    const table = (section) =>
      h(
        "table",
        { class: "rules" },
        section.head.some(Boolean) ? h("thead", null, h("tr", null, section.head.map((text) => h("th", { scope: "col" }, text)))) : null,
        h("tbody", null, section.rows.map((row) => h("tr", null, row.map((text) => h("td", null, text))))),
      );
    return h(
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
          section.rows.length ? table(section) : null,
        ),
      ),
    );
  }

  // ------------------------------------------------------------ term viewer

  const words = { [APP]: "application", [LAM]: "λ", [PI]: "∀", [LET]: "let", [SORT]: "sort", [CONST]: "constant", [LIT]: "literal", [PROJ]: "projection", [BVAR]: "variable" };
  const roles = { [APP]: ["function", "argument"], [LAM]: ["type", "body"], [PI]: ["type", "body"], [LET]: ["type", "value", "body"], [PROJ]: ["of"] };

  function viewer(content) {
    const { kind, label, count: nodes, children } = content.nodes;

    function headOf(node) {
      while (kind[node] === APP) node = children[node][0];
      return node;
    }

    // What a node is called, below binders with these names.
    function title(node, names) {
      if (kind[node] === BVAR) return names[names.length - 1 - Number(label[node])] ?? `variable ${label[node]}`;
      if (kind[node] === APP) {
        const head = headOf(node);
        return `${title(head, kind[head] === BVAR ? names : [])} …`;
      }
      if (kind[node] === LAM || kind[node] === PI || kind[node] === LET) return `${words[kind[node]]} ${label[node]}`;
      return label[node];
    }

    function own(node) {
      const below = children[node].reduce((sum, child) => sum + BigInt(nodes[child]), 0n);
      return BigInt(nodes[node]) - below;
    }

    function line(node, role, names, whole) {
      const bar = h("span", { class: "meter", "aria-hidden": "true" }, h("span", { style: { width: `${100 * share(nodes[node], whole)}%` } }));
      return [
        h("span", { class: "nodes", title: `${count(nodes[node])} nodes, ${own(node)} of its own` }, count(nodes[node])),
        bar,
        role ? h("span", { class: "role" }, role) : null,
        h("code", null, title(node, names)),
        [LAM, PI, LET].includes(kind[node]) ? null : h("span", { class: "kind" }, words[kind[node]]),
      ];
    }

    // One node; its children are made when it is opened, so that a large term costs nothing before.
    function branch(node, role, names, whole) {
      if (!children[node].length) return h("li", { class: "leaf" }, line(node, role, names, whole));
      const list = h("ul");
      const details = h("details", null, h("summary", null, line(node, role, names, whole)), list);
      details.addEventListener(
        "toggle",
        () => {
          const last = children[node].length - 1;
          const binds = kind[node] === LAM || kind[node] === PI || kind[node] === LET;
          list.append(
            ...children[node].map((child, at) => branch(child, roles[kind[node]][at], binds && at === last ? [...names, label[node]] : names, whole)),
          );
        },
        { once: true },
      );
      return h("li", null, details);
    }

    const item = (entry) =>
      h(
        "details",
        { class: "item" },
        h(
          "summary",
          null,
          h("span", { class: "nodes" }, count(entry.nodes)),
          h("span", { class: "meter", "aria-hidden": "true" }, h("span", { style: { width: `${100 * share(entry.nodes, content.count)}%` } })),
          h("code", null, entry.name),
          h("span", { class: "kind" }, `${entry.kind}, ${PB.percent(share(entry.nodes, content.count))}`),
        ),
        entry.parts.map((part) =>
          h(
            "div",
            { class: "part" },
            h("p", null, `${part.label}: ${count(part.nodes)} nodes`, part.root === null ? " (too large for this page)" : ""),
            part.root === null ? null : h("ul", { class: "tree" }, branch(part.root, "", [], part.nodes)),
          ),
        ),
      );
    return content.items.map(item);
  }

  function views() {
    const place = h("div");
    const choose = async (at) => {
      const view = model.views[at];
      place.replaceChildren(h("p", { role: "status" }, "Unpacking …"));
      const content = await PB.chunk(at);
      const saved = view.original - Number(view.count);
      const compared = saved === 0 ? "as many as the original" : `${count(Math.abs(saved))} ${saved > 0 ? "fewer" : "more"} than the original’s ${count(view.original)}`;
      place.replaceChildren(h("p", null, `${count(view.count)} nodes, ${compared}.`), ...viewer(content));
    };
    const select = h(
      "select",
      { id: "view", onchange: (event) => choose(Number(event.target.value)) },
      model.views.map((view, at) => h("option", { value: at }, view.title)),
    );
    choose(0);
    return h(
      "section",
      null,
      h("h2", null, "Where the nodes go"),
      h("p", null, "Open a declaration, then its terms, node by node. Each number is what the node costs with all that is below it."),
      h("p", null, h("label", { for: "view" }, "Proofs: "), select),
      place,
    );
  }

  PB.bar({ links: [] });
  main.replaceChildren(...[...model.rankings.map(ranking), model.apart.length ? apart(model.apart) : null, model.views.length ? views() : null, rules(model.rules)].filter(Boolean));
})();
