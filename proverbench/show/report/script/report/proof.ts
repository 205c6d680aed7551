/* One proof, its problem, and what people and judges say of it. */
import { reasonView } from "./glossary";
import { calls, judgmentView, openJudgment } from "./judgment";
import { debounce, drawRows, nameOf, type Reader, reveal, step } from "./list";
import { acceptedBy, kind, MISSING, sign, tally, words } from "./marks";
import type { Annotation, Chunk, Item, Judged, Marks, Problem, Proof } from "./model";
import { copyButton, h, number, settle, unseen } from "./shell";
import { address, cellOf, head, roleOf } from "./state";
import { prose, rawButton, takeScope } from "./texts";
import { plural } from "./words";

/** Show a proof in the reader, and one judgment of it where a repeat is named. */
export async function showProof(reader: Reader, item: Item, run: number, repeat: number | null) {
  const changed = reader.current !== item;
  reader.current = item;
  reader.showList(false);
  drawRows();
  reveal(item);
  if (!(await isHere(item))) {
    if (reader.current === item && reader.node.isConnected) goToFile(item); // unless somebody went elsewhere meanwhile
    return;
  }
  let content: Chunk;
  try {
    content = await PB.chunk(item.chunk, head.version);
  } catch (error) {
    if (reader.current !== item) return;
    const why = `This proof could not be read: ${(error as Error).message}`;
    reader.pane.replaceChildren(h("p", { class: "callout bad" }, why));
    return;
  }
  if (reader.current !== item) return;
  if (changed || !reader.pane.firstChild) {
    walking(reader.pane);
    reader.pane.replaceChildren(...proofView(reader, item, content));
    window.scrollTo(0, 0);
  }
  select(reader, item, run, repeat);
  settle(80);
}

/** Whether this file has the texts of a proof. */
export const isHere = async (item: Item) => !head.files || (await PB.has(item.chunk));

/** Go to the file that has them. */
export function goToFile(item: Item) {
  const file = head.files?.find(([, from, to]) => item.chunk >= from && item.chunk < to);
  if (file) location.href = file[0] + location.hash;
}

/* While somebody walks from proof to proof, the MathML that KaTeX adds to each formula for screen readers is not laid
   out, which takes a quarter of the time; it is as soon as one stays for a moment. */
const stays = debounce((pane: HTMLElement) => pane.classList.remove("walking"), 400);
function walking(pane: HTMLElement) {
  pane.classList.add("walking");
  stays(pane);
}

function proofView(reader: Reader, item: Item, content: Chunk): HTMLElement[] {
  const problem = content.problems[item.problem];
  const proof = content.proofs[item.place];
  takeScope(item, content);
  const left = h("div", { class: "left" }, problemSheets(problem), proofSheet(item, proof));
  const right = h(
    "div",
    { class: "right", tabindex: 0, role: "region", "aria-label": "Judgments of this proof" },
    proof.annotation
      ? annotationView(proof.annotation)
      : h("p", { class: "small" }, "No person has annotated this proof."),
    item.runs.length > 1 ? judgesView(item) : null,
    item.runs.map((marks) =>
      runView(
        item,
        marks,
        proof.runs.find((judged) => judged.run === marks[0]),
      ),
    ),
  );
  return [headingOf(reader, item), h("div", { class: "sides" }, left, right)];
}

function headingOf(reader: Reader, item: Item) {
  const at = reader.shown.indexOf(item);
  const tags = [item.domain, item.subject, item.policy && `by ${item.policy}`, plural(item.steps, "step")];
  const button = (by: 1 | -1, label: string, keys: string, disabled: boolean) =>
    h(
      "button",
      {
        type: "button",
        "aria-label": `${label} (${keys[0]})`,
        title: `${label} (${keys})`,
        disabled,
        onclick: () => step(by),
      },
      by < 0 ? "←" : "→",
    );
  return h(
    "div",
    { class: "proof-heading" },
    h("h2", null, nameOf(item)),
    h("span", { class: "position" }, at < 0 ? "" : `${number(at + 1)} of ${number(reader.shown.length)}`),
    h(
      "span",
      { class: "walk" },
      button(-1, "Previous proof", "k or ←", at <= 0),
      button(1, "Next proof", "j or →", at >= reader.shown.length - 1),
    ),
    copyButton("Copy the link", () => location.href),
    rawButton(),
    h(
      "div",
      { class: "tags" },
      tags.filter(Boolean).map((tag) => h("span", { class: "chip" }, tag)),
    ),
  );
}

const hiddenIn = (what: string, text: string) =>
  unseen(text) ? h("p", { class: "callout warn" }, hidden(what, unseen(text))) : null;

