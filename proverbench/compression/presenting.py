"""What people read on the terminal."""

from collections.abc import Sequence
from pathlib import Path

from proverbench.compression.charges import Charge
from proverbench.compression.checking import SCORER, Check
from proverbench.compression.collecting import Apart
from proverbench.compression.counted import Counted
from proverbench.compression.decimals import int_to_decimal
from proverbench.compression.ranking import Ranking
from proverbench.compression.receipts import Receipt
from proverbench.compression.shared_task import SharedTask
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
        f"isolation {check.isolation}",
        f"verdict   {check.verdict}",
        *(f"  - {problem}" for problem in check.problems),
    ]
    if check.log:
        lines += ["the end of Lean's log:", *(f"  | {line}" for line in check.log)]
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
            f"then      {folder / 'check'}",
        ]
    )


def render_counted(counted: Counted, *, verbose: bool = False) -> str:
    """What `count` says."""
    lines = [
        f"export    {counted.declarations:,} declarations, {counted.terms:,} terms",
        f"scorer    {SCORER}",
        f"kernel    {counted.kernel or 'none'}",
        f"verdict   {counted.verdict}",
        *(f"  - {problem}" for problem in counted.problems),
    ]
    if counted.charge is not None:
        lines.append(f"count     {show_count(counted.charge.count)}")
        if verbose:
            lines += ["", *_charges(counted.charge)]
    return "\n".join(lines)


def render_shared(task: Task, shared: SharedTask) -> str:
    """What `share` says."""
    lines = [f"task      {task.spec.name}  sha256:{task.sha256}", f"count     {show_count(shared.before)}"]
    for label, result in (("everything repeated", shared.everything), ("only what pays", shared.paying)):
        count = result.count
        lines.append(f"shared    {show_count(count)}  {label}: {result.lets} lets, {compare(count, shared.before)}")
    if shared.problems:
        lines += [f"  - kernel: {problem}" for problem in shared.problems]
    else:
        lines.append("kernel    accepts both")
    return "\n".join(lines)


def render_verification(receipt: Receipt, path: Path) -> str:
    """What `verify` says."""
    parts = receipt.parts
    verifier, scores = parts["verifier"], parts["scores"]
    trust = _TASK_SOURCES.get(verifier["task_source"], "")
    lines = [
        f"task      {parts['task']['name']}  sha256:{parts['task']['sha256']}{trust}",
        f"bundle    sha256:{parts['submission']['sha256']}  by {parts['submission']['agent']}",
        f"scorer    {verifier['scorer']}",
        f"kernel    {verifier['kernel'] or 'none'}",
        f"isolation {verifier['isolation']}",
        f"verdict   {parts['verdict']['verdict']}",
        *(f"  - {problem}" for problem in parts["verdict"]["problems"]),
    ]
    if scores["count"] is not None:
        lines.append(f"count     {show_count(scores['count'])}")
        lines.append(f"compared  {compare(scores['count'], scores['original_count'])}")
    signed = "unsigned (give --key FILE to sign)"
    if receipt.signature is not None:
        signed = f"signed with Ed25519 by {receipt.signature.public_key}"
    return "\n".join([*lines, f"root      {receipt.root}", f"receipt   {path}  {signed}"])


_TASK_SOURCES = {
    "given": "  (the organiser's)",
    "shipped": "  (one of ours)",
    "bundle": "  (as in the bundle: compare this hash with the organiser's)",
}


def render_submitted(path: Path, sha256: str, tracks: Sequence[str]) -> str:
    """What `submit` says after the check."""
    lines = [
        f"bundle    {path}",
        f"ID        {sha256}",
        f"tracks    {', '.join(tracks)}",
        "submit    open a pull request that adds this file to the submissions repository; nothing was sent",
    ]
    if tracks == ["open"]:
        lines.append("          (the timed tracks want --track agent and --minutes, 120 at most)")
    return "\n".join(lines)


def render_ranking(ranking: Ranking) -> str:
    """A track's table, aligned."""
    names = task_labels(ranking)
    head = ["rank", "agent", "average", *names.values(), "no score"]
    rows = [head]
    rows.append(["", "original", "", *(show_count(task.original_count) for task in ranking.tasks), ""])
    rows.append(["", "automatic sharing", "", *(show_count(task.sharing_count) for task in ranking.tasks), ""])
    place = 0
    for index, line in enumerate(ranking.standings):
        if index == 0 or line.average_rank != ranking.standings[index - 1].average_rank:
            place = index + 1
        cells = [_cell(line.counts[task], line.places[task]) for task in names]
        rows.append([str(place), line.agent, f"{line.average_rank:.2f}", *cells, str(line.no_score)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    shown = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(shown)


def render_apart(apart: Sequence[Apart]) -> str:
    """Receipts without a place, each with the reason."""
    lines = []
    for item in apart:
        about = f" ({item.agent}, {item.task})" if item.agent else ""
        lines.append(f"apart: {item.receipt}{about}: {item.reason}")
    return "\n".join(lines)


def task_labels(ranking: Ranking) -> dict[str, str]:
    """Task's SHA-256 → what to call it; tasks of one name also bear their hash."""
    names = [task.name for task in ranking.tasks]
    return {
        task.sha256: task.name if names.count(task.name) == 1 else f"{task.name} ({task.sha256[:8]})"
        for task in ranking.tasks
    }


def _cell(count: int | None, place: float) -> str:
    return f"{'No score' if count is None else show_count(count)} ({place:g})"
