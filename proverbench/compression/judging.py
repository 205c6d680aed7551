"""Stage 3: a process that holds no participant's code reads what was compiled, applies the rules, and replays.

Started by kernel.py through launch.py. Standard input: 8 bytes with the length of a JSON object, the object (``op``,
``nonce``, limits, ``sizes``), then byte strings of these sizes. Standard output: one JSON line that repeats the nonce,
then the kernel terms that it speaks of. Whatever is wrong with the bytes makes the submission invalid; whatever ends
this process leaves no verdict.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from proverbench.compression.authoring import Order, record_task
from proverbench.compression.charges import Charge
from proverbench.compression.checking import apply_rules
from proverbench.compression.export import Export
from proverbench.compression.export_reading import read_export_lines
from proverbench.compression.export_writing import write_export
from proverbench.compression.hashing import sha256_hex
from proverbench.compression.isolation import INSIDE
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.limits import Allowance, StoppedError
from proverbench.compression.olean import constant_names, read_oleans
from proverbench.compression.sharing import share
from proverbench.compression.tasks import module_name, parse_task
from proverbench.errors import DataError

Answer = dict[str, Any]


def main() -> None:
    """Answer one question."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else may be written to where the answer goes
    source = sys.stdin.buffer
    question: dict[str, Any] = json.loads(source.read(int.from_bytes(source.read(8), "big")))
    blobs = [source.read(size) for size in question["sizes"]]
    limits = Allowance(question["heartbeats"], max(1, int(question["time_s"])), question["memory_mb"])
    kernel = LeanKernel(Path(question["library"]), limits, INSIDE)
    try:
        answer, terms = _OPERATIONS[question["op"]](question, blobs, kernel)
    except StoppedError as exc:
        answer, terms = {"stopped": str(exc)}, b""
    except MemoryError:
        answer, terms = {"stopped": f"reading the compiled files needs more than {limits.memory_mb} MiB"}, b""
    answers.write(json.dumps({"nonce": question["nonce"], **answer}).encode("ascii") + b"\n" + terms)
    answers.close()


def _check(question: dict[str, Any], blobs: Sequence[bytes], kernel: LeanKernel) -> tuple[Answer, bytes]:
    """The rules on what a participant's files were compiled to."""
    try:
        export, provided = _read(question, blobs)
        terms = write_export(export)
        # Read back, so that the numbers of terms in the answer are those of the bytes beside it.
        export = read_export_lines(terms.splitlines(keepends=True), source="terms")
    except DataError as exc:
        return _answer("invalid", str(exc).split("\n"), None, (), b""), b""
    ruling = apply_rules(parse_task(blobs[0], source="task.toml"), export, provided, kernel)
    return _answer(ruling.verdict, ruling.problems, ruling.charge, provided, terms), terms


def _answer(
    verdict: str, problems: Sequence[str], charged: Charge | None, provided: Sequence[str], terms: bytes
) -> Answer:
    items = None
    if charged is not None:
        items = [
            {
                "name": item.name,
                "kind": item.kind,
                "parts": [
                    {"label": part.label, "group": part.group, "term": part.term, "nodes": part.nodes}
                    for part in item.parts
                ],
            }
            for item in charged.items
        ]
    return {
        "verdict": verdict,
        "problems": list(problems),
        "charge": items,
        "provided": sorted(provided),
        "terms_sha256": sha256_hex(terms),
    }


def _read(question: dict[str, Any], blobs: Sequence[bytes]) -> tuple[Export, list[str]]:
    """All terms, and the constants that the pinned files declare.

    Raises:
        DataError: If the participant's bytes are not compiled files, or declare what the background does.
    """
    if question.get("exported"):
        export = read_export_lines(blobs[1].splitlines(keepends=True), source="lean4export")
        named = {name for path, data in zip(question["own"], blobs[2:], strict=True) for name in _declared(path, data)}
        return export, sorted({export.name_text(name) for name in export.constants()} - named)
    paths = [*question["background"], *question["own"]]
    export, modules = read_oleans([(module_name(path), data) for path, data in zip(paths, blobs[1:], strict=True)])
    count = len(question["background"])
    provided = {name for module in modules[:count] for name in module.constants}
    again = sorted(provided & {name for module in modules[count:] for name in module.constants})
    if again:
        raise DataError.of(f"background redeclared: {name}" for name in again)
    return export, sorted(provided)


def _declared(path: str, data: bytes) -> tuple[str, ...]:
    return constant_names(module_name(path), data)


def _make(question: dict[str, Any], blobs: Sequence[bytes], kernel: LeanKernel) -> tuple[Answer, bytes]:
    """What a new task records."""
    order = Order(**question["order"])
    try:
        if question.get("exported"):
            export, provided = _read(question, [b"", *blobs])
            return record_task(export, order, "lake", list(order.editable), provided, kernel), b""
        paths = question["paths"]
        export, modules = read_oleans([(module_name(path), data) for path, data in zip(paths, blobs, strict=True)])
        owner = {name: path for path, module in zip(paths, modules, strict=True) for name in module.constants}
        editable = sorted(order.editable or {owner[target] for target in order.targets if target in owner})
        provided = sorted(name for name, path in owner.items() if path not in editable)
        return record_task(export, order, "prelude", editable, provided, kernel), b""
    except DataError as exc:
        return {"refused": str(exc).split("\n")}, b""


def _share(question: dict[str, Any], blobs: Sequence[bytes], kernel: LeanKernel) -> tuple[Answer, bytes]:
    """The automatic sharing pass on terms that were found valid."""
    spec = parse_task(blobs[0], source="task.toml")
    export = read_export_lines(blobs[1].splitlines(keepends=True), source="terms")
    shared = share(export, spec.targets, [*question["provided"], *spec.background], kernel)
    both = [{"count": version.charge.count, "lets": version.lets} for version in (shared.everything, shared.paying)]
    problems = [f"{problem.declaration}: {problem.message}" for problem in shared.problems]
    return {"before": shared.before, "both": both, "problems": problems}, write_export(shared.paying.export)


_OPERATIONS: dict[str, Callable[[dict[str, Any], Sequence[bytes], LeanKernel], tuple[Answer, bytes]]] = {
    "check": _check,
    "make": _make,
    "share": _share,
}


if __name__ == "__main__":
    main()