export function problemSheets(problem: Problem) {
  const { reference, answer, rubric } = problem;
  return [
    h(
      "section",
      { class: "sheet" },
      h("h3", null, "Problem"),
      prose(problem.text),
      hiddenIn("The problem", problem.text),
    ),
    rubric
      ? h(
          "details",
          { class: "sheet", ontoggle: once(() => settle(60)) },
          h("summary", null, h("h3", null, "Marking scheme")),
          prose(rubric),
          hiddenIn("The marking scheme", rubric),
        )
      : null,
    reference || answer
      ? h(
          "details",
          { class: "sheet", ontoggle: once(() => settle(60)) },
          h("summary", null, h("h3", null, "Reference solution")),
          reference ? prose(reference) : null,
          hiddenIn("The reference solution", reference ?? ""),
          answer ? h("p", { class: "small" }, "Answer: ", prose(answer, "span")) : null,
        )
      : null,
  ];
}

function once(action: () => void) {
  let done = false;
  return () => {
    if (!done) action();
    done = true;
  };
}

function proofSheet(item: Item, proof: Proof) {
  const flags = flagsOf(item, proof.annotation);
  const policy = proof.runs.find((run) => run.policy)?.policy;
  return h(
    "section",
    { class: "sheet" },
    h("h3", null, "Proof"),
    proof.steps?.length
      ? h(
          "ol",
          { class: "steps" },
          proof.steps.map((content, index) => stepView(item, content, index, flags.get(index) ?? [])),
        )
      : h("p", { class: "small" }, "There is no proof that could be read."),
    policy ? calls(policy, "the policy's") : null,
  );
}

// ------------------------------------------------------------ steps

interface Flag {
  by: "human" | "judge";
  label: string;
  run: number;
  repeat: number;
}

/* Step -> who finds the first error there. */
function flagsOf(item: Item, annotation: Annotation | undefined) {
  const flags = new Map<number, Flag[]>();
  const add = (step: number, flag: Flag) => flags.set(step, [...(flags.get(step) ?? []), flag]);
  const human = (label: string): Flag => ({ by: "human", label, run: -1, repeat: -1 });
  if (annotation) {
    if (annotation.fatal !== null && annotation.fatal >= 0) add(annotation.fatal, human("human: fatal error"));
    for (const step of annotation.recoverable) add(step, human("human: recoverable error"));
  }
  for (const [run, , marks] of item.runs) {
    const prefix = item.runs.length > 1 ? `${head.runs[run].name} ` : "";
    marks.forEach((mark, repeat) => {
      if (mark >= 0) add(mark, { by: "judge", label: `${prefix}judgment ${repeat}`, run, repeat });
    });
  }
  return flags;
}

function stepView(item: Item, content: string, index: number, flags: Flag[]) {
  const human = flags.filter((flag) => flag.by === "human");
  const judges = flags.filter((flag) => flag.by === "judge");
  const marked = [flags.length && "flagged", human.length && "by-human", judges.length && "by-judge"];
  const link = (flag: Flag, at: number) => [
    at ? ", " : "",
    h("a", { href: address(item, flag.run, flag.repeat) }, flag.label),
  ];
  return h(
    "li",
    { id: `step-${index}`, class: marked.filter(Boolean).join(" ") },
    h("span", { class: "step-number", title: `Step ${index} (steps are counted from 0)` }, index),
    h(
      "div",
      null,
      prose(content.replace(/^\s*\n/, "")),
      flags.length
        ? h(
            "p",
            { class: "flags" },
            human.map((flag) => h("span", { class: "flag human" }, flag.label)),
            judges.length ? h("span", { class: "flag reject" }, "first wrong step for ", judges.map(link)) : null,
          )
        : null,
    ),
  );
}

// ------------------------------------------------------------ verdicts

function annotationView(annotation: Annotation) {
  const { correct, fatal, recoverable, first, comment, reason, remark, grade, grades } = annotation;
  const verdict = grade
    ? `${grade[0]} of ${grade[1]} points; counts as ${correct ? "right" : "wrong"}`
    : correct
      ? "right: no error found"
      : fatal === null
        ? "wrong: judged as a whole, no step named"
        : fatal >= 0
          ? `wrong: fatal error at step ${fatal}`
          : "not right: recoverable errors only";
  return h(
    "section",
    { class: "sheet human" },
    h("h3", null, "Human annotation"),
    h(
      "p",
      null,
      h("b", null, verdict),
      recoverable.length ? `; recoverable at ${recoverable.map((step) => `step ${step}`).join(", ")}` : "",
      first !== null && first >= 0 ? `; first error at step ${first}` : "",
    ),
    comment ? prose(comment) : null,
    grades.map(([grader, given, said]) => [h("h4", null, `${grader}: ${given}`), said ? prose(said) : null]),
    reason ? [h("h4", null, "Why the first error is one"), prose(reason)] : null,
    remark ? [h("h4", null, "Remark"), prose(remark)] : null,
  );
}

