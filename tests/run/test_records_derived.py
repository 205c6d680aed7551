"""Records and summary of runs made here: what each reply earns, what is open, closed, invalid, counted, warned of."""

import pytest

from proverbench.records import GIVEN, FinalLine, ProofRecord, RoleIdentity, SessionLine, Summary
from proverbench.run.derive import build_record, build_records
from proverbench.run.sources import Sources
from proverbench.run.summarise import Summariser
from tests.run.made_runs import PROOF, call, make_run, problem, proof, verdict

ACCEPTS, REJECTS, INVALID = verdict(-1), verdict(0), verdict("x")
EXACT = "<level>EXACT_MATCH</level>"


def summary(sources: Sources) -> Summary:
    seen = Summariser(sources)
    for record in build_records(sources, seen.see_call):
        seen.see_record(record)
    return seen.scored().summary


def reasons(record: ProofRecord) -> list[str | None]:
    return [judgment.reason for judgment in record.judgments]


# ---------------------------------------------------------------- records of ProverBench


@pytest.mark.parametrize(
    ("judgments", "score"),
    [
        ([ACCEPTS, ACCEPTS], 1.0),
        ([ACCEPTS, REJECTS], 0.0),
        ([ACCEPTS, INVALID], 0.0),
        ([INVALID, INVALID], 0.0),
        ([REJECTS, REJECTS], 0.0),
    ],
)
def test_a_proof_is_accepted_by_all_its_judgments_or_not(tmp_path, judgments, score):
    lines = [call("policy/a/0/0", PROOF), *(call(f"verifier/a/0/{n}", text) for n, text in enumerate(judgments))]
    sources = make_run(tmp_path / "r", [problem("a", domain="qe", subject="Algebra")], lines, repeats=2)
    record = build_record(sources, 0)
    assert (record.complete, record.score, record.generation_error) == (True, score, None)
    assert (record.key, record.domain, record.subject, record.policy) == ("a/0", "qe", "Algebra", "policy-model")
    assert record.steps == ["one", "two"]
    assert [judgment.repeat for judgment in record.judgments] == [0, 1]
    assert [judgment.valid for judgment in record.judgments] == [text != INVALID for text in judgments]
    assert reasons(record) == ["bad_index" if text == INVALID else None for text in judgments]


def test_a_verdict_is_kept_whole(tmp_path):
    lines = [call("policy/a/0/0", PROOF), call("verifier/a/0/0", verdict(1))]
    (judgment,) = build_record(make_run(tmp_path / "r", [problem("a")], lines), 0).judgments
    assert (judgment.first_error_step, judgment.assessment, judgment.errors, judgment.meta) == (1, "A", "E", None)


def test_what_is_open_is_incomplete_and_what_was_closed_is_worth_nothing(tmp_path):
    rows = [problem(name) for name in "abcd"]
    lines = [
        call("policy/a/0/0", PROOF),
        call("verifier/a/0/1", ACCEPTS),  # the first judgment is open
        call("policy/b/0/0", PROOF),
        call("verifier/b/0/0", ACCEPTS),
        FinalLine(at="", keys=["verifier/b/0/1", "policy/c/0/0"]),
    ]
    sources = make_run(tmp_path / "r", rows, lines, repeats=2)
    judging, closed, unwritten, waiting = build_records(sources)
    assert (judging.complete, judging.score, [j.repeat for j in judging.judgments]) == (False, None, [1])
    assert (closed.complete, closed.score, reasons(closed)) == (True, 0.0, [None, "unanswered"])
    assert (unwritten.complete, unwritten.score, unwritten.generation_error) == (True, 0.0, "unanswered")
    assert (waiting.complete, waiting.score, waiting.generation_error) == (False, None, None)
    assert summary(sources).closed_unanswered == 2


def test_an_invalid_generation_scores_zero_and_is_not_judged(tmp_path):
    lines = [call("policy/a/0/0", PROOF, finish_reason="length"), call("verifier/a/0/0", ACCEPTS)]
    record = build_record(make_run(tmp_path / "r", [problem("a")], lines), 0)
    assert (record.generation_error, record.score, record.complete) == ("non_stop_finish", 0.0, True)
    assert (record.steps, record.judgments) == (["one", "two"], [])


