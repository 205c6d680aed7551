/* The plots of judges that give grades: how these are spread, and how they agree with people's. */
import type { Markish, ScaleOptions } from "@observablehq/plot";
import { base, shares, tip } from "./drawing";
import { footnotes, range } from "./intervals";
import type { Interval, Plots, Run } from "./model";
import { chart, colour, percent, symbol } from "./shell";
import { plural } from "./words";

/** Of judges that give grades: every grade is a share of its own scale, whose best is `…_max` points. */
export interface Grades {
  judge_max: number;
  accept_from: number;
  /** null where people's scales differ, or they gave no grade. */
  people_max: number | null;
  distribution: { whose: "judge" | "people"; grade: number; count: number; share: number }[];
  against_people: { people: number; judge: number; proofs: number }[];
  calibration: { judge: number; people: number; interval: Interval | null; judgments: number }[];
}

const JUDGE = 0;
const PEOPLE = 1;
const LARGEST_DOT = 14; // pixels
const ROUNDING = 1e-6; // of grades, which are shares of a scale
const MOST_TICKS = 11;

/* One side's scale: grades are shares of it, drawn in points where it is the same for all proofs. */
interface Scale {
  of: string;
  max: number | null;
}

const judges = ({ judge_max }: Grades): Scale => ({ of: "the judge's grade", max: judge_max });
const peoples = ({ people_max }: Grades): Scale => ({ of: "people's grade", max: people_max });

const short = (value: number) => String(Number(value.toFixed(2)));
const shown = (grade: number, { max }: Scale) => (max === null ? percent(grade) : short(max * grade));
/* In points without the rounding of shares: 2 of 7, not 2.000000001. */
const drawn = (grade: number, { max }: Scale) => Number((grade * (max ?? 1)).toFixed(6));

function axis(scale: Scale, label = scale.of): ScaleOptions {
  if (scale.max === null) return shares({ label: `${label}, % of the scale` });
  const whole = scale.max + 1 <= MOST_TICKS && Number.isInteger(scale.max);
  const ticks = whole ? Array.from({ length: scale.max + 1 }, (_, at) => at) : undefined;
  return { domain: [0, scale.max], label: `${label}, of ${short(scale.max)}`, grid: true, ticks, tickFormat: short };
}

export function gradePlots(run: Run, { grades }: Plots): (HTMLElement | null)[] {
  return grades ? [distributionPlot(run, grades), agreementPlot(run, grades), calibrationPlot(run, grades)] : [];
}

/** How often each grade is given, by the judge and by people. */
function distributionPlot(run: Run, grades: Grades) {
  const rows = grades.distribution;
  const byPeople = rows.some(({ whose }) => whose === "people");
  // Two scales share an axis only as shares of each.
  const same = !byPeople || grades.judge_max === grades.people_max;
  const scale = { of: byPeople ? "grade" : "the judge's grade", max: same ? grades.judge_max : null };
  const accepted = rows.filter(({ whose, grade }) => whose === "judge" && grade > acceptedFrom(grades) - ROUNDING);
  const share = accepted.reduce((sum, row) => sum + row.share, 0);
  const from = `${short(grades.accept_from)} of ${short(grades.judge_max)}`;
  const legend = [{ label: "judge, of its valid judgments", series: JUDGE }];
  if (byPeople) legend.push({ label: "people, of the proofs they graded", series: PEOPLE });
  return chart({
    title: "Which grades are given",
    says: `${run.name}: ${percent(share)} of the judge's grades accept, from ${from} on (dashed).`,
    rows,
    legend,
    draw: (width) =>
      base(width, {
        x: axis(scale),
        y: shares({ label: "share, %", domain: [0, Math.max(0.1, ...rows.map((row) => row.share))] }),
        marks: [
          Plot.ruleX([drawn(acceptedFrom(grades), scale)], { stroke: "var(--ink)", strokeDasharray: "3 3" }),
          ...stalks(rows, scale, byPeople),
        ],
      }),
  });
}

const acceptedFrom = (grades: Grades) => grades.accept_from / grades.judge_max;

/* Stalks of both stand side by side. */
function stalks(rows: Grades["distribution"], scale: Scale, byPeople: boolean): Markish[] {
  const title = ({ whose, grade, count, share }: Grades["distribution"][number]) =>
    `${whose === "judge" ? "the judge" : "people"}: grade ${shown(grade, scale)}\n` +
    `${plural(count, whose === "judge" ? "judgment" : "proof")} (${percent(share)})`;
  return ([JUDGE, PEOPLE] as const).flatMap((series) => {
    const theirs = rows.filter(({ whose }) => whose === (series === JUDGE ? "judge" : "people"));
    const at = {
      x: (row: (typeof rows)[number]) => drawn(row.grade, scale),
      dx: byPeople ? 8 * series - 4 : 0,
    };
    return [
      Plot.ruleX(theirs, { ...at, y: "share", stroke: colour(series), strokeWidth: 4, strokeOpacity: 0.55 }),
      Plot.dot(theirs, tip({ ...at, y: "share", fill: colour(series), symbol: symbol(series) as any, r: 4.5, title })),
    ];
  });
}

