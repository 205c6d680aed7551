"""Saved runs as the statistics need them: named, complete, as arrays, with what their calls cost."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proverbench.benchmark import benchmark_of
from proverbench.errors import RunMismatchError
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.voting import Cost
from proverbench.records import Manifest, Summary, Task
from proverbench.run.folder import RunFolder
from proverbench.unseen import visible

EMPTY_SHARD = "this shard has no problems; `proverbench merge` joins it with the others"


@dataclass(frozen=True)
class SavedRun:
    """One split of a saved run, all of whose calls are answered or closed."""

    name: str
    """The folder's name; with as much of its path as tells it from the others."""
    path: Path
    folder: RunFolder
    summary: Summary
    arrays: JudgmentArrays

    @property
    def manifest(self) -> Manifest:
        """What was asked."""
        return self.folder.manifest

    @property
    def task(self) -> Task:
        """Which benchmark."""
        return self.manifest.identity.task


def open_runs(paths: Sequence[Path], *, split: str = "all") -> list[SavedRun]:
    """Open runs and check that the split can be scored in each.

    Args:
        paths: The runs' folders.
        split: ``all`` or a domain.

    Raises:
        RunMismatchError: If a folder is no run, is given twice, or its split is absent or incomplete; names each.
        JournalError: If a source is damaged.
    """
    faults: list[str] = []
    runs: list[SavedRun] = []
    if len({path.resolve() for path in paths}) < len(paths):
        faults.append("a run is given twice")
    for path, name in zip(paths, names_of(paths), strict=True):
        folder = RunFolder(path)
        summary, arrays = folder.scored()
        part = summary.splits.get(split)
        if part is None or not part.selected_rows:
            there = ", ".join(name for name, other in summary.splits.items() if other.selected_rows)
            faults.append(f"{path}: has no split {split!r}; it has {there}" if there else f"{path}: {EMPTY_SHARD}")
        elif not part.complete and "imported" in folder.manifest.operation:
            faults.append(
                f"{path}: {part.completed_records} of {part.expected_records} records of {split!r} are complete; it "
                "was imported so: finish it with the published evaluator, and import it again"
            )
        elif not part.complete:
            faults.append(
                f"{path}: {part.completed_records} of {part.expected_records} records of {split!r} are complete; go "
                f"on with `{benchmark_of(summary.task).command} --resume {shlex.quote(str(path))}`, or count what is "
                "open as zero credit with --final"
            )
        else:
            runs.append(SavedRun(name, path, folder, summary, arrays.split(split)))
    if faults:
        raise RunMismatchError.of(faults)
    return runs


def call_cost(run: RunFolder) -> Cost | None:
    """What writing and judging a proof cost on average over the whole run: in US dollars if all is priced, else tokens.

    Means are over calls whose usage the provider told; a batch's calls count at their share of the price.

    Returns:
        None when nothing is known of a role.
    """
    from proverbench.run.spent import spent_of  # pydantic: only where prices are read

    spent = spent_of(run.sources, whole=True).budget.roles
    asked = {role: spent[role] for role in ("policy", "verifier") if role in spent}
    if not all(spending.calls_with_usage for spending in asked.values()):
        return None
    dollars = {role: spending.known for role, spending in asked.items()}
    priced = not any(known.at_least for known in dollars.values())
    in_dollars = {role: known.usd for role, known in dollars.items()} if priced else {}
    in_tokens = {role: float(spending.usage.total) for role, spending in asked.items()}
    for unit, totals in (("USD", in_dollars), ("tokens", in_tokens)):
        if any(totals.values()):
            means = {role: total / asked[role].calls_with_usage for role, total in totals.items()}
            return Cost(unit=unit, per_proof=means.get("policy", 0.0), per_judgment=means.get("verifier", 0.0))
    return None


def names_of(paths: Sequence[Path]) -> list[str]:
    """The shortest ends of the paths that tell them apart, with what cannot be seen or encoded spelled out."""
    parts = [[visible(part) for part in path.resolve().parts] for path in paths]
    for length in range(1, max((len(part) for part in parts), default=1) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [visible(str(path)) for path in paths]
