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

  // retrieval/pieces.ts
  var three = (value) => value === null || value === void 0 ? "–" : value.toFixed(3);
  var badge = ({ label, why }) => h("span", { class: "badge", title: why, tabindex: 0 }, label);
  var says = (text2) => h("p", { class: "says" }, text2);
  var valueOf = (event) => event.target.value;
  var svg = (name, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
    return node;
  };
  function sparkline(values) {
    if (!values) return null;
    const known = values.filter((value) => value !== null);
    const line = svg("svg", { class: "spark", viewBox: "0 0 100 24", width: 84, height: 20, role: "img" });
    line.setAttribute("aria-label", `R at 1 to ${known.length}: ${three(known[0])} to ${three(known.at(-1))}`);
    const points2 = known.map(
      (value, at) => `${(100 * at / (values.length - 1)).toFixed(1)},${(22 - 20 * value).toFixed(1)}`
    );
    line.append(svg("polyline", { points: points2.join(" "), fill: "none", stroke: "currentColor", "stroke-width": 1.5 }));
    return line;
  }

  // retrieval/breakdowns.ts
  var METRICS = ["nDCG@10", "R@10", "MRR"];
  function breakdowns({ runs }) {
    const groups = groupsOf(runs);
    if (!groups.length)
      return [h("h2", null, "Breakdowns"), h("p", null, "No query of these runs has labels, or no run is complete.")];
    const place = h("div");
    const fill = (metric) => place.replaceChildren(...groups.map((group) => groupTable(group, runs, metric)));
    fill(METRICS[0]);
    const select = h(
      "select",
      { onchange: (event) => fill(valueOf(event)) },
      METRICS.map((metric) => h("option", { value: metric }, metric))
    );
    return [
      h("h2", null, "Breakdowns"),
      says(
        "Macro averages over the queries of each label. Columns are whole runs: only those of one board are comparable."
      ),
      h("label", null, "Metric ", select),
      place
    ];
  }
  function groupsOf(runs) {
    const groups = /* @__PURE__ */ new Map();
    runs.forEach((run, at) => {
      for (const [label, values] of Object.entries(run.summary.groups ?? {}))
        for (const [value, figures] of Object.entries(values)) {
          const key = `${run.task}\0${label}`;
          const group = groups.get(key) ?? { task: run.task, label, rows: /* @__PURE__ */ new Map() };
          groups.set(key, group);
          const row = group.rows.get(value) ?? { value: value || "(none)", runs: {} };
          group.rows.set(value, row);
          row.runs[at] = figures;
        }
    });
    return [...groups.values()];
  }
  function groupTable({ task, label, rows }, runs, metric) {
    return table({
      caption: `${metric} by ${label} (${task})`,
      rows: [...rows.values()],
      columns: [
        { key: "value", label },
        ...runs.map((run, at) => ({
          key: `run${at}`,
          label: run.label,
          numeric: true,
          value: (row) => row.runs[at]?.[metric] ?? null,
          show: ({ runs: { [at]: figures } }) => figures ? [h("span", null, three(figures[metric])), h("span", { class: "interval" }, `n ${number(figures.n)}`)] : "–"
        }))
      ]
    });
  }

  // retrieval/curves.ts
  var CURVES = {
    R: ["R@k", "share of the gold units within the first k"],
    nDCG: ["nDCG@k", "normalised discounted gain of the first k"],
    Covered: ["Covered@k", "share of queries with every gold unit within the first k"],
    CoveredRoute: [
      "CoveredRoute@k",
      "share of queries with all original groups, or all alternative ones, within the first k"
    ],
    CoveredOriginal: ["CoveredOriginal@k", "share of queries with all original groups within the first k"],
    P: ["P@k", "gold units within the first k, divided by k"]
  };
  function called(row) {
    if (row.kind === "engine") return `${row.label}: published engine, ${row.corpus}`;
    return row.kind === "run file" ? `${row.label}: run file` : row.label;
  }
  var plot = (width, options) => Plot.plot({
    className: "plot",
    width,
    height: Math.min(380, Math.max(260, width * 0.52)),
    marginLeft: 52,
    marginRight: 24,
    marginBottom: 40,
    style: { background: "transparent" },
    ...options
  });
  function curveChart(board, shown, chosen3) {
    const { curve, unit, upTo } = chosen3;
    const [label, meaning] = CURVES[curve];
    const points2 = pointsOf(shown, curve, unit, upTo);
    const outside = outsideOf(board, curve, upTo);
    const marked = points2.filter((point) => point.k === 1 || point.k % Math.max(5, upTo / 10) === 0);
    const tip = (row) => {
      const ends = "low" in row && row.low !== null ? `
${percent(row.low)} to ${percent(row.high)}` : "";
      return `${row.system}
${label.replace("k", String(row.k))}: ${percent(row.value)}${ends}`;
    };
    const stroke = (row) => colour(row.series);
    const line = { x: "k", y: "value", z: "system", stroke, strokeWidth: 2 };
    return chart({
      title: label,
      says: saysOf(board, shown, meaning, outside, chosen3),
      legend: shown.rows.map((row) => ({
        label: called(row),
        series: shown.series.get(row.label),
        dashed: row.kind === "engine"
      })),
      rows: [
        ...points2.map(({ system, k, value, low, high }) => ({ system, metric: `${curve}@${k}`, value, low, high })),
        ...outside.map(({ system, k, value }) => ({ system, metric: `${curve}@${k}`, value }))
      ],
      draw: (width) => plot(width, {
        x: { label: "k", domain: [1, upTo] },
        y: { label: "%", percent: true, domain: [0, 100], grid: true },
        marks: [
          Plot.areaY(
            points2.filter((row) => row.low !== null),
            { x: "k", y1: "low", y2: "high", z: "system", fill: stroke, fillOpacity: 0.14 }
          ),
          Plot.line(
            points2.filter((row) => !row.engine),
            line
          ),
          Plot.line(
            points2.filter((row) => row.engine),
            { ...line, strokeDasharray: "7 4" }
          ),
          Plot.dot(marked, {
            x: "k",
            y: "value",
            fill: stroke,
            symbol: (row) => symbol(row.series),
            r: 3.5
          }),
          Plot.line(outside, { x: "k", y: "value", z: "system", stroke: "var(--soft)", strokeDasharray: "4 3" }),
          Plot.dot(outside, { x: "k", y: "value", stroke: "var(--soft)", symbol: "diamond", title: tip }),
          Plot.tip(points2, Plot.pointer({ x: "k", y: "value", title: tip, fill: "var(--raised)" }))
        ]
      })
    });
  }
  function pointsOf({ rows, series }, curve, unit, upTo) {
    return rows.flatMap((row) => {
      const band = row.bands[curve][unit];
      return row.curves[curve].flatMap(
        (value, at) => value === null || at >= upTo ? [] : [
          {
            system: row.label,
            engine: row.kind === "engine",
            series: series.get(row.label),
            k: at + 1,
            value,
            low: band.low[at] ?? null,
            high: band.high[at] ?? null
          }
        ]
      );
    });
  }
  var outsideOf = (board, curve, upTo) => board.published.filter((row) => row.drawn).flatMap(
    (row) => Object.entries(row.metrics).filter(([name]) => name.startsWith(`${curve}@`)).map(([name, value]) => ({
      system: row.label,
      reference: row.reference,
      k: Number(name.slice(curve.length + 1)),
      value
    })).filter((point) => point.k <= upTo)
  ).sort((one, other) => one.k - other.k);
  function saysOf(board, shown, meaning, outside, { curve, unit }) {
    const besides = board.published.filter(
      (row) => !row.drawn && Object.keys(row.metrics).some((name) => name.startsWith(`${curve}@`))
    );
    const sources = [...new Set(outside.map((row) => `${row.system}, ${row.reference}`))];
    const first = besides[0];
    return [
      `${meaning[0].toUpperCase()}${meaning.slice(1)}, averaged over queries; the bands are 95 % intervals over ${unit === "query" ? "queries" : "declarations"}.`,
      shown.rows.some((row) => row.kind === "engine") ? "Dashed: published engines, each on its own corpus." : "",
      sources.length ? `Diamonds: published figures, not run here: ${sources.join("; ")}.` : "",
      first ? `${besides.length} published rows are not drawn: ${first.label}: ${first.why}${besides.length > 1 ? ", and so on" : ""}.` : "",
      "A line that ends early belongs to a service that returns no more."
    ].filter(Boolean).join(" ");
  }
  function precisionChart(runs, { rows, series }) {
    const points2 = rows.flatMap(
      (row) => (row.pr11 ?? runs[row.run].pr11).map((value, at) => ({
        system: row.label,
        series: series.get(row.label),
        recall: at / 10,
        value
      }))
    );
    const stroke = (row) => colour(row.series);
    return chart({
      title: "Precision at recall levels",
      says: "Interpolated: the best precision at or beyond each recall; 0 where a level is not reached within the list.",
      legend: rows.map((row) => ({ label: row.label, series: series.get(row.label) })),
      rows: points2.map(({ system, recall, value }) => ({ system, recall, value })),
      draw: (width) => plot(width, {
        x: { label: "recall, %", percent: true, domain: [0, 100] },
        y: { label: "precision, %", percent: true, domain: [0, 100], grid: true },
        marks: [
          Plot.line(points2, { x: "recall", y: "value", z: "system", stroke, strokeWidth: 2 }),
          Plot.dot(points2, {
            x: "recall",
            y: "value",
            fill: stroke,
            symbol: (row) => symbol(row.series),
            r: 4,
            title: (row) => `${row.system}
recall ${percent(row.recall, 0)}: ${percent(row.value)}`
          })
        ]
      })
    });
  }

  // retrieval/compare.ts
  var chosen = { board: 0, curve: "R", unit: "query", upTo: 50, off: /* @__PURE__ */ new Set() };
  function compare({ boards, runs }) {
    const drawn = boards.filter((board) => board.rows.some((row) => row.curves));
    if (!drawn.length) return [h("h2", null, "Compare"), h("p", null, "No run is complete yet.")];
    const body = h("div");
    const fill = () => body.replaceChildren(...ofBoard(drawn, fill));
    fill();
    return [h("h2", null, "Compare"), body];
    function ofBoard(drawn2, onboard) {
      const board = drawn2[chosen.board] ?? drawn2[0];
      const rows = board.rows.filter((row) => row.curves);
      const series = new Map(rows.map((row, at) => [row.label, at]));
      const offered = Object.entries(CURVES).filter(([key]) => rows.some((row) => row.curves?.[key]));
      const refused = chosen.curve === "P" && !board.precision.offered;
      if (refused || !offered.some(([key]) => key === chosen.curve)) chosen.curve = "R";
      const place = h("div");
      const update = () => {
        const shown = { rows: rows.filter((row) => !chosen.off.has(row.label)), series };
        const levels = board.precision.offered ? [precisionChart(runs, shown)] : [];
        place.replaceChildren(curveChart(board, shown, chosen), ...levels, differences(board, shown.rows));
      };
      update();
      return [controls({ drawn: drawn2, board, rows, series, offered, update, onboard }), place];
    }
  }
  function controls({ drawn, board, rows, series, offered, update, onboard }) {
    const pick = (key, then = update) => (value) => {
      chosen[key] = value;
      then();
    };
    const boardSelect = h(
      "select",
      { onchange: (event) => pick("board", onboard)(Number(valueOf(event))) },
      drawn.map((one, at) => h("option", { value: at, selected: at === chosen.board }, one.title))
    );
    const curves = offered.map(([key, [label]]) => {
      const why = key === "P" && !board.precision.offered ? `not offered: ${board.precision.why}` : "";
      return [key, label, why];
    });
    const units = [
      ["query", "over queries, as published"],
      ["cluster", "over declarations"]
    ];
    const levels = [10, 50, 200].map((k) => [k, String(k)]);
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
        rows.map((row) => systemBox(row, series.get(row.label), update))
      )
    );
  }
  function systemBox(row, series, update) {
    const onchange = (event) => {
      if (event.target.checked) chosen.off.delete(row.label);
      else chosen.off.add(row.label);
      update();
    };
    return h(
      "label",
      null,
      h("input", { type: "checkbox", checked: !chosen.off.has(row.label), onchange }),
      PB.swatch({ series, dashed: row.kind === "engine" }),
      ` ${called(row)}`
    );
  }
  var choice = (name, options, value, onpick, legend) => h(
    "fieldset",
    { class: "choice" },
    h("legend", null, legend),
    options.map(
      ([key, label, why]) => h(
        "label",
        { class: why ? "disabled" : null },
        h("input", {
          type: "radio",
          name,
          checked: key === value,
          disabled: Boolean(why),
          onchange: () => onpick(key)
        }),
        ` ${label}`,
        why ? h("span", { class: "why" }, ` ${why}`) : null
      )
    )
  );
  function differences(board, shown) {
    const names = new Set(shown.map((row) => row.label));
    const pairs = board.pairs.filter((pair) => names.has(pair.first) && names.has(pair.second));
    if (!pairs.length) return says("Two systems are needed for a difference.");
    return h(
      "section",
      null,
      h("h3", null, "Paired differences"),
      says(
        "First minus second on the same queries, in percentage points; whole declarations are resampled and exchanged. p is adjusted over the pairs of a metric (Holm)."
      ),
      table({
        caption: "Paired differences",
        rows: pairs,
        columns: [
          { key: "metric", label: "Metric" },
          { key: "first", label: "First" },
          { key: "second", label: "Second" },
          { key: "difference", label: "Difference", numeric: true, show: (row) => points(row.difference) },
          {
            key: "interval",
            label: "95 % interval",
            numeric: true,
            show: ({ interval }) => interval.low === null ? "–" : `${points(interval.low)} to ${points(interval.high)}`,
            value: (row) => row.interval.low
          },
          {
            key: "p_holm",
            label: "p",
            numeric: true,
            show: (row) => row.p_holm < 1e-3 ? "< 0.001" : row.p_holm.toFixed(3)
          },
          { key: "verdict", label: "Verdict" }
        ]
      })
    );
  }
  var points = (value) => value === null ? "–" : `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)}`.replace(/^[+-]0\.0$/, "0.0");

  // retrieval/leaderboard.ts
  var KINDS = {
    engine: { label: "published engine", why: "a service of others, asked politely; it searches a corpus of its own" },
    "run file": { label: "run file", why: "lists made elsewhere" }
  };
  var COVERED = {
    "Covered@10": "every premise group, original or alternative, within the first ten",
    "CoveredRoute@10": "all original groups, or all alternative ones, within the first ten: the release's and the paper's Covered",
    "CoveredOriginal@10": "all original groups within the first ten: the paper's appendix"
  };
  var PUBLISHED = ["nDCG@10", "R@10", "MRR", ...Object.keys(COVERED)];
  var leaderboard = ({ boards, published, runs }) => [
    h("h2", null, "Leaderboard"),
    says(
      "Only rows of one board may be compared: each says what its rows have in common. Beneath each value are two 95 % intervals: over queries, as published, and over declarations."
    ),
    boards.map(
      (board) => h("section", { class: "board-section" }, board.note ? says(board.note) : null, boardTable(board), heldBy(board))
    ),
    published.length ? publishedTable(published) : null,
    h("section", null, h("h2", null, "What was run"), runs.map(identityOf))
  ];
  function boardTable(board) {
    const metric = (key, title) => ({
      key,
      label: key,
      title,
      numeric: true,
      show: (row) => withIntervals(row, key),
      value: (row) => row.metrics?.[key] ?? null
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
          show: (row) => sparkline(row.sparkline) ?? "–",
          value: (row) => row.metrics?.["R@10"] ?? null
        },
        metric("MRR", "mean of 1 / rank of the first gold unit"),
        metric("MAP", "mean average precision, divided by the number of gold units"),
        {
          key: "latency_p95_s",
          label: "p95",
          title: "95 % of the answers came within; where a service was asked now",
          numeric: true,
          show: (row) => seconds(row.latency_p95_s)
        },
        { key: "n", label: "n", title: "queries that count", numeric: true, show: (row) => number(row.n) },
        {
          key: "dropped",
          label: "Dropped",
          title: "queries without gold in the corpus: counted here, never scored 0",
          numeric: true,
          show: (row) => number(row.dropped)
        },
        {
          key: "coverage",
          label: "Coverage",
          title: "share of the queries whose gold the searched corpus has",
          numeric: true,
          show: (row) => row.coverage === null ? "unknown" : percent(row.coverage),
          value: (row) => row.coverage
        }
      ]
    });
  }
  var seconds = (value) => value === null || value === void 0 ? "–" : `${value.toFixed(value < 10 ? 2 : 0)} s`;
  var coveredOf = (board) => board.precision.offered ? Object.keys(COVERED).filter((key) => board.rows.some((row) => (row.metrics?.[key] ?? null) !== null)) : [];
  var systemCell = (row) => [
    h("span", { class: "system" }, row.label),
    h(
      "span",
      { class: "badges" },
      KINDS[row.kind] ? badge(KINDS[row.kind]) : null,
      row.complete ? null : badge({ label: "incomplete", why: "some queries are unanswered" }),
      row.badges.map(badge)
    )
  ];
  function withIntervals(row, metric) {
    const value = row.metrics?.[metric];
    if (value === null || value === void 0) return "–";
    const of = row.intervals?.[metric];
    if (!of) return three(value);
    return [
      h("span", null, three(value)),
      [of.query, of.cluster].map(
        (interval) => h(
          "span",
          { class: "interval", title: `95 %, ${interval.method}, n = ${interval.n}` },
          interval.low === null ? "–" : `${three(interval.low)} to ${three(interval.high)}`
        )
      )
    ];
  }
  var heldBy = (board) => h(
    "details",
    { class: "held" },
    h("summary", null, "The same for every row"),
    h(
      "ul",
      null,
      board.held.map((line) => h("li", null, line))
    ),
    board.loose.length ? h(
      "ul",
      { class: "loose" },
      board.loose.map((line) => h("li", null, line))
    ) : null
  );
  var publishedTable = (published) => h(
    "section",
    { class: "published" },
    h("h2", null, "Published figures"),
    says(
      "Not run here. A paper's figures and a hosted service's differ, so each is a row of its own; none of them is ranked with the rows above."
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
          show: (row) => h("span", { title: row.reference }, `${row.source}: ${row.reference}`)
        },
        { key: "task", label: "Task" },
        { key: "corpus", label: "Corpus" },
        ...PUBLISHED.filter((key) => published.some((row) => key in row.metrics)).map((key) => ({
          key,
          label: key,
          numeric: true,
          show: (row) => three(row.metrics[key]),
          value: (row) => row.metrics[key] ?? null
        })),
        { key: "n", label: "n", numeric: true, show: (row) => number(row.n) }
      ]
    })
  );
  function identityOf(run) {
    const { gold_units, units_left_out, overlapping } = run.summary;
    const facts2 = [
      ["Run", run.run_id.slice(0, 16)],
      ["Corpus", run.corpus],
      ["Benchmark", `${run.benchmark.file}, SHA-256 ${run.benchmark.sha256.slice(0, 12)}`],
      [
        "Gold units",
        `${number(gold_units)}; ${number(units_left_out)} more have no member in the corpus and are left out`
      ],
      ["Document text", run.renderer],
      [
        "Overlapping",
        overlapping.length ? `${overlapping.length} queries list one document in two units; P, AP and nDCG are capped at 1` : "none"
      ]
    ];
    return h(
      "details",
      null,
      h("summary", null, run.label),
      h(
        "dl",
        null,
        facts2.map(([term, fact]) => [h("dt", null, term), h("dd", null, fact)])
      ),
      raw(JSON.stringify(run.identity, null, 1))
    );
  }

  // retrieval/methodology.ts
  var facts = (rows) => rows.map(
    (row) => h(
      "dl",
      null,
      Object.entries(row).map(([term, fact]) => [h("dt", null, term), h("dd", null, fact)])
    )
  );
  var methodologyView = ({ methodology }) => [
    h("h2", null, "Methodology"),
    says("Written from the manifests of the runs that are shown."),
    methodology.held.filter((part) => part.rows.length).map((part) => h("section", null, h("h3", null, part.title), facts(part.rows))),
    h(
      "section",
      null,
      h("h3", null, "Metrics"),
      h(
        "dl",
        null,
        methodology.formulas.map((row) => [h("dt", null, row.name), h("dd", null, row.says)])
      )
    ),
    h(
      "section",
      null,
      h("h3", null, "What limits comparison"),
      h(
        "ul",
        null,
        methodology.caveats.map((line) => h("li", null, line))
      )
    ),
    h(
      "section",
      null,
      h("h3", null, "Prior work"),
      h(
        "ul",
        null,
        methodology.prior_work.map(
          ({ title, arxiv }) => h(
            "li",
            null,
            `${title}, `,
            h("a", { href: `https://arxiv.org/abs/${arxiv}`, rel: "noreferrer" }, `arXiv:${arxiv}`)
          )
        )
      )
    )
  ];
  var changelogView = ({ changelog }) => [
    h("h2", null, "Changelog"),
    says("A run has a new id when its queries, corpus, document text, system or settings change."),
    table({
      caption: "Runs, newest first",
      rows: changelog,
      columns: [
        { key: "at", label: "Last answer", show: (row) => row.at || "unknown" },
        { key: "label", label: "System" },
        { key: "run_id", label: "Run", show: (row) => h("code", null, row.run_id.slice(0, 16)) },
        { key: "task", label: "Task" },
        { key: "corpus", label: "Corpus" },
        { key: "version", label: "Version" }
      ]
    })
  ];

  // retrieval/queries.ts
  var chosen2 = { text: "", label: "", only: "" };
  var answered = (entry) => Object.values(entry.runs).filter((where) => where.positions);
  var best = (where) => where?.positions ? Math.min(...where.positions.map((rank) => rank ?? Infinity)) : null;
  var near = (where) => best(where) <= 10;
  var FILTERS = {
    "": ["All queries", () => true],
    differs: ["Systems differ within the first ten", (entry) => new Set(answered(entry).map(near)).size > 1],
    missed: [
      "Missed by every system within the first ten",
      (entry) => answered(entry).length > 0 && !answered(entry).some(near)
    ],
    dropped: ["Dropped: no gold in the corpus", (entry) => Object.values(entry.runs).some((where) => where.dropped)],
    overlapping: ["One document in two units", (entry) => Object.values(entry.runs).some((where) => where.overlapping)]
  };
  var labelsOf = (entry) => Object.entries(entry.labels).map(([key, value]) => `${key}: ${value}`);
  function queryList({ queries, runs }) {
    const labels = [...new Set(queries.flatMap(labelsOf))].sort();
    const place = h("div");
    const fill = () => place.replaceChildren(queryTable(queries, runs));
    const set = (key) => (event) => {
      chosen2[key] = valueOf(event);
      fill();
    };
    const only = h(
      "select",
      { onchange: set("only") },
      Object.entries(FILTERS).map(([key, [label]]) => h("option", { value: key, selected: key === chosen2.only }, label))
    );
    const kind = h(
      "select",
      { onchange: set("label") },
      h("option", { value: "" }, "all"),
      labels.map((label) => h("option", { value: label, selected: label === chosen2.label }, label))
    );
    fill();
    return [
      h("h2", null, "Queries"),
      says("The rank at which each system put each gold unit; – is a unit that is not within the first 200."),
      h(
        "div",
        { class: "controls" },
        h("label", null, "Search ", h("input", { type: "search", value: chosen2.text, oninput: set("text") })),
        h("label", null, "Show ", only),
        labels.length ? h("label", null, "Kind ", kind) : null
      ),
      place
    ];
  }
  function queryTable(queries, runs) {
    const wanted = chosen2.text.toLowerCase();
    const rows = queries.map((entry, at) => ({ ...entry, at })).filter((entry) => !wanted || `${entry.id} ${entry.text}`.toLowerCase().includes(wanted)).filter((entry) => !chosen2.label || labelsOf(entry).includes(chosen2.label)).filter(FILTERS[chosen2.only][1]);
    const one = new Set(queries.map((entry) => entry.task)).size === 1;
    return table({
      caption: `${number(rows.length)} of ${number(queries.length)} queries`,
      className: "queries",
      rows,
      columns: [
        {
          key: "text",
          label: "Query",
          show: (entry) => h(
            "a",
            { href: `#/query/${entry.at}` },
            visible(entry.text.length > 140 ? `${entry.text.slice(0, 140)}…` : entry.text)
          )
        },
        {
          key: "id",
          label: "Id",
          show: (entry) => h("code", null, one ? entry.id : `${entry.task}/${entry.id}`)
        },
        ...runs.map((run, at) => ({
          key: `run${at}`,
          label: run.label,
          numeric: true,
          show: (entry) => ranks(entry.runs[at]),
          value: (entry) => best(entry.runs[at])
        }))
      ]
    });
  }
  function ranks(where) {
    const none = (title, shown2) => h("span", { class: "rank none", title }, shown2);
    if (!where) return none("not a query of this run", "·");
    if (where.dropped) return none("no gold in the corpus: dropped", "dropped");
    if (!where.positions) return none("not answered yet", "open");
    const shown = [...where.positions].sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
    const place = (rank) => rank === null ? "missed" : rank === 1 ? "first" : rank <= 10 ? "near" : "far";
    return h(
      "span",
      { class: "ranks" },
      shown.map((rank) => h("span", { class: `rank ${place(rank)}` }, rank ?? "–"))
    );
  }
  async function oneQuery({ queries, queries_per_chunk: size, runs }, at) {
    const entry = queries[at];
    if (!entry) return [h("p", null, "There is no such query.")];
    const details = (await PB.chunk(Math.floor(at / size)))[at % size];
    const step = (to, label) => queries[to] ? h("a", { href: `#/query/${to}` }, label) : h("span", { class: "says" }, label);
    return [
      h(
        "p",
        { class: "steps" },
        step(at - 1, "← previous"),
        h("a", { href: "#/queries" }, "all queries"),
        step(at + 1, "next →")
      ),
      h("h2", null, entry.id),
      text(entry.text),
      says(labelsOf(entry).join(" · ")),
      h(
        "div",
        { class: "lists" },
        runs.map((run, nth) => listOf(run, entry.runs[nth], details[nth]))
      )
    ];
  }
  function named(run, row, shown) {
    if (!run.mathlib) return shown;
    const name = row.replace(/::\d+$/, "").split("::").at(-1);
    const href = `https://leanprover-community.github.io/mathlib4_docs/find/#doc/${encodeURIComponent(name)}`;
    return h("a", { href, rel: "noreferrer" }, shown);
  }
  function listOf(run, where, details) {
    if (!where || !details) return null;
    const gold = new Map(details.units.flatMap((unit, at) => unit.map((row) => [row, at])));
    const unitOf = (row) => h("span", { class: "unit" }, `unit ${gold.get(row) + 1}`);
    const units = details.units.map(
      (unit, at) => h(
        "li",
        null,
        h("span", { class: "unit" }, `unit ${at + 1}`),
        ` at ${where.positions?.[at] ?? "–"}: `,
        h(
          "span",
          { class: "members" },
          unit.map((row, place) => [place ? " or " : "", named(run, row, row)])
        )
      )
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
        details.top.map(
          (row) => h(
            "li",
            { class: gold.has(row) ? "gold" : null },
            named(run, row, h("code", null, visible(row))),
            gold.has(row) ? unitOf(row) : null
          )
        )
      ),
      where.n_retrieved === null ? null : says(`${number(where.n_retrieved)} returned`)
    );
  }

  // retrieval/main.ts
  var HELP = [
    "A gold unit is a set of documents of which any one will do; it is found at the rank of its earliest member. R@k is the share of units found within the first k, nDCG@k weighs early ranks, MRR is the mean of 1 / rank of the first unit, Covered@k asks for all of them.",
    "Every number is derived from saved positions: retrievalbench score rebuilds it without searching. docs/retrieval-metrics.md defines each."
  ];
  var LINKS = [
    { href: "#/", label: "Leaderboard" },
    { href: "#/compare", label: "Compare" },
    { href: "#/queries", label: "Queries" },
    { href: "#/breakdowns", label: "Breakdowns" },
    { href: "#/methodology", label: "Methodology" },
    { href: "#/changelog", label: "Changelog" }
  ];
  var VIEWS = { compare, queries: queryList, breakdowns, methodology: methodologyView, changelog: changelogView };
  async function start() {
    const page = await PB.model();
    bar({
      links: LINKS,
      help: h(
        "div",
        null,
        h("h2", null, "Reading this page"),
        HELP.map((text2) => h("p", null, text2))
      )
    });
    window.addEventListener("hashchange", () => show(page));
    await show(page);
    document.documentElement.dataset.ready = "true";
  }
  async function show(page) {
    const [, view = "", which] = location.hash.split("/");
    const content = view === "query" ? await oneQuery(page, Number(which)) : (VIEWS[view] ?? leaderboard)(page);
    document.querySelector("main").replaceChildren(h("div", { class: "view" }, banners(page), content, notices(page)));
    for (const link of document.querySelectorAll("header.bar nav a")) {
      const here = link.getAttribute("href") === `#/${view === "query" ? "queries" : view}`;
      if (here) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    window.scrollTo(0, 0);
  }
  var banners = (page) => page.banners.map((text2) => h("p", { class: "banner", role: "note" }, text2));
  var notices = ({ licences }) => licences.length ? h(
    "footer",
    { class: "licences" },
    licences.map((text2) => h("p", null, text2))
  ) : null;
  start();
})();
