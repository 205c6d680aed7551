"use strict";
/* The page of retrievalbench. Places in it have addresses:
     #/            the leaderboard                     #/compare        curves and paired differences
     #/queries     every query, where each system      #/query/NUMBER   one query, with what each system listed
                   put the answer
     #/breakdowns  figures by style, kind, difficulty  #/methodology    what is held constant, formulas, prior work
     #/changelog   the runs by date */
(async () => {
  const { h, percent, number, table, chart } = PB;
  const main = document.querySelector("main");
  const model = await PB.model();
  const { runs, boards, published, queries, licences, methodology, changelog } = model;
  const QUERIES_A_CHUNK = model.queries_per_chunk;
  const svg = (name, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  };
  const three = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));
  const badge = ({ label, why }) => h("span", { class: "badge", title: why, tabindex: 0 }, label);

  // What every view shows first: nobody can look at a figure without it.
  const banners = () => model.banners.map((text) => h("p", { class: "banner", role: "note" }, text));

  // Licences that ask for a notice have one on every view.
  const standing = () => (licences.length ? h("footer", { class: "licences" }, licences.map((text) => h("p", null, text))) : null);

  // ------------------------------------------------------------ leaderboard

  /* R@k for k = 1..200 as a small line; where a service has no value the line ends. */
  function sparkline(values) {
    if (!values) return null;
    const known = values.filter((value) => value !== null);
    const line = svg("svg", { class: "spark", viewBox: "0 0 100 24", width: 84, height: 20, role: "img" });
    line.setAttribute("aria-label", `R at 1 to ${known.length}: ${three(known[0])} to ${three(known.at(-1))}`);
    const points = known.map((value, at) => `${((100 * at) / (values.length - 1)).toFixed(1)},${(22 - 20 * value).toFixed(1)}`);
    line.append(svg("polyline", { points: points.join(" "), fill: "none", stroke: "currentColor", "stroke-width": 1.5 }));
    return line;
  }

  /* The value and, smaller, its two intervals: over queries as published, and over declarations. */
  function withIntervals(row, metric) {
    const value = row.metrics?.[metric];
    if (value === null || value === undefined) return "–";
    const of = row.intervals?.[metric];
    const shown = (interval) => (interval?.low === null || !interval ? "–" : `${three(interval.low)} to ${three(interval.high)}`);
    if (!of) return three(value);
    return [
      h("span", null, three(value)),
      h("span", { class: "interval", title: `95 %, ${of.query.method}, n = ${of.query.n}` }, shown(of.query)),
      h("span", { class: "interval", title: `95 %, ${of.cluster.method}, n = ${of.cluster.n}` }, shown(of.cluster)),
    ];
  }

  const KINDS = {
    engine: { label: "published engine", why: "a service of others, asked politely; it searches a corpus of its own" },
    "run file": { label: "run file", why: "lists made elsewhere" },
  };
  const seconds = (value) => (value === null || value === undefined ? "–" : `${value.toFixed(value < 10 ? 2 : 0)} s`);

  function systemCell(row) {
    return [
      h("span", { class: "system" }, row.label),
      h("span", { class: "badges" }, KINDS[row.kind] ? badge(KINDS[row.kind]) : null, row.complete ? null : badge({ label: "incomplete", why: "some queries are unanswered" }), row.badges.map(badge)),
    ];
  }

  function boardTable(board) {
    const metric = (key, title) => ({
      key, label: key, title, numeric: true, show: (row) => withIntervals(row, key), value: (row) => row.metrics?.[key] ?? null,
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
        { key: "spark", label: "R@k", title: "R@k for k = 1 to 200", show: (row) => sparkline(row.sparkline) ?? "–", value: (row) => row.metrics?.["R@10"] ?? null },
        metric("MRR", "mean of 1 / rank of the first gold unit"),
        metric("MAP", "mean average precision, divided by the number of gold units"),
        { key: "latency_p95_s", label: "p95", title: "95 % of the answers came within; where a service was asked now", numeric: true, show: (row) => seconds(row.latency_p95_s) },
        { key: "n", label: "n", title: "queries that count", numeric: true, show: (row) => number(row.n) },
        { key: "dropped", label: "Dropped", title: "queries without gold in the corpus: counted here, never scored 0", numeric: true, show: (row) => number(row.dropped) },
        { key: "coverage", label: "Coverage", title: "share of the queries whose gold the searched corpus has", numeric: true, show: (row) => (row.coverage === null ? "unknown" : percent(row.coverage)), value: (row) => row.coverage },
      ],
    });
  }

  const COVERED = {
    "Covered@10": "every premise group, original or alternative, within the first ten",
    "CoveredRoute@10": "all original groups, or all alternative ones, within the first ten: the release's and the paper's Covered",
    "CoveredOriginal@10": "all original groups within the first ten: the paper's appendix",
  };
  const coveredOf = (board) => (board.precision.offered ? Object.keys(COVERED).filter((key) => board.rows.some((row) => (row.metrics?.[key] ?? null) !== null)) : []);

  /* What every row of a board has in common, and what of some rows is not known. */
  function heldBy(board) {
    return h(
      "details",
      { class: "held" },
      h("summary", null, "The same for every row"),
      h("ul", null, board.held.map((line) => h("li", null, line))),
      board.loose.length ? h("ul", { class: "loose" }, board.loose.map((line) => h("li", null, line))) : null,
    );
  }

  function publishedTable() {
    return h(
      "section",
      { class: "published" },
      h("h2", null, "Published figures"),
      h("p", { class: "says" }, "Not run here. A paper's figures and a hosted service's differ, so each is a row of its own; none of them is ranked with the rows above."),
      table({
        caption: "Published figures",
        rows: published,
        sort: { key: "system", descending: false },
        columns: [
          { key: "system", label: "System" },
          { key: "source", label: "Source", show: (row) => h("span", { title: row.reference }, `${row.source}: ${row.reference}`) },
          { key: "task", label: "Task" },
          { key: "corpus", label: "Corpus" },
          ...["nDCG@10", "R@10", "MRR", "Covered@10", "CoveredRoute@10", "CoveredOriginal@10"].filter((key) => published.some((row) => key in row.metrics)).map((key) => ({ key, label: key, numeric: true, show: (row) => three(row.metrics[key]), value: (row) => row.metrics[key] ?? null })),
          { key: "n", label: "n", numeric: true, show: (row) => number(row.n) },
        ],
      }),
    );
  }

  function identityOf(run) {
    const facts = [
      ["Run", run.run_id.slice(0, 16)],
      ["Corpus", run.corpus],
      ["Benchmark", `${run.benchmark.file}, SHA-256 ${run.benchmark.sha256.slice(0, 12)}`],
      ["Gold units", `${number(run.summary.gold_units)}; ${number(run.summary.units_left_out)} more have no member in the corpus and are left out`],
      ["Document text", run.renderer],
      ["Overlapping", run.summary.overlapping.length ? `${run.summary.overlapping.length} queries list one document in two units; P, AP and nDCG are capped at 1` : "none"],
    ];
    return h(
      "details",
      null,
      h("summary", null, run.label),
      h("dl", null, facts.map(([term, fact]) => [h("dt", null, term), h("dd", null, fact)])),
      PB.raw(JSON.stringify(run.identity, null, 1)),
    );
  }

  function leaderboard() {
    return [
      h("h2", null, "Leaderboard"),
      h("p", { class: "says" }, "Only rows of one board may be compared: each says what its rows have in common. Beneath each value stand two 95 % intervals: over queries, as published, and over declarations."),
      boards.map((board) => h("section", { class: "board-section" }, board.note ? h("p", { class: "says" }, board.note) : null, boardTable(board), heldBy(board))),
      published.length ? publishedTable() : null,
      h("section", null, h("h2", null, "What was run"), runs.map(identityOf)),
    ];
  }

  // ------------------------------------------------------------ compare

  const CURVES = {
    R: ["R@k", "share of the gold units within the first k"],
    nDCG: ["nDCG@k", "normalised discounted gain of the first k"],
    Covered: ["Covered@k", "share of queries with every gold unit within the first k"],
    CoveredRoute: ["CoveredRoute@k", "share of queries with all original groups, or all alternative ones, within the first k"],
    CoveredOriginal: ["CoveredOriginal@k", "share of queries with all original groups within the first k"],
    P: ["P@k", "gold units within the first k, divided by k"],
  };
  const chosen = { board: 0, curve: "R", unit: "query", upTo: 50, off: new Set() };

  function choice(name, options, value, onpick, legend) {
    return h(
      "fieldset",
      { class: "choice" },
      h("legend", null, legend),
      options.map(([key, label, why]) =>
        h(
          "label",
          { class: why ? "disabled" : null },
          h("input", { type: "radio", name, checked: key === value, disabled: Boolean(why), onchange: () => onpick(key) }),
          ` ${label}`,
          why ? h("span", { class: "why" }, ` ${why}`) : null,
        ),
      ),
    );
  }

  function compare() {
    const drawn = boards.filter((board) => board.rows.some((row) => row.curves));
    if (!drawn.length) return [h("h2", null, "Compare"), h("p", null, "No run is complete yet.")];
    const body = h("div");
    const fill = () => body.replaceChildren(...ofBoard(drawn, fill));
    fill();
    return [h("h2", null, "Compare"), body];
  }

  /* The controls stay as they are while one of them is used; only what they show is drawn anew. */
  function ofBoard(drawn, onboard) {
    const board = drawn[chosen.board] ?? drawn[0];
    const rows = board.rows.filter((row) => row.curves);
    const series = new Map(rows.map((row, at) => [row.label, at]));
    const offered = Object.entries(CURVES).filter(([key]) => rows.some((row) => row.curves[key]));
    if ((chosen.curve === "P" && !board.precision.offered) || !offered.some(([key]) => key === chosen.curve)) chosen.curve = "R";
    const place = h("div");
    const update = () => {
      const shown = rows.filter((row) => !chosen.off.has(row.label));
      // With a single gold unit the best precision is the same at every level, and the chart a flat line.
      const levels = board.precision.offered ? [pr11Chart(shown, series)] : [];
      place.replaceChildren(curveChart(board, shown, series, chosen.curve), ...levels, differences(board, shown));
    };
    const pick = (key, then = update) => (value) => {
      chosen[key] = value;
      then();
    };
    update();
    const controls = h(
      "div",
      { class: "controls" },
      drawn.length > 1
        ? h("label", null, "Board ", h("select", { onchange: (event) => pick("board", onboard)(Number(event.target.value)) }, drawn.map((one, at) => h("option", { value: at, selected: at === chosen.board }, one.title))))
        : h("p", { class: "says" }, board.title),
      choice("curve", offered.map(([key, [label]]) => [key, label, key === "P" && !board.precision.offered ? `not offered: ${board.precision.why}` : ""]), chosen.curve, pick("curve"), "Metric"),
      choice("unit", [["query", "over queries, as published"], ["cluster", "over declarations"]], chosen.unit, pick("unit"), "95 % interval"),
      choice("upTo", [[10, "10"], [50, "50"], [200, "200"]], chosen.upTo, pick("upTo"), "k up to"),
      h(
        "fieldset",
        { class: "choice" },
        h("legend", null, "Systems"),
        rows.map((row) =>
          h(
            "label",
            null,
            h("input", {
              type: "checkbox",
              checked: !chosen.off.has(row.label),
              onchange: (event) => {
                if (event.target.checked) chosen.off.delete(row.label);
                else chosen.off.add(row.label);
                update();
              },
            }),
            PB.swatch({ series: series.get(row.label), dashed: row.kind === "engine" }),
            ` ${called(row)}`,
          ),
        ),
      ),
    );
    return [controls, place];
  }

  // A published engine is dashed, and named with the corpus that it searches.
  const called = (row) => (row.kind === "engine" ? `${row.label}: published engine, ${row.corpus}` : row.kind === "run file" ? `${row.label}: run file` : row.label);

  const plot = (width, options) =>
    Plot.plot({ className: "plot", width, height: Math.min(380, Math.max(260, width * 0.52)), marginLeft: 52, marginRight: 24, marginBottom: 40, style: { background: "transparent" }, ...options });

  function curveChart(board, shown, series, curve) {
    const [label, says] = CURVES[curve];
    const points = shown.flatMap((row) => {
      const band = row.bands[curve][chosen.unit];
      return row.curves[curve]
        .map((value, at) => ({ system: row.label, engine: row.kind === "engine", series: series.get(row.label), k: at + 1, value, low: band.low[at], high: band.high[at] }))
        .filter((point) => point.value !== null && point.k <= chosen.upTo);
    });
    const outside = board.published
      .filter((row) => row.drawn)
      .flatMap((row) =>
        Object.entries(row.metrics)
          .filter(([name]) => name.startsWith(`${curve}@`))
          .map(([name, value]) => ({ system: row.label, reference: row.reference, k: Number(name.slice(curve.length + 1)), value }))
          .filter((point) => point.k <= chosen.upTo),
      )
      .sort((one, other) => one.k - other.k);
    const besides = board.published.filter((row) => !row.drawn && Object.keys(row.metrics).some((name) => name.startsWith(`${curve}@`)));
    const marked = points.filter((point) => point.k === 1 || point.k % Math.max(5, chosen.upTo / 10) === 0);
    const tip = (row) => `${row.system}\n${label.replace("k", row.k)}: ${percent(row.value)}${row.low === undefined || row.low === null ? "" : `\n${percent(row.low)} to ${percent(row.high)}`}`;
    return chart({
      title: label,
      says: `${says[0].toUpperCase()}${says.slice(1)}, averaged over queries; the bands are 95 % intervals over ${chosen.unit === "query" ? "queries" : "declarations"}.${shown.some((row) => row.kind === "engine") ? " Dashed: published engines, each on its own corpus." : ""}${outside.length ? ` Diamonds: published figures, not run here: ${[...new Set(outside.map((row) => `${row.system}, ${row.reference}`))].join("; ")}.` : ""}${besides.length ? ` ${besides.length} published rows are not drawn: ${besides[0].label}: ${besides[0].why}${besides.length > 1 ? ", and so on" : ""}.` : ""} A line that ends early belongs to a service that returns no more.`,
      legend: shown.map((row) => ({ label: called(row), series: series.get(row.label), dashed: row.kind === "engine" })),
      rows: [...points.map(({ system, k, value, low, high }) => ({ system, metric: `${curve}@${k}`, value, low, high })), ...outside.map(({ system, k, value }) => ({ system, metric: `${curve}@${k}`, value }))],
      draw: (width) =>
        plot(width, {
          x: { label: "k", domain: [1, chosen.upTo] },
          y: { label: "%", percent: true, domain: [0, 100], grid: true },
          marks: [
            Plot.areaY(points.filter((row) => row.low !== null), { x: "k", y1: "low", y2: "high", z: "system", fill: (row) => PB.colour(row.series), fillOpacity: 0.14 }),
            Plot.line(points.filter((row) => !row.engine), { x: "k", y: "value", z: "system", stroke: (row) => PB.colour(row.series), strokeWidth: 2 }),
            Plot.line(points.filter((row) => row.engine), { x: "k", y: "value", z: "system", stroke: (row) => PB.colour(row.series), strokeWidth: 2, strokeDasharray: "7 4" }),
            Plot.dot(marked, { x: "k", y: "value", fill: (row) => PB.colour(row.series), symbol: (row) => PB.symbol(row.series), r: 3.5 }),
            Plot.line(outside, { x: "k", y: "value", z: "system", stroke: "var(--soft)", strokeDasharray: "4 3" }),
            Plot.dot(outside, { x: "k", y: "value", stroke: "var(--soft)", symbol: "diamond", title: tip }),
            Plot.tip(points, Plot.pointer({ x: "k", y: "value", title: tip, fill: "var(--raised)" })),
          ],
        }),
    });
  }

  function pr11Chart(shown, series) {
    const points = shown.flatMap((row) => (row.pr11 ?? runs[row.run].pr11).map((value, at) => ({ system: row.label, series: series.get(row.label), recall: at / 10, value })));
    return chart({
      title: "Precision at recall levels",
      says: "Interpolated: the best precision at or beyond each recall; 0 where a level is not reached within the list.",
      legend: shown.map((row) => ({ label: row.label, series: series.get(row.label) })),
      rows: points.map(({ system, recall, value }) => ({ system, recall, value })),
      draw: (width) =>
        plot(width, {
          x: { label: "recall, %", percent: true, domain: [0, 100] },
          y: { label: "precision, %", percent: true, domain: [0, 100], grid: true },
          marks: [
            Plot.line(points, { x: "recall", y: "value", z: "system", stroke: (row) => PB.colour(row.series), strokeWidth: 2 }),
            Plot.dot(points, { x: "recall", y: "value", fill: (row) => PB.colour(row.series), symbol: (row) => PB.symbol(row.series), r: 4, title: (row) => `${row.system}\nrecall ${percent(row.recall, 0)}: ${percent(row.value)}` }),
          ],
        }),
    });
  }

  function differences(board, shown) {
    const names = new Set(shown.map((row) => row.label));
    const pairs = board.pairs.filter((pair) => names.has(pair.first) && names.has(pair.second));
    if (!pairs.length) return h("p", { class: "says" }, "Two systems are needed for a difference.");
    const points = (value) => (value === null ? "–" : `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)}`.replace(/^[+-]0\.0$/, "0.0"));
    return h(
      "section",
      null,
      h("h3", null, "Paired differences"),
      h("p", { class: "says" }, "First minus second on the same queries, in percentage points; whole declarations are resampled and exchanged. p is adjusted over the pairs of a metric (Holm)."),
      table({
        caption: "Paired differences",
        rows: pairs,
        columns: [
          { key: "metric", label: "Metric" },
          { key: "first", label: "First" },
          { key: "second", label: "Second" },
          { key: "difference", label: "Difference", numeric: true, show: (row) => points(row.difference) },
          { key: "interval", label: "95 % interval", numeric: true, show: (row) => (row.interval.low === null ? "–" : `${points(row.interval.low)} to ${points(row.interval.high)}`), value: (row) => row.interval.low },
          { key: "p_holm", label: "p", numeric: true, show: (row) => (row.p_holm < 0.001 ? "< 0.001" : row.p_holm.toFixed(3)) },
          { key: "verdict", label: "Verdict" },
        ],
      }),
    );
  }

  // ------------------------------------------------------------ queries

  const list = { text: "", label: "", only: "" };
  const found = (entry, run) => entry.runs[run];
  const best = (where) => (where?.positions ? Math.min(...where.positions.map((rank) => rank ?? Infinity)) : null);

  /* Where a run put the units of a query: each unit's rank, – for one that is not in the list. */
  function ranks(where) {
    if (!where) return h("span", { class: "rank none", title: "not a query of this run" }, "·");
    if (where.dropped) return h("span", { class: "rank none", title: "no gold in the corpus: dropped" }, "dropped");
    if (!where.positions) return h("span", { class: "rank none", title: "not answered yet" }, "open");
    const shown = [...where.positions].sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
    return h("span", { class: "ranks" }, shown.map((rank) => h("span", { class: `rank ${rank === null ? "missed" : rank === 1 ? "first" : rank <= 10 ? "near" : "far"}` }, rank ?? "–")));
  }

  const FILTERS = {
    "": ["All queries", () => true],
    differs: ["Systems differ within the first ten", (entry) => new Set(answered(entry).map((where) => best(where) <= 10)).size > 1],
    missed: ["Missed by every system within the first ten", (entry) => answered(entry).length > 0 && answered(entry).every((where) => best(where) > 10)],
    dropped: ["Dropped: no gold in the corpus", (entry) => Object.values(entry.runs).some((where) => where.dropped)],
    overlapping: ["One document in two units", (entry) => Object.values(entry.runs).some((where) => where.overlapping)],
  };
  const answered = (entry) => Object.values(entry.runs).filter((where) => where.positions);

  function queryList() {
    const labels = [...new Set(queries.flatMap((entry) => Object.entries(entry.labels).map(([key, value]) => `${key}: ${value}`)))].sort();
    const place = h("div");
    const fill = () => place.replaceChildren(queryTable(matching()));
    const set = (key) => (event) => {
      list[key] = event.target.value;
      fill();
    };
    fill();
    return [
      h("h2", null, "Queries"),
      h("p", { class: "says" }, "The rank at which each system put each gold unit; – is a unit that is not within the first 200."),
      h(
        "div",
        { class: "controls" },
        h("label", null, "Search ", h("input", { type: "search", value: list.text, oninput: set("text") })),
        h("label", null, "Show ", h("select", { onchange: set("only") }, Object.entries(FILTERS).map(([key, [label]]) => h("option", { value: key, selected: key === list.only }, label)))),
        labels.length ? h("label", null, "Kind ", h("select", { onchange: set("label") }, h("option", { value: "" }, "all"), labels.map((label) => h("option", { value: label, selected: label === list.label }, label)))) : null,
      ),
      place,
    ];
  }

  function matching() {
    const wanted = list.text.toLowerCase();
    return queries
      .map((entry, at) => ({ ...entry, at }))
      .filter((entry) => !wanted || `${entry.id} ${entry.text}`.toLowerCase().includes(wanted))
      .filter((entry) => !list.label || Object.entries(entry.labels).some(([key, value]) => `${key}: ${value}` === list.label))
      .filter(FILTERS[list.only][1]);
  }

  function queryTable(rows) {
    const one = new Set(queries.map((entry) => entry.task)).size === 1;
    return table({
      caption: `${number(rows.length)} of ${number(queries.length)} queries`,
      className: "queries",
      rows,
      columns: [
        { key: "text", label: "Query", show: (entry) => h("a", { href: `#/query/${entry.at}` }, PB.visible(entry.text.length > 140 ? `${entry.text.slice(0, 140)}…` : entry.text)) },
        { key: "id", label: "Id", show: (entry) => h("code", null, one ? entry.id : `${entry.task}/${entry.id}`) },
        ...runs.map((run, at) => ({ key: `run${at}`, label: run.label, numeric: true, show: (entry) => ranks(found(entry, at)), value: (entry) => best(found(entry, at)) })),
      ],
    });
  }

  async function oneQuery(at) {
    const entry = queries[at];
    if (!entry) return [h("p", null, "There is no such query.")];
    const details = (await PB.chunk(Math.floor(at / QUERIES_A_CHUNK)))[at % QUERIES_A_CHUNK];
    const step = (to, label) => (queries[to] ? h("a", { href: `#/query/${to}` }, label) : h("span", { class: "says" }, label));
    return [
      h("p", { class: "steps" }, step(at - 1, "← previous"), h("a", { href: "#/queries" }, "all queries"), step(at + 1, "next →")),
      h("h2", null, entry.id),
      PB.text(entry.text),
      h("p", { class: "says" }, Object.entries(entry.labels).map(([key, value]) => `${key}: ${value}`).join(" · ")),
      h("div", { class: "lists" }, runs.map((run, number_) => listOf(run, entry.runs[number_], details[number_]))),
    ];
  }

  // Mathlib's documentation finds a declaration by its full name, which is what follows the module of a row's id.
  function named(run, row, shown) {
    if (!run.mathlib) return shown;
    const name = row.replace(/::\d+$/, "").split("::").at(-1);
    return h("a", { href: `https://leanprover-community.github.io/mathlib4_docs/find/#doc/${encodeURIComponent(name)}`, rel: "noreferrer" }, shown);
  }

  function listOf(run, where, details) {
    if (!where) return null;
    const gold = new Map(details.units.flatMap((unit, at) => unit.map((row) => [row, at])));
    const units = details.units.map((unit, at) => h("li", null, h("span", { class: "unit" }, `unit ${at + 1}`), ` at ${where.positions?.[at] ?? "–"}: `, h("span", { class: "members" }, unit.map((row, place) => [place ? " or " : "", named(run, row, row)]))));
    return h(
      "section",
      { class: "list" },
      h("h3", null, run.label),
      where.dropped ? h("p", { class: "says" }, "No gold in the corpus: dropped and counted, never scored 0.") : null,
      h("ul", { class: "units" }, units),
      details.units_left_out ? h("p", { class: "says" }, `${details.units_left_out} more without a member in the corpus`) : null,
      where.overlapping ? h("p", { class: "says" }, "One document stands in two units: P, AP and nDCG are capped at 1.") : null,
      h(
        "ol",
        { class: "top" },
        details.top.map((row) => h("li", { class: gold.has(row) ? "gold" : null }, named(run, row, h("code", null, PB.visible(row))), gold.has(row) ? h("span", { class: "unit" }, `unit ${gold.get(row) + 1}`) : null)),
      ),
      where.n_retrieved === null ? null : h("p", { class: "says" }, `${number(where.n_retrieved)} returned`),
    );
  }

  // ------------------------------------------------------------ breakdowns, methodology, changelog

  /* Each label's values as rows, the runs as columns; n is of the run beside it. */
  function breakdowns() {
    const groups = new Map();
    runs.forEach((run, at) => {
      for (const [label, values] of Object.entries(run.summary.groups ?? {}))
        for (const [value, figures] of Object.entries(values)) {
          const key = `${run.task}\u0000${label}`;
          if (!groups.has(key)) groups.set(key, new Map());
          const rows = groups.get(key);
          if (!rows.has(value)) rows.set(value, { value: value || "(none)", runs: {} });
          rows.get(value).runs[at] = figures;
        }
    });
    if (!groups.size) return [h("h2", null, "Breakdowns"), h("p", null, "No query of these runs has labels, or no run is complete.")];
    const metrics = ["nDCG@10", "R@10", "MRR"];
    const place = h("div");
    const fill = (metric) =>
      place.replaceChildren(
        ...[...groups].map(([key, rows]) =>
          table({
            caption: `${metric} by ${key.split("\u0000")[1]} (${key.split("\u0000")[0]})`,
            rows: [...rows.values()],
            columns: [
              { key: "value", label: key.split("\u0000")[1] },
              ...runs.map((run, at) => ({
                key: `run${at}`,
                label: run.label,
                numeric: true,
                value: (row) => row.runs[at]?.[metric] ?? null,
                show: (row) => (row.runs[at] ? [h("span", null, three(row.runs[at][metric])), h("span", { class: "interval" }, `n ${number(row.runs[at].n)}`)] : "–"),
              })),
            ],
          }),
        ),
      );
    fill(metrics[0]);
    return [
      h("h2", null, "Breakdowns"),
      h("p", { class: "says" }, "Macro averages over the queries of each label. Columns are whole runs: only those of one board are comparable."),
      h("label", null, "Metric ", h("select", { onchange: (event) => fill(event.target.value) }, metrics.map((metric) => h("option", { value: metric }, metric)))),
      place,
    ];
  }

  function methodologyView() {
    const facts = (rows) => rows.map((row) => h("dl", null, Object.entries(row).map(([term, fact]) => [h("dt", null, term), h("dd", null, fact)])));
    return [
      h("h2", null, "Methodology"),
      h("p", { class: "says" }, "Written from the manifests of the runs that are shown."),
      methodology.held.filter((part) => part.rows.length).map((part) => h("section", null, h("h3", null, part.title), facts(part.rows))),
      h("section", null, h("h3", null, "Metrics"), h("dl", null, methodology.formulas.map((row) => [h("dt", null, row.name), h("dd", null, row.says)]))),
      h("section", null, h("h3", null, "What limits comparison"), h("ul", null, methodology.caveats.map((line) => h("li", null, line)))),
      h("section", null, h("h3", null, "Prior work"), h("ul", null, methodology.prior_work.map((work) => h("li", null, `${work.title}, `, h("a", { href: `https://arxiv.org/abs/${work.arxiv}`, rel: "noreferrer" }, `arXiv:${work.arxiv}`))))),
    ];
  }

  function changelogView() {
    return [
      h("h2", null, "Changelog"),
      h("p", { class: "says" }, "A run has a new id when its queries, corpus, document text, system or settings change."),
      table({
        caption: "Runs, newest first",
        rows: changelog,
        columns: [
          { key: "at", label: "Last answer", show: (row) => row.at || "unknown" },
          { key: "label", label: "System" },
          { key: "run_id", label: "Run", show: (row) => h("code", null, row.run_id.slice(0, 16)) },
          { key: "task", label: "Task" },
          { key: "corpus", label: "Corpus" },
          { key: "version", label: "Version" },
        ],
      }),
    ];
  }

  // ------------------------------------------------------------ places

  const help = h(
    "div",
    null,
    h("h2", null, "Reading this page"),
    h("p", null, "A gold unit is a set of documents of which any one will do; it is found at the rank of its earliest member. R@k is the share of units found within the first k, nDCG@k weighs early ranks, MRR is the mean of 1 / rank of the first unit, Covered@k asks for all of them."),
    h("p", null, "Every number is derived from saved positions: retrievalbench score rebuilds it without searching. docs/retrieval-metrics.md defines each."),
  );
  PB.bar({ links: [{ href: "#/", label: "Leaderboard" }, { href: "#/compare", label: "Compare" }, { href: "#/queries", label: "Queries" }, { href: "#/breakdowns", label: "Breakdowns" }, { href: "#/methodology", label: "Methodology" }, { href: "#/changelog", label: "Changelog" }], help });

  const VIEWS = { compare, queries: queryList, breakdowns, methodology: methodologyView, changelog: changelogView };

  async function show() {
    const [, view, which] = location.hash.split("/");
    const content = view === "query" ? await oneQuery(Number(which)) : (VIEWS[view] ?? leaderboard)();
    main.replaceChildren(h("div", { class: "view" }, banners(), content, standing()));
    for (const link of document.querySelectorAll("header.bar nav a")) {
      const here = link.getAttribute("href") === `#/${view === "query" ? "queries" : (view ?? "")}`;
      if (here) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    window.scrollTo(0, 0);
  }
  window.addEventListener("hashchange", show);
  await show();
  document.documentElement.dataset.ready = "true";
})();
