"""What the pages of docs/ promise, tied to the tests that see it broken (promises.toml beside this file).

    python -m tests.promises [--list | --renew] [WORD…]

Breaks each promise that has a ``breaks`` once: in a copy of the tree, one piece of the code is replaced, and the
promise's tests must fail. What they do not notice is printed and ends the command with 1. WORDs choose promises by what
their ids begin with. `make mutants` runs it before the sampled mutants of mutants.py. Where a page was only put in
other words, --renew writes the nearest sentence into the table; look at the difference, for what is promised may have
changed too.
"""

import argparse
import difflib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SLOWEST_S = 600
"""Tests of a broken promise that take longer hang, which is noticed."""
_NOTHING_RAN = 5
COPIED = ("proverbench", "tests", "docs", "data", "configs", "prompts", "runs", "benchmarks", "pyproject.toml")
"""What a copy of the tree needs for its tests, besides the pages at the top."""


@dataclass(frozen=True)
class Break:
    """One way to break a promise."""

    file: str
    """Of the code, from the top of the tree."""
    find: str
    """A piece that stands in it once."""
    put: str
    """What stands there instead."""


@dataclass(frozen=True)
class Promise:
    """A sentence of a page, and what sees to it."""

    id: str
    """``PAGE.WORDS``: the page is docs/PAGE.md."""
    says: str
    """The sentence, or the part of it that promises; word for word, white space aside."""
    tests: tuple[str, ...]
    """Node ids below tests/, without parameters."""
    breaks: tuple[Break, ...]

    @property
    def page(self) -> Path:
        """Where it is said."""
        return ROOT / "docs" / f"{self.id.partition('.')[0]}.md"


def promises() -> list[Promise]:
    """All that are listed."""
    listed = tomllib.loads((Path(__file__).parent / "promises.toml").read_text(encoding="utf-8"))
    found = []
    for page, rows in listed.items():
        for name, row in rows.items():
            breaks = tuple(Break(*one) for one in row.get("breaks", []))
            found.append(Promise(f"{page}.{name}", row["says"], tuple(row["tests"]), breaks))
    return found


def plain(text: str) -> str:
    """Without marks of Markdown and with one blank for each white space, so that line ends do not matter."""
    return " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`]", r"\1", text).split())


def points(page: str) -> list[str]:
    """The items of a page's lists, code left out."""
    prose = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    return [plain(item) for item in re.findall(r"^ *- (.*(?:\n  +(?!- ).*)*)", prose, flags=re.MULTILINE)]


def nearest(says: str, page: str) -> str | None:
    """What a page says now in place of a sentence that is gone: up to four parts ending with ``.``, ``;``, ``:``."""
    found = [""]
    for part in re.split(r"\n\s*\n|\n(?= *- )|\|", page):
        pieces = re.split(r"(?<=[.;:]) ", plain(part).removeprefix("- "))
        found += [" ".join(pieces[at : at + n]) for at in range(len(pieces)) for n in range(1, 5)]
    ratio, best = max((difflib.SequenceMatcher(None, says, one).ratio(), one) for one in set(found))
    return best if ratio > 0.5 else None


def renew(chosen: Sequence[Promise]) -> int:
    """Write what the pages say now into the table, and print it; returns how many sentences are nowhere to be found."""
    table = Path(__file__).parent / "promises.toml"
    text, lost = table.read_text(encoding="utf-8"), 0
    for promise in chosen:
        page = promise.page.read_text(encoding="utf-8")
        if promise.says in plain(page):
            continue
        now = nearest(promise.says, page)
        print(f"{promise.id}\n    - {promise.says}\n    + {now or 'nothing like it'}")
        lost += now is None
        if now is not None:
            text = text.replace(f"says = {_quoted(promise.says)}", f"says = {_quoted(now)}")
    table.write_text(text, encoding="utf-8")
    return lost


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def copy_of_the_tree(target: Path) -> None:
    """Copy what the tests need."""
    skipped = shutil.ignore_patterns("__pycache__", "node_modules", ".artefacts")
    for name in (*COPIED, *(path.name for path in ROOT.glob("*.md")), "Makefile", "LICENSE"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=skipped, symlinks=True)
        elif source.exists():
            shutil.copy(source, target / name)


def fails(tree: Path, tests: Sequence[str]) -> bool:
    """Whether a tree's tests fail; a copy has no third parties' data beside it, so that some are left out."""
    nodes = [f"tests/{test}" for test in tests]
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *nodes]
    where = os.environ | {"PYTHONPATH": str(tree)}
    with subprocess.Popen(
        command, cwd=tree, env=where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as running:
        try:
            code = running.wait(SLOWEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            return True
    if code == _NOTHING_RAN:
        raise SystemExit(f"none of these tests can run in a copy of the tree: {' '.join(tests)}")
    return code != 0


def survivors(chosen: Sequence[Promise], tree: Path) -> Iterator[str]:
    """A line for each break that nothing notices, as they are found."""
    broken = [promise for promise in chosen if promise.breaks]
    # One run of them all is quicker than one for each promise, and nearly always enough.
    sound = bool(broken) and not fails(tree, list(dict.fromkeys(test for one in broken for test in one.tests)))
    for promise in broken:
        if not sound and fails(tree, promise.tests):
            yield f"{promise.id}: its tests fail without any change"
            continue
        for one in promise.breaks:
            file = tree / one.file
            whole = file.read_text(encoding="utf-8")
            file.write_text(whole.replace(one.find, one.put), encoding="utf-8")
            try:
                if not fails(tree, promise.tests):
                    yield f"{promise.id}: nothing notices {one.put!r} in place of {one.find!r} in {one.file}"
            finally:
                file.write_text(whole, encoding="utf-8")


def main() -> int:
    """Break what was chosen, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--list", action="store_true", help="print the promises and their tests, break nothing")
    parser.add_argument("--renew", action="store_true", help="write what the pages say now into the table")
    options = parser.parse_args()
    chosen = [one for one in promises() if not options.words or one.id.startswith(tuple(options.words))]
    if options.list:
        for promise in chosen:
            print(f"{promise.id}: {promise.says}\n    {' '.join(promise.tests)}")
        return 0
    if options.renew:
        return 1 if renew(chosen) else 0
    # Within the tree: what isolates processes hides /tmp from them.
    tree = ROOT / ".artefacts" / f"promises-{os.getpid()}"
    found = 0
    try:
        copy_of_the_tree(tree)
        for line in survivors(chosen, tree):
            found += 1
            print(line, flush=True)
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    breaks = sum(len(promise.breaks) for promise in chosen)
    print(f"{len(chosen)} promises, {breaks} breaks, {found} survived")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
