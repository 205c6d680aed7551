"""`proverbench verify-run`."""

from pathlib import Path

import click

from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE, HandlesErrors


@click.command(cls=HandlesErrors, name="verify-run", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR...")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def command(runs: tuple[Path, ...], as_json: bool) -> int:
    """Check that a saved run is whole and that its figures follow from its replies; calls nothing, changes nothing.

    Every line of calls.jsonl is held against its seal, and records.jsonl and summary.json against what is derived from
    the replies, byte for byte. The last line is for a paper: whoever has the folder can check it the same way. Seals
    show damage, and changes made after they were quoted; they cannot show what was forged before.

    \b
    proverbench verify-run runs/NAME

    Exit codes: 0 all runs are whole and their figures follow; 1 something is wrong.
    """
    import dataclasses

    from proverbench.cli.streams import echo, echo_json
    from proverbench.run.verify import verify_run

    found = [verify_run(run) for run in runs]
    if as_json:
        described = [dataclasses.asdict(one) | {"path": str(one.path), "quote": one.quote} for one in found]
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
