"""The automatic sharing pass: subterms of a proof that occur more than once, written once with ``let``.

A subterm is known together with the variables that it speaks of, so two occurrences count as one term exactly when
they are equal up to bound names *and* mean the same variables; under other binders, or at other universe levels, they
are other terms. A shared subterm is bound as far out as its variables allow: at the start of the body of its innermost
binder, or of the whole proof when it is closed. Its type, which ``let`` needs, is the one that Lean's kernel finds.

Nothing here recurses: proofs may be deeper than Python's stack.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec

from proverbench.compression.charges import Charge, charge
from proverbench.compression.checking import check_sources
from proverbench.compression.counting import count_levels
from proverbench.compression.export import (
    APP,
    BVAR,
    CONST,
    LAM,
    LET,
    PI,
    PROJ,
    SORT,
    Builder,
    Declaration,
    Definition,
    Export,
    Importer,
    Theorem,
    write_export,
)
from proverbench.compression.kernel import QUERY, LeanKernel, Problem
from proverbench.compression.tasks import Task
from proverbench.errors import DataError

_T = TypeVar("_T")
_Steps = Generator[Any, Any, _T]


@dataclass(frozen=True, slots=True)
class Shared:
    """What the pass made of a task's proofs."""

    export: Export
    charge: Charge
    lets: int
    """How many subterms were bound."""
    problems: tuple[Problem, ...]
    """What the kernel does not accept of it; empty unless the pass is wrong."""


@dataclass(frozen=True, slots=True)
class SharedTask:
    """The pass on one version of a task, both ways."""

    before: int
    """Nodes without it."""
    everything: Shared
    """All repeated subterms of more than one node bound."""
    paying: Shared
    """Only those that make the whole smaller."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What the kernel does not accept; empty unless the pass is wrong."""
        return (*self.everything.problems, *self.paying.problems)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "count": self.before,
            "shared": {"count": self.everything.charge.count, "lets": self.everything.lets},
            "shared_where_it_pays": {"count": self.paying.charge.count, "lets": self.paying.lets},
            "kernel_problems": [f"{problem.declaration}: {problem.message}" for problem in self.problems],
        }


def share_task(task: Task, sources: Mapping[str, bytes], kernel: LeanKernel) -> SharedTask:
    """Run the pass on some version of a task.

    Raises:
        DataError: If the version is not valid.
        StoppedError: If a limit ended it.
    """
    check = check_sources(task, sources, kernel)
    if check.verdict != "valid" or check.export is None:
        raise DataError.of(check.problems)
    return share(check.export, task.spec.targets, [*check.provided, *task.spec.background], kernel)


def share(export: Export, targets: Sequence[str], background: Iterable[str], kernel: LeanKernel) -> SharedTask:
    """Share the repeated subterms of every charged proof, and have the kernel check the results.

    Args:
        export: All declarations.
        targets: The task's targets.
        background: Constants whose use is free; their proofs stay as they are.
        kernel: Finds the types and checks the results.

    Raises:
        StoppedError: If a limit ended it.
    """
    free = list(background)
    before = charge(export, targets, free)
    charged = {item.name for item in before.items}
    builder = Builder()
    importer = Importer(export, builder)
    tables = builder.export
    tables.lean_version = export.lean_version
    tables.declarations = declarations = [importer.declaration(declaration) for declaration in export.declarations]
    proofs = [item for item in declarations if isinstance(item, Theorem) and tables.name_text(item.name) in charged]
    graphs = {proof.name: _Graph(builder, proof) for proof in proofs}
    _find_types(builder, declarations, list(graphs.values()), kernel)

    def written() -> Shared:
        values = {name: graph.write() for name, graph in graphs.items()}
        result = replace(
            tables,
            declarations=[
                msgspec.structs.replace(item, value=values[item.name])
                if isinstance(item, Theorem) and item.name in values
                else item
                for item in declarations
            ],
        )
        lets = sum(len(graph.bound) for graph in graphs.values())
        problems = kernel.replay(write_export(result)).problems
        return Shared(result, charge(result, targets, free), lets, problems)

    everything = written()
    for graph in graphs.values():
        graph.drop_what_does_not_pay()
    return SharedTask(before.count, everything, written())


def _find_types(builder: Builder, declarations: list[Declaration], graphs: list["_Graph"], kernel: LeanKernel) -> None:
    """Ask the kernel for the types of all repeated subterms, and of what is repeated once those are written too."""
    while True:
        asked = [(graph, node) for graph in graphs for node in graph.repeated() if node not in graph.types]
        if not asked:
            return
        questions: list[Declaration] = []
        root = builder.name_of(0, QUERY)
        for number, (graph, node) in enumerate(asked):
            closed = graph.closed(node)
            name = builder.name_of(root, number)
            questions.append(Definition(name, list(graph.level_params), closed, closed))
        builder.export.declarations = [*declarations, *questions]
        try:
            answers = kernel.types(write_export(builder.export))
        finally:
            builder.export.declarations = declarations
        importer = Importer(answers, builder)
        found = {
            answers.name_parts(item.name)[1]: importer.term(item.value)
            for item in answers.declarations
            if isinstance(item, Definition)
        }
        for number, (graph, node) in enumerate(asked):
            graph.learn_type(node, found.get(number))


