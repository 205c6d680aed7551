/* The overview: one run at a glance, plots, and what was run. */
import { saysView } from "./says";
import type { Child } from "../shell/elements";
import { metricsTable, readCard, splitCard, validityCards } from "./cards";
import { details } from "./details";
import { leaderboards } from "./leaderboard";
import type { Run } from "./model";
import { plots } from "./plots";
import { factsTable, publishedTable } from "./published";
import { studyView } from "./study";
import { h, later, number, visible } from "./shell";
import { chosen, head, roleOf } from "./state";
import { plural, TASKS } from "./words";

export function overview(runName?: string) {
  const named = runName === undefined ? -1 : head.runs.findIndex((run) => run.name === runName);
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
    glance(run),
  );
  later(() => whole.append(...[plots(run), details(run)].filter((part) => part !== null)));
  return whole;
}

export function runPicker() {
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

export const dates = (run: Run) => {
  const days = [
    ...new Set(run.sessions.flatMap((session) => [session.start.slice(0, 10), session.end.slice(0, 10)])),
  ].sort();
  return days.length ? (days.length > 1 ? `${days[0]} to ${days.at(-1)}` : days[0]) : "";
};

export function subtitle(run: Run): Child[] {
  const asked =
    run.task === "prover"
      ? `${plural(run.rows, "problem")} × ${plural(run.samples, "proof")} × ${plural(run.repeats, "judgment")}`
      : `${plural(run.rows, "proof")} that people have checked × ${plural(run.repeats, "judgment")}`;
  return [
    run.task === "prover" ? [h("b", null, roleOf(run, "policy")), " writes, "] : null,
    h("b", null, roleOf(run, "verifier")),
    " judges",
    run.meta ? [", ", h("b", null, roleOf(run, "meta")), " grades the explanations"] : null,
    ` · ${asked}`,
    dates(run) ? ` · ${dates(run)}` : null,
  ];
}

export function glance(run: Run) {
  const splits = Object.entries(run.splits).filter(([name, split]) => split.selected_rows || name === "all");
  return h(
    "section",
    { class: "glance", "aria-labelledby": "glance" },
    h(
      "div",
      { class: "heading" },
      h("h2", { id: "glance" }, `${TASKS[run.task]}: ${run.name}`),
      h("span", { class: run.complete ? "chip good" : "chip bad" }, run.complete ? "complete" : "UNFINISHED"),
      run.imported
        ? h("span", { class: "chip", title: "Made by the published evaluator, and imported" }, "imported")
        : null,
      runPicker(),
    ),
    h("p", { class: "lead" }, subtitle(run)),
    run.complete ? null : unfinished(run),
    h(
      "div",
      { class: "cards" },
      splits.map(([name, split]) => splitCard(run, name, split)),
    ),
    h("div", { class: "cards wide" }, validityCards(run)),
    saysView(run),
    readCard(run),
    run.warnings.length || run.losses?.length || run.closed_unanswered ? notes(run) : null,
    metricsTable(run, splits),
  );
}

export function unfinished(run: Run) {
  const missing = Object.entries(run.missing).map(([role, left]) => `${number(left)} of the ${role}`);
  return h(
    "div",
    { class: "callout bad", role: "note" },
    h("b", null, "This run is unfinished. "),
    missing.length ? `Still to be answered: ${missing.join(", ")}. ` : "",
    "A split has scores only when every call of it is answered; ",
    run.imported
      ? "finish it with the evaluator that made it, and import it again."
      : [
          "go on with ",
          h("code", null, run.task === "prover" ? "proverbench run --resume" : "verifierbench --resume"),
          head.live ? ". This page follows the run." : ".",
        ],
  );
}

export function notes(run: Run) {
  const sentences = [...(run.losses ?? []).map((loss) => `Saved replies were lost: ${loss}`), ...run.warnings];
  if (run.closed_unanswered)
    sentences.unshift(`${plural(run.closed_unanswered, "unanswered call")} closed as zero credit (--final)`);
  return h(
    "div",
    { class: "callout warn", role: "note" },
    h("b", null, "Read with this in mind"),
    h(
      "ul",
      null,
      sentences.map((sentence) => h("li", null, visible(sentence))),
    ),
  );
}
