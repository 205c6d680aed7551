"""Whether what is said of isolation is true."""

import sys
from pathlib import Path

import pytest

from proverbench.compression import isolation as module
from proverbench.compression.isolation import Isolation, find_isolation, run_apart
from proverbench.compression.limits import StoppedError
from tests.support import wait_for

MEANS = ["user namespaces", "bubblewrap"]


def python(source: str, means: str, *, seconds: int = 60) -> str:
    command = [sys.executable, "-c", source]
    return run_apart(Isolation(means), command, b"", memory_mb=4096, seconds=seconds).decode()


@pytest.fixture(params=MEANS)
def means(request: pytest.FixtureRequest) -> str:
    wanted: str = request.param
    try:
        python("pass", wanted)
    except (OSError, StoppedError) as exc:
        pytest.skip(f"no {wanted} here: {exc}")
    return wanted


def test_no_network(means: str) -> None:
    said = python(
        "import socket\ntry: socket.create_connection(('192.0.2.1', 80), 2)\nexcept OSError as e: print(e)", means
    )
    assert "unreachable" in said


def test_files_are_read_only_or_absent(means: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not for a submission")
    source = f"""
import os, pathlib, sys
for path in (sys.prefix + "/x", "/usr/x", "/x/y"):
    try:
        pathlib.Path(path).write_text("")
        print("wrote", path)
    except OSError:
        pass
pathlib.Path("/tmp/mine").write_text("fine")
# Of /tmp only what the interpreter itself needs is there, when it lies there.
seen = [name for name in os.listdir("/tmp") if not sys.prefix.startswith("/tmp/" + name)]
print(os.path.exists("/etc/passwd"), os.path.exists({str(secret)!r}), seen)
"""
    assert python(source, means) == "False False ['mine']\n"


def test_memory_is_limited(means: str) -> None:
    assert python("try: bytearray(5 * 2**30)\nexcept MemoryError: print('refused')", means) == "refused\n"


def test_processes_are_limited(means: str) -> None:
    if "processes" not in Isolation(means).said:
        pytest.skip(Isolation(means).said)
    source = """
import os, time
made = 0
try:
    for made in range(400):
        if os.fork() == 0:
            time.sleep(3)
            os._exit(0)
except OSError as exc:
    print("refused", made < 300)
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


def test_elsewhere_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(means: str | None, *args: object, **options: object) -> None:
        raise OSError(f"{means} is not allowed")

    monkeypatch.setattr(module, "_run", refuse)
    said = find_isolation(memory_mb=4096, seconds=5).said
    if sys.platform == "linux":
        assert said == (
            "not isolated (user namespaces: user namespaces is not allowed; bubblewrap: bubblewrap is not allowed)"
        )
    else:
        assert said.startswith("not isolated (")
