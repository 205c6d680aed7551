"use strict";
/* The shell of every page: PB, what a page's own script builds with.

   PB.model()                 promise of the page's model            PB.chunk(n)   promise of chunk n
   PB.has(n)                  promise: is chunk n in this file?      PB.h(tag, attributes, ...children)   an element
   PB.text(source, options)   prose with mathematics, as an element  PB.raw(source)   verbatim text, as an element
   PB.table({...})            a sortable table                       PB.chart({...})  a figure with its numbers as CSV
   PB.bar({...})              the top bar: links, theme, help        PB.copy(text)    to the clipboard
   PB.later(action)           add what lies below the window, when the page stands
   PB.percent(share)          "54.1 %"                               PB.colour(i)     colour of series i, for charts

   Whatever models and datasets wrote is only ever set as text: no function here makes markup of a string, and the
   page's Trusted Types policy makes the browser refuse any that would. */
const PB = (() => {
  // ------------------------------------------------------------ data

  async function unpack(packed) {
    const bytes = Uint8Array.fromBase64
      ? Uint8Array.fromBase64(packed)
      : Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  async function fetched(path) {
    const reply = await fetch(path, { cache: "no-store" });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return reply.json();
  }

  // The page's script runs while the browser still reads what stands behind it: libraries and chunks.
  const parsed = new Promise((go) => {
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => go());
    else go();
  });

  const packedChunk = async (number) => (await parsed, document.getElementById(`chunk-${number}`));
  const has = async (number) => (await packedChunk(number)) !== null;

  async function model() {
    const packed = document.getElementById("model").textContent;
    return packed ? unpack(packed) : fetched("model.json");
  }

  const kept = new Map(); // unpacked chunks, the latest used last
  function chunk(number, version = "") {
    const name = `${number}/${version}`;
    const found = kept.get(name) ?? packedChunk(number).then((packed) => (packed ? unpack(packed.textContent) : fetched(`chunk/${number}.json?v=${encodeURIComponent(version)}`)));
    kept.delete(name);
    kept.set(name, found);
    found.catch(() => kept.delete(name));
    if (kept.size > 8) kept.delete(kept.keys().next().value);
    return found;
  }

  // ------------------------------------------------------------ libraries

  /* KaTeX ("math") and D3 with Plot ("plots") lie in templates, which cost next to nothing. Moved into the document,
     their scripts run at once: they are those that the parser made, and that the page's policy knows by their hashes. */
  function load(name) {
    const template = document.readyState === "loading" ? null : document.getElementById(`library-${name}`);
    if (!template) return; // not there yet, there already, or a page without it
    document.head.append(template.content);
    template.remove();
    if (name === "plots") for (const shape of unshaped.splice(0)) shape();
  }

  const loaded = new Promise((go) => {
    if (document.readyState === "complete") go();
    else window.addEventListener("load", () => go());
  });
  const idle = () => new Promise((go) => (window.requestIdleCallback ? requestIdleCallback(() => go(), { timeout: 500 }) : setTimeout(go, 50)));

  const painted = () => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => go())));
  let standing = false; // whether the file is read to its end, and what could be shown then has been painted
  const stands = loaded.then(painted).then(() => (standing = true));

  // When nothing else is to be done, so that the first proof that is looked at need not wait.
  stands.then(idle).then(idle).then(() => load("math"));

  // ------------------------------------------------------------ elements

  function h(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (key === "style") for (const [property, set] of Object.entries(value)) node.style.setProperty(property, set);
      else node.setAttribute(key, value === true ? "" : String(value));
    }
    append(node, children);
    return node;
  }

  function append(node, children) {
    for (const child of children) {
      if (Array.isArray(child)) append(node, child);
      else if (child !== null && child !== undefined && child !== false) node.append(child);
    }
  }

  // ------------------------------------------------------------ text and mathematics

  const LONGEST_FORMULA = 8000; // characters; a longer one is shown as source
  const ENVIRONMENTS = new Set(
    ("equation align alignat gather aligned alignedat gathered split array cases rcases dcases drcases matrix pmatrix " +
      "bmatrix Bmatrix vmatrix Vmatrix smallmatrix CD").split(" "),
  );

  /* Cut prose into text and formulas, in one pass: [{text}] or [{formula, display, source}].
     A dollar opens a formula only before a non-space, and closes one only after a non-space and not before a digit, so
     that "$5 and $6" stays text. What never closes is text. */
  function pieces(source) {
    const found = [];
    const opener = /\\\\|\\\$|\\\(|\\\[|\$\$?|\\begin\{([A-Za-z]{1,20})\*?\}/g;
    const known = new Map(); // closer -> where it comes next: every closer is searched for once, however many openers
    const next = (closer, from) => {
      let at = known.get(closer);
      if (at === undefined || (at !== -1 && at < from)) known.set(closer, (at = source.indexOf(closer, from)));
      return at;
    };
    let from = 0;
    for (let match; (match = opener.exec(source)); ) {
      const [open, environment] = match;
      const start = match.index;
      const inside = start + open.length;
      let end = -1; // where the formula's inside ends
      let closer = "";
      if (open === "\\(" || open === "\\[") {
        closer = open === "\\(" ? "\\)" : "\\]";
        end = next(closer, inside);
      } else if (open === "$$") {
        closer = "$$";
        end = next(closer, inside);
      } else if (open === "$") {
        closer = "$";
        end = closingDollar(source, inside, next);
      } else if (environment && ENVIRONMENTS.has(environment)) {
        closer = open.replace("begin", "end");
        end = next(closer, inside);
      }
      if (end === -1) {
        if (open === "$$") opener.lastIndex = start + 2;
        continue;
      }
      const after = end + closer.length;
      if (start > from) found.push({ text: source.slice(from, start) });
      const whole = source.slice(start, after);
      const formula = environment ? whole : source.slice(inside, end);
      found.push({ formula, display: open !== "$" && open !== "\\(", source: whole });
      from = opener.lastIndex = after;
    }
    if (from < source.length) found.push({ text: source.slice(from) });
    return found;
  }

  function closingDollar(source, inside, next) {
    if (/\s/.test(source[inside] ?? " ")) return -1;
    let at = next("$", inside);
    while (at !== -1 && source[at - 1] === "\\") at = next("$", at + 1);
    if (at <= inside || /\s/.test(source[at - 1]) || /[0-9]/.test(source[at + 1] ?? "")) return -1;
    return at - inside < LONGEST_FORMULA && /\n\s*\n/.test(source.slice(inside, at)) ? -1 : at;
  }

  // Characters that show nothing, or turn what stands around them, are made visible.
  const visible = (text) =>
    text
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
      .replace(/[\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

  const GROUP = 8; // formulas that are typeset together
  const groups = new WeakMap(); // the first formula of a group -> the group, not typeset while it is far from the window
  const waiting = []; // formulas to typeset now
  let scheduled = false;

  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) demand(target);
    },
    { rootMargin: "600px 0px" },
  );

  function demand(node) {
    near.unobserve(node);
    node.classList.remove("untypeset");
    waiting.push(...(groups.get(node) ?? []));
    groups.delete(node);
    if (waiting.length && !scheduled) {
      scheduled = true;
      document.documentElement.dataset.typeset = "no";
      parsed.then(() => setTimeout(() => settle(25)));
    }
  }

  function text(source, { tag = "div", className = "prose" } = {}) {
    const node = h(tag, { class: className });
    const found = [];
    const cut = pieces(source ?? "");
    cut.forEach((piece, at) => {
      if (piece.text !== undefined) {
        node.append(visible(piece.text));
        return;
      }
      const span = h("span", { class: piece.display ? "math display" : "math" }, visible(piece.source));
      // A full stop must not begin a line; a browser would break before it.
      const [stop] = (!piece.display && piece.source.length < 40 && cut[at + 1]?.text?.match(/^[.,;:!?)]+/)) || [""];
      if (stop) cut[at + 1] = { text: cut[at + 1].text.slice(stop.length) };
      node.append(stop ? h("span", { class: "bound" }, span, stop) : span);
      if (piece.formula.length > LONGEST_FORMULA) asSource(span, piece, "too long to typeset");
      else found.push([span, piece]);
    });
    for (let at = 0; at < found.length; at += GROUP) {
      const [first] = found[at];
      groups.set(first, found.slice(at, at + GROUP));
      first.classList.add("untypeset");
      near.observe(first);
    }
    return node;
  }

  /* Typeset what is wanted, for at most so many milliseconds; the rest follows when the browser is free. */
  function settle(budget) {
    if (document.readyState === "loading") return; // demand() has seen to it that this is called later
    if (waiting.length) load("math");
    if (typeof katex === "undefined") waiting.length = 0; // a page without KaTeX shows the source
    const deadline = performance.now() + budget;
    while (waiting.length && performance.now() < deadline) {
      const [span, piece] = waiting.shift();
      if (span.isConnected) typeset(span, piece);
    }
    scheduled = waiting.length > 0;
    if (scheduled) setTimeout(() => settle(25));
    document.documentElement.dataset.typeset = scheduled ? "no" : "yes";
  }

  /* Typeset at once what can be seen, so that nobody sees it change. */
  function settleSeen(budget) {
    for (const node of document.querySelectorAll(".untypeset")) {
      if (!node.closest("details:not([open])") && node.getBoundingClientRect().top < innerHeight) demand(node);
    }
    settle(budget);
  }

  function typeset(span, piece) {
    let refused = false;
    // An unescaped % would hide the rest of its line.
    const formula = piece.formula.replace(/(\\[^])|%/g, (all, escaped) => escaped ?? "\\%");
    try {
      katex.render(formula, span, {
        displayMode: piece.display,
        throwOnError: true,
        strict: "ignore",
        maxExpand: 500,
        maxSize: 8,
        trust: () => {
          refused = true; // \href, \includegraphics, \htmlClass and the like: shown as source, so that nothing vanishes
          return false;
        },
      });
      if (refused) asSource(span, piece, "uses a command that is not allowed here");
      else span.dataset.source = piece.source;
    } catch (error) {
      asSource(span, piece, error.message);
    }
  }

  function asSource(span, piece, why) {
    span.className = "math source";
    span.title = `Shown as source: ${why.slice(0, 200)}`;
    span.textContent = visible(piece.source);
  }

  const raw = (source) => h("pre", { class: "raw", tabindex: 0 }, visible(source ?? ""));

  // Copied mathematics is its source.
  document.addEventListener("copy", (event) => {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return;
    const part = selection.getRangeAt(0).cloneContents();
    const formulas = part.querySelectorAll("[data-source]");
    if (!formulas.length) return;
    for (const formula of formulas) formula.textContent = formula.dataset.source;
    event.clipboardData.setData("text/plain", part.textContent);
    event.preventDefault();
  });

  // ------------------------------------------------------------ numbers

  const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`);
  // Not toLocaleString: that loads the browser's tables of languages, which takes longer than all else on a page.
  const number = (value) => (value === null || value === undefined ? "–" : String(value).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ",")));

  function csv(rows) {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const cell = (value) => {
      const shown = value === null || value === undefined ? "" : String(value);
      return /[",\n\r]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
    };
    return [columns, ...rows.map((row) => columns.map((column) => row[column]))].map((row) => row.map(cell).join(",")).join("\n") + "\n";
  }

  async function copy(textToCopy) {
    try {
      await navigator.clipboard.writeText(textToCopy);
    } catch {
      const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });
      area.value = textToCopy;
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
      setTimeout(() => (button.textContent = label), 1500);
    });
    return button;
  }

  const status = h("div", { class: "offscreen", role: "status" });
  const announce = (message) => (status.textContent = message);

  // ------------------------------------------------------------ tables

  /* {caption, columns: [{key, label, title, numeric, show(row) -> node, value(row) -> what to sort by}], rows,
      sort: {key, descending}}; every column can be sorted by its heading. */
  function table({ caption, columns, rows, sort = null, sortable = true, className = "" }) {
    const body = h("tbody");
    const heads = columns.map((column) => {
      const head = h("th", { scope: "col", class: column.numeric ? "number" : null, title: column.title });
      if (sortable && rows.length > 1) head.append(h("button", { type: "button", onclick: () => by(column) }, column.label));
      else head.append(column.label);
      return head;
    });
    const value = (column, row) => (column.value ? column.value(row) : row[column.key]);
    const fill = (shown) =>
      body.replaceChildren(
        ...shown.map((row) =>
          h(
            "tr",
            { class: row.className },
            columns.map((column, at) => {
              const content = column.show ? column.show(row) : (row[column.key] ?? "–");
              const name = at === 0 ? "th" : "td";
              return h(name, { class: column.numeric ? "number" : null, scope: at === 0 ? "row" : null }, content);
            }),
          ),
        ),
      );
    let sorted = null;
    function by(column, descending) {
      const down = descending ?? (sorted?.column === column ? !sorted.down : Boolean(column.numeric));
      sorted = { column, down };
      heads.forEach((head, at) => (columns[at] === column ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort")));
      const order = [...rows].sort((one, other) => {
        const [a, b] = [value(column, one), value(column, other)];
        if (a === null || a === undefined) return 1; // what is unknown comes last, whichever way
        if (b === null || b === undefined) return -1;
        const difference = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
        return down ? -difference : difference;
      });
      fill(order);
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

  // ------------------------------------------------------------ charts

  const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "cross", "wye", "asterisk"];
  const colour = (series) => `var(--series-${(series % 8) + 1})`;
  const symbol = (series) => SYMBOLS[series % SYMBOLS.length];

  /* {title, says, draw(width) -> an SVG element (Plot.plot with className "plot"), rows: its numbers, for CSV,
      legend: [{label, series}], label: for people who do not see it}. Redrawn when its width changes. */
  function chart({ title, says, draw, rows, legend = [], label }) {
    const canvas = h("div", { class: "canvas" });
    const figure = h(
      "figure",
      { class: "chart" },
      h("figcaption", null, h("h3", null, title), says ? h("p", null, says) : null),
      legend.length > 1 ? h("ul", { class: "legend" }, legend.map((entry) => h("li", null, swatch(entry), entry.label))) : null,
      canvas,
      h("p", { class: "below" }, copyButton("Copy the numbers as CSV", () => csv(rows))),
    );
    let drawn = 0;
    const redraw = () => {
      const width = canvas.clientWidth;
      if (!width || Math.abs(width - drawn) < 16) return;
      drawn = width;
      const svg = draw(Math.min(width, 760));
      for (const part of svg.querySelectorAll("[aria-label], [aria-description]")) {
        part.removeAttribute("aria-label"); // Plot labels groups, which have no role; the figure has one label instead
        part.removeAttribute("aria-description");
      }
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", label ?? `${title}. ${typeof says === "string" ? says : ""}`);
      canvas.replaceChildren(svg);
    };
    charts.add(redraw); // for printing; on a screen it waits until it has a width
    new ResizeObserver(() => undrawn(redraw)).observe(canvas);
    return figure;
  }

  const charts = new Set(); // what draws charts that are not drawn at their present width
  let drawing = false;

  /* Draw soon: one chart at a time, so that the page stands before its charts do; all of them before printing. */
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

  /* Add to the page what nobody sees at first, once it stands, or before it is printed; at once if it stands already. */
  const delayed = new Set();
  function later(action) {
    if (standing) return action();
    delayed.add(action);
    document.documentElement.dataset.drawn = "no";
    stands.then(() => {
      if (delayed.delete(action)) action();
      painted().then(() => drawing || (document.documentElement.dataset.drawn = "yes")); // no chart came with it
    });
  }

  window.addEventListener("beforeprint", () => {
    for (const action of delayed) action();
    delayed.clear();
    load("plots");
    if (typeof Plot !== "undefined") for (const redraw of charts) redraw();
    for (const node of document.querySelectorAll(".untypeset")) demand(node);
    settle(30_000);
  });

  function swatch({ series, dashed }) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [key, value] of Object.entries({ width: 26, height: 12, viewBox: "-13 -6 26 12", "aria-hidden": "true" })) svg.setAttribute(key, value);
    const line = document.createElementNS(svg.namespaceURI, "path");
    line.setAttribute("d", "M-12,0H12");
    line.setAttribute("stroke", colour(series));
    line.setAttribute("stroke-width", 2);
    if (dashed) line.setAttribute("stroke-dasharray", "4 3");
    const mark = document.createElementNS(svg.namespaceURI, "path");
    mark.setAttribute("fill", colour(series));
    const shape = () => mark.setAttribute("d", d3.symbol(symbolType(series), 40)());
    if (typeof d3 === "undefined") unshaped.push(shape);
    else shape();
    svg.append(line, mark);
    return svg;
  }

  const unshaped = []; // swatches that wait for D3
  const symbolType = (series) => d3[`symbol${symbol(series)[0].toUpperCase()}${symbol(series).slice(1)}`];

  // ------------------------------------------------------------ the bar

  /* {links: [{href, label}], help: an element, or nothing} */
  function bar({ links = [], help = null }) {
    const nav = h("nav", { "aria-label": "Parts of the page" }, links.map(({ href, label }) => h("a", { href }, label)));
    const theme = h("button", { type: "button", class: "quiet" });
    const choices = ["auto", "light", "dark"];
    const apply = (choice) => {
      document.documentElement.dataset.theme = choice;
      theme.textContent = { auto: "◐ Auto", light: "☀ Light", dark: "☾ Dark" }[choice];
      theme.setAttribute("aria-label", `Colours: ${choice}. Change`);
    };
    let choice = "auto";
    try {
      choice = choices.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto";
    } catch {
      // A page opened from a file may have no storage; the choice then lasts as long as the page.
    }
    apply(choice);
    theme.addEventListener("click", () => {
      choice = choices[(choices.indexOf(choice) + 1) % choices.length];
      apply(choice);
      try {
        localStorage.setItem("theme", choice);
      } catch {
        // as above
      }
    });
    const header = document.querySelector("header.bar");
    header.querySelectorAll("nav, .tools, dialog").forEach((old) => old.remove());
    const tools = h("div", { class: "tools" }, theme);
    header.append(nav, tools);
    if (help) {
      const dialog = h("dialog", { "aria-label": "Help" }, help, h("form", { method: "dialog" }, h("button", { type: "submit" }, "Close")));
      dialog.querySelector("form").addEventListener("submit", (event) => {
        event.preventDefault();
        dialog.close();
      });
      tools.append(h("button", { type: "button", class: "quiet", "aria-label": "Help", onclick: () => dialog.showModal() }, "?"));
      header.append(dialog);
      return { help: () => dialog.showModal() };
    }
    return { help: () => {} };
  }

  document.addEventListener("DOMContentLoaded", () => document.body.append(status));

  return Object.freeze({
    announce, bar, chart, chunk, colour, copy, copyButton, csv, h, has, later, model, number, percent, pieces, raw, settle: settleSeen, swatch, symbol, table, text, visible,
  });
})();
