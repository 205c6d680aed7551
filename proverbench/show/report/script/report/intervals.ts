/* Scores with their intervals. */
import type { Interval } from "./model";
import { h, percent } from "./shell";
import { head } from "./state";
import { plural } from "./words";

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

/** A score; pointing at it tells the exact fraction and how its interval was made. */
export function score(value: number | null | undefined, interval: Maybe, fraction?: string) {
  return h(
    "span",
    { class: "score", title: [fraction, aboutInterval(interval)].filter(Boolean).join("; ") || null },
    percent(value),
    interval
      ? h("span", { class: "ends" }, ` [${(100 * interval.low).toFixed(1)}, ${(100 * interval.high).toFixed(1)}]`)
      : null,
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
