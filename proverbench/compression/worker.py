"""The process that holds Lean's kernel: one question on standard input, JSON lines as the answer.

Started by kernel.py as ``python -m proverbench.compression.worker LIBRARY``. The first line of the input is a JSON
object of options, the rest an export. A library that panics ends the process; then the last line is missing and
there is no verdict.
"""

import json
import os
import sys
from typing import Any, BinaryIO

from proverbench.compression.export import Export, read_export_lines
from proverbench.compression.lean_library import Kernel, Rejected
from proverbench.compression.structure import in_dependency_order


def main() -> None:
    """Answer, then leave without running the library's exit handlers, which may crash."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever the library prints must not mix with the answer
    source = sys.stdin.buffer
    options: dict[str, Any] = json.loads(source.readline())
    export = read_export_lines(source, source="terms")
    _replay(Kernel(sys.argv[1], export), export, options, answers)
    answers.close()
    os._exit(0)


def _say(answers: BinaryIO, line: dict[str, Any]) -> None:
    answers.write(json.dumps(line).encode("ascii") + b"\n")


def _replay(kernel: Kernel, export: Export, options: dict[str, Any], answers: BinaryIO) -> None:
    """Give every declaration to the kernel, dependencies first; those that fail are named, the rest goes on."""
    safe = [declaration for declaration in export.declarations if not declaration.is_unsafe]
    order, _ = in_dependency_order(export, safe)
    accepted = 0
    for declaration in order:
        try:
            kernel.add(declaration, max_heartbeats=options["max_heartbeats"])
            accepted += 1
        except Rejected as exc:
            shown = export.name_text(declaration.name)
            _say(answers, {"declaration": shown, "kind": exc.kind, "message": str(exc)})
    _say(answers, {"done": True, "accepted": accepted})


if __name__ == "__main__":
    main()