def test_refusals_are_answers_in_records_and_summary(tmp_path):
    lines = [
        call("policy/a/0/0", "", refused="content_policy"),
        call("policy/b/0/0", PROOF),
        call("verifier/b/0/0", "", refused="context_length"),
    ]
    sources = make_run(tmp_path / "r", [problem("a"), problem("b")], lines)
    first, second = build_records(sources)
    assert first.generation_error == "refused:content_policy"
    assert reasons(second) == ["refused:context_length"]
    found = summary(sources)
    assert found.complete
    assert found.invalid == {"policy": {"refused:content_policy": 1}, "verifier": {"refused:context_length": 1}}
    assert found.splits["all"].metrics == {
        "problems": 2,
        "proofs": 2,
        "pessimistic": 0.0,
        "pass_any_sample": 0.0,
        "generation_failure_rate": 0.5,
        "verifier_valid_rate": 0.0,
    }


def test_replacements_in_what_the_judge_saw_are_counted(tmp_path):
    tagged = "<step>one <level></step>"
    lines = [call("policy/a/0/0", tagged), call("verifier/a/0/0", ACCEPTS)]
    rows = [problem("a", reference_solution="<think>")]
    assert build_record(make_run(tmp_path / "1", rows, lines), 0).neutralised == 1
    shown = make_run(tmp_path / "2", rows, lines, use_reference_solution=True)
    assert build_record(shown, 0).neutralised == 2
    assert build_record(make_run(tmp_path / "3", rows, lines, neutralise=False), 0).neutralised == 0
    assert build_record(make_run(tmp_path / "4", rows, lines, templates=False), 0).neutralised == 0


def test_every_reply_that_was_read_is_seen_once(tmp_path):
    lines = [call("policy/a/0/0", PROOF), call("verifier/a/0/0", ACCEPTS), call("verifier/a/0/1", INVALID)]
    seen: list[str] = []
    list(
        build_records(
            make_run(tmp_path / "r", [problem("a")], lines, repeats=2), lambda line: seen.append(line.key.text)
        )
    )
    assert seen == [line.key.text for line in lines]


# ---------------------------------------------------------------- records of VerifierBench


@pytest.mark.parametrize(
    ("label", "judgments", "score"),
    [
        (-1, [ACCEPTS, ACCEPTS], 1.0),
        (-1, [ACCEPTS, REJECTS], 0.5),
        (1, [ACCEPTS, REJECTS], 0.5),
        (1, [REJECTS, INVALID], 0.5),
        (1, [ACCEPTS, INVALID], 0.0),
    ],
)
def test_an_annotated_proof_scores_its_mean_polarity(tmp_path, label, judgments, score):
    lines = [call(f"verifier/v/0/{n}", text) for n, text in enumerate(judgments)]
    record = build_record(make_run(tmp_path / "r", [proof("v", label, policy="writer")], lines, repeats=2), 0)
    assert record.score == score
    assert (record.key, record.problem_id, record.policy) == ("v", "p-v", "writer")
    assert (record.is_correct, record.first_error_step) == (label == -1, label)
    assert record.annotation is not None
    assert record.annotation.first_fatal_error_step == label


def test_meta_levels(tmp_path):
    lines = [
        call("verifier/v/0/0", ACCEPTS),
        call("meta/v/0/0", EXACT),
        call("verifier/v/0/1", ACCEPTS),
        call("meta/v/0/1", "prose"),
        call("verifier/v/0/2", INVALID),
        call("verifier/v/0/3", ACCEPTS),
        call("verifier/w/0/0", ACCEPTS),
        FinalLine(at="", keys=["meta/v/0/3", "verifier/w/0/1", "meta/w/0/1"]),
    ]
    sources = make_run(tmp_path / "r", [proof("v"), proof("w")], lines, repeats=4, meta=True)
    first, second = build_records(sources)
    assert [(j.meta and (j.meta.valid, j.meta.level, j.meta.reason)) for j in first.judgments] == [
        (True, "EXACT_MATCH", None),
        (False, None, "bad_level"),
        (False, None, "verifier_invalid"),
        (False, None, "unanswered"),
    ]
    assert (first.complete, first.score) == (True, 0.75)
    # Of w: the first judgment waits for its level, the second was closed, the others are open.
    assert [(j.repeat, j.reason, j.meta and j.meta.reason) for j in second.judgments] == [
        (0, None, None),
        (1, "unanswered", "verifier_invalid"),
    ]
    assert (second.complete, second.score) == (False, None)
    assert summary(sources).invalid == {
        "verifier": {"bad_index": 1, "unanswered": 1},
        "meta": {"bad_level": 1, "unanswered": 1, "verifier_invalid": 2},
    }


