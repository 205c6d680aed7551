"""`proverbench inspect`, as its user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from proverbench.cli import pages
from proverbench.cli.pages import cells
from proverbench.rehearse import GeneratedReplies, ModelReply, Play, Profile
from proverbench.run.folder import RunFolder
from tests.support import HUNG_S, SHARED, Gate, every, problem_rows, proof_rows, wait_for, write_config, write_rows

RUN = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--output", "r")
PUBLISHED = SHARED / "data" / "published-run"


@pytest.fixture
def inputs(tmp_path, server):
    server.replies = GeneratedReplies(vary="seed", invalid_rate=0.15)
    write_rows(tmp_path / "problems.jsonl", problem_rows(6))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(8))
    write_config(tmp_path / "config.toml", server.base_url)
    return tmp_path


@pytest.fixture
def prover(command, inputs) -> Path:
    command(
        "run", "--data", "problems.jsonl", "--config", "config.toml", "--samples", "2", "--verifier-repeats", "4",
        "--output", "r",
    )  # fmt: skip
    return Path("r")


@pytest.fixture
def verifier(command, inputs) -> Path:
    command(
        "verify", "--data", "proofs.jsonl", "--config", "config.toml", "--verifier-repeats", "4", "--meta",
        "--output", "r",
    )  # fmt: skip
    return Path("r")


@pytest.fixture
def terminal(monkeypatch):
    """A person reads it, in 80 columns."""
    monkeypatch.setattr(pages, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")


def records(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().split("\n")[:-1]]


def fits(text: str) -> bool:
    assert [line for line in text.split("\n") if cells(line) > 80] == []
    return True


def numbers(told: str) -> list[int]:
    return [entry["number"] for entry in json.loads(told)["proofs"]]


class TestOverview:
    @pytest.mark.parametrize("kind", ["prover", "verifier"])
    def test_scores_first_then_what_is_invalid_then_every_proof(self, request, command, terminal, kind):
        folder = request.getfixturevalue(kind)
        ended = command("inspect", folder)
        assert ended.code == 0
        assert fits(ended.out)
        first = "pessimistic" if kind == "prover" else "rough_bal_f1"
        assert ended.out.index(first) < ended.out.index("invalid") < ended.out.index("judgments: ")
        for record in every(records(folder)):
            assert record.get("proof_id") or f"{record['problem_id']}/{record['sample_index']}" in ended.out

    def test_a_note_is_one_line_where_another_command_reads(self, command, prover):
        (note,) = json.loads((prover / "summary.json").read_bytes())["warnings"]
        assert len(note) > 80
        assert f"note     {note}" in command("inspect", prover).out.split("\n")
        assert f"note: {note}" in command("score", prover).out.split("\n")

    def test_a_folder_that_is_not_there(self, command, prover):
        assert "nope/x does not exist\n" in command("inspect", "nope/x").err
        for name, told in (
            ("p", "p does not exist; there is r\n"),
            (".", ". is no saved run: it has no manifest.json; "),
        ):
            ended = command("inspect", name)
            assert ended.code == 2
            assert told in ended.err
        for name in ("a", "b", "proverless", "prover-1", "prover-2", "prover-3"):
            Path("runs", name).mkdir(parents=True)
            Path("runs", name, "manifest.json").touch()
        for name in ("runs/prover-9", "prover-9"):
            told = command("inspect", name).err
            assert f"{name} does not exist; there are runs/prover-" in told
            assert told.count(",") == 4
            assert told.endswith((" and 1 more\n", " and 2 more\n"))
        assert "there is" not in command("inspect", "runs/prover-1").err

    def test_writes_nothing(self, command, prover):
        before = {path: path.read_bytes() for path in prover.rglob("*") if path.is_file()}
        for more in ((), ("3",), ("--json",), ("--follow",), ("--call", "policy/p0/0/0")):
            assert command("inspect", prover, *more).code == 0
        assert {path: path.read_bytes() for path in prover.rglob("*") if path.is_file()} == before

    def test_what_is_missing_and_why(self, command, inputs, server):
        write_config(inputs / "config.toml", server.base_url, more="max_retries = 0\n")
        server.profile = Profile(faults={"500": 0.4})
        command(*RUN, "--verifier-repeats", "2")
        ended = command("inspect", "r")
        assert ended.code == 0
        assert "incomplete; go on with: proverbench run --resume r" in ended.out
        assert "last failures: http_500" in ended.out
        assert "no scores yet" in ended.out or "…" in ended.out
        assert command("inspect", "r", "--incomplete", "--json").out.count('"complete": false') > 0

    def test_json_is_the_run_for_scripts(self, command, prover):
        told = json.loads(command("inspect", prover, "--json").out)
        assert told["summary"] == json.loads((prover / "summary.json").read_bytes())
        assert [entry["steps"] for entry in told["proofs"]] == [record["steps"] for record in records(prover)]
        assert told["missing"] == {"proofs": 0, "calls": {}, "last_failures": {}}

    def test_a_terminal_without_unicode(self, prover):
        done = subprocess.run(
            [sys.executable, "-m", "proverbench", "inspect", "r"],
            env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            check=True,
        )
        assert b"+ accepts" in done.stdout


class TestFinding:
    """Within a minute and without reading docs: the proof where the judges disagreed most, and read it."""

    def test_the_overview_names_it_and_the_command_that_reads_it(self, command, prover):
        told = command("inspect", prover).out
        splits = [
            min(sum(j["first_error_step"] == -1 for j in r["judgments"] if j["valid"]), sum(
                j["first_error_step"] != -1 for j in r["judgments"] if j["valid"])) / max(1, sum(
                j["valid"] for j in r["judgments"]))
            for r in records(prover)
        ]  # fmt: skip
        line = next(line for line in told.split("\n") if line.startswith("Judges disagree most on number "))
        number = int(line.removeprefix("Judges disagree most on number ").split(":")[0])
        assert splits[number] == max(splits) > 0
        hint = next(line for line in told.split("\n") if "proverbench inspect r" in line)
        read = command(*hint[hint.index("inspect r") :].split())
        assert read.code == 0
        for step in records(prover)[number]["steps"]:
            assert step.split()[0] in read.out

    def test_disagreement_is_sorted(self, command, prover):
        found = json.loads(command("inspect", prover, "--disagree", "--json").out)["proofs"]
        polarities = [entry["disagreement"]["polarity"] for entry in found]
        assert polarities == sorted(polarities, reverse=True)
        assert polarities[0] > 0

    @pytest.mark.parametrize(
        "arguments", [("--disagree", "r"), ("r", "--disagree"), ("--invalid", "r"), ("--invalid", "r", "--disagree")]
    )
    def test_an_optional_value_swallows_no_folder(self, command, prover, arguments):
        ended = command("inspect", *arguments)
        assert ended.code == 0
        assert "of 12 proofs" in ended.out

    @pytest.mark.parametrize(
        ("arguments", "wanted"),
        [
            (("--accepted",), lambda r: r["score"] == 1),
            (("--rejected",), lambda r: r["score"] == 0),
            (("--domain", "qe"), lambda r: r["domain"] == "qe"),
            (("--subject", "Algebra"), lambda r: True),
            (("--problem", "p3"), lambda r: r["problem_id"] == "p3"),
            (("--invalid",), lambda r: r["generation_error"] or not all(j["valid"] for j in r["judgments"])),
            (("--invalid", "non_stop_finish"), lambda r: "non_stop_finish" in json.dumps(r)),
            (("--domain", "qe", "--rejected"), lambda r: r["domain"] == "qe" and r["score"] == 0),
        ],
    )
    def test_filters(self, command, prover, arguments, wanted):
        found = numbers(command("inspect", prover, *arguments, "--json").out)
        assert found == [number for number, record in enumerate(records(prover)) if wanted(record)]
        assert command("inspect", prover, *arguments).code == 0

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("--domain", "nope"), "no proof has the domain 'nope'"),
            (("--invalid", "nope"), "nothing is invalid for 'nope'"),
            (("--disagree", "nope"), "give judges, human, or nothing"),
            (("p33",), "did you mean 'p3'"),
            (("99",), "numbers are 0 to 11"),
            (("--call", "nope"), "ROLE/ID/SAMPLE/REPEAT"),
            (("--call", "verifier/p0/0/9"), "has no call"),
            (("--call", "meta/p0/0/0"), "has no call"),
        ],
    )
    def test_what_is_not_there(self, command, prover, arguments, told):
        ended = command("inspect", prover, *arguments)
        assert ended.code == 2
        assert told in ended.err
        assert "Traceback" not in ended.err

    def test_no_run(self, command, tmp_path):
        assert command("inspect").code == 2
        assert command("inspect", "nowhere").code == 2


class TestProof:
    @pytest.mark.parametrize("name", ["4", "#4", "p2/0"])
    def test_by_number_or_key(self, command, prover, name):
        assert "Proof 4: p2/0" in command("inspect", prover, name).out

    def test_a_problem_with_several_proofs_is_a_table(self, command, prover):
        told = command("inspect", prover, "p2").out
        assert "p2/0" in told
        assert "p2/1" in told

    def test_every_judgment_is_beside_the_proof_and_the_wrong_step_is_marked(self, command, terminal, verifier):
        for number, record in every(enumerate(records(verifier))):
            told = command("inspect", verifier, str(number)).out
            assert fits(told)
            for judgment in every(record["judgments"]):
                assert f"Judgment {judgment['repeat']}: " in told
                if judgment["valid"] and judgment["first_error_step"] >= 0:
                    wanted = f"Step {judgment['first_error_step']}  ✗"
                    heading = next(line for line in told.split("\n") if wanted in line)
                    assert "first wrong step" in heading
                if judgment["meta"] and judgment["meta"]["level"]:
                    assert judgment["meta"]["level"] in told
            if not record["is_correct"]:
                assert any("Step 1  ✗ human: fatal error" in line for line in told.split("\n"))
            assert f"Comment: Comment {number}." in told
            assert f"Reference {number}." in told

    def test_an_invalid_generation_is_shown_as_it_came(self, command, prover):
        number = next(n for n, record in enumerate(records(prover)) if record["generation_error"])
        told = command("inspect", prover, str(number)).out
        assert "it scores 0 and was not judged" in told
        assert "As it came:" in told

    def test_json(self, command, verifier):
        told = json.loads(command("inspect", verifier, "v3", "--json").out)
        assert told["key"] == "v3"
        assert told["row"]["annotation"]["reviewer_comment"] == "Comment 3."
        assert len(told["judgments"]) == 4

    def test_no_reply_commands_the_terminal(self, command, inputs, server):
        text = "<step>\x1b[2J\x1b]0;title\x07 red \x9b31m \u202e</step>"
        server.script = lambda received: (
            Play(reply=ModelReply(content=text)) if received.json["model"] == "m-policy" else None
        )
        command(*RUN, "--limit", "1")
        told = command("inspect", "r", "0").out
        assert "\\u001b[2J" in told
        assert not set(told) & {"\x1b", "\x07", "\x9b", "\u202e"}


class TestCall:
    @pytest.mark.parametrize("key", ["policy/p1/0/0", "verifier/p1/1/3"])
    def test_exact_prompt_and_reply(self, command, terminal, prover, server, key):
        told = json.loads(command("inspect", prover, "--call", key, "--json").out)
        prompts = {r.json["messages"][0]["content"] for r in server.log if r.json["model"] == f"m-{key.split('/')[0]}"}
        assert told["prompt"] in prompts
        assert told["reply"] == told["line"]["text"]
        page = command("inspect", prover, "--call", key).out
        assert fits(page)
        assert page.index("Prompt") < page.index("Reply")
        assert told["reading"] in page

    def test_a_reply_that_no_encoding_holds(self, command, inputs, server):
        server.script = lambda received: Play(reply=ModelReply(content="<step>\ud800</step>"))
        command(*RUN, "--limit", "1")
        assert (
            json.loads(command("inspect", "r", "--call", "policy/p0/0/0", "--json").out)["reply"]
            == "<step>\ud800</step>"
        )
        assert "\\ud800" in command("inspect", "r", "--call", "policy/p0/0/0").out

    def test_an_unanswered_call_tells_its_failures(self, command, inputs, server):
        write_config(inputs / "config.toml", server.base_url, more="max_retries = 0\n")
        server.profile = Profile(faults={"503": 1.0})
        command(*RUN, "--limit", "1")
        told = command("inspect", "r", "--call", "policy/p0/0/0").out
        assert "answered    no" in told
        assert "http_503" in told
        assert "Prove statement number 0." in told
        assert command("inspect", "r", "--call", "verifier/p0/0/0").code == 0


class TestFollow:
    def test_a_run_still_going(self, inputs, server, monkeypatch):
        server.script = gate = Gate(after=3)
        write_config(inputs / "config.toml", server.base_url, concurrency=4)
        monkeypatch.chdir(inputs)
        program = [sys.executable, "-m", "proverbench"]
        quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        run = subprocess.Popen([*program, *RUN, "--verifier-repeats", "4"], **quiet)
        wait_for(lambda: len(server.log) >= 4, run)
        follow = subprocess.Popen([*program, "inspect", "r", "--follow"], stdout=subprocess.PIPE, text=True)
        assert follow.stdout is not None
        head = [follow.stdout.readline() for _ in range(4)]
        gate.open()
        told, _ = follow.communicate(timeout=HUNG_S)
        assert follow.returncode == 0
        assert run.wait(timeout=HUNG_S) == 0
        assert f"going on in process {run.pid}" in head[3]
        events, _, scores = told.partition("the session stops: done")
        assert events.count("verifier/") > 10
        assert "complete" in scores
        assert "pessimistic" in scores
        assert fits(events)

    def test_a_run_that_grows_meanwhile(self, command, prover):
        run = RunFolder(prover)
        before = run.sources.ledger.count("verifier")
        command("run", "--resume", "r", "--verifier-repeats", "5")
        run.sources.refresh()
        assert run.sources.plan.repeats == 5
        assert run.sources.ledger.count("verifier") > before
        run.close()

    def test_json_lines(self, command, prover):
        assert command("inspect", prover, "--follow", "--json").out == ""


@pytest.mark.shared
class TestPublishedFolder:
    @pytest.mark.parametrize("name", ["prover", "verifier", "verifier-meta", "prover-interrupted"])
    def test_looked_into_as_it_lies(self, command, name):
        before = {path: path.read_bytes() for path in (PUBLISHED / name).rglob("*") if path.is_file()}
        ended = command("inspect", PUBLISHED / name)
        assert ended.code == 0
        assert "judgments: " in ended.out
        data = PUBLISHED / f"{name}.data.jsonl"
        assert command("inspect", PUBLISHED / name, "--data", data, "0").code == 0
        assert {path: path.read_bytes() for path in (PUBLISHED / name).rglob("*") if path.is_file()} == before

    def test_its_exact_prompt(self, command):
        record = json.loads((PUBLISHED / "prover/records/000001_000.json").read_bytes())
        key = f"verifier/{record['problem_id']}/0/1"
        told = json.loads(command("inspect", PUBLISHED / "prover", "--call", key, "--json").out)
        assert told["prompt"] == record["inputs"]["verifier_prompt"]
        assert told["reply"] == record["verifier_trials"][1]["response"]["text"]

    def test_data_is_for_them_alone(self, command, prover):
        assert command("inspect", prover, "--data", "problems.jsonl").code == 2
