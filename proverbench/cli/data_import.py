"""``proverbench data import`` and ``data split``: other people's files become data files, or runs."""

from pathlib import Path
from typing import Any

import click

_FILE = click.Path(path_type=Path)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
SPLIT = click.Choice(["whole", "paragraphs", "lines", "tags", "json"])
"""How a proof's text becomes steps (inputs/splitting.py)."""


@click.command(name="import")
@click.argument("source", type=_FILE, metavar="FILE|DIR")
@click.option(
    "--format",
    "format_",
    metavar="NAME|FILE.toml",
    required=True,
    help="A data set by name (imo-proofbench, gradingbench, proofbench, matharena, deepseek, opc, processbench, "
    "hard2verify, prm800k, arxivmath), a file that describes your own (docs/own-data.md), inspect, labels, published.",
)
@click.option("--output", type=_FILE, required=True, help="JSONL file to write; of published, the run's folder.")
@click.option("--data", type=_FILE, metavar="FILE", help="published: the data file that the run was made from.")
@click.option(
    "--graders",
    type=click.Choice(["mean", "all-agree"]),
    default="mean",
    show_default=True,
    help="Where several people graded a proof: take the mean, or leave out proofs on which they differ.",
)
@click.option(
    "--score", metavar="NAME", help="inspect: which of the log's scores is the verdict. [default: its only one]"
)
@click.option("--split", type=SPLIT, help="How a proof's text becomes steps. [default: the description's]")
@_JSON
def import_(**given: Any) -> int:
    """Turn other people's problems, or labelled or graded proofs, into a data file.

    CSV with any separator, JSONL, JSON, Parquet and folders of .tex, .md or .txt are read by a description of a few
    lines; known data sets by their name. No label is invented. What was decided and what was left out is printed;
    docs/data.md has the details of each data set. A run of the published evaluator becomes one of ours.

    \b
    proverbench data import --format mine.toml graded.csv --output graded.jsonl
    proverbench data import --format imo-proofbench proofbench_v2.csv --output imo.jsonl
    proverbench data import --format published RESULTS --data test.jsonl --output runs/published
    """
    from proverbench.cli.bodies.data_import import import_file

    return import_file(**given)


@click.command()
@click.argument("source", type=_FILE, metavar="FILE")
@click.option("--split", "how", type=SPLIT, required=True, help="How each proof becomes steps.")
@click.option("--output", type=_FILE, required=True, help="JSONL file to write.")
@_JSON
def split(**given: Any) -> None:
    """Cut the proofs of a data file into other steps.

    A proof is its steps, joined by empty lines, or its text. The labels stay, so only proofs whose labels name no step
    can be cut: those that were graded or judged as a whole.

    \b
    proverbench data split graded.jsonl --split paragraphs --output steps.jsonl
    """
    from proverbench.cli.bodies.data_import import split_proofs

    split_proofs(**given)
