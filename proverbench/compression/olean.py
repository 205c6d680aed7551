"""Reading what `lean` compiles a file to: an .olean of Lean 4.35."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from proverbench.compression.export import Constant, Export
from proverbench.compression.export_building import Builder
from proverbench.compression.lean_objects import Node, TermReader, declarations_of
from proverbench.compression.structure import in_dependency_order
from proverbench.errors import DataError

_FIRST_OBJECT = 96
_FORMAT = 2


class _File:
    """An .olean's bytes, addressed as its pointers are: absolutely, from its base address."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._base = int.from_bytes(data[80:88], "little")

    def read(self, address: int, size: int) -> bytes:
        start = address - self._base
        if start < _FIRST_OBJECT or size < 0 or start + size > len(self._data):
            raise DataError(f"an .olean points outside itself ({address:#x})")
        return self._data[start : start + size]


@dataclass(frozen=True, slots=True)
class Module:
    """What one .olean holds."""

    name: str
    imports: tuple[str, ...]
    constants: tuple[str, ...]
    """Names of the constants that it declares itself, unsafe ones left out."""


def read_oleans(oleans: Sequence[tuple[str, bytes]]) -> tuple[Export, list[Module]]:
    """The union of some modules' constants, in dependency order, without unsafe ones.

    Args:
        oleans: Module names and the files' bytes.

    Raises:
        DataError: If a file is not a .olean of this format.
    """
    builder = Builder()
    constants: list[Constant] = []
    modules: list[Module] = []
    for name, data in oleans:
        imports, found = _read_module(name, data, builder)
        safe = [constant for constant in found if not constant.is_unsafe]
        constants += safe
        shown = tuple(sorted(builder.export.name_text(constant.name) for constant in safe))
        modules.append(Module(name, imports, shown))
    export = builder.export
    export.lean_version = oleans[0][1][7:40].rstrip(b"\0").decode("ascii", "replace") if oleans else ""
    # .olean files list constants by hash; by name first, the order depends on nothing but the constants.
    constants.sort(key=lambda constant: export.name_text(constant.name))
    export.declarations, _ = in_dependency_order(export, declarations_of(constants))
    return export, modules


def constant_names(name: str, data: bytes) -> tuple[str, ...]:
    """Names of the constants that a module declares, sorted.

    Raises:
        DataError: If it is not a .olean of this format.
    """
    builder = Builder()
    return tuple(sorted(builder.export.name_text(item.name) for item in _read_module(name, data, builder)[1]))


def _read_module(name: str, data: bytes, builder: Builder) -> tuple[tuple[str, ...], list[Constant]]:
    """A module's imports and constants.

    Raises:
        DataError: If the bytes are no .olean of this format, whatever else they are.
    """
    try:
        return _parse_module(name, data, builder)
    except (ValueError, LookupError, struct.error, OverflowError, TypeError) as exc:
        if isinstance(exc, DataError):
            raise
        raise DataError(f"module {name}: is not a .olean that Lean writes ({type(exc).__name__})") from exc


def _parse_module(name: str, data: bytes, builder: Builder) -> tuple[tuple[str, ...], list[Constant]]:
    reader, root = _open(name, data, builder)
    objects = reader.objects
    imports = tuple(
        builder.export.name_text(reader.name(objects.field(objects.node(item), 0)))
        for item in objects.array(objects.field(root, 0))
    )
    return imports, [reader.constant(item) for item in objects.array(objects.field(root, 2))]


def _open(name: str, data: bytes, builder: Builder) -> tuple[TermReader, Node]:
    if data[:5] != b"olean" or len(data) < _FIRST_OBJECT:
        raise DataError(f"module {name}: not an .olean file")
    if data[5] != _FORMAT:
        raise DataError(f"module {name}: .olean format {data[5]}; this reads format {_FORMAT} (Lean 4.35)")
    reader = TermReader(_File(data), builder)
    return reader, reader.objects.node(int.from_bytes(data[88:96], "little"))