def _run(steps: _Steps[_T]) -> _T:
    """Run a function that calls itself by ``yield``, without using Python's stack."""
    stack: list[_Steps[Any]] = [steps]
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


# --- terms that know their variables ----------------------------------------------------------------------------


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
class _Node:
    """A term together with the variables that it means; equal ones are one node."""

    kind: int
    term: int
    """A row of the table that looks like it, for the columns that are no terms."""
    children: tuple[int, ...]
    support: tuple[int, ...]
    """The variables that it means, outermost first."""
    variable: int = -1
    """The variable that it binds, if it is a binder."""


@dataclass(slots=True)
class _Variable:
    depth: int
    """1 + the depth of the innermost variable that its binder means; 1 at least."""
    type: int
    value: int | None
    """Of a ``let``; nodes both."""


@dataclass(slots=True)
class _Plan:
    """What follows from the choice of what to bind."""

    live: list[int]
    """Nodes that get written, each before those that it contains or is typed by."""
    homes: dict[int | None, list[int]]
    """Variable (None: the whole proof) → bound nodes that belong at the start of its scope, in order."""
    free: dict[int, frozenset[int]]
    """Node → what its written form mentions: variables, and bound nodes as ``~node``."""
    sizes: dict[int, int]
    """Node → nodes of its written form."""
    copies: dict[int, int]
    """Node → how often its written form stands in the result."""
    references: dict[int, int] = field(default_factory=dict)
    """Bound node → how often it is referred to."""


