"""Runs a command in Linux namespaces of its own: no network, no other processes, files read-only or absent.

Standard library only, as it is run by path before anything else is visible: ``python sandbox.py SPEC COMMAND…`` with a
JSON object of ``scratch`` (an empty folder), ``readonly`` (paths to show), ``memory_mb``, ``processes``, ``seconds``.
Exit status 113 means that the system does not allow it; nothing was run then.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from pathlib import Path

CANNOT = 113
_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = (
    0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_PR_SET_PDEATHSIG = 1
_NOBODY = 65534
_DEVICES = ("null", "zero", "random", "urandom")


def main() -> None:
    """Set everything up, run the command as process 1 of its own world, pass its status on."""
    spec = json.loads(sys.argv[1])
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        _enter_namespaces(libc)
        root = Path(spec["scratch"])
        _build_root(libc, root, spec["readonly"])
    except OSError as exc:
        print(f"cannot isolate: {exc}", file=sys.stderr)
        os._exit(CANNOT)
    child = os.fork()
    if child == 0:
        try:
            _become_first_process(libc, root, spec)
            os.execvp(sys.argv[2], sys.argv[2:])
        except OSError as exc:
            print(f"cannot isolate: {exc}", file=sys.stderr)
        os._exit(CANNOT)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _enter_namespaces(libc: ctypes.CDLL) -> None:
    uid, gid = os.getuid(), os.getgid()
    ready, go = os.pipe()
    helper = os.fork()
    if helper == 0:
        # Only a process outside the new namespace may map more than one user into it.
        os.close(go)
        os.read(ready, 1)
        os._exit(0 if _map_root_and_nobody(os.getppid()) else 1)
    os.close(ready)
    _check(libc.unshare(_NEWUSER | _NEWNS | _NEWUTS | _NEWIPC | _NEWPID | _NEWNET), "unshare")
    os.write(go, b"x")
    os.close(go)
    if os.waitpid(helper, 0)[1] != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def _map_root_and_nobody(process: int) -> bool:
    """Let root set up and nobody run, whom limits on processes bind; works for root alone."""
    if os.getuid() != 0:
        return False
    try:
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{process}/{name}").write_text(f"0 0 1\n{_NOBODY} {_NOBODY} 1")
    except OSError:
        return False
    return True


def _mount(libc: ctypes.CDLL, source: str, target: Path, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, str(target), kind, data)]
    _check(
        libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]), f"mount {source} on {target}"
    )


def _build_root(libc: ctypes.CDLL, root: Path, readonly: list[str]) -> None:
    _mount(libc, "none", Path("/"), None, _MS_REC | _MS_PRIVATE)
    _mount(libc, "tmpfs", root, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=2g,mode=755")
    for path in readonly:
        target = root / path.lstrip("/")
        if os.path.islink(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(os.readlink(path))
            continue
        if os.path.isdir(path):
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        _mount(libc, path, target, None, _MS_BIND | _MS_REC)
        _make_readonly(libc, target)
    (root / "dev").mkdir(exist_ok=True)
    for device in _DEVICES:
        (root / "dev" / device).touch()
        _mount(libc, f"/dev/{device}", root / "dev" / device, None, _MS_BIND)
    (root / "proc").mkdir(exist_ok=True)
    (root / "tmp").mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)


def _make_readonly(libc: ctypes.CDLL, target: Path) -> None:
    attributes = (ctypes.c_uint64 * 4)(1 | 2, 0, 0, 0)  # set: read-only, no set-uid
    done = libc.syscall(
        _MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), _AT_RECURSIVE, ctypes.byref(attributes), ctypes.c_size_t(32)
    )
    if done != 0:  # before Linux 5.12
        kept = os.statvfs(target).f_flag & (_MS_NOSUID | _MS_NODEV | 8 | 1024 | 2048)
        _mount(libc, "none", target, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | kept)


def _become_first_process(libc: ctypes.CDLL, root: Path, spec: dict[str, int]) -> None:
    become_nobody = os.getuid() == 0 and f" {_NOBODY} " in Path("/proc/self/uid_map").read_text()
    # Where the system's own /proc is partly hidden (containers), a new one is refused; nothing here needs it.
    with contextlib.suppress(OSError):
        _mount(libc, "proc", root / "proc", "proc", _MS_NOSUID | _MS_NODEV)
    os.chroot(root)
    os.chdir("/tmp")
    memory = spec["memory_mb"] * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (spec["seconds"], spec["seconds"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (spec["processes"], spec["processes"]))
    if become_nobody:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    # Last, because a change of user takes it back: when the process outside dies, everything in here dies.
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
