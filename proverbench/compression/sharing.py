"""The automatic sharing pass: subterms of a proof that occur more than once, written once with ``let``.

A subterm is known together with the variables that it speaks of, so two occurrences count as one term exactly when
they are equal up to bound names *and* mean the same variables; under other binders, or at other universe levels, they
are other terms. A shared subterm is bound as far out as its variables allow: at the start of the body of its innermost
binder, or of the whole proof when it is closed. Its type, which ``let`` needs, is the one that Lean's kernel finds.

Nothing here recurses: proofs may be deeper than Python's stack.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from proverbench.compression.charges import Charge, charge
from proverbench.compression.counting import count_levels
from proverbench.compression.export import BVAR, CONST, LET, PI, SORT, Declaration, Definition, Export, Theorem
from proverbench.compression.export_building import Builder, Importer
from proverbench.compression.export_writing import write_export
from proverbench.compression.kernel import QUERY, LeanKernel, Problem
from proverbench.compression.term_graph import Pen, Steps, TermGraph, Variable, run_steps


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
class SharedProofs:
    """The pass on some proofs, both ways."""

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


def share(export: Export, targets: Sequence[str], background: Iterable[str], kernel: LeanKernel) -> SharedProofs:
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
    graphs = {proof.name: _Graph(builder, proof.value, proof.level_params) for proof in proofs}
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
    return SharedProofs(before.count, everything, written())


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


class _Graph(TermGraph):
    """One proof, and the choice of which of its nodes to bind."""

    def __init__(self, builder: Builder, root: int, level_params: Sequence[int]) -> None:
        super().__init__(builder, root, level_params)
        self.types: dict[int, int | None] = {}
        """Repeated node → the node of its type; None: the kernel found none, so it is never bound."""
        self.bound: set[int] = set()

    def _home(self, node: int) -> int | None:
        """The innermost variable that a node means."""
        support = self.nodes[node].support
        return max(support, key=lambda x: self.variables[x].depth) if support else None

    def _is_atom(self, node: int) -> bool:
        item = self.nodes[node]
        if item.children or item.kind == SORT:
            return False
        return item.kind != CONST or not self.builder.export.level_lists[self.builder.export.a[item.term]]

    def repeated(self) -> list[int]:
        """Nodes of more than one node size that stand in more than one place, types of bound ones included.

        Also binds them all.
        """
        uses: dict[int, int] = {}
        pending = [self.root]
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
                pending += self.nodes[node].children
        self.bound = {node for node in waiting if self.types.get(node, 0) is not None}
        return sorted(waiting)

    def learn_type(self, node: int, closed_type: int | None) -> None:
        """Read the node's type off the type of :meth:`closed`."""
        if closed_type is None:
            self.types[node] = None
            return
        export = self.builder.export
        env: tuple[int, ...] = ()
        for name in self.context(node):
            variable = self.variables[name]
            if variable.value is None:
                assert export.kind[closed_type] == PI
                closed_type, env = export.b[closed_type], (*env, name)
            elif export.kind[closed_type] == LET and self._is_let_of(closed_type, env, variable):
                closed_type, env = export.c[closed_type], (*env, name)
            # Else the kernel left this `let` out, as the type does not mention it.
        self.types[node] = self.open(closed_type, env)

    def _is_let_of(self, term: int, env: tuple[int, ...], variable: Variable) -> bool:
        export = self.builder.export
        type_ = self.open(export.a[term], env)
        return type_ == variable.type and self.open(export.b[term], env) == variable.value

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
        stack = [(self.root, False)]
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
            below = list(self.nodes[node].children)
            type_ = self.types.get(node) if node in self.bound else None
            if type_ is not None:
                if state.get(type_) == 1:
                    self.bound.discard(node)
                else:
                    below.append(type_)
            stack += [(child, False) for child in below]
        return order[::-1]

    def _measure(self, plan: _Plan) -> None:
        levels = count_levels(self.builder.export)
        for node in reversed(plan.live):
            item = self.nodes[node]
            size, mentions = 1, set[int]()
            if item.kind == BVAR:
                mentions.add(item.support[0])
            elif item.kind == SORT:
                size += levels[self.builder.export.a[item.term]]
            elif item.kind == CONST:
                size += sum(levels[x] for x in self.builder.export.level_lists[self.builder.export.a[item.term]])
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
        binder = {self.nodes[node].variable: node for node in plan.live}
        plan.copies = dict.fromkeys(plan.live, 0)
        plan.references = dict.fromkeys(self.bound, 0)

        def refer(node: int, times: int) -> None:
            if node in self.bound:
                plan.references[node] += times
            else:
                plan.copies[node] += times

        refer(self.root, 1)
        for node in plan.live:
            if node in self.bound:
                home = self._home(node)
                copies = plan.copies[node] = 1 if home is None else plan.copies[binder[home]]
                type_ = self.types[node]
                assert type_ is not None
                refer(type_, copies)
            for child in self.nodes[node].children:
                refer(child, plan.copies[node])

    # -- writing

    def write(self) -> int:
        """The proof with its lets, as a closed term."""
        plan = self._plan()
        pen = _LetPen(self, plan, frozenset(self.bound & set(plan.live)))
        return run_steps(pen.scope(None, self.root, {}, 0))


class _LetPen(Pen):
    """Writes nodes with lets: bound node N is the key ``~N`` of ``levels``."""

    def __init__(self, graph: _Graph, plan: _Plan, bound: frozenset[int]) -> None:
        super().__init__(graph)
        self._types = graph.types
        self._plan = plan
        self._bound = bound

    def steps(self, node: int, levels: dict[int, int], depth: int) -> Steps[int]:
        """A node, or the variable that it is bound to."""
        if node in self._bound:
            return self.graph.builder.term(BVAR, a=depth - 1 - levels[~node])
        content: int = yield self.content(node, levels, depth)
        return content

    def mentioned(self, node: int) -> Sequence[int]:
        """Variables and bound nodes in a node's written form."""
        return tuple(self._plan.free.get(node, self.graph.nodes[node].support))

    def body(self, variable: int, node: int, levels: dict[int, int], depth: int) -> Steps[int]:
        """The body of a variable's binder, after the lets that belong there."""
        return self.scope(variable, node, levels, depth)

    def scope(self, home: int | None, node: int, levels: dict[int, int], depth: int) -> Steps[int]:
        """A node after the lets that belong at the start of a scope."""
        builder = self.graph.builder
        lets = []
        inside = dict(levels)
        for bound in self._plan.homes.get(home, []):
            type_node = self._types[bound]
            assert type_node is not None
            type_ = yield self.steps(type_node, inside, depth)
            value = yield self.content(bound, inside, depth)
            lets.append((type_, value))
            inside[~bound] = depth
            depth += 1
        result: int = yield self.steps(node, inside, depth)
        name = builder.name_of(0, "x")
        for type_, value in reversed(lets):
            result = builder.term(LET, name=name, a=type_, b=value, c=result)
        return result
