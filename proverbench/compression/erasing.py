"""Definitions without their proofs: every maximal proof replaced by one mark, found by type.

A proof is a term whose type is a proposition, which only the kernel can say. A term of *type Prop* is a proposition,
part of what a definition means, and stays. In a well-typed term all proofs of one proposition are equal to the kernel,
so the mark needs no type.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from proverbench.compression.export import (
    APP,
    BVAR,
    CONST,
    LAM,
    LET,
    PI,
    PROJ,
    Constant,
    Constructor,
    Declaration,
    Definition,
    Export,
    InductiveType,
    Opaque,
    Theorem,
    constants_of,
)
from proverbench.compression.export_building import Builder, Importer
from proverbench.compression.export_writing import write_export
from proverbench.compression.kernel import QUERY
from proverbench.compression.term_graph import Pen, TermGraph

MARK = "_compressionbench_proof"
"""The constant that stands for every proof."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A term of a declaration, and which of its nodes may be proofs."""

    constant: Constant
    part: str
    graph: TermGraph
    asked: dict[int, int]
    """Node → the number of its question."""


class Erasure:
    """The erasing of some declarations' proofs: first questions for the kernel, then the result.

    Args:
        export: All declarations.
        declarations: Those among them to erase in. A theorem's proof is none of its meaning, nor is a recursor's
            type or rule, which the kernel derives.
    """

    def __init__(self, export: Export, declarations: Iterable[Declaration]) -> None:
        self._builder = Builder()
        self._builder.export.lean_version = export.lean_version
        importer = Importer(export, self._builder)
        chosen = {id(item) for item in declarations}
        self._declarations: list[Declaration] = []
        self._places: list[_Place] = []
        self._count = 0
        erased = []
        for item in export.declarations:
            copy = importer.declaration(item)
            self._declarations.append(copy)
            if id(item) in chosen:
                erased.append(copy)
        for item in erased:
            for constant in constants_of(item):
                self._add(constant)

    def _add(self, constant: Constant) -> None:
        parts = []
        if isinstance(constant, Definition | Opaque):
            parts = [("type", constant.type), ("value", constant.value)]
        elif isinstance(constant, Theorem | InductiveType | Constructor):
            parts = [("type", constant.type)]
        for part, term in parts:
            graph = TermGraph(self._builder, term, constant.level_params)
            asked = {}
            for node in _candidates(graph, part == "value"):
                asked[node] = self._count
                self._count += 1
            self._places.append(_Place(constant, part, graph, asked))

    def question(self) -> bytes:
        """All declarations, and after them a query for each node that may be a proof."""
        root = self._builder.name_of(0, QUERY)
        queries: list[Declaration] = []
        for place in self._places:
            for node, number in place.asked.items():
                closed = place.graph.closed(node)
                name = self._builder.name_of(root, number)
                queries.append(Definition(name, list(place.graph.level_params), closed, closed))
        return write_export(replace(self._builder.export, declarations=[*self._declarations, *queries]))

    def erased(self, proofs: frozenset[int]) -> Export:
        """The declarations, those chosen without their proofs.

        Args:
            proofs: Numbers of the queries whose terms are proofs.
        """
        builder = self._builder
        mark = builder.term(CONST, name=builder.name_of(0, MARK), a=builder.level_list(()))
        for place in self._places:
            marks = {node: mark for node, number in place.asked.items() if number in proofs}
            setattr(place.constant, place.part, Pen(place.graph, marks).term(place.graph.root, {}, 0))
        return replace(builder.export, declarations=self._declarations)


def _candidates(graph: TermGraph, root_may_be: bool) -> list[int]:
    """Nodes that may be proofs, outermost ones at least.

    Types are none. If an application or the function whose body a term is are not proofs, neither are the applied
    function and the body: the universe of a function's type is that of its results' types.
    """
    found: set[int] = set()
    seen: set[tuple[int, bool]] = set()
    pending = [(graph.root, root_may_be)]
    while pending:
        node, may_be = top = pending.pop()
        if top in seen:
            continue
        seen.add(top)
        item = graph.nodes[node]
        if may_be and item.kind in (BVAR, CONST, APP, LAM, LET, PROJ):
            found.add(node)
        if item.kind == APP:
            pending += [(item.children[0], False), (item.children[1], True)]
        elif item.kind == LET:
            pending += [(item.children[0], False), (item.children[1], True), (item.children[2], False)]
        elif item.kind in (LAM, PI):
            pending += [(child, False) for child in item.children]
        elif item.kind == PROJ:
            pending.append((item.children[0], True))
    return sorted(found)
