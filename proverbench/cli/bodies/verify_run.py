"""What `proverbench verify-run` does."""

import dataclasses
from pathlib import Path

from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE
from proverbench.cli.streams import echo, echo_json
from proverbench.run import verify


def verify_run(runs: tuple[Path, ...], as_json: bool) -> int:
    """Check runs, and print what was found."""
    found = [verify.verify_run(run) for run in runs]
    if as_json:
        described = [dataclasses.asdict(one) | {"path": str(one.path)} for one in found]
        echo_json({"runs": described, "whole": not any(one.faults for one in found)})
        return EXIT_INCOMPLETE if any(one.faults for one in found) else EXIT_COMPLETE
    for one in found:
        for fault in one.faults:
            echo(fault)
        if one.faults:
            echo(f"{one.path}: not whole, or its figures do not follow")
            continue
        state = "complete" if one.complete else "incomplete"
        echo(f"{one.path}: whole, {state}; records.jsonl and summary.json follow from {one.lines} lines")
        for loss in one.losses:
            echo(f"  accepted as lost: {loss}")
        for note in one.notes:
            echo(f"  note: {note}")
        echo(one.quote)
    return EXIT_INCOMPLETE if any(one.faults for one in found) else EXIT_COMPLETE
