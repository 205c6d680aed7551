/* The ranking: agents by track, and the receipts that have no place in it. */
import { h, table } from "../report/shell";
import { count } from "./counts";
import type { Agent, Apart, Ranking } from "./model";

export function ranking(data: Ranking) {
  const cell = ({ counts, places }: Agent, at: number) => {
    const nodes = counts[at] ?? null;
    return `${nodes === null ? "No score" : count(nodes)} (${places[at]})`;
  };
  return h(
    "section",
    null,
    h("h2", null, `Track ${data.track}`),
    h(
      "p",
      null,
      "Kernel nodes of each agent’s best verified run; fewer is better. In brackets its place: agents that tie share the mean of the places they fill, and so do all without a verified run, at the end.",
    ),
    table({
      caption: `Agents on ${data.track} by average rank`,
      columns: [
        { key: "agent", label: "Agent" },
        {
          key: "average",
          label: "Average rank",
          numeric: true,
          show: (row: Agent) => row.average.toFixed(2),
          title: "Lower is better",
        },
        ...data.tasks.map((task, at) => ({
          key: `task-${at}`,
          label: task.label,
          numeric: true,
          title: `${count(task.original)} nodes in the original; in brackets the place`,
          value: (row: Agent) => row.counts[at],
          show: (row: Agent) => cell(row, at),
        })),
        { key: "no_score", label: "No score", numeric: true, title: "Runs without a verified score" },
      ],
      rows: data.agents,
    }),
    h(
      "p",
      null,
      "For reference, no participants: ",
      data.tasks
        .map((task) => `${task.label}: original ${count(task.original)}, automatic sharing ${count(task.sharing)}`)
        .join("; "),
      ".",
    ),
  );
}

export function apart(items: Apart[]) {
  const columns = [
    { key: "receipt", label: "Receipt" },
    { key: "agent", label: "Agent" },
    { key: "task", label: "Task" },
    { key: "reason", label: "Why it has no place" },
  ];
  return h(
    "section",
    null,
    h("h2", null, "Receipts without a place"),
    table({ caption: "Receipts without a place", columns, rows: items }),
  );
}
