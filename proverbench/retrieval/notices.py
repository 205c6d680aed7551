"""What a reader of a figure must know: banners on every view, badges on rows, standing licence notices. Pure."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from proverbench.metrics.uncertainty import significant
from proverbench.retrieval.rundata import RunData

EXPECTED_DROPPED = {("mathlibqr", "mathlib-4280"): (52, 946)}
"""Queries of the published file whose gold the published corpus is known to lack, and all of them."""
_NON_COMMERCIAL = ("-nc", "non-commercial", "noncommercial", "non commercial")


class Badge(NamedTuple):
    """A few words on a row, and why."""

    label: str
    why: str


def coverage_of(run: RunData) -> float | None:
    """Return the share of queries whose gold the searched corpus has; None where an engine's coverage is unknown."""
    if run.manifest.own_corpus and run.manifest.own_missing is UNSET:
        return None
    kept = sum(not query.dropped for query in run.queries)
    return significant(kept / len(run.queries)) if run.queries else None


def badges_of(run: RunData) -> list[Badge]:
    """Return the badges that a run has on every board."""
    benchmark, corpus, identity = run.manifest.benchmark, run.manifest.corpus, run.manifest.system_identity
    badges = []
    parts = [part for part in (benchmark.split, benchmark.subset) if part]
    if any("dev" in part.lower() for part in parts):
        badges.append(Badge("development slice", f"only {', '.join(parts)}: systems may have been tuned on it"))
    elif parts:
        badges.append(Badge(" · ".join(parts), "only these queries of the benchmark"))
    if benchmark.sampled_n is not None:
        why = f"{benchmark.sampled_n} of {benchmark.sampled_from} queries, drawn with seed {benchmark.sample_seed}"
        badges.append(Badge(f"sampled n = {benchmark.sampled_n}", why))
    if run.service_cap is not None:
        why = f"returns at most {run.service_cap} results; its curves have no value above"
        badges.append(Badge(f"cap k ≤ {run.service_cap}", why))
    if corpus.sampled_from and not run.manifest.own_corpus:
        badges.append(Badge("subsampled corpus", f"{corpus.documents:,} of {corpus.sampled_from:,} documents"))
    elif run.is_slice:
        badges.append(Badge("sliced corpus", f"{corpus.documents:,} of {corpus.whole_documents:,} documents"))
    if run.manifest.own_corpus:
        badges.append(Badge("different corpus", f"searches {run.manifest.own_corpus}, not the one the others search"))
    if run.manifest.licence:
        badges.append(Badge(run.manifest.licence, "licence of the model, as its makers state it"))
    if benchmark.published is False:
        badges.append(Badge("modified benchmark", "; ".join(benchmark.notes)))
    if run.missing_gold != "dropped":
        badges.append(Badge("missing gold scores 0", "as in the release; elsewhere such queries are dropped"))
    if run.query_text != "formal":
        badges.append(Badge(f"{run.query_text} statement", "which statement of a theorem was asked"))
    return badges + _of_run_file(identity)


def _of_run_file(identity: dict[str, Any]) -> list[Badge]:
    whys = {
        "query_ids_not_asked": "query ids of the file are not asked",
        "queries_without_list": "queries have no list in the file and found nothing",
        "names_not_in_corpus": "names of the file are not in the corpus; they keep their ranks",
    }
    return [
        Badge(f"{count:,} {name.replace('_', ' ')}", f"{count:,} {why}")
        for name, why in whys.items()
        if isinstance(count := identity.get(name), int)
    ]


def banners_of(runs: Sequence[RunData]) -> list[str]:
    """Return what every view shows first: nobody can look at a figure without it."""
    banners = [*_sampled(runs), *_sliced(runs), *_lacking(runs)]
    splits = sorted({run.manifest.benchmark.split for run in runs if _is_development(run)})
    banners += [
        f"Development slice: {split}. Systems may have been tuned on these queries; figures on them are no results."
        for split in splits
    ]
    incomplete = [run.label for run in runs if not run.complete]
    if incomplete:
        banners.append(f"Incomplete, without scores: {', '.join(incomplete)}. Resume with retrievalbench run --resume.")
    return list(dict.fromkeys(banners))


def _is_development(run: RunData) -> bool:
    return "dev" in run.manifest.benchmark.split.lower()


def _sampled(runs: Sequence[RunData]) -> list[str]:
    sampled = {run.corpus_title for run in runs if run.manifest.corpus.sampled_from and not run.manifest.own_corpus}
    if not sampled:
        return []
    return [
        "Subsampled corpus: "
        + "; ".join(sorted(sampled))
        + ". A smaller corpus is easier to search: these figures are higher than on the whole one, and comparable "
        "with nothing but runs on the same sample."
    ]


def _sliced(runs: Sequence[RunData]) -> list[str]:
    found = {}
    for run in runs:
        corpus = run.manifest.corpus
        if corpus.whole_documents is not UNSET and not corpus.sampled_from and not run.manifest.own_corpus:
            found[corpus.sha256] = (
                f"Not the whole corpus: {corpus.name}{f' at {corpus.revision}' if corpus.revision else ''} has "
                f"{corpus.whole_documents:,} rows, the searched file {corpus.documents:,}. Figures on it are "
                "no results."
            )
    return list(found.values())


def _lacking(runs: Sequence[RunData]) -> list[str]:
    """Say where gold is missing, but for what is known to be missing in the published corpus."""
    found = {}
    for run in runs:
        dropped, left_out = sum(q.dropped for q in run.queries), sum(q.units_left_out for q in run.queries)
        expected = EXPECTED_DROPPED.get((run.manifest.task, run.manifest.corpus.name))
        known = (dropped, len(run.queries)) == expected and not run.is_slice
        if not left_out or known or (run.manifest.own_corpus and run.manifest.own_missing is UNSET):
            continue
        what = f"{dropped} of {len(run.queries)} queries have no gold in this corpus"
        if left_out > dropped:
            what += f", and {left_out} gold units are not in it"
        found[run.board_key] = f"Gold is missing: {what} ({run.benchmark_title} on {run.corpus_title})."
    return list(found.values())


def licence_notices(runs: Sequence[RunData]) -> list[str]:
    """Return the standing notices that licences ask for."""
    rows: dict[str, list[str]] = {}
    for run in runs:
        if any(mark in run.manifest.licence.lower() for mark in _NON_COMMERCIAL):
            rows.setdefault(run.manifest.licence, []).append(run.label)
    return [
        f"{', '.join(labels)}: licence {licence}. Commercial use is not allowed; shown as non-commercial research."
        for licence, labels in rows.items()
    ]
