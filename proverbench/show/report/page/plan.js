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

  // report/words.ts
  var plural = (count, one) => `${number(count)} ${one}${Number(count) === 1 ? "" : "s"}`;

  // report/drawing.ts
  var base = (width, options) => Plot.plot({
    className: "plot",
    width,
    height: Math.min(360, Math.max(240, width * 0.5)),
    marginLeft: 48,
    marginRight: 30,
    marginBottom: 40,
    style: { background: "transparent" },
    symbol: { type: "identity" },
    color: { type: "identity" },
    ...options
  });
  var tip = (channels) => ({
    tip: { fill: "var(--raised)", stroke: "var(--line)" },
    ...channels
  });

  // plan/charts.ts
  var UNITS = { USD: "US dollars", tokens: "tokens" };
  var samplesOf = (rows) => [...new Set(rows.map((row) => row.samples))];
  var seriesOf = (rows) => {
    const order = samplesOf(rows);
    return (row) => order.indexOf(row.samples);
  };
  var legendOf = (rows) => samplesOf(rows).map((samples, series) => ({ label: plural(samples, "sample"), series }));
  var points = (row) => 50 * row.width;
  var reach = (row) => `${percent(row.low)} to ${percent(row.high)}`;
  function costOf(cost, unit) {
    if (unit === "USD") return `$${number(cost.toFixed(2))}`;
    return `${number(Math.round(cost))} ${unit ?? "calls"}`;
  }
  function curvesOf(rows, x, y, title) {
    const series = seriesOf(rows);
    const stroke = (row) => colour(series(row));
    return [
      Plot.line(rows, { x, y, z: "samples", stroke, strokeWidth: 2 }),
      Plot.dot(rows, tip({ x, y, fill: stroke, symbol: (row) => symbol(series(row)), r: 3, title }))
    ];
  }
  var problemsAxis = { x: { type: "log", label: "problems", tickFormat: "d", ticks: 6, grid: false } };
  var costAxis = (unit) => ({
    x: {
      type: "log",
      label: unit ? UNITS[unit] : "calls",
      tickFormat: unit === "USD" ? (value) => `$${value}` : "~s",
      ticks: 5,
      grid: false
    }
  });
  var pointsAxis = { y: { label: "± points", grid: true, zero: true } };
  var about = (row, unit) => `${plural(row.problems, "problem")} × ${plural(row.samples, "sample")}: ±${points(row).toFixed(1)} points
${reach(row)}
${costOf(row.cost, unit)}`;
  function widthChart(rows, unit, x, words, more = []) {
    return chart({
      ...words,
      rows,
      legend: legendOf(rows),
      draw: (width) => base(width, {
        ...x === "problems" ? problemsAxis : costAxis(unit),
        ...pointsAxis,
        marks: [...curvesOf(rows, x, points, (row) => about(row, unit)), ...more]
      })
    });
  }
  var best = (rows) => rows.reduce((least, row) => row.width < least.width ? row : least);
  function planCharts({ width, power, repeats, labels }, unit) {
    const least = best(width);
    const floor = `The narrowest here is ±${points(least).toFixed(1)} points, with ${plural(least.problems, "problem")} × ${plural(least.samples, "sample")}.`;
    return [
      widthChart(width, unit, "problems", {
        title: "Precision against problems and samples",
        says: `Half the width of the 95 % interval of the score. ${floor}`
      }),
      widthChart(width, unit, "cost", {
        title: "Precision against cost",
        says: `The same against what it costs, in ${unit ? UNITS[unit] : "calls (no prices are known)"}: the lowest curve is the best use of it.`
      }),
      powerPlot(power),
      repeats && repeats.rows.length > 1 ? repeatsPlot(repeats) : null,
      labels && labels.rows.length > 1 ? labelsPlot(labels) : null
    ];
  }
  function powerPlot(power) {
    if (!power) return null;
    const { points: size, wanted, rows } = power;
    const enough = rows.filter((row) => row.power >= wanted).sort((one, other) => one.cost - other.cost)[0];
    const says = enough ? `Of these designs ${plural(enough.problems, "problem")} × ${plural(enough.samples, "sample")} of each run is the cheapest with ${percent(wanted, 0)}.` : `No design here has ${percent(wanted, 0)}: more problems are needed.`;
    return chart({
      title: `Power to show a difference of ${size} points`,
      says: `Chance that a difference of that size between two runs on the same problems is shown. ${says}`,
      rows,
      legend: legendOf(rows),
      draw: (width) => base(width, {
        ...problemsAxis,
        y: {
          label: "power, %",
          domain: [0, 1],
          tickFormat: (value) => `${Math.round(100 * value)}`,
          grid: true
        },
        marks: [
          Plot.ruleY([wanted], { stroke: "currentColor", strokeDasharray: "3 4" }),
          ...curvesOf(
            rows,
            "problems",
            (row) => row.power,
            (row) => `${plural(row.problems, "problem")} × ${plural(row.samples, "sample")}: power ${percent(row.power, 0)}`
          )
        ]
      })
    });
  }
  var atDesign = (curve) => `${plural(curve.problems, "problem")} × ${plural(curve.samples, "sample")}`;
  function repeatsPlot(curve) {
    const { rows } = curve;
    return chart({
      title: "Score to expect by R",
      says: `R is part of what the score is: another R is another score, not a better known one. With ${atDesign(curve)}.`,
      rows,
      draw: (width) => base(width, {
        x: { label: "R, judgments a proof", ticks: rows.map((row) => row.repeats), tickFormat: "d", grid: false },
        y: { label: "pessimistic score, %", tickFormat: (value) => `${Math.round(100 * value)}`, grid: true },
        marks: [
          Plot.ruleX(rows, { x: "repeats", y1: "low", y2: "high", stroke: colour(0), strokeWidth: 2 }),
          Plot.dot(
            rows,
            tip({
              x: "repeats",
              y: "value",
              fill: colour(0),
              r: 4.5,
              title: (row) => `R = ${row.repeats}: ${percent(row.value)}
${reach(row)}`
            })
          )
        ]
      })
    });
  }
  function labelsPlot(curve) {
    const { rows } = curve;
    const known = curve.known ? "the pilot's labels say" : "nothing is known yet (at the widest)";
    return chart({
      title: "Precision of the score by labels",
      says: `Half the width of the 95 % interval of the score that people's labels correct, as far as ${known}. With ${atDesign(curve)}.`,
      rows,
      draw: (width) => base(width, {
        x: { label: "labelled proofs", tickFormat: "d", grid: false, zero: true },
        ...pointsAxis,
        marks: [
          Plot.line(rows, { x: "labels", y: points, stroke: colour(0), strokeWidth: 2 }),
          Plot.dot(
            rows,
            tip({
              x: "labels",
              y: points,
              fill: colour(0),
              r: 4.5,
              title: (row) => `${row.labels} labels: ±${points(row).toFixed(1)} points
${reach(row)}`
            })
          )
        ]
      })
    });
  }

  // plan/main.ts
  async function start() {
    const plan = await PB.model();
    bar({});
    document.getElementById("main").replaceChildren(
      h(
        "div",
        { class: "overview" },
        h(
          "section",
          { "aria-labelledby": "plan" },
          h("h2", { id: "plan" }, "What problems, samples and money buy"),
          h("p", { class: "lead" }, visible(`${plan.basis}; R = ${plan.repeats}`)),
          h(
            "ul",
            null,
            plan.says.map((sentence) => h("li", null, sentence))
          )
        ),
        answers(plan),
        h("section", { class: "charts", "aria-label": "Plots" }, planCharts(plan.curves, plan.unit)),
        h(
          "section",
          { "aria-label": "Designs" },
          designs(plan),
          h("p", { class: "small" }, `Planned from the formulas of docs/metrics.md, "Planning", by ${plan.made_by}.`)
        )
      )
    );
    document.documentElement.dataset.ready = "yes";
  }
  function answers(plan) {
    if (!plan.answers.length) return null;
    return h(
      "section",
      { "aria-labelledby": "answers" },
      h("h3", { id: "answers" }, "Asked"),
      h(
        "ul",
        null,
        plan.answers.map(
          ({ question, design, reason }) => h("li", null, h("b", null, question), ": ", design ? described(design, plan) : `none: ${reason}`)
        )
      )
    );
  }
  var described = (design, plan) => `${plural(design.problems, "problem")} × ${plural(design.samples, "sample")}, ${costOf(design.cost, plan.unit)}; 95 % interval of the score ${percent(design.low)} to ${percent(design.high)}` + (design.labelled_low === void 0 ? "" : `, by labels ${percent(design.labelled_low)} to ${percent(design.labelled_high)}`);
  function designs(plan) {
    const has = (name) => plan.designs.some((design) => design[name] !== void 0);
    const pts = (width) => (50 * width).toFixed(1);
    return table({
      caption: "What to expect of some designs",
      columns: [
        { key: "problems", label: "problems", numeric: true },
        { key: "samples", label: "samples", numeric: true },
        {
          key: "low",
          label: "95 % interval",
          numeric: true,
          show: (row) => `${percent(row.low)} to ${percent(row.high)}`
        },
        { key: "width", label: "± points", numeric: true, show: (row) => pts(row.width) },
        ...has("width_range") ? [
          {
            key: "width_range",
            label: "likely",
            numeric: true,
            show: ({ width_range: range }) => range ? `±${pts(range[0])} to ±${pts(range[1])}` : "–",
            value: (row) => row.width_range?.[1]
          }
        ] : [],
        ...has("detectable") ? [
          {
            key: "detectable",
            label: "shown with 80 %, points",
            numeric: true,
            show: (row) => (100 * row.detectable).toFixed(1)
          }
        ] : [],
        ...has("labelled_low") ? [
          {
            key: "labelled_low",
            label: "by labels",
            numeric: true,
            show: (row) => `${percent(row.labelled_low)} to ${percent(row.labelled_high)}`
          }
        ] : [],
        {
          key: "cost",
          label: plan.unit === "USD" ? "US dollars" : plan.unit ?? "calls",
          numeric: true,
          show: (row) => number(plan.unit === "USD" ? row.cost.toFixed(2) : Math.round(row.cost))
        }
      ],
      rows: plan.designs
    });
  }
  start();
})();
