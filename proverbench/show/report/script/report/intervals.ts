/* Scores with their intervals. */
import type { Interval } from "./model";
import { h } from "./shell";
import { head } from "./state";
import { metric, plural } from "./words";

type Maybe = Interval | null | undefined;
interface Measured {
  value: number | null;
  interval: Interval | null;
}

export const range = (interval: Maybe): [low: number, high: number] | null =>
  interval ? [interval.low, interval.high] : null;

export const between = (interval: Maybe) =>
  interval ? `${(100 * interval.low).toFixed(1)} to ${(100 * interval.high).toFixed(1)}` : null;

export const aboutInterval = (interval: Maybe) =>
  interval
    ? [interval.n ? `95 % interval, ${plural(interval.n, "problem")}` : "95 % interval", ...footnotes([interval])].join(
        "; ",
      )
    : null;

/* One line, if some of the intervals rest on few problems. */
export function footnotes(intervals: Maybe[]): string[] {
  const few = intervals.filter((interval) => (interval?.evidence ?? Infinity) < head.little_evidence);
  if (!few.length) return [];
  const which = intervals.length > 1 ? `${few.length} of these intervals rest` : "rests";
  return [`${which} on fewer than ${head.little_evidence} problems with the rarer outcome`];
}

/** A value of a metric in its short form, without the unit: 54.1 of a share, 3.33 of points, −0.028 of a number. */
export function bare(name: string, value: number): string {
  const unit = metric(name)?.unit ?? "share";
  const shown = unit === "share" ? (100 * value).toFixed(1) : value.toFixed(unit === "points" ? 2 : 3);
  return shown.replace("-", "−");
}

/** A value of a metric with its unit. */
export function figure(name: string, value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const unit = { share: " %", points: " points", number: "" }[metric(name)?.unit ?? "share"];
  return bare(name, value) + unit;
}

/** A score; pointing at it shows the exact fraction and how its interval was made. */
export function score(name: string, value: number | null | undefined, interval: Maybe, fraction?: string) {
  return h(
    "span",
    { class: "score", title: [fraction, aboutInterval(interval)].filter(Boolean).join("; ") || null },
    figure(name, value),
    interval ? h("span", { class: "ends" }, ` [${bare(name, interval.low)}, ${bare(name, interval.high)}]`) : null,
  );
}

export function intervalBar(value: number, interval: Maybe) {
  const ends = range(interval);
  const at = (share: number) => `${(100 * share).toFixed(2)}%`;
  return h(
    "div",
    { class: "interval", "aria-hidden": "true" },
    ends
      ? h("span", { class: "span", style: { left: at(ends[0]), width: at(Math.max(ends[1] - ends[0], 0.004)) } })
      : null,
    h("span", { class: "point", style: { left: at(value) } }),
  );
}

export const low = (row: Measured) => range(row.interval)?.[0] ?? row.value;

export const high = (row: Measured) => range(row.interval)?.[1] ?? row.value;

export const points = (difference: number) =>
  Math.abs(difference) < 0.0005
    ? "no change"
    : `${difference > 0 ? "+" : "−"}${Math.abs(100 * difference).toFixed(1)} points`;
