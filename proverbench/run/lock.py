"""Who writes a run: one process at a time."""

import contextlib
import errno
import fcntl
import json
import os
import socket
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from proverbench.errors import JournalError
from proverbench.run.disk import LOCK, disk

_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)


def try_lock(fd: int) -> bool:
    """Lock an open file for this process, unless another has it; closing the file frees it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class RunLock:
    """Only one process writes a run. The system frees the lock when its owner dies.

    Where the file system knows no locks (some cluster file systems), the file itself is the lock, and its owner is
    taken for dead when no such process runs on this host.

    Args:
        folder: The run's folder.

    Raises:
        JournalError: If another process holds it; names host and process.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOCK
        while True:
            with disk(self.path):
                self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                try:
                    self._refuse_unless_free(folder)
                    if self._is_current():
                        break
                except BaseException:
                    os.close(self._fd)
                    raise
                os.close(self._fd)  # the owner removed the file between our open and our lock
        owner_line = json.dumps({"host": socket.gethostname(), "pid": os.getpid()}) + "\n"
        try:
            with disk(self.path):
                os.ftruncate(self._fd, 0)
                os.pwrite(self._fd, owner_line.encode(), 0)
        except BaseException:
            os.close(self._fd)  # which frees the lock
            raise

    def _refuse_unless_free(self, folder: Path) -> None:
        try:
            if try_lock(self._fd):
                return
        except OSError as exc:
            if exc.errno not in _NO_LOCKS:
                raise
            owner = _owner(self._fd)
            if owner is None or owner.is_dead():
                return
        raise JournalError(
            f"{folder} is being written by {_owner(self._fd) or 'another process'}; "
            "wait for it, or stop it, and resume then"
        )

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except FileNotFoundError:
            return False

    def __enter__(self) -> "RunLock":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Remove the lock file and give the lock back."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        os.close(self._fd)


class _Owner(NamedTuple):
    """Who wrote a lock file."""

    host: str
    pid: int

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

    def is_dead(self) -> bool:
        if self.host != socket.gethostname():
            return False  # nobody here can tell
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            pass
        return False


def _owner(fd: int) -> _Owner | None:
    try:
        owner = json.loads(os.pread(fd, 1000, 0))
        return _Owner(str(owner["host"]), int(owner["pid"]))
    except (ValueError, KeyError, TypeError):
        return None


def writer(folder: Path) -> str | None:
    """Who is writing the run at this moment, in words; None when nobody is."""
    try:
        fd = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        owner = _owner(fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return str(owner or "another process")
        except OSError:
            return None if owner is None or owner.is_dead() else str(owner)
        return None
    finally:
        os.close(fd)
