"""Released files: from the hub's own library against a local hub, from a mirror, from a folder; and their hashes."""

import hashlib
import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from proverbench.errors import DataError, EndpointError
from proverbench.inputs.fetch import PinnedFile
from proverbench.retrieval import fetch as fetching
from proverbench.retrieval.cli import FETCHED
from proverbench.retrieval.fetch import BENCHMARKS, CORPUS_REPOSITORY, CORPUS_REVISION, fetch
from tests.inputs.hub_server import a_hub

CONTENT = b'{"name": ["A", "b"]}\n'


def corpus_hub(files: dict[str, bytes]) -> AbstractContextManager[tuple[str, list[Any]]]:
    return a_hub(CORPUS_REPOSITORY, CORPUS_REVISION, files)


def test_the_corpus_comes_from_the_hub_and_its_hash_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path.parent / "cache-of-corpus"))
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with corpus_hub({"README.md": b"x", "data/mathlib.jsonl": CONTENT}) as (url, seen):
        first = fetch("corpus", tmp_path, source=url)
        again = fetch("corpus", tmp_path, source=url)
    assert first.path.read_bytes() == CONTENT
    assert (first.new, first.first, again.new, again.first) == (True, True, False, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fetched.json", "mathlib-4280.jsonl"]
    record = json.loads((tmp_path / "fetched.json").read_text())["mathlib-4280.jsonl"]
    assert (record["sha256"], record["revision"]) == (hashlib.sha256(CONTENT).hexdigest(), CORPUS_REVISION)
    assert {authorisation for _, _, authorisation in seen} == {None}, "no mirror sees the token"


def test_a_corpus_that_has_changed_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "source.jsonl"
    source.write_bytes(CONTENT)
    place = tmp_path / "place"
    path = fetch("corpus", place, source=str(source)).path
    path.write_bytes(CONTENT + b"\n")
    with pytest.raises(DataError, match="was fetched first"):
        fetch("corpus", place)
    path.unlink()
    source.write_bytes(b"{}\n")
    with pytest.raises(DataError, match="The source has changed"):
        fetch("corpus", place, source=str(source))
    assert not path.exists(), "what is not the recorded file does not stand under its name"


def test_a_hub_without_the_corpus_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    with (
        a_hub(CORPUS_REPOSITORY, CORPUS_REVISION, {"a.jsonl": b"", "b.jsonl": b""}) as (url, _),
        pytest.raises(DataError, match="holds 2"),
    ):
        fetch("corpus", tmp_path, source=url)
    with (
        a_hub(CORPUS_REPOSITORY, CORPUS_REVISION, {}) as (url, _),
        pytest.raises(EndpointError, match=r"404.*what came is kept"),
    ):
        fetch("corpus", tmp_path, source=f"{url}/nowhere")


def test_benchmark_files_must_have_the_published_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        a_hub(CORPUS_REPOSITORY, CORPUS_REVISION, {"benchmark/MathlibQR.json": b"[]"}) as (url, _),
        pytest.raises(DataError, match="wanted 0ce093ebb9da"),
    ):
        fetch("mathlibqr", tmp_path, source=url)
    assert not (tmp_path / "MathlibQR.json").exists()
    pinned = PinnedFile("MathlibQR", "benchmark/MathlibQR.json", hashlib.sha256(b"[]").hexdigest(), suffix=".json")
    monkeypatch.setitem(fetching.BENCHMARKS, "mathlibqr", pinned)
    (tmp_path / "MathlibQR.json.source").mkdir()
    (tmp_path / "MathlibQR.json.source/MathlibQR.json").write_bytes(b"[]")
    found = fetch("mathlibqr", tmp_path, source=str(tmp_path / "MathlibQR.json.source"))
    assert (found.path.name, found.new, found.first) == ("MathlibQR.json", True, False)


def test_the_command_line_knows_every_file() -> None:
    assert ("all", "corpus", *BENCHMARKS) == FETCHED
