"""`init` writes a project whose files load, for what the user names, and overwrites nothing."""

import tomllib

import pytest

from proverbench.inputs.config_file import load_config
from proverbench.inputs.starting import LocalServer, config_text, project_files, safe_name, study_text
from proverbench.rehearse import GeneratedReplies, Profile, RehearseServer

FILES = ["README.md", "config.toml", "data/proverbench.jsonl", "data/verifierbench.jsonl", "study.toml"]


@pytest.mark.parametrize("sort", ["openai", "anthropic", "embedded"])
def test_a_project_loads(command, tmp_path, sort):
    ended = command("init", "first", f"--{sort}")
    assert ended.code == 0, ended.err
    folder = tmp_path / "first"
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == FILES
    assert set(load_config(folder / "config.toml").roles) == {"policy", "verifier", "meta"}
    assert ended.out.splitlines()[-1] == "next: cd first && proverbench doctor"


def test_a_project_of_a_server_has_its_models(command, tmp_path):
    with RehearseServer.in_thread(
        profile=Profile(models=frozenset({"b/big", "a/small"})), replies=GeneratedReplies()
    ) as server:
        ended = command("init", "my project", "--local", server.base_url.removesuffix("/v1"))
        assert ended.code == 0, ended.err
        config = load_config(tmp_path / "my project/config.toml")
        assert {settings.model for settings in config.roles.values()} == {"a/small"}
        assert config.roles["policy"].endpoint.base_url == server.base_url
        assert 'The server also has: "b/big"' in (tmp_path / "my project/config.toml").read_text()
        assert ended.out.splitlines()[-1] == "next: cd 'my project' && proverbench doctor"
        assert command("doctor", "--config", "my project/config.toml").code == 0
        ran = command(
            *("run", "--data", "my project/data/proverbench.jsonl", "--config", "my project/config.toml"),
            *("--limit", "2", "--verifier-repeats", "1", "--output", "run"),
        )
        assert ran.code == 0, ran.err


def test_a_servers_context_divides_among_the_roles(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(config_text("local", LocalServer("http://127.0.0.1:1/v1", ['odd"name'], 10_000)))
    roles = load_config(path).roles
    assert roles["policy"].endpoint.context == 10_000
    assert roles["policy"].model == 'odd"name'
    assert [roles[role].generation["max_tokens"] for role in ("policy", "verifier", "meta")] == [4000, 4000, 1000]


@pytest.mark.parametrize("sort", ["openai", "anthropic", "embedded", "local"])
def test_the_study_has_the_configs_roles(sort):
    text = config_text(sort)
    config, study = tomllib.loads(text), tomllib.loads(study_text(text))
    assert list(study["policy"].values()) == [config["policy"]]
    assert list(study["judge"].values()) == [config["verifier"]]
    assert study["meta"] == config["meta"]
    assert study["endpoint"] == config["endpoint"]
    assert study["study"]["calibration"] == "data/verifierbench.jsonl"


@pytest.mark.parametrize(
    ("model", "name"), [("Qwen/Qwen3-8B", "Qwen3-8B"), ("a--b.c", "a-b-c"), ("é/", "model"), ("gpt-5.1", "gpt-5-1")]
)
def test_names_are_safe(model, name):
    assert safe_name(model) == name


def test_the_study_is_one(command, server):
    assert command("init", "--local", server.base_url).code == 0
    ended = command("study", "study.toml", "--dry-run")
    assert ended.code == 0, ended.err


def test_nothing_is_overwritten(command, tmp_path):
    (tmp_path / "config.toml").write_text("mine")
    ended = command("init", "--embedded")
    assert ended.code == 2
    assert "config.toml" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]
    assert (tmp_path / "config.toml").read_text() == "mine"


@pytest.mark.parametrize("options", [[], ["--openai", "--local", "http://127.0.0.1:1"]])
def test_one_kind_must_be_named(command, options):
    assert command("init", *options).code == 2


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/v1", "not a url", "ftp://x"])
def test_a_server_that_is_not_there(command, tmp_path, url):
    ended = command("init", "--local", url)
    assert ended.code == 2
    assert url in ended.err
    assert list(tmp_path.iterdir()) == []


def test_the_readme_has_five_commands():
    text = project_files("embedded")["README.md"].decode()
    assert len([line for line in text.splitlines() if line.startswith("       ")]) == 5
