"""What a reply means, what was asked, and what is still to be asked, on runs made here."""

import pytest

from proverbench.errors import InvalidReply
from proverbench.records import GIVEN, CallKey, Extent, FinalLine, Identity, Manifest, RoleIdentity
from proverbench.run.reading import open_calls, proof_steps, render
from proverbench.run.replies import ReplyReader
from tests.run.made_runs import PROOF, call, make_run, problem, proof, verdict

OPENAI = RoleIdentity(model="m", kind="openai")
LENIENT = RoleIdentity(model="m", kind="openai", accept_missing_finish=True)
GIVEN_ROLE = RoleIdentity(model="m", kind=GIVEN)


# ---------------------------------------------------------------- one reply


def reader(line, role: RoleIdentity, *, format_version: int = 2) -> ReplyReader:
    """The reader of a run that asked this role."""
    identity = Identity(task="prover", roles={line.role: role})
    return ReplyReader(Manifest(format_version=format_version, identity=identity, extent=Extent(rows=1)))


@pytest.mark.parametrize(
    ("text", "more", "role", "steps", "error"),
    [
        pytest.param(PROOF, {}, OPENAI, ["one", "two"], None, id="valid"),
        pytest.param(PROOF, {"finish_reason": "length"}, OPENAI, ["one", "two"], "non_stop_finish", id="cut"),
        pytest.param(PROOF, {"finish_reason": None}, OPENAI, ["one", "two"], "non_stop_finish", id="no-finish"),
        pytest.param(PROOF, {"finish_reason": None}, LENIENT, ["one", "two"], None, id="accepted-without-finish"),
        pytest.param(PROOF, {"finish_reason": None}, GIVEN_ROLE, ["one", "two"], None, id="given"),
        pytest.param("", {"refused": "content_policy"}, OPENAI, [], "refused:content_policy", id="refused"),
        pytest.param("prose", {}, OPENAI, [], "no_proof_steps", id="no-steps"),
        pytest.param("", {"steps": ["a"]}, GIVEN_ROLE, ["a"], None, id="given-as-steps"),
        pytest.param("", {"steps": []}, GIVEN_ROLE, [], "no_proof_steps", id="given-as-no-steps"),
    ],
)
def test_generations(text, more, role, steps, error):
    line = call("policy/p/0/0", text, **more)
    assert reader(line, role).generation(line) == (steps, error)
    assert reader(line, role).invalid_reason(line, 0) == error


def test_white_space_at_the_start_of_a_step_goes_or_stays():
    line = call("policy/p/0/0", "<step>\n one</step>")
    assert reader(line, OPENAI).generation(line).steps == ["one"]
    assert reader(line, OPENAI, format_version=1).generation(line).steps == ["\n one"]
    cut = call("policy/p/0/0", "<step>\n one</step>", finish_reason="length")
    assert reader(cut, OPENAI).generation(cut).steps == ["one"]
    assert reader(cut, OPENAI, format_version=1).generation(cut).steps == ["\n one"]


@pytest.mark.parametrize(
    ("text", "more", "reason"),
    [
        pytest.param(verdict(1), {}, None, id="valid"),
        pytest.param(verdict(2), {}, "index_out_of_range", id="step-that-is-not-there"),
        pytest.param(verdict(1), {"finish_reason": "length"}, "non_stop_finish", id="cut"),
        pytest.param(verdict(1), {"refused": "context_length"}, "refused:context_length", id="refused"),
    ],
)
def test_judgments(text, more, reason):
    line = call("verifier/p/0/0", text, **more)
    assert reader(line, OPENAI).invalid_reason(line, 2) == reason
    if reason is None:
        assert reader(line, OPENAI).judgment(line, 2).first_error_step == 1
        return
    with pytest.raises(InvalidReply) as refused:
        reader(line, OPENAI).judgment(line, 2)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("text", "more", "level", "reason"),
    [
        ("<level>basic_match</level>", {}, "BASIC_MATCH", None),
        ("<level>GOOD</level>", {}, None, "bad_level"),
        ("<level>BASIC_MATCH</level>", {"finish_reason": "length"}, None, "non_stop_finish"),
    ],
)
def test_levels(text, more, level, reason):
    line = call("meta/v/0/0", text, **more)
    found = reader(line, OPENAI).level(line)
    assert (found.valid, found.level, found.reason) == (reason is None, level, reason)
    assert reader(line, OPENAI).invalid_reason(line, 0) == reason


# ---------------------------------------------------------------- prompts


def key(text: str) -> CallKey:
    return CallKey.parse(text)


def test_prompts_of_every_role(tmp_path):
    sources = make_run(
        tmp_path / "p", [problem("a"), problem("b")], [call("policy/b/1/0", PROOF)], samples=2, repeats=2
    )
    asked = render(sources, key("policy/b/1/0"))
    assert asked[1:] == (0, 0)  # nothing is neutralised for a policy
    assert "Prove b." in asked.text
    assert "Prove a." not in asked.text
    judged = render(sources, key("verifier/b/1/1"))
    assert "<step1>\n\ntwo\n\n</step1>" in judged.text
    assert "Prove b." in judged.text
    for absent in ("verifier/a/0/0", "verifier/b/0/1", "policy/c/0/0", "policy/b/2/0", "verifier/b/1/2", "meta/b/1/0"):
        with pytest.raises(KeyError):
            render(sources, key(absent))


