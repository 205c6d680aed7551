"""The published VerifierBench metrics (docs/metrics.md, "VerifierBench")."""

from collections.abc import Iterable
from fractions import Fraction

from proverbench.metrics.checks import check_extent, check_judgments
from proverbench.records import LEVEL_SCORES, Judgment, ProofRecord

VERIFIER_METRICS: tuple[str, ...] = (
    "rough_accuracy",
    "rough_tpr",
    "rough_tnr",
    "rough_bal_f1",
    "balanced_accuracy",
    "first_error_step_accuracy",
    "first_error_step_accuracy_incorrect",
    "verifier_valid_rate",
)
"""Names of the rates; the counts ``proofs``, ``correct_proofs`` and ``incorrect_proofs`` stand beside them."""

META_METRICS: tuple[str, ...] = ("meta_ver_tpr", "meta_ver_tnr", "meta_ver_bal_f1", "meta_valid_rate")
"""Names of the rates that ``--meta`` adds."""

META_UNITS = 4
"""Levels are worth whole quarters (LEVEL_SCORES), so their sums are kept as integers and stay exact."""

_LEVEL_UNITS = {level: int(score * META_UNITS) for level, score in LEVEL_SCORES.items()}


def meta_units(judgment: Judgment) -> int | None:
    """Credit of a judgment's explanation in quarters, 0 to 4; None if it has no valid level.

    A level counts only where the judgment itself is valid.
    """
    if not judgment.valid or judgment.meta is None or not judgment.meta.valid or judgment.meta.level is None:
        return None
    return _LEVEL_UNITS[judgment.meta.level]


def score_verifier(
    records: Iterable[ProofRecord], *, repeats: int, meta: bool = False
) -> dict[str, float | int | None]:
    """Score one split's closed records of annotated proofs.

    Args:
        records: One record a proof, in any order, with ``is_correct`` and ``first_error_step``. A missing or invalid
            judgment or level is worth 0 and stays in the denominators.
        repeats: R, the judgments asked for of each proof.
        meta: Whether the meta-verifier was asked; adds META_METRICS.

    Returns:
        ``proofs``, ``correct_proofs``, ``incorrect_proofs`` (counts) and the rates VERIFIER_METRICS, each in [0, 1] or
        None where the class it averages over is absent.

    Raises:
        ValueError: If R is below 1, a proof occurs twice, has no label, or has more than R judgments.

    Source: AdvancedMathBench (arXiv 2607.11849), VerifierBench. Defined in docs/metrics.md.
    """
    score = VerifierScore(repeats=repeats, meta=meta)
    for record in records:
        score.add(record)
    return score.metrics()


class VerifierScore:
    """Scores one split as its records come; keeps none of them. See :func:`score_verifier`.

    Args:
        repeats: R.
        meta: Whether the meta-verifier was asked.

    Raises:
        ValueError: If R is below 1.
    """

    def __init__(self, *, repeats: int, meta: bool = False) -> None:
        check_extent(repeats=repeats)
        self._repeats = repeats
        self._meta = meta
        self._seen: set[str] = set()
        self._proofs = {True: 0, False: 0}
        """Label → how many; so are the next three."""
        self._right_polarity = {True: 0, False: 0}
        self._right_step = {True: 0, False: 0}
        self._units = {True: 0, False: 0}
        self._valid = self._meta_valid = 0

    def add(self, record: ProofRecord) -> None:
        """Take one record.

        Raises:
            ValueError: If it came before, has no label, or has more than R judgments.
        """
        check_judgments(record, self._repeats)
        if record.is_correct is None or record.first_error_step is None:
            raise ValueError(f"record {record.key}: no human label (is_correct, first_error_step)")
        if record.key in self._seen:
            raise ValueError(f"record {record.key}: the proof occurs twice")
        self._seen.add(record.key)
        label = record.is_correct
        self._proofs[label] += 1
        for judgment in record.judgments:
            if not judgment.valid:
                continue
            self._valid += 1
            self._right_polarity[label] += (judgment.first_error_step == -1) == label
            self._right_step[label] += judgment.first_error_step == record.first_error_step
            credit = meta_units(judgment)
            if credit is not None:
                self._meta_valid += 1
                self._units[label] += credit

    def metrics(self) -> dict[str, float | int | None]:
        """What :func:`score_verifier` returns."""
        correct, incorrect = (self._proofs[label] * self._repeats for label in (True, False))
        total = correct + incorrect
        right = self._right_polarity
        tpr, tnr = _ratio(right[True], correct), _ratio(right[False], incorrect)
        exact: dict[str, Fraction | None] = {
            "rough_accuracy": _ratio(right[True] + right[False], total),
            "rough_tpr": tpr,
            "rough_tnr": tnr,
            "rough_bal_f1": _harmonic(tpr, tnr),
            "balanced_accuracy": None if tpr is None or tnr is None else (tpr + tnr) / 2,
            "first_error_step_accuracy": _ratio(self._right_step[True] + self._right_step[False], total),
            "first_error_step_accuracy_incorrect": _ratio(self._right_step[False], incorrect),
            "verifier_valid_rate": _ratio(self._valid, total),
        }
        if self._meta:
            meta_tpr = _ratio(self._units[True], correct * META_UNITS)
            meta_tnr = _ratio(self._units[False], incorrect * META_UNITS)
            exact |= {
                "meta_ver_tpr": meta_tpr,
                "meta_ver_tnr": meta_tnr,
                "meta_ver_bal_f1": _harmonic(meta_tpr, meta_tnr),
                "meta_valid_rate": _ratio(self._meta_valid, total),
            }
        return {
            "proofs": self._proofs[True] + self._proofs[False],
            "correct_proofs": self._proofs[True],
            "incorrect_proofs": self._proofs[False],
            **{name: None if value is None else float(value) for name, value in exact.items()},
        }


def _ratio(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole else None


def _harmonic(first: Fraction | None, second: Fraction | None) -> Fraction | None:
    if first is None or second is None:
        return None
    return 2 * first * second / (first + second) if first + second else Fraction(0)
