"""A study as a terminal shows it: the matrix of policies and judges, and what follows from it."""

from pathlib import Path

from proverbench.cli.streams import OutputError, discard_unwritten, say


def print_matrix(study: Path) -> bool:
    """As :func:`show_study`; on stdout.

    Returns:
        Whether all could be printed. A reader who left does not count as a fault.
    """
    try:
        show_study(study)
    except OutputError as exc:
        discard_unwritten()
        if not exc.reader_left:
            say(f"error: cannot print the matrix: {exc.reason}; all is saved in {study}")
        return exc.reader_left
    return True


def show_study(study: Path, *, split: str = "all", as_json: bool = False) -> None:
    """Scores with intervals, ranks by each judge, corrected scores, orders, panels, and costs.

    Raises:
        RunMismatchError: If no run is there.
        JournalError: If one is damaged.
    """
    from proverbench.cli.bodies.matrix import show_tables

    show_tables(study, split, as_json=as_json)
