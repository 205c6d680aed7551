"""Reading lean4export's NDJSON, 3.1.0 and 3.0.0; ids may be sparse and in any order."""

import re
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from proverbench.compression.decimals import decimal_to_int
from proverbench.compression.export import (
    APP,
    BINDER_INFOS,
    BVAR,
    CHILDREN,
    CONST,
    IMAX,
    LAM,
    LET,
    LIT,
    MAX,
    MDATA,
    PARAM,
    PI,
    PROJ,
    SORT,
    SUCC,
    Declaration,
    Export,
    Inductive,
    constants_of,
)
from proverbench.compression.export_building import relocate
from proverbench.compression.export_lines import Inductive30Row, Line, MetaRow
from proverbench.compression.export_order import is_bottom_up, permute, topological
from proverbench.errors import DataError

_LAST_READABLE = 2**62
_MAX_FAULTS = 20
_PART_LIMIT = 10_000
_FIELDS = len(Line.__struct_fields__)
_INFO_CODE = {name: code for code, name in enumerate(BINDER_INFOS)}
_FORMATS = ("3.0.0", "3.1.0")
_T = TypeVar("_T")
_LINE_SHAPE = "wanted one id field (in, il, ie) and one content field, or one declaration"


def read_export(path: Path) -> Export:
    """Read a lean4export NDJSON file.

    Raises:
        DataError: If it is not a readable export; the message has a line for each fault found.
    """
    try:
        with path.open("rb") as file:
            return read_export_lines(file, source=str(path))
    except OSError as exc:
        raise DataError(f"{path}: cannot be read: {exc.strerror}") from exc


def read_export_lines(lines: Iterable[bytes], *, source: str) -> Export:
    """Read the lines of a lean4export NDJSON file; ``source`` names it in messages.

    Raises:
        DataError: As :func:`read_export`.
    """
    return _Reader(source).read(lines)


