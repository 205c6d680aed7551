"""The methodology view, from what the runs say of themselves: what was held constant, formulas, caveats, prior work."""

from collections.abc import Iterable, Sequence
from typing import Any

from proverbench.retrieval.resampling import RESAMPLES, SEED
from proverbench.retrieval.rundata import RunData

FORMULAS = (
    (
        "pos(g)",
        "rank, from 1, of the earliest retrieved member of gold unit g; a row counts at its first place",
    ),
    ("h(k)", "how many gold units of a query have a position of at most k"),
    ("R@k", "h(k) / |G|"),
    ("P@k", "min(1, h(k) / k); divided by k, not by what was returned"),
    (
        "nDCG@k",
        "sum of 1 / log2(pos + 1) over units within k, divided by that of 1 / log2(i + 1), i = 1 .. min(k, |G|)",
    ),
    ("Covered@k", "1 if h(k) = |G|, else 0: every premise group, original or alternative, that the corpus has"),
    ("CoveredRoute@k", "1 if all original groups are found, or if there are alternative ones and all of these are"),
    ("CoveredOriginal@k", "1 if all original groups are found; as before, a group that the corpus lacks is missed"),
    ("MRR", "mean of 1 / smallest position; 0 if nothing was found"),
    ("MAP", "mean of (1 / |G|) times the sum of h(p) / p over the positions p that were found"),
    ("pr11", "best precision at or beyond each recall level 0, 0.1 .. 1; 0 where a level is not reached"),
)
"""As in docs/retrieval-metrics.md (a test compares the names)."""

PRIOR_WORK = (
    ("LeanSearch v2: MathlibQR and MathlibMPR", "2605.13137"),
    ("LeanSearch: search by informal statements", "2403.13310"),
    ("LeanExplore: hybrid search of Lean declarations", "2506.11085"),
    ("Lean Finder: search by what a user wants", "2510.15940"),
    ("LeanDojo and ReProver: premise selection from proof states", "2306.15626"),
    ("LeanHammer: premise selection", "2506.07477"),
    ("LeanStateSearch: proof state to premises", "2501.13959"),
    ("Premise selection from text and structure", "2510.23637"),
    ("Magnushammer: premise selection in Isabelle", "2303.04488"),
    ("REAL-Prover: proving with retrieval", "2505.20613"),
)
"""What defined the benchmarks and protocols, and their arXiv numbers."""

POLITE = {"leansearch": "at most 3 requests in 30 s", "leanexplore": "at most 24 requests in 60 s"}


def methodology_of(runs: Sequence[RunData]) -> dict[str, Any]:
    """Return the view: ``held`` (tables of facts), ``formulas``, ``caveats``, ``prior_work``."""
    return {
        "held": [
            {"title": "Corpus", "rows": _distinct(_corpus(run) for run in runs if not run.manifest.own_corpus)},
            {"title": "Benchmark", "rows": _distinct(map(_benchmark, runs))},
            {"title": "Text of the documents", "rows": _distinct(_renderer(run) for run in runs if run.kind == "own")},
            {"title": "Lists and averages", "rows": _distinct(map(_averages, runs))},
            {"title": "Public engines", "rows": _distinct(_engine(run) for run in runs if run.kind == "engine")},
        ],
        "formulas": [{"name": name, "says": says} for name, says in FORMULAS],
        "caveats": _caveats(runs),
        "prior_work": [{"title": title, "arxiv": number} for title, number in PRIOR_WORK],
    }


def _distinct(rows: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    return list({tuple(row.items()): row for row in rows}.values())


def _corpus(run: RunData) -> dict[str, str]:
    corpus = run.manifest.corpus
    return {
        "Name": corpus.name,
        "Revision": corpus.revision or "not given",
        "Rows": f"{corpus.documents:,}" + (f", a sample of {corpus.sampled_from:,}" if corpus.sampled_from else ""),
        "SHA-256": corpus.sha256,
    }


def _benchmark(run: RunData) -> dict[str, str]:
    benchmark = run.manifest.benchmark
    published = {True: "the published file, unchanged", False: "not the published file", None: "no published file"}
    kept = sum(not query.dropped for query in run.queries)
    return {
        "Task": run.manifest.task,
        "File": benchmark.file,
        "SHA-256": benchmark.sha256,
        "Is": published[benchmark.published],
        "Queries": f"{kept:,} count (n), {len(run.queries) - kept:,} dropped",
        "Part": run.part or "all queries",
        "Asked": f"the {run.query_text} statement" if run.manifest.task == "mathlibmpr" else "the text of the query",
    }


def _renderer(run: RunData) -> dict[str, str]:
    return {"Renderer": run.renderer[0], "Hash of what it does": run.renderer[1]}


def _averages(run: RunData) -> dict[str, str]:
    gold = "dropped and counted" if run.missing_gold == "dropped" else "scored 0, as in the release"
    return {
        "k_max": str(run.manifest.k_max),
        "Search": "exact: every inner product of vectors of length 1; equal scores go by row",
        "Searched": "what the theorem can use" if run.pool != "all" else "the whole corpus",
        "Average": f"macro, over queries; those without gold in the corpus are {gold}",
        "Intervals": f"percentile bootstrap, {RESAMPLES:,} resamples, PCG64 with seed {SEED}; over queries, as "
        "published, and over declarations",
    }


def _engine(run: RunData) -> dict[str, str]:
    engine = str(run.manifest.system_identity.get("engine", run.manifest.system))
    cap = "none seen" if run.service_cap is None else f"{run.service_cap} results"
    return {
        "Engine": run.label,
        "Corpus": run.manifest.own_corpus,
        "Rate": POLITE.get(engine, "not asked here"),
        "Answers": "each is kept for good and asked for once",
        "Cap": cap,
    }


def _caveats(runs: Sequence[RunData]) -> list[str]:
    """Return what limits a comparison; only what is about these runs."""
    caveats = [
        "A list is cut at k_max: R at k_max is a lower bound of recall, and curves of different k_max are never drawn "
        "together."
    ]
    if any(run.kind == "engine" for run in runs):
        caveats.append(
            "Engines search a corpus of their own: they are ranked with others only on queries whose gold both have. A "
            "hosted service need not be the configuration of its paper."
        )
    if any(run.service_cap is not None for run in runs):
        caveats.append("A service that returns at most N results has no value above N, not a flat one.")
    if any(run.manifest.task == "mathlibmpr" for run in runs):
        caveats.append(
            "MathlibMPR has 69 theorems: many differences are within the intervals. Covered, CoveredRoute (the release "
            "and the paper's tables) and CoveredOriginal (the paper's appendix) are different figures; a published one "
            "is compared with the one that it means."
        )
    if any(run.manifest.task == "leandojo" for run in runs):
        caveats.append("LeanDojo is an older snapshot with a pool for each theorem: never combined with other tasks.")
    if any(run.not_known for run in runs):
        caveats.append("Of lists and vectors made elsewhere only the file is known here, not how it was made.")
    return caveats
