"""Published templates: recognised, recorded, used, and what the summary then says. The templates here are our own."""

import json
import zipfile
from pathlib import Path

import msgspec
import pytest

from proverbench.benchmark import BENCHMARKS
from proverbench.errors import ConfigError, DataError
from proverbench.inputs.prompt_set import FOLDER, fetch_prompts, prompt_set
from proverbench.run.manifest import read_manifest
from proverbench.run.published_tables import beside_published
from tests.support import problem_rows, write_config, write_rows

JUDGE = "Judge {problem} {human_solution} {solution}: <assessment> <errors> <first_error_step>"
TEXTS = {
    "evaluator/prompts/prove.txt": "Prove {problem} in <step>s.",
    "evaluator/prompts/judge.txt": JUDGE,
    "evaluator/prompts/grade.txt": "{problem} {solution} {solution_verification} {human_ground_truth} <level>",
    "README.md": "Nothing.",
    "LICENSE": "None.",
}


def _repository(folder: Path, texts: dict[str, str] = TEXTS) -> Path:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return _repository(tmp_path / "repository")


def test_templates_are_known_by_their_placeholders_and_recorded(repository, tmp_path):
    found = fetch_prompts(tmp_path / "p", source=str(repository))
    assert {prompt.role: prompt.path.read_text() for prompt in found} == {
        "policy": TEXTS["evaluator/prompts/prove.txt"],
        "verifier": JUDGE,
        "meta": TEXTS["evaluator/prompts/grade.txt"],
    }
    assert all(prompt.first for prompt in found)
    record = json.loads((tmp_path / "p/fetched.json").read_text())
    assert record["verifier"]["path"] == "evaluator/prompts/judge.txt"
    assert not any(prompt.first for prompt in fetch_prompts(tmp_path / "p", source=str(repository)))


def test_a_zip_archive(repository, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name, text in TEXTS.items():
            archive.writestr(f"AdvancedMathBench-30e2e67/{name}", text)
    assert len(fetch_prompts(tmp_path / "p", source=str(tmp_path / "a.zip"))) == 3


def test_another_text_than_the_first_is_refused_and_changes_nothing(repository, tmp_path):
    fetch_prompts(tmp_path / "p", source=str(repository))
    (repository / "evaluator/prompts/judge.txt").write_text(JUDGE + "!")
    with pytest.raises(DataError, match="was fetched first"):
        fetch_prompts(tmp_path / "p", source=str(repository))
    assert (tmp_path / "p/verifier.txt").read_text() == JUDGE


@pytest.mark.parametrize(
    ("more", "said"),
    [({"other.txt": JUDGE + "?"}, "2 texts that could be the verifier"), ({}, "0 texts that could be the meta")],
)
def test_not_exactly_one_for_a_role(tmp_path, more, said):
    texts = TEXTS | more if more else {k: v for k, v in TEXTS.items() if "grade" not in k}
    with pytest.raises(DataError, match=said):
        fetch_prompts(tmp_path / "p", source=str(_repository(tmp_path / "r", texts)))


def test_neither_folder_nor_archive(tmp_path):
    with pytest.raises(DataError, match="neither a folder nor a zip archive"):
        fetch_prompts(tmp_path / "p", source=str(tmp_path / "none"))


def test_published_prompts_that_are_not_there_or_were_changed(tmp_path, monkeypatch, repository):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="proverbench data fetch prompts"):
        prompt_set("published", ["verifier"])
    fetch_prompts(source=str(repository))
    assert prompt_set("published", ["verifier"]) == {"verifier": FOLDER / "verifier.txt"}
    (FOLDER / "verifier.txt").write_text(JUDGE + "!")
    with pytest.raises(ConfigError, match="is not what was fetched"):
        prompt_set("published", ["verifier"])
    assert prompt_set("own", ["verifier"]) == {}
    assert set(prompt_set(str(FOLDER), ["verifier", "meta"])) == {"verifier", "meta"}


def test_the_whole_way(command, server, tmp_path, repository):
    write_config(tmp_path / "config.toml", server.base_url)
    write_rows(tmp_path / "p.jsonl", problem_rows(2))
    fetched = command("data", "fetch", "prompts", "--from", repository)
    assert fetched.code == 0, fetched.err
    assert "use them with: --prompts published" in fetched.out
    ran = command(
        *("run", "--data", "p.jsonl", "--config", "config.toml", "--prompts", "published"),
        *("--verifier-repeats", "2", "--output", "r"),
    )
    assert ran.code == 0, ran.err
    (said,) = [w for w in json.loads(Path("r/summary.json").read_bytes())["warnings"] if "published" in w]
    assert said == (
        "published prompts were used, but not comparable with published tables: the data are not the published file; "
        "R is 2, published is 8; the verifier is m-verifier, published is AdvancedMathBench-AutoVerifier"
    )
    assert Path("r/prompts/verifier.txt").read_text() == JUDGE
    again = command("run", "--resume", "r", "--prompts", "published")
    assert again.code == 2
    assert command("run", "--resume", "r", "--verifier-repeats", "8").code == 0
    assert "R is 2" not in Path("r/summary.json").read_text()
    assert "published prompts were used" in Path("r/summary.json").read_text()


def test_nothing_stands_against_it(command, server, tmp_path, repository):
    write_config(tmp_path / "config.toml", server.base_url, model="debouter/AdvancedMathBench-AutoVerifier")
    write_rows(tmp_path / "p.jsonl", problem_rows(1))
    command("data", "fetch", "prompts", "--from", repository)
    ran = command("run", "--data", "p.jsonl", "--config", "config.toml", "--prompts", "published", "--output", "r")
    assert ran.code == 0, ran.err
    manifest = read_manifest(Path("r"))
    sha256 = BENCHMARKS["prover"].published_sha256
    manifest = msgspec.structs.replace(
        manifest, identity=msgspec.structs.replace(manifest.identity, data_sha256=sha256)
    )
    said = beside_published(manifest, closed=0, neutralised=0)
    assert said is not None
    assert said.startswith("comparable with published tables")
    assert "2 proofs" in str(beside_published(manifest, closed=0, neutralised=2))
    assert "1 calls" in str(beside_published(manifest, closed=1, neutralised=0))