class _Reader:
    """Collects raw rows with the file's own ids, then resolves them to table indices."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._faults: list[str] = []
        self._export = Export()
        self._meta: MetaRow | None = None
        self._name_ids: dict[int, tuple[int, str | int, int]] = {}
        self._level_ids: dict[int, tuple[int, int, int, int]] = {}
        self._term_ids: dict[int, int] = {}
        self._term_lines = array("q")
        self._level_lists: dict[tuple[int, ...], int] = {}
        self._raw: list[tuple[int, Declaration]] = []

    def read(self, lines: Iterable[bytes]) -> Export:
        decoder = msgspec.json.Decoder(Line)
        number = 0
        for number, raw in enumerate(lines, 1):
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
                self._refuse_old_text_format(raw)
            if not raw.strip():
                continue
            try:
                self._line(number, decoder.decode(raw))
            except (msgspec.DecodeError, UnicodeDecodeError, OverflowError, ValueError) as exc:
                self._fault(number, f"cannot be read: {exc}")
        if self._meta is None and not self._faults:
            self._fault(1, f"no `meta` line with the format's version; wanted lean4export {' or '.join(_FORMATS)}")
        self._stop_at_faults()
        self._resolve()
        return self._export

    # -- lines

    def _line(self, number: int, line: Line) -> None:
        given = _FIELDS - msgspec.structs.astuple(line).count(None)
        if line.ie is not None and given == 2:
            self._term(number, line.ie, line)
        elif line.in_ is not None and given == 2:
            self._name(number, line.in_, line)
        elif line.il is not None and given == 2:
            self._level(number, line.il, line)
        elif given == 1 and line.meta is not None:
            self._read_meta(number, line.meta)
        elif given == 1:
            self._declaration(number, line)
        else:
            self._fault(number, _LINE_SHAPE)

    def _refuse_old_text_format(self, first: bytes) -> None:
        text = first.strip()
        if text and not text.startswith(b"{"):
            shown = text[:40].decode("utf-8", "replace")
            old = re.match(r"(?:[0-2]\.|\d+ #|#)", shown)
            found = f"the text format of lean4export 2.x or older (first line {shown!r})" if old else f"{shown!r}"
            raise DataError(
                f"{self._source}:1: found {found}; wanted lean4export NDJSON {' or '.join(_FORMATS)}: "
                "export again with a current lean4export"
            )

    def _read_meta(self, number: int, meta: MetaRow) -> None:
        if self._meta is not None:
            self._fault(number, "a second `meta` line")
        if meta.format.version not in _FORMATS:
            old = " (2.x and older are refused)" if meta.format.version[:1] in "012" else ""
            self._fault(
                number, f"format version {meta.format.version!r}{old}; wanted {' or '.join(_FORMATS)} of lean4export"
            )
        self._meta = meta
        self._export.lean_version = meta.lean.version

    def _name(self, number: int, ident: int, line: Line) -> None:
        if ident in self._name_ids or ident == 0:
            self._fault(number, f"name id {ident} is given twice")
        elif line.str_ is not None:
            self._name_ids[ident] = (line.str_.pre, line.str_.str, number)
        elif line.num is not None:
            self._name_ids[ident] = (line.num.pre, line.num.i, number)
        else:
            self._fault(number, "a name (`in`) needs `str` or `num`")

    def _level(self, number: int, ident: int, line: Line) -> None:
        if ident in self._level_ids or ident == 0:
            self._fault(number, f"level id {ident} is given twice")
        elif line.succ is not None:
            self._level_ids[ident] = (SUCC, line.succ, 0, number)
        elif line.max is not None:
            self._level_ids[ident] = (MAX, *line.max, number)
        elif line.imax is not None:
            self._level_ids[ident] = (IMAX, *line.imax, number)
        elif line.param is not None:
            self._level_ids[ident] = (PARAM, line.param, 0, number)
        else:
            self._fault(number, "a level (`il`) needs `succ`, `max`, `imax` or `param`")

    def _term(self, number: int, ident: int, line: Line) -> None:
        kind = info = name = a = b = c = 0
        if (app := line.app) is not None:
            kind, a, b = APP, app.fn, app.arg
        elif line.bvar is not None:
            kind, a = BVAR, line.bvar
            if not 0 <= a < _LAST_READABLE:
                self._fault(number, f"bvar is {a}; wanted an index of a binder")
                a = 0
        elif (const := line.const) is not None:
            kind, name, a = CONST, const.name, self._level_list(tuple(const.us))
        elif (binder := line.lam) is not None:
            kind, name, a, b, info = LAM, binder.name, binder.type, binder.body, _INFO_CODE[binder.binder_info]
        elif (binder := line.forall) is not None:
            kind, name, a, b, info = PI, binder.name, binder.type, binder.body, _INFO_CODE[binder.binder_info]
        elif line.sort is not None:
            kind, a = SORT, line.sort
        elif (let := line.let) is not None:
            kind, name, a, b, c, info = LET, let.name, let.type, let.value, let.body, int(let.nondep)
        elif (proj := line.proj) is not None:
            kind, name, a, b = PROJ, proj.type_name, proj.idx, proj.struct
            if not 0 <= a < _LAST_READABLE:
                self._fault(number, f"proj.idx is {a}; wanted the index of a field")
                a = 0
        elif line.mdata is not None:
            kind, a = MDATA, line.mdata.expr
        elif line.nat is not None:
            kind, a = LIT, self._nat_literal(number, line.nat)
        elif line.string is not None:
            kind, a = LIT, len(self._export.literals)
            self._export.literals.append(line.string)
        else:
            self._fault(number, "a term (`ie`) needs one of app, bvar, const, lam, forallE, sort, letE, proj, mdata, …")
        export = self._export
        if ident in self._term_ids:
            self._fault(number, f"term id {ident} is given twice")
        self._term_ids[ident] = len(export.kind)
        export.kind.append(kind)
        export.info.append(info)
        export.name.append(name)
        export.a.append(a)
        export.b.append(b)
        export.c.append(c)
        self._term_lines.append(number)

    def _level_list(self, levels: tuple[int, ...]) -> int:
        found = self._level_lists.get(levels)
        if found is None:
            found = self._level_lists[levels] = len(self._level_lists)
        return found

    def _nat_literal(self, number: int, text: str) -> int:
        if not (text.isascii() and text.isdigit()):
            self._fault(number, f"natVal is {text[:40]!r}; wanted decimal digits")
            text = "0"
        self._export.literals.append(decimal_to_int(text))
        return len(self._export.literals) - 1

    def _declaration(self, number: int, line: Line) -> None:
        if line.inductive is not None:
            self._raw.append((number, _decode_inductive(line.inductive)))
            return
        found = line.axiom or line.definition or line.thm or line.opaque or line.quot
        if not found:
            self._fault(number, _LINE_SHAPE)
        elif isinstance(found, list):
            self._raw += [(number, item) for item in found]
        else:
            self._raw.append((number, found))

    # -- resolving

    def _resolve(self) -> None:
        names = self._resolve_names()
        levels = self._resolve_levels(names)
        self._resolve_level_lists(levels)
        self._resolve_terms(names, levels)
        self._stop_at_faults()
        self._order_terms()
        terms = self._term_ids
        for number, declaration in self._raw:
            self._resolve_declaration(number, declaration, names, terms)
            self._export.declarations.append(declaration)
        self._stop_at_faults()

    def _resolve_names(self) -> dict[int, int]:
        index: dict[int, int] = {0: 0}
        interned: dict[tuple[int, str | int], int] = {}
        order = self._bottom_up(
            self._name_ids, known=index, needs=lambda row: (row[0],), what="name", line=lambda row: row[2]
        )
        depth = {0: 0}
        for ident in order:
            parent, part, number = self._name_ids[ident]
            key = (index[parent], part)
            depth[ident] = depth[parent] + 1
            if depth[ident] > _PART_LIMIT:
                self._fault(number, f"a name of more than {_PART_LIMIT} parts")
            if key not in interned:
                interned[key] = len(self._export.names)
                self._export.names.append(key)
            index[ident] = interned[key]
        return index

    def _resolve_levels(self, names: dict[int, int]) -> dict[int, int]:
        index: dict[int, int] = {0: 0}
        export = self._export

        def needs(row: tuple[int, int, int, int]) -> tuple[int, ...]:
            return {SUCC: row[1:2], MAX: row[1:3], IMAX: row[1:3], PARAM: ()}[row[0]]

        for ident in self._bottom_up(self._level_ids, known=index, needs=needs, what="level", line=lambda row: row[3]):
            kind, a, b, number = self._level_ids[ident]
            index[ident] = len(export.level_kind)
            export.level_kind.append(kind)
            if kind == PARAM:
                a = self._known(number, names, a, "name")
            else:
                a, b = index[a], index[b]
            export.level_a.append(a)
            export.level_b.append(b)
        return index

    def _bottom_up(self, rows: dict[int, _T], *, known: dict[int, int], needs: Any, what: str, line: Any) -> list[int]:
        """Ids such that each comes after those it needs; faults for unknown ids and circles."""
        done = set(known)
        order: list[int] = []
        for start in rows:
            stack = [start]
            path: set[int] = set()
            while stack:
                ident = stack[-1]
                if ident in done:
                    path.discard(ident)
                    stack.pop()
                    continue
                row = rows[ident]
                missing = [child for child in needs(row) if child not in done]
                bad = [child for child in missing if child not in rows or child in path or child == ident]
                if bad:
                    said = "is not in the file" if bad[0] not in rows else "contains itself"
                    self._fault(line(row), f"{what} id {bad[0]} {said}")
                    self._stop_at_faults()
                if missing:
                    path.add(ident)
                    stack += missing
                    continue
                done.add(ident)
                order.append(ident)
        return order

    def _resolve_level_lists(self, levels: dict[int, int]) -> None:
        for given in self._level_lists:
            unknown = [level for level in given if level not in levels]
            if unknown:
                self._faults.append(f"{self._source}: a `const` has level id {unknown[0]}, which is not in the file")
            self._export.level_lists.append(tuple(levels.get(level, 0) for level in given))

    def _resolve_terms(self, names: dict[int, int], levels: dict[int, int]) -> None:
        export, lines, ids = self._export, self._term_lines, self._term_ids
        dense = all(ident == index for ident, index in ids.items())
        kinds, name, columns = export.kind, export.name, {"a": export.a, "b": export.b, "c": export.c}
        total = len(kinds)
        for i, kind in enumerate(kinds):
            if kind in _NAMED:
                name[i] = self._known(lines[i], names, name[i], "name")
            if kind == SORT:
                export.a[i] = self._known(lines[i], levels, export.a[i], "level")
            for key in CHILDREN[kind]:
                column = columns[key]
                child = column[i]
                if dense and 0 <= child < total:
                    continue
                column[i] = self._known(lines[i], ids, child, "term")

    def _order_terms(self) -> None:
        """Put the table bottom-up, if the file's order was not."""
        export = self._export
        if is_bottom_up(export):
            return
        order = topological(export)
        if order is None:
            raise DataError(f"{self._source}: a term contains itself")
        place = array("q", bytes(8 * len(order)))
        for new, old in enumerate(order):
            place[old] = new
        permute(export, order, place)
        self._term_ids = {ident: place[old] for ident, old in self._term_ids.items()}

    def _resolve_declaration(
        self, number: int, declaration: Declaration, names: dict[int, int], terms: dict[int, int]
    ) -> None:
        def name(given: int) -> int:
            return self._known(number, names, given, "name")

        def term(given: int) -> int:
            return self._known(number, terms, given, "term")

        for constant in constants_of(declaration):
            relocate(constant, name, term)

    # -- faults

    def _known(self, number: int, index: dict[int, int], ident: int, what: str) -> int:
        found = index.get(ident)
        if found is None:
            self._fault(number, f"{what} id {ident} is not in the file")
            return 0
        return found

    def _fault(self, number: int, message: str) -> None:
        self._faults.append(f"{self._source}:{number}: {message}")
        if len(self._faults) >= _MAX_FAULTS:
            self._faults.append(f"{self._source}: stopped at {_MAX_FAULTS} faults")
            self._stop_at_faults()

    def _stop_at_faults(self) -> None:
        if self._faults:
            raise DataError.of(self._faults)


def _decode_inductive(raw: dict[str, Any]) -> Inductive:
    """A block in the spelling of 3.1.0 or of 3.0.0."""
    if "inductiveVals" not in raw:
        block = msgspec.convert(raw, Inductive)
    else:
        old = msgspec.convert(raw, Inductive30Row)
        block = Inductive(old.inductive_vals, old.constructor_vals, old.recursor_vals)
    if not block.types:
        raise ValueError("an inductive block without types")
    return block


_NAMED = frozenset({CONST, LAM, PI, LET, PROJ})