def test_the_prompt_of_a_meta_verifier_needs_the_judgment(tmp_path):
    rows = [proof("v", 1), proof("w", 0)]
    lines = [call("verifier/v/0/1", verdict(1)), call("verifier/w/0/0", verdict("x"))]
    sources = make_run(tmp_path / "v", rows, lines, repeats=2, meta=True)
    assert "<first_error_step>" in render(sources, key("verifier/v/0/0")).text
    graded = render(sources, key("meta/v/0/1")).text
    assert "Prove v." in graded
    assert "Prove w." not in graded
    with pytest.raises(KeyError):
        render(sources, key("meta/v/0/0"))  # not judged yet
    with pytest.raises(InvalidReply):
        render(sources, key("meta/w/0/0"))


def test_reference_and_neutralising_are_those_of_the_run(tmp_path):
    rows = [proof("v", reference_solution="SECRET </step0>")]
    shown = make_run(tmp_path / "1", rows, [], use_reference_solution=True)
    assert "SECRET &lt;/step0>" in render(shown, key("verifier/v/0/0")).text
    plain = make_run(tmp_path / "2", rows, [], use_reference_solution=True, neutralise=False)
    assert "SECRET </step0>" in render(plain, key("verifier/v/0/0")).text
    hidden = make_run(tmp_path / "3", rows, [])
    assert "SECRET" not in render(hidden, key("verifier/v/0/0")).text


def test_an_imported_run_keeps_prompts_with_its_calls(tmp_path):
    lines = [
        call("policy/a/0/0", PROOF, prompt="to the policy"),
        call("verifier/a/0/1", verdict(-1), prompt="to the judge"),
        call("verifier/a/1/0", verdict(-1), prompt="of another proof"),
        call("policy/a/1/0", PROOF),
    ]
    sources = make_run(tmp_path / "i", [problem("a")], lines, samples=3, repeats=2, templates=False)
    assert render(sources, key("policy/a/0/0")) == ("to the policy", 0, 0)
    assert render(sources, key("verifier/a/0/1")).text == "to the judge"
    assert render(sources, key("verifier/a/0/0")).text == "to the judge"  # the same proof, asked again
    assert render(sources, key("verifier/a/1/1")).text == "of another proof"
    for unknown in ("policy/a/1/0", "policy/a/2/0", "verifier/a/2/0"):
        with pytest.raises(KeyError):
            render(sources, key(unknown))


def test_steps_of_a_proof(tmp_path):
    lines = [call("policy/a/0/0", "<step>\n one"), call("policy/a/2/0", "prose")]
    new = make_run(tmp_path / "n", [problem("a")], lines, samples=3)
    assert proof_steps(new, 0) == (["one"], None)
    assert proof_steps(new, 0) == (["one"], None)  # kept
    assert proof_steps(new, 1) is None
    assert proof_steps(new, 2) == ([], "no_proof_steps")
    assert proof_steps(new, 0) == (["one"], None)
    old = make_run(tmp_path / "o", [problem("a")], lines, samples=3, format_version=1)
    assert proof_steps(old, 0) == (["\n one"], None)
    assert proof_steps(make_run(tmp_path / "v", [proof("v")], []), 0) == (["one", "two"], None)


# ---------------------------------------------------------------- what is open


def opened(sources, **more) -> list[str]:
    return [one.text for one in open_calls(sources, **more)]


def test_open_calls_of_a_prover_run(tmp_path):
    lines = [
        call("policy/a/0/0", PROOF),
        call("verifier/a/0/1", verdict(-1)),
        call("policy/b/0/0", "prose"),  # no proof, so nothing is judged
        call("policy/b/1/0", PROOF),
        call("verifier/b/1/0", verdict(-1)),
        call("verifier/b/1/1", verdict("x")),  # answered, though invalid
    ]
    sources = make_run(tmp_path / "p", [problem("a"), problem("b")], lines, samples=2, repeats=2)
    assert opened(sources) == ["verifier/a/0/0", "policy/a/1/0"]


def test_open_calls_of_a_verifier_run_with_meta(tmp_path):
    lines = [
        call("verifier/v/0/0", verdict(1)),
        call("verifier/v/0/1", verdict("x")),  # invalid: never graded
        call("verifier/w/0/0", verdict(1)),
        call("meta/w/0/0", "<level>EXACT_MATCH</level>"),
    ]
    rows = [proof("v"), proof("w"), proof("x")]
    sources = make_run(tmp_path / "v", rows, lines, repeats=2, meta=True)
    assert opened(sources) == ["meta/v/0/0", "verifier/w/0/1", "verifier/x/0/0", "verifier/x/0/1"]
    without = make_run(tmp_path / "w", rows, lines[:3], repeats=2)
    assert opened(without) == ["verifier/w/0/1", "verifier/x/0/0", "verifier/x/0/1"]


def test_a_judgment_that_lacks_holds_up_no_later_level(tmp_path):
    lines = [call("verifier/v/0/1", verdict("x")), call("verifier/v/0/2", verdict(1))]
    sources = make_run(tmp_path / "v", [proof("v")], lines, repeats=3, meta=True)
    assert opened(sources) == ["verifier/v/0/0", "meta/v/0/2"]


def test_calls_that_were_closed_are_asked_again_only_by_a_session(tmp_path):
    final = FinalLine(at="", keys=["policy/a/1/0", "verifier/a/0/0"])
    lines = [call("policy/a/0/0", PROOF), final]
    sources = make_run(tmp_path / "f", [problem("a")], lines, samples=3, repeats=2)
    assert opened(sources) == ["verifier/a/0/1", "policy/a/2/0"]
    assert opened(sources, closed_too=True) == ["verifier/a/0/0", "verifier/a/0/1", "policy/a/1/0", "policy/a/2/0"]
