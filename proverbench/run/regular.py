"""The files of a run are regular ones; a pipe or device in place of one is named, not waited for."""

import os
import stat
from pathlib import Path

from proverbench.errors import JournalError


def open_regular(path: str | Path, flags: int, mode: int = 0o644) -> int:
    """Open a file of a run; a descriptor, as ``os.open`` gives. Also an ``opener`` for ``open``.

    Raises:
        OSError: As ``os.open`` does.
        JournalError: If it is a named pipe, a device or a socket.
    """
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    kind = os.fstat(fd).st_mode
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind):  # a folder is refused by what reads or writes it
        return fd
    os.close(fd)
    raise JournalError(f"{path} is a pipe or a device, not a file; put the run's own file back")


def read_regular(path: str | Path) -> bytes:
    """A file of a run, whole; raises as :func:`open_regular`."""
    with open(path, "rb", opener=open_regular) as file:
        return file.read()
