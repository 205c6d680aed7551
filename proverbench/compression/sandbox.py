"""Runs a command in Linux namespaces of its own: no network, no other processes, files read-only or absent.

Standard library only, as it is run by path before anything else is visible: ``python sandbox.py SPEC COMMAND…`` with a
JSON object of ``scratch`` (an empty folder), ``readonly`` (paths to show), ``memory_mb``, ``processes``, ``seconds``,
``file_mb``, ``disk_mb``, ``stack_mb``, ``cwd`` and ``filter`` (a seccomp program in hexadecimal). Exit status 113
means that the system does not allow it; nothing was run then.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import struct
import sys
from pathlib import Path
from typing import Any

CANNOT = 113
_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = (
    0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 22, 24, 38
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION = 0x20080522
_LAST_CAPABILITY = 63
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
        _build_root(libc, root, spec["readonly"], spec["disk_mb"])
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
    # Nothing inside needs namespaces of its own. Containers may show this file read-only.
    with contextlib.suppress(OSError):
        Path("/proc/sys/user/max_user_namespaces").write_text("0")


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


def _build_root(libc: ctypes.CDLL, root: Path, readonly: list[str], disk_mb: int) -> None:
    _mount(libc, "none", Path("/"), None, _MS_REC | _MS_PRIVATE)
    _mount(libc, "tmpfs", root, "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={disk_mb + 1}m,mode=755")
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


def _become_first_process(libc: ctypes.CDLL, root: Path, spec: dict[str, Any]) -> None:
    become_nobody = os.getuid() == 0 and f" {_NOBODY} " in Path("/proc/self/uid_map").read_text()
    # Where the system's own /proc is partly hidden (containers), a new one is refused; nothing here needs it.
    with contextlib.suppress(OSError):
        _mount(libc, "proc", root / "proc", "proc", _MS_NOSUID | _MS_NODEV)
    os.chroot(root)
    os.chdir(spec["cwd"])
    os.setsid()
    _limit_resources(spec)
    for capability in range(_LAST_CAPABILITY + 1):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    if become_nobody:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    _drop_capabilities(libc)
    # After the change of user, which takes it back: when the process outside dies, everything in here dies.
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _refuse_calls(libc, bytes.fromhex(spec["filter"]))


def _limit_resources(spec: dict[str, Any]) -> None:
    memory, files = spec["memory_mb"] * 2**20, spec["file_mb"] * 2**20
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    stack = spec["stack_mb"] * 2**20
    resource.setrlimit(resource.RLIMIT_STACK, (stack if hard < 0 else min(stack, hard), hard))
    for name, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, spec["seconds"]),
        (resource.RLIMIT_FSIZE, files),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_NPROC, spec["processes"]),
        (resource.RLIMIT_CORE, 0),
    ):
        most = resource.getrlimit(name)[1]
        value = value if most < 0 else min(value, most)
        resource.setrlimit(name, (value, value))


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _check(libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def _refuse_calls(libc: ctypes.CDLL, rules: bytes) -> None:
    held = ctypes.create_string_buffer(rules, len(rules))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(rules) // 8, ctypes.addressof(held)))
    libc.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong]
    _check(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program), 0, 0), "seccomp")


if __name__ == "__main__":
    main()
