"use strict";
/* The page of proofs: an overview with plots, and a reader of proofs and judgments. Places in it have addresses:
     #/                                   the overview                 #/run/NAME          of one run
     #/proofs?show=split&text=...         the list, filtered           #/proof/RUN/KEY     a proof
     #/proof/RUN/KEY/REPEAT               one judgment of it */
(async () => {
  const { h, text, raw, percent, number, table, chart, copyButton } = PB;
  const main = document.querySelector("main");
  let head = await PB.model();
  let items = [];
  let byPlace = new Map();
  let chosen = { run: 0, split: "all", by: null };

  const TASKS = { prover: "ProverBench", verifier: "VerifierBench" };
  const METRICS = {
    pessimistic: ["Pessimistic score", "Share of proofs that all R judgments accept, averaged over problems. An invalid judgment never accepts."],
    pass_any_sample: ["Any sample passes", "Share of problems with at least one accepted proof."],
    generation_failure_rate: ["Generation failures", "Share of replies of the policy in which there is no valid proof. They score 0."],
    verifier_valid_rate: ["Valid judgments", "Share of requested judgments that could be read by the protocol."],
    rough_bal_f1: ["Balanced F1", "Harmonic mean of TPR and TNR."],
    rough_tpr: ["TPR: right proofs accepted", "Of the proofs in which people found no error: share of judgments that accept."],
    rough_tnr: ["TNR: wrong proofs rejected", "Of the proofs in which people found an error: share of judgments that reject."],
    rough_accuracy: ["Accuracy", "Share of judgments that agree with people on right or wrong."],
    balanced_accuracy: ["Balanced accuracy", "Mean of TPR and TNR."],
    first_error_step_accuracy: ["First error found", "Share of judgments that name the same first wrong step as people (or agree that there is none)."],
    first_error_step_accuracy_incorrect: ["First error found, wrong proofs", "The same, over proofs in which people found an error."],
    meta_ver_tpr: ["Meta TPR", "As TPR, weighted by how well the explanation matches the human one."],
    meta_ver_tnr: ["Meta TNR", "As TNR, weighted by how well the explanation matches the human one."],
    meta_ver_bal_f1: ["Meta balanced F1", "Harmonic mean of meta TPR and meta TNR."],
    meta_valid_rate: ["Valid meta levels", "Share of requested levels that could be read."],
  };
  const HEADLINE = { prover: "pessimistic", verifier: "rough_bal_f1" };
  const label = (metric) => METRICS[metric]?.[0] ?? metric;
  const plural = (count, one) => `${number(count)} ${one}${count === 1 ? "" : "s"}`;

  // ------------------------------------------------------------ marks of judgments

  const ACCEPTS = -1;
  const MISSING = -2;
  const INVALID_FROM = -10;
  const kind = (mark) => (mark === ACCEPTS ? "accept" : mark >= 0 ? "reject" : mark === MISSING ? "missing" : "invalid");
  const reasonOf = (mark) => head.index.reasons[INVALID_FROM - mark];
  const sign = (mark) => (mark === ACCEPTS ? "✓" : mark >= 0 ? String(mark) : mark === MISSING ? "·" : "!");
  const words = (mark) =>
    mark === ACCEPTS ? "accepts" : mark >= 0 ? `rejects at step ${mark}` : mark === MISSING ? "not answered yet" : `invalid: ${reasonOf(mark)}`;

  function marksOf(marks, compact = false) {
    if (compact && marks.length > 10) {
      const counts = counted(marks);
      return Object.entries({ accept: "✓", reject: "✗", invalid: "!", missing: "·" })
        .filter(([name]) => counts[name])
        .map(([name, shown]) => h("span", { class: `tally ${name}` }, `${shown}${counts[name]}`));
    }
    return marks.map((mark) => h("span", { class: `mark ${kind(mark)}` }, sign(mark)));
  }

  function strip(run, compact = false) {
    const [number_, why, marks] = run;
    const name = head.runs.length > 1 ? `${head.runs[number_].name}: ` : "";
    const said = why ? (why === "pending" ? "no proof yet" : `no proof: ${why}`) : tally(marks);
    return h(
      "span",
      { class: "strip", role: "img", "aria-label": name + said, title: name + said },
      why ? h("span", { class: "nothing" }, why === "pending" ? "no proof yet" : `no proof: ${why}`) : marksOf(marks, compact),
    );
  }

  function counted(marks) {
    const counts = { accept: 0, reject: 0, invalid: 0, missing: 0 };
    for (const mark of marks) counts[kind(mark)] += 1;
    return counts;
  }

  function tally(marks) {
    const counts = counted(marks);
    const said = [`${counts.accept} of ${marks.length} accept`];
    if (counts.reject) said.push(`${counts.reject} reject`);
    if (counts.invalid) said.push(`${counts.invalid} invalid`);
    if (counts.missing) said.push(`${counts.missing} not answered`);
    return said.join(", ");
  }

  // ------------------------------------------------------------ the index of proofs

  function readIndex() {
    const { columns, proofs, problems, domains, subjects, policies } = head.index;
    items = proofs.map((row) => {
      const item = Object.fromEntries(columns.map((column, at) => [column, row[at]]));
      [item.problemId, item.opening] = problems[item.problem];
      item.domain = domains[item.domain];
      item.subject = subjects[item.subject];
      item.policy = policies[item.policy];
      item.marks = item.runs.flatMap((run) => run[2]);
      return item;
    });
    byPlace = new Map();
    for (const item of items) for (const [run] of item.runs) byPlace.set(place(run, item.key), item);
  }

  const place = (run, key) => `${run}/${key}`;
  const address = (item, run = item.runs[0][0], repeat = null) =>
    `#/proof/${encodeURIComponent(head.runs[run].name)}/${encodeURIComponent(item.key)}${repeat === null ? "" : `/${repeat}`}`;
  const ofRuns = (item, run) => (run === "" ? item.runs : item.runs.filter(([number_]) => head.runs[number_].name === run));

  // ------------------------------------------------------------ filters

  const SHOWN = {
    "": ["All proofs", () => true],
    accepted: ["Accepted by all judgments", (item, runs) => runs.some(([, why, marks]) => !why && marks.length > 0 && marks.every((m) => m === ACCEPTS))],
    rejected: ["Rejected by a judgment", (item, runs) => runs.some(([, , marks]) => marks.some((m) => m >= 0))],
    split: [
      "One judge accepts, one rejects",
      (item, runs) => runs.some(([, , marks]) => marks.includes(ACCEPTS)) && runs.some(([, , marks]) => marks.some((m) => m >= 0)),
    ],
    differ: [
      "Judges differ: verdict or step",
      (item, runs) => {
        const said = item.marks.find((m) => m >= ACCEPTS);
        return runs.some(([, , marks]) => marks.some((m) => m >= ACCEPTS && m !== said));
      },
    ],
    invalid: ["With an invalid judgment", (item, runs) => runs.some(([, , marks]) => marks.some((m) => m <= INVALID_FROM))],
    failed: ["Without a valid proof", (item, runs) => runs.some(([, why]) => why && why !== "pending")],
    unanswered: ["Not fully answered", (item, runs) => runs.some(([, why, marks]) => why === "pending" || marks.includes(MISSING))],
  };
  const HUMAN = {
    "": ["Human: any", () => true],
    right: ["Human: right", (item) => item.label === -1],
    wrong: ["Human: wrong", (item) => item.label !== null && item.label >= 0],
    differs: [
      "Judge against human",
      (item, runs) => judged(item, runs, (mark, label) => (mark === ACCEPTS) !== (label === -1)),
    ],
    "false-accept": ["Judge accepts a wrong proof", (item, runs) => judged(item, runs, (mark, label) => mark === ACCEPTS && label >= 0)],
    "false-reject": ["Judge rejects a right proof", (item, runs) => judged(item, runs, (mark, label) => mark >= 0 && label === -1)],
    elsewhere: ["Error found at another step", (item, runs) => judged(item, runs, (mark, label) => mark >= 0 && label >= 0 && mark !== label)],
  };
  const judged = (item, runs, differs) =>
    item.label !== null && runs.some(([, , marks]) => marks.some((mark) => mark >= ACCEPTS && differs(mark, item.label)));

  const NO_FILTER = { show: "", reason: "", human: "", run: "", domain: "", subject: "", text: "" };
  let filter = { ...NO_FILTER };
  let searched = null; // items whose texts hold the filter's words, once they have been looked through

  function matches(item) {
    const runs = ofRuns(item, filter.run);
    if (!runs.length) return false;
    if (!SHOWN[filter.show][1](item, runs) || !HUMAN[filter.human][1](item, runs)) return false;
    if (filter.reason && !runs.some(([, why, marks]) => why === filter.reason || marks.some((mark) => mark <= INVALID_FROM && reasonOf(mark) === filter.reason))) return false;
    if (filter.domain && item.domain !== filter.domain) return false;
    if (filter.subject && item.subject !== filter.subject) return false;
    if (!filter.text) return true;
    return searched?.has(item) || contains([item.key, item.opening, item.subject, item.policy].join("\n"));
  }

  const contains = (haystack) => haystack.toLowerCase().includes(filter.text.toLowerCase());
  const listAddress = (changed = {}) => {
    const chosenValues = Object.entries({ ...filter, ...changed }).filter(([, value]) => value !== "");
    return `#/proofs${chosenValues.length ? `?${new URLSearchParams(chosenValues)}` : ""}`;
  };
  const count = (changed) => {
    const before = filter;
    filter = { ...NO_FILTER, ...changed };
    const found = items.filter(matches).length;
    filter = before;
    return found;
  };

  // ------------------------------------------------------------ scores and intervals

  const range = (interval) => (interval ? [interval.low, interval.high] : null);
  const between = (interval) => (interval ? `${(100 * interval.low).toFixed(1)} to ${(100 * interval.high).toFixed(1)}` : null);
  const aboutInterval = (interval) => (interval ? [interval.n ? `95 % interval, ${plural(interval.n, "problem")}` : "95 % interval", interval.why].filter(Boolean).join("; ") : null);
  const footnotes = (intervals) => Object.entries(head.marks).filter(([mark]) => intervals.some((interval) => interval?.mark === mark)).map(([, says]) => says);

  function score(value, interval, { digits = 1 } = {}) {
    return h(
      "span",
      { class: "score", title: aboutInterval(interval) },
      percent(value, digits),
      interval ? h("span", { class: "ends" }, ` [${(100 * interval.low).toFixed(1)}, ${(100 * interval.high).toFixed(1)}]${interval.mark}`) : null,
    );
  }

  function intervalBar(value, interval) {
    const ends = range(interval);
    const at = (share) => `${(100 * share).toFixed(2)}%`;
    return h(
      "div",
      { class: "interval", "aria-hidden": "true" },
      ends ? h("span", { class: "span", style: { left: at(ends[0]), width: at(Math.max(ends[1] - ends[0], 0.004)) } }) : null,
      h("span", { class: "point", style: { left: at(value) } }),
    );
  }

  // ------------------------------------------------------------ the overview

  function overview(runName) {
    const named = runName === undefined ? -1 : head.runs.findIndex((run) => run.name === runName);
    if (named >= 0) chosen.run = named;
    const run = head.runs[chosen.run];
    if (!run.splits[chosen.split]?.metrics) chosen.split = Object.keys(run.splits).find((name) => run.splits[name].metrics) ?? "all";
    const whole = h("div", { class: "overview" }, head.runs.length > 1 ? leaderboards() : null, head.published ? publishedTable() : null, glance(run));
    PB.later(() => whole.append(...[plots(run), details(run)].filter(Boolean)));
    return whole;
  }

  function runPicker() {
    if (head.runs.length < 2) return null;
    return h(
      "label",
      { class: "picker" },
      "Run ",
      h(
        "select",
        { onchange: (event) => (location.hash = `#/run/${encodeURIComponent(event.target.value)}`) },
        head.runs.map((run, at) => h("option", { value: run.name, selected: at === chosen.run }, run.name)),
      ),
    );
  }

  const roleOf = (run, role) => run.roles.find((entry) => entry.role === role);
  const dates = (run) => {
    const days = [...new Set(run.sessions.flatMap((session) => [session.start.slice(0, 10), session.end.slice(0, 10)]))].sort();
    return days.length ? (days.length > 1 ? `${days[0]} to ${days.at(-1)}` : days[0]) : "";
  };

  function subtitle(run) {
    const asked =
      run.task === "prover"
        ? `${plural(run.rows, "problem")} × ${plural(run.samples, "proof")} × ${plural(run.repeats, "judgment")}`
        : `${plural(run.rows, "proof")} that people have checked × ${plural(run.repeats, "judgment")}`;
    return [run.task === "prover" ? [h("b", null, roleOf(run, "policy").model), " writes, "] : null, h("b", null, roleOf(run, "verifier").model), " judges", run.meta ? [", ", h("b", null, roleOf(run, "meta").model), " grades the explanations"] : null, ` · ${asked}`, dates(run) ? ` · ${dates(run)}` : null];
  }

  function glance(run) {
    const splits = Object.entries(run.splits).filter(([name, split]) => split.selected_rows || name === "all");
    return h(
      "section",
      { class: "glance", "aria-labelledby": "glance" },
      h(
        "div",
        { class: "heading" },
        h("h2", { id: "glance" }, `${TASKS[run.task]}: ${run.name}`),
        h("span", { class: run.complete ? "chip good" : "chip bad" }, run.complete ? "complete" : "UNFINISHED"),
        run.imported ? h("span", { class: "chip", title: "Made by the published evaluator, and imported" }, "imported") : null,
        runPicker(),
      ),
      h("p", { class: "lead" }, subtitle(run)),
      run.complete ? null : unfinished(run),
      h("div", { class: "cards" }, splits.map(([name, split]) => splitCard(run, name, split))),
      h("div", { class: "cards wide" }, validityCards(run)),
      readCard(run),
      run.warnings.length || run.closed_unanswered ? notes(run) : null,
      metricsTable(run, splits),
    );
  }

  function unfinished(run) {
    const missing = Object.entries(run.missing).map(([role, left]) => `${number(left)} of the ${role}`);
    return h(
      "div",
      { class: "callout bad", role: "note" },
      h("b", null, "This run is unfinished. "),
      missing.length ? `Still to be answered: ${missing.join(", ")}. ` : "",
      "A split has scores only when every call of it is answered; ",
      run.imported
        ? "finish it with the evaluator that made it, and import it again."
        : ["go on with ", h("code", null, run.task === "prover" ? "proverbench run --resume" : "verifierbench --resume"), head.live ? ". This page follows the run." : "."],
    );
  }

  function splitCard(run, name, split) {
    const metric = HEADLINE[run.task];
    const value = split.metrics?.[metric];
    const interval = split.intervals?.[metric];
    const bounds = split.bounds?.[metric];
    const title = h("h3", null, name !== "all" ? name : run.task === "prover" ? "All problems" : "All proofs", h("span", { class: "of" }, plural(split.selected_rows, run.task === "prover" ? "problem" : "proof")));
    if (!split.metrics) {
      const why = split.selected_rows ? `${number(split.completed_records)} of ${plural(split.expected_records, "proof")} done` : "no rows";
      return h("div", { class: "card" }, title, h("p", { class: "big none" }, "no score yet"), h("p", null, why));
    }
    if (value === null || value === undefined) {
      return h("div", { class: "card" }, title, h("p", { class: "big none" }, "undefined"), h("p", null, `${label(metric)} needs right and wrong proofs.`));
    }
    return h(
      "div",
      { class: "card" },
      title,
      h("p", { class: "name", title: METRICS[metric][1] }, label(metric)),
      h("p", { class: "big" }, percent(value)),
      interval
        ? h("p", { class: "ci", title: aboutInterval(interval) }, "95 % interval ", h("b", null, `${between(interval)} %`), interval.mark)
        : h("p", { class: "ci" }, "no interval"),
      intervalBar(value, interval),
      footnotes([interval]).map((says) => h("p", { class: "small" }, says)),
      bounds && bounds.high - bounds.low > 0.0005
        ? h("p", { class: "small" }, `${percent(bounds.high)} had ${bounds.invalid === 1 ? "the invalid judgment" : `all ${number(bounds.invalid)} invalid judgments`} been in its favour`)
        : null,
      run.task === "prover"
        ? h("p", { class: "small" }, `${label("pass_any_sample")}: `, score(split.metrics.pass_any_sample, split.intervals?.pass_any_sample))
        : h("p", { class: "small" }, h("span", { class: "pair" }, "TPR ", score(split.metrics.rough_tpr, split.intervals?.rough_tpr)), " ", h("span", { class: "pair" }, "TNR ", score(split.metrics.rough_tnr, split.intervals?.rough_tnr))),
    );
  }

  function validityCards(run) {
    const roles = { verifier: "Invalid judgments", policy: "Invalid proofs", meta: "Invalid meta levels" };
    return Object.entries(roles)
      .filter(([role]) => run.asked[role] !== undefined)
      .map(([role, title]) => validityCard(run, role, title));
  }

  function validityCard(run, role, title) {
    const reasons = Object.entries(run.invalid[role] ?? {}).sort(([, a], [, b]) => b - a);
    const total = reasons.reduce((sum, [, times]) => sum + times, 0);
    const asked = run.asked[role];
    const row = ([reason, times]) =>
      h(
        "li",
        null,
        role === "meta" ? h("span", null, reason) : h("a", { href: addressOfList({ reason, run: only(run) }) }, reason),
        h("span", { class: "bar-of", style: { "--share": `${(100 * times) / reasons[0][1]}%` } }),
        h("span", { class: "times" }, number(times)),
      );
    return h(
      "div",
      { class: "card" },
      h("h3", null, title, h("span", { class: "of" }, `${number(total)} of ${number(asked)}`)),
      h("p", { class: "big" }, asked ? percent(total / asked) : "–"),
      reasons.length ? h("ul", { class: "reasons" }, reasons.map(row)) : h("p", { class: "small" }, asked ? "Every reply could be read." : "Nothing was asked yet."),
      role === "verifier" ? h("p", { class: "small" }, "They stay in every denominator and never count as acceptance.") : null,
    );
  }

  const only = (run) => (head.runs.length > 1 ? run.name : "");
  const addressOfList = (values) => {
    const kept = Object.entries(values).filter(([, value]) => value !== "");
    return `#/proofs${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
  };

  function readCard(run) {
    const several = run.repeats > 1;
    const links = [
      [{ show: "accepted" }, "accepted by every judgment"],
      [{ show: "rejected" }, "rejected by a judgment"],
      [{ show: "split" }, several ? "where one judge accepts and another rejects" : null],
      [{ show: "differ" }, several ? "where judges differ in verdict or step" : null],
      [{ human: "false-accept" }, run.task === "verifier" ? "wrong, but accepted" : null],
      [{ human: "false-reject" }, run.task === "verifier" ? "right, but rejected" : null],
      [{ human: "elsewhere" }, run.task === "verifier" ? "error found elsewhere" : null],
      [{ show: "invalid" }, "with an invalid judgment"],
      [{ show: "failed" }, run.task === "prover" ? "without a valid proof" : null],
      [{ show: "unanswered" }, run.complete ? null : "not fully answered"],
    ].filter(([, what]) => what);
    return h(
      "nav",
      { class: "read", "aria-label": "Proofs to read" },
      h("span", null, "Read the proofs"),
      links.map(([values, what]) => {
        const wanted = { ...values, run: only(run) };
        const found = count(wanted);
        return h(found ? "a" : "span", { class: "place", href: found ? addressOfList(wanted) : null }, h("b", null, number(found)), ` ${what}`);
      }),
    );
  }

  function notes(run) {
    const sentences = [...run.warnings];
    if (run.closed_unanswered) sentences.unshift(`${plural(run.closed_unanswered, "unanswered call")} closed as zero credit (--final)`);
    return h("div", { class: "callout warn", role: "note" }, h("b", null, "Read with this in mind"), h("ul", null, sentences.map((sentence) => h("li", null, PB.visible(sentence)))));
  }

  function metricsTable(run, splits) {
    const withScores = splits.filter(([, split]) => split.metrics);
    if (!withScores.length) return null;
    const names = Object.keys(withScores[0][1].metrics);
    const marked = footnotes(withScores.flatMap(([, split]) => Object.values(split.intervals ?? {})));
    return h(
      "details",
      { class: "all-metrics", open: run.task === "verifier" },
      h("summary", null, "Every metric, with intervals and bounds"),
      table({
        caption: ["95 % intervals over problems. Defined in docs/metrics.md.", ...marked].join(" "),
        sortable: false,
        columns: [
          { key: "metric", label: "Metric", show: (row) => h("span", { title: METRICS[row.metric]?.[1] }, METRICS[row.metric] ? [label(row.metric), " ", h("code", null, row.metric)] : row.metric) },
          ...withScores.map(([name, split]) => ({
            key: name,
            label: name,
            numeric: true,
            show: (row) => {
              const value = split.metrics[row.metric];
              if (value === null || value === undefined) return "–";
              if (!METRICS[row.metric]) return number(value);
              const bounds = split.bounds?.[row.metric];
              return [
                score(value, split.intervals?.[row.metric]),
                bounds && bounds.high - bounds.low > 0.0005 ? h("div", { class: "small" }, `up to ${percent(bounds.high)} but for ${bounds.invalid} invalid`) : null,
              ];
            },
          })),
        ],
        rows: names.map((metric) => ({ metric })),
      }),
    );
  }

  // ------------------------------------------------------------ several runs

  function leaderboards() {
    const tasks = [...new Set(head.runs.map((run) => run.task))];
    return h("section", { "aria-label": "Leaderboard" }, tasks.map(leaderboard));
  }

  function leaderboard(task) {
    const metric = HEADLINE[task];
    const runs = head.runs.filter((run) => run.task === task);
    const splits = [...new Set(runs.flatMap((run) => Object.keys(run.splits)))].filter((name) => runs.some((run) => run.splits[name]?.metrics));
    const compared = head.comparisons.filter((comparison) => comparison.task === task && comparison.split === "all" && !comparison.reason);
    const rank = (run) => (compared.length === 1 ? compared[0].ranks.find((row) => row.metric === metric && row.run === run.name) : undefined);
    const columns = [
      { key: "run", label: "Run", value: (run) => run.name, show: (run) => [h("a", { href: `#/run/${encodeURIComponent(run.name)}` }, run.name), h("div", { class: "small" }, task === "prover" ? `${roleOf(run, "policy").model}, judged by ${roleOf(run, "verifier").model}` : roleOf(run, "verifier").model), run.complete ? null : h("span", { class: "chip bad" }, "UNFINISHED")] },
      ...splits.map((name) => ({
        key: `split-${name}`,
        label: `${label(metric)}, ${name}`,
        title: METRICS[metric][1],
        numeric: true,
        value: (run) => run.splits[name]?.metrics?.[metric] ?? null,
        show: (run) => score(run.splits[name]?.metrics?.[metric], run.splits[name]?.intervals?.[metric]),
      })),
      runs.length > 1 && { key: "rank", label: "Rank", title: "The ranks that the differences shown below allow", numeric: true, value: (run) => rank(run)?.best ?? null, show: (run) => (rank(run) ? (rank(run).best === rank(run).worst ? rank(run).best : `${rank(run).best}–${rank(run).worst}`) : "no rank") },
      { key: "valid", label: "Valid judgments", numeric: true, value: (run) => run.splits.all?.metrics?.verifier_valid_rate ?? null, show: (run) => percent(run.splits.all?.metrics?.verifier_valid_rate) },
      { key: "cost", label: "Cost", numeric: true, value: (run) => costOf(run)?.usd ?? null, show: (run) => costWords(run) },
    ].filter(Boolean);
    return [
      h("h2", null, runs.length > 1 ? `${TASKS[task]} leaderboard` : TASKS[task]),
      table({ caption: boardCaption(runs, compared, runs.every(rank)), columns, rows: runs, sort: { key: "split-all", descending: true } }),
      runs.length > 1 ? pairs(task, splits) : null,
    ];
  }

  function boardCaption(runs, compared, ranked) {
    if (runs.length < 2) return "Scores with 95 % intervals.";
    const holds = "Scores with 95 % intervals; a rank interval holds every rank that the shown differences allow.";
    if (ranked) return holds;
    if (compared.length > 1) return "Scores with 95 % intervals. No ranks: not all of these runs may be compared with one another (see below).";
    return `${compared.length ? holds : "Scores with 95 % intervals."} No rank: a run that is not finished, or may not be compared with the others (see below).`;
  }

  function pairs(task, splits) {
    const found = head.comparisons.filter((comparison) => comparison.task === task && splits.includes(comparison.split));
    if (!found.length) return h("p", { class: "small" }, "Differences are shown between runs that are complete.");
    return h(
      "details",
      { class: "all-metrics", open: found.some((comparison) => comparison.reason || comparison.pairs.length <= 12) },
      h("summary", null, "Paired differences"),
      found.map((comparison) => {
        if (comparison.reason) return h("p", { class: "callout warn" }, h("b", null, `Not compared: ${comparison.runs.join(", ")}. `), PB.visible(comparison.reason));
        const left = Object.entries(comparison.left_out).filter(([, lost]) => lost);
        const shown = table({
          caption: `Split ${comparison.split}: first minus second, on the ${plural(comparison.problems, "problem")} that all runs have${left.length ? ` (left out: ${left.map(([name, lost]) => `${lost} of ${name}`).join(", ")})` : ""}; p by exchanging runs within problems, adjusted by Holm over the pairs of a metric.`,
          columns: [
            { key: "metric", label: "Metric", show: (row) => label(row.metric) },
            { key: "first", label: "First" },
            { key: "second", label: "Second" },
            { key: "difference", label: "Difference", numeric: true, show: (row) => `${row.difference > 0 ? "+" : ""}${(100 * row.difference).toFixed(1)}` },
            { key: "interval", label: "95 % interval", numeric: true, value: (row) => row.interval?.low, show: (row) => (row.interval ? `${between(row.interval)}${row.interval.mark}` : "–") },
            { key: "p_holm", label: "p (Holm)", numeric: true, show: (row) => (row.p_holm < 0.001 ? "< 0.001" : row.p_holm.toFixed(3)) },
            { key: "verdict", label: "So" },
          ],
          rows: comparison.pairs,
        });
        const warnings = comparison.warnings.length ? h("ul", { class: "small" }, comparison.warnings.map((warning) => h("li", null, PB.visible(warning)))) : null;
        return [shown, warnings];
      }),
    );
  }

  function publishedTable() {
    const { source, rows, differences } = head.published;
    const own = head.runs.flatMap((run) => {
      const value = (split, metric) => run.splits[split]?.metrics?.[metric] ?? null;
      return [
        {
          className: "own",
          model: run.name,
          group: run.task === "prover" ? "your run, judged" : "your run",
          prover_ug: run.task === "prover" ? value("ugd", "pessimistic") : null,
          prover_qe: run.task === "prover" ? value("qe", "pessimistic") : null,
          rough_tpr: value("all", "rough_tpr"),
          rough_tnr: value("all", "rough_tnr"),
          rough_bal_f1: value("all", "rough_bal_f1"),
          meta_tpr: value("all", "meta_ver_tpr"),
          meta_tnr: value("all", "meta_ver_tnr"),
          meta_bal_f1: value("all", "meta_ver_bal_f1"),
        },
      ];
    });
    const names = { prover_ug: "Prover ugd", prover_qe: "Prover qe", rough_tpr: "TPR", rough_tnr: "TNR", rough_bal_f1: "Balanced F1", meta_tpr: "Meta TPR", meta_tnr: "Meta TNR", meta_bal_f1: "Meta bal. F1" };
    const reasons = Object.entries(differences).filter(([, why]) => why.length);
    return h(
      "section",
      { "aria-labelledby": "published" },
      h("h2", { id: "published" }, "Beside the published results"),
      h(
        "div",
        { class: "callout warn", role: "note" },
        h("b", null, "Published numbers are not comparable with yours "),
        "unless prompts, judge, repeats and problems are the published ones. ",
        reasons.length ? h("ul", null, reasons.map(([name, why]) => h("li", null, `${name}: ${why.join("; ")}`))) : "Whether the judge is the published one, you must say.",
      ),
      table({
        caption: `Published: ${source}, without intervals. Your runs are marked.`,
        columns: [
          { key: "model", label: "Model or run", show: (row) => [row.model, " ", h("span", { class: row.className === "own" ? "chip good" : "chip" }, row.className === "own" ? "your run" : "published")] },
          { key: "group", label: "Group" },
          ...Object.entries(names).map(([key, shown]) => ({ key, label: shown, numeric: true, show: (row) => (row[key] === null ? "–" : percent(row[key])) })),
        ],
        rows: [...own, ...rows],
      }),
    );
  }

  // ------------------------------------------------------------ plots

  const axis = { grid: true, nice: false };
  const base = (width, options) => Plot.plot({ className: "plot", width, height: Math.min(360, Math.max(240, width * 0.5)), marginLeft: 48, marginRight: 30, marginBottom: 40, style: { background: "transparent" }, ...options });
  const shares = (options = {}) => ({ domain: [0, 1], tickFormat: (value) => `${Math.round(100 * value)}`, grid: true, ...options });
  const tip = (channels) => ({ tip: { fill: "var(--raised)", stroke: "var(--line)" }, ...channels });

  function plots(run) {
    const sameTask = head.runs.map((entry, at) => ({ run: entry, series: at })).filter(({ run: entry }) => entry.task === run.task && entry.splits[chosen.split]?.plots);
    const scored = Object.keys(run.splits).filter((name) => run.splits[name].plots);
    if (!scored.length) return null;
    const data = run.splits[chosen.split].plots;
    const drawn =
      run.task === "prover"
        ? [repeatsPlot(sameTask, run), passPlot(sameTask, run), costPlot(sameTask), breakdownPlot(run, data), agreementTable(run, data)]
        : [ratesPlot(sameTask), votingPlot(run, data), repeatsPlot(sameTask, run), costPlot(sameTask), breakdownPlot(run, data), confusionPlot(run, data), agreementTable(run, data)];
    return h(
      "section",
      { "aria-labelledby": "plots", id: "plots-section" },
      h(
        "div",
        { class: "heading" },
        h("h2", { id: "plots" }, "Plots"),
        scored.length > 1
          ? h(
              "label",
              { class: "picker" },
              "Split ",
              h("select", { onchange: (event) => ((chosen.split = event.target.value), redrawPlots()) }, scored.map((name) => h("option", { value: name, selected: name === chosen.split }, name))),
            )
          : null,
      ),
      h("p", { class: "small" }, "Bands and bars are 95 % intervals over problems."),
      h("div", { class: "charts" }, drawn.filter(Boolean)),
    );
  }

  function redrawPlots() {
    const fresh = plots(head.runs[chosen.run]);
    const old = document.getElementById("plots-section");
    if (fresh && old) old.replaceWith(fresh);
    document.querySelector("#plots-section select")?.focus();
  }

  const legendOf = (entries) => entries.map(({ run, series }) => ({ label: run.name, series }));
  const low = (row) => range(row.interval)?.[0] ?? row.value;
  const high = (row) => range(row.interval)?.[1] ?? row.value;
  const points = (difference) => (Math.abs(difference) < 0.0005 ? "no change" : `${difference > 0 ? "+" : "−"}${Math.abs(100 * difference).toFixed(1)} points`);

  /* The score with the first 1, 2, ... R judgments: was R needed? */
  function repeatsPlot(entries, run) {
    const prover = run.task === "prover";
    const metric = prover ? "acceptance" : "bal_f1";
    const rule = prover ? "pessimistic" : "majority";
    const rows = entries.flatMap(({ run: entry, series }) =>
      entry.splits[chosen.split].plots.voting
        .filter((row) => row.metric === metric && row.rules.includes(rule) && row.value !== null)
        .map((row) => ({ run: entry.name, series, r: row.r, value: row.value, low: low(row), high: high(row) })),
    );
    const own = rows.filter((row) => row.run === run.name);
    if (own.length < 2) return null;
    const last = own.at(-1);
    const [first, before] = [own[0], own.at(-2)];
    const moved = last.value - before.value;
    const lastOne = Math.abs(moved) < 0.0005 ? "did not change the score" : `changed the score by ${points(moved)}`;
    const says = prover
      ? `One judgment alone would have given ${percent(first.value)}, all ${last.r} give ${percent(last.value)}. The last one ${lastOne}${Math.abs(moved) < 0.005 ? ", so fewer would have done nearly as well" : ", so it still mattered"}.`
      : `A majority of ${last.r} judgments gives a balanced F1 of ${percent(last.value)}, a single one ${percent(first.value)} (${points(last.value - first.value)}). An even r needs more than half.`;
    return chart({
      title: prover ? `Was R = ${last.r} needed? Pessimistic score against r` : "Majority vote against the number of judgments r",
      says: `${run.name}: ${says} Averaged over all choices of r of the R judgments.`,
      rows: rows.map(({ series, ...row }) => row),
      legend: legendOf(entries),
      draw: (width) =>
        base(width, {
          x: { label: "r, judgments a proof", ticks: [...new Set(rows.map((row) => row.r))], tickFormat: "d", grid: false },
          y: shares({ label: prover ? "pessimistic score, %" : "balanced F1, %", domain: zoom(rows) }),
          marks: [
            Plot.areaY(rows, { x: "r", y1: "low", y2: "high", fill: (row) => PB.colour(row.series), z: "run", fillOpacity: 0.16 }),
            Plot.line(rows, { x: "r", y: "value", stroke: (row) => PB.colour(row.series), z: "run", strokeWidth: 2 }),
            Plot.dot(rows, tip({ x: "r", y: "value", fill: (row) => PB.colour(row.series), symbol: (row) => PB.symbol(row.series), r: 4.5, title: (row) => `${row.run}\nr = ${row.r}: ${percent(row.value)}\n${percent(row.low)} to ${percent(row.high)}` })),
          ],
          symbol: { type: "identity" },
          color: { type: "identity" },
        }),
    });
  }

  /* A part of 0..1 that shows differences, never less than 20 points wide. */
  function zoom(rows) {
    const ends = rows.flatMap((row) => [row.low, row.high, row.value]).filter((value) => value !== null && value !== undefined);
    let [from, to] = [Math.min(...ends) - 0.04, Math.max(...ends) + 0.04];
    const spare = 0.2 - (to - from);
    if (spare > 0) [from, to] = [from - spare / 2, to + spare / 2];
    return [Math.max(0, Math.floor(from * 20) / 20), Math.min(1, Math.ceil(to * 20) / 20)];
  }

  function passPlot(entries, run) {
    const rows = entries.flatMap(({ run: entry, series }) => (entry.splits[chosen.split].plots.pass_at_k ?? []).filter((row) => row.value !== null).map((row) => ({ run: entry.name, series, k: row.k, value: row.value, low: low(row), high: high(row) })));
    if (!rows.some((row) => row.k > 1)) return null;
    const own = rows.filter((row) => row.run === run.name);
    return chart({
      title: "pass@k: how much more attempts help",
      says: own.length > 1 ? `${run.name}: with one attempt ${percent(own[0].value)} of the problems are solved, with the best of ${own.at(-1).k} ${percent(own.at(-1).value)}. Unbiased estimate from all samples.` : "Unbiased estimate from all samples.",
      rows: rows.map(({ series, ...row }) => row),
      legend: legendOf(entries),
      draw: (width) =>
        base(width, {
          x: { label: "k, proofs a problem", ticks: [...new Set(rows.map((row) => row.k))], tickFormat: "d", grid: false },
          y: shares({ label: "pass@k, %", domain: zoom(rows) }),
          marks: [
            Plot.areaY(rows, { x: "k", y1: "low", y2: "high", fill: (row) => PB.colour(row.series), z: "run", fillOpacity: 0.16 }),
            Plot.line(rows, { x: "k", y: "value", stroke: (row) => PB.colour(row.series), z: "run", strokeWidth: 2 }),
            Plot.dot(rows, tip({ x: "k", y: "value", fill: (row) => PB.colour(row.series), symbol: (row) => PB.symbol(row.series), r: 4.5, title: (row) => `${row.run}\npass@${row.k}: ${percent(row.value)}\n${percent(row.low)} to ${percent(row.high)}` })),
          ],
          symbol: { type: "identity" },
          color: { type: "identity" },
        }),
    });
  }

  /* Harmonic mean f of x and y: y = f x / (2x - f). */
  function isoCurves() {
    return [0.2, 0.4, 0.6, 0.8].flatMap((f) => Array.from({ length: Math.ceil((1 - f / 2) / 0.005) }, (_, at) => f / 2 + 0.001 + 0.005 * at).map((x) => ({ f, x, y: (f * x) / (2 * x - f) })).filter(({ y }) => y <= 1 && y >= 0));
  }

  function ratesPlot(entries) {
    const rows = entries.flatMap(({ run: entry, series }) => {
      const { metrics, intervals } = entry.splits[chosen.split];
      if (metrics.rough_tpr === null || metrics.rough_tnr === null) return [];
      const ends = (name) => range(intervals?.[name]) ?? [metrics[name], metrics[name]];
      return [{ run: entry.name, series, tpr: metrics.rough_tpr, tpr_low: ends("rough_tpr")[0], tpr_high: ends("rough_tpr")[1], tnr: metrics.rough_tnr, tnr_low: ends("rough_tnr")[0], tnr_high: ends("rough_tnr")[1], bal_f1: metrics.rough_bal_f1 }];
    });
    if (!rows.length) return null;
    const published = chosen.split === "all" && head.published ? head.published.rows : [];
    const curves = isoCurves();
    return chart({
      title: "Leniency against strictness: TPR and TNR",
      says: `Up: wrong proofs are caught. Right: right proofs are let through. Along a grey curve the balanced F1 is the same.${published.length ? " Hollow diamonds are published results, not comparable with yours." : ""}`,
      rows: [...rows.map(({ series, ...row }) => row), ...published.map((row) => ({ run: `${row.model} (published)`, tpr: row.rough_tpr, tnr: row.rough_tnr, bal_f1: row.rough_bal_f1 }))],
      legend: legendOf(entries),
      draw: (width) =>
        base(width, {
          height: Math.min(width, 460),
          x: shares({ label: "TPR, % of right proofs accepted" }),
          y: shares({ label: "TNR, % of wrong proofs rejected" }),
          marks: [
            Plot.line(curves, { x: "x", y: "y", z: "f", stroke: "var(--soft)", strokeOpacity: 0.45, strokeDasharray: "2 3" }),
            Plot.text([0.2, 0.4, 0.6, 0.8].map((f) => ({ f, x: f, y: f })), { x: "x", y: "y", text: (row) => `F1 ${100 * row.f}`, fill: "var(--soft)", stroke: "var(--raised)", strokeWidth: 4 }),
            Plot.dot(published, tip({ x: "rough_tpr", y: "rough_tnr", stroke: "var(--soft)", symbol: "diamond", r: 4, title: (row) => `${row.model} (published)\nTPR ${percent(row.rough_tpr)}, TNR ${percent(row.rough_tnr)}` })),
            Plot.ruleX(rows, { x: "tpr", y1: "tnr_low", y2: "tnr_high", stroke: (row) => PB.colour(row.series), strokeWidth: 2 }),
            Plot.ruleY(rows, { y: "tnr", x1: "tpr_low", x2: "tpr_high", stroke: (row) => PB.colour(row.series), strokeWidth: 2 }),
            Plot.dot(rows, tip({ x: "tpr", y: "tnr", fill: (row) => PB.colour(row.series), symbol: (row) => PB.symbol(row.series), r: 6, title: (row) => `${row.run}\nTPR ${percent(row.tpr)}, TNR ${percent(row.tnr)}\nbalanced F1 ${percent(row.bal_f1)}` })),
          ],
          symbol: { type: "identity" },
          color: { type: "identity" },
        }),
    });
  }

  /* Balanced F1, TPR and TNR of "at least k of R accept". */
  function votingPlot(run, data) {
    const names = { bal_f1: "balanced F1", tpr: "TPR", tnr: "TNR" };
    const largest = run.repeats;
    if (largest < 2) return null;
    const series = { bal_f1: 0, tpr: 2, tnr: 1 };
    const rows = data.voting.filter((row) => row.r === largest && row.value !== null).map((row) => ({ k: row.k, metric: names[row.metric], series: series[row.metric], value: row.value, low: low(row), high: high(row), rules: row.rules.join(" ") }));
    if (!rows.length) return null;
    const best = data.threshold;
    return chart({
      title: `Voting rules: accept when at least k of ${largest} judgments accept`,
      says:
        best && best.value !== null
          ? `${run.name}: chosen by cross-validation, k = ${best.k} gives ${percent(best.value)} on proofs that did not choose it; the majority gives ${percent(best.majority)}, all ${largest} ${percent(best.pessimistic)}.`
          : "The best threshold needs right and wrong proofs of two problems.",
      rows: rows.map(({ series: _, ...row }) => row),
      legend: Object.entries(names).map(([name, shown]) => ({ label: shown, series: series[name] })),
      draw: (width) =>
        base(width, {
          x: { label: `k of ${largest}`, ticks: [...new Set(rows.map((row) => row.k))], tickFormat: "d", grid: false },
          y: shares({ label: "%" }),
          marks: [
            Plot.areaY(rows, { x: "k", y1: "low", y2: "high", z: "metric", fill: (row) => PB.colour(row.series), fillOpacity: 0.12 }),
            Plot.line(rows, { x: "k", y: "value", z: "metric", stroke: (row) => PB.colour(row.series), strokeWidth: 2 }),
            Plot.dot(rows, tip({ x: "k", y: "value", fill: (row) => PB.colour(row.series), symbol: (row) => PB.symbol(row.series), r: 4.5, title: (row) => `at least ${row.k} of ${largest}\n${row.metric} ${percent(row.value)}\n${percent(row.low)} to ${percent(row.high)}` })),
          ],
          symbol: { type: "identity" },
          color: { type: "identity" },
        }),
    });
  }

  function costPlot(entries) {
    const unit = entries[0]?.run.splits[chosen.split].plots.cost_unit;
    const usable = entries.filter(({ run }) => run.splits[chosen.split].plots.cost_unit === unit);
    if (!unit || !usable.length) return null;
    const prover = usable[0].run.task === "prover";
    const [metric, rule] = prover ? ["acceptance", "pessimistic"] : ["bal_f1", "majority"];
    const rows = usable.flatMap(({ run, series }) => run.splits[chosen.split].plots.voting.filter((row) => row.metric === metric && row.rules.includes(rule) && row.value !== null).map((row) => ({ run: run.name, series, r: row.r, cost: row.cost, value: row.value, low: low(row), high: high(row) })));
    if (!rows.length) return null;
    const money = unit === "USD";
    const shown = (cost) => (money ? `$${cost.toPrecision(3)}` : `${number(Math.round(cost))} tokens`);
    return chart({
      title: "Cost against score",
      says: `Each point is a number of judgments r; the cost is that of writing and judging this split at the mean cost of a call, in ${money ? "US dollars" : "tokens (no prices were configured)"}.`,
      rows: rows.map(({ series, cost, ...row }) => ({ ...row, [`cost_${unit.toLowerCase()}`]: cost })),
      legend: legendOf(usable),
      draw: (width) =>
        base(width, {
          x: { label: money ? "cost, US dollars" : "tokens", grid: false, tickFormat: money ? (value) => `$${value}` : "~s", ticks: Math.max(3, Math.round(width / 110)), zero: true },
          y: shares({ label: prover ? "pessimistic score, %" : "balanced F1 of the majority, %", domain: zoom(rows) }),
          marks: [
            Plot.line(rows, { x: "cost", y: "value", z: "run", stroke: (row) => PB.colour(row.series), strokeOpacity: 0.5 }),
            Plot.ruleX(rows, { x: "cost", y1: "low", y2: "high", stroke: (row) => PB.colour(row.series), strokeOpacity: 0.55 }),
            Plot.dot(rows, tip({ x: "cost", y: "value", fill: (row) => PB.colour(row.series), symbol: (row) => PB.symbol(row.series), r: 4.5, title: (row) => `${row.run}\nr = ${row.r}: ${percent(row.value)}\n${shown(row.cost)}` })),
            Plot.text(rows, Plot.selectLast({ x: "cost", y: "value", z: "run", text: (row) => `r = ${row.r}`, dy: -12, fill: "currentColor" })),
          ],
          symbol: { type: "identity" },
          color: { type: "identity" },
        }),
    });
  }

  function breakdownPlot(run, data) {
    const factors = Object.keys(data.breakdown).filter((by) => new Set(data.breakdown[by].map((row) => row.group)).size > 1);
    if (!factors.length) return null;
    if (!factors.includes(chosen.by)) chosen.by = factors[0];
    const metrics = run.task === "prover" ? ["pessimistic"] : ["rough_bal_f1", "rough_tpr", "rough_tnr"];
    const names = { subject: "subject", length: "length of the proof", domain: "domain", severity: "severity of the human's finding", policy: "author of the proof" };
    const found = data.breakdown[chosen.by];
    const metric = metrics.find((name) => found.some((row) => row.metric === name)) ?? found[0].metric;
    const wanted = run.task === "verifier" && chosen.by === "severity" ? ["rough_tpr", "rough_tnr"] : [metric];
    const rows = found.filter((row) => wanted.includes(row.metric)).slice(0, 30).map((row) => ({ group: row.group, metric: row.metric, value: row.value, low: row.interval ? low(row) : null, high: row.interval ? high(row) : null, proofs: row.proofs, problems: row.problems, note: row.note ?? "" }));
    const small = rows.some((row) => row.note);
    const figure = chart({
      title: `By ${names[chosen.by]}`,
      says: `${run.name}, ${wanted.map(label).join(" or ")}.${small ? " Hollow points: fewer than 10 problems, no interval and no conclusion." : ""}`,
      rows,
      draw: (width) => {
        const longest = Math.max(...rows.map((row) => row.group.length));
        const margin = Math.min(width * 0.42, 30 + 6.4 * Math.min(longest, 34));
        return base(width, {
          marginLeft: margin,
          height: 64 + 26 * rows.length,
          x: shares({ label: "%" }),
          y: { label: null, domain: rows.map((row) => row.group), tickSize: 0, tickFormat: (name) => (name.length > 34 ? `${name.slice(0, 33)}…` : name) },
          marks: [
            Plot.ruleY(rows, { y: "group", x1: 0, x2: 1, stroke: "var(--line)" }),
            Plot.ruleY(rows.filter((row) => row.low !== null), { y: "group", x1: "low", x2: "high", stroke: "var(--series-1)", strokeWidth: 3, strokeOpacity: 0.55, strokeLinecap: "round" }),
            Plot.dot(rows, tip({ y: "group", x: "value", r: 4.5, fill: (row) => (row.note ? "var(--raised)" : "var(--series-1)"), stroke: "var(--series-1)", strokeWidth: 1.5, title: (row) => `${row.group}\n${label(row.metric)} ${percent(row.value)}${row.low === null ? "" : `\n${percent(row.low)} to ${percent(row.high)}`}\n${plural(row.proofs, "proof")}, ${plural(row.problems, "problem")}` })),
          ],
          color: { type: "identity" },
        });
      },
    });
    const picker = h(
      "label",
      { class: "picker" },
      "Break down by ",
      h(
        "select",
        {
          onchange: (event) => {
            chosen.by = event.target.value;
            const fresh = breakdownPlot(run, data);
            figure.replaceWith(fresh);
            fresh.querySelector("select").focus();
          },
        },
        factors.map((by) => h("option", { value: by, selected: by === chosen.by }, names[by])),
      ),
    );
    figure.querySelector("figcaption").append(picker);
    return figure;
  }

  function confusionPlot(run, data) {
    const { annotated, reported, counts } = data.confusion;
    const deep = reported.length > 16 ? 12 : Infinity; // steps from here on share a row and a column
    const name = (step) => (step === "-1" ? "none" : Number(step) >= deep ? `${deep}+` : step);
    const cells = new Map(); // "annotated reported" -> judgments
    const of = new Map(); // annotated -> judgments
    annotated.forEach((row, i) =>
      reported.forEach((column, j) => {
        const key = JSON.stringify([name(row), name(column)]);
        cells.set(key, (cells.get(key) ?? 0) + counts[i][j]);
        of.set(name(row), (of.get(name(row)) ?? 0) + counts[i][j]);
      }),
    );
    const rows = [...cells].map(([key, judgments]) => ({ annotated: JSON.parse(key)[0], reported: JSON.parse(key)[1], judgments }));
    const present = [...of.keys()].filter((row) => of.get(row) > 0);
    const columns = [...new Set(reported.map(name))].filter((column) => present.includes(column) || rows.some((row) => row.reported === column && row.judgments > 0));
    const shown = rows.filter((row) => present.includes(row.annotated) && columns.includes(row.reported)).map((row) => ({ ...row, share: row.judgments / of.get(row.annotated) }));
    if (!shown.length) return null;
    return chart({
      title: "Where the first error is: reported against annotated",
      says: `${run.name}: each row is the human's first wrong step, shaded by the share of that row's judgments; the diagonal is agreement. "none": no error.`,
      rows: shown.map(({ share, ...row }) => row),
      draw: (width) =>
        base(width, {
          height: 70 + 24 * present.length,
          marginLeft: 60,
          x: { label: "reported by the judge", domain: columns, tickSize: 0, tickFormat: (step) => (step === "invalid" && width < 480 ? "inv." : step) },
          y: { label: "annotated", domain: present, tickSize: 0 },
          marks: [
            Plot.cell(shown, tip({ x: "reported", y: "annotated", fill: "var(--heat)", fillOpacity: (row) => 0.04 + 0.86 * row.share, inset: 0.5, title: (row) => `annotated ${row.annotated}, reported ${row.reported}\n${row.judgments} of ${of.get(row.annotated)} judgments (${percent(row.share)})` })),
            Plot.cell(shown.filter((row) => row.annotated === row.reported && !row.annotated.endsWith("+")), { x: "reported", y: "annotated", stroke: "var(--soft)", inset: 0.5 }),
            Plot.text(shown.filter((row) => row.judgments), { x: "reported", y: "annotated", text: "judgments", fontSize: 11, fill: (row) => (row.share > 0.45 ? "var(--paper)" : "var(--ink)") }),
          ],
          opacity: { type: "identity" },
          color: { type: "identity" },
        }),
    });
  }

  function agreementTable(run, data) {
    const groups = [["between repeats", data.agreement], ["with people", data.human_agreement]].filter(([, rows]) => rows?.length);
    if (!groups.length) return null;
    const views = { accept: "right or wrong", step: "same step", step_within_1: "step, ± 1" };
    const measures = { raw_agreement: "Raw agreement", fleiss_kappa: "Fleiss' kappa", krippendorff_alpha: "Krippendorff's alpha", cohen_kappa: "Cohen's kappa" };
    const rows = groups.flatMap(([between_, found]) => found.map((row) => ({ ...row, between: between_ })));
    return h(
      "figure",
      { class: "chart whole" },
      h("figcaption", null, h("h3", null, "How far judgments agree")),
      table({
        caption: ["1 is full agreement; 0, for kappa and alpha, is chance. Invalid judgments are left out.", ...footnotes(rows.map((row) => row.interval))].join(" "),
        columns: [
          { key: "measure", label: "Measure", show: (row) => measures[row.measure] },
          { key: "between", label: "Agreement" },
          { key: "on", label: "On", show: (row) => views[row.on] },
          { key: "value", label: "Value", numeric: true, show: (row) => (row.value === null ? h("span", { title: row.reason }, "–") : h("span", null, row.value.toFixed(2), row.interval ? h("span", { class: "ends", title: aboutInterval(row.interval) }, ` [${row.interval.low.toFixed(2)}, ${row.interval.high.toFixed(2)}]${row.interval.mark}`) : "")) },
          { key: "n", label: "Proofs", numeric: true },
        ],
        rows,
      }),
      h("p", { class: "below" }, copyButton("Copy the numbers as CSV", () => PB.csv(rows.map(({ measure, between: of, on, value, interval, n, left_out }) => ({ measure, between: of, on, value, low: interval?.low ?? null, high: interval?.high ?? null, n, left_out }))))),
    );
  }

  // ------------------------------------------------------------ what was run

  const costOf = (run) => {
    const roles = Object.values(run.calls).filter((role) => role.cost_usd !== undefined);
    return roles.length ? { usd: roles.reduce((sum, role) => sum + role.cost_usd, 0), atLeast: roles.some((role) => role.cost_is_at_least) || roles.length < Object.keys(run.calls).length } : null;
  };
  const tokensOf = (run) => Object.values(run.usage).reduce((sum, role) => sum + (role.input ?? 0) + (role.output ?? 0), 0);
  const costWords = (run) => {
    const cost = costOf(run);
    if (cost) return `${cost.atLeast ? "at least " : ""}$${cost.usd < 1 ? cost.usd.toFixed(4) : cost.usd.toFixed(2)}`;
    return tokensOf(run) ? `${number(tokensOf(run))} tokens` : "–";
  };
  const duration = (seconds) => (seconds >= 5400 ? `${(seconds / 3600).toFixed(1)} h` : seconds >= 90 ? `${(seconds / 60).toFixed(1)} min` : `${seconds.toFixed(1)} s`);
  const hash = (digest) => (digest ? h("code", { title: digest }, digest.slice(0, 12)) : "–");

  function details(run) {
    const facts = [
      ["Run", [h("code", { title: run.run_id }, run.run_id.slice(0, 16) || "–"), copyButton("Copy the run's id", () => run.run_id)]],
      ["Data", [plural(run.rows, "row"), run.domain ? `, domain ${run.domain}` : "", run.limit ? `, first ${run.limit}` : "", run.shard ? `, shard ${run.shard}` : "", ", SHA-256 ", hash(run.data_sha256)]],
      run.proofs_sha256 ? ["Given proofs", ["SHA-256 ", hash(run.proofs_sha256)]] : null,
      ["Protocol", `${run.protocol}; reference solution ${run.use_reference_solution ? "shown" : "not shown"} to the judge; neutralising ${run.neutralise ? "on" : "off"}`],
      ["Dates", run.sessions.length ? run.sessions.map((session) => h("div", null, `${session.start.slice(0, 19).replace("T", " ")} to ${session.end.slice(0, 19).replace("T", " ")} UTC: ${number(session.calls)} answered${session.unanswered ? `, ${number(session.unanswered)} unanswered` : ""}${session.stop ? `; ${session.stop}` : ""}`)) : "–"],
      ["Time", run.seconds ? duration(run.seconds) : "–"],
      ["Cost", costWords(run)],
      run.imported
        ? ["Imported", [`from the published evaluator ${run.imported.evaluator_version ?? ""}; its run `, hash(run.imported.run_id), ", its code ", hash(run.imported.code_sha256), ". It keeps no times of calls."]]
        : null,
      ["Made with", [run.tool ?? "–", `; scored by ${run.scored_by}; page by ${head.made_by}`]],
    ].filter(Boolean);
    return h(
      "section",
      { "aria-labelledby": "details" },
      h("h2", { id: "details" }, "What was run"),
      table({
        caption: "The roles",
        sortable: false,
        columns: [
          { key: "role", label: "Role" },
          { key: "model", label: "Model" },
          { key: "kind", label: "Kind" },
          { key: "generation", label: "Generation", show: (row) => h("code", null, Object.entries(row.generation).map(([key, value]) => `${key} = ${JSON.stringify(value)}`).join(", ") || "defaults") },
          { key: "prompt", label: "Prompt", show: (row) => (row.prompt_sha256 ? [hash(row.prompt_sha256), row.own_prompt ? " proverbench's own" : run.imported ? "" : " your own"] : "–") },
          { key: "calls", label: "Answered", numeric: true, show: (row) => number(run.calls[row.role]?.calls ?? 0) },
          { key: "tokens", label: "Tokens in / out", numeric: true, show: (row) => (run.usage[row.role] ? `${number(run.usage[row.role].input ?? 0)} / ${number(run.usage[row.role].output ?? 0)}` : "–") },
          { key: "latency", label: "Mean / longest", numeric: true, show: (row) => (run.calls[row.role]?.latency_max_s ? `${duration(run.calls[row.role].latency_s / run.calls[row.role].calls)} / ${duration(run.calls[row.role].latency_max_s)}` : "–") },
        ],
        rows: run.roles,
      }),
      h("dl", { class: "facts" }, facts.flatMap(([term, fact]) => [h("dt", null, term), h("dd", null, fact)])),
    );
  }

  // ------------------------------------------------------------ the reader

  let reader = null; // {list, pane, shown: filtered items, at: index in shown}

  const ROW = 60; // pixels a row of the list is high (report.css)

  function openReader() {
    if (reader) return reader;
    const selects = {};
    const pick = (name, options, title) => {
      if (options.length < 2) return null;
      selects[name] = h("select", { "aria-label": title, onchange: (event) => apply({ [name]: event.target.value }) }, options.map(([value, shown]) => h("option", { value }, shown)));
      return selects[name];
    };
    const distinct = (values) => [...new Set(values)].filter((value) => value !== "").sort();
    const reasons = distinct([...head.index.reasons, ...items.flatMap((item) => item.runs.map(([, why]) => why ?? ""))]).filter((reason) => reason !== "pending");
    const named = (of) => Object.entries(of).map(([value, [shown]]) => [value, shown]);
    const search = h("input", { type: "search", placeholder: head.files ? "Search names, openings, this part  ( / )" : "Search texts  ( / )", "aria-label": "Search in problems, proofs and judgments", oninput: debounce((event) => apply({ text: event.target.value.trim() }), 250) });
    const hits = h("p", { class: "hits", role: "status" });
    const rows = h("ol", { class: "rows", "aria-label": "Proofs" });
    const scroller = h("div", { class: "scroller", onscroll: () => drawRows() }, rows);
    const list = h(
      "div",
      { class: "list" },
      h(
        "form",
        { class: "filters", role: "search", "aria-label": "Filter the proofs", onsubmit: (event) => event.preventDefault() },
        search,
        head.files ? h("p", { class: "small where" }, "Ids and openings are searched in all parts; whole texts only in the part that is open.") : null,
        pick("show", named(SHOWN), "Which proofs"),
        pick("human", items.some((item) => item.label !== null) ? named(HUMAN) : [], "Human verdict"),
        pick("reason", reasons.length ? [["", "Any reason"], ...reasons.map((reason) => [reason, `Invalid: ${reason}`])] : [], "Why invalid"),
        pick("run", head.runs.length > 1 ? [["", "Every run"], ...head.runs.map((run) => [run.name, run.name])] : [], "Run"),
        pick("domain", distinct(items.map((item) => item.domain)).length > 1 ? [["", "Every domain"], ...distinct(items.map((item) => item.domain)).map((name) => [name, name])] : [], "Domain"),
        pick("subject", distinct(items.map((item) => item.subject)).length > 1 ? [["", "Every subject"], ...distinct(items.map((item) => item.subject)).map((name) => [name, name])] : [], "Subject"),
      ),
      h("div", { class: "hits-line" }, hits, h("button", { type: "button", class: "quiet", onclick: () => apply({ ...NO_FILTER }) }, "Clear")),
      scroller,
    );
    const pane = h("div", { class: "pane" });
    const toggle = h("button", { type: "button", class: "toggle", "aria-expanded": "false", onclick: () => showList(!node.classList.contains("with-list")) }, "List and filters");
    const node = h("div", { class: "reader" }, toggle, list, pane);
    const showList = (yes) => {
      node.classList.toggle("with-list", yes);
      toggle.setAttribute("aria-expanded", String(yes));
      if (yes) drawRows();
    };
    reader = { node, list, pane, selects, search, hits, rows, scroller, showList, shown: [], nodes: new Map(), current: null };
    new ResizeObserver(() => drawRows()).observe(scroller);
    return reader;
  }

  function debounce(action, milliseconds) {
    let timer;
    return (event) => {
      clearTimeout(timer);
      timer = setTimeout(action, milliseconds, event);
    };
  }

  /* Change the filter; the address follows, so that a filtered list can be linked. */
  function apply(changed) {
    const next = { ...filter, ...changed };
    if (JSON.stringify(next) === JSON.stringify(filter)) return;
    history.replaceState(null, "", addressOfList(next));
    route();
  }

  function readFilter(query) {
    const given = Object.fromEntries(new URLSearchParams(query));
    const next = { ...NO_FILTER };
    for (const name of Object.keys(NO_FILTER)) if (given[name] !== undefined) next[name] = given[name];
    if (!SHOWN[next.show]) next.show = "";
    if (!HUMAN[next.human]) next.human = "";
    return next;
  }

  let searching = false;
  let searches = 0;

  function refresh() {
    const { selects, search, hits } = reader;
    for (const [name, select] of Object.entries(selects)) select.value = filter[name];
    if (document.activeElement !== search) search.value = filter.text;
    reader.shown = items.filter(matches);
    reader.nodes.clear();
    reader.rows.replaceChildren();
    hits.textContent = `${number(reader.shown.length)} of ${number(items.length)} proofs${filter.text && searching ? ", searching…" : ""}`;
    drawRows();
  }

  /* Look through the texts, chunk by chunk, while the browser stays free. */
  async function searchTexts() {
    const wanted = filter.text;
    const mine = ++searches;
    searched = new Set();
    searching = wanted !== "";
    if (!searching) return;
    const chunks = [...new Set(items.map((item) => item.chunk))];
    let unseen = 0;
    for (const number_ of chunks) {
      if (head.files && !(await PB.has(number_))) {
        if (mine !== searches) return;
        unseen += 1;
        continue;
      }
      const content = await PB.chunk(number_, head.version);
      if (mine !== searches) return;
      for (const item of items) {
        if (item.chunk !== number_ || searched.has(item)) continue;
        const proof = content.proofs[item.place];
        if (contains(JSON.stringify([content.problems[item.problem], { ...proof, runs: proof.runs.map((run) => ({ ...run, prompt: null })) }]))) searched.add(item);
      }
      refresh();
      await new Promise((go) => setTimeout(go));
    }
    if (mine !== searches) return;
    searching = false;
    refresh();
    if (unseen) reader.hits.textContent += " (whole texts: of this part only)";
  }

  /* Only the rows in sight exist; those that stay in sight are kept, and the focus with them. */
  function drawRows() {
    const { scroller, rows, shown, current, nodes } = reader;
    const from = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 6);
    const to = Math.min(shown.length, Math.ceil((scroller.scrollTop + (scroller.clientHeight || 600)) / ROW) + 6);
    rows.style.height = `${shown.length * ROW}px`;
    for (const [at, node] of nodes) {
      if (at >= from && at < to) continue;
      node.remove();
      nodes.delete(at);
    }
    let next = null;
    for (let at = to - 1; at >= from; at -= 1) {
      if (!nodes.has(at)) nodes.set(at, rows.insertBefore(row(shown[at], at), next));
      next = nodes.get(at);
      if (shown[at] === current) next.firstChild.setAttribute("aria-current", "true");
      else next.firstChild.removeAttribute("aria-current");
    }
  }

  function row(item, at) {
    const runs = ofRuns(item, filter.run);
    return h(
      "li",
      { style: { top: `${at * ROW}px` }, "aria-posinset": at + 1, "aria-setsize": reader.shown.length },
      h(
        "a",
        { href: address(item, runs[0][0]) },
        h("span", { class: "name" }, name(item)),
        h("span", { class: "below-name" }, humanSays(item), runs.map((run) => strip(run, true)), h("span", { class: "opening" }, item.opening)),
      ),
    );
  }

  const name = (item) => (item.task === "prover" ? `${item.problemId}${head.runs.some((run) => run.samples > 1) ? ` #${item.sample}` : ""}` : item.key);

  function humanSays(item) {
    if (item.label === null) return null;
    const said = item.label === -1 ? "Human: right" : `Human: first error at step ${item.label}`;
    return h("span", { class: "human-says", role: "img", title: said, "aria-label": said }, item.label === -1 ? "✓" : String(item.label));
  }

  function reveal(item) {
    const at = reader.shown.indexOf(item);
    const { scroller } = reader;
    if (at < 0 || !scroller.clientHeight) return;
    const top = at * ROW;
    if (top < scroller.scrollTop || top + ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top - scroller.clientHeight / 2;
  }

  function step(by) {
    if (!reader?.node.isConnected) return;
    const at = reader.shown.indexOf(reader.current);
    const next = reader.shown[at < 0 ? 0 : at + by];
    if (next) location.hash = address(next, ofRuns(next, filter.run)[0][0]);
    else PB.announce(by > 0 ? "This is the last proof of the list" : "This is the first proof of the list");
  }

  // ------------------------------------------------------------ one proof

  async function showProof(item, runNumber, repeat) {
    const changed = reader.current !== item;
    reader.current = item;
    reader.showList(false);
    drawRows();
    reveal(item);
    if (head.files && !(await PB.has(item.chunk))) {
      if (reader.current !== item || !reader.node.isConnected) return; // somebody went elsewhere meanwhile
      const file = head.files.find(([, from, to]) => item.chunk >= from && item.chunk < to)[0];
      location.href = file + location.hash;
      return;
    }
    let content;
    try {
      content = await PB.chunk(item.chunk, head.version);
    } catch (error) {
      if (reader.current !== item) return;
      reader.pane.replaceChildren(h("p", { class: "callout bad" }, `This proof could not be read: ${error.message}`));
      return;
    }
    if (reader.current !== item) return;
    if (changed || !reader.pane.firstChild) {
      walking();
      reader.pane.replaceChildren(...proofView(item, content.problems[item.problem], content.proofs[item.place]));
      window.scrollTo(0, 0);
    }
    select(item, runNumber, repeat);
    PB.settle(80);
  }

  /* While somebody walks from proof to proof, the MathML that stands beside each formula for screen readers is not laid
     out, which takes a quarter of the time; it is as soon as one stays for a moment. */
  const stays = debounce(() => reader.pane.classList.remove("walking"), 400);
  function walking() {
    reader.pane.classList.add("walking");
    stays();
  }

  function proofView(item, problem, proof) {
    const at = reader.shown.indexOf(item);
    const annotation = proof.annotation;
    const flags = flagsOf(item, annotation);
    const policy = proof.runs.find((run) => run.policy)?.policy;
    const heading = h(
      "div",
      { class: "proof-heading" },
      h("h2", null, name(item)),
      h("span", { class: "position" }, at < 0 ? "" : `${number(at + 1)} of ${number(reader.shown.length)}`),
      h(
        "span",
        { class: "walk" },
        h("button", { type: "button", "aria-label": "Previous proof (k)", title: "Previous proof (k or ←)", disabled: at <= 0, onclick: () => step(-1) }, "←"),
        h("button", { type: "button", "aria-label": "Next proof (j)", title: "Next proof (j or →)", disabled: at >= reader.shown.length - 1, onclick: () => step(1) }, "→"),
      ),
      copyButton("Copy the link", () => location.href),
      h("div", { class: "tags" }, [item.domain, item.subject, item.policy && `by ${item.policy}`, plural(item.steps, "step")].filter(Boolean).map((tag) => h("span", { class: "chip" }, tag))),
    );
    const left = h(
      "div",
      { class: "left" },
      h("section", { class: "sheet" }, h("h3", null, "Problem"), text(problem.text)),
      problem.reference || problem.answer
        ? h(
            "details",
            { class: "sheet", ontoggle: once(() => PB.settle(60)) },
            h("summary", null, h("h3", null, "Reference solution")),
            problem.reference ? text(problem.reference) : null,
            problem.answer ? h("p", { class: "small" }, "Answer: ", text(problem.answer, { tag: "span" })) : null,
          )
        : null,
      h(
        "section",
        { class: "sheet" },
        h("h3", null, "Proof"),
        proof.steps?.length
          ? h("ol", { class: "steps" }, proof.steps.map((content, index) => stepView(content, index, flags.get(index) ?? [])))
          : h("p", { class: "small" }, "There is no proof that could be read."),
        policy ? calls(policy, "the policy's") : null,
      ),
    );
    const right = h(
      "div",
      { class: "right", tabindex: 0, role: "region", "aria-label": "Judgments of this proof" },
      annotation ? annotationView(annotation) : h("p", { class: "small" }, "No person has annotated this proof."),
      item.runs.map((run) => runView(item, run, proof.runs.find((judgedBy) => judgedBy.run === run[0]))),
    );
    return [heading, h("div", { class: "sides" }, left, right)];
  }

  /* Step -> who finds the first error there: [{className, label}]. */
  function flagsOf(item, annotation) {
    const flags = new Map();
    const add = (stepNumber, flag) => flags.set(stepNumber, [...(flags.get(stepNumber) ?? []), flag]);
    if (annotation) {
      if (annotation.fatal >= 0) add(annotation.fatal, { className: "human", label: "human: fatal error" });
      for (const stepNumber of annotation.recoverable) add(stepNumber, { className: "human", label: "human: recoverable error" });
    }
    for (const [run, , marks] of item.runs) {
      const prefix = item.runs.length > 1 ? `${head.runs[run].name} ` : "";
      marks.forEach((mark, repeat) => mark >= 0 && add(mark, { className: "reject", label: `${prefix}judgment ${repeat}`, run, repeat }));
    }
    return flags;
  }

  function stepView(content, index, flags) {
    const human = flags.filter((flag) => flag.className === "human");
    const judges = flags.filter((flag) => flag.className === "reject");
    return h(
      "li",
      { id: `step-${index}`, class: [flags.length ? "flagged" : "", human.length ? "by-human" : "", judges.length ? "by-judge" : ""].join(" ") },
      h("span", { class: "step-number", title: `Step ${index} (steps are counted from 0)` }, index),
      h(
        "div",
        null,
        text(content.replace(/^\s*\n/, "")),
        flags.length
          ? h(
              "p",
              { class: "flags" },
              human.map((flag) => h("span", { class: "flag human" }, flag.label)),
              judges.length
                ? h("span", { class: "flag reject" }, "first wrong step for ", judges.map((flag, at) => [at ? ", " : "", h("a", { href: address(reader.current, flag.run, flag.repeat) }, flag.label)]))
                : null,
            )
          : null,
      ),
    );
  }

  function annotationView(annotation) {
    const verdict = annotation.correct ? "right: no error found" : annotation.fatal >= 0 ? `wrong: fatal error at step ${annotation.fatal}` : "not right: recoverable errors only";
    return h(
      "section",
      { class: "sheet human" },
      h("h3", null, "Human annotation"),
      h("p", null, h("b", null, verdict), annotation.recoverable.length ? `; recoverable at ${annotation.recoverable.map((stepNumber) => `step ${stepNumber}`).join(", ")}` : "", annotation.first >= 0 ? `; first error at step ${annotation.first}` : ""),
      annotation.comment ? text(annotation.comment) : null,
      annotation.reason ? [h("h4", null, "Why the first error is one"), text(annotation.reason)] : null,
      annotation.remark ? [h("h4", null, "Remark"), text(annotation.remark)] : null,
    );
  }

  function runView(item, [runNumber, why, marks], shown) {
    const run = head.runs[runNumber];
    const given = shown?.judgments ?? [];
    return h(
      "section",
      { class: "judgments", "aria-label": `Judgments of ${run.name}` },
      h("h3", null, head.runs.length > 1 ? run.name : "Judgments", h("span", { class: "of" }, `${roleOf(run, "verifier").model}`)),
      why
        ? h("p", { class: "callout bad" }, why === "pending" ? "The policy has not answered yet." : ["No valid proof, so nothing was judged and it scores 0: ", h("b", null, why)])
        : h(
            "div",
            { class: "big-strip" },
            marks.map((mark, repeat) =>
              h("a", { class: `mark ${kind(mark)}`, href: mark === MISSING ? null : address(item, runNumber, repeat), title: `Judgment ${repeat} ${words(mark)}`, "aria-label": `Judgment ${repeat} ${words(mark)}` }, sign(mark)),
            ),
            h("span", { class: "small" }, tally(marks)),
            shown?.neutralised ? h("p", { class: "small" }, `${shown.neutralised} tags in the texts were neutralised for the judge; you see the original.`) : null,
          ),
      given.map((judgment) => judgmentView(item, runNumber, judgment, shown, marks)),
    );
  }

  const fillers = new WeakMap(); // a judgment's element -> what gives it its content, once it is wanted

  function openJudgment(node) {
    fillers.get(node)();
    node.open = true;
  }

  function judgmentView(item, runNumber, judgment, shown, marks) {
    const mark = marks[judgment.repeat];
    const open = () =>
      h(
        "div",
        { class: "body" },
        judgment.valid ? [h("h4", null, "Assessment"), text(judgment.assessment)] : h("p", null, "This reply could not be read as a verdict: ", h("b", null, judgment.reason), ". It counts as no acceptance, and as no rejection either."),
        judgment.errors.length
          ? [h("h4", null, judgment.errors.length > 1 ? "Errors" : "Error"), judgment.errors.length > 1 ? h("ol", { class: "errors" }, judgment.errors.map((error) => h("li", null, text(error)))) : text(judgment.errors[0])]
          : null,
        judgment.meta ? metaView(judgment.meta) : null,
        calls({ ...judgment, prompt: shown.prompt }, "the judge's"),
      );
    const agrees = item.label === null || !judgment.valid ? null : (judgment.step === -1) === (item.label === -1) ? (judgment.step === item.label ? "agrees with the human" : "another step than the human") : "against the human";
    const node = h(
      "details",
      { class: `judgment ${kind(mark)}`, id: `judgment-${runNumber}-${judgment.repeat}` },
      h(
        "summary",
        null,
        h("span", { class: `mark ${kind(mark)}`, "aria-hidden": "true" }, sign(mark)),
        h("span", { class: "title" }, `Judgment ${judgment.repeat} ${words(mark)}`),
        judgment.meta ? h("span", { class: "chip" }, judgment.meta.level ?? `meta: ${judgment.meta.reason}`) : null,
        agrees ? h("span", { class: agrees === "agrees with the human" ? "chip" : "chip human" }, agrees) : null,
      ),
    );
    const fill = () => {
      if (!node.querySelector(".body")) node.append(open());
    };
    fillers.set(node, fill);
    node.addEventListener("toggle", () => {
      if (!node.open) return;
      fill();
      PB.settle(40);
    });
    return node;
  }

  function metaView(meta) {
    return h("div", { class: "meta" }, h("h4", null, "Meta-verifier"), h("p", null, meta.level ? h("b", null, meta.level) : ["no level: ", h("b", null, meta.reason)]), meta.reply === null || meta.reply === undefined ? null : calls(meta, "the meta-verifier's"));
  }

  /* The exact prompt and reply, one click away. */
  function calls(call, whose) {
    const facts = [call.model, call.finish && `finish ${call.finish}`, call.refused && `refused: ${call.refused}`, call.seconds ? `${call.seconds} s` : null, call.at ? `${call.at.slice(0, 19).replace("T", " ")} UTC` : null, tokensWords(call.usage)].filter(Boolean).join(" · ");
    const views = [
      [`Prompt`, call.prompt, "This run does not hold the prompt."],
      [`Reply`, call.reply, "There is no reply."],
      [`Reasoning`, call.reasoning, null],
    ].filter(([, content, absent]) => content || absent);
    const body = h("div");
    const buttons = views.map(([title, content, absent]) =>
      h(
        "button",
        {
          type: "button",
          "aria-expanded": "false",
          "aria-label": `${title}: ${whose} exact text`,
          onclick: (event) => {
            const was = event.currentTarget.getAttribute("aria-expanded") === "true";
            buttons.forEach((button) => button.setAttribute("aria-expanded", "false"));
            body.replaceChildren();
            if (was) return;
            event.currentTarget.setAttribute("aria-expanded", "true");
            body.append(content ? raw(content) : h("p", { class: "small" }, absent), content ? copyButton("Copy", () => content) : "");
          },
        },
        title,
      ),
    );
    return h("div", { class: "calls" }, h("div", { class: "buttons" }, buttons, h("span", { class: "small" }, facts)), body);
  }

  const tokensWords = (usage) => {
    const output = usage?.completion_tokens ?? usage?.output_tokens;
    return typeof output === "number" ? `${number(output)} tokens` : null;
  };

  const once = (action) => {
    let done = false;
    return () => {
      if (!done) action();
      done = true;
    };
  };

  /* Open the wanted judgment; without one, those that tell most: the first that accepts and the first that rejects. */
  function select(item, runNumber, repeat) {
    for (const old of reader.pane.querySelectorAll(".chosen")) old.classList.remove("chosen");
    const node = (run, at) => document.getElementById(`judgment-${run}-${at}`);
    if (repeat !== null) {
      const wanted = node(runNumber, repeat);
      if (!wanted) return;
      openJudgment(wanted);
      wanted.classList.add("chosen");
      const mark = item.runs.find(([run]) => run === runNumber)?.[2][repeat];
      const wrong = mark >= 0 ? document.getElementById(`step-${mark}`) : null;
      wrong?.classList.add("chosen");
      // On a narrow screen proof and judgments share one column, and only the judgment can be shown.
      if (!matchMedia("(max-width: 1250px)").matches) wrong?.scrollIntoView({ block: "nearest" });
      wanted.scrollIntoView({ block: wanted.offsetHeight > innerHeight / 2 ? "start" : "nearest" });
      return;
    }
    for (const [run, , marks] of item.runs) {
      const telling = ["accept", "reject"].map((wanted) => marks.findIndex((mark) => kind(mark) === wanted)).filter((at) => at >= 0);
      for (const at of telling.length ? telling : [0]) if (node(run, at)) openJudgment(node(run, at));
    }
  }

  // ------------------------------------------------------------ addresses and keys

  let routes = 0;
  async function route() {
    const mine = ++routes;
    document.documentElement.dataset.ready = "no";
    await show();
    if (mine === routes) document.documentElement.dataset.ready = "yes";
  }

  async function show() {
    const hash_ = location.hash.replace(/^#/, "");
    const [path, query = ""] = hash_.split("?");
    const parts = path.split("/").filter(Boolean).map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
    for (const link of document.querySelectorAll("header nav a")) {
      const there = link.getAttribute("href") === (parts[0] === "proofs" || parts[0] === "proof" ? "#/proofs" : "#/");
      if (there) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (parts[0] === "proofs" || parts[0] === "proof") {
      openReader();
      if (!reader.node.isConnected) main.replaceChildren(reader.node);
      if (parts[0] === "proofs") {
        const before = filter.text;
        filter = readFilter(query);
        if (filter.text !== before) searchTexts();
        refresh();
        if (reader.shown.length && !narrow()) await showFirst();
        else {
          reader.current = null;
          reader.pane.replaceChildren(h("p", { class: "small" }, reader.shown.length ? "Choose a proof." : "No proof matches these filters."));
          reader.showList(true);
        }
        return;
      }
      const runNumber = head.runs.findIndex((run) => run.name === parts[1]);
      const item = byPlace.get(place(runNumber, parts[2]));
      if (!reader.shown.length) refresh();
      if (!item) {
        reader.pane.replaceChildren(h("p", { class: "callout bad" }, `This page has no proof ${parts[2] ?? ""} in a run ${parts[1] ?? ""}.`));
        return;
      }
      if (!matches(item)) {
        filter = { ...NO_FILTER };
        refresh();
      }
      await showProof(item, runNumber, /^\d+$/.test(parts[3] ?? "") ? Number(parts[3]) : null);
      return;
    }
    main.replaceChildren(overview(parts[0] === "run" ? parts[1] : undefined));
    if (parts[0] === "run") document.getElementById("glance").closest("section").scrollIntoView(); // below a leaderboard
  }

  const narrow = () => matchMedia("(max-width: 900px)").matches;

  /* A filtered list shows its first proof, without an entry of its own in the history. */
  function showFirst() {
    const item = reader.shown.includes(reader.current) ? reader.current : reader.shown[0];
    return showProof(item, ofRuns(item, filter.run)[0][0], null);
  }

  function onKey(event) {
    // A dialog that was closed may keep the focus until the next frame is drawn.
    const typing = event.target.closest?.("input, select, textarea, dialog[open]");
    if (event.key === "Escape" && event.target === reader?.search) event.target.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const reading = reader?.node.isConnected;
    const actions = {
      j: () => step(1),
      ArrowRight: () => step(1),
      k: () => step(-1),
      ArrowLeft: () => step(-1),
      "/": () => {
        if (!reading) {
          openReader();
          main.replaceChildren(reader.node);
          location.hash = "#/proofs";
        }
        reader.showList(true);
        reader.search.focus();
      },
      "?": () => tools.help(),
      o: () => (location.hash = "#/"),
      p: () => (location.hash = "#/proofs"),
      e: () => {
        const all = [...reader.pane.querySelectorAll("details.judgment")];
        const open = all.some((node) => !node.open);
        for (const node of all) node.open = open;
      },
    };
    if (/^[0-9]$/.test(event.key) && reading && reader.current) {
      const run = ofRuns(reader.current, filter.run)[0];
      if (Number(event.key) < run[2].length) location.hash = address(reader.current, run[0], Number(event.key));
    } else if (actions[event.key] && (reading || !["j", "k", "e", "ArrowRight", "ArrowLeft"].includes(event.key))) {
      event.preventDefault();
      actions[event.key]();
    }
  }

  const KEYS = [
    ["j or →", "next proof"], ["k or ←", "previous proof"], ["0 … 9", "open that judgment"], ["e", "open or close all judgments"],
    ["/", "search"], ["o", "overview"], ["p", "proofs"], ["?", "this help"],
  ];
  const help = h(
    "div",
    null,
    h("h2", null, "Keys and signs"),
    h("dl", { class: "facts" }, KEYS.flatMap(([key, does]) => [h("dt", null, h("kbd", null, key)), h("dd", null, does)])),
    h("p", null, h("span", { class: "mark accept" }, "✓"), " accepts  ", h("span", { class: "mark reject" }, "3"), " rejects, first wrong step 3 (steps count from 0)  ", h("span", { class: "mark invalid" }, "!"), " invalid  ", h("span", { class: "mark missing" }, "·"), " not answered"),
    h("p", null, "Every number is defined in docs/metrics.md of proverbench. An interval says how far the score could move had other problems of the same kind been drawn."),
  );
  const tools = PB.bar({ links: [{ href: "#/", label: "Overview" }, { href: "#/proofs", label: "Proofs" }], help });
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", route);

  // ------------------------------------------------------------ a run that is still going (proverbench view)

  async function follow() {
    while (head.live) {
      await new Promise((go) => setTimeout(go, 2000));
      try {
        const version = await (await fetch("version", { cache: "no-store" })).text();
        if (version !== head.version) await moveOn();
      } catch {
        PB.announce("The server does not answer; trying again");
      }
    }
  }

  /* Take the newer state of the runs; what is looked at stays, and is drawn again only if it changed. */
  async function moveOn() {
    const before = reader?.current;
    const judged = JSON.stringify(before?.runs);
    head = await PB.model();
    readIndex();
    if (!reader?.node.isConnected) {
      const scrolled = window.scrollY;
      reader = null;
      route();
      window.scrollTo(0, scrolled);
      return;
    }
    searched = null;
    const same = before && byPlace.get(place(before.runs[0][0], before.key));
    if (same && JSON.stringify(same.runs) === judged) reader.current = same;
    else reader.current = null;
    refresh();
    if (!reader.current) route();
  }

  readIndex();
  route();
  follow();
})();
