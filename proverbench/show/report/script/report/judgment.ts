/* One judgment, and the exact texts behind it. */
import { levelView, reasonView } from "./glossary";
import { ACCEPTS, kind, sign, UNLOCATED, words } from "./marks";
import type { Call, Item, Judgment, MetaLevel } from "./model";
import { copyButton, h, number, raw, settle, unseen } from "./shell";
import { prose } from "./texts";
import { plural } from "./words";

/* A judgment's element -> what gives it its content, once it is wanted. */
const fillers = new WeakMap<HTMLElement, () => void>();

export function openJudgment(node: HTMLDetailsElement | null) {
  if (!node) return;
  fillers.get(node)?.();
  node.open = true;
}

export function judgmentView(
  item: Item,
  runNumber: number,
  judgment: Judgment,
  prompt: string | null,
  marks: number[],
  grades: (number | null)[] = [],
) {
  const mark = marks[judgment.repeat];
  const grade = grades[judgment.repeat] ?? null;
  const agrees = agreement(item, judgment, mark);
  const node = h(
    "details",
    { class: `judgment ${kind(mark)}`, id: `judgment-${runNumber}-${judgment.repeat}` },
    h(
      "summary",
      null,
      h("span", { class: `mark ${kind(mark)}`, "aria-hidden": "true" }, sign(mark, grade)),
      h("span", { class: "title" }, `Judgment ${judgment.repeat} ${words(mark, grade)}`),
      judgment.meta ? h("span", { class: "chip" }, judgment.meta.level ?? `meta: ${judgment.meta.reason}`) : null,
      agrees ? h("span", { class: agrees === "agrees with the human" ? "chip" : "chip human" }, agrees) : null,
    ),
  );
  const fill = () => {
    if (!node.querySelector(".body")) node.append(bodyOf(judgment, prompt));
  };
  fillers.set(node, fill);
  node.addEventListener("toggle", () => {
    if (!node.open) return;
    fill();
    settle(40);
  });
  return node;
}

/* How a judgment compares with the human annotation; null where there is none, or the judgment is invalid. */
function agreement(item: Item, judgment: Judgment, mark: number): string | null {
  if (item.label === null || !judgment.valid) return null;
  if ((mark === ACCEPTS) !== (item.label === -1)) return "against the human";
  if (item.label === UNLOCATED || mark === UNLOCATED) return "agrees with the human";
  return mark === item.label ? "agrees with the human" : "another step than the human";
}

function bodyOf(judgment: Judgment, prompt: string | null) {
  return h(
    "div",
    { class: "body" },
    judgment.valid
      ? [h("h4", null, "Assessment"), prose(judgment.assessment)]
      : h(
          "p",
          null,
          "This reply could not be read as a verdict: ",
          reasonView(judgment.reason ?? ""),
          ". It counts as no acceptance, and as no rejection either.",
        ),
    judgment.errors.length
      ? [
          h("h4", null, judgment.errors.length > 1 ? "Errors" : "Error"),
          judgment.errors.length > 1
            ? h(
                "ol",
                { class: "errors" },
                judgment.errors.map((error) => h("li", null, prose(error))),
              )
            : prose(judgment.errors[0]),
        ]
      : null,
    judgment.meta ? metaView(judgment.meta) : null,
    calls({ ...judgment, prompt }, "the judge's"),
  );
}

function metaView(meta: MetaLevel) {
  return h(
    "div",
    { class: "meta" },
    h("h4", null, "Meta-verifier"),
    h("p", null, meta.level ? levelView(meta.level) : ["no level: ", reasonView(meta.reason ?? "")]),
    meta.reply === null || meta.reply === undefined ? null : calls(meta, "the meta-verifier's"),
  );
}

/* The exact prompt and reply, one click away. */
export function calls(call: Call, whose: string) {
  const facts = [
    call.model,
    call.finish && `finish ${call.finish}`,
    call.refused && `refused: ${call.refused}`,
    call.seconds ? `${call.seconds} s` : null,
    call.at ? `${call.at.slice(0, 19).replace("T", " ")} UTC` : null,
    tokensWords(call.usage),
    call.reply && unseen(call.reply) ? `${plural(unseen(call.reply), "character")} that cannot be seen` : null,
  ]
    .filter(Boolean)
    .join(" · ");
  const all: [title: string, content: string | null | undefined, absent: string | null][] = [
    ["Prompt", call.prompt, "This run does not hold the prompt."],
    ["Reply", call.reply, "There is no reply."],
    ["Reasoning", call.reasoning, null],
  ];
  const views = all.filter(([, content, absent]) => content || absent);
  const body = h("div");
  const buttons: HTMLElement[] = views.map(([title, content, absent]) =>
    h(
      "button",
      {
        type: "button",
        "aria-expanded": "false",
        "aria-label": `${title}: ${whose} exact text`,
        onclick: (event: { currentTarget: Element }) => {
          const was = event.currentTarget.getAttribute("aria-expanded") === "true";
          buttons.forEach((button) => button.setAttribute("aria-expanded", "false"));
          body.replaceChildren();
          if (was) return;
          event.currentTarget.setAttribute("aria-expanded", "true");
          body.append(
            content ? raw(content) : h("p", { class: "small" }, absent),
            content ? copyButton("Copy", () => content) : "",
          );
        },
      },
      title,
    ),
  );
  return h(
    "div",
    { class: "calls" },
    h("div", { class: "buttons" }, buttons, h("span", { class: "small" }, facts)),
    body,
  );
}

const tokensWords = (usage: Call["usage"]) => {
  const output = usage?.completion_tokens ?? usage?.output_tokens;
  return typeof output === "number" ? `${number(output)} tokens` : null;
};
