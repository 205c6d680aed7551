"""What comes with the program is found by name, from any folder."""

import pytest

from proverbench import load_problems, load_proofs
from proverbench.errors import ConfigError, DataError
from proverbench.inputs.config_file import load_config
from proverbench.shipped import resolve, shipped_names
from tests.support import ROOT


def test_names_are_those_of_the_files():
    assert sorted(shipped_names("data")) == ["proverbench", "verifierbench"]
    assert {"embedded", "local", "openai", "anthropic"} <= set(shipped_names("configs"))


def test_shipped_data_and_configs_load(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert load_problems("shipped:proverbench").sha256 == load_problems(ROOT / "data/proverbench.jsonl").sha256
    assert load_proofs("shipped:verifierbench").sha256 == load_proofs(ROOT / "data/verifierbench.jsonl").sha256
    assert load_config("shipped:local").roles == load_config(ROOT / "configs/local.toml").roles
    assert resolve("shipped:local.toml", "configs") == resolve("shipped:local", "configs")


def test_other_paths_stay(tmp_path):
    assert resolve(tmp_path / "x.toml", "configs") == tmp_path / "x.toml"


@pytest.mark.parametrize(("sort", "error"), [("configs", ConfigError), ("data", DataError)])
def test_unknown_names_are_refused_with_the_nearest(sort, error):
    near = {"configs": ("embeded", "shipped:embedded"), "data": ("proverbensh", "shipped:proverbench")}[sort]
    with pytest.raises(error, match=f"did you mean {near[1]}"):
        resolve(f"shipped:{near[0]}", sort)


def test_dry_run_in_an_empty_folder(command):
    ended = command("run", "--data", "shipped:proverbench", "--config", "shipped:embedded", "--dry-run")
    assert ended.code == 0, ended.err
    assert "policy" in ended.out


def test_the_other_benchmarks_data_are_named(command):
    ended = command("run", "--data", "shipped:verifierbench", "--config", "shipped:embedded", "--dry-run")
    assert ended.code == 2
    assert "verifierbench" in ended.err
