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

  // report/state.ts
  var head;
  var items = [];
  var byPlace = /* @__PURE__ */ new Map();
  var chosen = { run: 0, split: "all", by: null, panel: "" };
  async function readModel() {
    head = await PB.model();
    const { columns: columns2, proofs, problems, domains, subjects, policies } = head.index;
    items = proofs.map((row2) => {
      const item = Object.fromEntries(columns2.map((column, at) => [column, row2[at]]));
      [item.problemId, item.opening] = problems[item.problem];
      item.domain = domains[item.domain];
      item.subject = subjects[item.subject];
      item.policy = policies[item.policy];
      item.marks = item.runs.flatMap((run) => run[2]);
      return item;
    });
    byPlace = /* @__PURE__ */ new Map();
    for (const item of items) for (const [run] of item.runs) byPlace.set(place(run, item.key), item);
  }
  var place = (run, key) => `${run}/${key}`;
  var proofAt = (run, key) => byPlace.get(place(run, key));
  var address = (item, run = item.runs[0][0], repeat = null) => `#/proof/${encodeURIComponent(head.runs[run].name)}/${encodeURIComponent(item.key)}${repeat === null ? "" : `/${repeat}`}`;
  var ofRuns = (item, run) => run === "" ? item.runs : item.runs.filter(([number2]) => head.runs[number2].name === run);
  function cellOf(run) {
    const [policy, judge] = head.runs[run].name.split("--");
    return judge === void 0 ? { judge: policy } : { policy, judge };
  }
  var roleOf = (run, role) => run.roles.find((entry) => entry.role === role)?.model ?? "–";

  // report/marks.ts
  var ACCEPTS = -1;
  var MISSING = -2;
  var INVALID_FROM = -10;
  var UNLOCATED = -3;
  var accepts = (mark) => mark === ACCEPTS;
  var rejects = (mark) => mark >= 0 || mark === UNLOCATED;
  var valid = (mark) => accepts(mark) || rejects(mark);
  var acceptedBy = ([, why, marks]) => !why && marks.length > 0 && marks.every(accepts);
  var kind = (mark) => mark === ACCEPTS ? "accept" : rejects(mark) ? "reject" : mark === MISSING ? "missing" : "invalid";
  var reasonOf = (mark) => head.index.reasons[INVALID_FROM - mark];
  var sign = (mark, grade = null) => grade !== null ? String(grade) : mark === ACCEPTS ? "✓" : mark >= 0 ? String(mark) : mark === UNLOCATED ? "✗" : mark === MISSING ? "·" : "!";
  var words = (mark, grade = null) => said(mark) + (grade === null ? "" : `, grade ${grade}`);
  var said = (mark) => mark === ACCEPTS ? "accepts" : mark >= 0 ? `rejects at step ${mark}` : mark === UNLOCATED ? "rejects" : mark === MISSING ? "not answered yet" : `invalid: ${reasonOf(mark)}`;
  function marksOf(marks, compact = false, grades = []) {
    if (compact && marks.length > 10) {
      const counts2 = counted(marks);
      return Object.entries({ accept: "✓", reject: "✗", invalid: "!", missing: "·" }).filter(([name]) => counts2[name]).map(([name, shown2]) => h("span", { class: `tally ${name}` }, `${shown2}${counts2[name]}`));
    }
    return marks.map((mark, at) => h("span", { class: `mark ${kind(mark)}` }, sign(mark, grades[at] ?? null)));
  }
  function strip(run, compact = false) {
    const [number_, why, marks, grades] = run;
    const name = head.runs.length > 1 ? `${head.runs[number_].name}: ` : "";
    const said3 = why ? why === "pending" ? "no proof yet" : `no proof: ${why}` : tally(marks);
    return h(
      "span",
      { class: "strip", role: "img", "aria-label": name + said3, title: name + said3 },
      why ? h("span", { class: "nothing" }, why === "pending" ? "no proof yet" : `no proof: ${why}`) : marksOf(marks, compact, grades)
    );
  }
  function counted(marks) {
    const counts2 = { accept: 0, reject: 0, invalid: 0, missing: 0 };
    for (const mark of marks) counts2[kind(mark)] += 1;
    return counts2;
  }
  function tally(marks) {
    const counts2 = counted(marks);
    const said3 = [`${counts2.accept} of ${marks.length} accept`];
    if (counts2.reject) said3.push(`${counts2.reject} reject`);
    if (counts2.invalid) said3.push(`${counts2.invalid} invalid`);
    if (counts2.missing) said3.push(`${counts2.missing} not answered`);
    return said3.join(", ");
  }

  // report/filters.ts
  var some = (runs, holds2) => runs.some(([, , marks]) => marks.some(holds2));
  var SHOWN = {
    "": ["All proofs", () => true],
    accepted: ["Accepted by all judgments", (_, runs) => runs.every(acceptedBy)],
    rejected: ["Rejected by a judgment", (_, runs) => some(runs, rejects)],
    split: ["One judgment accepts, one rejects", (_, runs) => some(runs, accepts) && some(runs, rejects)],
    differ: ["Judgments differ: verdict or step", (_, runs) => differ(runs), namesSteps],
    grades: ["Judgments differ in grade", (_, runs) => differentGrades(runs), givesGrades],
    invalid: ["With an invalid judgment", (_, runs) => some(runs, (mark) => mark <= INVALID_FROM)],
    failed: ["Without a valid proof", (_, runs) => runs.some(([, why]) => why !== null && why !== "pending")],
    unanswered: [
      "Not fully answered",
      (_, runs) => runs.some(([, why, marks]) => why === "pending" || marks.includes(MISSING))
    ]
  };
  var HUMAN = {
    "": ["Human: any", () => true],
    right: ["Human: right", (item) => item.label === -1],
    wrong: ["Human: wrong", (item) => item.label !== null && item.label !== -1],
    differs: ["Judge against human", judged((mark, label2) => accepts(mark) !== (label2 === -1))],
    "false-accept": ["Judge accepts a wrong proof", judged((mark, label2) => accepts(mark) && label2 !== -1)],
    "false-reject": ["Judge rejects a right proof", judged((mark, label2) => rejects(mark) && label2 === -1)],
    elsewhere: [
      "Error found at another step",
      judged((mark, label2) => mark >= 0 && label2 >= 0 && mark !== label2),
      namesSteps
    ]
  };
  function namesSteps(runs) {
    return runs.some((run) => run.verdict === "first-error-step");
  }
  function givesGrades(runs) {
    return runs.some((run) => run.verdict === "grade");
  }
  var offered = (choices) => Object.entries(choices).filter(([, [, , fits]]) => !fits || fits(head.runs)).map(([value, [label2]]) => [value, label2]);
  function differ(runs) {
    const said3 = new Set(runs.flatMap(([, , marks]) => marks.filter(valid)));
    const places = [...said3].filter((mark) => mark >= 0).length;
    return said3.size - (said3.has(UNLOCATED) && places ? 1 : 0) > 1;
  }
  var differentGrades = (runs) => new Set(runs.flatMap(([, , , grades]) => grades ?? []).filter((grade) => grade !== null)).size > 1;
  function judged(differs) {
    return ({ label: label2 }, runs) => label2 !== null && some(runs, (mark) => valid(mark) && differs(mark, label2));
  }
  var NO_FILTER = {
    show: "",
    reason: "",
    human: "",
    run: "",
    /** Of a study: whose proofs, which judge accepts them, and which does not, each by its run's rule. */
    of: "",
    yes: "",
    no: "",
    domain: "",
    subject: "",
    text: ""
  };
  var filter = { ...NO_FILTER };
  var setFilter = (next) => filter = next;
  var matches = (item) => holds(item, filter);
  function holds(item, wanted) {
    const runs = ofRuns(item, wanted.run);
    if (!runs.length) return false;
    if (!SHOWN[wanted.show][1](item, runs) || !HUMAN[wanted.human][1](item, runs)) return false;
    if (wanted.of && !item.runs.some(([run]) => cellOf(run).policy === wanted.of)) return false;
    if (wanted.yes && !says(item, wanted.yes, true)) return false;
    if (wanted.no && !says(item, wanted.no, false)) return false;
    if (wanted.reason && !invalidFor(runs, wanted.reason)) return false;
    if (wanted.domain && item.domain !== wanted.domain) return false;
    if (wanted.subject && item.subject !== wanted.subject) return false;
    if (!wanted.text) return true;
    return found.has(item) || contains([item.key, item.opening, item.subject, item.policy].join("\n"), wanted.text);
  }
  function says(item, judge, accepting) {
    const marks = item.runs.find(([run]) => cellOf(run).judge === judge && head.runs[run].task === "prover");
    return marks !== void 0 && !pending(marks) && acceptedBy(marks) === accepting;
  }
  var pending = ([, why, marks]) => why === "pending" || marks.includes(MISSING);
  var invalidFor = (runs, reason) => runs.some(
    ([, why, marks]) => why === reason || marks.some((mark) => mark <= INVALID_FROM && reasonOf(mark) === reason)
  );
  var contains = (haystack, words2) => haystack.toLowerCase().includes(words2.toLowerCase());
  var count = (wanted) => items.filter((item) => holds(item, { ...NO_FILTER, ...wanted })).length;
  var only = (run) => head.runs.length > 1 ? run.name : "";
  function listAddress(wanted) {
    const kept = Object.entries(wanted).filter(([, value]) => value !== "");
    return `#/proofs${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
  }
  function readFilter(query) {
    const given = new URLSearchParams(query);
    const next = { ...NO_FILTER };
    for (const name of Object.keys(NO_FILTER)) next[name] = given.get(name) ?? "";
    if (!Object.hasOwn(SHOWN, next.show)) next.show = "";
    if (!Object.hasOwn(HUMAN, next.human)) next.human = "";
    return next;
  }
  var found = /* @__PURE__ */ new Set();
  var searches = 0;
  var searching = false;
  var forgetSearch = () => found = /* @__PURE__ */ new Set();
  async function searchTexts(progress) {
    const words2 = filter.text;
    const mine = ++searches;
    forgetSearch();
    searching = words2 !== "";
    if (!searching) return null;
    let elsewhere = 0;
    for (const number2 of new Set(items.map((item) => item.chunk))) {
      const here = !head.files || await PB.has(number2);
      const content = here ? await PB.chunk(number2, head.version) : null;
      if (mine !== searches) return null;
      if (content === null) {
        elsewhere += 1;
        continue;
      }
      for (const item of items) if (item.chunk === number2 && contains(textsOf(item, content), words2)) found.add(item);
      progress();
      await new Promise((go2) => setTimeout(go2));
    }
    if (mine !== searches) return null;
    searching = false;
    return elsewhere;
  }
  function textsOf(item, content) {
    const proof = content.proofs[item.place];
    const runs = proof.runs.map((run) => ({ ...run, prompt: null }));
    return JSON.stringify([content.problems[item.problem], { ...proof, runs }]);
  }

  // report/list.ts
  var ROW = 60;
  var SPARE = 6;
  var reader = null;
  var parts;
  var closeReader = () => reader = null;
  function openReader() {
    if (reader) return reader;
    const hits = h("p", { class: "hits", role: "status" });
    const rows = h("ol", { class: "rows", "aria-label": "Proofs" });
    const scroller = h("div", { class: "scroller", onscroll: drawRows }, rows);
    const search2 = searchField();
    parts = { selects: /* @__PURE__ */ new Map(), hits, rows, scroller, nodes: /* @__PURE__ */ new Map() };
    const clear = h("button", { type: "button", class: "quiet", onclick: () => apply({ ...NO_FILTER }) }, "Clear");
    const list = h("div", { class: "list" }, filterForm(search2), h("div", { class: "hits-line" }, hits, clear), scroller);
    const pane = h("div", { class: "pane" });
    const toggle = h(
      "button",
      {
        type: "button",
        class: "toggle",
        "aria-expanded": "false",
        onclick: () => showList2(!node.classList.contains("with-list"))
      },
      "List and filters"
    );
    const node = h("div", { class: "reader" }, toggle, list, pane);
    const showList2 = (yes) => {
      node.classList.toggle("with-list", yes);
      toggle.setAttribute("aria-expanded", String(yes));
      if (yes) drawRows();
    };
    reader = { node, pane, search: search2, showList: showList2, shown: [], current: null };
    new ResizeObserver(drawRows).observe(scroller);
    return reader;
  }
  function searchField() {
    return h("input", {
      type: "search",
      placeholder: head.files ? "Search names, openings, this part  ( / )" : "Search texts  ( / )",
      "aria-label": "Search in problems, proofs and judgments",
      oninput: debounce((event) => apply({ text: event.target.value }), 150)
    });
  }
  function filterForm(search2) {
    const reasons = distinct([...head.index.reasons, ...items.flatMap((item) => item.runs.map(([, why]) => why ?? ""))]);
    const invalid = reasons.filter((reason) => reason !== "pending");
    const labelled = items.some((item) => item.label !== null);
    return h(
      "form",
      {
        class: "filters",
        role: "search",
        "aria-label": "Filter the proofs",
        onsubmit: (event) => event.preventDefault()
      },
      search2,
      head.files ? h(
        "p",
        { class: "small where" },
        "Ids and openings are searched in all parts; whole texts only in the part that is open."
      ) : null,
      pick("show", offered(SHOWN), "Which proofs"),
      pick("human", labelled ? offered(HUMAN) : [], "Human verdict"),
      pick(
        "reason",
        anyOf("Any reason", invalid, (reason) => `Invalid: ${reason}`, 1),
        "Why invalid"
      ),
      pick(
        "run",
        anyOf(
          "Every run",
          head.runs.map((run) => run.name)
        ),
        "Run"
      ),
      ofStudy(),
      pick("domain", anyOf("Every domain", distinct(items.map((item) => item.domain))), "Domain"),
      pick("subject", anyOf("Every subject", distinct(items.map((item) => item.subject))), "Subject")
    );
  }
  function ofStudy() {
    if (!head.study) return null;
    const policies = distinct(head.study.runs.map((cell) => cell.policy ?? ""));
    const judges2 = distinct(head.study.runs.map((cell) => cell.judge));
    return [
      pick("of", anyOf("Every policy", policies), "Policy"),
      pick(
        "yes",
        anyOf("Accepted by…", judges2, (judge) => `${judge} accepts`),
        "Accepted by"
      ),
      pick(
        "no",
        anyOf("Not accepted by…", judges2, (judge) => `${judge} does not accept`),
        "Not accepted by"
      )
    ];
  }
  function pick(name, options, title) {
    if (options.length < 2) return null;
    const select2 = h(
      "select",
      { "aria-label": title, onchange: (event) => apply({ [name]: event.target.value }) },
      options.map(([value, label2]) => h("option", { value }, label2))
    );
    parts.selects.set(name, select2);
    return select2;
  }
  var distinct = (values) => [...new Set(values)].filter((value) => value !== "").sort();
  function anyOf(any, values, label2 = (value) => value, least = 2) {
    return values.length < least ? [] : [["", any], ...values.map((value) => [value, label2(value)])];
  }
  function debounce(action, milliseconds) {
    let timer;
    return (event) => {
      clearTimeout(timer);
      timer = setTimeout(action, milliseconds, event);
    };
  }
  function apply(changed2) {
    const next = { ...filter, ...changed2 };
    if (JSON.stringify(next) === JSON.stringify(filter)) return;
    history.replaceState(null, "", listAddress(next));
    dispatchEvent(new Event("hashchange"));
  }
  async function search() {
    const elsewhere = await searchTexts(refresh);
    if (elsewhere === null || !reader) return;
    refresh();
    if (elsewhere) parts.hits.textContent += " (whole texts: of this part only)";
  }
  function refresh() {
    if (!reader) return;
    for (const [name, select2] of parts.selects) select2.value = filter[name];
    if (document.activeElement !== reader.search) reader.search.value = filter.text;
    reader.shown = items.filter(matches);
    parts.nodes.clear();
    parts.rows.replaceChildren();
    const going = filter.text && searching ? ", searching…" : "";
    parts.hits.textContent = `${number(reader.shown.length)} of ${number(items.length)} proofs${going}`;
    drawRows();
  }
  function drawRows() {
    if (!reader) return;
    const { scroller, rows, nodes } = parts;
    const { shown: shown2, current } = reader;
    const from = Math.max(0, Math.floor(scroller.scrollTop / ROW) - SPARE);
    const to = Math.min(shown2.length, Math.ceil((scroller.scrollTop + (scroller.clientHeight || 600)) / ROW) + SPARE);
    rows.style.height = `${shown2.length * ROW}px`;
    for (const [at, node] of nodes) {
      if (at >= from && at < to) continue;
      node.remove();
      nodes.delete(at);
    }
    let next = null;
    for (let at = to - 1; at >= from; at -= 1) {
      const node = nodes.get(at) ?? rows.insertBefore(row(shown2[at], at, shown2.length), next);
      nodes.set(at, node);
      const link2 = node.firstElementChild;
      if (shown2[at] === current) link2.setAttribute("aria-current", "true");
      else link2.removeAttribute("aria-current");
      next = node;
    }
  }
  function row(item, at, of) {
    const runs = ofRuns(item, filter.run);
    return h(
      "li",
      { style: { top: `${at * ROW}px` }, "aria-posinset": at + 1, "aria-setsize": of },
      h(
        "a",
        { href: address(item, runs[0][0]) },
        h("span", { class: "name" }, nameOf(item)),
        h(
          "span",
          { class: "below-name" },
          humanSays(item),
          runs.map((run) => strip(run, true)),
          text(item.opening, { tag: "span", className: "opening" })
        )
      )
    );
  }
  function nameOf(item) {
    if (item.task !== "prover") return item.key;
    return `${item.problemId}${head.runs.some((run) => run.samples > 1) ? ` #${item.sample}` : ""}`;
  }
  function humanSays(item) {
    if (item.label === null) return null;
    const wrong = item.label === UNLOCATED ? "Human: wrong, no step named" : `Human: first error at step ${item.label}`;
    const said3 = item.grade !== null ? `Human: ${item.grade} points` : item.label === -1 ? "Human: right" : wrong;
    return h(
      "span",
      { class: "human-says", role: "img", title: said3, "aria-label": said3 },
      item.grade ?? (item.label === -1 ? "✓" : item.label === UNLOCATED ? "✗" : String(item.label))
    );
  }
  function reveal(item) {
    const at = reader?.shown.indexOf(item) ?? -1;
    const { scroller } = parts;
    if (at < 0 || !scroller.clientHeight) return;
    const top = at * ROW;
    if (top < scroller.scrollTop || top + ROW > scroller.scrollTop + scroller.clientHeight)
      scroller.scrollTop = top - scroller.clientHeight / 2;
  }
  function step(by) {
    if (!reader?.node.isConnected) return;
    const at = reader.current ? reader.shown.indexOf(reader.current) : -1;
    const next = reader.shown[at < 0 ? 0 : at + by];
    if (next) location.hash = address(next, ofRuns(next, filter.run)[0][0]);
    else announce(by > 0 ? "This is the last proof of the list" : "This is the first proof of the list");
  }

  // report/labels.ts
  var OPEN = {
    first_fatal_error_step: null,
    recoverable_error_steps: null,
    reviewer_comment: "",
    first_error_reason: "",
    remark: ""
  };
  var nothing = () => ({ annotation: { ...OPEN }, undecided: false, labelled: false, version: 0 });
  var isDone = (state) => state.labelled || state.undecided;
  var openStore = (labelling) => labelling.served ? served(labelling) : Promise.resolve(inPage(labelling));
  async function served(labelling) {
    const found3 = await (await fetch("labels.json", { cache: "no-store" })).json();
    const store2 = {
      annotator: labelling.annotator ?? "",
      states: new Map(Object.entries(found3.states)),
      progress: found3.progress,
      async save(key, said3) {
        const version = store2.states.get(key)?.version ?? 0;
        let saved;
        try {
          const reply = await fetch("label", {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ proof_id: key, version, ...said3 })
          });
          saved = await reply.json();
        } catch {
          saved = { fault: "the server does not answer; start `proverbench label` again, and save once more" };
        }
        if (saved.state) store2.states.set(key, saved.state);
        if ("progress" in saved) store2.progress = saved.progress;
        return saved;
      }
    };
    return store2;
  }
  var ROOT = "proverbench-labels";
  var unsaved = 0;
  var downloaded = () => unsaved = 0;
  var annotators = {
    get: () => stored(`${ROOT}/annotator`) ?? "",
    set: (name) => keep(`${ROOT}/annotator`, name)
  };
  function inPage(labelling) {
    const annotator = annotators.get();
    const place2 = (key) => `${ROOT}/${labelling.run_id}/${annotator}/${key}`;
    const read = (key) => JSON.parse(stored(place2(key)) ?? "null") ?? nothing();
    const store2 = {
      annotator,
      states: new Map(labelling.drawn.map(([key]) => [key, read(key)])),
      get progress() {
        const states = [...store2.states.values()];
        return {
          labelled: states.filter((state) => state.labelled).length,
          undecided: states.filter((state) => state.undecided).length,
          drawn: states.length
        };
      },
      async save(key, said3) {
        const now = read(key);
        if (now.version !== (store2.states.get(key)?.version ?? 0)) {
          store2.states.set(key, now);
          return { fault: "this proof was labelled in another window", state: now };
        }
        const found3 = said3.annotation.recoverable_error_steps !== null || said3.grade !== null;
        const labelled = !said3.undecided && found3;
        const state = { ...said3, labelled, version: now.version + 1 };
        store2.states.set(key, state);
        unsaved += 1;
        if (!keep(place2(key), JSON.stringify(state)))
          return { fault: "this browser keeps nothing for this page; download your labels before you close it", state };
        return { state, progress: store2.progress };
      }
    };
    return store2;
  }
  function stored(place2) {
    try {
      return localStorage.getItem(place2);
    } catch {
      return null;
    }
  }
  function keep(place2, value) {
    try {
      localStorage.setItem(place2, value);
      return true;
    } catch {
      return false;
    }
  }
  window.addEventListener("beforeunload", (event) => {
    if (unsaved) event.preventDefault();
  });

  // report/annotator.ts
  function askName(then) {
    const field = h("input", { id: "annotator", required: true, maxlength: 60, autocomplete: "name" });
    const form = h(
      "form",
      { class: "sheet name", onsubmit: (event) => (event.preventDefault(), start2()) },
      h("h2", null, "Label proofs"),
      h(
        "p",
        null,
        "You will see one proof at a time, and the judge's verdicts once your label is given. Your labels stay in this browser until you download them."
      ),
      h("label", { for: "annotator" }, "Your name, for the file "),
      field,
      " ",
      h("button", { type: "submit" }, "Begin")
    );
    const start2 = () => {
      if (!field.value.trim()) return;
      annotators.set(field.value.trim());
      then();
      dispatchEvent(new Event("hashchange"));
    };
    setTimeout(() => field.focus());
    return form;
  }

  // report/download.ts
  async function download(labelling, store2) {
    const lines = [];
    for (const drawn2 of labelling.drawn) lines.push(JSON.stringify(await rowOf(labelling, store2, drawn2)));
    const name = `${head.runs[labelling.run].name}-labels-${store2.annotator || "page"}`.replace(/[^\w.-]+/g, "-");
    const url = URL.createObjectURL(new Blob([`${lines.join("\n")}
`], { type: "application/x-ndjson" }));
    h("a", { href: url, download: `${name}.jsonl` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 6e4);
    downloaded();
  }
  async function rowOf(labelling, store2, [key, stratum, size, probability]) {
    const item = proofAt(labelling.run, key);
    const content = await PB.chunk(item.chunk, head.version);
    const problem = content.problems[item.problem];
    const state = store2.states.get(key);
    const said3 = state && isDone(state);
    return {
      proof_id: key,
      problem_id: problem.id,
      problem: problem.text,
      reference_solution: problem.reference ?? "",
      reference_answer: problem.answer ?? "",
      ...item.domain ? { domain: item.domain } : {},
      subject: item.subject,
      source_id: problem.source_id ?? "",
      policy: item.policy || null,
      ...problem.rubric ? { rubric: problem.rubric } : {},
      steps: (content.proofs[item.place].steps ?? []).map((step2) => step2.replace(/\p{Surrogate}/gu, "�")),
      ...labelling.scale ? { grade: said3 && state.labelled ? state.grade : null, max_grade: labelling.scale.max, annotation: texts(state) } : { annotation: said3 && state.labelled ? state.annotation : { ...OPEN, ...texts(state) } },
      run_id: labelling.run_id,
      annotator: store2.annotator,
      stratum,
      stratum_size: size,
      probability,
      ...state?.undecided ? { undecided: true } : {},
      ...state?.seconds !== void 0 ? { seconds: state.seconds } : {}
    };
  }
  var texts = (state) => ({ reviewer_comment: state?.annotation.reviewer_comment ?? "" });

  // report/draft.ts
  function draftOf({ annotation, grade = null, labelled }) {
    if (!labelled || grade !== null) return { first: null, severity: "fatal", grade: labelled ? grade : null };
    const steps = [annotation.first_fatal_error_step ?? -1, ...annotation.recoverable_error_steps ?? []];
    const wrong = steps.filter((step2) => step2 >= 0);
    const first = wrong.length ? Math.min(...wrong) : -1;
    return {
      first,
      severity: first >= 0 && annotation.first_fatal_error_step !== first ? "recoverable" : "fatal",
      grade: null
    };
  }
  function findings(first, severity) {
    const fatal = severity === "fatal";
    return { ...OPEN, first_fatal_error_step: fatal ? first : -1, recoverable_error_steps: fatal ? [-1] : [first] };
  }

  // report/grading.ts
  var MOST_BUTTONS = 11;
  var grid = ({ max, step: step2 }) => step2 === null ? [] : Array.from({ length: Math.floor(max / step2 + 1e-9) + 1 }, (_, at) => at * step2);
  function gradeIn(scale, typed) {
    if (!/^\d{1,6}(\.\d{1,6})?$/.test(typed)) return null;
    const grade = Number(typed);
    const there = scale.step === null || grid(scale).some((one) => Math.abs(one - grade) < 1e-9);
    return grade <= scale.max && there ? grade : null;
  }
  function gradeControls(scale, grade, say2) {
    const values = grid(scale);
    const field = h("input", {
      type: "number",
      min: 0,
      max: scale.max,
      step: scale.step ?? "any",
      "aria-label": `Grade, 0 to ${scale.max}`,
      oninput: (event) => say2(gradeIn(scale, event.target.value), false)
    });
    field.value = grade === null ? "" : String(grade);
    const button = (value) => h(
      "button",
      {
        type: "button",
        "aria-pressed": String(value === grade),
        class: value === grade ? "pressed" : "",
        onclick: () => say2(value === grade ? null : value, true)
      },
      String(value)
    );
    return [
      h("div", { class: "choices" }, h("label", null, `Grade, 0 to ${scale.max} `, field)),
      values.length && values.length <= MOST_BUTTONS ? h("div", { class: "choices", role: "group", "aria-label": "Grade" }, values.map(button)) : null,
      h("p", { class: "small" }, `Counts as correct from ${scale.accept_from} of ${scale.max}.`)
    ].filter((part) => part !== null);
  }

  // report/words.ts
  var TASKS = { prover: "ProverBench", verifier: "VerifierBench" };
  var metric = (name) => Object.values(head.metrics).flat().find((known) => known.name === name);
  var headline = (task) => head.metrics[task][0].name;
  var label = (name) => metric(name)?.label ?? name;
  var plural = (count2, one) => `${number(count2)} ${one}${Number(count2) === 1 ? "" : "s"}`;

  // report/progress.ts
  function progressView(kept, labelling) {
    const { labelled, undecided, drawn: drawn2, width, expected } = kept.progress;
    const points3 = (share) => `± ${(50 * share).toFixed(0)} points`;
    const now = width ? points3(width) : null;
    const gain = now && labelled + undecided === drawn2 ? ` The corrected score is known to about ${now}.` : expected === null || expected === void 0 ? "" : ` The corrected score will be known to about ${points3(expected)} with all labels${now ? `, ${now} now` : ""}.`;
    const notKept = labelling.served ? "" : unsaved ? ` ${plural(unsaved, "label")} not downloaded yet.` : "";
    return h(
      "div",
      { class: "progress" },
      h("progress", { max: drawn2, value: labelled + undecided, "aria-label": "Labelled" }),
      h(
        "p",
        { class: "small" },
        `${labelled} of ${drawn2} labelled${undecided ? `, ${undecided} undecided` : ""}.${gain}${notKept}`
      )
    );
  }

  // report/glossary.ts
  var TERMS = [
    ["Problem", "A statement to be proved."],
    ["Policy", "The model that writes the proofs."],
    ["Sample", "One of the S proofs that the policy writes of a problem."],
    ["Step", "A part of a proof, as its author divided it; steps are counted from 0."],
    ["Judgment, repeat", "One answer of the judge; it is asked R times for each proof."],
    [
      "Invalid",
      "A reply that could not be read as a verdict. It counts as no acceptance, and stays in every denominator."
    ],
    ["Reference solution", "A solution that came with the problem; the judge may be shown it."],
    [
      "Human annotation",
      "What a person found: the first step with a fatal error, and steps with errors that can be mended."
    ],
    ["Meta-verifier", "A model that grades how well a judge's explanation matches the human one."],
    ["Split", 'A part of the problems, such as one collection; "all" is all of them.'],
    [
      "95 % interval",
      "How precisely these problems measure the score on all problems of their kind: of 100 intervals made this way, about 95 contain that score."
    ],
    [
      "Neutralised",
      "Tags in a proof that could pass for the judge's own were shown to the judge as plain text; here you see the original."
    ],
    ["Labels", "What people said of a random draw of this run's proofs; they correct the judge's score."]
  ];
  var JUDGE = "Judge, verifier";
  var VERDICTS = {
    "first-error-step": [
      [JUDGE, "The model that reads a proof and names the first step that is wrong, or finds none."],
      ["Accepts", "The judge finds no error. A proof counts as accepted only if all R judgments are valid and accept."]
    ],
    grade: [
      [JUDGE, "The model that reads a proof and gives it a grade."],
      [
        "Accepts",
        "The grade is at least the one that the protocol accepts. A proof counts as accepted only if all R judgments are valid and accept."
      ]
    ],
    label: [
      [JUDGE, "The model that reads a proof and accepts or rejects it as a whole."],
      ["Accepts", "A proof counts as accepted only if all R judgments are valid and accept."]
    ]
  };
  var LEVELS = {
    EXACT_MATCH: "The explanation names the error that people named, for the same reason. It earns full credit.",
    BASIC_MATCH: "The explanation finds that error, with gaps or inaccuracies. It earns three quarters.",
    POOR_MATCH: "The verdict is right, and the explanation hardly matches. It earns half.",
    WRONG_POLARITY: "The verdict is wrong: an error where there is none, or none where there is one. It earns nothing."
  };
  var aboutReason = (code) => head.reasons[code];
  function reasonView(code) {
    const says2 = aboutReason(code);
    return [h("b", null, code), says2 ? [" ", explain(code, says2)] : null];
  }
  var levelView = (level) => [
    h("b", null, level),
    " ",
    Object.hasOwn(LEVELS, level) ? explain(level, LEVELS[level]) : null
  ];
  function metricView(name) {
    const found3 = metric(name);
    return found3 ? explain(found3.label, ...definition(found3)) : null;
  }
  var definition = ({ name, help: help2, better, unit, range: [low2, high2] }) => [
    help2,
    `${{ higher: "Higher is better", lower: "Lower is better", none: "0 is best" }[better ?? "none"]}; ${unit === "share" ? "a share, from 0 to 100 %" : unit === "points" ? "in points of people's scale" : `a plain number, ${low2 === null ? "at most" : `from ${String(low2).replace("-", "−")} to`} ${high2}`}.`,
    h("p", { class: "small" }, "In files and commands: ", h("code", null, name))
  ];
  function glossary() {
    const verdicts = [...new Set(head.runs.map((run) => run.verdict))];
    const terms = (rows) => h(
      "dl",
      { class: "terms" },
      rows.map(([term, means]) => [h("dt", null, term), h("dd", null, means)])
    );
    const metrics = Object.values(head.metrics).flat();
    const codes = /* @__PURE__ */ new Set([
      ...head.index.reasons,
      ...head.runs.flatMap((run) => Object.values(run.invalid).flatMap(Object.keys))
    ]);
    const reasons = [...codes].filter(aboutReason).sort();
    const graded = head.runs.some((run) => run.meta);
    return [
      h("h3", null, "Words"),
      terms([...TERMS, ...verdicts.flatMap((verdict) => VERDICTS[verdict])]),
      h("h3", null, "Metrics"),
      terms(metrics.map((found3) => [found3.label, found3.help])),
      reasons.length ? [h("h3", null, "Why replies were invalid"), terms(reasons.map((code) => [code, aboutReason(code)]))] : null,
      graded ? [h("h3", null, "Levels of the meta-verifier"), terms(Object.entries(LEVELS))] : null
    ];
  }

  // report/texts.ts
  var scope = scopeOf([]);
  function takeScope(item, content) {
    const problem = content.problems[item.problem];
    scope = scopeOf([problem.text, problem.reference, ...content.proofs[item.place].steps ?? []]);
  }
  var prose = (source, tag = "div") => text(source, { tag, scope });
  function rawButton() {
    const button = h("button", { type: "button", class: "quiet raw-toggle", title: "Text as it came (t)" });
    const label2 = () => {
      button.textContent = PB.isRaw() ? "Formatted text" : "Raw text";
      button.setAttribute("aria-pressed", String(PB.isRaw()));
    };
    label2();
    button.addEventListener("click", () => {
      PB.toggleRaw();
      label2();
      settle(80);
    });
    return button;
  }
  var pressRaw = () => document.querySelector(".raw-toggle")?.click();

  // report/judgment.ts
  var fillers = /* @__PURE__ */ new WeakMap();
  function openJudgment(node) {
    if (!node) return;
    fillers.get(node)?.();
    node.open = true;
  }
  function judgmentView(item, runNumber, judgment, prompt, marks, grades = []) {
    const mark = marks[judgment.repeat];
    const grade = grades[judgment.repeat] ?? null;
    const agrees = agreement(item, judgment, mark);
    const node = h(
      "details",
      { class: `judgment ${kind(mark)}`, id: `judgment-${runNumber}-${judgment.repeat}` },
      h(
        "summary",
        null,
        h("span", { class: `mark ${kind(mark)}`, "aria-hidden": "true" }, sign(mark, grade)),
        h("span", { class: "title" }, `Judgment ${judgment.repeat} ${words(mark, grade)}`),
        judgment.meta ? h("span", { class: "chip" }, judgment.meta.level ?? `meta: ${judgment.meta.reason}`) : null,
        agrees ? h("span", { class: agrees === "agrees with the human" ? "chip" : "chip human" }, agrees) : null
      )
    );
    const fill = () => {
      if (!node.querySelector(".body")) node.append(bodyOf(judgment, prompt));
    };
    fillers.set(node, fill);
    node.addEventListener("toggle", () => {
      if (!node.open) return;
      fill();
      settle(40);
    });
    return node;
  }
  function agreement(item, judgment, mark) {
    if (item.label === null || !judgment.valid) return null;
    if (mark === ACCEPTS !== (item.label === -1)) return "against the human";
    if (item.label === UNLOCATED || mark === UNLOCATED) return "agrees with the human";
    return mark === item.label ? "agrees with the human" : "another step than the human";
  }
  function bodyOf(judgment, prompt) {
    return h(
      "div",
      { class: "body" },
      judgment.valid ? [h("h4", null, "Assessment"), prose(judgment.assessment)] : h(
        "p",
        null,
        "This reply could not be read as a verdict: ",
        reasonView(judgment.reason ?? ""),
        ". It counts as no acceptance, and as no rejection either."
      ),
      judgment.errors.length ? [
        h("h4", null, judgment.errors.length > 1 ? "Errors" : "Error"),
        judgment.errors.length > 1 ? h(
          "ol",
          { class: "errors" },
          judgment.errors.map((error) => h("li", null, prose(error)))
        ) : prose(judgment.errors[0])
      ] : null,
      judgment.meta ? metaView(judgment.meta) : null,
      calls({ ...judgment, prompt }, "the judge's")
    );
  }
  function metaView(meta) {
    return h(
      "div",
      { class: "meta" },
      h("h4", null, "Meta-verifier"),
      h("p", null, meta.level ? levelView(meta.level) : ["no level: ", reasonView(meta.reason ?? "")]),
      meta.reply === null || meta.reply === void 0 ? null : calls(meta, "the meta-verifier's")
    );
  }
  function calls(call, whose) {
    const facts2 = [
      call.model,
      call.finish && `finish ${call.finish}`,
      call.refused && `refused: ${call.refused}`,
      call.seconds ? `${call.seconds} s` : null,
      call.at ? `${call.at.slice(0, 19).replace("T", " ")} UTC` : null,
      tokensWords(call.usage),
      call.reply && unseen(call.reply) ? `${plural(unseen(call.reply), "character")} that cannot be seen` : null
    ].filter(Boolean).join(" · ");
    const all = [
      ["Prompt", call.prompt, "This run does not hold the prompt."],
      ["Reply", call.reply, "There is no reply."],
      ["Reasoning", call.reasoning, null]
    ];
    const views = all.filter(([, content, absent]) => content || absent);
    const body = h("div");
    const buttons = views.map(
      ([title, content, absent]) => h(
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
            body.append(
              content ? raw(content) : h("p", { class: "small" }, absent),
              content ? copyButton("Copy", () => content) : ""
            );
          }
        },
        title
      )
    );
    return h(
      "div",
      { class: "calls" },
      h("div", { class: "buttons" }, buttons, h("span", { class: "small" }, facts2)),
      body
    );
  }
  var tokensWords = (usage) => {
    const output = usage?.completion_tokens ?? usage?.output_tokens;
    return typeof output === "number" ? `${number(output)} tokens` : null;
  };

  // report/proof.ts
  async function showProof(reader2, item, run, repeat) {
    const changed2 = reader2.current !== item;
    reader2.current = item;
    reader2.showList(false);
    drawRows();
    reveal(item);
    if (!await isHere(item)) {
      if (reader2.current === item && reader2.node.isConnected) goToFile(item);
      return;
    }
    let content;
    try {
      content = await PB.chunk(item.chunk, head.version);
    } catch (error) {
      if (reader2.current !== item) return;
      const why = `This proof could not be read: ${error.message}`;
      reader2.pane.replaceChildren(h("p", { class: "callout bad" }, why));
      return;
    }
    if (reader2.current !== item) return;
    if (changed2 || !reader2.pane.firstChild) {
      walking(reader2.pane);
      reader2.pane.replaceChildren(...proofView(reader2, item, content));
      window.scrollTo(0, 0);
    }
    select(reader2, item, run, repeat);
    settle(80);
  }
  var isHere = async (item) => !head.files || await PB.has(item.chunk);
  function goToFile(item) {
    const file = head.files?.find(([, from, to]) => item.chunk >= from && item.chunk < to);
    if (file) location.href = file[0] + location.hash;
  }
  var stays = debounce((pane) => pane.classList.remove("walking"), 400);
  function walking(pane) {
    pane.classList.add("walking");
    stays(pane);
  }
  function proofView(reader2, item, content) {
    const problem = content.problems[item.problem];
    const proof = content.proofs[item.place];
    takeScope(item, content);
    const left = h("div", { class: "left" }, problemSheets(problem), proofSheet(item, proof));
    const right = h(
      "div",
      { class: "right", tabindex: 0, role: "region", "aria-label": "Judgments of this proof" },
      proof.annotation ? annotationView(proof.annotation) : h("p", { class: "small" }, "No person has annotated this proof."),
      item.runs.length > 1 ? judgesView(item) : null,
      item.runs.map(
        (marks) => runView(
          item,
          marks,
          proof.runs.find((judged3) => judged3.run === marks[0])
        )
      )
    );
    return [headingOf(reader2, item), h("div", { class: "sides" }, left, right)];
  }
  function headingOf(reader2, item) {
    const at = reader2.shown.indexOf(item);
    const tags = [item.domain, item.subject, item.policy && `by ${item.policy}`, plural(item.steps, "step")];
    const button = (by, label2, keys, disabled) => h(
      "button",
      {
        type: "button",
        "aria-label": `${label2} (${keys[0]})`,
        title: `${label2} (${keys})`,
        disabled,
        onclick: () => step(by)
      },
      by < 0 ? "←" : "→"
    );
    return h(
      "div",
      { class: "proof-heading" },
      h("h2", null, nameOf(item)),
      h("span", { class: "position" }, at < 0 ? "" : `${number(at + 1)} of ${number(reader2.shown.length)}`),
      h(
        "span",
        { class: "walk" },
        button(-1, "Previous proof", "k or ←", at <= 0),
        button(1, "Next proof", "j or →", at >= reader2.shown.length - 1)
      ),
      copyButton("Copy the link", () => location.href),
      rawButton(),
      h(
        "div",
        { class: "tags" },
        tags.filter(Boolean).map((tag) => h("span", { class: "chip" }, tag))
      )
    );
  }
  var hiddenIn = (what, text2) => unseen(text2) ? h("p", { class: "callout warn" }, hidden(what, unseen(text2))) : null;
  function problemSheets(problem) {
    const { reference, answer, rubric } = problem;
    return [
      h(
        "section",
        { class: "sheet" },
        h("h3", null, "Problem"),
        prose(problem.text),
        hiddenIn("The problem", problem.text)
      ),
      rubric ? h(
        "details",
        { class: "sheet", ontoggle: once(() => settle(60)) },
        h("summary", null, h("h3", null, "Marking scheme")),
        prose(rubric),
        hiddenIn("The marking scheme", rubric)
      ) : null,
      reference || answer ? h(
        "details",
        { class: "sheet", ontoggle: once(() => settle(60)) },
        h("summary", null, h("h3", null, "Reference solution")),
        reference ? prose(reference) : null,
        hiddenIn("The reference solution", reference ?? ""),
        answer ? h("p", { class: "small" }, "Answer: ", prose(answer, "span")) : null
      ) : null
    ];
  }
  function once(action) {
    let done = false;
    return () => {
      if (!done) action();
      done = true;
    };
  }
  function proofSheet(item, proof) {
    const flags = flagsOf(item, proof.annotation);
    const policy = proof.runs.find((run) => run.policy)?.policy;
    return h(
      "section",
      { class: "sheet" },
      h("h3", null, "Proof"),
      proof.steps?.length ? h(
        "ol",
        { class: "steps" },
        proof.steps.map((content, index) => stepView(item, content, index, flags.get(index) ?? []))
      ) : h("p", { class: "small" }, "There is no proof that could be read."),
      policy ? calls(policy, "the policy's") : null
    );
  }
  function flagsOf(item, annotation) {
    const flags = /* @__PURE__ */ new Map();
    const add = (step2, flag) => flags.set(step2, [...flags.get(step2) ?? [], flag]);
    const human = (label2) => ({ by: "human", label: label2, run: -1, repeat: -1 });
    if (annotation) {
      if (annotation.fatal !== null && annotation.fatal >= 0) add(annotation.fatal, human("human: fatal error"));
      for (const step2 of annotation.recoverable) add(step2, human("human: recoverable error"));
    }
    for (const [run, , marks] of item.runs) {
      const prefix = item.runs.length > 1 ? `${head.runs[run].name} ` : "";
      marks.forEach((mark, repeat) => {
        if (mark >= 0) add(mark, { by: "judge", label: `${prefix}judgment ${repeat}`, run, repeat });
      });
    }
    return flags;
  }
  function stepView(item, content, index, flags) {
    const human = flags.filter((flag) => flag.by === "human");
    const judges2 = flags.filter((flag) => flag.by === "judge");
    const marked = [flags.length && "flagged", human.length && "by-human", judges2.length && "by-judge"];
    const link2 = (flag, at) => [
      at ? ", " : "",
      h("a", { href: address(item, flag.run, flag.repeat) }, flag.label)
    ];
    return h(
      "li",
      { id: `step-${index}`, class: marked.filter(Boolean).join(" ") },
      h("span", { class: "step-number", title: `Step ${index} (steps are counted from 0)` }, index),
      h(
        "div",
        null,
        prose(content.replace(/^\s*\n/, "")),
        flags.length ? h(
          "p",
          { class: "flags" },
          human.map((flag) => h("span", { class: "flag human" }, flag.label)),
          judges2.length ? h("span", { class: "flag reject" }, "first wrong step for ", judges2.map(link2)) : null
        ) : null
      )
    );
  }
  function annotationView(annotation) {
    const { correct, fatal, recoverable, first, comment, reason, remark, grade, grades } = annotation;
    const verdict = grade ? `${grade[0]} of ${grade[1]} points; counts as ${correct ? "right" : "wrong"}` : correct ? "right: no error found" : fatal === null ? "wrong: judged as a whole, no step named" : fatal >= 0 ? `wrong: fatal error at step ${fatal}` : "not right: recoverable errors only";
    return h(
      "section",
      { class: "sheet human" },
      h("h3", null, "Human annotation"),
      h(
        "p",
        null,
        h("b", null, verdict),
        recoverable.length ? `; recoverable at ${recoverable.map((step2) => `step ${step2}`).join(", ")}` : "",
        first !== null && first >= 0 ? `; first error at step ${first}` : ""
      ),
      comment ? prose(comment) : null,
      grades.map(([grader, given, said3]) => [h("h4", null, `${grader}: ${given}`), said3 ? prose(said3) : null]),
      reason ? [h("h4", null, "Why the first error is one"), prose(reason)] : null,
      remark ? [h("h4", null, "Remark"), prose(remark)] : null
    );
  }
  function judgesView(item) {
    const most = Math.max(1, ...item.runs.map(([, , marks]) => marks.length));
    const said3 = ([run, why, marks, grades]) => why || !marks.length ? h("td", { colspan: most }, why === "pending" ? "no proof yet" : "no valid proof") : marks.map((mark, repeat) => h("td", null, markLink(item, run, mark, repeat, grades)));
    const verdict = (marks) => item.task === "prover" ? h("td", null, acceptedBy(marks) ? "accepts" : "does not accept") : null;
    return h(
      "table",
      { class: "beside" },
      h("caption", null, item.task === "prover" ? "Each run accepts what all of its judgments accept" : "Who judged it"),
      h(
        "tbody",
        null,
        item.runs.map(
          (marks) => h(
            "tr",
            null,
            h("th", { scope: "row" }, head.study ? cellOf(marks[0]).judge : head.runs[marks[0]].name),
            verdict(marks),
            said3(marks)
          )
        )
      )
    );
  }
  function markLink(item, run, mark, repeat, grades = []) {
    const grade = grades[repeat] ?? null;
    const says2 = `Judgment ${repeat} ${words(mark, grade)}`;
    const href = mark === MISSING ? null : address(item, run, repeat);
    return h("a", { class: `mark ${kind(mark)}`, href, title: says2, "aria-label": says2 }, sign(mark, grade));
  }
  function runView(item, [runNumber, why, marks, grades], shown2) {
    const run = head.runs[runNumber];
    return h(
      "section",
      { class: "judgments", "aria-label": `Judgments of ${run.name}` },
      h("h3", null, head.runs.length > 1 ? run.name : "Judgments", h("span", { class: "of" }, roleOf(run, "verifier"))),
      why ? h(
        "p",
        { class: "callout bad" },
        why === "pending" ? "The policy has not answered yet." : ["No valid proof, so nothing was judged and it scores 0: ", reasonView(why)]
      ) : bigStrip(item, runNumber, marks, shown2, grades),
      (shown2?.judgments ?? []).map(
        (judgment) => judgmentView(item, runNumber, judgment, shown2?.prompt ?? null, marks, grades)
      )
    );
  }
  function bigStrip(item, run, marks, shown2, grades = []) {
    return h(
      "div",
      { class: "big-strip" },
      marks.map((mark, repeat) => markLink(item, run, mark, repeat, grades)),
      h("span", { class: "small" }, tally(marks)),
      shown2?.neutralised ? h(
        "p",
        { class: "small" },
        `${plural(shown2.neutralised, "tag")} in the texts neutralised for the judge; you see the original.`
      ) : null,
      shown2?.unseen ? h("p", { class: "callout warn" }, hidden("The proof", shown2.unseen)) : null
    );
  }
  var hidden = (what, unseen2) => `${what} holds ${plural(unseen2, "character")} that a judge reads and a person cannot see; here they are spelled out.`;
  function select(reader2, item, run, repeat) {
    for (const old of reader2.pane.querySelectorAll(".chosen")) old.classList.remove("chosen");
    const node = (of, at) => document.getElementById(`judgment-${of}-${at}`);
    if (repeat === null) {
      for (const [of, , marks] of item.runs) {
        const telling = ["accept", "reject"].map((wanted2) => marks.findIndex((mark2) => kind(mark2) === wanted2));
        const found3 = telling.filter((at) => at >= 0);
        for (const at of found3.length ? found3 : [0]) openJudgment(node(of, at));
      }
      return;
    }
    const wanted = node(run, repeat);
    if (!wanted) return;
    openJudgment(wanted);
    wanted.classList.add("chosen");
    const mark = item.runs.find(([of]) => of === run)?.[2][repeat] ?? MISSING;
    const wrong = mark >= 0 ? document.getElementById(`step-${mark}`) : null;
    wrong?.classList.add("chosen");
    if (!matchMedia("(max-width: 1250px)").matches) wrong?.scrollIntoView({ block: "nearest" });
    wanted.scrollIntoView({ block: wanted.offsetHeight > innerHeight / 2 ? "start" : "nearest" });
  }

  // report/labelling.ts
  var store = null;
  var desk = null;
  var said2 = [];
  var isLabelling = () => desk?.node.isConnected ?? false;
  async function showLabelling(main2, key) {
    const labelling = head.labelling;
    if (!labelling?.drawn.length) {
      main2.replaceChildren(
        h("p", { class: "callout" }, "This page has no draw of proofs to label; see `proverbench label`.")
      );
      return;
    }
    store ??= await openStore(labelling);
    if (!labelling.served && !store.annotator) {
      main2.replaceChildren(askName(() => store = null));
      return;
    }
    const at = key === void 0 ? nextOpen(labelling, store) : labelling.drawn.findIndex(([drawn2]) => drawn2 === key);
    if (at < 0) {
      main2.replaceChildren(h("p", { class: "callout bad" }, `The draw has no proof ${key ?? ""}.`));
      return;
    }
    await open(main2, labelling, store, at);
  }
  function nextOpen(labelling, from, after = -1) {
    const order = labelling.drawn.map((_, at) => (after + 1 + at) % labelling.drawn.length);
    return order.find((at) => !isDone(from.states.get(labelling.drawn[at][0]))) ?? Math.max(after, 0);
  }
  async function open(main2, labelling, kept, at) {
    const [key] = labelling.drawn[at];
    const item = proofAt(labelling.run, key);
    if (!item) return;
    if (!await isHere(item)) {
      goToFile(item);
      return;
    }
    const content = await PB.chunk(item.chunk, head.version);
    const comment = h("textarea", {
      rows: 3,
      "aria-label": "Comment (c)",
      placeholder: "Comment ( c ): why it is wrong, or what is unclear"
    });
    const node = h("div", { class: "labelling" });
    desk = {
      labelling,
      store: kept,
      at,
      item,
      content,
      draft: draftOf(kept.states.get(key)),
      since: performance.now(),
      draw: () => {
      },
      comment,
      node
    };
    comment.value = kept.states.get(key).annotation.reviewer_comment;
    build(desk);
    main2.replaceChildren(node);
    window.scrollTo(0, 0);
    settle(80);
    announce(`Proof ${at + 1} of ${labelling.drawn.length}`);
  }
  var isSaid = ({ draft, labelling }) => (labelling.scale ? draft.grade : draft.first) !== null;
  function build(on) {
    const { item, content } = on;
    takeScope(item, content);
    const show2 = on.labelling.scale ? plainStep : (step2, index) => stepChoice(on, step2, index);
    const steps = (content.proofs[item.place].steps ?? []).map(show2);
    const left = h(
      "div",
      { class: "left" },
      problemSheets(content.problems[item.problem]),
      h(
        "section",
        { class: "sheet" },
        h("h3", null, "Proof"),
        h("ol", { class: on.labelling.scale ? "steps" : "steps choose" }, steps)
      )
    );
    const panel = h("div", { class: "panel" });
    const right = h("div", { class: "right", tabindex: 0, role: "region", "aria-label": "Your label" }, panel);
    const place2 = `Proof ${on.at + 1} of ${on.labelling.drawn.length}`;
    on.node.append(
      h(
        "div",
        { class: "heading" },
        h("h2", null, `${on.labelling.scale ? "What is this proof worth?" : "Is this proof right?"} ${place2}`),
        rawButton()
      ),
      h("div", { class: "sides" }, left, right)
    );
    const verdicts = h("div");
    right.append(verdicts);
    on.draw = () => {
      const state = on.store.states.get(item.key);
      steps.forEach((step2, index) => {
        step2.classList.toggle("by-human", on.draft.first === index);
        step2.querySelector("button")?.setAttribute("aria-pressed", String(on.draft.first === index));
      });
      panel.replaceChildren(...controls(on, state));
      if (!isDone(state)) verdicts.replaceChildren();
      else if (!verdicts.firstChild) verdicts.append(verdictsOf(on));
    };
    on.draw();
  }
  var plainStep = (content) => h("li", null, h("div", null, prose(content.replace(/^\s*\n/, ""))));
  function stepChoice(on, content, index) {
    const choose = () => {
      if (getSelection()?.isCollapsed ?? true) say(on, { first: on.draft.first === index ? null : index });
    };
    return h(
      "li",
      { id: `step-${index}`, onclick: choose },
      h(
        "button",
        {
          type: "button",
          class: "step-number",
          "aria-pressed": "false",
          "aria-label": `Step ${index} is the first wrong step`
        },
        index
      ),
      h("div", null, prose(content.replace(/^\s*\n/, "")))
    );
  }
  function verdictsOf({ item, content }) {
    const judged3 = content.proofs[item.place].runs;
    const said3 = item.runs.length > 1 ? "What the judges said" : "What the judge said";
    const views = item.runs.map(
      (marks) => runView(
        item,
        marks,
        judged3.find((run) => run.run === marks[0])
      )
    );
    return h("div", null, h("h3", { class: "now" }, said3), views);
  }
  function controls(on, state) {
    const done = isDone(state);
    const press = (label2, pressed, onclick) => h("button", { type: "button", "aria-pressed": String(pressed), class: pressed ? "pressed" : "", onclick }, label2);
    return [
      progressView(on.store, on.labelling),
      ...labelControls(on, press),
      on.comment,
      h(
        "div",
        { class: "choices" },
        h(
          "button",
          { type: "button", class: "main", onclick: () => changed(on, state) ? save(on) : go(1) },
          changed(on, state) || !done ? "Save (Enter)" : "Next (Enter)"
        ),
        press("Cannot say (u)", state.undecided, () => save(on, true)),
        h("button", { type: "button", disabled: !done && !said2.length, onclick: () => undo(on) }, "Undo (z)")
      ),
      walkView(on)
    ];
  }
  function labelControls(on, press) {
    const { draft } = on;
    const { scale } = on.labelling;
    if (scale) return gradeControls(scale, draft.grade, (grade, redraw2) => say(on, { grade }, redraw2));
    const number2 = h("input", {
      type: "number",
      min: 0,
      max: Math.max(on.item.steps - 1, 0),
      "aria-label": "First wrong step, counted from 0",
      oninput: (event) => say(on, { first: stepIn(on, event.target.value) }, false)
    });
    number2.value = draft.first !== null && draft.first >= 0 ? String(draft.first) : "";
    return [
      h(
        "div",
        { class: "choices" },
        press("✓ No error (a)", draft.first === -1, () => say(on, { first: draft.first === -1 ? null : -1 }))
      ),
      h(
        "div",
        { class: "choices" },
        h("label", null, "✗ First wrong step ", number2),
        press("fatal (f)", draft.severity === "fatal", () => say(on, { severity: "fatal" })),
        press("recoverable (r)", draft.severity === "recoverable", () => say(on, { severity: "recoverable" }))
      )
    ];
  }
  function changed(on, state) {
    if (!isSaid(on)) return false;
    const before = draftOf(state);
    const regraded = before.grade !== on.draft.grade;
    const other = regraded || before.first !== on.draft.first || (on.draft.first ?? -1) >= 0 && before.severity !== on.draft.severity;
    return !state.labelled || other || on.comment.value !== state.annotation.reviewer_comment;
  }
  function walkView(on) {
    const { labelling, store: kept, at } = on;
    return h(
      "div",
      { class: "choices walk" },
      h("button", { type: "button", "aria-label": "Previous proof (k)", disabled: at === 0, onclick: () => go(-1) }, "←"),
      h("span", { class: "small" }, `${at + 1} of ${labelling.drawn.length}`),
      h(
        "button",
        {
          type: "button",
          "aria-label": "Next proof (j)",
          disabled: at === labelling.drawn.length - 1,
          onclick: () => go(1)
        },
        "→"
      ),
      labelling.served ? null : h("button", { type: "button", onclick: () => download(labelling, kept).then(on.draw) }, "Download the labels")
    );
  }
  function say(on, changes, redraw2 = true) {
    Object.assign(on.draft, changes);
    if (on.draft.first === -1) on.draft.severity = "fatal";
    if (redraw2) on.draw();
    else {
      on.node.querySelectorAll(".steps > li").forEach((step2, index) => step2.classList.toggle("by-human", on.draft.first === index));
      const button = on.node.querySelector(".panel .main");
      button.textContent = changed(on, on.store.states.get(on.item.key)) ? "Save (Enter)" : "Next (Enter)";
    }
  }
  function stepIn(on, typed) {
    return /^\d{1,4}$/.test(typed) && Number(typed) < on.item.steps ? Number(typed) : null;
  }
  async function save(on, undecided = false, taken = false) {
    const { first, severity, grade } = on.draft;
    if (!undecided && !taken && !isSaid(on)) {
      announce(on.labelling.scale ? "Give a grade first" : "Say first whether there is an error");
      return;
    }
    const nothing2 = undecided || taken;
    const found3 = nothing2 || first === null ? OPEN : findings(first, severity);
    const annotation = { ...found3, reviewer_comment: on.comment.value };
    const seconds = Math.round((performance.now() - on.since) / 100) / 10;
    const saved = await on.store.save(on.item.key, { annotation, grade: nothing2 ? null : grade, undecided, seconds });
    if ("fault" in saved) fail(on, saved.fault);
    if (saved.state) on.draft = draftOf(saved.state);
    if (!("fault" in saved)) {
      if (!taken) said2.push(on.item.key);
      announce(taken ? "Taken back" : "Saved");
    }
    on.draw();
    if ("fault" in saved) fail(on, saved.fault);
    settle(60);
  }
  function fail(on, why) {
    on.node.querySelector(".panel .callout")?.remove();
    on.node.querySelector(".panel").prepend(h("p", { class: "callout bad", role: "alert" }, `Not saved: ${why}.`));
  }
  async function undo(on) {
    if (isDone(on.store.states.get(on.item.key))) {
      said2.splice(said2.lastIndexOf(on.item.key), said2.includes(on.item.key) ? 1 : 0);
      await save(on, false, true);
      return;
    }
    const last = said2.at(-1);
    if (last !== void 0) location.hash = `#/label/${encodeURIComponent(last)}`;
  }
  function go(by) {
    if (!desk) return;
    const { labelling, store: kept, at } = desk;
    const next = by === "open" ? nextOpen(labelling, kept, at) : at + by;
    const drawn2 = labelling.drawn[next];
    if (drawn2 && next !== at) location.hash = `#/label/${encodeURIComponent(drawn2[0])}`;
    else announce(by === "open" ? "Every proof of the draw is labelled" : "There is no proof further on");
  }
  var labelKeys = (on) => on.labelling.scale ? { a: () => say(on, { grade: on.labelling.scale.max }) } : {
    a: () => say(on, { first: -1 }),
    f: () => say(on, { severity: "fatal" }),
    r: () => say(on, { severity: "recoverable" })
  };
  function onLabelKey(event) {
    if (!desk || !isLabelling()) return false;
    const on = desk;
    const state = on.store.states.get(on.item.key);
    const number2 = on.node.querySelector(".panel input[type=number]");
    const typing = event.target === on.comment || event.target === number2;
    if (event.key === "Escape" && typing) event.target.blur();
    else if (event.key === "Enter" && (!typing || event.target === number2)) {
      if (changed(on, state)) save(on);
      else if (isDone(state)) go("open");
      else save(on);
    } else if (typing) return false;
    else if (/^[0-9]$/.test(event.key)) {
      number2.value = event.key;
      const { scale } = on.labelling;
      say(on, scale ? { grade: gradeIn(scale, event.key) } : { first: stepIn(on, event.key) }, false);
      number2.focus();
    } else {
      const actions = {
        ...labelKeys(on),
        u: () => save(on, true),
        z: () => undo(on),
        c: () => on.comment.focus(),
        t: pressRaw,
        j: () => go(1),
        ArrowRight: () => go(1),
        k: () => go(-1),
        ArrowLeft: () => go(-1)
      };
      if (!Object.hasOwn(actions, event.key)) return false;
      actions[event.key]();
    }
    event.preventDefault();
    return true;
  }

  // report/intervals.ts
  var range = (interval) => interval ? [interval.low, interval.high] : null;
  var between = (interval) => interval ? `${(100 * interval.low).toFixed(1)} to ${(100 * interval.high).toFixed(1)}` : null;
  var aboutInterval = (interval) => interval ? [interval.n ? `95 % interval, ${plural(interval.n, "problem")}` : "95 % interval", ...footnotes([interval])].join(
    "; "
  ) : null;
  function footnotes(intervals) {
    const few = intervals.filter((interval) => (interval?.evidence ?? Infinity) < head.little_evidence);
    if (!few.length) return [];
    const which = intervals.length > 1 ? `${few.length} of these intervals rest` : "rests";
    return [`${which} on fewer than ${head.little_evidence} problems with the rarer outcome`];
  }
  function bare(name, value) {
    const unit = metric(name)?.unit ?? "share";
    const shown2 = unit === "share" ? (100 * value).toFixed(1) : value.toFixed(unit === "points" ? 2 : 3);
    return shown2.replace("-", "−");
  }
  function figure(name, value) {
    if (value === null || value === void 0) return "–";
    const unit = { share: " %", points: " points", number: "" }[metric(name)?.unit ?? "share"];
    return bare(name, value) + unit;
  }
  function score(name, value, interval, fraction) {
    return h(
      "span",
      { class: "score", title: [fraction, aboutInterval(interval)].filter(Boolean).join("; ") || null },
      figure(name, value),
      interval ? h("span", { class: "ends" }, ` [${bare(name, interval.low)}, ${bare(name, interval.high)}]`) : null
    );
  }
  function intervalBar(value, interval) {
    const ends2 = range(interval);
    const at = (share) => `${(100 * share).toFixed(2)}%`;
    return h(
      "div",
      { class: "interval", "aria-hidden": "true" },
      ends2 ? h("span", { class: "span", style: { left: at(ends2[0]), width: at(Math.max(ends2[1] - ends2[0], 4e-3)) } }) : null,
      h("span", { class: "point", style: { left: at(value) } })
    );
  }
  var low = (row2) => range(row2.interval)?.[0] ?? row2.value;
  var high = (row2) => range(row2.interval)?.[1] ?? row2.value;
  var points = (difference) => Math.abs(difference) < 5e-4 ? "no change" : `${difference > 0 ? "+" : "−"}${Math.abs(100 * difference).toFixed(1)} points`;

  // report/says.ts
  function saysView(run) {
    const said3 = run.splits.all?.metrics ? sentences(run, run.splits.all) : null;
    if (!said3) return null;
    return h(
      "section",
      { class: "says", "aria-labelledby": "says" },
      h("h3", { id: "says" }, "What does this say?"),
      h(
        "ol",
        null,
        said3.map((sentence) => h("li", null, sentence))
      )
    );
  }
  function sentences(run, split) {
    const name = headline(run.task);
    const value = split.metrics?.[name];
    if (value === null || value === void 0) return null;
    return [run.task === "prover" ? written(run, value) : judged2(run, split), doubt(split, name), caution(run, split)];
  }
  function written(run, value) {
    const all = run.repeats === 1 ? "the one judgment that" : `all ${run.repeats} judgments that`;
    const proofs = run.samples === 1 ? "of its proofs" : `of its proofs (${run.samples} for each problem)`;
    return `${roleOf(run, "policy")} wrote proofs of ${plural(run.rows, "problem")}; ${percent(value)} ${proofs} were accepted by ${all} ${roleOf(run, "verifier")} gave.`;
  }
  function judged2(run, { metrics }) {
    const right = percent(metrics?.rough_tpr);
    const wrong = percent(metrics?.rough_tnr);
    return `${roleOf(run, "verifier")} judged ${plural(run.rows, "proof")} that people have checked: it accepted ${right} of the correct ones and rejected ${wrong} of the incorrect ones.`;
  }
  function doubt({ intervals }, name) {
    const interval = intervals[name];
    if (!interval)
      return "There are too few problems to say how precisely this measures the score on all problems of their kind.";
    const width = interval.high - interval.low;
    const ends2 = [bare(name, interval.low), bare(name, interval.high)];
    const known = width > 0.2 ? "only roughly" : width > 0.08 ? "fairly well" : "well";
    const from = interval.n ? `, from ${plural(interval.n, "problem")}` : "";
    return `The 95 % interval, ${ends2[0]} to ${ends2[1]} %, says how precisely these problems measure the score on all problems of their kind: it is known ${known}${from}.`;
  }
  function caution(run, split) {
    const lost = Object.values(run.invalid.verifier ?? {}).reduce((sum, times) => sum + times, 0);
    const invalid = lost ? ` ${number(lost)} of its judgments could not be read, and do not count as acceptance.` : "";
    if (run.task === "prover")
      return `The score counts what the judge accepts, not what is right, so it includes the judge's errors; \`proverbench correct\` estimates the share that is right, from proofs that people have labelled.${invalid}`;
    const { rough_tpr: tpr, rough_tnr: tnr } = split.metrics ?? {};
    const leans = typeof tpr === "number" && typeof tnr === "number" && Math.abs(tpr - tnr) > 0.1 ? tpr > tnr ? "It is lenient: it accepts incorrect proofs more often than it rejects correct ones." : "It is strict: it rejects correct proofs more often than it accepts incorrect ones." : "It errs about as often in one direction as in the other.";
    return `${leans}${invalid}`;
  }

  // report/cards.ts
  function splitCard(run, name, split) {
    const metric2 = headline(run.task);
    const value = split.metrics?.[metric2];
    const interval = split.intervals?.[metric2];
    const title = h(
      "h3",
      null,
      name !== "all" ? name : run.task === "prover" ? "All problems" : "All proofs",
      h("span", { class: "of" }, plural(split.selected_rows, run.task === "prover" ? "problem" : "proof"))
    );
    if (!split.metrics) {
      const why = split.selected_rows ? `${number(split.completed_records)} of ${plural(split.expected_records, "proof")} done` : "no rows";
      return h("div", { class: "card" }, title, h("p", { class: "big none" }, "no score yet"), h("p", null, why));
    }
    if (value === null || value === void 0) {
      return h(
        "div",
        { class: "card" },
        title,
        h("p", { class: "big none" }, "undefined"),
        h("p", null, `${label(metric2)}: ${split.undefined[metric2] ?? "nothing to average over"}.`)
      );
    }
    return h(
      "div",
      { class: "card" },
      title,
      h("p", { class: "name", title: metric(metric2)?.help }, label(metric2), " ", metricView(metric2)),
      h("p", { class: "big" }, figure(metric2, value)),
      interval ? h(
        "p",
        { class: "ci", title: aboutInterval(interval) },
        "95 % interval ",
        h("b", null, `${between(interval)} %`)
      ) : h("p", { class: "ci" }, "no interval"),
      intervalBar(value, interval),
      footnotes([interval]).map((says2) => h("p", { class: "small" }, says2)),
      favour(split.bounds?.[metric2]),
      gradeLine(run, split),
      run.task === "prover" ? h(
        "p",
        { class: "small" },
        `${label("pass_any_sample")}: `,
        score("pass_any_sample", split.metrics.pass_any_sample, split.intervals?.pass_any_sample)
      ) : h(
        "p",
        { class: "small" },
        h("span", { class: "pair" }, "TPR ", score("rough_tpr", split.metrics.rough_tpr, split.intervals?.rough_tpr)),
        " ",
        h("span", { class: "pair" }, "TNR ", score("rough_tnr", split.metrics.rough_tnr, split.intervals?.rough_tnr))
      )
    );
  }
  function gradeLine(run, split) {
    const metric2 = run.task === "prover" ? "mean_grade" : "mae_points";
    const value = split.metrics?.[metric2];
    if (typeof value !== "number") return null;
    return h("p", { class: "small" }, `${label(metric2)}: `, score(metric2, value, split.intervals?.[metric2]));
  }
  function favour(bounds) {
    if (!bounds || bounds.high - bounds.low <= 5e-4) return null;
    const all = bounds.invalid === 1 ? "the invalid judgment" : `all ${number(bounds.invalid)} invalid judgments`;
    return h("p", { class: "small" }, `${percent(bounds.high)} had ${all} been in its favour`);
  }
  function atBest(metric2, { low: low2, high: high2, invalid }) {
    const best = metric(metric2)?.better;
    if (!best) return `${figure(metric2, low2)} to ${figure(metric2, high2)} with ${invalid} invalid`;
    const end = best === "lower" ? `as low as ${figure(metric2, low2)}` : `up to ${figure(metric2, high2)}`;
    return `${end} had the ${number(invalid)} invalid been in its favour`;
  }
  function validityCards(run) {
    const roles2 = { verifier: "Invalid judgments", policy: "Invalid proofs", meta: "Invalid meta levels" };
    return Object.entries(roles2).filter(([role]) => run.answered[role] !== void 0).map(([role, title]) => validityCard(run, role, title));
  }
  function validityCard(run, role, title) {
    const reasons = Object.entries(run.invalid[role] ?? {}).sort(([, a], [, b]) => b - a);
    const total = reasons.reduce((sum, [, times]) => sum + times, 0);
    const asked = run.answered[role];
    const open2 = run.missing[role] ?? 0;
    const row2 = ([reason, times]) => h(
      "li",
      null,
      role === "meta" ? h("span", { title: aboutReason(reason) }, reason) : h("a", { href: listAddress({ reason, run: only(run) }), title: aboutReason(reason) }, reason),
      h("span", { class: "bar-of", style: { "--share": `${100 * times / reasons[0][1]}%` } }),
      h("span", { class: "times" }, number(times))
    );
    return h(
      "div",
      { class: "card" },
      h("h3", null, title, h("span", { class: "of" }, `${number(total)} of ${number(asked)}`)),
      h("p", { class: "big" }, asked ? percent(total / asked) : "–"),
      reasons.length ? h("ul", { class: "reasons" }, reasons.map(row2)) : h("p", { class: "small" }, asked ? "Every reply could be read." : "Nothing was asked yet."),
      open2 ? h("p", { class: "small" }, `Counted is what was answered; ${number(open2)} more to be answered.`) : null,
      role === "verifier" ? h("p", { class: "small" }, "They stay in every denominator and never count as acceptance.") : null
    );
  }
  function readCard(run) {
    const several = run.repeats > 1;
    const all = [
      [{ show: "accepted" }, "accepted by every judgment"],
      [{ show: "rejected" }, "rejected by a judgment"],
      [{ show: "split" }, several ? "where one judgment accepts and another rejects" : null],
      [{ show: "differ" }, several && namesSteps([run]) ? "where judgments differ in verdict or step" : null],
      [{ show: "grades" }, several && givesGrades([run]) ? "where judgments differ in grade" : null],
      [{ human: "false-accept" }, run.task === "verifier" ? "wrong, but accepted" : null],
      [{ human: "false-reject" }, run.task === "verifier" ? "right, but rejected" : null],
      [{ human: "elsewhere" }, run.task === "verifier" && namesSteps([run]) ? "error found elsewhere" : null],
      [{ show: "invalid" }, "with an invalid judgment"],
      [{ show: "failed" }, run.task === "prover" ? "without a valid proof" : null],
      [{ show: "unanswered" }, run.complete ? null : "not fully answered"]
    ];
    const links = all.filter(([, what]) => what);
    return h(
      "nav",
      { class: "read", "aria-label": "Proofs to read" },
      h("span", null, "Read the proofs"),
      links.map(([values, what]) => {
        const wanted = { ...values, run: only(run) };
        const found3 = count(wanted);
        return h(
          found3 ? "a" : "span",
          { class: "place", href: found3 ? listAddress(wanted) : null },
          h("b", null, number(found3)),
          ` ${what}`
        );
      })
    );
  }
  function metricsTable(run, splits) {
    const withScores = splits.filter(([, split]) => split.metrics);
    if (!withScores.length) return null;
    const names2 = Object.keys(withScores[0][1].metrics ?? {});
    const marked = footnotes(withScores.flatMap(([, split]) => Object.values(split.intervals ?? {})));
    return h(
      "details",
      { class: "all-metrics", open: run.task === "verifier" },
      h("summary", null, "Every metric, with intervals and bounds"),
      table({
        caption: ["95 % intervals over problems.", ...marked].join(" "),
        sortable: false,
        columns: [
          {
            key: "metric",
            label: "Metric",
            show: (row2) => metric(row2.metric) ? [label(row2.metric), " ", metricView(row2.metric), " ", h("code", null, row2.metric)] : row2.metric
          },
          ...withScores.map(([name, split]) => ({
            key: name,
            label: name,
            numeric: true,
            show: (row2) => {
              const value = split.metrics?.[row2.metric];
              if (value === null || value === void 0) return h("span", { title: split.undefined[row2.metric] }, "–");
              if (!metric(row2.metric)) return number(value);
              const bounds = split.bounds?.[row2.metric];
              return [
                score(row2.metric, value, split.intervals?.[row2.metric], split.fractions[row2.metric]),
                bounds && bounds.high - bounds.low > 5e-4 ? h("div", { class: "small" }, atBest(row2.metric, bounds)) : null
              ];
            }
          }))
        ],
        rows: names2.map((metric2) => ({ metric: metric2 }))
      })
    );
  }

  // report/details.ts
  var costOf = (run) => {
    const roles2 = Object.values(run.calls).filter((role) => role.cost_usd !== void 0);
    return roles2.length ? {
      usd: roles2.reduce((sum, role) => sum + (role.cost_usd ?? 0), 0),
      atLeast: roles2.some((role) => role.cost_is_at_least) || roles2.length < Object.keys(run.calls).length
    } : null;
  };
  var tokensOf = (run) => Object.values(run.usage).reduce((sum, role) => sum + (role.input ?? 0) + (role.output ?? 0), 0);
  var costWords = (run) => {
    const cost = costOf(run);
    if (cost) return `${cost.atLeast ? "at least " : ""}$${cost.usd < 1 ? cost.usd.toFixed(4) : cost.usd.toFixed(2)}`;
    return tokensOf(run) ? `${number(tokensOf(run))} tokens` : "–";
  };
  var duration = (seconds) => seconds >= 5400 ? `${(seconds / 3600).toFixed(1)} h` : seconds >= 90 ? `${(seconds / 60).toFixed(1)} min` : `${seconds.toFixed(1)} s`;
  var hash = (digest) => digest ? h("code", { title: digest }, digest.slice(0, 12)) : "–";
  function details(run) {
    return h(
      "section",
      { "aria-labelledby": "details" },
      h("h2", { id: "details" }, "What was run"),
      roles(run),
      h(
        "dl",
        { class: "facts" },
        facts(run).map(([term, fact]) => [h("dt", null, term), h("dd", null, fact)])
      )
    );
  }
  function facts(run) {
    const reference = `reference solution ${run.use_reference_solution ? "shown" : "not shown"} to the judge`;
    const all = [
      [
        "Run",
        [
          h("code", { title: run.run_id }, run.run_id.slice(0, 16) || "–"),
          copyButton("Copy the run's id", () => run.run_id)
        ]
      ],
      ["Data", dataOf(run)],
      ["To quote", [h("code", null, run.quote), copyButton("Copy the line to quote", () => run.quote)]],
      ["Given proofs", run.proofs_sha256 !== null && ["SHA-256 ", hash(run.proofs_sha256)]],
      ["Protocol", `${run.protocol}; ${reference}; neutralising ${run.neutralise ? "on" : "off"}`],
      ["Dates", run.sessions.length ? run.sessions.map((session) => h("div", null, sessionWords(session))) : "–"],
      ["Time", run.seconds ? duration(run.seconds) : "–"],
      ["Cost", costWords(run)],
      ["Imported", run.imported !== null && importedFrom(run.imported)],
      ["Made with", `${run.tool ?? "–"}; scored by ${run.scored_by}; page by ${head.made_by}`]
    ];
    return all.filter(([, fact]) => fact !== false);
  }
  function dataOf(run) {
    const parts2 = [
      plural(run.rows, "row"),
      run.domain && `domain ${run.domain}`,
      run.limit && `first ${run.limit}`,
      run.shard && `shard ${run.shard}`,
      "SHA-256 "
    ];
    return [parts2.filter(Boolean).join(", "), hash(run.data_sha256)];
  }
  function sessionWords({ start: start2, end, calls: calls2, unanswered, stop }) {
    const time = (at) => at.slice(0, 19).replace("T", " ");
    const left = unanswered ? `, ${number(unanswered)} unanswered` : "";
    return `${time(start2)} to ${time(end)} UTC: ${number(calls2)} answered${left}${stop ? `; ${stop}` : ""}`;
  }
  function importedFrom({ evaluator_version, run_id, code_sha256 }) {
    const start2 = `from the published evaluator ${evaluator_version ?? ""}; its run `;
    return [start2, hash(run_id), ", its code ", hash(code_sha256), ". It keeps no times of calls."];
  }
  function roles(run) {
    const settings = (row2) => Object.entries(row2.generation).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
    const whose = (row2) => row2.own_prompt ? " proverbench's own" : run.imported ? "" : " your own";
    const tokens = ({ input = 0, output = 0 }) => `${number(input)} / ${number(output)}`;
    const latency = (calls2) => calls2?.latency_max_s ? `${duration(calls2.latency_s / calls2.calls)} / ${duration(calls2.latency_max_s)}` : "–";
    return table({
      caption: "The roles",
      sortable: false,
      columns: [
        { key: "role", label: "Role" },
        { key: "model", label: "Model" },
        { key: "kind", label: "Kind" },
        {
          key: "generation",
          label: "Generation",
          show: (row2) => h("code", null, settings(row2).join(", ") || "defaults")
        },
        {
          key: "prompt",
          label: "Prompt",
          show: (row2) => row2.prompt_sha256 ? [hash(row2.prompt_sha256), whose(row2)] : "–"
        },
        { key: "calls", label: "Answered", numeric: true, show: (row2) => number(run.calls[row2.role]?.calls ?? 0) },
        {
          key: "tokens",
          label: "Tokens in / out",
          numeric: true,
          show: ({ role }) => run.usage[role] ? tokens(run.usage[role]) : "–"
        },
        { key: "latency", label: "Mean / longest", numeric: true, show: ({ role }) => latency(run.calls[role]) }
      ],
      rows: run.roles
    });
  }

  // report/leaderboard.ts
  function leaderboards() {
    const tasks = [...new Set(head.runs.map((run) => run.task))];
    return h("section", { "aria-label": "Leaderboard" }, tasks.map(leaderboard));
  }
  function leaderboard(task) {
    const metric2 = headline(task);
    const runs = head.runs.filter((run) => run.task === task);
    const splits = [...new Set(runs.flatMap((run) => Object.keys(run.splits)))].filter(
      (name) => runs.some((run) => run.splits[name]?.metrics)
    );
    const compared = head.comparisons.filter(
      (comparison) => comparison.task === task && comparison.split === "all" && !comparison.reason
    );
    const rank = (run) => compared.length === 1 ? compared[0].ranks.find((row2) => row2.metric === metric2 && row2.run === run.name) : void 0;
    const boards = head.boards.filter((board) => board.task === task);
    return [
      h("h2", null, runs.length > 1 ? `${TASKS[task]} leaderboard` : TASKS[task]),
      boards.length > 1 ? standingApart(task) : null,
      boards.map((board) => {
        const mine = runs.filter((run) => board.runs.includes(run.name));
        const whole = compared.length === 1 && compared[0].runs.every((name) => board.runs.includes(name));
        const rankHere = whole ? rank : () => void 0;
        const caption = boardCaption(
          mine,
          compared,
          mine.every((run) => rankHere(run))
        );
        return [
          boards.length > 1 ? h("h3", null, board.what) : null,
          table({
            caption: `${board.what}. ${caption}`,
            columns: columns(task, splits, mine.length > 1 ? rankHere : null),
            rows: mine,
            sort: { key: "split-all", descending: metric(metric2)?.better !== "lower" }
          }),
          sentences2(board.notes)
        ];
      }),
      runs.length > 1 ? pairs(task, splits) : null
    ];
  }
  function standingApart(task) {
    const offers = (head.common[task] ?? []).map(
      ({ repeats, scores }) => `At the R = ${repeats} that all have: ${scores.map((row2) => `${row2.run} ${percent(row2.value)}${row2.interval ? ` [${between(row2.interval)}]` : ""}`).join(", ")} (exact means over all subsets of ${repeats} judgments; proverbench compare --repeats ${repeats}).`
    );
    return h(
      "div",
      { class: "callout warn", role: "note" },
      h("b", null, "Not all of these runs may stand in one table. "),
      sentences2([...head.apart[task] ?? [], ...offers])
    );
  }
  var sentences2 = (all) => all.length ? h(
    "ul",
    { class: "small" },
    all.map((sentence) => h("li", null, visible(sentence)))
  ) : null;
  function columns(task, splits, rank) {
    const metric2 = headline(task);
    const all = [
      {
        key: "run",
        label: "Run",
        value: (run) => run.name,
        show: (run) => [
          h("a", { href: `#/run/${encodeURIComponent(run.name)}` }, run.name),
          h(
            "div",
            { class: "small" },
            task === "prover" ? `${roleOf(run, "policy")}, judged by ${roleOf(run, "verifier")}` : roleOf(run, "verifier")
          ),
          run.complete ? null : h("span", { class: "chip bad" }, "UNFINISHED")
        ]
      },
      { key: "n", label: "n", title: "Rows of the run", numeric: true, value: (run) => run.rows },
      task === "prover" ? { key: "s", label: "S", title: "Proofs of each problem", numeric: true, value: (run) => run.samples } : null,
      { key: "r", label: "R", title: "Judgments of each proof", numeric: true, value: (run) => run.repeats },
      ...splits.map((name) => ({
        key: `split-${name}`,
        label: `${label(metric2)}, ${name}`,
        title: metric(metric2)?.help,
        numeric: true,
        value: (run) => run.splits[name]?.metrics?.[metric2] ?? null,
        show: (run) => score(
          metric2,
          run.splits[name]?.metrics?.[metric2],
          run.splits[name]?.intervals?.[metric2],
          run.splits[name]?.fractions[metric2]
        )
      })),
      rank && {
        key: "rank",
        label: "Rank",
        title: "The ranks that the differences shown below allow",
        numeric: true,
        value: (run) => rank(run)?.best ?? null,
        show: (run) => ranks(rank(run))
      },
      {
        key: "valid",
        label: "Valid judgments",
        numeric: true,
        value: (run) => run.splits.all?.metrics?.verifier_valid_rate ?? null,
        show: (run) => percent(run.splits.all?.metrics?.verifier_valid_rate)
      },
      {
        key: "cost",
        label: "Cost",
        numeric: true,
        value: (run) => costOf(run)?.usd ?? null,
        show: (run) => costWords(run)
      }
    ];
    return all.filter((column) => column !== null);
  }
  var ranks = (found3) => !found3 ? "no rank" : found3.best === found3.worst ? found3.best : `${found3.best}–${found3.worst}`;
  function boardCaption(runs, compared, ranked) {
    if (runs.length < 2) return "Scores with 95 % intervals.";
    const holds2 = "Scores with 95 % intervals; a rank interval holds every rank that the shown differences allow.";
    if (ranked) return holds2;
    if (compared.length > 1)
      return "Scores with 95 % intervals. No ranks: not all of these runs may be compared with one another (see below).";
    return `${compared.length ? holds2 : "Scores with 95 % intervals."} No rank: a run that is not finished, or may not be compared with the others (see below).`;
  }
  function pairs(task, splits) {
    const found3 = head.comparisons.filter((comparison) => comparison.task === task && splits.includes(comparison.split));
    if (!found3.length) return h("p", { class: "small" }, "Differences are shown between runs that are complete.");
    return h(
      "details",
      { class: "all-metrics", open: found3.some((comparison) => comparison.reason || comparison.pairs.length <= 12) },
      h("summary", null, "Paired differences"),
      found3.map((comparison) => {
        if (comparison.reason)
          return h(
            "p",
            { class: "callout warn" },
            h("b", null, `Not compared: ${comparison.runs.join(", ")}. `),
            visible(comparison.reason)
          );
        const shown2 = differences(comparison);
        const warnings = comparison.warnings.length ? h(
          "ul",
          { class: "small" },
          comparison.warnings.map((warning) => h("li", null, visible(warning)))
        ) : null;
        return [shown2, warnings];
      })
    );
  }
  function differences(comparison) {
    const left = Object.entries(comparison.left_out).filter(([, lost]) => lost);
    const leftOut = left.length ? ` (left out: ${left.map(([name, lost]) => `${lost} of ${name}`).join(", ")})` : "";
    return table({
      caption: `Split ${comparison.split}: first minus second, on the ${plural(comparison.problems, "problem")} that all runs have${leftOut}; intervals and p hold for all pairs of a metric together (Holm).`,
      columns: [
        { key: "metric", label: "Metric", show: (row2) => label(row2.metric) },
        { key: "first", label: "First" },
        { key: "second", label: "Second" },
        {
          key: "difference",
          label: "Difference",
          numeric: true,
          show: (row2) => `${row2.difference > 0 ? "+" : ""}${bare(row2.metric, row2.difference)}`
        },
        {
          key: "interval",
          label: "Interval",
          numeric: true,
          value: (row2) => row2.interval?.low,
          show: (row2) => row2.interval ? `${bare(row2.metric, row2.interval.low)} to ${bare(row2.metric, row2.interval.high)}` : "–"
        },
        {
          key: "p_holm",
          label: "p (Holm)",
          numeric: true,
          show: (row2) => row2.p_holm < 1e-3 ? "< 0.001" : row2.p_holm.toFixed(3)
        },
        { key: "verdict", label: "So" }
      ],
      rows: comparison.pairs
    });
  }

  // report/drawing.ts
  var plotsOf = (run) => run.splits[chosen.split].plots;
  var legendOf = (entries) => entries.map(({ run, series }) => ({ label: run.name, series }));
  function pointsOf(rows, series) {
    return rows.flatMap(
      (row2) => row2.value === null ? [] : [{ ...row2, series, value: row2.value, low: low(row2), high: high(row2) }]
    );
  }
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
  var shares = (options = {}) => ({
    domain: [0, 1],
    tickFormat: (value) => `${Math.round(100 * value)}`,
    grid: true,
    ...options
  });
  var counts = (label2, values) => ({
    label: label2,
    ticks: [...new Set(values)],
    tickFormat: "d",
    grid: false
  });
  var costs = (money, width) => ({
    label: money ? "cost, US dollars" : "tokens",
    grid: false,
    tickFormat: money ? (value) => `$${value}` : "~s",
    ticks: Math.max(3, Math.round(width / 110)),
    zero: true
  });
  var tip = (channels) => ({
    tip: { fill: "var(--raised)", stroke: "var(--line)" },
    ...channels
  });
  var dots = (rows, x, title) => Plot.dot(
    rows,
    tip({
      x,
      y: "value",
      fill: (row2) => colour(row2.series),
      symbol: (row2) => symbol(row2.series),
      r: 4.5,
      title
    })
  );
  function curves(rows, x, z, title, { opacity = 0.16 } = {}) {
    const ofSeries = (row2) => colour(row2.series);
    return [
      Plot.areaY(rows, { x, y1: "low", y2: "high", z, fill: ofSeries, fillOpacity: opacity }),
      Plot.line(rows, { x, y: "value", z, stroke: ofSeries, strokeWidth: 2 }),
      dots(rows, x, title)
    ];
  }
  function zoom(rows) {
    const ends2 = rows.flatMap((row2) => [row2.low, row2.high, row2.value]);
    let [from, to] = [Math.min(...ends2) - 0.04, Math.max(...ends2) + 0.04];
    const spare = 0.2 - (to - from);
    if (spare > 0) [from, to] = [from - spare / 2, to + spare / 2];
    return [Math.max(0, Math.floor(from * 20) / 20), Math.min(1, Math.ceil(to * 20) / 20)];
  }
  var asRows = (rows) => rows.map(({ series: _, ...row2 }) => row2);

  // plan/charts.ts
  var samplesOf = (rows) => [...new Set(rows.map((row2) => row2.samples))];
  var seriesOf = (rows) => {
    const order = samplesOf(rows);
    return (row2) => order.indexOf(row2.samples);
  };
  var legendOf2 = (rows) => samplesOf(rows).map((samples, series) => ({ label: plural(samples, "sample"), series }));
  var points2 = (row2) => 50 * row2.width;
  var reach = (row2) => `${percent(row2.low)} to ${percent(row2.high)}`;
  function costOf2(cost, unit) {
    if (unit === "USD") return `$${number(cost.toFixed(2))}`;
    return `${number(Math.round(cost))} ${unit ?? "calls"}`;
  }
  function curvesOf(rows, x, y, title) {
    const series = seriesOf(rows);
    const stroke = (row2) => colour(series(row2));
    return [
      Plot.line(rows, { x, y, z: "samples", stroke, strokeWidth: 2 }),
      Plot.dot(rows, tip({ x, y, fill: stroke, symbol: (row2) => symbol(series(row2)), r: 3, title }))
    ];
  }
  var problemsAxis = { x: { type: "log", label: "problems", tickFormat: "d", ticks: 6, grid: false } };
  var pointsAxis = { y: { label: "± points", grid: true, zero: true } };
  var about = (row2, unit) => `${plural(row2.problems, "problem")} × ${plural(row2.samples, "sample")}: ±${points2(row2).toFixed(1)} points
${reach(row2)}
${costOf2(row2.cost, unit)}`;
  function runPlot(name, { problems, samples, unit, rows }) {
    const all = Math.max(...rows.map((row2) => row2.problems));
    const last = (count2) => rows.find((row2) => row2.problems === all && row2.samples === count2);
    const more = last(1) ? ` With ${number(all)} problems and one sample of each ±${points2(last(1)).toFixed(1)}.` : "";
    const says2 = `${name} has ${plural(problems, "problem")} × ${plural(samples, "sample")} (the line). Half the width of the 95 % interval to expect with more or fewer.${more} proverbench plan answers more, and by cost.`;
    const here = () => Plot.ruleX([problems], { stroke: "currentColor", strokeDasharray: "3 4" });
    return chart({
      title: "What more problems or samples would buy",
      says: says2,
      rows,
      legend: legendOf2(rows),
      draw: (width) => base(width, {
        ...problemsAxis,
        ...pointsAxis,
        marks: [here(), ...curvesOf(rows, "problems", points2, (row2) => about(row2, unit))]
      })
    });
  }

  // report/breakdowns.ts
  var FACTORS = {
    subject: "subject",
    length: "length of the proof",
    domain: "domain",
    severity: "severity of the human's finding",
    policy: "author of the proof"
  };
  var MOST_GROUPS = 30;
  var LONGEST_NAME = 34;
  function breakdownPlot(run, data) {
    const factors = Object.keys(data.breakdown).filter(
      (by2) => new Set(data.breakdown[by2].map((row2) => row2.group)).size > 1
    );
    if (!factors.length) return null;
    const by = chosen.by !== null && factors.includes(chosen.by) ? chosen.by : factors[0];
    const { rows, metrics } = groupsOf(run, data, by);
    const small = rows.some((row2) => row2.note);
    const figure2 = chart({
      title: `By ${FACTORS[by]}`,
      says: `${run.name}, ${metrics.map(label).join(" or ")}.${small ? " Hollow points: fewer than 10 problems, no interval and no conclusion." : ""}`,
      rows,
      draw: (width) => {
        const longest = Math.max(...rows.map((row2) => row2.group.length));
        return base(width, {
          marginLeft: Math.min(width * 0.42, 30 + 6.4 * Math.min(longest, LONGEST_NAME)),
          height: 64 + 26 * rows.length,
          x: shares({ label: "%" }),
          y: { label: null, domain: rows.map((row2) => row2.group), tickSize: 0, tickFormat: shortened },
          marks: groupMarks(rows)
        });
      }
    });
    const choose = (event) => {
      chosen.by = event.target.value;
      const fresh = breakdownPlot(run, data);
      if (!fresh) return;
      figure2.replaceWith(fresh);
      fresh.querySelector("select")?.focus();
    };
    const options = factors.map((name) => h("option", { value: name, selected: name === by }, FACTORS[name]));
    const picker = h("label", { class: "picker" }, "Break down by ", h("select", { onchange: choose }, options));
    figure2.querySelector("figcaption")?.append(picker);
    return figure2;
  }
  var shortened = (name) => name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
  function groupsOf(run, data, by) {
    const candidates = run.task === "prover" ? ["pessimistic"] : ["rough_bal_f1", "rough_tpr", "rough_tnr"];
    const found3 = data.breakdown[by];
    const metric2 = candidates.find((name) => found3.some((row2) => row2.metric === name)) ?? found3[0].metric;
    const metrics = run.task === "verifier" && by === "severity" ? ["rough_tpr", "rough_tnr"] : [metric2];
    const rows = found3.filter((row2) => metrics.includes(row2.metric)).slice(0, MOST_GROUPS).map(({ group, metric: of, value, interval, proofs, problems, note }) => {
      const [low2, high2] = range(interval) ?? [null, null];
      return { group, metric: of, value, low: low2, high: high2, proofs, problems, note: note ?? "" };
    });
    return { rows, metrics };
  }
  function groupMarks(rows) {
    const ink = "var(--series-1)";
    const bar2 = { stroke: ink, strokeWidth: 3, strokeOpacity: 0.55, strokeLinecap: "round" };
    const title = (row2) => {
      const ends2 = row2.low === null ? "" : `
${percent(row2.low)} to ${percent(row2.high)}`;
      const size = `${plural(row2.proofs, "proof")}, ${plural(row2.problems, "problem")}`;
      return `${row2.group}
${label(row2.metric)} ${percent(row2.value)}${ends2}
${size}`;
    };
    const fill = (row2) => row2.note ? "var(--raised)" : ink;
    const known = rows.filter((row2) => row2.low !== null);
    return [
      Plot.ruleY(rows, { y: "group", x1: 0, x2: 1, stroke: "var(--line)" }),
      Plot.ruleY(known, { y: "group", x1: "low", x2: "high", ...bar2 }),
      Plot.dot(rows, tip({ y: "group", x: "value", r: 4.5, fill, stroke: ink, strokeWidth: 1.5, title }))
    ];
  }
  var DEEP = 12;
  function confusionPlot(run, data) {
    if (!data.confusion) return null;
    const { cells, rows, columns: columns2, totals } = confusion(data.confusion);
    if (!cells.length) return null;
    return chart({
      title: "Where the first error is: reported against annotated",
      says: `${run.name}: each row is the human's first wrong step, shaded by the share of that row's judgments; the diagonal is agreement. "none": no error.`,
      rows: cells.map(({ share: _, ...cell }) => cell),
      draw: (width) => base(width, {
        height: 70 + 24 * rows.length,
        marginLeft: 60,
        x: {
          label: "reported by the judge",
          domain: columns2,
          tickSize: 0,
          tickFormat: (step2) => step2 === "invalid" && width < 480 ? "inv." : step2
        },
        y: { label: "annotated", domain: rows, tickSize: 0 },
        marks: cellMarks(cells, totals),
        opacity: { type: "identity" }
      })
    });
  }
  function confusion({ annotated, reported, counts: counts2 }) {
    const deep = reported.length > 16 ? DEEP : Infinity;
    const name = (step2) => step2 === "-1" ? "none" : Number(step2) >= deep ? `${deep}+` : step2;
    const totals = /* @__PURE__ */ new Map();
    const all = /* @__PURE__ */ new Map();
    annotated.forEach(
      (row2, i) => reported.forEach((column, j) => {
        const key = JSON.stringify([name(row2), name(column)]);
        const cell = all.get(key) ?? { annotated: name(row2), reported: name(column), judgments: 0 };
        all.set(key, { ...cell, judgments: cell.judgments + counts2[i][j] });
        totals.set(name(row2), (totals.get(name(row2)) ?? 0) + counts2[i][j]);
      })
    );
    const rows = [...totals.keys()].filter((row2) => totals.get(row2));
    const said3 = new Set([...all.values()].filter((cell) => cell.judgments > 0).map((cell) => cell.reported));
    const columns2 = [...new Set(reported.map(name))].filter((column) => rows.includes(column) || said3.has(column));
    const cells = [...all.values()].filter((cell) => rows.includes(cell.annotated) && columns2.includes(cell.reported)).map((cell) => ({ ...cell, share: cell.judgments / (totals.get(cell.annotated) ?? 1) }));
    return { cells, rows, columns: columns2, totals };
  }
  function cellMarks(cells, totals) {
    const place2 = { x: "reported", y: "annotated", inset: 0.5 };
    const title = (cell) => {
      const share = `${cell.judgments} of ${totals.get(cell.annotated)} judgments (${percent(cell.share)})`;
      return `annotated ${cell.annotated}, reported ${cell.reported}
${share}`;
    };
    const shade = (cell) => 0.04 + 0.86 * cell.share;
    const agreeing = cells.filter((cell) => cell.annotated === cell.reported && !cell.annotated.endsWith("+"));
    const ink = (cell) => cell.share > 0.45 ? "var(--paper)" : "var(--ink)";
    const some2 = cells.filter((cell) => cell.judgments);
    return [
      Plot.cell(cells, tip({ ...place2, fill: "var(--heat)", fillOpacity: shade, title })),
      Plot.cell(agreeing, { ...place2, stroke: "var(--soft)" }),
      Plot.text(some2, { x: "reported", y: "annotated", text: "judgments", fontSize: 11, fill: ink })
    ];
  }
  var VIEWS = { accept: "right or wrong", step: "same step", step_within_1: "step, ± 1" };
  var MEASURES = {
    raw_agreement: "Raw agreement",
    fleiss_kappa: "Fleiss' kappa",
    krippendorff_alpha: "Krippendorff's alpha",
    cohen_kappa: "Cohen's kappa",
    gwet_ac1: "Gwet's AC1"
  };
  function agreementTable(data) {
    const named = (between2, found3 = []) => found3.map((row2) => ({ ...row2, between: between2 }));
    const rows = [...named("between repeats", data.agreement), ...named("with people", data.human_agreement)];
    if (!rows.length) return null;
    const about2 = "1 is full agreement; 0, for kappa and alpha, is chance. Invalid judgments are left out.";
    const numbers = () => rows.map(({ measure, between: between2, on, value, interval, n, left_out }) => {
      return { measure, between: between2, on, value, low: interval?.low ?? null, high: interval?.high ?? null, n, left_out };
    });
    return h(
      "figure",
      { class: "chart whole" },
      h("figcaption", null, h("h3", null, "How far judgments agree")),
      table({
        caption: [about2, ...footnotes(rows.map((row2) => row2.interval))].join(" "),
        columns: [
          { key: "measure", label: "Measure", show: (row2) => MEASURES[row2.measure] ?? row2.measure },
          { key: "between", label: "Agreement" },
          { key: "on", label: "On", show: (row2) => VIEWS[row2.on] ?? row2.on },
          { key: "value", label: "Value", numeric: true, show: agreement2 },
          { key: "n", label: "Proofs", numeric: true }
        ],
        rows
      }),
      h(
        "p",
        { class: "below" },
        copyButton("Copy the numbers as CSV", () => csv(numbers()))
      )
    );
  }
  function agreement2({ value, interval, reason }) {
    if (value === null) return h("span", { title: reason }, "–");
    const ends2 = interval && ` [${interval.low.toFixed(2)}, ${interval.high.toFixed(2)}]`;
    return h("span", null, value.toFixed(2), ends2 && h("span", { class: "ends", title: aboutInterval(interval) }, ends2));
  }

  // report/curves.ts
  var ends = (row2) => `${percent(row2.low)} to ${percent(row2.high)}`;
  function byRepeats(entries, task) {
    const [metric2, rule] = task === "prover" ? ["acceptance", "pessimistic"] : ["bal_f1", "majority"];
    return entries.flatMap(
      ({ run, series }) => pointsOf(
        plotsOf(run).voting.filter((row2) => row2.metric === metric2 && row2.rules.includes(rule)),
        series
      ).map(({ r, cost, value, low: low2, high: high2 }) => ({ run: run.name, series, r, cost, value, low: low2, high: high2 }))
    );
  }
  function repeatsPlot(entries, run) {
    const rows = byRepeats(entries, run.task).map(({ cost: _, ...row2 }) => row2);
    const own = rows.filter((row2) => row2.run === run.name);
    if (own.length < 2) return null;
    const prover = run.task === "prover";
    return chart({
      title: prover ? `Was R = ${own.at(-1).r} needed? Pessimistic score against r` : "Majority vote against the number of judgments r",
      says: `${run.name}: ${prover ? wasNeeded(own) : majorityGains(own)} Averaged over all choices of r of the R judgments.`,
      rows: asRows(rows),
      legend: legendOf(entries),
      draw: (width) => base(width, {
        x: counts(
          "r, judgments a proof",
          rows.map((row2) => row2.r)
        ),
        y: shares({ label: prover ? "pessimistic score, %" : "balanced F1, %", domain: zoom(rows) }),
        marks: curves(rows, "r", "run", (row2) => `${row2.run}
r = ${row2.r}: ${percent(row2.value)}
${ends(row2)}`)
      })
    });
  }
  function wasNeeded(own) {
    const [first, before, last] = [own[0], own.at(-2), own.at(-1)];
    const moved = last.value - before.value;
    const lastOne = Math.abs(moved) < 5e-4 ? "did not change the score" : `changed the score by ${points(moved)}`;
    const all = `all ${last.r} give ${percent(last.value)}`;
    return `One judgment alone would have given ${percent(first.value)}; ${all}. The last one ${lastOne}.`;
  }
  function majorityGains(own) {
    const [first, last] = [own[0], own.at(-1)];
    const single = `a single one ${percent(first.value)} (${points(last.value - first.value)})`;
    const majority = `A majority of ${last.r} judgments gives a balanced F1 of ${percent(last.value)}`;
    return `${majority}, ${single}. An even r needs more than half.`;
  }
  function passPlot(entries, run) {
    const rows = entries.flatMap(
      ({ run: entry, series }) => pointsOf(plotsOf(entry).pass_at_k ?? [], series).map(({ k, value, low: low2, high: high2 }) => {
        return { run: entry.name, series, k, value, low: low2, high: high2 };
      })
    );
    if (!rows.some((row2) => row2.k > 1)) return null;
    const own = rows.filter((row2) => row2.run === run.name);
    const last = own.at(-1);
    const gains = own.length > 1 ? `${run.name}: with one attempt ${percent(own[0].value)} of the problems are solved, with the best of ${last.k} ${percent(last.value)}. ` : "";
    return chart({
      title: "pass@k: how much more attempts help",
      says: `${gains}Unbiased estimate from all samples.`,
      rows: asRows(rows),
      legend: legendOf(entries),
      draw: (width) => base(width, {
        x: counts(
          "k, proofs a problem",
          rows.map((row2) => row2.k)
        ),
        y: shares({ label: "pass@k, %", domain: zoom(rows) }),
        marks: curves(rows, "k", "run", (row2) => `${row2.run}
pass@${row2.k}: ${percent(row2.value)}
${ends(row2)}`)
      })
    });
  }
  function costPlot(entries) {
    const unit = entries[0] && plotsOf(entries[0].run).cost_unit;
    const usable = entries.filter(({ run }) => plotsOf(run).cost_unit === unit);
    if (!unit || !usable.length) return null;
    const prover = usable[0].run.task === "prover";
    const rows = byRepeats(usable, usable[0].run.task);
    if (!rows.length) return null;
    const money = unit === "USD";
    const shown2 = (cost) => money ? `$${cost.toPrecision(3)}` : `${number(Math.round(cost))} tokens`;
    const ofSeries = (row2) => colour(row2.series);
    return chart({
      title: "Cost against score",
      says: `Each point is a number of judgments r; the cost is that of writing and judging this split at the mean cost of a call, in ${money ? "US dollars" : "tokens (no prices were configured)"}.`,
      rows: asRows(rows).map(({ cost, ...row2 }) => ({ ...row2, [`cost_${unit.toLowerCase()}`]: cost })),
      legend: legendOf(usable),
      draw: (width) => base(width, {
        x: costs(money, width),
        y: shares({ label: prover ? "pessimistic score, %" : "balanced F1 of the majority, %", domain: zoom(rows) }),
        marks: [
          Plot.line(rows, { x: "cost", y: "value", z: "run", stroke: ofSeries, strokeOpacity: 0.5 }),
          Plot.ruleX(rows, { x: "cost", y1: "low", y2: "high", stroke: ofSeries, strokeOpacity: 0.55 }),
          dots(rows, "cost", (row2) => `${row2.run}
r = ${row2.r}: ${percent(row2.value)}
${shown2(row2.cost)}`),
          Plot.text(
            rows,
            Plot.selectLast({
              x: "cost",
              y: "value",
              z: "run",
              text: (row2) => `r = ${row2.r}`,
              dy: -12,
              fill: "currentColor"
            })
          )
        ]
      })
    });
  }

  // report/grades.ts
  var JUDGE2 = 0;
  var PEOPLE = 1;
  var LARGEST_DOT = 14;
  var ROUNDING = 1e-6;
  var MOST_TICKS = 11;
  var judges = ({ judge_max }) => ({ of: "the judge's grade", max: judge_max });
  var peoples = ({ people_max }) => ({ of: "people's grade", max: people_max });
  var short = (value) => String(Number(value.toFixed(2)));
  var shown = (grade, { max }) => max === null ? percent(grade) : short(max * grade);
  var drawn = (grade, { max }) => Number((grade * (max ?? 1)).toFixed(6));
  function axis(scale, label2 = scale.of) {
    if (scale.max === null) return shares({ label: `${label2}, % of the scale` });
    const whole = scale.max + 1 <= MOST_TICKS && Number.isInteger(scale.max);
    const ticks = whole ? Array.from({ length: scale.max + 1 }, (_, at) => at) : void 0;
    return { domain: [0, scale.max], label: `${label2}, of ${short(scale.max)}`, grid: true, ticks, tickFormat: short };
  }
  function gradePlots(run, { grades }) {
    return grades ? [distributionPlot(run, grades), agreementPlot(run, grades), calibrationPlot(run, grades)] : [];
  }
  function distributionPlot(run, grades) {
    const rows = grades.distribution;
    const byPeople = rows.some(({ whose }) => whose === "people");
    const same = !byPeople || grades.judge_max === grades.people_max;
    const scale = { of: byPeople ? "grade" : "the judge's grade", max: same ? grades.judge_max : null };
    const accepted = rows.filter(({ whose, grade }) => whose === "judge" && grade > acceptedFrom(grades) - ROUNDING);
    const share = accepted.reduce((sum, row2) => sum + row2.share, 0);
    const from = `${short(grades.accept_from)} of ${short(grades.judge_max)}`;
    const legend = [{ label: "judge, of its valid judgments", series: JUDGE2 }];
    if (byPeople) legend.push({ label: "people, of the proofs they graded", series: PEOPLE });
    return chart({
      title: "Which grades are given",
      says: `${run.name}: ${percent(share)} of the judge's grades accept, from ${from} on (dashed).`,
      rows,
      legend,
      draw: (width) => base(width, {
        x: axis(scale),
        y: shares({ label: "share, %", domain: [0, Math.max(0.1, ...rows.map((row2) => row2.share))] }),
        marks: [
          Plot.ruleX([drawn(acceptedFrom(grades), scale)], { stroke: "var(--ink)", strokeDasharray: "3 3" }),
          ...stalks(rows, scale, byPeople)
        ]
      })
    });
  }
  var acceptedFrom = (grades) => grades.accept_from / grades.judge_max;
  function stalks(rows, scale, byPeople) {
    const title = ({ whose, grade, count: count2, share }) => `${whose === "judge" ? "the judge" : "people"}: grade ${shown(grade, scale)}
${plural(count2, whose === "judge" ? "judgment" : "proof")} (${percent(share)})`;
    return [JUDGE2, PEOPLE].flatMap((series) => {
      const theirs = rows.filter(({ whose }) => whose === (series === JUDGE2 ? "judge" : "people"));
      const at = {
        x: (row2) => drawn(row2.grade, scale),
        dx: byPeople ? 8 * series - 4 : 0
      };
      return [
        Plot.ruleX(theirs, { ...at, y: "share", stroke: colour(series), strokeWidth: 4, strokeOpacity: 0.55 }),
        Plot.dot(theirs, tip({ ...at, y: "share", fill: colour(series), symbol: symbol(series), r: 4.5, title }))
      ];
    });
  }
  function agreementPlot(run, grades) {
    const rows = grades.against_people;
    if (!rows.length) return null;
    const [x, y] = [peoples(grades), judges(grades)];
    const most = Math.max(...rows.map((row2) => row2.proofs));
    const count2 = (keep2) => rows.filter(keep2).reduce((sum, row2) => sum + row2.proofs, 0);
    const [stricter, same, milder] = [
      count2((row2) => row2.judge < row2.people - ROUNDING),
      count2((row2) => Math.abs(row2.judge - row2.people) <= ROUNDING),
      count2((row2) => row2.judge > row2.people + ROUNDING)
    ];
    const title = ({ people, judge, proofs }) => `${plural(proofs, "proof")}
people ${shown(people, x)}, judge ${shown(judge, y)} on average`;
    return chart({
      title: "The judge's grade against people's",
      says: `${run.name}: of ${plural(stricter + same + milder, "proof")} the judge grades ${stricter} lower than people, ${same} the same, ${milder} higher. Larger points are more proofs; on the line both agree.`,
      rows: rows.map(({ people, judge, proofs }) => ({
        people: drawn(people, x),
        judge: drawn(judge, y),
        proofs
      })),
      draw: (width) => base(width, {
        height: Math.min(width, 420),
        x: axis(x),
        y: axis(y, "the judge's mean grade"),
        marks: [
          diagonal(x, y),
          Plot.dot(
            rows,
            tip({
              x: (row2) => drawn(row2.people, x),
              y: (row2) => drawn(row2.judge, y),
              r: (row2) => Math.max(4, LARGEST_DOT * Math.sqrt(row2.proofs / most)),
              fill: colour(JUDGE2),
              fillOpacity: 0.45,
              stroke: colour(JUDGE2),
              title
            })
          )
        ],
        r: { type: "identity" }
      })
    });
  }
  function calibrationPlot(run, grades) {
    if (!grades.calibration.length) return null;
    const [x, y] = [judges(grades), peoples(grades)];
    const rows = grades.calibration.map(({ judge, people, interval, judgments }) => {
      const [low2, high2] = range(interval) ?? [null, null];
      return { judge, people, low: low2, high: high2, judgments };
    });
    const commonest = rows.reduce((most, row2) => row2.judgments > most.judgments ? row2 : most);
    const notes2 = footnotes(grades.calibration.map((row2) => row2.interval));
    const first = `${run.name}: where the judge gives ${shown(commonest.judge, x)}, people give ${shown(commonest.people, y)} on average (${plural(commonest.judgments, "judgment")}).`;
    return chart({
      title: "Calibration: what a grade is worth",
      says: [first, "Above the line the judge is too strict, below it too generous.", ...notes2].join(" "),
      rows: rows.map(({ judge, people, low: low2, high: high2, judgments }) => ({
        judge: drawn(judge, x),
        people: drawn(people, y),
        low: low2 === null ? null : drawn(low2, y),
        high: high2 === null ? null : drawn(high2, y),
        judgments
      })),
      draw: (width) => base(width, {
        height: Math.min(width, 420),
        x: axis(x),
        y: axis(y, "people's mean grade"),
        marks: [diagonal(x, y), ...calibrationMarks(rows, x, y)]
      })
    });
  }
  function calibrationMarks(rows, x, y) {
    const at = (row2) => drawn(row2.judge, x);
    const stroke = colour(JUDGE2);
    const known = rows.filter((row2) => row2.low !== null);
    const title = ({ judge, people, low: low2, high: high2, judgments }) => {
      const ends2 = low2 === null || high2 === null ? "" : `
${shown(low2, y)} to ${shown(high2, y)}`;
      return `judge ${shown(judge, x)} (${plural(judgments, "judgment")})
people ${shown(people, y)}${ends2}`;
    };
    const height = (row2) => drawn(row2.people, y);
    return [
      Plot.ruleX(known, {
        x: at,
        y1: (row2) => drawn(row2.low, y),
        y2: (row2) => drawn(row2.high, y),
        stroke,
        strokeWidth: 3,
        strokeOpacity: 0.45,
        strokeLinecap: "round"
      }),
      Plot.line(rows, { x: at, y: height, stroke, strokeOpacity: 0.6 }),
      Plot.dot(rows, tip({ x: at, y: height, r: 4.5, fill: stroke, title }))
    ];
  }
  var diagonal = (x, y) => Plot.line(
    [
      [0, 0],
      [x.max ?? 1, y.max ?? 1]
    ],
    { stroke: "var(--soft)", strokeDasharray: "2 3" }
  );

  // report/rates.ts
  var ISO = [0.2, 0.4, 0.6, 0.8];
  function isoCurves() {
    return ISO.flatMap((f) => {
      const xs = Array.from({ length: Math.ceil((1 - f / 2) / 5e-3) }, (_, at) => f / 2 + 1e-3 + 5e-3 * at);
      return xs.map((x) => ({ f, x, y: f * x / (2 * x - f) })).filter(({ y }) => y <= 1 && y >= 0);
    });
  }
  function ratesOf({ run, series }) {
    const { metrics, intervals } = run.splits[chosen.split];
    const tpr = metrics?.rough_tpr;
    const tnr = metrics?.rough_tnr;
    if (tpr === null || tpr === void 0 || tnr === null || tnr === void 0) return [];
    const [tpr_low, tpr_high] = range(intervals.rough_tpr) ?? [tpr, tpr];
    const [tnr_low, tnr_high] = range(intervals.rough_tnr) ?? [tnr, tnr];
    const bal_f1 = metrics?.rough_bal_f1 ?? null;
    return [{ run: run.name, series, tpr, tpr_low, tpr_high, tnr, tnr_low, tnr_high, bal_f1 }];
  }
  function ratesPlot(entries) {
    const rows = entries.flatMap(ratesOf);
    if (!rows.length) return null;
    const published = chosen.split === "all" && head.published ? head.published.rows : [];
    const about2 = published.length ? " Hollow diamonds are published results, not comparable with yours." : "";
    const theirs = published.map((row2) => ({
      run: `${row2.model} (published)`,
      tpr: row2.rough_tpr,
      tnr: row2.rough_tnr,
      bal_f1: row2.rough_bal_f1
    }));
    return chart({
      title: "Leniency against strictness: TPR and TNR",
      says: `Up: wrong proofs are caught. Right: right proofs are let through. Along a grey curve the balanced F1 is the same.${about2}`,
      rows: [...rows.map(({ series: _, ...row2 }) => row2), ...theirs],
      legend: legendOf(entries),
      draw: (width) => base(width, {
        height: Math.min(width, 460),
        x: shares({ label: "TPR, % of right proofs accepted" }),
        y: shares({ label: "TNR, % of wrong proofs rejected" }),
        marks: [...isoMarks(), publishedMark(published), ...rateMarks(rows)]
      })
    });
  }
  function isoMarks() {
    const soft = "var(--soft)";
    const labels = ISO.map((f) => ({ x: f, y: f, text: `F1 ${100 * f}` }));
    const dashed = { stroke: soft, strokeOpacity: 0.45, strokeDasharray: "2 3" };
    return [
      Plot.line(isoCurves(), { x: "x", y: "y", z: "f", ...dashed }),
      Plot.text(labels, { x: "x", y: "y", text: "text", fill: soft, stroke: "var(--raised)", strokeWidth: 4 })
    ];
  }
  function publishedMark(rows) {
    const title = (row2) => `${row2.model} (published)
TPR ${percent(row2.rough_tpr)}, TNR ${percent(row2.rough_tnr)}`;
    const look = { stroke: "var(--soft)", symbol: "diamond", r: 4 };
    return Plot.dot(rows, tip({ x: "rough_tpr", y: "rough_tnr", title, ...look }));
  }
  function rateMarks(rows) {
    const ofSeries = (row2) => colour(row2.series);
    const title = (row2) => `${row2.run}
TPR ${percent(row2.tpr)}, TNR ${percent(row2.tnr)}
balanced F1 ${percent(row2.bal_f1)}`;
    const mark = (row2) => symbol(row2.series);
    return [
      Plot.ruleX(rows, { x: "tpr", y1: "tnr_low", y2: "tnr_high", stroke: ofSeries, strokeWidth: 2 }),
      Plot.ruleY(rows, { y: "tnr", x1: "tpr_low", x2: "tpr_high", stroke: ofSeries, strokeWidth: 2 }),
      Plot.dot(rows, tip({ x: "tpr", y: "tnr", fill: ofSeries, symbol: mark, r: 6, title }))
    ];
  }
  var VOTED = {
    bal_f1: { name: "balanced F1", series: 0 },
    tpr: { name: "TPR", series: 2 },
    tnr: { name: "TNR", series: 1 }
  };
  function votingPlot(run, data) {
    const largest = run.repeats;
    if (largest < 2) return null;
    const rows = Object.entries(VOTED).flatMap(
      ([metric2, { name, series }]) => pointsOf(
        data.voting.filter((row2) => row2.metric === metric2 && row2.r === largest),
        series
      ).map(({ k, value, low: low2, high: high2, rules }) => ({ k, metric: name, series, value, low: low2, high: high2, rules: rules.join(" ") }))
    );
    if (!rows.length) return null;
    const best = data.threshold;
    const chosenBy = best && best.value !== null ? `${run.name}: chosen by cross-validation, k = ${best.k} gives ${percent(best.value)} on proofs that did not choose it; the majority gives ${percent(best.majority)}, all ${largest} ${percent(best.pessimistic)}.` : "The best threshold needs right and wrong proofs of two problems.";
    const title = (row2) => `at least ${row2.k} of ${largest}
${row2.metric} ${percent(row2.value)}
${percent(row2.low)} to ${percent(row2.high)}`;
    return chart({
      title: `Voting rules: accept when at least k of ${largest} judgments accept`,
      says: chosenBy,
      rows: asRows(rows),
      legend: Object.values(VOTED).map(({ name, series }) => ({ label: name, series })),
      draw: (width) => base(width, {
        x: counts(
          `k of ${largest}`,
          rows.map((row2) => row2.k)
        ),
        y: shares({ label: "%" }),
        marks: curves(rows, "k", "metric", title, { opacity: 0.12 })
      })
    });
  }

  // report/plots.ts
  function plots(run) {
    const scored = Object.keys(run.splits).filter((name) => run.splits[name].plots);
    if (!scored.length) return null;
    const picked = (name) => h("option", { value: name, selected: name === chosen.split }, name);
    const choose = (event) => {
      chosen.split = event.target.value;
      redraw();
    };
    return h(
      "section",
      { "aria-labelledby": "plots", id: "plots-section" },
      h(
        "div",
        { class: "heading" },
        h("h2", { id: "plots" }, "Plots"),
        scored.length > 1 ? h("label", { class: "picker" }, "Split ", h("select", { onchange: choose }, scored.map(picked))) : null
      ),
      h("p", { class: "small" }, "Bands and bars are 95 % intervals over problems.", apart(run)),
      h("div", { class: "charts" }, figures(run))
    );
  }
  var apart = (run) => {
    const others = head.runs.filter((entry) => entry.task === run.task && !together(run, entry));
    return others.length ? ` Not drawn beside ${run.name}: ${others.map((entry) => entry.name).join(", ")} (see above).` : "";
  };
  var together = (run, other) => head.boards.some((board) => board.runs.includes(run.name) && board.runs.includes(other.name));
  function figures(run) {
    const data = run.splits[chosen.split].plots;
    if (!data) return null;
    const drawn2 = head.runs.map((entry, at) => ({ run: entry, series: at })).filter(({ run: entry }) => together(run, entry) && entry.splits[chosen.split]?.plots);
    const shared = [repeatsPlot(drawn2, run), costPlot(drawn2), breakdownPlot(run, data)];
    return run.task === "prover" ? [
      shared[0],
      passPlot(drawn2, run),
      shared[1],
      ...gradePlots(run, data),
      ahead(run, data),
      shared[2],
      agreementTable(data)
    ] : [
      ...gradePlots(run, data),
      ratesPlot(drawn2),
      votingPlot(run, data),
      ...shared,
      confusionPlot(run, data),
      agreementTable(data)
    ];
  }
  var ahead = (run, { plan }) => plan ? runPlot(run.name, plan) : null;
  function redraw() {
    const fresh = plots(head.runs[chosen.run]);
    if (fresh) document.getElementById("plots-section")?.replaceWith(fresh);
    document.querySelector("#plots-section select")?.focus();
  }

  // report/published.ts
  var NAMES = {
    prover_ug: "Prover ugd",
    prover_qe: "Prover qe",
    rough_tpr: "TPR",
    rough_tnr: "TNR",
    rough_bal_f1: "Balanced F1",
    meta_tpr: "Meta TPR",
    meta_tnr: "Meta TNR",
    meta_bal_f1: "Meta bal. F1"
  };
  function ownRow(run) {
    const value = (split, metric2) => run.splits[split]?.metrics?.[metric2] ?? null;
    return {
      className: "own",
      model: run.name,
      group: run.task === "prover" ? `your run, judged by ${roleOf(run, "verifier")}; n = ${run.rows}, S = ${run.samples}, R = ${run.repeats}` : `your run; n = ${run.rows}, R = ${run.repeats}`,
      prover_ug: run.task === "prover" ? value("ugd", "pessimistic") : null,
      prover_qe: run.task === "prover" ? value("qe", "pessimistic") : null,
      rough_tpr: value("all", "rough_tpr"),
      rough_tnr: value("all", "rough_tnr"),
      rough_bal_f1: value("all", "rough_bal_f1"),
      meta_tpr: value("all", "meta_ver_tpr"),
      meta_tnr: value("all", "meta_ver_tnr"),
      meta_bal_f1: value("all", "meta_ver_bal_f1")
    };
  }
  function publishedTable({ source, rows, differences: differences2 }) {
    const reasons = Object.entries(differences2).filter(([, why]) => why.length);
    return h(
      "section",
      { "aria-labelledby": "published" },
      h("h2", { id: "published" }, "Beside the published results"),
      h(
        "div",
        { class: "callout warn", role: "note" },
        h("b", null, "Published numbers are not comparable with yours "),
        "unless prompts, judge, repeats and problems are the published ones. ",
        reasons.length ? h(
          "ul",
          null,
          reasons.map(([name, why]) => h("li", null, `${name}: ${why.join("; ")}`))
        ) : "Whether the judge is the published one, you must say."
      ),
      table({
        caption: `Published: ${source}, without intervals. Your runs are marked.`,
        columns: [
          {
            key: "model",
            label: "Model or run",
            show: (row2) => [
              row2.model,
              " ",
              h(
                "span",
                { class: row2.className === "own" ? "chip good" : "chip" },
                row2.className === "own" ? "your run" : "published"
              )
            ]
          },
          { key: "group", label: "Group" },
          ...Object.entries(NAMES).map(([key, shown2]) => ({
            key,
            label: shown2,
            numeric: true,
            show: (row2) => row2[key] === null ? "–" : percent(row2[key])
          }))
        ],
        rows: [...head.runs.map(ownRow), ...rows]
      })
    );
  }
  function factsTable({ title, what, source, figures: figures2 }) {
    return h(
      "section",
      { "aria-labelledby": "facts" },
      h("h2", { id: "facts" }, `Published figures: ${title}`),
      h(
        "div",
        { class: "callout warn", role: "note" },
        h("b", null, "Facts, not comparable with your runs: "),
        "other problems, judges and prompts. Nothing here is ranked with them."
      ),
      table({
        caption: `${what}. Source: ${source}.`,
        columns: [
          { key: "who", label: "Who" },
          { key: "what", label: "Figure" },
          { key: "value", label: "Value", numeric: true }
        ],
        rows: figures2,
        sortable: false
      })
    );
  }

  // report/study-charts.ts
  var RULES = [
    ["any", "any judge accepts"],
    ["majority", "more than half accept"],
    ["all", "all judges accept"]
  ];
  function panelCurves(study) {
    const policies = Object.keys(study.panels).filter((policy2) => study.panels[policy2].repeats > 1);
    if (!policies.length) return null;
    const policy = policies.includes(chosen.panel) ? chosen.panel : policies[0];
    const rows = study.panels[policy].curve.map(({ rule, repeats, value }) => {
      const series = RULES.findIndex(([name]) => name === rule);
      return { rule: RULES[series][1], series, r: repeats, value, low: value, high: value };
    });
    const pick2 = (event) => {
      chosen.panel = event.target.value;
      const fresh = panelCurves(study);
      section.replaceWith(fresh);
      fresh.querySelector("select")?.focus();
    };
    const section = h(
      "div",
      { class: "panel-curves" },
      policies.length > 1 ? h(
        "label",
        { class: "picker" },
        "Panels on the proofs of ",
        h(
          "select",
          { onchange: pick2 },
          policies.map((name) => h("option", { value: name, selected: name === policy }, name))
        )
      ) : null,
      chart({
        title: `Panels of judges: ${policy}`,
        says: "Each judge accepts with r judgments when all of them do; exact means over all choices of r of its R.",
        rows: asRows(rows).map(({ rule, r, value }) => ({ rule, r, value })),
        legend: RULES.map(([, label2], series) => ({ label: label2, series })),
        draw: (width) => base(width, {
          x: counts(
            "r, judgments of each judge",
            rows.map((row2) => row2.r)
          ),
          y: shares({ label: "score, %", domain: zoom(rows) }),
          marks: curves(rows, "r", "rule", (row2) => `${row2.rule}
r = ${row2.r}: ${percent(row2.value)}`)
        })
      })
    );
    return section;
  }
  function costChart(study) {
    const scored = study.runs.filter((cell) => cell.value !== null);
    const money = scored.every((cell) => cell.alone_usd != null);
    const judges2 = [...new Set(scored.map((cell) => cell.judge))].sort();
    const rows = scored.map((cell) => ({
      policy: cell.policy ?? "",
      judge: cell.judge,
      series: judges2.indexOf(cell.judge),
      cost: money ? cell.alone_usd : tokensOf2(`${cell.policy}--${cell.judge}`),
      value: cell.value,
      low: low(cell) ?? cell.value,
      high: high(cell) ?? cell.value
    }));
    if (rows.length < 2 || !rows.every((row2) => row2.cost > 0)) return null;
    const shown2 = (cost) => money ? `$${cost.toPrecision(3)}` : `${number(Math.round(cost))} tokens`;
    return chart({
      title: "Cost against score",
      says: `Each point is a policy under a judge, with what writing its proofs and judging them costs, in ${money ? "US dollars" : "tokens (prices are not known for all of it)"}.`,
      rows: asRows(rows),
      legend: judges2.map((label2, series) => ({ label: label2, series })),
      draw: (width) => base(width, {
        x: costs(money, width),
        y: shares({ label: "score, %", domain: zoom(rows) }),
        marks: [
          Plot.ruleX(rows, { x: "cost", y1: "low", y2: "high", strokeOpacity: 0.4 }),
          dots(rows, "cost", (row2) => `${row2.policy}, ${row2.judge}
${percent(row2.value)}
${shown2(row2.cost)}`),
          Plot.text(rows, { x: "cost", y: "value", text: "policy", textAnchor: "end", dx: -8, dy: -8 })
        ]
      })
    });
  }
  function tokensOf2(name) {
    const usage = Object.values(head.runs.find((run) => run.name === name)?.usage ?? {});
    return usage.reduce((sum, role) => sum + (role.input ?? 0) + (role.output ?? 0), 0);
  }

  // report/study.ts
  function studyView(study) {
    const policies = names(study.runs.map((cell) => cell.policy ?? ""));
    const judges2 = names(study.runs.map((cell) => cell.judge));
    const matrix = (caption, show2) => table({
      caption,
      columns: [
        { key: "policy", label: "policy", show: (row2) => visible(row2.policy) },
        ...judges2.map((judge) => ({
          key: judge,
          label: judge,
          numeric: true,
          show: (row2) => {
            const cell = found2(study, row2.policy, judge);
            return cell ? show2(cell) : "–";
          },
          value: (row2) => found2(study, row2.policy, judge)?.value
        }))
      ],
      rows: policies.map((policy) => ({ policy }))
    });
    const corrected = study.runs.some((cell) => cell.corrected?.value !== void 0);
    return h(
      "section",
      { "aria-label": "Study", class: "study" },
      h("h2", null, `Study: ${policies.length} policies, ${judges2.length} judges`),
      matrix(
        `${names(study.runs.map((cell) => cell.metric)).join(", ")}, 95 % interval in percent; # is the rank under this judge`,
        score2
      ),
      corrected ? matrix("Corrected by each judge's calibration", correctedScore) : null,
      panels(study),
      crossed(study),
      study.orders.length ? table({
        caption: "How far judges agree on the order of the policies",
        columns: [
          { key: "first", label: "judge" },
          { key: "second", label: "judge" },
          { key: "policies", label: "policies", numeric: true },
          { key: "tau_b", label: "Kendall's τ-b", numeric: true, show: (row2) => row2.tau_b.toFixed(2) }
        ],
        rows: study.orders
      }) : null,
      costs2(study),
      h("div", { class: "charts" }, panelCurves(study), costChart(study)),
      sentences3(study.notes)
    );
  }
  var names = (all) => [...new Set(all)].sort();
  var found2 = (study, policy, judge) => study.runs.find((cell) => cell.policy === policy && cell.judge === judge);
  var link = (cell, words2) => h("a", { href: `#/run/${encodeURIComponent(`${cell.policy}--${cell.judge}`)}` }, words2);
  var within = (interval) => interval?.low == null ? "" : ` [${between(interval)}]`;
  function score2(cell) {
    if (cell.value === null) return `${cell.done} of ${cell.wanted} records`;
    const rank = cell.rank === null ? "" : ` #${cell.rank}`;
    return [link(cell, percent(cell.value)), `${within(cell.interval)}${rank}`];
  }
  function correctedScore(cell) {
    if (!cell.corrected) return "–";
    if (cell.corrected.value === void 0) return h("span", { title: cell.corrected.refused }, "refused");
    return `${percent(cell.corrected.value)}${within(cell.corrected.interval ?? null)}`;
  }
  function panels(study) {
    const rows = Object.entries(study.panels).map(([policy, panel]) => ({
      policy,
      ...panel.rules,
      repeats: panel.repeats
    }));
    if (!rows.length) return null;
    const rule = (key, label2) => ({
      key,
      label: label2,
      numeric: true,
      show: (row2) => `${percent(row2[key].value)}${within(row2[key].interval)}`,
      value: (row2) => row2[key].value
    });
    return table({
      caption: "Panels: the score when so many of the judges must accept a proof",
      columns: [
        { key: "policy", label: "policy" },
        { key: "repeats", label: "R", numeric: true },
        rule("any", "any judge"),
        rule("majority", "more than half"),
        rule("all", "all judges")
      ],
      rows
    });
  }
  function crossed(study) {
    const rows = Object.entries(study.crossed).flatMap(([policy, pairs2]) => pairs2.map((pair) => ({ policy, ...pair })));
    if (!rows.length) return null;
    return table({
      caption: "Proofs that one judge accepts, by its run's rule, and another does not",
      columns: [
        { key: "policy", label: "policy" },
        { key: "accepts", label: "accepted by" },
        { key: "rejects", label: "not by" },
        { key: "proofs", label: "proofs", numeric: true, show: (row2) => row2.proofs ? proofsOf(row2) : "0" },
        { key: "of", label: "of", numeric: true }
      ],
      rows
    });
  }
  var proofsOf = (row2) => h("a", { href: listAddress({ of: row2.policy, yes: row2.accepts, no: row2.rejects }) }, number(row2.proofs));
  function costs2(study) {
    const rows = [...study.runs, ...study.calibrations].filter((cell) => cell.cost_usd !== null);
    if (!rows.length) return null;
    return table({
      caption: "Cost and score of each run; a proof that several judges read is paid in one of them",
      columns: [
        { key: "run", label: "run", show: (cell) => `${cell.policy ?? "calibration"}--${cell.judge}` },
        {
          key: "value",
          label: "score",
          numeric: true,
          show: (cell) => cell.value === null ? "–" : percent(cell.value)
        },
        { key: "cost_usd", label: "US dollars", numeric: true, show: (cell) => (cell.cost_usd ?? 0).toFixed(2) }
      ],
      rows
    });
  }
  var sentences3 = (all) => all.length ? h(
    "ul",
    { class: "small" },
    all.map((sentence) => h("li", null, visible(sentence)))
  ) : null;

  // report/overview.ts
  function overview(runName) {
    const named = runName === void 0 ? -1 : head.runs.findIndex((run2) => run2.name === runName);
    if (named >= 0) chosen.run = named;
    const run = head.runs[chosen.run];
    if (!run.splits[chosen.split]?.metrics)
      chosen.split = Object.keys(run.splits).find((name) => run.splits[name].metrics) ?? "all";
    const whole = h(
      "div",
      { class: "overview" },
      head.study ? studyView(head.study) : null,
      head.runs.length > 1 ? leaderboards() : null,
      head.published ? publishedTable(head.published) : null,
      head.facts ? factsTable(head.facts) : null,
      glance(run)
    );
    later(() => whole.append(...[plots(run), details(run)].filter((part) => part !== null)));
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
        { onchange: (event) => location.hash = `#/run/${encodeURIComponent(event.target.value)}` },
        head.runs.map((run, at) => h("option", { value: run.name, selected: at === chosen.run }, run.name))
      )
    );
  }
  var dates = (run) => {
    const days = [
      ...new Set(run.sessions.flatMap((session) => [session.start.slice(0, 10), session.end.slice(0, 10)]))
    ].sort();
    return days.length ? days.length > 1 ? `${days[0]} to ${days.at(-1)}` : days[0] : "";
  };
  function subtitle(run) {
    const asked = run.task === "prover" ? `${plural(run.rows, "problem")} × ${plural(run.samples, "proof")} × ${plural(run.repeats, "judgment")}` : `${plural(run.rows, "proof")} that people have checked × ${plural(run.repeats, "judgment")}`;
    return [
      run.task === "prover" ? [h("b", null, roleOf(run, "policy")), " writes, "] : null,
      h("b", null, roleOf(run, "verifier")),
      " judges",
      run.meta ? [", ", h("b", null, roleOf(run, "meta")), " grades the explanations"] : null,
      ` · ${asked}`,
      dates(run) ? ` · ${dates(run)}` : null
    ];
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
        runPicker()
      ),
      h("p", { class: "lead" }, subtitle(run)),
      run.complete ? null : unfinished(run),
      h(
        "div",
        { class: "cards" },
        splits.map(([name, split]) => splitCard(run, name, split))
      ),
      h("div", { class: "cards wide" }, validityCards(run)),
      saysView(run),
      readCard(run),
      run.warnings.length || run.losses?.length || run.closed_unanswered ? notes(run) : null,
      metricsTable(run, splits)
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
      run.imported ? "finish it with the evaluator that made it, and import it again." : [
        "go on with ",
        h("code", null, run.task === "prover" ? "proverbench run --resume" : "verifierbench --resume"),
        head.live ? ". This page follows the run." : "."
      ]
    );
  }
  function notes(run) {
    const sentences4 = [...(run.losses ?? []).map((loss) => `Saved replies were lost: ${loss}`), ...run.warnings];
    if (run.closed_unanswered)
      sentences4.unshift(`${plural(run.closed_unanswered, "unanswered call")} closed as zero credit (--final)`);
    return h(
      "div",
      { class: "callout warn", role: "note" },
      h("b", null, "Read with this in mind"),
      h(
        "ul",
        null,
        sentences4.map((sentence) => h("li", null, visible(sentence)))
      )
    );
  }

  // report/routes.ts
  var main = document.querySelector("main");
  var routes = 0;
  async function route() {
    const mine = ++routes;
    document.documentElement.dataset.ready = "no";
    await show();
    if (mine === routes) document.documentElement.dataset.ready = "yes";
  }
  async function show() {
    const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
    const [part, ...rest] = path.split("/").filter(Boolean).map(decoded);
    markLinks(part === "proofs" || part === "proof" ? "#/proofs" : part === "label" ? "#/label" : "#/");
    if (part === "proofs") await showList(reading(), query);
    else if (part === "label" || part === void 0 && head.labelling?.served) await showLabelling(main, rest[0]);
    else if (part === "proof") await showOne(reading(), rest);
    else {
      main.replaceChildren(overview(part === "run" ? rest[0] : void 0));
      if (part === "run") document.getElementById("glance")?.closest("section")?.scrollIntoView();
    }
  }
  function decoded(part) {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  }
  function markLinks(here) {
    for (const link2 of document.querySelectorAll("header nav a")) {
      if (link2.getAttribute("href") === here) link2.setAttribute("aria-current", "page");
      else link2.removeAttribute("aria-current");
    }
  }
  function reading() {
    const reader2 = openReader();
    if (!reader2.node.isConnected) main.replaceChildren(reader2.node);
    return reader2;
  }
  async function showList(reader2, query) {
    const before = filter.text;
    setFilter(readFilter(query));
    if (filter.text !== before) search();
    refresh();
    if (reader2.shown.length && !narrow()) {
      await showFirst(reader2);
      return;
    }
    reader2.current = null;
    const says2 = reader2.shown.length ? "Choose a proof." : "No proof matches these filters.";
    reader2.pane.replaceChildren(h("p", { class: "small" }, says2));
    reader2.showList(true);
  }
  async function showOne(reader2, [run = "", key = "", repeat = ""]) {
    const number2 = head.runs.findIndex((entry) => entry.name === run);
    const item = proofAt(number2, key);
    if (!reader2.shown.length) refresh();
    if (!item) {
      reader2.pane.replaceChildren(h("p", { class: "callout bad" }, `This page has no proof ${key} in a run ${run}.`));
      return;
    }
    if (!matches(item)) {
      setFilter({ ...NO_FILTER });
      refresh();
    }
    await showProof(reader2, item, number2, /^\d+$/.test(repeat) ? Number(repeat) : null);
  }
  var narrow = () => matchMedia("(max-width: 900px)").matches;
  function showFirst(reader2) {
    const item = reader2.current && reader2.shown.includes(reader2.current) ? reader2.current : reader2.shown[0];
    return showProof(reader2, item, ofRuns(item, filter.run)[0][0], null);
  }

  // report/follow.ts
  var EVERY = 2e3;
  async function follow() {
    while (head.live) {
      await new Promise((go2) => setTimeout(go2, EVERY));
      try {
        const version = await (await fetch("version", { cache: "no-store" })).text();
        if (version !== head.version) await moveOn();
      } catch {
        announce("The server does not answer; trying again");
      }
    }
  }
  async function moveOn() {
    const before = reader?.current ?? null;
    const judged3 = JSON.stringify(before?.runs);
    await readModel();
    if (!reader?.node.isConnected) {
      const scrolled = window.scrollY;
      closeReader();
      route();
      window.scrollTo(0, scrolled);
      return;
    }
    forgetSearch();
    const same = before && proofAt(before.runs[0][0], before.key);
    reader.current = same && JSON.stringify(same.runs) === judged3 ? same : null;
    refresh();
    if (!reader.current) route();
  }

  // report/keys.ts
  var KEYS = [
    ["j or →", "next proof"],
    ["k or ←", "previous proof"],
    ["0 … 9", "open that judgment"],
    ["e", "open or close all judgments"],
    ["t", "texts as they came, or formatted"],
    ["/", "search"],
    ["o", "overview"],
    ["p", "proofs"],
    ["?", "this help"]
  ];
  var STEP_KEYS = [
    ["a", "no error"],
    ["0 … 9", "the first wrong step (or click it)"],
    ["f, r", "that error is fatal, recoverable"]
  ];
  var GRADE_KEYS = [
    ["a", "full marks"],
    ["0 … 9", "the grade"]
  ];
  var LABEL_KEYS = [
    ["u", "cannot say"],
    ["c", "comment; Esc leaves it"],
    ["Enter", "save; once saved, the next open proof"],
    ["z", "undo"],
    ["j, k", "next, previous proof"]
  ];
  var showHelp = () => {
  };
  function makeBar() {
    const reading2 = [
      { href: "#/", label: "Overview" },
      { href: "#/proofs", label: "Proofs" }
    ];
    const label2 = head.labelling ? [{ href: "#/label", label: "Label" }] : [];
    const links = head.labelling?.served ? label2 : [...reading2, ...label2];
    showHelp = bar({ links, help: help() }).help;
  }
  var keyList = (keys) => h(
    "dl",
    { class: "facts" },
    keys.map(([key, does]) => [h("dt", null, h("kbd", null, key)), h("dd", null, does)])
  );
  function help() {
    const mark = (name, sign2) => h("span", { class: `mark ${name}` }, sign2);
    return h(
      "div",
      null,
      h("h2", null, "Keys and signs"),
      head.labelling ? [
        h("h3", null, "Labelling"),
        keyList([...head.labelling.scale ? GRADE_KEYS : STEP_KEYS, ...LABEL_KEYS]),
        h("h3", null, "Reading")
      ] : null,
      keyList(KEYS),
      h(
        "p",
        null,
        mark("accept", "✓"),
        " accepts  ",
        mark("reject", "3"),
        " rejects, first wrong step 3 (steps count from 0)  ",
        mark("invalid", "!"),
        " invalid  ",
        mark("missing", "·"),
        " not answered"
      ),
      h("p", null, "Every word and number of this page is explained below."),
      h("h2", null, "Glossary"),
      glossary()
    );
  }
  var ANYWHERE = {
    "/": () => {
      const open2 = openReader();
      if (!open2.node.isConnected) {
        main.replaceChildren(open2.node);
        location.hash = "#/proofs";
      }
      open2.showList(true);
      open2.search.focus();
    },
    "?": () => showHelp(),
    o: () => location.hash = "#/",
    p: () => location.hash = "#/proofs"
  };
  var READING = {
    j: () => step(1),
    ArrowRight: () => step(1),
    k: () => step(-1),
    ArrowLeft: () => step(-1),
    t: pressRaw,
    e: () => {
      const all = [...document.querySelectorAll("details.judgment")];
      const open2 = all.some((node) => !node.open);
      for (const node of all) node.open = open2;
    }
  };
  function onKey(event) {
    const target = event.target;
    const typing = target.closest?.("input, select, textarea, dialog[open]");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isLabelling()) {
      if (!target.closest?.("dialog[open], button, a, select, details > summary") || !["Enter", " "].includes(event.key)) {
        if (!onLabelKey(event) && event.key === "?" && !typing) showHelp();
      }
      return;
    }
    if (event.key === "Escape" && target === reader?.search) target.blur();
    if (typing) return;
    const reading2 = reader?.node.isConnected;
    const action = Object.hasOwn(ANYWHERE, event.key) && ANYWHERE[event.key] || reading2 && READING[event.key];
    if (/^[0-9]$/.test(event.key) && reading2 && reader?.current) {
      const [run, , marks] = ofRuns(reader.current, filter.run)[0];
      if (Number(event.key) < marks.length) location.hash = address(reader.current, run, Number(event.key));
    } else if (action) {
      event.preventDefault();
      action();
    }
  }

  // report/main.ts
  async function start() {
    await readModel();
    makeBar();
    document.addEventListener("keydown", onKey);
    window.addEventListener("hashchange", route);
    route();
    follow();
  }
  start();
})();
