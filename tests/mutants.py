"""`make mutants`: break a line of the core, and see whether the tests that mirror it notice.

    python -m tests.mutants [--each N] [--seed N] [--jobs N] [MODULE…]

A mutant is a module with one change: a flipped comparison, a dropped statement, another constant (operators of Cosmic
Ray, and one of our own). It is noticed when the tests of :func:`mirror_of` fail. N mutants of a module are drawn by the
seed. Survivors that cannot matter are listed, with the reason, in survivors.toml beside this file; any other survivor
is printed and ends the command with 1. No file is changed: a child process imports the mutated text.
"""

import argparse
import ast
import importlib.machinery
import importlib.util
import os
import random
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.operators.provider import OperatorProvider

ROOT = Path(__file__).parents[1]

PURE = ("metrics", "protocols", "spending")
"""Rooms of the package, every module of which is broken."""
ALSO = (
    "lines",
    "records",
    "endpoints/limits",
    "run/calls",
    "run/comparability",
    "run/derive",
    "run/journal",
    "run/lock",
    "run/reading",
    "run/replies",
)
ELSEWHERE: dict[str, tuple[str, ...]] = {
    "lines": ("run/test_journal_promises.py", "run/test_journal.py"),
    "records": ("run/test_records_derived.py", "run/test_reading.py"),
    "metrics/arrays": ("metrics/test_arrays.py", "metrics/test_rates.py", "metrics/test_published.py"),
    "metrics/curve": ("metrics/test_inference.py",),
    "metrics/metric": ("metrics/test_rates.py", "metrics/test_registry.py"),
    "metrics/proverbench": ("metrics/test_published.py", "metrics/test_registry.py", "show/test_browsing.py"),
    "metrics/rates": ("metrics/test_rates.py", "metrics/test_published.py"),
    "metrics/scores": ("metrics/test_scores.py", "metrics/test_published.py"),
    "metrics/summaries": ("metrics/test_inference.py",),
    "metrics/verifierbench": ("metrics/test_published.py", "metrics/test_registry.py"),
    "protocols/elements": ("protocols/test_declared.py", "protocols/test_grading.py"),
    "protocols/fields": ("protocols/test_declared.py", "protocols/test_grading.py"),
    "protocols/protocol": ("protocols/test_made_up.py",),
    "protocols/registry": ("protocols/test_made_up.py",),
    "spending/prices": ("spending/test_money.py",),
    "run/derive": ("run/test_records_derived.py",),
    "run/calls": ("run/test_journal_promises.py", "run/test_journal.py"),
    "run/journal": ("run/test_journal_promises.py", "run/test_journal.py"),
    "run/lock": ("run/test_journal_promises.py", "run/test_journal.py"),
    "run/replies": ("run/test_reading.py",),
}
"""Module → the tests that must notice, where they are not those of its own name."""


def modules() -> list[str]:
    """What is broken: ``metrics/rates`` …"""
    package = ROOT / "proverbench"
    found = [f"{room}/{path.stem}" for room in PURE for path in sorted((package / room).glob("*.py"))]
    return [*ALSO, *(module for module in found if not module.endswith("/__init__"))]


def mirror_of(module: str) -> list[Path]:
    """The tests that mirror a module; those of its whole room where it has none of its own."""
    room, _, name = module.rpartition("/")
    own = ELSEWHERE.get(module, (f"{room}/test_{name}.py",))
    paths = [ROOT / "tests" / one for one in own]
    return paths if all(path.is_file() for path in paths) else [ROOT / "tests" / room]


KINDS = (
    *(
        f"ReplaceComparisonOperator_{was}_{becomes}"
        for was, others in {
            "Eq": ("NotEq",),
            "NotEq": ("Eq",),
            "Lt": ("LtE", "GtE"),
            "LtE": ("Lt", "Gt"),
            "Gt": ("GtE", "LtE"),
            "GtE": ("Gt", "Lt"),
            "Is": ("IsNot",),
            "IsNot": ("Is",),
        }.items()
        for becomes in others
    ),
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceBinaryOperator_Mul_Div",
    "ReplaceBinaryOperator_Div_Mul",
    "ReplaceBinaryOperator_FloorDiv_Mul",
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "NumberReplacer",
    "ZeroIterationForLoop",
)
"""Cosmic Ray's operators that are used; of unary ones, those of any name that begins so."""

PRELOADED = ("aiohttp", "click", "jsonlines", "lxml.etree", "msgspec", "numpy", "pandas", "pydantic")
"""Loaded once, before the children are made: none of it is mutated."""
SLOWEST_S = 600
"""A mutant whose tests take longer hangs, which is noticed."""


class DropStatement(Operator):
    """Replaces a statement that has an effect of its own by ``pass``."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """The statement, if it is a call, an assignment to a part of something, or a raise."""
        if node.type == "simple_stmt" and node.children[0].type in ("expr_stmt", "raise_stmt", "atom_expr"):
            yield (node.start_pos, node.end_pos)

    def mutate(self, node: Any, index: int) -> Any:
        """The node with its statement replaced."""
        import parso

        first = node.children[0]
        prefix = first.get_first_leaf().prefix
        node.children[0] = parso.parse(f"{prefix}pass")
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """One."""
        return (Example("check(x)\n", "pass\n"),)


@dataclass(frozen=True)
class Mutant:
    """A module's text with one change."""

    module: str
    line: int
    was: str
    becomes: str
    text: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}\n    - {self.was}\n    + {self.becomes}"


