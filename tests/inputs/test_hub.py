"""The hub through its own library, against a local server that speaks its protocol."""

import hashlib
import sys
from pathlib import Path

import pytest

from proverbench.errors import ConfigError, DataError, EndpointError
from proverbench.inputs import hub
from proverbench.inputs.fetch import REPOSITORY, REVISION, PinnedFile, fetch
from proverbench.inputs.hub import hub_address
from tests.inputs.hub_server import a_hub

constants = pytest.importorskip("huggingface_hub.constants")

BODY = b'{"problem": "Prove it."}\n'
PATH = "data/proverbench/test.jsonl"
FILE = PinnedFile("proverbench", PATH, hashlib.sha256(BODY).hexdigest())


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_TOKEN", "hf_hunter2")


def test_a_mirror_is_asked_without_the_token_and_what_it_gave_stays_in_the_cache(tmp_path, monkeypatch):
    with a_hub(REPOSITORY, REVISION, {PATH: BODY}) as (url, seen):
        monkeypatch.setenv("HF_ENDPOINT", url)
        path, new = fetch(FILE, tmp_path / "one")
        assert (path.read_bytes(), new) == (BODY, True)
        assert {token for _, _, token in seen} == {None}
        before = [ask for ask in seen if ask[0] == "GET"]
        fetch(FILE, tmp_path / "two")
        assert [ask for ask in seen if ask[0] == "GET"] == before, "the cache has it"
    assert [file.name for file in (tmp_path / "two").iterdir()] == ["proverbench.jsonl"]


def test_offline_the_cache_is_enough(tmp_path, monkeypatch):
    with a_hub(REPOSITORY, REVISION, {PATH: BODY}) as (url, _):
        monkeypatch.setenv("HF_ENDPOINT", url)
        fetch(FILE, tmp_path / "one")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fetch(FILE, tmp_path / "two")[0].read_bytes() == BODY


def test_the_token_goes_to_the_hub_and_not_where_it_redirects(tmp_path, monkeypatch):
    with (
        a_hub("other/storage", "x", {PATH: BODY}) as (storage, stored),
        a_hub(REPOSITORY, REVISION, {PATH: BODY}, elsewhere=storage) as (url, seen),
    ):
        monkeypatch.setattr(hub, "HUB", url)
        monkeypatch.delenv("HF_ENDPOINT", raising=False)
        assert fetch(FILE, tmp_path / "out")[0].read_bytes() == BODY
    assert {token for _, _, token in seen} == {"Bearer hf_hunter2"}
    assert stored
    assert {token for _, _, token in stored} == {None}


def test_another_file_than_the_pinned_one_is_refused(tmp_path, monkeypatch):
    with a_hub(REPOSITORY, REVISION, {PATH: b"{}\n"}) as (url, _):
        monkeypatch.setenv("HF_ENDPOINT", url)
        with pytest.raises(DataError, match=f"wanted {FILE.sha256}"):
            fetch(FILE, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_damaged_cache_is_fetched_anew(tmp_path, monkeypatch):
    with a_hub(REPOSITORY, REVISION, {PATH: BODY}) as (url, _):
        monkeypatch.setenv("HF_ENDPOINT", url)
        fetch(FILE, tmp_path / "one")
        (blob,) = (tmp_path / "cache").rglob("blobs/*")
        blob.write_bytes(b"damaged")
        assert fetch(FILE, tmp_path / "two")[0].read_bytes() == BODY


def test_a_hub_without_the_file(tmp_path, monkeypatch):
    with a_hub(REPOSITORY, REVISION, {}) as (url, _):
        monkeypatch.setenv("HF_ENDPOINT", url)
        with pytest.raises(EndpointError, match=r"404.*--from URL-or-folder"):
            fetch(FILE, tmp_path / "out")


def test_without_the_library_one_line_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigError, match=r"pip install 'proverbench\[hub\]'"):
        fetch(FILE, tmp_path / "out")


@pytest.mark.parametrize(
    ("given", "named", "address"),
    [
        (None, "", "https://huggingface.co"),
        (None, "https://hf-mirror.example/", "https://hf-mirror.example"),
        ("https://here.example", "https://hf-mirror.example", "https://here.example"),
    ],
)
def test_the_address(monkeypatch, given, named, address):
    monkeypatch.setenv("HF_ENDPOINT", named)
    assert hub_address(given) == address
