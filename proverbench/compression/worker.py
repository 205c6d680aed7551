"""The process that holds Lean's kernel: one question on standard input, JSON lines as the answer.

Started by kernel.py as ``python -m proverbench.compression.worker LIBRARY``. The first line of the input is a JSON
object of options, the rest an export. With the option ``queries``, its declarations under the name QUERY are not given
to the kernel, but asked for the type of their value. A library that panics ends the process; then the last line is
missing and there is no verdict.
"""

import json
import os
import sys
from typing import Any, BinaryIO

from proverbench.compression.export import (
    Builder,
    Declaration,
    Definition,
    Export,
    Importer,
    read_export_lines,
    write_export,
)
from proverbench.compression.kernel import QUERY
from proverbench.compression.lean_library import Kernel, Rejected
from proverbench.compression.structure import in_dependency_order


def main() -> None:
    """Answer, then leave without running the library's exit handlers, which may crash."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever the library prints must not mix with the answer
    source = sys.stdin.buffer
    options: dict[str, Any] = json.loads(source.readline())
    export = read_export_lines(source, source="terms")
    kernel = Kernel(sys.argv[1], export)
    queries: list[Declaration] = []
    if options["queries"]:
        queries = [item for item in export.declarations if _is_query(export, item)]
        export.declarations = [item for item in export.declarations if not _is_query(export, item)]
    accepted = _replay(kernel, export, options, answers)
    types, failed = _types(kernel, export, queries)
    _say(answers, {"done": True, "accepted": accepted, "types": types, "failed": failed})
    answers.close()
    os._exit(0)


def _is_query(export: Export, declaration: Declaration) -> bool:
    return export.name_parts(declaration.name)[:1] == [QUERY]


def _types(kernel: Kernel, export: Export, queries: list[Declaration]) -> tuple[str, dict[str, str]]:
    """The types of some closed terms, as an export whose definitions bear the queries' names, and what has none."""
    builder = Builder()
    names = Importer(export, builder)
    failed: dict[str, str] = {}
    for query in queries:
        assert isinstance(query, Definition)
        try:
            found = kernel.type_of(query.value, builder)
        except Rejected as exc:
            failed[export.name_text(query.name)] = str(exc)
            continue
        params = names.names(query.level_params)
        builder.export.declarations.append(Definition(names.name(query.name), params, found, found))
    return (write_export(builder.export).decode("utf-8") if queries else ""), failed


def _say(answers: BinaryIO, line: dict[str, Any]) -> None:
    answers.write(json.dumps(line).encode("ascii") + b"\n")


def _replay(kernel: Kernel, export: Export, options: dict[str, Any], answers: BinaryIO) -> int:
    """Give every declaration to the kernel, dependencies first; those that fail are named, the rest goes on.

    Returns:
        How many pass.
    """
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
    return accepted


if __name__ == "__main__":
    main()