def mutants(module: str) -> list[Mutant]:
    """Every mutant of a module that changes what it does, not only its annotations."""
    source = (ROOT / "proverbench" / f"{module}.py").read_text(encoding="utf-8")
    whole, found = meaning(source), {}
    provider = OperatorProvider()
    operators = [provider[name]() for name in provider if name in KINDS or name.startswith("ReplaceUnaryOperator")]
    for operator in [*operators, DropStatement()]:
        places = sum(len(list(operator.mutation_positions(node))) for node in ast_nodes(get_ast(source)))
        for occurrence in range(places):
            text = mutate_code(source, operator, occurrence)
            if text is None or text in found or meaning(text) in (whole, None):
                continue
            pairs = zip(source.splitlines(), text.splitlines(), strict=False)
            line, (was, becomes) = next((n, pair) for n, pair in enumerate(pairs, start=1) if pair[0] != pair[1])
            found[text] = Mutant(module, line, was.strip(), becomes.strip(), text)
    return list(found.values())


_GUARDS = ("frozen", "slots", "kw_only", "eq")


def meaning(source: str) -> str | None:
    """The program without annotations, docstrings and places; None if it is no program."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.arguments):
            node.args = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            node.defaults += [default for default in node.kw_defaults if default is not None]
            node.posonlyargs, node.kwonlyargs, node.kw_defaults = [], [], []
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.ClassDef) or (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dataclass"
        ):  # that values stay as they are is what the type checker sees to
            node.keywords = [keyword for keyword in node.keywords if keyword.arg not in _GUARDS]
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


class _Mutated(importlib.machinery.SourceFileLoader):
    """Loads the mutant instead of the file."""

    def __init__(self, mutant: Mutant, path: str) -> None:
        super().__init__(name_of(mutant.module), path)
        self._text = mutant.text

    def get_code(self, fullname: str) -> Any:
        return compile(self._text, self.path, "exec")


class _Finder:
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name != name_of(self._mutant.module):
            return None
        file = str(ROOT / "proverbench" / f"{self._mutant.module}.py")
        return importlib.util.spec_from_file_location(name, file, loader=_Mutated(self._mutant, file))


def name_of(module: str) -> str:
    """``run/journal`` → ``proverbench.run.journal``."""
    return f"proverbench.{module.replace('/', '.')}"


def start(module: str, mutant: Mutant | None) -> int:
    """Run a module's tests in a child process, against the mutant if there is one; returns its id."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silent, stream)
    code = 3
    try:
        if mutant is not None:
            sys.meta_path.insert(0, _Finder(mutant))  # type: ignore[arg-type]
        import pytest

        tests = map(str, mirror_of(module))
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", "not torture", *tests]))
    finally:
        os._exit(code)


def wait(pids: Sequence[int], deadlines: dict[int, float]) -> tuple[int, int]:
    """The next child that ends, and its exit code; one past its deadline is killed, with what it started."""
    while True:
        for pid in pids:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return pid, os.waitstatus_to_exitcode(status)
            if time.monotonic() > deadlines[pid]:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return pid, -signal.SIGKILL
        time.sleep(0.05)


def known_survivors() -> dict[tuple[str, str, str], str]:
    """What may survive: (module, line, what it becomes) → why."""
    listed = tomllib.loads((Path(__file__).parent / "survivors.toml").read_text(encoding="utf-8"))
    return {(one["module"], one["was"], one["becomes"]): one["why"] for one in listed.get("survivor", [])}


def survivors_of(chosen: Sequence[Mutant], jobs: int) -> Iterator[Mutant]:
    """Those that their tests do not notice, as they are found."""
    running: dict[int, Mutant] = {}
    deadlines: dict[int, float] = {}
    waiting = list(reversed(chosen))
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            pid = start(mutant.module, mutant)
            running[pid], deadlines[pid] = mutant, time.monotonic() + SLOWEST_S
        pid, code = wait(list(running), deadlines)
        mutant = running.pop(pid)
        if code == 0:
            yield mutant


def main() -> int:
    """Draw, run, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=modules(), metavar="MODULE")
    parser.add_argument("--each", type=int, default=20, help="mutants of each module [default: 20]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    os.chdir(ROOT)
    for name in PRELOADED:
        importlib.import_module(name)
    known = known_survivors()
    drawn: Counter[str] = Counter()
    survived: Counter[str] = Counter()
    harmless: Counter[str] = Counter()
    for module in options.modules:
        pid = start(module, None)
        if wait([pid], {pid: time.monotonic() + SLOWEST_S})[1] != 0:
            print(f"{module}: its tests fail without any change: {', '.join(map(str, mirror_of(module)))}")
            return 1
        every = mutants(module)
        chosen = random.Random(f"{options.seed} {module}").sample(every, min(options.each, len(every)))
        drawn[module] = len(chosen)
        for mutant in survivors_of(chosen, options.jobs):
            if (module, mutant.was, mutant.becomes) in known:
                harmless[module] += 1
                continue
            survived[module] += 1
            print(mutant, flush=True)
        noticed = drawn[module] - survived[module] - harmless[module]
        print(
            f"{module}: {noticed} of {drawn[module]} noticed, {harmless[module]} of the others cannot matter "
            f"({len(every)} mutants in all)",
            flush=True,
        )
    matter = drawn.total() - harmless.total()
    share = 1 - survived.total() / max(matter, 1)
    print(f"{matter - survived.total()} of {matter} mutants that matter were noticed, {share:.1%}")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