class _Graph:
    """One proof as a graph of nodes, and the choice of which to bind."""

    def __init__(self, builder: Builder, proof: Theorem) -> None:
        self._builder = builder
        self._shapes = _Shapes(builder)
        self._nodes: list[_Node] = []
        self._index: dict[tuple[int, tuple[int, ...]], int] = {}
        self._variables: list[_Variable] = []
        self.level_params = tuple(proof.level_params)
        self.types: dict[int, int | None] = {}
        """Repeated node → the node of its type; None: the kernel found none, so it is never bound."""
        self.bound: set[int] = set()
        self._shapes.extend()
        self._root = _run(self._opened(proof.value, ()))

    # -- reading

    def _opened(self, term: int, env: tuple[int, ...]) -> _Steps[int]:
        """The node of a term whose variable N means ``env[-1 - N]``."""
        export = self._builder.export
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
            own = len(self._variables)
            depth = 1 + max((self._variables[x].depth for x in variables), default=0)
            self._variables.append(_Variable(depth, type_, value))
            body = yield self._opened(c if kind == LET else b, (*env, own))
            children = (type_, body) if value is None else (type_, value, body)
        found = self._index[key] = len(self._nodes)
        self._nodes.append(_Node(kind, term, children, variables, own))
        return found

    def _home(self, node: int) -> int | None:
        """The innermost variable that a node means."""
        support = self._nodes[node].support
        return max(support, key=lambda x: self._variables[x].depth) if support else None

    def _is_atom(self, node: int) -> bool:
        item = self._nodes[node]
        if item.children or item.kind == SORT:
            return False
        return item.kind != CONST or not self._builder.export.level_lists[self._builder.export.a[item.term]]

    def repeated(self) -> list[int]:
        """Nodes of more than one node size that stand in more than one place, types of bound ones included.

        Also binds them all.
        """
        uses: dict[int, int] = {}
        pending = [self._root]
        seen: set[int] = set()
        waiting: set[int] = set()
        while pending:
            node = pending.pop()
            uses[node] = uses.get(node, 0) + 1
            if uses[node] == 2 and not self._is_atom(node):
                waiting.add(node)
                known = self.types.get(node)
                if known is not None:
                    pending.append(known)
            if node not in seen:
                seen.add(node)
                pending += self._nodes[node].children
        self.bound = {node for node in waiting if self.types.get(node, 0) is not None}
        return sorted(waiting)

    # -- types

    def _context(self, node: int) -> list[int]:
        """The variables that a node speaks of, and those that their types and values speak of, outermost first."""
        found: set[int] = set()
        pending = list(self._nodes[node].support)
        while pending:
            variable = pending.pop()
            if variable not in found:
                found.add(variable)
                item = self._variables[variable]
                pending += self._nodes[item.type].support
                if item.value is not None:
                    pending += self._nodes[item.value].support
        return sorted(found, key=lambda x: self._variables[x].depth)

    def closed(self, node: int) -> int:
        """A closed term whose type tells the node's: the node below binders for its context."""
        plan = _Plan([], {}, {}, {}, {})
        context = self._context(node)
        write = _Pen(self, plan, frozenset())
        levels = {variable: level for level, variable in enumerate(context)}
        term = write.term(node, levels, len(context))
        for level in range(len(context) - 1, -1, -1):
            variable = self._variables[context[level]]
            type_ = write.term(variable.type, levels, level)
            if variable.value is None:
                term = self._builder.term(LAM, a=type_, b=term)
            else:
                term = self._builder.term(LET, a=type_, b=write.term(variable.value, levels, level), c=term)
        return term

    def learn_type(self, node: int, closed_type: int | None) -> None:
        """Read the node's type off the type of :meth:`closed`."""
        if closed_type is None:
            self.types[node] = None
            return
        self._shapes.extend()
        export = self._builder.export
        env: tuple[int, ...] = ()
        for name in self._context(node):
            variable = self._variables[name]
            if variable.value is None:
                assert export.kind[closed_type] == PI
                closed_type, env = export.b[closed_type], (*env, name)
            elif export.kind[closed_type] == LET and self._is_let_of(closed_type, env, variable):
                closed_type, env = export.c[closed_type], (*env, name)
            # Else the kernel left this `let` out, as the type does not mention it.
        self.types[node] = _run(self._opened(closed_type, env))

    def _is_let_of(self, term: int, env: tuple[int, ...], variable: _Variable) -> bool:
        export = self._builder.export
        type_ = _run(self._opened(export.a[term], env))
        return type_ == variable.type and _run(self._opened(export.b[term], env)) == variable.value

    # -- choosing

    def drop_what_does_not_pay(self) -> None:
        """Unbind, worst first, whatever makes the result longer than writing it out each time."""
        while self.bound:
            plan = self._plan()
            self.bound &= set(plan.live)
            worst = min(self.bound, key=lambda node: (self._gain(plan, node), node), default=None)
            if worst is None or self._gain(plan, worst) > 0:
                return
            self.bound.remove(worst)

    def _gain(self, plan: _Plan, node: int) -> int:
        """Nodes that binding a node saves: each reference is one node, but the `let` has to be written."""
        size, type_ = plan.sizes[node], self.types[node]
        assert type_ is not None
        let = 1 + self._written(plan, type_) + size
        return plan.references[node] * (size - 1) - plan.copies[node] * let

    def _written(self, plan: _Plan, node: int) -> int:
        return 1 if node in self.bound else plan.sizes[node]

    def _plan(self) -> _Plan:
        order = self._order()
        plan = _Plan(order, {}, {}, {}, {})
        for node in order:
            if node in self.bound:
                plan.homes.setdefault(self._home(node), []).append(node)
        for nodes in plan.homes.values():
            nodes.reverse()  # parts before what contains them
        self._measure(plan)
        self._multiply(plan)
        return plan

    def _order(self) -> list[int]:
        """What gets written, each before its parts and before its type; unbinds what would be typed by itself."""
        state: dict[int, int] = {}
        order: list[int] = []
        stack = [(self._root, False)]
        while stack:
            node, done = stack.pop()
            if done:
                state[node] = 2
                order.append(node)
                continue
            if node in state:
                continue
            state[node] = 1
            stack.append((node, True))
            below = list(self._nodes[node].children)
            type_ = self.types.get(node) if node in self.bound else None
            if type_ is not None:
                if state.get(type_) == 1:
                    self.bound.discard(node)
                else:
                    below.append(type_)
            stack += [(child, False) for child in below]
        return order[::-1]

    def _measure(self, plan: _Plan) -> None:
        levels = count_levels(self._builder.export)
        for node in reversed(plan.live):
            item = self._nodes[node]
            size, mentions = 1, set[int]()
            if item.kind == BVAR:
                mentions.add(item.support[0])
            elif item.kind == SORT:
                size += levels[self._builder.export.a[item.term]]
            elif item.kind == CONST:
                size += sum(levels[x] for x in self._builder.export.level_lists[self._builder.export.a[item.term]])
            for child in item.children:
                size += self._written(plan, child)
                mentions |= self._mentions(plan, child)
            if item.variable >= 0:
                size += self._add_lets(plan, item.variable, mentions)
                mentions.discard(item.variable)
            plan.sizes[node], plan.free[node] = size, frozenset(mentions)

    def _add_lets(self, plan: _Plan, home: int | None, mentions: set[int]) -> int:
        """Nodes of the lets at the start of a scope; adds what they mention and takes away what they bind."""
        lets = plan.homes.get(home, [])
        size = 0
        for node in lets:
            type_ = self.types[node]
            assert type_ is not None
            size += 1 + self._written(plan, type_) + plan.sizes[node]
            mentions |= self._mentions(plan, type_) | plan.free[node]
        mentions.difference_update(~node for node in lets)
        return size

    def _mentions(self, plan: _Plan, node: int) -> frozenset[int]:
        return frozenset((~node,)) if node in self.bound else plan.free[node]

    def _multiply(self, plan: _Plan) -> None:
        """How often everything is written and referred to, from the whole proof down."""
        binder = {self._nodes[node].variable: node for node in plan.live}
        plan.copies = dict.fromkeys(plan.live, 0)
        plan.references = dict.fromkeys(self.bound, 0)

        def refer(node: int, times: int) -> None:
            if node in self.bound:
                plan.references[node] += times
            else:
                plan.copies[node] += times

        refer(self._root, 1)
        for node in plan.live:
            if node in self.bound:
                home = self._home(node)
                copies = plan.copies[node] = 1 if home is None else plan.copies[binder[home]]
                type_ = self.types[node]
                assert type_ is not None
                refer(type_, copies)
            for child in self._nodes[node].children:
                refer(child, plan.copies[node])

    # -- writing

    def write(self) -> int:
        """The proof with its lets, as a closed term."""
        plan = self._plan()
        pen = _Pen(self, plan, frozenset(self.bound & set(plan.live)))
        return pen.scope(None, self._root, {}, 0)

    @property
    def nodes(self) -> list[_Node]:
        """The nodes."""
        return self._nodes

    @property
    def builder(self) -> Builder:
        """Where terms are made."""
        return self._builder


