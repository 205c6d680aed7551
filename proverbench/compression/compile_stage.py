"""Stage 2: a program runs on a participant's files where nothing else is: passed to ``python -c`` inside the sandbox.

Standard library only. Standard input: 8 bytes with the length of a JSON object, the object, the files' bytes. It holds
``files`` (paths and sizes), ``argv`` (the program), ``result`` (the file that it writes; null: its standard output),
and ``lean_path`` (folders with compiled modules). Standard output: 8 bytes with a length, a JSON object (``status``,
``messages``, ``size``, ``full``), the result's bytes. What a hostile file makes of this is its author's claim.
"""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from typing import Any

HALF_OF_MESSAGES = 32 * 2**10


def main() -> None:
    """Lay the files out, run the program, hand over what came of it."""
    source = sys.stdin.buffer
    question: dict[str, Any] = json.loads(source.read(int.from_bytes(source.read(8), "big")))
    for path, size in question["files"]:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(source.read(size))
    roots = {path.split("/")[0].split(".")[0] for path, _ in question["files"]}
    for folder in question["lean_path"]:
        _overlay(folder, roots)
    env = {**os.environ, "LEAN_PATH": os.pathsep.join([os.getcwd(), *question["lean_path"]])}
    result = question["result"] or "stdout.out"
    if question["result"]:
        messages, status = _run(question["argv"], env, subprocess.PIPE, subprocess.STDOUT)
    else:
        with open(result, "wb") as file:
            messages, status = _run(question["argv"], env, file, subprocess.PIPE)
    space = os.statvfs(".")
    content = _plain_file(result)
    answer = {
        "status": status,
        "messages": messages.decode("utf-8", "replace"),
        "full": space.f_bavail * space.f_frsize < 1 << 16,
        "size": -1 if content is None else len(content),
    }
    head = json.dumps(answer).encode()
    sys.stdout.buffer.write(len(head).to_bytes(8, "big") + head + (content or b""))


def _run(argv: "list[str]", env: "dict[str, str]", out: Any, err: Any) -> "tuple[bytes, int]":
    started = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
    stream: Any = started.stdout or started.stderr
    return ends_of(stream.read1), started.wait()


def _overlay(folder: str, roots: "set[str]") -> None:
    """Show a folder's modules in this one, where Lean looks for all that share the first part of their name."""
    for root in sorted(roots):
        for place, _, names in os.walk(os.path.join(folder, root)):
            here = os.path.relpath(place, folder)
            os.makedirs(here, exist_ok=True)
            for name in names:
                if not os.path.lexists(os.path.join(here, name)):
                    os.symlink(os.path.join(place, name), os.path.join(here, name))


def ends_of(read: "Callable[[int], bytes]") -> bytes:
    """The start and the end of a stream, each of at most half the messages' size, in whole lines."""
    start, end, cut = b"", b"", False
    while piece := read(1 << 16):
        room = HALF_OF_MESSAGES - len(start)
        start, end = start + piece[:room], end + piece[room:]
        if len(end) > HALF_OF_MESSAGES:
            end, cut = end[-HALF_OF_MESSAGES:], True
    if cut:
        start, end = start[: start.rfind(b"\n") + 1], end[end.find(b"\n") + 1 :]
    return start + end


def _plain_file(path: str) -> "bytes | None":
    """A file's content; a link, a pipe or a device is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


if __name__ == "__main__":
    main()
