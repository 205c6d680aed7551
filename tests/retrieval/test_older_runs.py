"""What an older version wrote still opens, scores and resumes; what was killed has lost only what was in flight."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import msgspec

from proverbench.retrieval.folder import RetrievalRun, as_first_written, queries_bytes, run_id_of
from proverbench.retrieval.records import RunManifest
from proverbench.shipped import shipped
from tests.retrieval.support import Answer, Seen, serve
from tests.support import HUNG_S, ROOT, wait_for

OLD_RENDERER = "9ad614afddbf10f6a1b1d15ea9b2a15dcc3835c443b661132f5d1bd8d4fcaf39"
COMMAND = [sys.executable, "-c", "from proverbench.__main__ import retrievalbench; retrievalbench()"]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cwd / "cache")}
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=HUNG_S, check=False
    )


def as_an_older_version_wrote_it(folder: Path) -> str:
    """Rewrite a run as the version before named renderers made it; returns its id."""
    saved = RetrievalRun(folder)
    queries = [as_first_written(query) for query in saved.queries]
    assert queries != saved.queries, "the shipped queries have one without gold, of which more is written now"
    (folder / "queries.jsonl").write_bytes(queries_bytes(queries))
    manifest: RunManifest = msgspec.structs.replace(
        saved.manifest,
        renderer_sha256=OLD_RENDERER,
        queries_sha256=hashlib.sha256(queries_bytes(queries)).hexdigest(),
    )
    manifest = msgspec.structs.replace(manifest, run_id=run_id_of(manifest))
    (folder / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    return manifest.run_id


def test_a_run_of_an_older_version_resumes_and_keeps_its_id(tmp_path: Path) -> None:
    assert run("run", "--system", "bm25", "--output", "r", cwd=tmp_path).returncode == 0
    before = json.loads((tmp_path / "r/summary.json").read_text())
    run_id = as_an_older_version_wrote_it(tmp_path / "r")
    lines = (tmp_path / "r/positions.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "r/positions.jsonl").write_text("".join(lines[:-3]))
    done = run("run", "--resume", "r", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    after = json.loads((tmp_path / "r/summary.json").read_text())
    assert after["run_id"] == run_id
    assert {**after, "run_id": ""} == {**before, "run_id": ""}
    assert "bm25" in run("compare", "r", cwd=tmp_path).stdout


def test_killed_while_it_embeds_only_what_was_in_flight_is_asked_again(tmp_path: Path) -> None:
    going_on = threading.Event()
    lock = threading.Lock()
    asked: Counter[str] = Counter()

    def answer(seen: Seen) -> Answer:
        with lock:
            asked.update(seen.body["input"])
            wait = len(asked) > 40
        if wait:
            going_on.wait(HUNG_S)
        return 200, {"data": [{"embedding": [float(len(text)), 1.0]} for text in seen.body["input"]]}

    with serve(answer, alone=False) as server:
        (tmp_path / "c.toml").write_text(
            f'[embedder.m]\nmodel = "m"\nbase_url = "{server.url}"\nbatch_size = 4\nconcurrency = 2\n'
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        arguments = ["run", "--system", "dense:m", "--config", "c.toml", "--output", "r"]
        process = subprocess.Popen([*COMMAND, *arguments], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
        wait_for(lambda: len(asked) >= 48, process)
        process.send_signal(signal.SIGKILL)
        process.wait(HUNG_S)
        going_on.set()
        done = run("run", "--resume", "r", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    documents = len(shipped("data/retrieval/corpus.jsonl").read_text(encoding="utf-8").splitlines())
    assert len(asked) >= documents
    twice = [text for text, times in asked.items() if times > 1]
    assert 0 < len(twice) <= 2 * 4, "at most two batches of four were under way"
