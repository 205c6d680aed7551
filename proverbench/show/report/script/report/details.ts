/* What was run: roles, data, dates, cost. */
import type { Child } from "../shell/elements";
import type { Calls, Role, Run, Session } from "./model";
import { copyButton, h, number, table } from "./shell";
import { head } from "./state";
import { plural } from "./words";

export const costOf = (run: Run) => {
  const roles = Object.values(run.calls).filter((role) => role.cost_usd !== undefined);
  return roles.length
    ? {
        usd: roles.reduce((sum, role) => sum + (role.cost_usd ?? 0), 0),
        atLeast: roles.some((role) => role.cost_is_at_least) || roles.length < Object.keys(run.calls).length,
      }
    : null;
};

export const tokensOf = (run: Run) =>
  Object.values(run.usage).reduce((sum, role) => sum + (role.input ?? 0) + (role.output ?? 0), 0);

export const costWords = (run: Run) => {
  const cost = costOf(run);
  if (cost) return `${cost.atLeast ? "at least " : ""}$${cost.usd < 1 ? cost.usd.toFixed(4) : cost.usd.toFixed(2)}`;
  return tokensOf(run) ? `${number(tokensOf(run))} tokens` : "–";
};

export const duration = (seconds: number) =>
  seconds >= 5400
    ? `${(seconds / 3600).toFixed(1)} h`
    : seconds >= 90
      ? `${(seconds / 60).toFixed(1)} min`
      : `${seconds.toFixed(1)} s`;

export const hash = (digest: string | null | undefined) =>
  digest ? h("code", { title: digest }, digest.slice(0, 12)) : "–";

export function details(run: Run) {
  return h(
    "section",
    { "aria-labelledby": "details" },
    h("h2", { id: "details" }, "What was run"),
    roles(run),
    h(
      "dl",
      { class: "facts" },
      facts(run).map(([term, fact]) => [h("dt", null, term), h("dd", null, fact)]),
    ),
  );
}

function facts(run: Run): [string, Child][] {
  const reference = `reference solution ${run.use_reference_solution ? "shown" : "not shown"} to the judge`;
  const all: [string, Child | false][] = [
    [
      "Run",
      [
        h("code", { title: run.run_id }, run.run_id.slice(0, 16) || "–"),
        copyButton("Copy the run's id", () => run.run_id),
      ],
    ],
    ["Data", dataOf(run)],
    ["To quote", [h("code", null, run.quote), copyButton("Copy the line to quote", () => run.quote)]],
    ["Given proofs", run.proofs_sha256 !== null && ["SHA-256 ", hash(run.proofs_sha256)]],
    ["Protocol", `${run.protocol}; ${reference}; neutralising ${run.neutralise ? "on" : "off"}`],
    ["Dates", run.sessions.length ? run.sessions.map((session) => h("div", null, sessionWords(session))) : "–"],
    ["Time", run.seconds ? duration(run.seconds) : "–"],
    ["Cost", costWords(run)],
    ["Imported", run.imported !== null && importedFrom(run.imported)],
    ["Made with", `${run.tool ?? "–"}; scored by ${run.scored_by}; page by ${head.made_by}`],
  ];
  return all.filter(([, fact]) => fact !== false);
}

function dataOf(run: Run): Child[] {
  const parts = [
    plural(run.rows, "row"),
    run.domain && `domain ${run.domain}`,
    run.limit && `first ${run.limit}`,
    run.shard && `shard ${run.shard}`,
    "SHA-256 ",
  ];
  return [parts.filter(Boolean).join(", "), hash(run.data_sha256)];
}

function sessionWords({ start, end, calls, unanswered, stop }: Session): string {
  const time = (at: string) => at.slice(0, 19).replace("T", " ");
  const left = unanswered ? `, ${number(unanswered)} unanswered` : "";
  return `${time(start)} to ${time(end)} UTC: ${number(calls)} answered${left}${stop ? `; ${stop}` : ""}`;
}

function importedFrom({ evaluator_version, run_id, code_sha256 }: NonNullable<Run["imported"]>): Child[] {
  const start = `from the published evaluator ${evaluator_version ?? ""}; its run `;
  return [start, hash(run_id), ", its code ", hash(code_sha256), ". It keeps no times of calls."];
}

function roles(run: Run) {
  const settings = (row: Role) =>
    Object.entries(row.generation).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  const whose = (row: Role) => (row.own_prompt ? " proverbench's own" : run.imported ? "" : " your own");
  const tokens = ({ input = 0, output = 0 }) => `${number(input)} / ${number(output)}`;
  const latency = (calls: Calls | undefined) =>
    calls?.latency_max_s ? `${duration(calls.latency_s / calls.calls)} / ${duration(calls.latency_max_s)}` : "–";
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
        show: (row) => h("code", null, settings(row).join(", ") || "defaults"),
      },
      {
        key: "prompt",
        label: "Prompt",
        show: (row) => (row.prompt_sha256 ? [hash(row.prompt_sha256), whose(row)] : "–"),
      },
      { key: "calls", label: "Answered", numeric: true, show: (row) => number(run.calls[row.role]?.calls ?? 0) },
      {
        key: "tokens",
        label: "Tokens in / out",
        numeric: true,
        show: ({ role }) => (run.usage[role] ? tokens(run.usage[role]) : "–"),
      },
      { key: "latency", label: "Mean / longest", numeric: true, show: ({ role }) => latency(run.calls[role]) },
    ],
    rows: run.roles,
  });
}
