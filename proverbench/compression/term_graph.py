"""Terms as graphs of nodes that know which variables they mean.

A subterm is known together with the variables that it speaks of, so two occurrences are one node exactly when they are
equal up to bound names *and* mean the same variables. Used to find what repeats (sharing.py) and what is a proof
(erasing.py). Nothing here recurses: terms may be deeper than Python's stack.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from proverbench.compression.export import APP, BVAR, LAM, LET, PI, PROJ, Export
from proverbench.compression.export_building import Builder

_T = TypeVar("_T")
Steps = Generator[Any, Any, _T]
"""A function that calls itself by ``yield``; see run_steps."""


def run_steps(steps: Steps[_T]) -> _T:
    """Run a function that calls itself by ``yield``, without using Python's stack."""
    stack: list[Steps[Any]] = [steps]
    result: Any = None
    while stack:
        try:
            called = stack[-1].send(result)
        except StopIteration as done:
            stack.pop()
            result = done.value
        else:
            stack.append(called)
            result = None
    returned: _T = result
    return returned


class _Shapes:
    """Gives terms that are equal up to binder names, and up to which outer variables they mean, one number.

    A term's loose variables are listed apart, in order; its shape says only how its parts' lists fit into its own. So
    the same term below different numbers of binders has one shape.
    """

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._numbers: dict[tuple[Any, ...], int] = {}
        self.shape: list[int] = []
        self.loose: list[tuple[int, ...]] = []

    def extend(self) -> None:
        """Take in the terms that the builder got since."""
        export = self._builder.export
        for i in range(len(self.shape), len(export)):
            key, loose = self._key(export, i)
            self.shape.append(self._numbers.setdefault(key, len(self._numbers)))
            self.loose.append(loose)

    def _key(self, export: Export, i: int) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        kind, a, b, c = export.kind[i], export.a[i], export.b[i], export.c[i]
        if kind == BVAR:
            return (BVAR,), (a,)
        if kind == APP:
            return self._joined((APP,), [(a, False), (b, False)])
        if kind in (LAM, PI):
            return self._joined((kind,), [(a, False), (b, True)])
        if kind == LET:
            return self._joined((LET,), [(a, False), (b, False), (c, True)])
        if kind == PROJ:
            return self._joined((PROJ, export.name[i], a), [(b, False)])
        return (kind, export.name[i], a), ()

    def _joined(self, head: tuple[Any, ...], parts: list[tuple[int, bool]]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        seen: list[tuple[int, ...]] = []
        for term, under_binder in parts:
            loose = self.loose[term]
            seen.append(tuple(x - 1 for x in loose) if under_binder else loose)  # -1 is the binder's own variable
        union = tuple(sorted({x for loose in seen for x in loose if x >= 0}))
        place = {x: position for position, x in enumerate(union)}
        fits = tuple(tuple(place.get(x, -1) for x in loose) for loose in seen)
        return (*head, *(self.shape[term] for term, _ in parts), fits), union


@dataclass(slots=True)
class Node:
    """A term together with the variables that it means; equal ones are one node."""

    kind: int
    term: int
    """A row of the table that looks like it, for the columns that are not terms."""
    children: tuple[int, ...]
    support: tuple[int, ...]
    """The variables that it means, outermost first."""
    variable: int = -1
    """The variable that it binds, if it is a binder."""


@dataclass(slots=True)
class Variable:
    """A variable, as its binder says."""

    depth: int
    """1 + the depth of the innermost variable that its binder means; 1 at least."""
    type: int
    value: int | None
    """Of a ``let``; nodes both."""


class TermGraph:
    """One term of a declaration as a graph of nodes.

    Args:
        builder: Where the term is, and where new ones are made.
        root: The term, closed.
        level_params: The declaration's.
    """

    def __init__(self, builder: Builder, root: int, level_params: Sequence[int]) -> None:
        self.builder = builder
        self.level_params = tuple(level_params)
        self.nodes: list[Node] = []
        self.variables: list[Variable] = []
        self._shapes = _Shapes(builder)
        self._index: dict[tuple[int, tuple[int, ...]], int] = {}
        self.root = self.open(root, ())

    def open(self, term: int, env: tuple[int, ...]) -> int:
        """The node of a term whose variable N means ``env[-1 - N]``."""
        self._shapes.extend()
        return run_steps(self._opened(term, env))

    def _opened(self, term: int, env: tuple[int, ...]) -> Steps[int]:
        """The node of a term whose variable N means ``env[-1 - N]``."""
        export = self.builder.export
        variables = tuple(env[-1 - x] for x in reversed(self._shapes.loose[term]))
        key = (self._shapes.shape[term], variables)
        if key in self._index:
            return self._index[key]
        kind, a, b, c = export.kind[term], export.a[term], export.b[term], export.c[term]
        own = -1
        children: tuple[int, ...] = ()
        if kind == APP:
            function = yield self._opened(a, env)
            children = (function, (yield self._opened(b, env)))
        elif kind == PROJ:
            children = ((yield self._opened(b, env)),)
        elif kind in (LAM, PI, LET):
            type_ = yield self._opened(a, env)
            value = (yield self._opened(b, env)) if kind == LET else None
            own = len(self.variables)
            depth = 1 + max((self.variables[x].depth for x in variables), default=0)
            self.variables.append(Variable(depth, type_, value))
            body = yield self._opened(c if kind == LET else b, (*env, own))
            children = (type_, body) if value is None else (type_, value, body)
        found = self._index[key] = len(self.nodes)
        self.nodes.append(Node(kind, term, children, variables, own))
        return found

    def context(self, node: int) -> list[int]:
        """The variables that a node speaks of, and those that their types and values speak of, outermost first."""
        found: set[int] = set()
        pending = list(self.nodes[node].support)
        while pending:
            variable = pending.pop()
            if variable not in found:
                found.add(variable)
                item = self.variables[variable]
                pending += self.nodes[item.type].support
                if item.value is not None:
                    pending += self.nodes[item.value].support
        return sorted(found, key=lambda x: self.variables[x].depth)

    def closed(self, node: int) -> int:
        """A closed term whose type tells the node's: the node below binders for its context."""
        context = self.context(node)
        write = Pen(self)
        levels = {variable: level for level, variable in enumerate(context)}
        term = write.term(node, levels, len(context))
        for level in range(len(context) - 1, -1, -1):
            variable = self.variables[context[level]]
            type_ = write.term(variable.type, levels, level)
            if variable.value is None:
                term = self.builder.term(LAM, a=type_, b=term)
            else:
                term = self.builder.term(LET, a=type_, b=write.term(variable.value, levels, level), c=term)
        return term


class Pen:
    """Writes nodes as terms. ``levels`` says at which binder, from outside, a variable stands.

    Args:
        graph: The nodes.
        instead: Node → the closed term that is written in its place.
    """

    def __init__(self, graph: TermGraph, instead: Mapping[int, int] | None = None) -> None:
        self.graph = graph
        self._instead = instead or {}
        self._done: dict[tuple[int, tuple[int, ...]], int] = {}

    def term(self, node: int, levels: dict[int, int], depth: int) -> int:
        """A node below ``depth`` binders."""
        return run_steps(self.steps(node, levels, depth))

    def steps(self, node: int, levels: dict[int, int], depth: int) -> Steps[int]:
        """The same, step by step."""
        if node in self._instead:
            return self._instead[node]
        content: int = yield self.content(node, levels, depth)
        return content

    def mentioned(self, node: int) -> Sequence[int]:
        """What the written form of a node depends on, among the keys of ``levels``."""
        return self.graph.nodes[node].support

    def body(self, variable: int, node: int, levels: dict[int, int], depth: int) -> Steps[int]:
        """The body of a variable's binder."""
        return self.steps(node, levels, depth)

    def content(self, node: int, levels: dict[int, int], depth: int) -> Steps[int]:
        """The written form of a node itself."""
        builder, item = self.graph.builder, self.graph.nodes[node]
        export = builder.export
        if item.kind == BVAR:
            return builder.term(BVAR, a=depth - 1 - levels[item.support[0]])
        if not item.children:
            return item.term
        key = (node, tuple(depth - levels[x] for x in sorted(self.mentioned(node))))
        found = self._done.get(key)
        if found is not None:
            return found
        name, info = export.name[item.term], export.info[item.term]
        first = yield self.steps(item.children[0], levels, depth)
        if item.kind == APP:
            second = yield self.steps(item.children[1], levels, depth)
            result = builder.term(APP, a=first, b=second)
        elif item.kind == PROJ:
            result = builder.term(PROJ, name=name, a=export.a[item.term], b=first)
        else:
            value = (yield self.steps(item.children[1], levels, depth)) if item.kind == LET else 0
            inside = {**levels, item.variable: depth}
            body = yield self.body(item.variable, item.children[-1], inside, depth + 1)
            if item.kind == LET:
                result = builder.term(LET, name=name, a=first, b=value, c=body, info=info)
            else:
                result = builder.term(item.kind, name=name, a=first, b=body, info=info)
        self._done[key] = result
        return result
