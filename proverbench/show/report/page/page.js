"use strict";
var PB = (() => {
  var __defProp = Object.defineProperty;
  var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
  var __getOwnPropNames = Object.getOwnPropertyNames;
  var __hasOwnProp = Object.prototype.hasOwnProperty;
  var __export = (target, all) => {
    for (var name in all)
      __defProp(target, name, { get: all[name], enumerable: true });
  };
  var __copyProps = (to, from, except, desc) => {
    if (from && typeof from === "object" || typeof from === "function") {
      for (let key of __getOwnPropNames(from))
        if (!__hasOwnProp.call(to, key) && key !== except)
          __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
    }
    return to;
  };
  var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

  // shell/index.ts
  var index_exports = {};
  __export(index_exports, {
    announce: () => announce,
    bar: () => bar,
    chart: () => chart,
    chunk: () => chunk,
    colour: () => colour,
    copy: () => copy,
    copyButton: () => copyButton,
    csv: () => csv,
    explain: () => explain,
    h: () => h,
    has: () => has,
    isRaw: () => isRaw,
    later: () => later,
    model: () => model,
    number: () => number,
    percent: () => percent,
    pieces: () => pieces,
    raw: () => raw,
    scopeOf: () => scopeOf,
    settle: () => settleSeen,
    swatch: () => swatch,
    symbol: () => symbol,
    table: () => table,
    text: () => text,
    toggleRaw: () => toggleRaw,
    unseen: () => unseen,
    visible: () => visible
  });

  // shell/visible.ts
  var CONTROLS = "\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f";
  var OTHERS = "\\u0080-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0d\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff\\ud800-\\udfff\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";
  var SELECTORS = "(?<![\\u203c-\\u3299\\u{1f000}-\\u{1faff}])[\\ufe0e\\ufe0f]";
  var ANY = new RegExp(`[${CONTROLS}${OTHERS}]|${SELECTORS}`, "u");
  var EACH = new RegExp(ANY, "gu");
  var CONTROL = new RegExp(`[${CONTROLS}]`, "g");
  var RUN = new RegExp(`([${OTHERS}]|${SELECTORS})\\1*`, "gu");
  var picture = (control) => control === "" ? "␡" : String.fromCharCode(9216 + control.charCodeAt(0));
  function visible(text2) {
    if (!ANY.test(text2)) return text2;
    return text2.replace(CONTROL, picture).replace(RUN, (run, one) => {
      const code = one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      const times = run.length / one.length;
      return `⟨U+${code}${times > 1 ? `×${times}` : ""}⟩`;
    });
  }
  function unseen(text2) {
    if (!ANY.test(text2)) return 0;
    let count = 0;
    for (EACH.lastIndex = 0; EACH.exec(text2); ) count += 1;
    return count;
  }
  var raw = (source) => h("pre", { class: "raw", tabindex: 0 }, source ?? "");

  // shell/elements.ts
  var READ = /* @__PURE__ */ new Set(["title", "aria-label", "placeholder"]);
  function h(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === void 0 || value === false) continue;
      if (typeof value === "function") node.addEventListener(key.slice(2), value);
      else if (typeof value === "object")
        for (const [property, set] of Object.entries(value)) node.style.setProperty(property, set);
      else node.setAttribute(key, value === true ? "" : READ.has(key) ? visible(String(value)) : String(value));
    }
    append(node, children);
    return node;
  }
  function append(node, children) {
    for (const child of children) {
      if (Array.isArray(child)) append(node, child);
      else if (child !== null && child !== void 0 && child !== false)
        node.append(child instanceof Node ? child : visible(String(child)));
    }
  }

  // shell/bar.ts
  var THEMES = { auto: "◐ Auto", light: "☀ Light", dark: "☾ Dark" };
  var CHOICES = Object.keys(THEMES);
  function bar({ links = [], help = null }) {
    const nav = h(
      "nav",
      { "aria-label": "Parts of the page" },
      links.map(({ href, label }) => h("a", { href }, label))
    );
    const header = document.querySelector("header.bar");
    header.querySelectorAll("nav, .tools, dialog").forEach((old) => old.remove());
    const tools = h("div", { class: "tools" }, themeButton());
    header.append(nav, tools);
    if (!help) return { help: () => {
    } };
    const form = h("form", { method: "dialog" }, h("button", { type: "submit" }, "Close"));
    const dialog2 = h("dialog", { "aria-label": "Help" }, help, form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      dialog2.close();
    });
    const open = () => dialog2.showModal();
    tools.append(h("button", { type: "button", class: "quiet", "aria-label": "Help", onclick: open }, "?"));
    header.append(dialog2);
    return { help: open };
  }
  function themeButton() {
    const button = h("button", { type: "button", class: "quiet" });
    let choice = storedTheme();
    const apply = () => {
      document.documentElement.dataset.theme = choice;
      button.textContent = THEMES[choice];
      button.setAttribute("aria-label", `Colours: ${choice}. Change`);
    };
    apply();
    button.addEventListener("click", () => {
      choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
      apply();
      try {
        localStorage.setItem("theme", choice);
      } catch {
      }
    });
    return button;
  }
  function storedTheme() {
    try {
      return CHOICES.find((name) => name === localStorage.getItem("theme")) ?? "auto";
    } catch {
      return "auto";
    }
  }

  // shell/clipboard.ts
  async function copy(text2) {
    try {
      await navigator.clipboard.writeText(text2);
    } catch {
      const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });
      area.value = text2;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }
  function copyButton(label, content) {
    const button = h("button", { type: "button", class: "quiet" }, label);
    button.addEventListener("click", async () => {
      await copy(content());
      button.textContent = "Copied";
      announce("Copied to the clipboard");
      setTimeout(() => button.textContent = label, 1500);
    });
    return button;
  }
  var status = h("div", { class: "offscreen", role: "status" });
  function announce(message) {
    status.textContent = message;
  }
  document.addEventListener("DOMContentLoaded", () => document.body.append(status));
  document.addEventListener("copy", (event) => {
    const selection = getSelection();
    if (!selection?.rangeCount || selection.isCollapsed) return;
    const part2 = selection.getRangeAt(0).cloneContents();
    const formulas = part2.querySelectorAll("[data-source]");
    if (!formulas.length) return;
    for (const formula of formulas) formula.textContent = formula.dataset.source ?? "";
    event.clipboardData?.setData("text/plain", part2.textContent ?? "");
    event.preventDefault();
  });

  // shell/libraries.ts
  var unshaped = [];
  function load(name) {
    const template = document.readyState === "loading" ? null : document.getElementById(`library-${name}`);
    if (!(template instanceof HTMLTemplateElement)) return;
    document.head.append(template.content);
    template.remove();
    if (name === "plots") for (const shape of unshaped.splice(0)) shape();
  }
  function withD3(action) {
    if (typeof d3 === "undefined") unshaped.push(action);
    else action();
  }
  var loaded = new Promise((go) => {
    if (document.readyState === "complete") go();
    else window.addEventListener("load", () => go());
  });
  var idle = () => new Promise(
    (go) => "requestIdleCallback" in window ? requestIdleCallback(() => go(), { timeout: 500 }) : setTimeout(go, 50)
  );
  var painted = () => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => go())));
  var standing = false;
  var stands = loaded.then(painted).then(() => {
    standing = true;
  });
  stands.then(idle).then(idle).then(() => (load("prose"), load("math")));

  // shell/numbers.ts
  var percent = (share, digits = 1) => share === null || share === void 0 ? "–" : `${(100 * share).toFixed(digits)} %`;
  var number = (value) => value === null || value === void 0 ? "–" : String(value).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
  function csv(rows) {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const cell = (value) => {
      const shown2 = value === null || value === void 0 ? "" : String(value);
      return /[",\n\r]/.test(shown2) ? `"${shown2.replaceAll('"', '""')}"` : shown2;
    };
    const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
    return lines.map((line2) => line2.map(cell).join(",")).join("\n") + "\n";
  }

  // shell/table.ts
  var own = (row, key) => row[key];
  var valueOf = (column, row) => column.value ? column.value(row) : own(row, column.key);
  var shown = (value) => value ?? "–";
  function table(wanted) {
    const { caption, columns, rows, sort = null, sortable = true, className = "" } = wanted;
    const body = h("tbody");
    const heads = columns.map((column) => {
      const head = h("th", { scope: "col", class: column.numeric ? "number" : null, title: column.title });
      if (sortable && rows.length > 1)
        head.append(h("button", { type: "button", onclick: () => by(column) }, column.label));
      else head.append(column.label);
      return head;
    });
    const fill2 = (shown2) => body.replaceChildren(...shown2.map((row) => line(columns, row)));
    let sorted = null;
    function by(column, descending) {
      const down = descending ?? (sorted?.column === column ? !sorted.down : Boolean(column.numeric));
      sorted = { column, down };
      heads.forEach(
        (head, at) => columns[at] === column ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort")
      );
      fill2([...rows].sort((one, other) => compare(valueOf(column, one), valueOf(column, other), down)));
    }
    fill2(rows);
    const start = sort && columns.find((column) => column.key === sort.key);
    if (start) by(start, sort.descending);
    return h(
      "div",
      { class: "tabled" },
      h("p", { class: "caption" }, caption),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
        h("table", { class: className, "aria-label": caption }, h("thead", null, h("tr", null, heads)), body)
      )
    );
  }
  function line(columns, row) {
    return h(
      "tr",
      { class: own(row, "className") },
      columns.map((column, at) => {
        const content = column.show ? column.show(row) : shown(valueOf(column, row));
        const kind = column.numeric ? "number" : null;
        return at === 0 ? h("th", { class: kind, scope: "row" }, content) : h("td", { class: kind }, content);
      })
    );
  }
  function compare(a, b, down) {
    if (a === null || a === void 0) return 1;
    if (b === null || b === void 0) return -1;
    const both = typeof a === "number" && typeof b === "number";
    const difference = both ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
    return down ? -difference : difference;
  }

  // shell/chart.ts
  var SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "cross", "wye", "asterisk"];
  var LARGEST = 760;
  var OWN_COLOURS = 8;
  var GOLDEN_ANGLE = 137.508;
  var MOST_ROWS = 500;
  var colour = (series) => series < OWN_COLOURS ? `var(--series-${series + 1})` : `hsl(${Math.round(series * GOLDEN_ANGLE) % 360} 55% var(--series-light))`;
  var symbol = (series) => SYMBOLS[(series + Math.floor(series / SYMBOLS.length)) % SYMBOLS.length];
  function chart({ title, says, draw, rows, legend = [], label }) {
    const canvas = h("div", { class: "canvas" });
    const figure = h(
      "figure",
      { class: "chart" },
      h("figcaption", null, h("h3", null, title), says ? h("p", null, says) : null),
      legend.length > 1 ? h(
        "ul",
        { class: "legend" },
        legend.map((entry) => h("li", null, swatch(entry), entry.label))
      ) : null,
      canvas,
      h(
        "p",
        { class: "below" },
        copyButton("Copy the numbers as CSV", () => csv(rows))
      ),
      numbers(title, rows)
    );
    let drawn = 0;
    const redraw = () => {
      const width = canvas.clientWidth;
      if (!width || Math.abs(width - drawn) < 16) return;
      drawn = width;
      const svg = draw(Math.min(width, LARGEST));
      for (const part2 of svg.querySelectorAll("[aria-label], [aria-description]")) {
        part2.removeAttribute("aria-label");
        part2.removeAttribute("aria-description");
      }
      gate(svg);
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", visible(label ?? `${title}. ${typeof says === "string" ? says : ""}`));
      canvas.replaceChildren(svg);
    };
    charts.add(redraw);
    new ResizeObserver(() => undrawn(redraw)).observe(canvas);
    return figure;
  }
  function numbers(title, rows) {
    const details = h(
      "details",
      { class: "numbers", ontoggle: fill2 },
      h("summary", null, "The numbers as a table")
    );
    function fill2() {
      if (!details.open || details.childElementCount > 1 || !rows.length) return;
      const shown2 = rows.slice(0, MOST_ROWS);
      const columns = Object.keys(shown2[0]).map((key) => {
        const numeric = shown2.every((row) => typeof row[key] === "number" || row[key] === null);
        return { key, label: key, numeric, show: (row) => rounded(row[key]) };
      });
      const rest2 = rows.length > MOST_ROWS ? `; the first ${MOST_ROWS} of ${rows.length} rows, all of them as CSV` : "";
      details.append(table({ caption: `${title}${rest2}`, columns, rows: shown2 }));
    }
    return details;
  }
  var rounded = (value) => typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(4) : value === null ? "–" : String(value);
  function gate(svg) {
    const texts = document.createTreeWalker(svg, NodeFilter.SHOW_TEXT);
    for (let node; node = texts.nextNode(); ) if (node.nodeValue) node.nodeValue = visible(node.nodeValue);
  }
  var charts = /* @__PURE__ */ new Set();
  var drawing = false;
  function undrawn(redraw) {
    charts.add(redraw);
    document.documentElement.dataset.drawn = "no";
    if (!drawing) stands.then(() => setTimeout(drawNext));
    drawing = true;
  }
  function drawNext() {
    load("plots");
    const [redraw] = charts;
    charts.delete(redraw);
    redraw?.();
    drawing = charts.size > 0;
    if (drawing) setTimeout(drawNext);
    else document.documentElement.dataset.drawn = "yes";
  }
  var delayed = /* @__PURE__ */ new Set();
  function later(action) {
    if (standing) {
      action();
      return;
    }
    delayed.add(action);
    document.documentElement.dataset.drawn = "no";
    stands.then(() => {
      if (delayed.delete(action)) action();
      painted().then(() => drawing || (document.documentElement.dataset.drawn = "yes"));
    });
  }
  window.addEventListener("beforeprint", () => {
    for (const action of delayed) action();
    delayed.clear();
    load("plots");
    if (typeof Plot !== "undefined") for (const redraw of charts) redraw();
  });
  var SVG = "http://www.w3.org/2000/svg";
  function swatch({ series, dashed }) {
    const svg = document.createElementNS(SVG, "svg");
    const size = { width: "26", height: "12", viewBox: "-13 -6 26 12", "aria-hidden": "true" };
    for (const [key, value] of Object.entries(size)) svg.setAttribute(key, value);
    const line2 = document.createElementNS(SVG, "path");
    line2.setAttribute("d", "M-12,0H12");
    line2.setAttribute("stroke", colour(series));
    line2.setAttribute("stroke-width", "2");
    if (dashed) line2.setAttribute("stroke-dasharray", "4 3");
    const mark = document.createElementNS(SVG, "path");
    mark.setAttribute("fill", colour(series));
    withD3(() => mark.setAttribute("d", d3.symbol(symbolType(series), 40)() ?? ""));
    svg.append(line2, mark);
    return svg;
  }
  function symbolType(series) {
    const name = symbol(series);
    return d3[`symbol${name[0].toUpperCase()}${name.slice(1)}`];
  }

  // shell/data.ts
  async function unpack(packed) {
    const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(packed) : Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }
  async function fetched(path) {
    const reply = await fetch(path, { cache: "no-store" });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return reply.json();
  }
  var parsed = new Promise((go) => {
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => go());
    else go();
  });
  var packedChunk = async (number2) => (await parsed, document.getElementById(`chunk-${number2}`));
  var has = async (number2) => await packedChunk(number2) !== null;
  async function model() {
    const packed = document.getElementById("model")?.textContent;
    return packed ? unpack(packed) : fetched("model.json");
  }
  var KEPT = 8;
  var kept = /* @__PURE__ */ new Map();
  function chunk(number2, version = "") {
    const name = `${number2}/${version}`;
    const found = kept.get(name) ?? read(number2, version);
    kept.delete(name);
    kept.set(name, found);
    found.catch(() => kept.delete(name));
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
    return found;
  }
  async function read(number2, version) {
    const packed = await packedChunk(number2);
    return packed ? unpack(packed.textContent ?? "") : fetched(`chunk/${number2}.json?v=${encodeURIComponent(version)}`);
  }

  // shell/explain.ts
  var dialog = null;
  function explain(what, ...says) {
    return h(
      "button",
      { type: "button", class: "explain", "aria-label": `What is ${what}?`, onclick: () => show(what, says) },
      "?"
    );
  }
  function show(what, says) {
    dialog ??= document.body.appendChild(h("dialog", { class: "explanation" }));
    const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
    const paragraphs = says.map((said) => typeof said === "string" ? h("p", null, said) : said);
    dialog.setAttribute("aria-label", what);
    dialog.replaceChildren(h("h2", null, what), ...paragraphs.filter((part2) => part2 instanceof Node), close);
    dialog.showModal();
  }

  // shell/pieces.ts
  var LONGEST = 8e3;
  var ENVIRONMENTS = new Set(
    "equation align alignat gather aligned alignedat gathered split array cases rcases dcases drcases matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix CD".split(" ")
  );
  var isText = (piece) => piece !== void 0 && "text" in piece;
  var pieces = (source) => [...eachPiece(source)];
  function* eachPiece(source) {
    const opener = /\\\\|\\\$|\\\(|\\\[|\$\$?|\\begin\{([A-Za-z]{1,20})\*?\}/g;
    const next = finder(source);
    let from = 0;
    for (let match; match = opener.exec(source); ) {
      const [open, environment] = match;
      const start = match.index;
      const inside = start + open.length;
      const [end, closer] = closing(source, open, environment, inside, next);
      if (end === -1) {
        if (open === "$$") opener.lastIndex = start + 2;
        continue;
      }
      const after = end + closer.length;
      if (start > from) yield { text: source.slice(from, start) };
      const whole = source.slice(start, after);
      const formula = environment ? whole : source.slice(inside, end);
      yield { formula, display: open !== "$" && open !== "\\(", source: whole };
      from = opener.lastIndex = after;
    }
    if (from < source.length) yield { text: source.slice(from) };
  }
  function finder(source) {
    const known = /* @__PURE__ */ new Map();
    return (closer, from) => {
      let at = known.get(closer);
      if (at === void 0 || at !== -1 && at < from) known.set(closer, at = source.indexOf(closer, from));
      return at;
    };
  }
  function closing(source, open, environment, inside, next) {
    if (open === "\\(") return [next("\\)", inside), "\\)"];
    if (open === "\\[") return [next("\\]", inside), "\\]"];
    if (open === "$$") return [next("$$", inside), "$$"];
    if (open === "$") return [closingDollar(source, inside, next), "$"];
    if (!environment || !ENVIRONMENTS.has(environment)) return [-1, ""];
    const closer = open.replace("begin", "end");
    return [next(closer, inside), closer];
  }
  function closingDollar(source, inside, next) {
    if (/\s/.test(source[inside] ?? " ")) return -1;
    let at = next("$", inside);
    while (at !== -1 && source[at - 1] === "\\") at = next("$", at + 1);
    if (at <= inside || /\s/.test(source[at - 1]) || /[0-9]/.test(source[at + 1] ?? "")) return -1;
    return at - inside < LONGEST && /\n\s*\n/.test(source.slice(inside, at)) ? -1 : at;
  }

  // shell/scope.ts
  var EMPTY = { macros: {}, labels: /* @__PURE__ */ new Map() };
  var LONGEST2 = 2e5;
  var DEFINITION = /\\(?:(?:re)?newcommand|providecommand|def|DeclareMathOperator)\*?\s*\{?\s*(\\[A-Za-z]+)\s*\}?\s*(?:\[\d\])?\s*\{/g;
  var LABEL = /\\label\s*\{([A-Za-z0-9:._-]{1,30})\}/g;
  function scopeOf(texts) {
    const scope = { macros: {}, labels: /* @__PURE__ */ new Map() };
    for (const text2 of texts) {
      if (!text2 || text2.length > LONGEST2) continue;
      if (text2.includes("\\")) define(text2, scope.macros);
      if (!text2.includes("\\label")) continue;
      for (const piece of pieces(text2)) {
        if (isText(piece)) continue;
        for (const [, label] of piece.source.matchAll(LABEL)) {
          if (!scope.labels.has(label)) scope.labels.set(label, scope.labels.size + 1);
        }
      }
    }
    return scope;
  }
  function define(text2, macros) {
    for (const found of text2.matchAll(DEFINITION)) {
      const inside = found.index + found[0].length;
      const end = closingBrace(text2, inside);
      if (end === -1 || end - inside > 200) continue;
      const body = text2.slice(inside, end);
      macros[found[1]] = found[0].startsWith("\\Declare") ? `\\operatorname{${body}}` : body;
    }
  }
  function closingBrace(text2, from, to = text2.length) {
    let depth = 1;
    for (let at = from; at < to; at += 1) {
      if (text2[at] === "\\") at += 1;
      else if (text2[at] === "{") depth += 1;
      else if (text2[at] === "}" && --depth === 0) return at;
    }
    return -1;
  }

  // shell/latex.ts
  var THEOREMS = "theorem|lemma|claim|proposition|corollary|definition|remark|example|case|fact|observation|proof|solution";
  var LAYOUT = "center|quote|quotation|abstract|document|flushleft|flushright";
  var STRUCTURE = new RegExp(
    [
      `\\\\(begin|end)\\s*\\{(enumerate|itemize|description|${THEOREMS}|${LAYOUT})(\\*?)\\}`,
      "[ \\t]*(?:\\[([^\\]\\n]{0,80})\\])?[ \\t]*",
      "|\\\\(item)(?![A-Za-z])[ \\t]*(?:\\[([^\\]\\n]{0,80})\\])?[ \\t]*",
      "|\\\\((?:sub){0,2}section|(?:sub)?paragraph|chapter)\\*?\\s*\\{([^{}\\n]{0,300})\\}",
      "|\\n"
    ].join(""),
    "g"
  );
  var WIDTH = 4;
  function structured(source) {
    if (!/\\(?:begin|item|(?:sub)*section|(?:sub)?paragraph|chapter)/.test(source)) return source;
    const lists = [];
    const indent = () => " ".repeat(WIDTH * lists.length);
    return source.replace(STRUCTURE, (all, border, environment, _star, title, item, label, heading, text2) => {
      if (all === "\n") return `
${indent()}`;
      if (heading) return `

${indent()}### ${text2.trim()}

${indent()}`;
      if (item) {
        const list = lists.at(-1);
        if (!list) return all;
        const mark = list.kind === "enumerate" ? `${list.count += 1}.` : "-";
        return `
${" ".repeat(WIDTH * (lists.length - 1))}${mark.padEnd(WIDTH)}${label ? `**${label}** ` : ""}`;
      }
      if (/^(?:enumerate|itemize|description)$/.test(environment)) {
        if (border === "begin") lists.push({ kind: environment, count: 0 });
        else if (lists.pop() === void 0) return all;
        return `

${indent()}`;
      }
      if (new RegExp(`^(?:${LAYOUT})$`).test(environment)) return `

${indent()}`;
      if (border === "end") return environment === "proof" ? ` ∎

${indent()}` : `

${indent()}`;
      const name = environment[0].toUpperCase() + environment.slice(1);
      return `

${indent()}**${name}${title ? ` (${title})` : ""}.** `;
    });
  }
  var STYLES = {
    textbf: "strong",
    emph: "em",
    textit: "em",
    textsl: "em",
    texttt: "code",
    underline: "u",
    textsc: "span",
    textrm: "span",
    textup: "span",
    text: "span",
    mbox: "span"
  };
  var SIGNS = {
    qed: "∎",
    qedsymbol: "∎",
    qedhere: "∎",
    blacksquare: "■",
    ldots: "…",
    dots: "…",
    S: "§",
    quad: " ",
    qquad: "  ",
    newline: "\n",
    noindent: "",
    medskip: "",
    smallskip: "",
    bigskip: "",
    hfill: " "
  };
  var COMMAND = /\\([A-Za-z]+)\*?/y;
  function useLatex(md) {
    md.inline.ruler.before("escape", "latex", (state, silent) => {
      if (state.src[state.pos] !== "\\") return false;
      if (lineBreak(state, silent)) return true;
      COMMAND.lastIndex = state.pos;
      const [all, name] = COMMAND.exec(state.src) ?? [];
      if (all === void 0 || name === void 0) return false;
      const after = state.pos + all.length;
      if (Object.hasOwn(SIGNS, name)) return sign(state, SIGNS[name], after, silent);
      return Object.hasOwn(STYLES, name) && styled(state, STYLES[name], after, silent);
    });
  }
  function lineBreak(state, silent) {
    const found = /^\\\\(?:\[[\d.]{1,6}(?:pt|em|ex|mm|cm)\])?[ \t]*(?=\n|$)/.exec(
      state.src.slice(state.pos, state.pos + 30)
    );
    if (!found || state.pos + found[0].length > state.posMax) return false;
    if (!silent) state.push("hardbreak", "br", 0);
    state.pos += found[0].length;
    return true;
  }
  function sign(state, shown2, after, silent) {
    const rest2 = /^(?:\{\}|[ \t]+)?/.exec(state.src.slice(after, after + 40))[0];
    if (!silent) state.push("text", "", 0).content = shown2 + (rest2.startsWith(" ") && shown2.trim() ? " " : "");
    state.pos = after + rest2.length;
    return true;
  }
  function styled(state, tag, after, silent) {
    if (state.src[after] !== "{") return false;
    const end = closingBrace(state.src, after + 1, state.posMax);
    if (end === -1) return false;
    if (!silent) {
      const most = state.posMax;
      state.push("styled_open", tag, 1);
      state.pos = after + 1;
      state.posMax = end;
      state.md.inline.tokenize(state);
      state.posMax = most;
      state.push("styled_close", tag, -1);
    }
    state.pos = end + 1;
    return true;
  }

  // shell/markdown.ts
  var reader = null;
  var canRead = () => typeof markdownit !== "undefined";
  function read2() {
    if (reader) return reader;
    reader = markdownit("commonmark", { html: false, breaks: false }).enable("table");
    reader.disable([
      "html_block",
      "html_inline",
      "link",
      "image",
      "autolink",
      "entity",
      "reference",
      "code",
      "lheading",
      "blockquote"
    ]);
    useLatex(reader);
    wholeWords(reader);
    noPlusLists(reader);
    return reader;
  }
  function wholeWords(md) {
    const State = md.inline.State;
    const scan = State.prototype.scanDelims;
    if (scan.wholeWords) return;
    State.prototype.scanDelims = function(start) {
      return scan.call(this, start, false);
    };
    State.prototype.scanDelims.wholeWords = true;
  }
  function noPlusLists(md) {
    const { ruler } = md.block;
    const rule = ruler.__rules__.find(({ name }) => name === "list").fn;
    const list = (state, line2, end, silent) => state.src[state.bMarks[line2] + state.tShift[line2]] !== "+" && rule(state, line2, end, silent);
    ruler.at("list", list, { alt: ["paragraph", "reference", "blockquote"] });
  }
  function append2(node, source, fill2) {
    const text2 = structured(source);
    const lines = text2.split("\n");
    build(read2().parse(text2, {}), node, fill2, lines);
  }
  function appendInline(node, source, fill2) {
    build(read2().parseInline(source, {}), node, fill2, []);
  }
  var PLAIN = /* @__PURE__ */ new Set([
    "p",
    "ul",
    "ol",
    "li",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "hr",
    "strong",
    "em",
    "u",
    "code",
    "span",
    "br"
  ]);
  function build(tokens, into, fill2, lines) {
    const open = [into];
    for (let at = 0; at < tokens.length; at += 1) {
      const token = tokens[at];
      const parent = open.at(-1);
      if (token.type === "table_open" && loses(token, lines)) {
        parent.append(h("pre", null, fill2.source(lines.slice(...token.map).join("\n"))));
        while (tokens[at].type !== "table_close") at += 1;
      } else if (token.type === "inline") build(token.children ?? [], parent, fill2, lines);
      else if (token.type === "text") fill2(parent, token.content);
      else if (token.type === "softbreak") parent.append("\n");
      else if (token.type === "code_inline") parent.append(h("code", null, fill2.source(token.content)));
      else if (token.type === "fence") parent.append(fence(token, fill2));
      else if (token.hidden) continue;
      else if (token.nesting === -1) open.pop();
      else {
        const node = element(token);
        parent.append(node);
        if (token.nesting === 1) open.push(node);
      }
    }
  }
  function element(token) {
    if (token.type === "heading_open") return h("p", { class: `heading-${token.tag.slice(1)}` });
    const node = h(PLAIN.has(token.tag) ? token.tag : "span");
    if (token.type === "list_item_open" && token.info) node.setAttribute("value", token.info);
    if (token.type === "bullet_list_open") node.dataset.mark = token.markup;
    if (token.tag === "ol" && token.markup === ")") node.dataset.mark = ")";
    return node;
  }
  function fence(token, fill2) {
    const info = token.info.trim();
    return h(
      "div",
      { class: "fence" },
      info ? h("p", { class: "info" }, fill2.source(info)) : null,
      h("pre", null, fill2.source(token.content))
    );
  }
  function loses(token, lines) {
    const cells = (line2) => line2.replace(/\\\|/g, "").replace(/^\s*\||\|\s*$/g, "").split("|").length;
    const [from, to] = token.map;
    const rows = lines.slice(from, to);
    return rows.some((line2) => cells(line2) > cells(rows[0]));
  }

  // shell/formulas.ts
  var LONGEST3 = 8e3;
  var DEEPEST = 60;
  var DEEPEST_LAYOUT = 430;
  var LARGEST_LAYOUT = 2e4;
  function typeset(span, piece, scope = EMPTY) {
    try {
      const fault = tooMuch(piece.formula);
      if (fault) throw new Error(fault);
      const boxes = layout(piece, scope);
      span.replaceChildren(boxes.toNode());
      span.dataset.source = piece.source;
      if (MOVING.test(piece.formula) && leaves(span)) throw new Error("moves text out of its place");
    } catch (error) {
      asSource(span, piece, error.message);
    }
  }
  function asSource(span, piece, why) {
    span.className = "math source";
    span.title = `Shown as source: ${visible(why.slice(0, 200))}`;
    delete span.dataset.source;
    span.textContent = visible(piece.source);
  }
  function tooMuch(formula) {
    if (formula.length > LONGEST3) return "too long to typeset";
    if (unseen(formula)) return "holds characters that cannot be seen";
    let depth = 0;
    for (const [brace] of formula.matchAll(/\\[^]|[{}]/g)) {
      if (brace === "{" && ++depth > DEEPEST) return "nested too deeply";
      if (brace === "}") depth -= 1;
    }
    return null;
  }
  function layout(piece, { macros, labels }) {
    let refused = false;
    const formula = numbered(piece.formula, labels).replace(/(\\[^])|%/g, (_, escaped) => escaped ?? "\\%");
    const boxes = katex.__renderToDomTree(formula, {
      displayMode: piece.display,
      throwOnError: true,
      strict: "ignore",
      maxExpand: 500,
      maxSize: 8,
      macros: { ...TEXT_MACROS, ...macros },
      trust: () => {
        refused = true;
        return false;
      }
    });
    if (refused) throw new Error("uses a command that is not allowed here");
    const fault = tooLarge(boxes);
    if (fault) throw new Error(fault);
    return boxes;
  }
  var TEXT_MACROS = {
    "\\mbox": "\\text{#1}",
    "\\qed": "\\square",
    "\\qedhere": "\\square",
    "\\mathbbm": "\\mathbb{#1}",
    "\\hfill": "\\quad"
  };
  function numbered(formula, labels) {
    const starred = formula.replace(/\\(begin|end)\{(equation|align|gather|alignat)\}/g, "\\$1{$2*}");
    if (!labels.size) return starred;
    return starred.replace(LABEL, (all, label) => labels.has(label) ? `\\tag{${labels.get(label)}}` : all).replace(
      /\\eqref\s*\{([^{}]{1,30})\}/g,
      (all, label) => labels.has(label) ? `\\text{(${labels.get(label)})}` : all
    );
  }
  function tooLarge(boxes) {
    let count = 0;
    const open = [[boxes, 1]];
    for (let next; next = open.pop(); ) {
      const [box, depth] = next;
      count += 1;
      if (depth > DEEPEST_LAYOUT) return "nested too deeply";
      if (count > LARGEST_LAYOUT) return "too large to typeset";
      for (const child of box.children ?? []) open.push([child, depth + 1]);
    }
    return null;
  }
  var MOVING = /\\(?:[lrc]lap|math[lrc]lap|raisebox|m?kern|[mh]skip|m?hspace|smash|lower|raise)(?![A-Za-z])/;
  function leaves(span) {
    const block = span.closest(".prose")?.getBoundingClientRect();
    const scrolls = span.classList.contains("display");
    if (!block?.width) return false;
    for (const part2 of span.querySelectorAll(".katex-html *")) {
      if (part2.firstElementChild || !part2.textContent?.trim()) continue;
      const { left, right, top, bottom } = part2.getBoundingClientRect();
      const outside = left < block.left - 1 || top < block.top - 4 || bottom > block.bottom + 4;
      if (outside || !scrolls && right > block.right + 1) return true;
    }
    return false;
  }

  // shell/typesetting.ts
  var GROUP = 8;
  var PASSES = 3;
  var TURN = 25;
  var TURN_COST = 2e4;
  var SEEN_COST = 3 * TURN_COST;
  var costOf = (formula) => 150 + 15 * formula.source.length;
  var groups = /* @__PURE__ */ new WeakMap();
  var waiting = [];
  var coming = false;
  var near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) demand(target);
    },
    { rootMargin: "600px 0px" }
  );
  function whenNear(node, actions) {
    groups.set(node, actions);
    node.classList.add("untypeset");
    near.observe(node);
  }
  function typesetLater(formulas) {
    for (let at = 0; at < formulas.length; at += GROUP) {
      const group = formulas.slice(at, at + GROUP);
      const actions = group.map(({ span, piece, scope }) => ({
        run: () => {
          if (span.isConnected && typeof katex !== "undefined") typeset(span, piece, scope);
        },
        cost: costOf(piece)
      }));
      whenNear(group[0].span, actions);
    }
  }
  function demand(node) {
    near.unobserve(node);
    node.classList.remove("untypeset");
    waiting.push(...groups.get(node) ?? []);
    groups.delete(node);
    if (waiting.length) {
      document.documentElement.dataset.typeset = "no";
      parsed.then(turn);
    }
  }
  function turn() {
    if (coming || !waiting.length) return;
    coming = true;
    requestAnimationFrame(
      () => setTimeout(() => {
        coming = false;
        settle(TURN, TURN_COST);
      })
    );
  }
  function settle(budget, most = Infinity) {
    if (document.readyState === "loading") return 0;
    if (waiting.length) {
      load("prose");
      load("math");
    }
    const deadline = performance.now() + budget;
    let done = 0;
    let cost = 0;
    while (done < waiting.length && cost < most && performance.now() < deadline) {
      cost += waiting[done].cost;
      waiting[done++].run();
    }
    waiting.splice(0, done);
    turn();
    document.documentElement.dataset.typeset = waiting.length ? "no" : "yes";
    return cost;
  }
  function demandSeen() {
    const all = [...document.querySelectorAll(".untypeset")];
    const seen = all.filter(
      (node) => !node.closest("details:not([open])") && node.getBoundingClientRect().top < innerHeight
    );
    seen.forEach(demand);
    return seen.length > 0;
  }
  function settleSeen(budget) {
    const deadline = performance.now() + budget;
    let left = SEEN_COST;
    for (let pass = 0; pass < PASSES && left > 0 && demandSeen(); pass += 1)
      left -= settle(deadline - performance.now(), left);
    if (left > 0) settle(deadline - performance.now(), left);
  }
  window.addEventListener("beforeprint", () => {
    if (document.readyState === "loading") return;
    for (let untypeset; (untypeset = document.querySelectorAll(".untypeset")).length || waiting.length; ) {
      for (const node of untypeset) demand(node);
      settle(3e4);
    }
  });

  // shell/prose.ts
  var LONG = 12e3;
  var SECTION = 3e3;
  var MARK = 15;
  var AHEAD = 2e3;
  var GROUP2 = 100;
  var sources = /* @__PURE__ */ new WeakMap();
  var asTheyCame = false;
  function toggleRaw() {
    asTheyCame = !asTheyCame;
    for (const node of document.querySelectorAll(".prose")) sources.get(node)?.();
    return asTheyCame;
  }
  var isRaw = () => asTheyCame;
  function text(source, { tag = "div", className = "prose", scope = EMPTY } = {}) {
    const node = h(tag, { class: className });
    const all = source ?? "";
    const show2 = () => {
      node.classList.toggle("as-it-came", asTheyCame);
      node.replaceChildren();
      if (all.length > LONG || weight(all) > LONG) node.append(...sections(all, scope));
      else if (canRead() && !asTheyCame) fill(node, all, scope);
      else part(node, all, scope);
    };
    sources.set(node, show2);
    show2();
    return node;
  }
  var MARKED = /[^\p{L}\p{N} .,;:'"()?!]/u;
  function part(node, source, scope) {
    node.append(visible(source));
    readLater(node, source, scope);
    return node;
  }
  function readLater(node, source, scope) {
    if (asTheyCame || !MARKED.test(source)) return;
    whenNear(node, [{ run: () => fill(node, source, scope), cost: source.length }]);
  }
  var DELIMITER = /\$|\\[()[\]]/g;
  var weight = (source) => source.length + MARK * (source.match(DELIMITER)?.length ?? 0);
  function sections(source, scope) {
    const cuts = [];
    let from = 0;
    while (cuts.length < GROUP2 && from < source.length) {
      const to = sectionEnd(source, from);
      cuts.push(source.slice(from, to));
      from = to;
    }
    const parts = cuts.map((cut) => h("div", { class: "section" }, cut));
    const group = h("div", { class: "sections" }, parts);
    whenNear(group, [{ run: () => parts.forEach((node, at) => readLater(node, cuts[at], scope)), cost: 0 }]);
    return from < source.length ? [group, rest(source.slice(from), scope)] : [group];
  }
  function rest(source, scope) {
    const node = h("div", { class: "sections" });
    const run = () => {
      if (node.isConnected) node.replaceWith(...sections(source, scope));
      else wait();
    };
    const wait = () => whenNear(node, [{ run, cost: GROUP2 * SECTION }]);
    wait();
    demand(node);
    return node;
  }
  function sectionEnd(source, from) {
    const most = heaviest(source, from);
    if (most === source.length) return most;
    const words = pieces(source.slice(from, most)).map(
      (piece) => isText(piece) ? piece.text : "x".repeat(piece.source.length)
    );
    const seen = words.join("");
    for (const mark of ["\n\n", "\n", " "]) {
      const at = seen.lastIndexOf(mark);
      if (at >= seen.length / 2) return from + at + mark.length;
    }
    const pair = /[\ud800-\udbff]/.test(source[most - 1]);
    return pair ? most - 1 : most;
  }
  function heaviest(source, from) {
    let left = SECTION;
    let at = from;
    for (const piece of eachPiece(source.slice(from, from + SECTION + AHEAD))) {
      const words = isText(piece) ? piece.text : piece.source;
      const cost = weight(words);
      if (cost > left && isText(piece)) return at + Math.min(Math.max(left, 1), words.length);
      if (cost > left && at > from) return at;
      left -= cost;
      at += words.length;
    }
    return at;
  }
  var FIRST = 983040;
  var MOST = 65533;
  var HELD = /[\u{f0000}-\u{ffffd}]/gu;
  function fill(node, source, scope) {
    const formulas = [];
    const held = pieces(source).map((piece) => {
      if (isText(piece))
        return visible(piece.text).replace(HELD, (one) => `⟨U+${one.codePointAt(0).toString(16).toUpperCase()}⟩`);
      return formulas.length >= MOST ? piece.source : String.fromCodePoint(FIRST + formulas.push(piece) - 1);
    }).join("");
    const formulaOf = (one) => formulas[one.codePointAt(0) - FIRST];
    const waiting2 = [];
    const plain = ((into, words) => {
      let from = 0;
      for (const match of words.matchAll(HELD)) {
        if (match.index > from) into.append(referred(words.slice(from, match.index), scope));
        from = match.index + match[0].length;
        const piece = formulaOf(match[0]);
        const short = !piece.display && piece.source.length < 40;
        const [stop] = short && words.slice(from, from + 4).match(/^[.,;:!?)]+/) || [""];
        from += stop.length;
        const span = h("span", { class: piece.display ? "math display" : "math" }, piece.source);
        into.append(stop ? h("span", { class: "bound" }, span, stop) : span);
        waiting2.push({ span, piece, scope });
      }
      if (from < words.length) into.append(referred(words.slice(from), scope));
    });
    plain.source = (words) => words.replace(HELD, (one) => formulaOf(one).source);
    node.replaceChildren();
    if (!canRead()) plain(node, held);
    else if (!MARKED.test(held)) plain(node, held);
    else if (node.tagName === "SPAN") appendInline(node, held, plain);
    else append2(node, held, plain);
    typesetLater(waiting2);
  }
  function referred(words, { labels }) {
    if (!labels.size) return words;
    return words.replace(/\\(eq)?ref\s*\{([^{}]{1,30})\}/g, (all, eq, label) => {
      const number2 = labels.get(label);
      return number2 === void 0 ? all : eq ? `(${number2})` : String(number2);
    });
  }
  return __toCommonJS(index_exports);
})();
