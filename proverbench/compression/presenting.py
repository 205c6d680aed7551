"""What people read on the terminal."""

from pathlib import Path

from proverbench.compression.charges import Charge
from proverbench.compression.checking import SCORER, Check
from proverbench.compression.export import int_to_decimal
from proverbench.compression.tasks import Task


def show_count(number: int) -> str:
    """A number of nodes, exactly, with separators where it is short enough to be read."""
    return f"{number:,}" if number < 10**30 else int_to_decimal(number)


def render_check(check: Check, *, verbose: bool = False) -> str:
    """A check's result."""
    spec = check.task.spec
    lines = [
        f"task      {spec.name}  sha256:{check.task.sha256}",
        f"scorer    {SCORER}",
        f"kernel    {check.kernel or 'none'}",
        f"verdict   {check.verdict}",
        *(f"  - {problem}" for problem in check.problems),
    ]
    if check.charge is not None:
        lines += [
            f"count     {show_count(check.charge.count)}",
            f"original  {show_count(spec.original_count)}",
            f"compared  {compare(check.charge.count, spec.original_count)}",
        ]
        if verbose:
            lines += ["", *_charges(check.charge)]
    return "\n".join(lines)


def compare(count: int, original: int) -> str:
    """One line on two counts."""
    if count == original:
        return "as many nodes as the original"
    share = 100 * abs(count - original) / original
    return f"{show_count(abs(count - original))} nodes {'fewer' if count < original else 'more'} ({share:.1f} %)"


def _charges(charge: Charge) -> list[str]:
    lines = []
    for item in charge.items:
        lines.append(f"{show_count(item.nodes):>10}  {item.name} ({item.kind})")
        lines += [f"{'':10}  {show_count(part.nodes):>10}  {part.label}" for part in item.parts]
    return lines


def render_task_made(task: Task, folder: Path) -> str:
    """What `new` says."""
    spec = task.spec
    return "\n".join(
        [
            f"task      {spec.name}  sha256:{task.sha256}",
            f"targets   {', '.join(spec.targets)}",
            f"frozen    {', '.join(spec.frozen) or 'nothing'}",
            f"original  {show_count(spec.original_count)} nodes",
            f"edit      {', '.join(str(folder / 'work' / path) for path in spec.editable)}",
            f"then      compressionbench check {folder}",
        ]
    )
