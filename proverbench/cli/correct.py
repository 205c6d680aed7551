"""`proverbench correct`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proverbench.benchmark import benchmark_of
from proverbench.cli.common import EXIT_COMPLETE, RESAMPLES, HandlesErrors
from proverbench.cli.streams import echo_json

if TYPE_CHECKING:
    from proverbench.run.saved import SavedRun


@click.command(cls=HandlesErrors, name="correct", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    metavar="VERIFIERBENCH_RUN",
    help="A VerifierBench run of the same judge, with at least as many repeats.",
)
@click.option(
    "--labels", type=click.Path(path_type=Path), metavar="FILE", help="Human labels of this run's own proofs."
)
@click.option("--split", default="all", show_default=True, help="all, ugd, qe or another domain.")
@click.option(
    "--calibration-split", default="all", show_default=True, help="Of the calibration: proofs like those of the run."
)
@RESAMPLES
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the resamples. [default: a fixed one]")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    run: Path,
    calibration: Path | None,
    labels: Path | None,
    split: str,
    calibration_split: str,
    resamples: int,
    seed: int | None,
    as_json: bool,
) -> int:
    """Correct a ProverBench RUN's score for its judge's own error; calls nothing.

    With --calibration: by how often the rule "all R judgments accept" is right on annotated proofs (Rogan-Gladen). With
    --labels: by people's labels of a random choice of this run's own proofs (prediction-powered). Intervals carry the
    uncertainty of both samples. The formulas are in docs/metrics.md, "Correcting for the judge".

    \b
    The sheet to label:  proverbench export runs/NAME --to verifierbench --choose 40 -o sheet.jsonl
    """
    from proverbench.errors import RunMismatchError, UserInputError
    from proverbench.metrics.correction import UncorrectableError, correct_by_calibration, correct_by_labels
    from proverbench.metrics.uncertainty import SEED
    from proverbench.people.sheet import read_labels
    from proverbench.run.comparability import calibration_faults
    from proverbench.run.saved import open_runs

    if calibration is None and labels is None:
        raise UserInputError("give --calibration VERIFIERBENCH_RUN or --labels FILE (or both)")
    settings = {"resamples": resamples, "seed": SEED if seed is None else seed}
    (ours,) = open_runs([run], split=split)
    found: dict[str, Any] = {"run": ours.name, "split": split, "repeats": ours.arrays.repeats}
    if benchmark_of(ours.task).labelled:
        raise RunMismatchError(f"{run}: only a ProverBench run is corrected; this one is VerifierBench")
    try:
        if calibration is not None:
            (judge,) = open_runs([calibration], split=calibration_split)
            faults = calibration_faults(ours.manifest, judge.manifest)
            if faults:
                told = [f"{calibration} does not measure the judge of {run}: {fault}" for fault in faults]
                raise RunMismatchError.of([*told, f"what would: {_fitting(ours, judge)}"])
            found["calibration"] = correct_by_calibration(ours.arrays, judge.arrays, **settings) | {"run": judge.name}
        if labels is not None:
            known = read_labels(labels, ours.folder)
            inside = set(ours.arrays.keys)
            found["labels"] = correct_by_labels(
                ours.arrays, {key: label for key, label in known.items() if key in inside}, **settings
            )
    except UncorrectableError as exc:
        raise RunMismatchError(f"{run} cannot be corrected: {exc}") from exc
    if as_json:
        echo_json(found)
    else:
        _show(found)
    return EXIT_COMPLETE


def _fitting(run: "SavedRun", calibration: "SavedRun") -> str:
    """The command that makes a calibration for a run."""
    from proverbench.run.sources import INPUTS, PROMPT_FILES, PROMPTS

    identity = run.manifest.identity
    prompt = run.path / PROMPTS / PROMPT_FILES["verifier"]
    data = calibration.path / INPUTS if benchmark_of(calibration.task).labelled else "PROOFS.jsonl"
    words = ["verifierbench", "--data", str(data), "--config", "CONFIG.toml"]
    words += ["--verifier-repeats", str(run.arrays.repeats)]
    words += ["--use-reference-solution" if identity.use_reference_solution else "--no-use-reference-solution"]
    words += ["--verifier-prompt", str(prompt)] if prompt.is_file() else []
    words += [] if identity.neutralise else ["--no-neutralise"]
    return f"{shlex.join(words)}   with the [verifier] of this run in CONFIG.toml: {identity.roles['verifier'].model}"


def _show(found: dict[str, Any]) -> None:
    from proverbench.cli.tables import console, number, plain, show, table, with_ends
    from proverbench.metrics.shown import footnotes, intervals_in

    out = console()
    title = f"{found['run']}, split {found['split']}: pessimistic, corrected for the judge's error"
    shown = table(title, "", "score", "with 95 % interval")
    first = found.get("calibration") or found["labels"]
    shown.add_row("as judged", number(first["uncorrected"]), "")
    if "calibration" in found:
        by = found["calibration"]
        shown.add_row(plain(f"calibrated by {by['run']}"), number(by["value"]), with_ends(by["value"], by["interval"]))
    if "labels" in found:
        by = found["labels"]
        shown.add_row("with labels (prediction-powered)", number(by["value"]), with_ends(by["value"], by["interval"]))
        only = by["labels_only"]
        shown.add_row("labels alone", number(only["value"]), with_ends(only["value"], only["interval"]))
    show(out, shown)
    if "calibration" in found:
        by = found["calibration"]
        rule = table(f"The rule: all {found['repeats']} judgments accept", "", "value", "problems")
        for name in ("sensitivity", "specificity"):
            interval = by[name]["interval"]
            rule.add_row(name, with_ends(by[name]["value"], interval), str(interval["n"]))
        youden = by["youden"]
        rule.add_row(
            "their sum - 1", with_ends(youden["value"], youden["interval"]), str(by["interval"]["n_calibration"])
        )
        show(out, rule)
        if by["clipped"]:
            out.print(
                "The formula left [0, 1] and was cut: the run accepts fewer or more proofs than the rule's errors "
                "explain."
            )
    if "labels" in found:
        by = found["labels"]
        wrong = by["disagreements"]
        out.print(
            f"{by['labelled']} of {by['labelled'] + by['unlabelled']} judged proofs are labelled; on them the judge "
            f"accepted {wrong['false_accepts']} incorrect and did not accept {wrong['false_rejects']} correct ones. "
            f"The judge's verdicts on the others count with weight {by['power']:.2f}. All this holds if the labelled "
            "proofs are a random choice."
        )
    for footnote in footnotes(intervals_in(found)):
        out.print(footnote)
