"""What the score functions ask of their input."""

from proverbench.records import ProofRecord


def check_extent(*, samples: int = 1, repeats: int) -> None:
    """Refuse a number of samples or repeats below 1.

    Raises:
        ValueError: If one is below 1.
    """
    for name, value in (("samples", samples), ("repeats", repeats)):
        if value < 1:
            raise ValueError(f"{name} is {value}; it must be at least 1")


def check_judgments(record: ProofRecord, repeats: int) -> None:
    """Refuse more judgments than were asked for: they would raise a score above 1.

    Raises:
        ValueError: If the record has more than ``repeats`` judgments.
    """
    if len(record.judgments) > repeats:
        raise ValueError(f"record {record.key}: {len(record.judgments)} judgments, but repeats is {repeats}")
