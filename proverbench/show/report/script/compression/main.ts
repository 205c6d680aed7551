/* The page of compressionbench: the ranking, a viewer that opens terms node by node, and the rules. */
import { bar, h } from "../report/shell";
import { count } from "./counts";
import type { Page, View } from "./model";
import { apart, ranking } from "./ranking";
import { rules } from "./rules";
import { viewer } from "./viewer";

async function start() {
  const page: Page = await PB.model();
  bar({ links: [] });
  document
    .getElementById("main")!
    .replaceChildren(
      ...page.rankings.map(ranking),
      ...(page.apart.length ? [apart(page.apart)] : []),
      ...(page.views.length ? [views(page.views)] : []),
      rules(page.rules),
    );
}

function views(all: View[]) {
  const place = h("div");
  const choose = async (at: number) => {
    place.replaceChildren(h("p", { role: "status" }, "Unpacking …"));
    const content = await PB.chunk(at);
    place.replaceChildren(h("p", null, summary(all[at]!)), ...viewer(content));
  };
  const select = h(
    "select",
    { id: "view", onchange: (event: Event) => choose(Number((event.target as HTMLSelectElement).value)) },
    all.map((view, at) => h("option", { value: at }, view.title)),
  );
  choose(0);
  return h(
    "section",
    null,
    h("h2", null, "Where the nodes go"),
    h(
      "p",
      null,
      "Open a declaration, then its terms, node by node. Each number is what the node costs with all that is below it.",
    ),
    h("p", null, h("label", { for: "view" }, "Proofs: "), select),
    place,
  );
}

function summary(view: View) {
  const saved = view.original - Number(view.count);
  const compared =
    saved === 0
      ? "as many as the original"
      : `${count(Math.abs(saved))} ${saved > 0 ? "fewer" : "more"} than the original’s ${count(view.original)}`;
  return `${count(view.count)} nodes, ${compared}.`;
}

start();
