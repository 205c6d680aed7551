"""A log of Inspect, which `inspect view` opens: proofs as samples, repeats as epochs, judgments as scores."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proverbench.run.disk import disk, fitting_name
from proverbench.run.extent import row_id
from proverbench.run.provenance import provenance
from proverbench.show.exports.export import Export, Request
from proverbench.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.scorer import Score

    from proverbench.show.frames import LoadedRun

ACCEPTED = "proof_accepted"
"""Score of every sample: what the verifier said of the proof."""
RIGHT = "verdict_right"
"""Score where people labelled the proof: whether the verifier was right."""
RIGHT_VALUES = {True: "C", False: "I"}
NO_VALUE = "N"
"""Inspect's value of an answer that is none; it counts as 0, as an invalid judgment does."""


def write(request: Request) -> Iterator[str]:
    """Write the log.

    Raises:
        JournalError: If the disk refuses it.
    """
    from inspect_ai.log import write_eval_log

    (run,) = request.loaded.values()
    request.claim(request.output)
    part = request.output.with_name(f".{fitting_name(request.output.name)}.part.eval")
    log = log_of(run)
    with disk(request.output):
        write_eval_log(log, str(part.absolute()), format="eval")
        part.replace(request.output)
    yield f"{request.output}: {len(log.samples or [])} samples; look at it with: inspect view --log-dir DIR"


def log_of(run: "LoadedRun") -> "EvalLog":
    """A saved run as a log."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec

    manifest, summary = run.manifest, run.summary
    told = provenance(manifest, summary, looks=run.folder.looks, seal=run.folder.seal)
    samples = list(_samples(run))
    ids: list[int | str] = list(dict.fromkeys(sample.id for sample in samples))
    return EvalLog(
        status="success" if summary.complete else "cancelled",
        eval=EvalSpec(
            created=next((call.at for call in run.folder.calls()), "1970-01-01T00:00:00+00:00"),
            task=f"proverbench/{told['benchmark']}",
            run_id=manifest.run_id[:22],
            task_id=manifest.run_id[:22],
            model=told["policy"] or "(labelled proofs)",
            dataset=EvalDataset(name=str(told["data_sha256"])[:12], samples=len(ids), sample_ids=ids),
            config=EvalConfig(epochs=manifest.extent.verifier_repeats),
            packages={"proverbench": __version__},
            metadata={name: value for name, value in told.items() if value is not None},
        ),
        results=_results(run, len(samples)),
        samples=samples,
    )


def _results(run: "LoadedRun", n_samples: int) -> Any:
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    metrics = run.summary.splits["all"].metrics or {}
    told = {
        name: EvalMetric(name=name, value=value) for name, value in metrics.items() if isinstance(value, int | float)
    }
    judge = run.manifest.identity.roles["verifier"].model
    score = EvalScore(name=ACCEPTED, scorer=judge, metrics=told)
    return EvalResults(total_samples=n_samples, completed_samples=n_samples, scores=[score] if told else [])


def _samples(run: "LoadedRun") -> "Iterator[EvalSample]":
    """One for each judgment that was answered, or that no valid proof could have."""
    rows = {row_id(row): row for row in run.folder.rows()}
    proofs = {(proof["key"]): proof for proof in _records(run.proofs)}
    for judgment in _records(run.judgments):
        proof = proofs[judgment["key"]]
        row = rows[judgment["proof_id"] or judgment["problem_id"]]
        if judgment["valid"] is None and judgment["reason"] is None:
            continue  # not asked yet, or not answered
        judge = run.manifest.identity.roles["verifier"].model
        yield _sample(row.problem, row.reference_solution, proof, judgment, judge)


def _sample(
    problem: str, reference: str, proof: Mapping[str, Any], judgment: Mapping[str, Any], judge: str
) -> "EvalSample":
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput

    text, policy = proof["proof"] or "", proof["policy"] or "(unknown)"
    facts = ("problem_id", "proof_id", "sample", "domain", "subject", "policy", "generation_error", "label")
    return EvalSample(
        id=judgment["proof_id"] or f"{judgment['problem_id']}/{judgment['sample']}",
        epoch=judgment["repeat"] + 1,
        input=problem,
        target=reference,
        messages=[ChatMessageUser(content=problem), ChatMessageAssistant(content=text)],
        output=ModelOutput.from_content(policy, text),
        scores=_scores(judgment, judge),
        metadata={name: proof[name] for name in facts if proof[name] is not None},
    )


def _scores(judgment: Mapping[str, Any], judge: str) -> "dict[str, Score]":
    from inspect_ai.scorer import Score

    step, valid = judgment["first_error_step"], judgment["valid"]
    accepted = Score(
        value=RIGHT_VALUES[step == -1] if valid else NO_VALUE,
        answer=None if step is None else str(step),
        explanation="\n\n".join(filter(None, [judgment["assessment"], judgment["errors"]])) or judgment["reason"],
        metadata={
            "judge": judge,
            **{
                name: judgment[name]
                for name in ("first_error_step", "reason", "meta_level", "meta_reason")
                if judgment[name] is not None
            },
        },
    )
    scores = {ACCEPTED: accepted}
    if judgment["is_correct"] is not None:
        right = RIGHT_VALUES[bool(judgment["polarity_right"])] if valid else NO_VALUE
        scores[RIGHT] = Score(value=right, answer=accepted.answer)
    return scores


def _records(frame: "pd.DataFrame") -> Iterator[dict[str, Any]]:
    """Rows with None where there is no value."""
    import pandas as pd

    for row in frame.to_dict("records"):
        yield {str(name): None if value is pd.NA else value for name, value in row.items()}


INSPECT = Export(
    name="inspect",
    extension="eval",
    help="a log that `inspect view` opens",
    place=Path("run.eval"),
    write=write,
    needs="inspect_ai",
    extra="inspect",
    single=True,
)
