"""People's labels of a run's own proofs, read back (docs/labels.md).

A labels file is append-only JSONL: the last line of a proof and annotator counts. It is written by `proverbench label`,
by the page's labelling mode, or by hand in a sheet of `proverbench export --to verifierbench`.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import UNSET

from proverbench.errors import DataError
from proverbench.inputs.label_lines import LabelLine, label_lines
from proverbench.metrics.strata import Labelled
from proverbench.people.draw import is_judged
from proverbench.people.sheet import Scale, clean, scale_of
from proverbench.records import Proof
from proverbench.run.folder import RunFolder

_MOST_FAULTS = 50


@dataclass(frozen=True)
class Opinion:
    """What one annotator says of one proof."""

    annotator: str
    proof: Proof | None
    """The proof with its label; None of a person who could not say."""

    @property
    def grade(self) -> float | None:
        """The points that were given; None where no grade was."""
        given = UNSET if self.proof is None else self.proof.grade
        return None if given is UNSET else given


@dataclass(frozen=True)
class Labels:
    """The labels of a file.

    Attributes:
        opinions: By proof, in the order of the file; open ones are left out.
        drawn: How many proofs the file asks for.
        probability: By proof, the chance with which it was drawn, where the file says so.
        scale: What people graded by, if they did.
    """

    opinions: Mapping[str, Sequence[Opinion]]
    drawn: int
    probability: Mapping[str, float] = field(default_factory=dict)
    scale: Scale | None = None

    @property
    def annotators(self) -> list[str]:
        """Their names, in order of appearance; a sheet filled in by hand has the empty one."""
        return list(dict.fromkeys(opinion.annotator for found in self.opinions.values() for opinion in found))

    def correct(self) -> dict[str, bool]:
        """By proof, whether most annotators found it correct; undecided and tied proofs are left out."""
        found = {}
        for key, opinions in self.opinions.items():
            votes = Counter(opinion.proof.is_correct for opinion in opinions if opinion.proof is not None)
            if votes[True] != votes[False]:
                found[key] = votes[True] > votes[False]
        return found

    def labelled(self) -> Labelled:
        """The labels for an estimate, with the chances of the draw."""
        known = self.correct()
        return Labelled(known, {key: self.probability[key] for key in known if key in self.probability})

    def decided(self) -> list[Proof]:
        """The labelled proofs, each as the first annotator of the majority left it."""
        known = self.correct()
        rows = ((key, opinion.proof) for key, opinions in self.opinions.items() for opinion in opinions)
        found: dict[str, Proof] = {}
        for key, proof in rows:
            if proof is not None and key in known and proof.is_correct == known[key]:
                found.setdefault(key, proof)
        return list(found.values())

    def remarks(self) -> list[str]:
        """What whoever reads an estimate must know: proofs that are not in it, and annotators who disagree."""
        said = [f"{self.drawn - len(self.opinions)} of {self.drawn} drawn proofs are not labelled yet"]
        found = said if len(self.opinions) < self.drawn else []
        if self.scale is not None and any(o.grade is not None for given in self.opinions.values() for o in given):
            found.append(
                f"a proof that people graded counts as correct from {self.scale.accept_from:g} of {self.scale.max}, as "
                "the judge's grades do; the corrected score is that of acceptance, no mean grade"
            )
        undecided = [key for key, opinions in self.opinions.items() if all(o.proof is None for o in opinions)]
        if undecided:
            found.append(f"of {_proofs(len(undecided))} nobody could say; they are not in the estimate")
        divided = [key for key, opinions in self.opinions.items() if len(_verdicts(opinions)) > 1]
        if divided:
            tied = [key for key in divided if key not in self.correct()]
            left = f"; {len(tied)} tied: left out until somebody decides" if tied else ""
            found.append(
                f"annotators disagree on {_proofs(len(divided))} ({_some(divided)}); the majority counts{left}"
            )
        return found


def _verdicts(opinions: Sequence[Opinion]) -> set[bool]:
    return {opinion.proof.is_correct for opinion in opinions if opinion.proof is not None}


def _proofs(count: int) -> str:
    return f"{count} {'proof' if count == 1 else 'proofs'}"


def _some(keys: Sequence[str]) -> str:
    return ", ".join(keys[:5]) + (", …" if len(keys) > 5 else "")


def read_labels(path: Path, run: RunFolder | None = None) -> Labels:
    """Read a labels file.

    Args:
        path: The file; lines that hold no label are passed over.
        run: The run whose proofs they are; every line is checked against it.

    Raises:
        DataError: Lists every line that breaks a rule of the data, or is no judged proof of this run.
    """
    lines, faults = label_lines(path)
    last: dict[tuple[str, str], LabelLine] = {}
    for line in lines:
        faults += _faults_of_line(path, line)
        last[str(line.data.get("proof_id")), str(line.data.get("annotator") or "")] = line
    scale = None if run is None else scale_of(run)
    if run is not None:
        faults += _faults_of_run(path, lines, run) + _faults_of_scale(path, lines, scale)
    opinions: dict[str, list[Opinion]] = defaultdict(list)
    for (key, annotator), line in last.items():
        if line.data.get("undecided") is True:
            opinions[key].append(Opinion(annotator, None))
        elif not line.is_open:
            proof, wrong = line.proof(None if scale is None else scale.accept_from)
            faults += wrong
            if proof is not None:
                opinions[key].append(Opinion(annotator, proof))
    if not opinions and not faults:
        faults.append(f"{path}: no row is filled in; give each {_label_of(lines)}")
    if faults:
        ordered = sorted(dict.fromkeys(faults), key=lambda fault: _line_of(path, fault))
        raise DataError.of(ordered[:_MOST_FAULTS])
    probability = {key: line.data["probability"] for (key, _), line in last.items() if "probability" in line.data}
    return Labels(dict(opinions), len({key for key, _ in last}), probability, scale)


def _label_of(lines: Sequence[LabelLine]) -> str:
    graded = any("max_grade" in line.data for line in lines)
    return "proof its grade" if graded else "annotation its error steps (-1 and [-1] for none)"


def _line_of(path: Path, fault: str) -> int:
    number = fault.removeprefix(f"{path}:").split(":", 1)[0]
    return int(number) if number.isdigit() else 0


def _faults_of_line(path: Path, line: LabelLine) -> list[str]:
    """Faults of what a labels file has beside a VerifierBench row."""
    found = []

    def fault(name: str, wanted: str) -> None:
        found.append(f"{path}:{line.line}: field {name}: found {line.data.get(name)!r}; wanted {wanted}")

    if not isinstance(line.data.get("proof_id"), str):
        fault("proof_id", "a non-empty string")
    if not isinstance(line.data.get("annotator", ""), str):
        fault("annotator", "a name")
    if not isinstance(line.data.get("undecided", False), bool):
        fault("undecided", "true or false")
    if "probability" in line.data and not _is_chance(line.data["probability"]):
        fault("probability", "a number above 0 and up to 1")
    if "annotation" not in line.data and "first_fatal_error_step" not in line.data:
        fault("annotation", "an object")
    return found


def _is_chance(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def _faults_of_run(path: Path, lines: Sequence[LabelLine], run: RunFolder) -> list[str]:
    """What shows that the labels are of another run, or were edited where only labels may be."""
    others = [line for line in lines if not _is_of(line.data, run.manifest.run_id)]
    if others:
        count = f"{len(others)} of {len(lines)} lines are" if len(others) < len(lines) else "these are"
        where = f"{path}:{others[0].line}: field run_id: found {others[0].data['run_id']!r}"
        return [f"{where}; wanted {run.manifest.run_id!r}: {count} labels of another run than {run.path}"]
    judged = {record.key: clean(record.steps) for record in run.records() if is_judged(record)}
    faults = []
    for line in lines:
        key, where = line.data.get("proof_id"), f"{path}:{line.line}: field"
        if not isinstance(key, str):
            continue
        if key not in judged:
            faults.append(f"{where} proof_id: found {key!r}; wanted a judged proof of {run.path}")
        elif line.data.get("steps") != judged[key]:
            faults.append(f"{where} steps: found other steps than those of {key!r} in {run.path}")
    return faults + _faults_of_draw(path, lines)


def _is_of(data: Mapping[str, Any], run_id: str) -> bool:
    """Whether a line is of the run: drawn from it, or from another judge's run of the same proofs."""
    serves = data.get("serves")
    return data.get("run_id") in (None, run_id) or (isinstance(serves, list) and run_id in serves)