/* Who judged it, beside each other: a row a run, a column a judgment. */
function judgesView(item: Item) {
  const most = Math.max(1, ...item.runs.map(([, , marks]) => marks.length));
  const said = ([run, why, marks, grades]: Marks) =>
    why || !marks.length
      ? h("td", { colspan: most }, why === "pending" ? "no proof yet" : "no valid proof")
      : marks.map((mark, repeat) => h("td", null, markLink(item, run, mark, repeat, grades)));
  const verdict = (marks: Marks) =>
    item.task === "prover" ? h("td", null, acceptedBy(marks) ? "accepts" : "does not accept") : null;
  return h(
    "table",
    { class: "beside" },
    h("caption", null, item.task === "prover" ? "Each run accepts what all of its judgments accept" : "Who judged it"),
    h(
      "tbody",
      null,
      item.runs.map((marks) =>
        h(
          "tr",
          null,
          h("th", { scope: "row" }, head.study ? cellOf(marks[0]).judge : head.runs[marks[0]].name),
          verdict(marks),
          said(marks),
        ),
      ),
    ),
  );
}

function markLink(item: Item, run: number, mark: number, repeat: number, grades: (number | null)[] = []) {
  const grade = grades[repeat] ?? null;
  const says = `Judgment ${repeat} ${words(mark, grade)}`;
  const href = mark === MISSING ? null : address(item, run, repeat);
  return h("a", { class: `mark ${kind(mark)}`, href, title: says, "aria-label": says }, sign(mark, grade));
}

export function runView(item: Item, [runNumber, why, marks, grades]: Marks, shown: Judged | undefined) {
  const run = head.runs[runNumber];
  return h(
    "section",
    { class: "judgments", "aria-label": `Judgments of ${run.name}` },
    h("h3", null, head.runs.length > 1 ? run.name : "Judgments", h("span", { class: "of" }, roleOf(run, "verifier"))),
    why
      ? h(
          "p",
          { class: "callout bad" },
          why === "pending"
            ? "The policy has not answered yet."
            : ["No valid proof, so nothing was judged and it scores 0: ", reasonView(why)],
        )
      : bigStrip(item, runNumber, marks, shown, grades),
    (shown?.judgments ?? []).map((judgment) =>
      judgmentView(item, runNumber, judgment, shown?.prompt ?? null, marks, grades),
    ),
  );
}

function bigStrip(item: Item, run: number, marks: number[], shown: Judged | undefined, grades: (number | null)[] = []) {
  return h(
    "div",
    { class: "big-strip" },
    marks.map((mark, repeat) => markLink(item, run, mark, repeat, grades)),
    h("span", { class: "small" }, tally(marks)),
    shown?.neutralised
      ? h(
          "p",
          { class: "small" },
          `${plural(shown.neutralised, "tag")} in the texts neutralised for the judge; you see the original.`,
        )
      : null,
    shown?.unseen ? h("p", { class: "callout warn" }, hidden("The proof", shown.unseen)) : null,
  );
}

/** What to say of a text with characters that a reader cannot see. */
export const hidden = (what: string, unseen: number) =>
  `${what} holds ${plural(unseen, "character")} that a judge reads and a person cannot see; here they are spelled out.`;

/* Open the wanted judgment; without one, those that tell most: the first that accepts and the first that rejects. */
function select(reader: Reader, item: Item, run: number, repeat: number | null) {
  for (const old of reader.pane.querySelectorAll(".chosen")) old.classList.remove("chosen");
  const node = (of: number, at: number) => document.getElementById(`judgment-${of}-${at}`) as HTMLDetailsElement | null;
  if (repeat === null) {
    for (const [of, , marks] of item.runs) {
      const telling = ["accept", "reject"].map((wanted) => marks.findIndex((mark) => kind(mark) === wanted));
      const found = telling.filter((at) => at >= 0);
      for (const at of found.length ? found : [0]) openJudgment(node(of, at));
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
  // On a narrow screen proof and judgments share one column, and only the judgment can be shown.
  if (!matchMedia("(max-width: 1250px)").matches) wrong?.scrollIntoView({ block: "nearest" });
  wanted.scrollIntoView({ block: wanted.offsetHeight > innerHeight / 2 ? "start" : "nearest" });
}
