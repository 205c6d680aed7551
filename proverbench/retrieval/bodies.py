"""What the commands of ``retrievalbench`` do."""

import json
import os
import shlex
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE
from proverbench.cli.streams import echo, echo_json, say
from proverbench.retrieval.benchmarks import load_benchmark
from proverbench.retrieval.cli import DEFAULT_SYSTEMS, FETCHED
from proverbench.retrieval.corpus import load_corpus
from proverbench.retrieval.describe import describe_benchmark, describe_board, describe_corpus, describe_data
from proverbench.retrieval.execute import RetrievalSession, data_of, find_runs, plan_new, plan_resume, slug
from proverbench.retrieval.fetch import fetch as fetch_file
from proverbench.retrieval.folder import RetrievalRun
from proverbench.retrieval.page import render_report
from proverbench.retrieval.prepare import DataOptions, prepare
from proverbench.retrieval.report import load_page
from proverbench.retrieval.settings import Settings
from proverbench.retrieval.subsets import cut_to_subset, load_subset, subset_name
from proverbench.retrieval.systems.build import KINDS
from proverbench.run.disk import write_whole
from proverbench.shipped import shipped


def run_systems(specs: tuple[str, ...], output: Path | None, resume: Path | None, dry_run: bool, **options: Any) -> int:
    """Run systems on a benchmark; each gets a folder of its own."""
    if resume is not None:
        _refuse_beside_resume()
    if resume is not None:
        session = _resumed(resume, options)
    else:
        chosen = specs or DEFAULT_SYSTEMS
        session = _new(chosen, output or _default_output(options["task"], chosen), options)
    if dry_run:
        _describe(session)
        return EXIT_COMPLETE
    return _run(session, resume or output or session.planned[0].folder)


def _refuse_beside_resume() -> None:
    """A run goes on as it was; only files that have moved, the config and the cache may be given anew."""
    may = ("resume", "corpus", "queries", "subset", "strings", "config", "cache", "dry_run")
    context = click.get_current_context()
    given = [
        f"--{'system' if name == 'specs' else name.replace('_', '-')}"
        for name in context.params
        if name not in may and context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"--resume goes on with the run as it is; leave out {', '.join(given)}")


def _new(specs: tuple[str, ...], output: Path, options: dict[str, Any]) -> RetrievalSession:
    cache, config = options.pop("cache"), options.pop("config")
    if options["corpus"] is None:
        options["corpus"] = shipped("data/retrieval/corpus.jsonl")
        options["corpus_name"] = options["corpus_name"] or "the shipped corpus"
    options["queries"] = options["queries"] or shipped("data/retrieval/queries.jsonl")
    data = DataOptions(**{**options, "query_text": options["query_text"] or "", "pool": options["pool"] or ""})
    return RetrievalSession(data, Settings.load(config), cache or _default_cache(), plan_new(specs, output), say)


def _resumed(path: Path, options: dict[str, Any]) -> RetrievalSession:
    planned = plan_resume(path)
    saved = planned[0].manifest
    assert saved is not None
    files = ("corpus", "queries", "subset", "strings")
    data = data_of(saved, **{name: options[name] for name in files})
    if options["config"] is not None:
        settings = Settings.load(options["config"])
    else:
        settings = Settings(f"{planned[0].folder}/manifest.json", saved.operation.get("config", {}))
    cache = options["cache"] or Path(saved.operation.get("cache") or _default_cache())
    return RetrievalSession(data, settings, cache, planned, say)


def _run(session: RetrievalSession, where: Path) -> int:
    results = session.run(heeds_signals=True)
    complete = not session.stopped
    for plan, result in results:
        for note in result.notes:
            say(f"{plan.spec}: {note}")
        if result.complete:
            echo(_headline(plan.spec, plan.folder, RetrievalRun(plan.folder).summary()))
            continue
        complete = False
        if result.fatal or result.unanswered:
            n = len(result.unanswered)
            why = result.fatal or f"{n} queries unanswered, the first: {result.unanswered[0].message}"
            say(f"{plan.spec}: incomplete, no score; {why}")
    if complete:
        return EXIT_COMPLETE
    say(f"resume with: retrievalbench run --resume {shlex.quote(str(where))}")
    return EXIT_INCOMPLETE if session.exit_code is None else session.exit_code


