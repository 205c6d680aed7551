"""From sources to compiled files: headers, order, and a stage of its own for each file (``prelude`` files)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from proverbench.compression.kernel import LeanKernel
from proverbench.compression.tasks import module_name

_COMMENT = re.compile(r"--[^\n]*")
_IMPORT = re.compile(r"(?:public\s+)?(?:meta\s+)?import\s+(?:all\s+)?([^\s]+)")


@dataclass(frozen=True, slots=True)
class Compiled:
    """What some files were compiled to."""

    oleans: Mapping[str, bytes]
    """Path of each source file → its .olean, in the order of compilation."""
    problems: tuple[str, ...] = ()
    """Why the rest was not; empty when all were."""
    log: tuple[str, ...] = ()
    """The end of what Lean said of the file that failed."""


@dataclass(frozen=True, slots=True)
class Header:
    """What stands at the top of a Lean file."""

    imports: tuple[str, ...]
    prelude: bool
    module: bool


def read_header(source: str) -> Header:
    """The header of a Lean file: ``module``, ``prelude`` and imports, comments skipped."""
    rest = _skip_blank(source)
    module = bool(re.match(r"module\b", rest))
    if module:
        rest = _skip_blank(rest[len("module") :])
    prelude = bool(re.match(r"prelude\b", rest))
    if prelude:
        rest = _skip_blank(rest[len("prelude") :])
    imports = []
    while found := _IMPORT.match(rest):
        imports.append(found[1])
        rest = _skip_blank(rest[found.end() :])
    return Header(tuple(imports), prelude, module)


def _skip_blank(text: str) -> str:
    while True:
        text = text.lstrip()
        if text.startswith("--"):
            found = _COMMENT.match(text)
            assert found is not None
            text = text[found.end() :]
        elif text.startswith("/-"):
            text = text[_comment_end(text) :]
        else:
            return text


def _comment_end(text: str) -> int:
    """Where the block comment that the text starts with ends; such comments nest."""
    depth = 0
    for token in re.finditer(r"/-|-/", text):
        depth += 1 if token[0] == "/-" else -1
        if depth == 0:
            return token.end()
    return len(text)


def source_problems(files: Mapping[str, bytes], allowed: Iterable[str], *, prelude: bool) -> list[str]:
    """What makes files unfit before anything is compiled.

    Args:
        files: Path → content.
        allowed: Modules that they may import.
        prelude: Whether they must be self-contained.
    """
    problems = []
    known = set(allowed)
    for path, data in sorted(files.items()):
        try:
            header = read_header(data.decode("utf-8"))
        except UnicodeDecodeError as exc:
            problems.append(f"{path}: is not UTF-8 ({exc.reason} at byte {exc.start})")
            continue
        if header.module:
            problems.append(f"{path}: begins with `module`, whose compiled form hides proofs; leave that line out")
        if prelude and not header.prelude:
            problems.append(f"{path}: does not begin with `prelude`; this Lean has no Init, hence no tactics either")
        problems += [
            f"{path}: imports {name}, which is neither an editable file nor in the pinned background"
            for name in header.imports
            if name not in known
        ]
    return problems


def compile_order(files: Mapping[str, bytes]) -> list[str]:
    """Paths such that each comes after those it imports; files in a circle keep their order (Lean then says so)."""
    paths = {module_name(path): path for path in sorted(files)}
    needs = {
        name: [other for other in read_header(files[path].decode("utf-8", "replace")).imports if other in paths]
        for name, path in paths.items()
    }
    order: list[str] = []
    visited: set[str] = set()
    for start in paths:
        stack = [(start, False)]
        while stack:
            name, expanded = stack.pop()
            if expanded:
                order.append(paths[name])
            elif name not in visited:
                visited.add(name)
                stack.append((name, True))
                stack += [(other, False) for other in reversed(needs[name])]
    return order


def compile_files(files: Mapping[str, bytes], kernel: LeanKernel, given: Mapping[str, bytes] | None = None) -> Compiled:
    """Compile self-contained files, each in a stage of its own that sees no other source.

    Args:
        files: The sources, by path.
        kernel: Compiles them.
        given: .olean files that they may import, by the path of their source.

    Raises:
        StoppedError: If a limit ended it, or there is no isolation.
    """
    done: dict[str, bytes] = {}
    for path in compile_order(files):
        seen = {_olean_path(source): data for source, data in {**(given or {}), **done}.items()}
        compilation = kernel.compile(path, {**seen, path: files[path]})
        if compilation.olean is None:
            return Compiled(done, compilation.messages, compilation.log)
        done[path] = compilation.olean
    return Compiled(done)


def _olean_path(source: str) -> str:
    return PurePosixPath(source).with_suffix(".olean").as_posix()
