"""The process that holds Lean's kernel: one question on standard input, JSON lines as the answer.

Started by kernel.py through launch.py, as ``worker LIBRARY``. The first line of the input is a JSON object of options,
the rest an export. With the option ``queries``, its declarations under the name QUERY are not given to the kernel:
``types`` asks for the types of their values, ``proofs`` whether these are proofs. A library that panics ends the
process; then the last line, which repeats the number that was sent, is missing and there is no verdict.
"""

import json
import os
import sys
from typing import Any, BinaryIO

from proverbench.compression.export import Declaration, Definition, Export
from proverbench.compression.export_building import Builder, Importer
from proverbench.compression.export_reading import read_export_lines
from proverbench.compression.export_writing import write_export
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
    sent, accepted = _replay(kernel, export, options, answers)
    done: dict[str, Any] = {"nonce": options["nonce"], "sent": sent, "accepted": accepted}
    if options["queries"] == "types":
        done["types"] = _types(kernel, export, queries)
    elif options["queries"] == "proofs" and accepted == sent:
        done["proofs"] = _proofs(kernel, export, queries)
    _say(answers, done)
    answers.close()
    os._exit(0)


def _is_query(export: Export, declaration: Declaration) -> bool:
    return export.name_parts(declaration.name)[:1] == [QUERY]


def _proofs(kernel: Kernel, export: Export, queries: list[Declaration]) -> list[int]:
    """Numbers of the queries whose values are proofs, or give proofs to whatever they are applied to."""
    found = []
    for query in queries:
        assert isinstance(query, Definition)
        number = export.name_parts(query.name)[1]
        assert isinstance(number, int)
        if kernel.is_proof(query.value):
            found.append(number)
    return found


def _types(kernel: Kernel, export: Export, queries: list[Declaration]) -> str:
    """The types of some closed terms, as an export whose definitions bear the queries' names; some have none."""
    builder = Builder()
    names = Importer(export, builder)
    for query in queries:
        assert isinstance(query, Definition)
        try:
            found = kernel.type_of(query.value, builder)
        except Rejected:
            continue
        params = names.names(query.level_params)
        builder.export.declarations.append(Definition(names.name(query.name), params, found, found))
    return write_export(builder.export).decode("utf-8")


def _say(answers: BinaryIO, line: dict[str, Any]) -> None:
    answers.write(json.dumps(line).encode("ascii") + b"\n")


def _replay(kernel: Kernel, export: Export, options: dict[str, Any], answers: BinaryIO) -> tuple[int, int]:
    """Give every declaration to the kernel, dependencies first; those that fail are named, the rest goes on.

    Returns:
        How many were given, and how many pass.
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
    return len(order), accepted


if __name__ == "__main__":
    main()
