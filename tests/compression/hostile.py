"""Hostile submissions, made by our own code: what the tests of the threat model run."""

import base64
import io
import struct
import tarfile
import textwrap
from collections.abc import Iterable, Mapping

from proverbench.compression.lean_objects import ObjectReader

# A constant that is declared under a name of Lean's own library *is* that function when Lean runs it. So a file that
# imports nothing can still start programs while it compiles; the elaborator of `#check` is replaced by one that does.
_SHELL = """prelude
@IMPORTS@
set_option linter.all false
inductive String where | one (s : String)
inductive X where | x | pair (a b : X)
inductive Way where | piped | inherit | null
inductive YesNo where | no | yes
inductive Streams where | mk (stdin stdout stderr : Way)
inductive Start where | mk (streams : Streams) (program : String) (args cwd env : X) (inherit setsid : YesNo)
def Lean.Elab.Command.CommandElab : Type := X
@[extern "x"] opaque IO.Process.exit (a code world : X) : X := X.x
@[extern "x"] opaque IO.Process.output (start : Start) (input world : X) : X := X.x
@[extern "x"] opaque Array.emptyWithCapacity (a n : X) : X := X.x
@[extern "x"] opaque Array.push (type array : X) (item : String) : X := X.x
def arguments : X := Array.push X.x (Array.push X.x (Array.emptyWithCapacity X.x X.x) "-c") "@COMMAND@"
def start : Start :=
  Start.mk (Streams.mk Way.null Way.null Way.null) "/bin/sh" arguments X.x (Array.emptyWithCapacity X.x X.x)
    YesNo.yes YesNo.no
def run : Lean.Elab.Command.CommandElab := IO.Process.exit (IO.Process.output start X.x X.x) X.x X.x
attribute [command_elab Lean.Parser.Command.check] run
#check X.x
"""


def shell_source(command: str, payload: bytes = b"", imports: str = "Base") -> str:
    """A source that runs a command of /bin/sh while it compiles; the payload follows as base64, after ``--@``."""
    assert '"' not in command
    assert "\\" not in command
    lines = "".join(f"--@{line}\n" for line in textwrap.wrap(base64.b64encode(payload).decode(), 100))
    text = _SHELL.replace("@IMPORTS@\n", f"import {imports}\n" if imports else "")
    return text.replace("@COMMAND@", command) + lines


UNPACK = "sed -n 's/^--@//p' Addition.lean | base64 -d | tar xz"
"""Unpacks the payload where a file is compiled."""


def archive(files: Mapping[str, bytes]) -> bytes:
    """A .tar.gz, for payloads."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.base = int.from_bytes(data[80:88], "little")

    def read(self, address: int, size: int) -> bytes:
        return self.data[address - self.base :][:size]


def with_false_proofs(olean: bytes, theorems: Iterable[str]) -> bytes:
    """The .olean with the statement's own type term in place of each named theorem's proof."""
    memory = _Bytes(olean)
    read = ObjectReader(memory)

    def name(pointer: int) -> str:
        if pointer & 1:
            return ""
        node = read.node(pointer)
        last = read.field(node, 1)
        part = read.string(last) if node.tag == 1 else str(read.nat(last))
        before = name(read.field(node, 0))
        return f"{before}.{part}" if before else part

    out = bytearray(olean)
    root = read.node(int.from_bytes(olean[88:96], "little"))
    left = set(theorems)
    for pointer in read.array(read.field(root, 2)):
        value = read.node(read.field(read.node(pointer), 0))
        head = read.node(read.field(value, 0))
        shown = name(read.field(head, 0))
        if shown in left:
            left.remove(shown)
            struct.pack_into("<Q", out, value.at + 8 - memory.base, read.field(head, 2))
    assert not left
    return bytes(out)
