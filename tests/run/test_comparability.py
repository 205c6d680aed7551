"""What two runs differ in, and what that does, aspect by aspect; from manifests made here."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from proverbench.metrics import registry
from proverbench.metrics.metric import Metric, Rate
from proverbench.metrics.registry import metrics_of
from proverbench.records import Extent, Identity, Manifest, Problem, Role, RoleIdentity, SplitSummary, Summary, Task
from proverbench.run.comparability import (
    Side,
    calibration_faults,
    changed_problems,
    common_headlines,
    comparable,
    differences,
    doubts,
    of_weight,
    valid_rate_warnings,
)

replace = msgspec.structs.replace


def role(model: str = "m", **more: Any) -> RoleIdentity:
    return RoleIdentity(model=model, kind="openai", **more)


def manifest(task: Task = "prover", **extent: Any) -> Manifest:
    roles: dict[Role, RoleIdentity] = {"verifier": role("judge")}
    if task == "prover":
        roles["policy"] = role("writer")
    identity = Identity(task=task, roles=roles, prompt_sha256={"verifier": "v" * 64}, data_sha256="d" * 64)
    return Manifest(format_version=2, identity=identity, extent=Extent(rows=3, **extent))


def with_role(name: Role, settings: RoleIdentity, run: Manifest) -> Manifest:
    return replace(run, identity=replace(run.identity, roles={**run.identity.roles, name: settings}))


def with_identity(run: Manifest, **changed: Any) -> Manifest:
    return replace(run, identity=replace(run.identity, **changed))


def with_extent(run: Manifest, **changed: Any) -> Manifest:
    return replace(run, extent=replace(run.extent, **changed))


def judged_by(**settings: Any) -> Callable[[Manifest], Manifest]:
    return lambda run: with_role("verifier", RoleIdentity(**({"model": "judge", "kind": "openai"} | settings)), run)


def identified_by(**changed: Any) -> Callable[[Manifest], Manifest]:
    return lambda run: with_identity(run, **changed)


def written_by(model: str) -> Callable[[Manifest], Manifest]:
    return lambda run: with_role("policy", role(model), run) if "policy" in run.identity.roles else run


OTHER_VERIFIER_PROMPT = identified_by(prompt_sha256={"verifier": "w" * 64})

CHANGES: list[tuple[str, str | None, str | None, Callable[[Manifest], Manifest]]] = [
    ("protocol", "refuses", "refuses", identified_by(protocol="score-3")),
    ("steps", "warns", None, lambda run: replace(run, format_version=1)),
    ("repeats", "refuses", "compared", lambda run: with_extent(run, verifier_repeats=2)),
    ("policy", "compared", None, written_by("other")),
    ("generation prompt", "compared", "compared", identified_by(prompt_sha256={"verifier": "v" * 64, "policy": "p"})),
    ("verifier", "warns", "compared", judged_by(model="other")),
    ("verifier", "warns", "compared", judged_by(kind="anthropic")),
    ("verifier", "warns", "compared", judged_by(generation={"temperature": 1})),
    ("verifier", "warns", "compared", judged_by(accept_missing_finish=True)),
    ("verifier", "warns", "compared", judged_by(api="responses")),
    ("verifier prompt", "warns", "warns", OTHER_VERIFIER_PROMPT),
    ("reference switch", "warns", "warns", identified_by(use_reference_solution=True)),
    ("neutralising", "warns", "warns", identified_by(neutralise=False)),
    ("data file", "warns", "warns", identified_by(data_sha256="e" * 64)),
    ("samples", "warns", "compared", lambda run: with_extent(run, samples=4)),
]


@pytest.mark.parametrize(("aspect", "prover", "verifier", "change"), CHANGES)
@pytest.mark.parametrize("task", ["prover", "verifier"])
def test_what_a_difference_does(task, aspect, prover, verifier, change):
    run, weight = manifest(task), {"prover": prover, "verifier": verifier}[task]
    found = differences({"a": run, "b": change(run)})
    assert [(one.aspect, one.weight) for one in found] == ([] if weight is None else [(aspect, weight)])
    for one in found:
        assert list(one.values) == ["a", "b"]
        assert str(one) == f"{aspect} (a: {one.values['a']}; b: {one.values['b']}): {one.why}"
        for kind in ("compared", "warns", "refuses"):
            assert of_weight(found, kind) == ([one] if kind == weight else [])


def test_equal_runs_and_other_seeds_do_not_differ():
    run = with_role("verifier", role("judge", generation={"seed": 1, "top_p": 1}), manifest())
    again = with_role("verifier", role("judge", generation={"seed": 2, "top_p": 1}), manifest())
    assert differences({"a": run, "b": run, "c": again}) == []


def test_a_judge_is_named_by_all_that_makes_it():
    one = judged_by(generation={"top_p": 1, "seed": 3, "effort": "low"}, api="responses", accept_missing_finish=True)
    (found,) = differences({"a": manifest("verifier"), "b": one(manifest("verifier"))})
    assert found.values == {
        "a": "judge (openai)",
        "b": "judge (openai) responses accepts a missing finish reason effort=low, top_p=1",
    }


def test_steps_of_an_older_format_are_named_for_what_they_are():
    (found,) = differences({"a": manifest(), "b": replace(manifest(), format_version=1)})
    assert found.values == {"a": "stripped on both sides", "b": "white space kept at the start"}


def test_one_run_of_three_that_differs_is_enough():
    (found,) = differences({"a": manifest(), "b": manifest(), "c": with_extent(manifest(), samples=2)})
    assert found.values == {"a": "1", "b": "1", "c": "2"}


def test_of_different_benchmarks_nothing_else_is_said():
    (found,) = differences({"a": manifest("prover"), "b": with_extent(manifest("verifier"), verifier_repeats=2)})
    assert (found.aspect, found.weight) == ("task", "refuses")


META = [
    pytest.param(None, role("m1"), [], id="only-one-has-it"),
    pytest.param(role("m1"), role("m1"), [], id="the-same"),
    pytest.param(role("m1"), role("m2"), [("meta-verifier", "warns")], id="another"),
]


@pytest.mark.parametrize(("first", "second", "expected"), META)
def test_meta_verifiers(first, second, expected):
    runs = {"a": manifest("verifier"), "b": manifest("verifier")}
    for name, settings in (("a", first), ("b", second)):
        if settings is not None:
            runs[name] = with_role("meta", settings, runs[name])
    assert [(one.aspect, one.weight) for one in differences(runs)] == expected


def test_another_meta_prompt_warns_unless_only_one_has_it():
    def prompted(text: str | None) -> Manifest:
        prompts = {"verifier": "v" * 64, **({} if text is None else {"meta": text * 64})}
        return with_identity(manifest("verifier"), prompt_sha256=prompts)

    (found,) = differences({"a": prompted("x"), "b": prompted("y")})
    assert (found.aspect, found.weight) == ("meta prompt", "warns")
    assert found.values == {"a": "x" * 12, "b": "y" * 12}
    assert differences({"a": prompted("x"), "b": prompted(None)}) == []


def test_headlines_that_all_runs_have():
    meta = with_extent(manifest("verifier"), meta=True)
    assert common_headlines({"a": manifest(), "b": manifest()}) == ["pessimistic", "pass_any_sample"]
    assert "meta_ver_bal_f1" in common_headlines({"a": meta, "b": meta})
    assert "meta_ver_bal_f1" not in common_headlines({"a": meta, "b": manifest("verifier")})


def test_metrics_that_grow_with_samples_are_compared_at_equal_samples_only(monkeypatch):
    grows = Metric(
        name="grows",
        benchmark="prover",
        label="",
        heading="",
        help="",
        rates=(Rate("grows", lambda a: a.accepts, lambda a: a.asked),),
        grows_with_samples=True,
    )
    monkeypatch.setattr(registry, "METRICS", (*registry.METRICS, grows))
    names = list(metrics_of("prover"))
    one, four = manifest(), with_extent(manifest(), samples=4)
    assert comparable(names, differences({"a": one, "b": one}), "prover") == names
    for changed in ("policy", "verifier"):
        other = with_role(changed, role("other"), one)  # type: ignore[arg-type]
        assert comparable(names, differences({"a": one, "b": other}), "prover") == names
    left = comparable(names, differences({"a": one, "b": four}), "prover")
    assert set(names) - set(left) == {"pass_any_sample", "grows"}


# ---------------------------------------------------------------- doubts


@pytest.mark.parametrize("metric", ["verifier_valid_rate", "generation_failure_rate", "meta_valid_rate"])
@pytest.mark.parametrize(
    ("first", "second", "warned"),
    [
        (0.0, 0.05, False),
        (0.05, 0.0, False),
        (0.0, 0.0625, True),
        (0.0625, 0.0, True),
        (0.0, None, False),
        (None, 0.5, False),
    ],
)
def test_valid_rates_further_apart_than_the_gap_warn(metric, first, second, warned):
    said = valid_rate_warnings({"a": {metric: first}, "b": {metric: second}, "c": {}})
    assert bool(said) is warned
    if warned:
        assert said[0].startswith(f"{metric} differs (a: {first:.3f}; b: {second:.3f}): ")


def test_scores_further_apart_than_the_gap_do_not_warn():
    assert valid_rate_warnings({"a": {"pessimistic": 0.1}, "b": {"pessimistic": 0.9}}) == []


def problem(name: str, **changed: str) -> Problem:
    return Problem(
        **({"problem_id": name, "problem": "Prove.", "reference_solution": "R", "reference_answer": "A"} | changed)
    )


@pytest.mark.parametrize("field", ["problem", "reference_solution", "reference_answer"])
def test_a_common_problem_with_another_text_is_named(field):
    ours = [problem("p1"), problem("p2"), problem("mine")]
    theirs = [problem("p2", **{field: "other"}), problem("p1"), problem("theirs")]
    assert changed_problems({"a": ours, "b": ours, "c": theirs}) == [
        "1 of 2 common problems has another text in c than in a: p2"
    ]


@pytest.mark.parametrize(("count", "shown"), [(2, "p0, p1"), (5, "p0, p1, p2, p3, p4"), (6, "p0, p1, p2, p3, p4, …")])
def test_of_many_changed_problems_the_first_are_named(count, shown):
    ours = [problem(f"p{n}") for n in range(7)]
    theirs = [problem(f"p{n}", problem="other") if n < count else problem(f"p{n}") for n in range(7)]
    assert changed_problems({"a": ours, "b": theirs}) == [
        f"{count} of 7 common problems have another text in b than in a: {shown}"
    ]


def test_a_subject_that_changed_is_no_other_text():
    assert changed_problems({"a": [problem("p")], "b": [problem("p", subject="Algebra")]}) == []


def side(run: Manifest, *, closed: int = 0, valid: float = 1.0) -> Side:
    part = SplitSummary(
        selected_rows=1, expected_records=1, completed_records=1, complete=True, metrics={"verifier_valid_rate": valid}
    )
    summary = Summary(
        task=run.identity.task, complete=True, run_id="", splits={"all": part, "qe": replace(part, metrics=None)}
    )
    return Side(run, replace(summary, closed_unanswered=closed), [problem("p")])


def test_doubts_are_all_of_these_and_no_others():
    one, other = manifest(), with_identity(manifest(), neutralise=False)
    assert doubts({"a": side(one), "b": side(one)}, [], "all") == []
    found = differences({"a": one, "b": with_role("policy", role("another"), other)})
    said = doubts({"a": side(one, closed=2), "b": side(other, valid=0.5)}, found, "all")
    assert [text.split(" (")[0] for text in said] == [
        "neutralising",
        "verifier_valid_rate differs",
        "a: 2 unanswered calls were closed as zero credit",
    ]
    # A split that is not scored in either says nothing of valid rates.
    assert len(doubts({"a": side(one), "b": side(one, valid=0.5)}, [], "qe")) == 0


def test_an_import_whose_scores_are_not_what_they_were_is_doubtful():
    run = replace(manifest(), operation={"imported": {"scores": {"all": {"verifier_valid_rate": 0.25}}}})
    (said,) = doubts({"a": side(manifest()), "b": side(run)}, [], "all")
    assert said == (
        "b: the import did not keep the published evaluator's scores: all: verifier_valid_rate was 0.25, is 1.0"
    )


# ---------------------------------------------------------------- calibrations


def test_a_calibration_that_fits():
    judge = manifest("verifier", verifier_repeats=4)
    assert calibration_faults(manifest(verifier_repeats=4), judge) == []
    assert calibration_faults(manifest(verifier_repeats=2), judge) == []  # more repeats than needed
    neutral = with_identity(judge, neutralise=False, data_sha256="e" * 64)
    assert calibration_faults(with_extent(manifest(), samples=9), neutral) == []


@pytest.mark.parametrize(
    ("fault", "change"),
    [
        ("protocol: the run has basic-v1, the calibration score-3", identified_by(protocol="score-3")),
        ("verifier: the run has judge (openai), the calibration other (openai)", judged_by(model="other")),
        ("verifier prompt: the run has vvvvvvvvvvvv, the calibration wwwwwwwwwwww", OTHER_VERIFIER_PROMPT),
        ("reference switch: the run has not shown, the calibration shown", identified_by(use_reference_solution=True)),
    ],
)
def test_a_calibration_of_another_judge_is_refused(fault, change):
    assert calibration_faults(manifest(), change(manifest("verifier"))) == [f"another {fault}"]


def test_a_calibration_with_fewer_repeats_or_of_the_wrong_benchmark_is_refused():
    # 10 is more than 9, as numbers.
    assert calibration_faults(manifest(verifier_repeats=9), manifest("verifier", verifier_repeats=10)) == []
    assert calibration_faults(manifest(verifier_repeats=10), manifest("verifier", verifier_repeats=9)) == [
        "fewer repeats: the run has 10, the calibration 9"
    ]
    assert calibration_faults(manifest("verifier"), manifest()) == [
        "the run to correct is no ProverBench run",
        "the calibration is no VerifierBench run",
    ]