/** Proofs by people's grade and the judge's mean: on the line both are the same. */
function agreementPlot(run: Run, grades: Grades) {
  const rows = grades.against_people;
  if (!rows.length) return null;
  const [x, y] = [peoples(grades), judges(grades)];
  const most = Math.max(...rows.map((row) => row.proofs));
  const count = (keep: (row: (typeof rows)[number]) => boolean) =>
    rows.filter(keep).reduce((sum, row) => sum + row.proofs, 0);
  const [stricter, same, milder] = [
    count((row) => row.judge < row.people - ROUNDING),
    count((row) => Math.abs(row.judge - row.people) <= ROUNDING),
    count((row) => row.judge > row.people + ROUNDING),
  ];
  const title = ({ people, judge, proofs }: (typeof rows)[number]) =>
    `${plural(proofs, "proof")}\npeople ${shown(people, x)}, judge ${shown(judge, y)} on average`;
  return chart({
    title: "The judge's grade against people's",
    says: `${run.name}: of ${plural(stricter + same + milder, "proof")} the judge grades ${stricter} lower than people, ${same} the same, ${milder} higher. Larger points are more proofs; on the line both agree.`,
    rows: rows.map(({ people, judge, proofs }) => ({
      people: drawn(people, x),
      judge: drawn(judge, y),
      proofs,
    })),
    draw: (width) =>
      base(width, {
        height: Math.min(width, 420),
        x: axis(x),
        y: axis(y, "the judge's mean grade"),
        marks: [
          diagonal(x, y),
          Plot.dot(
            rows,
            tip({
              x: (row: (typeof rows)[number]) => drawn(row.people, x),
              y: (row: (typeof rows)[number]) => drawn(row.judge, y),
              r: (row: (typeof rows)[number]) => Math.max(4, LARGEST_DOT * Math.sqrt(row.proofs / most)),
              fill: colour(JUDGE),
              fillOpacity: 0.45,
              stroke: colour(JUDGE),
              title,
            }),
          ),
        ],
        r: { type: "identity" },
      }),
  });
}

/** What a grade of the judge is worth: people's mean grade where it is given. */
function calibrationPlot(run: Run, grades: Grades) {
  if (!grades.calibration.length) return null;
  const [x, y] = [judges(grades), peoples(grades)];
  const rows = grades.calibration.map(({ judge, people, interval, judgments }) => {
    const [low, high] = range(interval) ?? [null, null];
    return { judge, people, low, high, judgments };
  });
  const commonest = rows.reduce((most, row) => (row.judgments > most.judgments ? row : most));
  const notes = footnotes(grades.calibration.map((row) => row.interval));
  const first = `${run.name}: where the judge gives ${shown(commonest.judge, x)}, people give ${shown(commonest.people, y)} on average (${plural(commonest.judgments, "judgment")}).`;
  return chart({
    title: "Calibration: what a grade is worth",
    says: [first, "Above the line the judge is too strict, below it too generous.", ...notes].join(" "),
    rows: rows.map(({ judge, people, low, high, judgments }) => ({
      judge: drawn(judge, x),
      people: drawn(people, y),
      low: low === null ? null : drawn(low, y),
      high: high === null ? null : drawn(high, y),
      judgments,
    })),
    draw: (width) =>
      base(width, {
        height: Math.min(width, 420),
        x: axis(x),
        y: axis(y, "people's mean grade"),
        marks: [diagonal(x, y), ...calibrationMarks(rows, x, y)],
      }),
  });
}

interface Calibrated {
  judge: number;
  people: number;
  low: number | null;
  high: number | null;
  judgments: number;
}

function calibrationMarks(rows: Calibrated[], x: Scale, y: Scale): Markish[] {
  const at = (row: Calibrated) => drawn(row.judge, x);
  const stroke = colour(JUDGE);
  const known = rows.filter((row) => row.low !== null);
  const title = ({ judge, people, low, high, judgments }: Calibrated) => {
    const ends = low === null || high === null ? "" : `\n${shown(low, y)} to ${shown(high, y)}`;
    return `judge ${shown(judge, x)} (${plural(judgments, "judgment")})\npeople ${shown(people, y)}${ends}`;
  };
  const height = (row: Calibrated) => drawn(row.people, y);
  return [
    Plot.ruleX(known, {
      x: at,
      y1: (row: Calibrated) => drawn(row.low!, y),
      y2: (row: Calibrated) => drawn(row.high!, y),
      stroke,
      strokeWidth: 3,
      strokeOpacity: 0.45,
      strokeLinecap: "round",
    }),
    Plot.line(rows, { x: at, y: height, stroke, strokeOpacity: 0.6 }),
    Plot.dot(rows, tip({ x: at, y: height, r: 4.5, fill: stroke, title })),
  ];
}

const diagonal = (x: Scale, y: Scale): Markish =>
  Plot.line(
    [
      [0, 0],
      [x.max ?? 1, y.max ?? 1],
    ],
    { stroke: "var(--soft)", strokeDasharray: "2 3" },
  );
