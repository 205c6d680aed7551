"""A kind is one value: a made-up one works from config to page, with nothing else naming it."""

import json
import shutil

import pytest

from proverbench.endpoints.base import Reply
from proverbench.endpoints.kinds import registry
from proverbench.endpoints.kinds.kind import Kind
from tests.support import problem_rows, proof_rows, write_rows


class _Oracle:
    def __init__(self, opening):
        self._mood = opening.config.options.get("mood", "kind")

    async def complete(self, request):
        if request.role == "policy":
            return Reply("<step>Behold.</step>", finish_reason="revealed")
        if request.role == "meta":
            return Reply("<level>EXACT_MATCH</level>", finish_reason="revealed")
        step = 0 if self._mood == "stern" or request.key.endswith("1") else -1
        text = f"<assessment>So it is.</assessment><errors></errors><first_error_step>{step}</first_error_step>"
        return Reply(text, finish_reason="revealed", usage={"prompt_tokens": 4, "completion_tokens": 2})

    async def aclose(self):
        pass


async def _open(opening):
    return _Oracle(opening)


ORACLE = Kind(
    name="oracle",
    opens=_open,
    normal_stops=frozenset({"revealed"}),
    own_keys={"mood": lambda value: None if value in ("kind", "stern") else "'kind' or 'stern'"},
    faults=lambda table: [("mood", "is missing; say 'kind' or 'stern'")] if "mood" not in table else [],
    generation_faults=lambda generation: [("volume", "is too loud")] if generation.get("volume", 0) > 11 else [],
    seeds=False,
)

CONFIG = "".join(
    f'[{role}]\nmodel = "delphi"\nkind = "oracle"\nmood = "kind"\n' for role in ("policy", "verifier", "meta")
)


@pytest.fixture
def oracle(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "KINDS", (*registry.KINDS, ORACLE))
    (tmp_path / "oracle.toml").write_text(CONFIG)
    write_rows(tmp_path / "problems.jsonl", problem_rows(4))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(4))


@pytest.mark.usefixtures("oracle")
def test_a_made_up_kind_end_to_end(command, tmp_path):
    run = ("run", "--data", "problems.jsonl", "--config", "oracle.toml", "--verifier-repeats", "2")
    assert command(*run, "--output", "a").code == 0
    assert command(*run, "--output", "b").code == 0
    judge = ("verify", "--data", "proofs.jsonl", "--config", "oracle.toml", "--meta", "--output", "v")
    assert command(*judge).code == 0
    summary = json.loads((tmp_path / "a" / "summary.json").read_bytes())
    assert summary["splits"]["all"]["metrics"]["verifier_valid_rate"] == 1.0
    assert summary["splits"]["all"]["metrics"]["pessimistic"] == 0.0
    shutil.copytree(tmp_path / "a", tmp_path / "before")
    assert command("score", "a").code == 0
    assert (tmp_path / "a" / "summary.json").read_bytes() == (tmp_path / "before" / "summary.json").read_bytes()
    assert "delphi" in command("inspect", "a").out
    assert command("compare", "a", "b").code == 0
    assert command("report", "a", "v", "-o", "page.html").code == 0
    assert command("report", "a", "v", "-o", "page.md").code == 0
    assert "delphi" in (tmp_path / "page.md").read_text()
    assert command("export", "a", "v", "--to", "csv", "-o", "tables").code == 0
    assert command("run", "--resume", "a", "--verifier-repeats", "3").code == 0


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize(
    ("config", "said"),
    [
        (CONFIG.replace('"kind"\n', '"wild"\n'), "policy.mood is 'wild'; wanted 'kind' or 'stern'"),
        (CONFIG.replace('mood = "kind"\n', ""), "policy.mood is missing; say 'kind' or 'stern'"),
        (CONFIG.replace("mood =", "moood ="), "policy.moood is unknown; did you mean policy.mood?"),
        (CONFIG + 'base_url = "http://x/v1"\n', "meta.base_url has no meaning for kind 'oracle'; delete it"),
        (CONFIG + "generation = { volume = 12 }\n", "meta.generation.volume is too loud"),
        (CONFIG.replace('"oracle"', '"orakle"'), "policy.kind is 'orakle'; did you mean 'oracle'?"),
    ],
    ids=["value", "missing", "key", "other-kinds-key", "generation", "name"],
)
def test_its_faults_are_told(command, tmp_path, config, said):
    (tmp_path / "bad.toml").write_text(config)
    judge = ("verify", "--data", "proofs.jsonl", "--config", "bad.toml", "--meta", "--dry-run")
    run = ("run", "--data", "problems.jsonl", "--config", "bad.toml", "--dry-run")
    ended = command(*(judge if said.startswith("meta") else run))
    assert ended.code == 2
    assert said in ended.err


@pytest.mark.usefixtures("oracle")
def test_a_run_of_a_kind_that_is_not_known_is_refused(command, monkeypatch):
    run = ("run", "--data", "problems.jsonl", "--config", "oracle.toml", "--verifier-repeats", "1", "--output", "a")
    assert command(*run).code == 0
    monkeypatch.setattr(registry, "KINDS", registry.KINDS[:-1])
    ended = command("score", "a")
    assert ended.code == 2
    assert "endpoint of kind 'oracle', which this version does not know" in ended.err


@pytest.mark.parametrize(
    ("reason", "classes"),
    [
        ("stop", ("normal", "model-ended")),
        ("end_turn", ("model-ended", "normal")),
        (" Abort ", ("server-ended", "server-ended")),
        ("length", ("model-ended", "model-ended")),
        ("a_new_word", ("model-ended", "model-ended")),
        ("STOP", ("model-ended", "model-ended")),
        ("", ("model-ended", "model-ended")),
        (None, ("model-ended", "model-ended")),
    ],
)
def test_finish_reasons_in_three_classes(reason, classes):
    found = tuple(registry.find_kind(name).finish_class(reason) for name in ("openai", "anthropic"))
    assert found == classes
