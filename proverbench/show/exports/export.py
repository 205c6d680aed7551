"""What an export format is, and what is wanted of it. Loads nothing heavy: the command's help reads it."""

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from proverbench.errors import UserInputError
from proverbench.run.disk import disk

if TYPE_CHECKING:
    import pandas as pd

    from proverbench.run.boards import Boards
    from proverbench.show.frames import LoadedRun

Option = Literal["tables", "splits", "metrics", "choose", "seed", "simple", "equal", "separator"]
"""Options of `proverbench export` that mean something to some formats only."""

TABLES = ("scores", "proofs", "judgments", "calls")
"""Names of the frames of a run (:data:`proverbench.show.frames.TABLES`), the largest last."""

MATRIX = "matrix"
"""Name of the table that only a study has: a row for each policy and judge."""

SCREEN = Path("-")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a user wants exported."""

    runs: Sequence[Path]
    """Folders of the runs."""
    output: Path
    """A folder, a file, or SCREEN, as the format takes it."""
    study: Path | None = None
    """The study whose runs they are, if they are one's."""
    force: bool = False
    """Replace files that exist."""
    tables: Sequence[str] = TABLES[:3]
    splits: Sequence[str] = ("all",)
    metrics: Sequence[str] = ()
    """Those that papers show, if empty."""
    choose: int | None = None
    """How many proofs; all if None."""
    seed: int = 0
    simple: bool = False
    """Whether the choice is one simple random draw instead of one stratified by what the judge said."""
    equal: bool = False
    """Whether it has as many proofs of each stratum."""
    separator: str = ","
    """Between the cells of CSV; with ``;`` numbers have a decimal comma, as where spreadsheets split there."""

    @cached_property
    def loaded(self) -> "dict[str, LoadedRun]":
        """The runs by name.

        Raises:
            RunMismatchError: If a folder is no run.
        """
        from proverbench.run.saved import names_of
        from proverbench.show.frames import load

        return {name: load(path) for name, path in zip(names_of(self.runs), self.runs, strict=True)}

    @cached_property
    def boards(self) -> "Boards":
        """Which of the runs may stand in one table."""
        from proverbench.run.boards import boards_of

        return boards_of({name: run.entry for name, run in self.loaded.items()})

    def notes(self) -> list[str]:
        """What must be said of several runs that are exported together: why they stand apart, and what differs."""
        tasks = dict.fromkeys(board.task for board in self.boards.boards)
        apart = [sentence for task in tasks for sentence in self.boards.sentences(task)]
        return [*apart, *(note for board in self.boards.boards if len(board.runs) > 1 for note in board.notes)]

    def frames(self) -> "dict[str, pd.DataFrame]":
        """The wanted tables of all runs, one under another, with the run's name in the first column.

        Scores also have ``board``, runs of one number being those that may stand in one table, and ``differs``.
        """
        import pandas as pd

        from proverbench.show.frames import TABLES

        joined = {}
        for name in self.tables:
            if name == MATRIX:
                joined[name] = self._matrix()
                continue
            frames = []
            for run_name, run in self.loaded.items():
                frame = TABLES[name](run)
                beside = [pd.Series(run_name, index=frame.index, dtype="string", name="run")]
                if name == "scores":
                    board = self.boards.of(run_name)
                    notes = " | ".join(self.boards.boards[board - 1].notes) or pd.NA
                    beside.append(pd.Series(board, index=frame.index, dtype="Int64", name="board"))
                    beside.append(pd.Series(notes, index=frame.index, dtype="string", name="differs"))
                frames.append(pd.concat([*beside, frame], axis=1))
            joined[name] = pd.concat(frames, ignore_index=True)
        return joined

    def _matrix(self) -> "pd.DataFrame":
        import pandas as pd

        from proverbench.show.study import study_tables

        assert self.study is not None
        found, rows = study_tables(self.study), []
        for row in [*found["runs"], *found["calibrations"]]:
            plain = {name: value for name, value in row.items() if name not in ("run", "interval", "corrected")}
            interval, corrected = row["interval"] or {}, row.get("corrected") or {}
            within = corrected.get("interval") or {}
            beside = {
                "low": interval.get("low"),
                "high": interval.get("high"),
                "corrected": corrected.get("value"),
                "corrected_low": within.get("low"),
                "corrected_high": within.get("high"),
                "not_corrected": corrected.get("refused"),
            }
            rows.append({"policy": None, **plain, **beside})
        return pd.DataFrame(rows).convert_dtypes()

    def claim(self, *paths: Path) -> None:
        """Say which files will be written, before anything is; opens the runs and makes the files' folders.

        Raises:
            RunMismatchError: If a folder is no run.
            UserInputError: If a file exists and may not be replaced.
            JournalError: If the disk refuses a folder.
        """
        for run in self.loaded.values():  # nothing is made for a run that is none, or is damaged
            _ = run.folder.seal
        there = [str(path) for path in paths if path.exists()]
        if there and not self.force:
            raise UserInputError(f"{', '.join(there)} is there already; give another -o, or --force to replace it")
        for folder in dict.fromkeys(path.parent for path in paths):
            with disk(folder):
                folder.mkdir(parents=True, exist_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A format that saved runs are written in."""

    name: str
    """As in ``--to NAME``."""
    extension: str
    """Of its files, without the full stop."""
    help: str
    """What it writes, in a few words."""
    place: Path
    """Where it goes without ``-o``."""
    write: Callable[[Request], Iterator[str]]
    """Writes the files and yields what to say of each; claims all of them first."""
    options: frozenset[Option] = frozenset()
    """The options that mean something to it; any other is refused."""
    needs: str | None = None
    """A package that it cannot do without."""
    extra: str = "export"
    """The extra that has it."""
    single: bool = False
    """Whether it takes one run only."""

    def check(self, runs: Sequence[Path]) -> None:
        """Make sure that it can be written at all, before anything is read.

        Raises:
            UserInputError: If it needs what is not installed, or takes fewer runs.
        """
        if self.needs is not None and importlib.util.find_spec(self.needs) is None:
            raise UserInputError(f"--to {self.name} needs {self.needs}: pip install 'proverbench[{self.extra}]'")
        if self.single and len(runs) > 1:
            raise UserInputError(f"--to {self.name} takes one run; give one RUN")
