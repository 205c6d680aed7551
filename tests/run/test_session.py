"""Runs are made and grown in steps: killed after any of them, the next session goes on as if nothing had happened."""

import json
from pathlib import Path

import pytest

from proverbench.errors import JournalError
from proverbench.rehearse.plays import failure
from proverbench.run.disk import CALLS
from proverbench.run.inputs import INPUTS, NEXT_INPUTS
from proverbench.run.journal import Journal
from proverbench.run.manifest import MANIFEST
from proverbench.run.reading import open_calls
from proverbench.run.session import Draft, Session
from proverbench.run.sources import Sources
from proverbench.run.timing import seconds_between
from tests.support import problem_rows, proof_rows, write_config, write_rows


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def inputs(tmp_path, server):
    write_rows(tmp_path / "problems.jsonl", problem_rows(6))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(6))
    write_config(tmp_path / "config.toml", server.base_url)
    return tmp_path


@pytest.fixture
def killed_at_replacing(monkeypatch, command):
    """Run a command that is killed before its n-th replacement of a file; whether it was."""
    real = Path.replace

    def run(n: int, *arguments: str) -> bool:
        left = [n]

        def replace(path: Path, target: Path) -> Path:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return real(path, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", replace)
            try:
                command(*arguments)
            except Killed:
                return True
        return False

    return run


def derived(folder: str) -> tuple[bytes, bytes]:
    return Path(folder, "records.jsonl").read_bytes(), Path(folder, "summary.json").read_bytes()


def says_complete(folder: str) -> bool:
    summary = Path(folder, "summary.json")
    return summary.exists() and json.loads(summary.read_bytes())["complete"]


PROVER = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--verifier-repeats", "2")
VERIFIER = ("verify", "--data", "proofs.jsonl", "--config", "config.toml")


class TestMaking:
    @pytest.mark.parametrize("n", range(1, 6))
    def test_killed_while_the_folder_is_made(self, command, inputs, server, killed_at_replacing, n):
        arguments = (*PROVER, "--limit", "2", "--output", "r")
        assert killed_at_replacing(n, *arguments)
        assert server.stats()["requests"] == 0
        ended = command("run", "--resume", "r")
        assert ended.code == 2
        assert "no saved run" in ended.err
        assert command(*arguments).code == 0
        command(*PROVER, "--limit", "2", "--output", "undisturbed")
        assert derived("r") == derived("undisturbed")

    def test_given_proofs_are_there_before_the_run_is(self, command, inputs, server, killed_at_replacing):
        write_rows(inputs / "given.jsonl", [{"problem_id": "p0", "sample": 0, "steps": ["a", "b"]}])
        arguments = (*PROVER, "--proofs", "given.jsonl", "--limit", "1", "--output", "r")
        assert killed_at_replacing(4, *arguments)
        assert (inputs / "r" / CALLS).stat().st_size > 0
        assert not (inputs / "r" / MANIFEST).exists()
        assert command(*arguments).code == 0
        assert len(Path("r", CALLS).read_text().splitlines()) == 1 + 2 + 2  # the proof, two judgments, start and stop

    @pytest.mark.parametrize("name", ["notes.txt", MANIFEST, "records.jsonl"])
    def test_a_folder_with_anything_of_value_is_not_written_into(self, command, inputs, server, name):
        Path("r").mkdir()
        Path("r", name).write_text("{}")
        ended = command(*PROVER, "--output", "r")
        assert ended.code == 2
        assert "not empty" in ended.err
        assert [path.name for path in Path("r").iterdir()] == [name]
        assert server.stats()["requests"] == 0

    def test_a_file_in_the_way(self, command, inputs, server):
        Path("r").touch()
        ended = command(*PROVER, "--output", "r")
        assert ended.code == 2
        assert "r is no folder" in ended.err


class TestGrowing:
    @pytest.mark.parametrize(
        ("task", "first", "growth"),
        [
            (PROVER, ("--limit", "2"), ("--limit", "5", "--data", "problems.jsonl")),
            (PROVER, ("--domain", "qe"), ("--domain", "all", "--data", "problems.jsonl", "--samples", "2")),
            (VERIFIER, ("--limit", "3"), ("--meta",)),
        ],
        ids=["limit", "domain-and-samples", "meta"],
    )
    def test_killed_while_growing(self, command, inputs, server, killed_at_replacing, task, first, growth):
        command(*task, *first, "--output", "whole")
        command(task[0], "--resume", "whole", *growth)
        command(*task, *first, "--output", "r")
        n = 0
        while killed_at_replacing(n := n + 1, task[0], "--resume", "r", *growth):
            sources = Sources(Path("r"))  # readable at every moment
            if list(open_calls(sources)):
                assert not says_complete("r")
            sources.close()
            command(task[0], "--resume", "r")  # and it goes on, as small or as large as it was by then
            assert not Path("r", NEXT_INPUTS).exists()
        assert n > 3
        command(task[0], "--resume", "r", *growth)
        assert derived("r") == derived("whole")

    def test_grown_and_nothing_to_ask(self, command, inputs, server, monkeypatch):
        """Killed once the manifest means more rows, for which no proofs were given: the summary is of these rows."""
        write_rows(inputs / "given.jsonl", [{"problem_id": f"p{i}", "sample": 0, "steps": ["a"]} for i in range(2)])
        command(*PROVER, "--limit", "2", "--proofs", "given.jsonl", "--output", "r")
        assert says_complete("r")
        grow = Session.grow

        def grow_and_die(session: Session, draft: Draft) -> None:
            grow(session, draft)
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(Session, "grow", grow_and_die)
            with pytest.raises(Killed):
                command("run", "--resume", "r", "--limit", "3", "--data", "problems.jsonl")
        assert not says_complete("r")
        assert command("run", "--resume", "r").code == 1
        summary = json.loads(Path("r/summary.json").read_bytes())
        assert (summary["complete"], summary["splits"]["all"]["expected_records"]) == (False, 3)
        assert summary["run_id"] == json.loads(Path("r", MANIFEST).read_bytes())["run_id"]

    def test_what_was_closed_is_asked_again(self, command, inputs, server, monkeypatch):
        """Killed at any step of it, and no summary says that the run is complete while a call is open."""
        server.script = lambda received: failure(400) if "statement number 3" in received.ask.prompt else None
        command(*PROVER, "--output", "r")
        server.script = None
        assert command("run", "--resume", "r", "--final").code == 0
        assert says_complete("r")

        def die(journal: Journal, line: object) -> None:
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(Journal, "append", die)
            with pytest.raises(Killed):
                command("run", "--resume", "r")
        assert not says_complete("r")
        assert command("run", "--resume", "r").code == 0
        command(*PROVER, "--output", "whole")
        assert derived("r") == derived("whole")

    def test_all_domains_is_no_domain(self, command, inputs, server):
        command(*PROVER, "--domain", "qe", "--output", "r")
        command("run", "--resume", "r", "--domain", "all", "--data", "problems.jsonl")
        command(*PROVER, "--output", "whole")
        assert derived("r") == derived("whole")

    def test_a_limit_that_leaves_nothing_out_is_none(self, command, inputs, server):
        command(*PROVER, "--limit", "2", "--output", "r")
        command("run", "--resume", "r", "--limit", "1000", "--data", "problems.jsonl")
        command(*PROVER, "--output", "whole")
        assert derived("r") == derived("whole")


class TestDamage:
    def test_changed_inputs_are_refused(self, command, inputs, server):
        command(*PROVER, "--limit", "2", "--output", "r")
        rows = Path("r", INPUTS).read_text().replace("Prove", "Disprove")
        Path("r", INPUTS).write_text(rows)
        with pytest.raises(JournalError, match=r"inputs\.jsonl is not the file"):
            Sources(Path("r"))
        assert command("score", "r").code == 1

    @pytest.mark.parametrize(
        ("place", "value", "told"),
        [
            (("operation", "roles", "verifier", "endpoint", "max_retries"), 101, "operation.roles.verifier.endpoint"),
            (("operation", "roles", "verifier", "endpoint", "timeout_s"), "x", "endpoint.timeout_s: Input should be"),
            (("operation", "roles"), [], "operation: Expected `object | null`, got `array` - at `$.roles`"),
            (("operation", "prices"), 3, "at `$.prices`"),
            (("operation", "prices"), {"verifier": {"input": -1}}, "operation.prices.verifier.input: "),
            (("operation", "max_cost_usd"), "much", "at `$.max_cost_usd`"),
            (("identity", "roles"), {}, "identity.roles lacks policy, verifier"),
        ],
    )
    def test_a_manifest_that_a_hand_changed_is_named(self, command, inputs, server, place, value, told):
        assert command(*PROVER, "--output", "r").code == 0
        manifest = json.loads(Path("r", "manifest.json").read_bytes())
        table = manifest
        for key in place[:-1]:
            table = table[key]
        table[place[-1]] = value
        Path("r", "manifest.json").write_text(json.dumps(manifest))
        for words in (
            "run --resume r --verifier-repeats 9 --dry-run",
            "score r",
            "report r",
            "inspect r",
            "analyse r",
            "export r --to csv",
        ):
            ended = command(*words.split())
            assert "Traceback" not in ended.err
            assert ended.code == 0 or told in ended.err  # not each of them needs what was changed
        ended = command("run", "--resume", "r", "--verifier-repeats", "9")
        assert ended.code in (1, 2)
        assert told in ended.err
        assert "Traceback" not in ended.err

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format_version": 1}', b"\xff\xfe"])
    def test_a_damaged_manifest_is_named(self, command, inputs, server, content):
        command(*PROVER, "--limit", "2", "--output", "r")
        Path("r", MANIFEST).write_bytes(content)
        ended = command("run", "--resume", "r")
        assert ended.code == 1
        assert "manifest.json" in ended.err
        assert "Traceback" not in ended.err

    def test_a_newer_format_is_told(self, command, inputs, server):
        command(*PROVER, "--limit", "2", "--output", "r")
        manifest = json.loads(Path("r", MANIFEST).read_bytes())
        Path("r", MANIFEST).write_text(json.dumps(manifest | {"format_version": 99}))
        ended = command("score", "r")
        assert ended.code == 1
        assert "upgrade" in ended.err


@pytest.mark.parametrize(
    ("end", "seconds"),
    [("2026-01-01T00:00:02.5Z", 2.5), ("2026-01-01T00:00:00Z", 0.0), ("2025-12-31T23:00:00Z", 0.0)],
    ids=["later", "at once", "by a clock that was set back"],
)
def test_a_session_takes_no_negative_time(end, seconds):
    assert seconds_between("2026-01-01T00:00:00Z", end) == seconds
