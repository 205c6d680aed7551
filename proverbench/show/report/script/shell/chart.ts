/* Figures: drawn when they are seen, redrawn when their width changes, each with its numbers. */
import { copyButton } from "./clipboard";
import { h, type Child } from "./elements";
import { load, painted, standing, stands, withD3 } from "./libraries";
import { csv } from "./numbers";
import { table } from "./table";
import { visible } from "./visible";

export interface Series {
  series: number;
  dashed?: boolean;
}

interface Chart {
  title: string;
  says?: Child;
  /** An SVG element of this width, as Plot.plot makes it with className "plot". */
  draw(width: number): Element;
  /** Its numbers, for CSV. */
  rows: object[];
  legend?: (Series & { label: string })[];
  /** For people who do not see it. */
  label?: string;
}

const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "cross", "wye", "asterisk"];
const LARGEST = 760; // pixels
const OWN_COLOURS = 8;
const GOLDEN_ANGLE = 137.508; // degrees: hues that follow each other are never near
const MOST_ROWS = 500; // of the table of numbers

/** The colour of a series: the page's own for the first, then others that differ from all before. */
export const colour = (series: number) =>
  series < OWN_COLOURS
    ? `var(--series-${series + 1})`
    : `hsl(${Math.round(series * GOLDEN_ANGLE) % 360} 55% var(--series-light))`;
// There are as many symbols as colours: a step further in each round, no pair of them repeats among 64 series.
export const symbol = (series: number) => SYMBOLS[(series + Math.floor(series / SYMBOLS.length)) % SYMBOLS.length];

export function chart({ title, says, draw, rows, legend = [], label }: Chart): HTMLElement {
  const canvas = h("div", { class: "canvas" });
  const figure = h(
    "figure",
    { class: "chart" },
    h("figcaption", null, h("h3", null, title), says ? h("p", null, says) : null),
    legend.length > 1
      ? h(
          "ul",
          { class: "legend" },
          legend.map((entry) => h("li", null, swatch(entry), entry.label)),
        )
      : null,
    canvas,
    h(
      "p",
      { class: "below" },
      copyButton("Copy the numbers as CSV", () => csv(rows)),
    ),
    numbers(title, rows),
  );
  let drawn = 0;
  const redraw = () => {
    const width = canvas.clientWidth;
    if (!width || Math.abs(width - drawn) < 16) return;
    drawn = width;
    const svg = draw(Math.min(width, LARGEST));
    for (const part of svg.querySelectorAll("[aria-label], [aria-description]")) {
      part.removeAttribute("aria-label"); // Plot labels groups, which have no role; the figure has one label instead
      part.removeAttribute("aria-description");
    }
    gate(svg);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", visible(label ?? `${title}. ${typeof says === "string" ? says : ""}`));
    canvas.replaceChildren(svg);
  };
  charts.add(redraw); // for printing; on a screen it waits until it has a width
  new ResizeObserver(() => undrawn(redraw)).observe(canvas);
  return figure;
}

/* The numbers as a table, for whoever does not see the figure; made when it is opened. */
function numbers(title: string, rows: object[]) {
  const details: HTMLDetailsElement = h(
    "details",
    { class: "numbers", ontoggle: fill },
    h("summary", null, "The numbers as a table"),
  );
  function fill() {
    if (!details.open || details.childElementCount > 1 || !rows.length) return;
    const shown = rows.slice(0, MOST_ROWS);
    const columns = Object.keys(shown[0]).map((key) => {
      const numeric = shown.every((row) => typeof (row as any)[key] === "number" || (row as any)[key] === null);
      return { key, label: key, numeric, show: (row: object) => rounded((row as any)[key]) };
    });
    const rest = rows.length > MOST_ROWS ? `; the first ${MOST_ROWS} of ${rows.length} rows, all of them as CSV` : "";
    details.append(table({ caption: `${title}${rest}`, columns, rows: shown }));
  }
  return details;
}

const rounded = (value: unknown) =>
  typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(4) : value === null ? "–" : String(value);

/* Names of runs and groups pass the gate for texts here: Plot writes them into the figure itself. */
function gate(svg: Element) {
  const texts = document.createTreeWalker(svg, NodeFilter.SHOW_TEXT);
  for (let node; (node = texts.nextNode());) if (node.nodeValue) node.nodeValue = visible(node.nodeValue);
}

// ------------------------------------------------------------ when to draw

const charts = new Set<() => void>(); // what draws charts that are not drawn at their present width
let drawing = false;

/* Draw soon: one chart at a time, so that the page stands before its charts do; all of them before printing. */
function undrawn(redraw: () => void) {
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

const delayed = new Set<() => void>();

/** Add to the page what nobody sees at first, once it stands, or before it is printed; at once if it stands already. */
export function later(action: () => void) {
  if (standing) {
    action();
    return;
  }
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
});

// ------------------------------------------------------------ legends

const SVG = "http://www.w3.org/2000/svg";

/** A line with the symbol of a series, for legends. */
export function swatch({ series, dashed }: Series): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  const size = { width: "26", height: "12", viewBox: "-13 -6 26 12", "aria-hidden": "true" };
  for (const [key, value] of Object.entries(size)) svg.setAttribute(key, value);
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", "M-12,0H12");
  line.setAttribute("stroke", colour(series));
  line.setAttribute("stroke-width", "2");
  if (dashed) line.setAttribute("stroke-dasharray", "4 3");
  const mark = document.createElementNS(SVG, "path");
  mark.setAttribute("fill", colour(series));
  withD3(() => mark.setAttribute("d", d3.symbol(symbolType(series), 40)() ?? ""));
  svg.append(line, mark);
  return svg;
}

function symbolType(series: number): import("d3").SymbolType {
  const name = symbol(series);
  return (d3 as any)[`symbol${name[0].toUpperCase()}${name.slice(1)}`];
}
