"""Logs of Inspect (inspect_ai) → labelled proofs: samples are problems, epochs are proofs, a score is the verdict."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proverbench.errors import ConfigError, DataError
from proverbench.inputs.imported import UNLOCATED, Imported, with_ids
from proverbench.inputs.splitting import SPLITS, Split, Unsplittable, split_proof

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

NEEDS = "Inspect's logs are read by inspect_ai; install it: pip install 'proverbench[inspect]'"
_VERDICTS = {"C": True, "I": False, 1: True, 0: False, "1": True, "0": False}
OURS = "proof_accepted"
"""The score that our own export writes."""


def import_inspect(path: Path, *, score: str | None = None, split: Split = "whole") -> Imported:
    """Read a log of a task whose samples ask for proofs.

    Args:
        path: The log, ``.eval`` or ``.json``.
        score: Which of its scores is the verdict; None: its only one, or that of our own export.
        split: How a proof becomes steps.

    Raises:
        ConfigError: If inspect_ai is missing.
        DataError: If it cannot be read, has several scores, or no sample with a proof and a verdict.
    """
    log = _read(path)
    samples = log.samples or []
    names = list(dict.fromkeys(name for sample in samples for name in sample.scores or {}))
    if OURS in names and score is None:
        score = OURS
    if score is None and len(names) != 1:
        listed = ", ".join(names) or "(none)"
        raise DataError(f"{path}: has the scores {listed}; say which is the verdict: --score NAME")
    name = score or names[0]
    if name not in names:
        raise DataError(f"{path}: has no score {name!r}; it has {', '.join(names) or 'none'}")
    imported = Imported()
    seen: set[str] = set()
    for proof in _proofs(samples, name, log.eval.model, split, imported):
        if proof["proof_id"] in seen:
            imported.left_out["the same proof of the same problem stands earlier in the log"] += 1
            continue
        seen.add(proof["proof_id"])
        imported.rows.append(proof)
    if not imported.rows:
        reasons = "; ".join(f"{count}: {why}" for why, count in imported.left_out.items())
        raise DataError(f"{path}: no sample has a proof and a verdict ({reasons or 'there are none'})")
    imported.notes += [
        f"The verdicts are those of the log's score {name!r}; they are labels only if people gave them.",
        UNLOCATED,
        SPLITS[split],
    ]
    return imported


def _read(path: Path) -> "EvalLog":
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as exc:
        raise ConfigError(NEEDS) from exc
    if not path.is_file():
        raise DataError(f"{path}: cannot be read: there is no such file")
    try:
        return read_eval_log(str(path.absolute()), resolve_attachments=True)
    except Exception as exc:  # whatever its readers of zip, JSON and models raise
        reason = next((line.strip() for line in str(exc).splitlines() if line.strip()), type(exc).__name__)
        raise DataError(f"{path}: is no log of Inspect: {reason}") from exc


def _proofs(
    samples: "list[EvalSample]", name: str, model: str, split: Split, imported: Imported
) -> Iterator[dict[str, Any]]:
    for sample in samples:
        problem = sample.input if isinstance(sample.input, str) else "\n\n".join(m.text for m in sample.input)
        text = sample.output.completion.strip()
        found = (sample.scores or {}).get(name)
        value = found.value if found is not None else None
        verdict = _VERDICTS.get(value) if isinstance(value, str | int | float | bool) else None
        if not problem.strip() or not text:
            imported.left_out["no problem or no proof"] += 1
            continue
        if found is None or verdict is None:
            imported.left_out[f"its {name} is neither correct nor incorrect"] += 1
            continue
        try:
            row = _proof(sample, problem, split_proof(text, split), model, correct=verdict)
        except Unsplittable as exc:
            imported.left_out[f"its proof cannot be split: wanted {exc}"] += 1
            continue
        if found.explanation:
            row["annotation"]["reviewer_comment"] = found.explanation
        yield with_ids(row)


def _proof(sample: "EvalSample", problem: str, steps: list[str], model: str, *, correct: bool) -> dict[str, Any]:
    told = sample.metadata or {}
    return {
        "problem": problem,
        "problem_id": str(told.get("problem_id") or ""),
        "steps": steps,
        "annotation": {"first_fatal_error_step": None, "verdict": "correct" if correct else "incorrect"},
        "reference_solution": sample.target if isinstance(sample.target, str) else "\n".join(sample.target),
        "domain": told.get("domain"),
        "subject": str(told.get("subject") or ""),
        "source_id": f"inspect:{sample.id}",
        "policy": told.get("policy") or model,
    }
