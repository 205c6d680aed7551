"""Proofs that exist already, to be judged as a policy's are: JSONL, or a folder of texts."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from proverbench.errors import DataError, InvalidReply
from proverbench.inputs.jsonl import ABSENT, DataLine, DataLines, in_line_order
from proverbench.inputs.rows import read_steps
from proverbench.inputs.splitting import Split, Unsplittable, split_proof
from proverbench.inputs.tables import plain_tex, read_text
from proverbench.protocols.basic_v1 import parse_steps
from proverbench.records import Problem


@dataclass(frozen=True)
class GivenProof:
    """A proof that exists already, to be judged instead of a sampled one."""

    problem_id: str
    sample: int
    steps: list[str]
    text: str | None = None
    """What the steps were read from; None when the file gave them as a list."""
    as_reply: bool = False
    """Whether ``text`` is read as a model's reply is, by its ``<step>`` elements."""
    reason: str | None = None
    """Why ``text`` is an invalid generation (it then scores 0 and is not judged), else None."""


@dataclass(frozen=True)
class GivenProofs:
    """The file of ``--proofs``."""

    path: Path
    proofs: dict[tuple[str, int], GivenProof]
    """By ``problem_id`` and sample index, in file order."""
    sha256: str
    """Of the file's bytes."""

    @property
    def samples(self) -> int:
        """S: one more than the largest sample index, so that every proof given has its place."""
        return 1 + max(sample for _, sample in self.proofs)


def load_given_proofs(path: Path | str, problems: Iterable[Problem], *, split: Split | None = None) -> GivenProofs:
    """Read proofs that exist already: JSONL of ``problem_id``, ``sample``, and ``steps`` or ``text``; or plain texts.

    Args:
        path: The file. A ``text`` is read as a reply is: after the reasoning, its ``<step>`` elements. Or a folder of
            ``.tex``, ``.md`` and ``.txt`` files, each named by its problem's id, with ``.SAMPLE`` after it if not 0.
        problems: Every problem that may be named, also those a run does not select.
        split: How a text becomes steps instead.

    Raises:
        DataError: Lists every fault of the file, each with its line and field.
    """
    path = Path(path)
    known = {problem.problem_id for problem in problems}
    if path.is_dir():
        return _folder_of_proofs(path, known, split)
    lines = DataLines(path)
    proofs: dict[tuple[str, int], GivenProof] = {}
    first_line: dict[tuple[str, int], int] = {}
    faults = []
    for row in lines:
        proof = _given_proof(row, known, split)
        if proof is not None:
            key = (proof.problem_id, proof.sample)
            if first_line.setdefault(key, row.line) != row.line:
                row.fault(
                    "sample", proof.sample, f"one that {proof.problem_id!r} does not have on line {first_line[key]}"
                )
            proofs[key] = proof
        faults += row.faults
    told = in_line_order(lines.faults, faults, path)
    if not proofs and not told:
        told = [f"{path}: holds no rows; wanted JSONL of problem_id, sample, and steps or text"]
    if told:
        raise DataError.of(told)
    return GivenProofs(path, proofs, lines.sha256)


def _folder_of_proofs(folder: Path, known: set[str], split: Split | None) -> GivenProofs:
    """Proofs that are texts, a file each."""
    files = sorted(file for file in folder.iterdir() if file.suffix in (".tex", ".md", ".txt") and file.is_file())
    faults = [] if files else [f"{folder}: holds no .tex, .md or .txt file; wanted PROBLEM_ID.txt, PROBLEM_ID.1.txt, …"]
    proofs: dict[tuple[str, int], GivenProof] = {}
    digest = hashlib.sha256()
    for file in files:
        stem, _, number = file.stem.rpartition(".")
        name, sample = (file.stem, 0) if file.stem in known or not number.isdecimal() else (stem, int(number))
        if name not in known:
            faults.append(f"{file}: {name!r} is no problem of the data file; wanted PROBLEM_ID or PROBLEM_ID.SAMPLE")
            continue
        if (name, sample) in proofs:
            faults.append(f"{file}: is a second text of {name!r}, sample {sample}")
        text = plain_tex(read_text(file)) if file.suffix == ".tex" else read_text(file)
        digest.update(f"{file.name}\0{text}\0".encode())
        proofs[name, sample] = _read_given(name, sample, text, split)
    if faults:
        raise DataError.of(faults)
    return GivenProofs(folder, proofs, digest.hexdigest())


def _read_given(problem_id: str, sample: int, text: str, split: Split | None) -> GivenProof:
    """A proof that was given as a text."""
    if split is not None and split != "tags":
        try:
            return GivenProof(problem_id, sample, split_proof(text, split), text)
        except Unsplittable:
            return GivenProof(problem_id, sample, [], text, reason="no_proof_steps")
    try:
        return GivenProof(problem_id, sample, parse_steps(text), text, as_reply=True)
    except InvalidReply as exc:
        return GivenProof(problem_id, sample, [], text, as_reply=True, reason=exc.reason)


def _given_proof(row: "DataLine", known: set[str], split: Split | None) -> GivenProof | None:
    problem_id = row.text("problem_id", blank=False, wanted="the id of a problem of the data file")
    if problem_id is not None and problem_id not in known:
        row.fault("problem_id", problem_id, "the id of a problem of the data file")
    sample = row.data.get("sample", ABSENT)
    if type(sample) is not int or sample < 0:
        row.fault("sample", sample, "an integer of at least 0")
    if ("steps" in row.data) == ("text" in row.data):
        row.fault("steps", row.data.get("steps", ABSENT), "either steps or text, and not both")
        return None
    steps = read_steps(row, row.data["steps"]) if "steps" in row.data else None
    text = row.text("text") if "text" in row.data else None
    if row.faults or problem_id is None:
        return None
    if text is not None:
        return _read_given(problem_id, sample, text, split)
    return None if steps is None else GivenProof(problem_id, sample, steps)
