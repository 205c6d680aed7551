"""Whether what is said of isolation is true."""

import struct
import sys
import tempfile
from pathlib import Path

import pytest

from proverbench.compression import isolation as module
from proverbench.compression import seccomp
from proverbench.compression.isolation import Isolation, require_isolation, run_stage
from proverbench.compression.limits import Allowance, StoppedError
from proverbench.compression.seccomp import refusing_filter
from tests.support import wait_for

MEANS = module.MEANS


def python(source: str, means: str, *, seconds: int = 600) -> str:
    command = [module.python(), "-I", "-S", "-c", source]
    done = run_stage(Isolation(means), command, b"", Allowance(time_s=seconds), output_limit=10_000)
    if done.status != 0:
        raise StoppedError(f"status {done.status}: {done.errors}")
    return done.output.decode()


@pytest.fixture(params=MEANS)
def means(request: pytest.FixtureRequest) -> str:
    wanted: str = request.param
    try:
        python("pass", wanted)
    except (OSError, StoppedError) as exc:
        pytest.skip(f"no {wanted} here: {exc}")
    return wanted


def test_no_network(means: str) -> None:
    said = python("import socket\ntry: socket.socket()\nexcept PermissionError as e: print('refused')", means)
    assert said == "refused\n"


def test_files_are_read_only_or_absent(means: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not for a submission")
    # What runs the submission is shown, and may be installed below /tmp.
    below = [Path(path) for path in (sys.prefix, sys.base_prefix, __file__) if path.startswith("/tmp/")]
    shown = {path.parts[2] for path in below if not tmp_path.is_relative_to(Path(*path.parts[:3]))} or {""}
    source = f"""
import os, pathlib
for path in ("/usr/x", "/x/y"):
    try:
        pathlib.Path(path).write_text("")
        print("wrote", path)
    except OSError:
        pass
pathlib.Path("/tmp/mine").write_text("fine")
seen = os.listdir("/tmp")
print(os.path.exists("/etc/passwd"), os.path.exists({str(secret)!r}), *sorted(set(seen) - {shown!r}))
"""
    assert python(source, means) == "False False mine\n"


def test_what_is_shown_can_be_read_and_never_written_by_anybody(means: str) -> None:
    """A folder that all users may write, so that only the mount keeps a stage out of it."""
    with tempfile.TemporaryDirectory(prefix="compressionbench-shown-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "file").write_text("shown")
        (folder / "file").chmod(0o777)
        source = f"""
import os, pathlib
folder = pathlib.Path({name!r})
print((folder / "file").read_text())
file = folder / "file"
acts = (lambda: file.write_text("x"), lambda: (folder / "new").touch(), lambda: os.chmod(folder, 0o700), file.unlink)
for act in acts:
    try:
        act()
        print("written")
    except OSError as exc:
        print(exc.strerror)
flags = os.statvfs(folder).f_flag
print(bool(flags & os.ST_RDONLY), bool(flags & os.ST_NOSUID))
"""
        command = [module.python(), "-I", "-S", "-c", source]
        done = run_stage(Isolation(means), command, b"", Allowance(), output_limit=10_000, visible=[folder])
        assert done.output.decode().splitlines() == ["shown", *["Read-only file system"] * 4, "True True"], done.errors
        assert [path.name for path in folder.iterdir()] == ["file"]


def test_processor_time_and_files_are_limited(means: str) -> None:
    source = """
import resource
for name in ("CPU", "NOFILE", "CORE", "FSIZE"):
    print(name, resource.getrlimit(getattr(resource, "RLIMIT_" + name))[1])
"""
    said = dict(line.split() for line in python(source, means, seconds=77).splitlines())
    assert said == {"CPU": "77", "NOFILE": "256", "CORE": "0", "FSIZE": str(Allowance().file_mb * 2**20)}


def test_memory_is_limited(means: str) -> None:
    assert python("try: bytearray(9 * 2**30)\nexcept MemoryError: print('refused')", means) == "refused\n"


def test_processes_are_limited(means: str) -> None:
    if means == "bubblewrap as root":
        pytest.skip("limits on processes do not bind root")
    source = """
import os, signal, time
made = []
try:
    while len(made) < 400:
        made.append(os.fork())
        if made[-1] == 0:
            time.sleep(3600)
except OSError as exc:
    print("refused", len(made) < 300)
for child in made:
    os.kill(child, signal.SIGKILL)
"""
    assert python(source, means) == "refused True\n"


def test_time_is_limited_and_nothing_stays_behind(means: str) -> None:
    mark = f"left behind {means}"
    with pytest.raises(StoppedError, match="more than 1 s"):
        python(f"import time; time.sleep(600)  # {mark}", means, seconds=1)

    def left() -> list[Path]:
        return [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _content(path)]

    wait_for(lambda: not left(), why=lambda: str(left()))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_other_processes_are_not_seen(means: str) -> None:
    assert python("import os; print(os.getpid() < 20)", means) == "True\n"


def test_a_failure_is_no_verdict(means: str) -> None:
    with pytest.raises(StoppedError, match="status 3"):
        python("import sys; sys.exit(3)", means)


def test_without_any_means_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_probe", lambda means: f"{means} is not allowed")
    require_isolation.cache_clear()
    try:
        with pytest.raises(StoppedError, match=r"bubblewrap is not allowed.*apt-get install bubblewrap.*--unsafe"):
            require_isolation()
    finally:
        require_isolation.cache_clear()


def test_no_privileges_are_left(means: str) -> None:
    said = python("print(open('/proc/self/status').read())", means)
    found = dict(line.split(":\t") for line in said.splitlines() if line.startswith(("Cap", "NoNewPrivs", "Seccomp:")))
    assert {name: int(found[name].strip(), 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == dict.fromkeys(
        ("CapEff", "CapPrm", "CapBnd", "CapAmb"), 0
    )
    assert (found["NoNewPrivs"].strip(), found["Seccomp"].strip()) == ("1", "2")


def test_a_namespace_cannot_be_made_inside(means: str) -> None:
    source = "import ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.unshare(0x10000000), ctypes.get_errno())"
    assert python(source, means) == "-1 1\n"


def test_output_is_limited(means: str) -> None:
    with pytest.raises(StoppedError, match="wrote more than 10,000 bytes"):
        python("print('x' * 20_000)", means)


def test_disk_is_limited(means: str) -> None:
    source = """
try:
    with open("/tmp/x", "wb") as file:
        for _ in range(100): file.write(bytes(2**20))
except OSError as exc:
    print(exc.errno)
"""
    assert python(source, means) == "28\n"


def test_many_small_files_fill_the_disk_too(means: str) -> None:
    source = """
made = 0
try:
    for made in range(400):
        with open(f"/tmp/{made}", "wb") as file: file.write(bytes(2**20))
except OSError as exc:
    print(exc.errno, made)
"""
    number, made = map(int, python(source, means).split())
    assert number == 28
    assert Allowance().disk_mb - 2 <= made <= Allowance().disk_mb + 1


def test_a_process_left_behind_is_gone_when_the_stage_ends(means: str) -> None:
    mark = f"left behind by {means}"
    source = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600) # {mark}"], start_new_session=True,
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("done")
"""
    assert python(source, means) == "done\n"
    assert [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _content(path)] == []


def test_the_environment_holds_no_secret(means: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PB_SECRET", "secret")
    source = """
import glob
print(any(b"PB_SECRET" in open(path, "rb").read() for path in glob.glob("/proc/[0-9]*/environ")))
"""
    assert python(source, means) == "False\n"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_refuses_what_it_lists_and_allows_the_rest(machine: str) -> None:
    """The filter's own machine, played here: it must answer for every call number."""
    rules = refusing_filter(machine)
    assert rules is not None
    lines = [struct.unpack_from("<HBBI", rules, at) for at in range(0, len(rules), 8)]
    place = machine == "aarch64"
    refused = {pair[place] for pair in seccomp._REFUSED.values()}
    architecture = seccomp._ARCHITECTURES[machine]

    def answer(arch: int, number: int) -> int:
        at, held = 0, 0
        while True:
            code, jt, jf, k = lines[at]
            at += 1
            if code == 0x20:
                held = arch if k == 4 else number
            elif code == 0x06:
                return k
            else:
                at += jt if (held == k if code == 0x15 else held >= k) else jf

    for number in range(600):
        assert answer(architecture, number) == (0x00050001 if number in refused else 0x7FFF0000)
    assert answer(architecture, 0x40000000 + 41) == 0x00050001
    assert answer(1, 41) == 0x80000000
    assert refusing_filter("riscv64") is None