def test_a_judgment_whose_level_is_open_leaves_the_record_incomplete(tmp_path):
    sources = make_run(tmp_path / "r", [proof("v")], [call("verifier/v/0/0", ACCEPTS)], meta=True)
    assert not build_record(sources, 0).complete
    graded = make_run(
        tmp_path / "s", [proof("v")], [call("verifier/v/0/0", ACCEPTS), call("meta/v/0/0", EXACT)], meta=True
    )
    assert build_record(graded, 0).complete


# ---------------------------------------------------------------- summary


def test_splits_are_scored_when_they_are_complete(tmp_path):
    rows = [problem("a", domain="ugd"), problem("b", domain="qe"), problem("c", domain="qe")]
    lines = [
        *(call(f"policy/a/{n}/0", PROOF) for n in range(2)),
        call("verifier/a/0/0", ACCEPTS),
        call("verifier/a/1/0", REJECTS),
        call("policy/b/0/0", PROOF),
    ]
    found = summary(make_run(tmp_path / "r", rows, lines, samples=2))
    assert found.complete is False
    sizes = {
        name: (split.selected_rows, split.expected_records, split.completed_records, split.complete)
        for name, split in found.splits.items()
    }
    assert sizes == {"all": (3, 6, 2, False), "ugd": (1, 2, 2, True), "qe": (2, 4, 0, False)}
    assert found.splits["all"].metrics is None
    assert found.splits["qe"].intervals is None
    scored = found.splits["ugd"]
    assert scored.metrics is not None
    assert (scored.metrics["pessimistic"], scored.metrics["pass_any_sample"]) == (0.5, 1.0)
    assert set(scored.intervals or ()) == set(scored.metrics) - {"problems", "proofs"}


def test_a_split_without_rows_is_complete_and_has_no_scores(tmp_path):
    lines = [call("policy/a/0/0", PROOF), call("verifier/a/0/0", ACCEPTS)]
    found = summary(make_run(tmp_path / "r", [problem("a", domain="ugd")], lines))
    assert found.complete
    assert (found.splits["qe"].complete, found.splits["qe"].metrics) == (True, None)


def test_a_metric_without_a_value_says_why_in_the_summary(tmp_path):
    split = summary(make_run(tmp_path / "r", [proof("v")], [call("verifier/v/0/0", ACCEPTS)])).splits["all"]
    assert split.metrics is not None
    assert split.metrics["rough_tnr"] is None
    assert split.undefined["rough_tnr"] == split.undefined["rough_bal_f1"] == "no proof is labelled incorrect"  # type: ignore[index]
    both = [call("verifier/v/0/0", ACCEPTS), call("verifier/w/0/0", REJECTS)]
    assert not summary(make_run(tmp_path / "s", [proof("v"), proof("w", 0)], both)).splits["all"].undefined


def test_usage_is_added_up_by_role(tmp_path):
    counted = {"prompt_tokens": 10, "completion_tokens": 3}
    lines = [
        call("policy/a/0/0", PROOF, usage=counted),
        call("policy/b/0/0", PROOF, usage=None),
        call("verifier/a/0/0", ACCEPTS, usage=counted),
        call("verifier/b/0/0", ACCEPTS, usage=counted),
    ]
    found = summary(make_run(tmp_path / "r", [problem("a"), problem("b")], lines)).usage
    assert list(found) == ["policy", "verifier"]
    numbers = {role: (u["calls"], u["calls_of_unknown_usage"], u["input"], u["output"]) for role, u in found.items()}
    assert numbers == {"policy": (2, 1, 10, 3), "verifier": (2, 0, 20, 6)}


def test_given_proofs_were_not_asked_for(tmp_path):
    lines = [call("policy/a/0/0", PROOF, finish_reason=None), call("verifier/a/0/0", ACCEPTS)]
    given = {"policy": RoleIdentity(model="given", kind=GIVEN)}
    found = summary(make_run(tmp_path / "r", [problem("a")], lines, roles=given))
    assert list(found.usage) == ["verifier"]
    assert found.warnings == []


# ---------------------------------------------------------------- warnings


def warnings_of(folder, judgments, **options) -> list[str]:
    lines = [call("policy/a/0/0", PROOF), *judgments]
    return summary(make_run(folder, [problem("a")], lines, repeats=len(judgments), **options)).warnings


def test_replies_that_differ_warn_of_nothing(tmp_path):
    different = [call("verifier/a/0/0", ACCEPTS), call("verifier/a/0/1", REJECTS)]
    assert warnings_of(tmp_path / "r", different) == []