class _Pen:
    """Writes nodes as terms. ``levels`` says at which binder, from outside, a variable or bound node stands."""

    def __init__(self, graph: _Graph, plan: _Plan, bound: frozenset[int]) -> None:
        self._graph = graph
        self._plan = plan
        self._bound = bound
        self._done: dict[tuple[int, tuple[int, ...]], int] = {}

    def term(self, node: int, levels: dict[int, int], depth: int) -> int:
        """A node, or the variable that it is bound to, below ``depth`` binders."""
        return _run(self._term(node, levels, depth))

    def scope(self, home: int | None, node: int, levels: dict[int, int], depth: int) -> int:
        """A node after the lets that belong at the start of a scope."""
        return _run(self._scope(home, node, levels, depth))

    def _term(self, node: int, levels: dict[int, int], depth: int) -> _Steps[int]:
        builder, item = self._graph.builder, self._graph.nodes[node]
        if node in self._bound:
            return builder.term(BVAR, a=depth - 1 - levels[~node])
        content: int = yield self._content(node, item, levels, depth)
        return content

    def _content(self, node: int, item: _Node, levels: dict[int, int], depth: int) -> _Steps[int]:
        """The written form of a node itself."""
        builder, export = self._graph.builder, self._graph.builder.export
        if item.kind == BVAR:
            return builder.term(BVAR, a=depth - 1 - levels[item.support[0]])
        if not item.children:
            return item.term
        mentioned = self._plan.free.get(node, item.support)
        key = (node, tuple(depth - levels[x] for x in sorted(mentioned)))
        found = self._done.get(key)
        if found is not None:
            return found
        name, info = export.name[item.term], export.info[item.term]
        first = yield self._term(item.children[0], levels, depth)
        if item.kind == APP:
            second = yield self._term(item.children[1], levels, depth)
            result = builder.term(APP, a=first, b=second)
        elif item.kind == PROJ:
            result = builder.term(PROJ, name=name, a=export.a[item.term], b=first)
        else:
            value = (yield self._term(item.children[1], levels, depth)) if item.kind == LET else 0
            inside = {**levels, item.variable: depth}
            body = yield self._scope(item.variable, item.children[-1], inside, depth + 1)
            if item.kind == LET:
                result = builder.term(LET, name=name, a=first, b=value, c=body, info=info)
            else:
                result = builder.term(item.kind, name=name, a=first, b=body, info=info)
        self._done[key] = result
        return result

    def _scope(self, home: int | None, node: int, levels: dict[int, int], depth: int) -> _Steps[int]:
        graph, builder = self._graph, self._graph.builder
        lets = []
        inside = dict(levels)
        for bound in self._plan.homes.get(home, []):
            type_node = graph.types[bound]
            assert type_node is not None
            type_ = yield self._term(type_node, inside, depth)
            value = yield self._content(bound, graph.nodes[bound], inside, depth)
            lets.append((type_, value))
            inside[~bound] = depth
            depth += 1
        result: int = yield self._term(node, inside, depth)
        name = builder.name_of(0, "x")
        for type_, value in reversed(lets):
            result = builder.term(LET, name=name, a=type_, b=value, c=result)
        return result
