/* The page of retrievalbench. Places in it have addresses:
     #/            the leaderboard                     #/compare        curves and paired differences
     #/queries     every query, where each system      #/query/NUMBER   one query, with what each system listed
                   put the answer
     #/breakdowns  figures by style, kind, difficulty  #/methodology    what is held constant, formulas, prior work
     #/changelog   the runs by date */
import { bar, h } from "../report/shell";
import { breakdowns } from "./breakdowns";
import { compare } from "./compare";
import { leaderboard } from "./leaderboard";
import { changelogView, methodologyView } from "./methodology";
import type { Page } from "./model";
import { oneQuery, queryList } from "./queries";

const HELP = [
  "A gold unit is a set of documents of which any one will do; it is found at the rank of its earliest member. R@k is the share of units found within the first k, nDCG@k weighs early ranks, MRR is the mean of 1 / rank of the first unit, Covered@k asks for all of them.",
  "Every number is derived from saved positions: retrievalbench score rebuilds it without searching. docs/retrieval-metrics.md defines each.",
];

const LINKS = [
  { href: "#/", label: "Leaderboard" },
  { href: "#/compare", label: "Compare" },
  { href: "#/queries", label: "Queries" },
  { href: "#/breakdowns", label: "Breakdowns" },
  { href: "#/methodology", label: "Methodology" },
  { href: "#/changelog", label: "Changelog" },
];

const VIEWS = { compare, queries: queryList, breakdowns, methodology: methodologyView, changelog: changelogView };

async function start() {
  const page: Page = await PB.model();
  bar({
    links: LINKS,
    help: h(
      "div",
      null,
      h("h2", null, "Reading this page"),
      HELP.map((text) => h("p", null, text)),
    ),
  });
  window.addEventListener("hashchange", () => show(page));
  await show(page);
  document.documentElement.dataset.ready = "true";
}

async function show(page: Page) {
  const [, view = "", which] = location.hash.split("/");
  const content =
    view === "query" ? await oneQuery(page, Number(which)) : (VIEWS[view as keyof typeof VIEWS] ?? leaderboard)(page);
  document.querySelector("main")!.replaceChildren(h("div", { class: "view" }, banners(page), content, notices(page)));
  for (const link of document.querySelectorAll("header.bar nav a")) {
    const here = link.getAttribute("href") === `#/${view === "query" ? "queries" : view}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  window.scrollTo(0, 0);
}

/* What every view shows first: nobody can look at a figure without it. */
const banners = (page: Page) => page.banners.map((text) => h("p", { class: "banner", role: "note" }, text));

/* Licences that ask for a notice have one on every view. */
const notices = ({ licences }: Page) =>
  licences.length
    ? h(
        "footer",
        { class: "licences" },
        licences.map((text) => h("p", null, text)),
      )
    : null;

start();
