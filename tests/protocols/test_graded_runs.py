"""The grading protocols and declared ones, end to end."""

import json
import re
from pathlib import Path

import pytest

import proverbench
from proverbench.protocols.prompts import Template, render_verifier
from proverbench.protocols.registry import PROTOCOLS, find_protocol
from proverbench.records import Annotation, Problem, Proof
from proverbench.rehearse import ModelReply
from tests.support import problem_rows, write_config, write_rows

OWN = """
[protocol]
name = "json-score-10"
verdict = "grade"
prompt = "own.txt"
[protocol.find]
json = "result.score"
which = "last"
[protocol.scale]
max = 10
step = 0.5
[protocol.accept]
from = 8
[[protocol.example]]
reply = '{"result": {"score": 9}}'
expect = 9
[[protocol.example]]
reply = "nine"
expect_reason = "missing:value"
"""
GRADES = [7, 6, 2, 0]


def _graded_rows() -> list[dict]:
    return [
        {
            "proof_id": f"v{n}",
            "problem_id": f"p{n}",
            "problem": f"Statement number {n}.",
            "steps": ["First <points>7</points>.", "Then."],
            "rubric": "7 points: all of it.",
            "grade": grade,
            "max_grade": 7,
        }
        for n, grade in enumerate(GRADES)
    ]


@pytest.fixture
def inputs(tmp_path, server):
    write_rows(tmp_path / "problems.jsonl", problem_rows(4))
    write_rows(tmp_path / "proofs.jsonl", _graded_rows())
    write_config(tmp_path / "config.toml", server.base_url)
    (tmp_path / "own.toml").write_text(OWN)
    (tmp_path / "own.txt").write_text("Score this from 0 to {max_grade}. {problem} {solution} {rubric}")

    def reply(ask, before):
        number = int(re.search(r"tatement number (\d)", ask.prompt)[1])
        if "<step>" in ask.prompt:
            return ModelReply(content="<step>So.</step>")
        points = (7, 6, 3, None)[number % 4]
        if "Score this" in ask.prompt:
            said = "nothing" if points is None else json.dumps({"result": {"score": points + 2}})
        elif "boxed{0.5}" in ask.prompt:
            said = "no box" if points is None else f"\\boxed{{{'1' if points == 7 else '0.5'}}}"
        elif "paragraph" in ask.prompt:
            said = "none" if points is None else f"\\boxed{{{-1 if points >= 6 else 0}}}"
        else:
            said = "no grade" if points is None else f"<points>{points} out of 7</points>"
        return ModelReply(content=said)

    server.replies = reply
    return tmp_path


def _metrics(run: str) -> dict:
    return json.loads(Path(run, "summary.json").read_bytes())["splits"]["all"]["metrics"]


def _grades(run: str) -> list:
    lines = Path(run, "records.jsonl").read_text().splitlines()
    return [judgment.get("grade") for line in lines for judgment in json.loads(line)["judgments"]]


VERIFY = ("verify", "--data", "proofs.jsonl", "--config", "config.toml")
PROVE = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--verifier-repeats", "1")


@pytest.mark.parametrize(
    ("protocol", "grades", "accepted", "invalid"),
    [
        ("grade-0-7", [7, 6, 3, None], [True, True, False, False], "missing:points"),
        ("score-3", [1, 0.5, 0.5, None], [True, False, False, False], "missing:boxed"),
        ("process-v1", [None] * 4, [True, True, False, False], "missing:boxed"),
        ("own.toml", [9, 8, 5, None], [True, True, False, False], "missing:value"),
    ],
)
def test_both_benchmarks_under_each(command, inputs, protocol, grades, accepted, invalid):
    ended = command(*PROVE, "--protocol", protocol, "--no-use-reference-solution", "--output", "p")
    assert ended.code == 0, ended.err
    assert _metrics("p")["pessimistic"] == sum(accepted) / 4
    ended = command(*VERIFY, "--protocol", protocol, "--output", "v")
    assert ended.code == 0, ended.err
    assert _grades("v") == grades
    assert json.loads(Path("v/summary.json").read_bytes())["invalid"]["verifier"] == {invalid: 1}
    right = [accept == (grade >= 6) for accept, grade in zip(accepted, GRADES, strict=True)]
    right[3] = False  # what cannot be read is never right
    assert _metrics("v")["rough_accuracy"] == sum(right) / 4
    assert _metrics("v")["first_error_step_accuracy"] is None
    before = {path: path.read_bytes() for path in Path("v").glob("*.json*")}
    assert command("score", "v").code == 0
    assert {path: path.read_bytes() for path in Path("v").glob("*.json*")} == before
    assert command("inspect", "v").code == 0
    assert command("report", "p", "v", "-o", "page.html").code == 0
    for form, place in (("csv", "tables"), ("latex", "table.tex")):
        exported = command("export", "p", "v", "--to", form, "-o", place)
        assert exported.code == 0, exported.err
    scores = proverbench.load("v").scores.set_index(["split", "metric"])["value"]
    for metric, value in _metrics("v").items():
        if isinstance(value, float):
            assert scores["all", metric] == value
    assert command("analyse", "v").code == 0
    assert command("verify", "--resume", "v", "--verifier-repeats", "2").code == 0


