"""The system calls that no stage of a check may make, as a filter for Linux's seccomp.

A classic BPF program, the form that both ``bwrap --seccomp`` and ``prctl`` take. It is a net below the namespaces,
never enough alone: it takes sockets away (so not even a local server can be reached), and the calls by which sandboxes
have been left before.
"""

import platform
import struct

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Call → its number on x86_64 and on aarch64.
_REFUSED = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "ptrace": (101, 117),
    "mount": (165, 40),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "setns": (308, 268),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "pidfd_getfd": (438, 438),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
}
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050001, 0x80000000  # the second answers EPERM
_X32 = 0x40000000


def refusing_filter(machine: str | None = None) -> bytes | None:
    """The filter's instructions; None on processors whose call numbers are not listed here.

    Args:
        machine: As ``platform.machine()`` names it, this one by default.
    """
    machine = machine or platform.machine()
    if machine not in _ARCHITECTURES:
        return None
    numbers = sorted(pair[machine == "aarch64"] for pair in _REFUSED.values())
    lines = [(_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_EQUAL, 1, 0, _ARCHITECTURES[machine]), (_RETURN, 0, 0, _KILL)]
    lines += [(_LOAD, 0, 0, _NUMBER), (_JUMP_AT_LEAST, len(numbers) + 1, 0, _X32)]
    # A match jumps to the last line; numbers of the x32 kind, which would pass by the list, do so at once.
    lines += [(_JUMP_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    lines += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("<HBBI", *line) for line in lines)
