"""What ``proverbench protocol`` does."""

from pathlib import Path
from typing import Any

from proverbench.ask.parts import choose_protocol, read_declared
from proverbench.cli.common import EXIT_BAD_INPUT, EXIT_COMPLETE
from proverbench.cli.streams import echo, echo_json, say
from proverbench.errors import PromptError
from proverbench.protocols.declared import Declared, as_protocol, example_faults, expected, read_example
from proverbench.protocols.prompts import Template
from proverbench.protocols.protocol import Protocol
from proverbench.run.folder import RunFolder
from proverbench.run.rereading import Reread, reread

_CUT = 50
"""Characters of an example's reply that are shown."""


def check_protocol(protocol: str, run: Path | None, as_json: bool) -> int:
    """Check a protocol's file: what is read in each of its examples; calls nothing."""
    faults: list[str] = []
    examples: list[dict[str, Any]] = []
    if protocol.endswith(".toml"):
        path = Path(protocol)
        declared, text = read_declared(path)
        value = as_protocol(declared, text)
        examples = _examples(declared)
        faults = example_faults(declared, protocol)
        if declared.prompt is not None:
            faults += _prompt_faults(lambda: Template.load("verifier", path.parent / declared.prompt, value))
    else:
        value = choose_protocol(protocol, ("verifier",)).protocol
    found = None if run is None else reread(RunFolder(run), value)
    if as_json:
        told = {"protocol": value.name, "verdict": value.verdict, "examples": examples, "faults": faults}
        echo_json(told | ({} if found is None else {"run": str(run), "judgments": _as_json(found)}))
    else:
        echo(_described(value))
        for number, example in enumerate(examples, 1):
            mark = "" if example["as_expected"] else f", but the file expects {example['expected']}"
            echo(f"  example {number}  {_short(example['reply'])}: read {example['read']}{mark}")
        if found is not None:
            _echo_run(run, found)
    for fault in faults:
        say(f"error: {fault}")
    return EXIT_BAD_INPUT if faults else EXIT_COMPLETE


def _prompt_faults(load: Any) -> list[str]:
    try:
        template = load()
    except PromptError as exc:
        return str(exc).split("\n")
    return list(template.faults(False))


def _examples(declared: Declared) -> list[dict[str, Any]]:
    found = []
    for example in declared.example:
        read, wanted = read_example(declared, example), expected(example)
        found.append({"reply": example.reply, "read": read, "expected": wanted, "as_expected": read == wanted})
    return found


def _described(protocol: Protocol) -> str:
    if protocol.verdict == "grade":
        step = "" if protocol.grade_step is None else f" by {protocol.grade_step:g}"
        return (
            f"{protocol.name}: a grade up to {protocol.max_grade:g}{step}; a proof is accepted from "
            f"{protocol.accept_from:g}"
        )
    if protocol.verdict == "label":
        return f"{protocol.name}: accept or reject"
    return f"{protocol.name}: the first wrong step; a proof is accepted at none"


def _short(reply: str) -> str:
    shown = repr(reply)
    return shown if len(shown) <= _CUT else shown[: _CUT - 3] + "..."


def _as_json(found: Reread) -> dict[str, Any]:
    return {
        "read": found.judgments,
        "valid": found.valid,
        "accepts": found.accepts,
        "values": dict(found.values.most_common()),
        "invalid": dict(found.invalid.most_common()),
    }


def _echo_run(run: Path | None, found: Reread) -> None:
    echo(f"{run}: {found.valid} of {found.judgments} judgments are valid; {found.accepts} accept")
    for value, n in found.values.most_common():
        echo(f"  {n:>6}  {value}")
    for reason, n in found.invalid.most_common():
        key = found.first_invalid[reason]
        echo(f"  {n:>6}  invalid, {reason}; the first: proof {key.id}, sample {key.sample}, repeat {key.repeat}")