def test_another_threshold_is_another_run(command, inputs):
    command(*PROVE, "--protocol", "grade-0-7", "--no-use-reference-solution", "--output", "six")
    command(*PROVE, "--protocol", "grade-0-7", "--no-use-reference-solution", "--accept-from", "7", "--output", "seven")
    command(*PROVE, "--protocol", "grade-0-7", "--no-use-reference-solution", "--accept-from", "6", "--output", "same")
    manifests = [json.loads(Path(run, "manifest.json").read_bytes()) for run in ("six", "seven", "same")]
    assert [m["identity"].get("accept_from") for m in manifests] == [None, 7, None]
    assert manifests[0]["run_id"] == manifests[2]["run_id"] != manifests[1]["run_id"]
    assert (_metrics("six")["pessimistic"], _metrics("seven")["pessimistic"]) == (0.5, 0.25)
    compared = command("compare", "six", "seven")
    assert compared.code == 2
    assert "a proof is accepted from another grade" in compared.err
    assert command("run", "--resume", "seven", "--verifier-repeats", "2").code == 0
    refused = command("run", "--resume", "seven", "--accept-from", "6", "--verifier-repeats", "3")
    assert refused.code == 2
    assert "accept_from" in refused.err


def test_where_a_graded_proof_is_correct_from(command, inputs):
    named = (*VERIFY, "--protocol", "grade-0-7")
    command(*named, "--correct-from", "2", "--output", "two")
    command(*named, "--correct-from", "6", "--output", "six")
    identities = [json.loads(Path(run, "manifest.json").read_bytes())["identity"] for run in ("two", "six")]
    assert [identity.get("correct_from") for identity in identities] == [2, None]
    counts = [json.loads(Path(run, "summary.json").read_bytes())["splits"]["all"]["metrics"] for run in ("two", "six")]
    assert [count["correct_proofs"] for count in counts] == [3, 2]
    compared = command("compare", "two", "six")
    assert compared.code == 2
    assert "other proofs count as correct" in compared.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--protocol", "grade-0-8"), "did you mean 'grade-0-7'?"),
        (("--protocol", "absent.toml"), "this protocol cannot be read"),
        (("--protocol", "process-v1", "--accept-from", "1"), "protocol 'process-v1' has no grades"),
        (("--protocol", "score-3", "--accept-from", "2"), "the best grade of 'score-3' is 1"),
        (("--protocol", "grade-0-7", "--meta"), "has no meta"),
        (("--protocol", "grade-0-7", "--correct-from", "8"), "above 0 and up to 7"),
    ],
)
def test_what_does_not_fit_is_refused(command, inputs, server, options, said):
    ended = command(*VERIFY, *options, "--output", "v")
    assert (ended.code, server.stats()["requests"], Path("v").exists()) == (2, 0, False)
    assert said in ended.err


def test_a_scale_that_the_protocol_lacks_is_refused(command, inputs):
    rows = [row | {"max_grade": 10} for row in _graded_rows()]
    write_rows(inputs / "proofs.jsonl", rows)
    ended = command(*VERIFY, "--protocol", "grade-0-7", "--output", "v")
    assert ended.code == 2
    assert "grades of 10 points" in ended.err


def test_an_example_that_reads_otherwise_is_refused(command, inputs, server):
    (inputs / "own.toml").write_text(OWN.replace("expect = 9", "expect = 8"))
    ended = command(*VERIFY, "--protocol", "own.toml", "--output", "v")
    assert (ended.code, server.stats()["requests"]) == (2, 0)
    assert "read 9.0, but the file expects 8.0" in ended.err


def test_a_run_keeps_its_declared_protocol(command, inputs):
    assert command(*VERIFY, "--protocol", "own.toml", "--output", "v").code == 0
    (inputs / "own.toml").unlink()
    (inputs / "own.txt").unlink()
    assert command("verify", "--resume", "v", "--verifier-repeats", "2").code == 0
    kept = Path("v/prompts/protocol.toml")
    assert kept.read_text() == OWN
    kept.write_text(OWN + "\n# changed")
    ended = command("score", "v")
    assert ended.code == 1
    assert "is not the protocol that the run was made with" in ended.err


ROW = Proof(
    problem_id="p",
    problem="P <points>7</points>",
    rubric="All of it.",
    proof_id="v",
    steps=["a", "b <paragraph_0>"],
    annotation=Annotation(None, [-1], verdict="correct"),
    is_correct=True,
    first_error_step=-1,
    grade=7,
    max_grade=7,
)


@pytest.mark.parametrize("protocol", PROTOCOLS[1:], ids=lambda protocol: protocol.name)
def test_judges_see_the_rubric_and_never_a_grade(protocol):
    template = Template.load("verifier", None, protocol)
    shown = render_verifier(template, ROW, ROW.steps, use_reference=False, neutralise=True)
    body = shown.text[template.cacheable_chars :]
    assert "7" not in body.replace("<points>7", "").replace("&lt;points>7", "")
    assert ("All of it." in body) == (protocol.name == "grade-0-7")
    # Its own tags cannot be written by a proof; others may stand.
    assert shown.neutralised == {"grade-0-7": 2, "score-3": 0, "process-v1": 1}[protocol.name]
    assert template.cacheable_chars > 0.8 * len(template.text)


def test_an_absent_rubric_reads_none():
    template = Template.load("verifier", None, find_protocol("grade-0-7"))
    plain = Problem(problem_id="p", problem="P")
    shown = render_verifier(template, plain, ["a"], use_reference=False, neutralise=True).text
    assert "Marking scheme (None: not given):\n\nNone" in shown


def test_paragraphs_are_laid_out_as_processbench_does():
    assert (
        find_protocol("process-v1").layout(["a", "b"])
        == "<paragraph_0>\na\n</paragraph_0>\n\n<paragraph_1>\nb\n</paragraph_1>"
    )