def test_own_prompts(tmp_path):
    judgments = [call("verifier/a/0/0", ACCEPTS)]
    assert warnings_of(tmp_path / "r", judgments, own_prompts=["policy", "verifier"]) == [
        "proverbench's own prompts were used (policy, verifier): not comparable with published tables"
    ]


def test_another_model_name_or_fingerprint(tmp_path):
    names = [call("verifier/a/0/0", ACCEPTS, model="one"), call("verifier/a/0/1", REJECTS, model="two")]
    assert warnings_of(tmp_path / "n", names) == ["the verifier's server answered under 2 model names: one, two"]
    marks = [call("verifier/a/0/0", ACCEPTS, fingerprint="f"), call("verifier/a/0/1", REJECTS, fingerprint="g")]
    assert warnings_of(tmp_path / "f", marks) == [
        "the verifier's server reported 2 different fingerprints: it changed during the run"
    ]


def test_missing_finish_reasons(tmp_path):
    judgments = [
        call("verifier/a/0/0", ACCEPTS, finish_reason=None),
        call("verifier/a/0/1", REJECTS, finish_reason=None),
        call("verifier/a/0/2", "", finish_reason=None, refused="context_length"),
    ]
    (said,) = warnings_of(tmp_path / "r", judgments)
    assert said.startswith("2 replies of the verifier came without a finish reason and are invalid; ")
    lenient = {"verifier": RoleIdentity(model="m", kind="openai", accept_missing_finish=True)}
    assert warnings_of(tmp_path / "s", judgments, roles=lenient) == []


def test_invalid_replies_that_quote_the_end_of_a_reasoning_which_came_apart(tmp_path):
    quoting = [verdict(-1) + " as </think> says", verdict(-1), "</think>" + verdict(-1), verdict(0) + "</think>"]
    judgments = [call(f"verifier/a/0/{n}", text, reasoning=f"r{n}") for n, text in enumerate(quoting)]
    inside = call("verifier/a/0/4", verdict(-1) + " cut</think>")
    found = warnings_of(tmp_path / "r", [*judgments, inside])
    assert [said for said in found if "</think>" in said] == [
        "2 invalid replies of the verifier with </think> in the text although its reasoning came apart: as in the "
        "published evaluator, what precedes it is not read"
    ]


def test_replies_that_are_the_same(tmp_path):
    same = [call(f"verifier/a/0/{n}", ACCEPTS) for n in range(2)]
    (said,) = warnings_of(tmp_path / "r", [*same, call("verifier/a/0/2", REJECTS)])
    assert said.startswith("1 of 1 proofs got byte-identical judgments (2 of 3 judgments, 67%): ")
    thought = [call(f"verifier/a/0/{n}", ACCEPTS, reasoning=f"thought {n}") for n in range(2)]
    assert warnings_of(tmp_path / "t", thought) == []
    empty = [call(f"verifier/a/0/{n}", " \n") for n in range(2)]
    assert warnings_of(tmp_path / "e", empty) == []
    refused = [call(f"verifier/a/0/{n}", "no", refused="content_policy") for n in range(2)]
    assert warnings_of(tmp_path / "f", refused) == []


def test_the_same_reply_to_another_prompt_is_no_sign(tmp_path):
    lines = [call(f"policy/a/{n}/0", f"<step>{n}</step>") for n in range(2)]
    lines += [call(f"verifier/a/{n}/{r}", verdict(-1 if r else 0)) for n in range(2) for r in range(2)]
    assert summary(make_run(tmp_path / "r", [problem("a")], lines, samples=2, repeats=2)).warnings == []


def test_characters_that_no_person_sees(tmp_path):
    def said(steps: str) -> list[str]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        lines = [call("policy/a/0/0", steps), call("verifier/a/0/0", ACCEPTS)]
        return [text.partition(" can be read")[0] for text in summary(make_run(folder, [problem("a")], lines)).warnings]

    assert said("<step>a\u200bb</step>") == ["1 character in 1 proof"]
    assert said("<step>a\u200b\u200bb</step>") == ["2 characters in 1 proof"]
    assert said("<step>ab</step>") == []


def test_a_session_asks_again_what_was_closed(tmp_path):
    lines = [
        call("policy/a/0/0", PROOF),
        FinalLine(at="", keys=["verifier/a/0/0"]),
        SessionLine(event="start", at=""),
    ]
    sources = make_run(tmp_path / "r", [problem("a")], lines)
    assert not build_record(sources, 0).complete
    assert summary(sources).closed_unanswered == 0
