"""Writing kernel terms as lean4export's NDJSON 3.1.0."""

from typing import Any

import msgspec

from proverbench.compression.decimals import int_to_decimal
from proverbench.compression.export import (
    APP,
    BINDER_INFOS,
    BVAR,
    CONST,
    IMAX,
    LAM,
    LET,
    LIT,
    MAX,
    MDATA,
    PARAM,
    PROJ,
    SORT,
    SUCC,
    Axiom,
    Constant,
    Declaration,
    Definition,
    Export,
    Inductive,
    Opaque,
    Quot,
    Theorem,
)


def write_export(export: Export) -> bytes:
    """The export as lean4export NDJSON 3.1.0; the same declarations in the same order give the same bytes.

    Names, levels and terms are numbered in the order of first use; metadata is left out, as it has no meaning for
    the kernel.
    """
    return _Writer(export).write()


class _Writer:
    def __init__(self, export: Export) -> None:
        self._export = export
        self._lines: list[bytes] = []
        self._encode = msgspec.json.Encoder(order="sorted").encode
        self._names = {0: 0}
        self._levels = {0: 0}
        self._terms: dict[int, int] = {}
        self._same: dict[bytes, int] = {}

    def write(self) -> bytes:
        self._emit(
            {
                "meta": {
                    "exporter": {"name": "compressionbench", "version": "1"},
                    "format": {"version": "3.1.0"},
                    "lean": {"githash": "", "version": self._export.lean_version},
                }
            }
        )
        for declaration in self._export.declarations:
            self._declaration(declaration)
        return b"".join(self._lines)

    def _emit(self, line: Any) -> None:
        self._lines.append(self._encode(line) + b"\n")

    def _name(self, name: int) -> int:
        chain = []
        while name not in self._names:
            chain.append(name)
            name = self._export.names[name][0]
        for name in reversed(chain):
            parent, part = self._export.names[name]
            ident = self._names[name] = len(self._names)
            if isinstance(part, str):
                self._emit({"in": ident, "str": {"pre": self._names[parent], "str": part}})
            else:
                self._emit({"in": ident, "num": {"pre": self._names[parent], "i": part}})
        return self._names[name]

    def _level(self, level: int) -> int:
        export = self._export
        stack = [level]
        while stack:
            top = stack[-1]
            kind, a, b = export.level_kind[top], export.level_a[top], export.level_b[top]
            needs = {SUCC: (a,), MAX: (a, b), IMAX: (a, b)}.get(kind, ())
            pending = [need for need in needs if need not in self._levels]
            if pending:
                stack += pending
                continue
            stack.pop()
            if top in self._levels:
                continue
            if kind == PARAM:
                content: dict[str, Any] = {"param": self._name(a)}
            elif kind == SUCC:
                content = {"succ": self._levels[a]}
            else:
                content = {"max" if kind == MAX else "imax": [self._levels[a], self._levels[b]]}
            ident = self._levels[top] = len(self._levels)
            self._emit({"il": ident, **content})
        return self._levels[level]

    def _term(self, root: int) -> int:
        export, done = self._export, self._terms
        stack = [root]
        while stack:
            term = stack[-1]
            if term in done:
                stack.pop()
                continue
            pending = [child for child in export.children(term) if child not in done]
            if pending:
                stack += reversed(pending)
                continue
            stack.pop()
            if export.kind[term] == MDATA:
                done[term] = done[export.a[term]]
                continue
            content = self._content(term)
            # Terms that differ only in metadata inside them are one term once it is left out.
            key = self._encode(content)
            ident = self._same.get(key)
            if ident is None:
                ident = self._same[key] = len(self._same)
                self._emit({"ie": ident, **content})
            done[term] = ident
        return done[root]

    def _content(self, term: int) -> dict[str, Any]:
        export, ids = self._export, self._terms
        kind, a, b, c = export.kind[term], export.a[term], export.b[term], export.c[term]
        if kind == BVAR:
            return {"bvar": a}
        if kind == SORT:
            return {"sort": self._level(a)}
        if kind == CONST:
            levels = [self._level(level) for level in export.level_lists[a]]
            return {"const": {"name": self._name(export.name[term]), "us": levels}}
        if kind == APP:
            return {"app": {"fn": ids[a], "arg": ids[b]}}
        if kind == LIT:
            value = export.literals[a]
            return {"strVal": value} if isinstance(value, str) else {"natVal": int_to_decimal(value)}
        name = self._name(export.name[term])
        if kind == PROJ:
            return {"proj": {"idx": a, "struct": ids[b], "typeName": name}}
        if kind == LET:
            nondep = bool(export.info[term])
            return {"letE": {"name": name, "type": ids[a], "value": ids[b], "body": ids[c], "nondep": nondep}}
        binder = {"name": name, "type": ids[a], "body": ids[b], "binderInfo": BINDER_INFOS[export.info[term]]}
        return {"lam": binder} if kind == LAM else {"forallE": binder}

    def _declaration(self, declaration: Declaration) -> None:
        if isinstance(declaration, Inductive):
            content = {
                "types": [self._constant(item) for item in declaration.types],
                "ctors": [self._constant(item) for item in declaration.ctors],
                "recs": [self._constant(item) for item in declaration.recs],
            }
            self._emit({"inductive": content})
            return
        self._emit({_DECLARATION_KEYS[type(declaration)]: self._constant(declaration)})

    def _constant(self, constant: Constant) -> dict[str, Any]:
        fields: dict[str, Any] = msgspec.to_builtins(constant)
        for key in ("name", "induct"):
            if key in fields:
                fields[key] = self._name(fields[key])
        for key in ("levelParams", "all", "ctors"):
            if key in fields:
                fields[key] = [self._name(name) for name in fields[key]]
        for key in ("type", "value"):
            if key in fields:
                fields[key] = self._term(fields[key])
        for rule in fields.get("rules", ()):
            rule["ctor"], rule["rhs"] = self._name(rule["ctor"]), self._term(rule["rhs"])
        return fields


_DECLARATION_KEYS = {Axiom: "axiom", Definition: "def", Theorem: "thm", Opaque: "opaque", Quot: "quot"}
