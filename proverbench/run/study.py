"""The folder of a study: ordinary runs, one for each policy and judge, and the judges' calibrations."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from proverbench.run.manifest import MANIFEST

STUDY_FILE = "study.toml"
"""The study's file, as it was when something was last asked."""
RUNS = "runs"
CALIBRATION = "calibration"
SEPARATOR = "--"
"""Between the names of policy and judge in the name of a run's folder."""


@dataclass(frozen=True)
class Cell:
    """One run of a study."""

    study: Path
    policy: str | None
    """None of a calibration."""
    judge: str

    @property
    def name(self) -> str:
        """``POLICY--JUDGE``, or ``calibration/JUDGE``; what ``asked_in`` says."""
        return f"{CALIBRATION}/{self.judge}" if self.policy is None else f"{self.policy}{SEPARATOR}{self.judge}"

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.study / CALIBRATION / self.judge if self.policy is None else self.study / RUNS / self.name

    @property
    def exists(self) -> bool:
        """Whether the run has been made."""
        return (self.path / MANIFEST).is_file()


def is_study(path: Path) -> bool:
    """Whether there is a study at ``path``; a folder of a project may hold a study's file and runs of its own."""
    return (path / STUDY_FILE).is_file() and bool(cells_of(path))


def cells_of(study: Path) -> list[Cell]:
    """The runs that a study's folder has, those of its file or not, in alphabetical order; then its calibrations."""
    runs = [manifest.parent.name.partition(SEPARATOR) for manifest in sorted((study / RUNS).glob(f"*/{MANIFEST}"))]
    judges = [manifest.parent.name for manifest in sorted((study / CALIBRATION).glob(f"*/{MANIFEST}"))]
    found = [Cell(study, policy, judge) for policy, between, judge in runs if between]
    return [*found, *(Cell(study, None, judge) for judge in judges)]


def expanded(paths: Iterable[Path], *, calibrations: bool = False) -> list[Path]:
    """Runs as they are given, and in the place of a study's folder its runs.

    Args:
        paths: Folders of runs and of studies.
        calibrations: Whether its calibrations count among them.
    """
    found: list[Path] = []
    for path in paths:
        if not is_study(path):
            found.append(path)
            continue
        found += [cell.path for cell in cells_of(path) if calibrations or cell.policy is not None]
    return found
