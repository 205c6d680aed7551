"""What ``--accept-loss`` does, and says."""

from pathlib import Path

from proverbench.cli.streams import say
from proverbench.run.journal import accept_loss


def accept(run: Path) -> None:
    """Write down what the calls.jsonl of a run has lost; the caller holds its lock.

    Raises:
        JournalError: If the disk refuses it.
    """
    loss = accept_loss(run)
    if loss is None:
        say("nothing is lost: calls.jsonl is what was written")
        return
    for fault in loss.faults:
        say(f"accepted as lost: {fault}")
    say("calls of these lines count as not answered; --resume asks them again")