def _headline(spec: str, folder: Path, summary: dict[str, Any]) -> str:
    metrics = summary["metrics"] or {}
    shown = "  ".join(
        f"{name} {value:.3f}" for name in ("nDCG@10", "R@10", "MRR") if (value := metrics.get(name)) is not None
    )
    return f"{folder}: {spec}  {shown}  n {summary['n']} ({summary['dropped']} dropped)"


def _describe(session: RetrievalSession) -> None:
    for line in describe_data(session.prepared):
        echo(line)
    for plan, system in session.systems:
        echo(f"system {plan.spec} -> {plan.folder}: {json.dumps(system.identity(), ensure_ascii=False)}")
    for line in session.forecasts():
        echo(line)


def score_runs(folders: tuple[Path, ...]) -> int:
    """Rebuild curves.json and summary.json of saved runs from their positions; searches nothing."""
    complete = True
    for folder in find_runs(list(folders)):
        saved = RetrievalRun(folder)
        summary = saved.rebuild()
        complete = complete and bool(summary["complete"])
        echo(_headline(saved.manifest.system, folder, summary))
    return EXIT_COMPLETE if complete else EXIT_INCOMPLETE


def write_report(
    folders: tuple[Path, ...], output: Path, published: Path | None, subset: Path | None, title: str
) -> None:
    """Write one page: leaderboard, curves, and where each system put each answer."""
    page = load_page(folders, published=published, subset=subset)
    write_whole(output, render_report(page, title=title).encode("utf-8"))
    for banner in page["banners"]:
        say(f"note: {banner}")
    echo(f"wrote {output} ({output.stat().st_size / 1e6:.1f} MB); open it in any browser")


def compare_runs(folders: tuple[Path, ...], subset: Path | None, as_json: bool) -> None:
    """Print boards and paired differences of saved runs, with intervals and p-values."""
    page = load_page(folders, subset=subset, details=False)
    if as_json:
        echo_json({"banners": page["banners"], "boards": page["boards"]})
        return
    for banner in page["banners"]:
        echo(f"note: {banner}\n")
    echo("\n\n".join("\n".join(describe_board(board)) for board in page["boards"]))


def list_systems() -> None:
    """List the forms of --system."""
    width = max(map(len, KINDS))
    for form, meaning in KINDS.items():
        echo(f"{form.ljust(width)}  {meaning}")


def fetch_files(what: str, source: str | None, output: Path) -> None:
    """Get the released files of LeanSearch v2, at a pinned revision: all of them, or one."""
    for name in FETCHED[1:] if what == "all" else (what,):
        found = fetch_file(name, output, source=source)
        known = "recorded now, none is published" if found.first else "as known"
        echo(f"{found.path}: {'fetched' if found.new else 'there already'}, SHA-256 {found.sha256} ({known})")


def validate_files(corpus: Path | None, queries: Path | None, subset: Path | None, **checks: Any) -> None:
    """Check files as a run would, all faults at once, and say what they hold."""
    if corpus is None and queries is None:
        raise click.UsageError("give --corpus, --queries or both")
    if corpus is not None and queries is not None:
        lines = describe_data(prepare(DataOptions(corpus=corpus, queries=queries, subset=subset, **checks)))
    elif corpus is not None:
        lines = describe_corpus(load_corpus(corpus))
    else:
        assert queries is not None
        task, sha256 = checks["task"], checks["queries_sha256"]
        benchmark = load_benchmark(queries, task, sha256=sha256, allow_modified=checks["allow_modified"])
        if subset is not None:
            benchmark = cut_to_subset(benchmark, load_subset(subset), subset_name(subset))
        lines = describe_benchmark(benchmark)
    for line in lines:
        echo(line)


def _default_output(task: str, specs: tuple[str, ...]) -> Path:
    """Return a folder for a run without --output, such as ``runs/retrieval-jsonl-bm25-20260711-120000``."""
    what = slug(specs[0]) if len(specs) == 1 else f"{len(specs)}-systems"
    name = f"retrieval-{task}-{what}-{datetime.now():%Y%m%d-%H%M%S}"
    taken = [Path("runs") / name, *(Path("runs") / f"{name}-{n}" for n in range(2, 1000))]
    return next(path for path in taken if not path.exists())


def _default_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "proverbench" / "retrieval"