def _faults_of_scale(path: Path, lines: Sequence[LabelLine], scale: Scale | None) -> list[str]:
    """Grades of another scale than the judges', by which nobody could say what counts as correct."""
    found = []
    for line in lines:
        most = line.data.get("max_grade")
        if most is not None and (scale is None or most != scale.max):
            wanted = "no grade: the judges of this run give none" if scale is None else f"{scale.max}, as the judges'"
            found.append(f"{path}:{line.line}: field max_grade: found {most!r}; wanted {wanted}")
    return found


def _faults_of_draw(path: Path, lines: Sequence[LabelLine]) -> list[str]:
    """A stratum has one size and one chance; another one on any line was edited."""
    first: dict[str, tuple[LabelLine, Any]] = {}
    faults = []
    for line in lines:
        stratum = line.data.get("stratum")
        if not isinstance(stratum, str):
            continue
        drawn = (line.data.get("stratum_size"), line.data.get("probability"))
        before, as_first = first.setdefault(stratum, (line, drawn))
        if drawn != as_first:
            faults.append(
                f"{path}:{line.line}: field probability: found {drawn[1]!r} of {drawn[0]!r} in stratum {stratum!r}, on "
                f"line {before.line} {as_first[1]!r} of {as_first[0]!r}; wanted what the file was made with"
            )
    return faults
