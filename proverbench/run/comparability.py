"""Which runs may be compared, or correct each other: what differs between their manifests, and what that means. Pure.

The table is docs/comparing.md; a test checks that the page lists what stands here.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from msgspec import UNSET

from proverbench.benchmark import benchmark_of
from proverbench.metrics.registry import METRICS, every_metric, headlines
from proverbench.records import Manifest, Role, RoleIdentity, Row, Summary, Task
from proverbench.run.remarks import import_differences

Weight = Literal["compared", "warns", "refuses"]


@dataclass(frozen=True)
class Aspect:
    """Something that two runs can differ in."""

    name: str
    read: Callable[[Manifest], object]
    prover: Weight
    verifier: Weight
    why: str
    """What a difference means for a comparison."""
    brief: Callable[[Manifest], object] | None = None
    """What a caption calls the values; None: the same."""

    def weight(self, task: Task) -> Weight:
        """What a difference does in a comparison of that task's runs."""
        return self.verifier if benchmark_of(task).labelled else self.prover


@dataclass(frozen=True)
class Difference:
    """An aspect in which runs differ."""

    aspect: str
    weight: Weight
    values: Mapping[str, str]
    """By run; none where brief names do not tell them apart."""
    why: str

    def __str__(self) -> str:
        return f"{self.aspect}{self.told}: {self.why}"

    @property
    def told(self) -> str:
        """The values in brackets, after a space; nothing where they are not to be told."""
        values = "; ".join(f"{name}: {value}" for name, value in self.values.items())
        return f" ({values})" if values else ""


def _model(role: Role) -> Callable[[Manifest], object]:
    return lambda manifest: _shown(manifest.identity.roles.get(role))


def _prompt(role: Role) -> Callable[[Manifest], object]:
    return lambda manifest: (manifest.identity.prompt_sha256.get(role) or "none")[:12]


def _name(role: Role) -> Callable[[Manifest], object]:
    """The model alone."""
    return lambda manifest: "none" if (found := manifest.identity.roles.get(role)) is None else found.model


def _shown(role: RoleIdentity | None) -> str:
    if role is None:
        return "none"
    # The seed makes each call's own seed; two runs with other seeds are the same judge.
    settings = ", ".join(f"{key}={value}" for key, value in sorted(role.generation.items()) if key != "seed")
    extra = [role.api or "", "accepts a missing finish reason" if role.accept_missing_finish else "", settings]
    return " ".join([f"{role.model} ({role.kind})", *filter(None, extra)])


def _protocol_file(manifest: Manifest) -> str:
    digest = manifest.identity.protocol_sha256
    return "none" if digest is UNSET else digest[:12]


def _accept_from(manifest: Manifest) -> str:
    least = manifest.identity.accept_from
    return "as the protocol says" if least is UNSET else f"from {least:g}"


def _correct_from(manifest: Manifest) -> str:
    least = manifest.identity.correct_from
    return "as usual" if least is UNSET else f"from {least:g}"


ASPECTS: tuple[Aspect, ...] = (
    Aspect("task", lambda m: m.identity.task, "refuses", "refuses", "they are different benchmarks"),
    Aspect("protocol", lambda m: m.identity.protocol, "refuses", "refuses", "replies were read by other rules"),
    Aspect("protocol file", _protocol_file, "refuses", "refuses", "replies were read by other rules of the same name"),
    Aspect("acceptance", _accept_from, "refuses", "warns", "a proof is accepted from another grade"),
    Aspect("correct from", _correct_from, "compared", "refuses", "other proofs count as correct"),
    Aspect(
        "steps",
        lambda m: (
            "stripped on both sides"
            if m.strips_steps or not benchmark_of(m.identity.task).samples
            else "white space kept at the start"
        ),
        "warns",
        "compared",
        "the judge saw other white space around steps; runs of format version 1 kept it (docs/run-format.md)",
    ),
    Aspect(
        "repeats",
        lambda m: m.extent.verifier_repeats,
        "refuses",
        "compared",
        "all R judgments must accept, so more repeats lower a ProverBench score; grow the smaller run with "
        "`proverbench run --resume DIR --verifier-repeats R`",
    ),
    Aspect("policy", _model("policy"), "compared", "compared", "the policy is what is compared", _name("policy")),
    Aspect("generation prompt", _prompt("policy"), "compared", "compared", "it belongs to how the proofs were written"),
    Aspect("verifier", _model("verifier"), "warns", "compared", "another judge is another ruler", _name("verifier")),
    Aspect("verifier prompt", _prompt("verifier"), "warns", "warns", "the judge was asked differently"),
    Aspect(
        "reference switch",
        lambda m: "shown" if m.identity.use_reference_solution else "not shown",
        "warns",
        "warns",
        "the judge saw the reference solution in one and not in the other",
    ),
    Aspect(
        "neutralising",
        lambda m: "on" if m.identity.neutralise else "off",
        "warns",
        "warns",
        "the judge may have seen other text",
    ),
    Aspect(
        "data file",
        lambda m: m.identity.data_sha256[:12],
        "warns",
        "warns",
        "a row may have changed under the same id; only common problems are compared",
    ),
    Aspect(
        "samples",
        lambda m: m.extent.samples,
        "warns",
        "compared",
        "pass_any_sample grows with S and is not compared",
    ),
    Aspect(
        "meta-verifier", _model("meta"), "compared", "warns", "another meta-verifier grades differently", _name("meta")
    ),
    Aspect("meta prompt", _prompt("meta"), "compared", "warns", "the meta-verifier was asked differently"),
)
"""What may differ (``compared``), what warns and what refuses, by task."""


def differences(runs: Mapping[str, Manifest], *, brief: bool = False) -> list[Difference]:
    """What differs between runs of one comparison, and what it means.

    Args:
        runs: Manifests by name.
        brief: Whether models are named without their settings, as a caption wants it.

    A meta-verifier that only some runs have is no difference: the meta metrics are then not compared.
    """
    task: Task = next(iter(runs.values())).identity.task
    found = []
    for aspect in ASPECTS:
        values = {name: str(aspect.read(manifest)) for name, manifest in runs.items()}
        known = set(values.values())
        if aspect.name.startswith("meta"):
            known -= {"none"}
        if len(known) > 1:
            if brief and aspect.brief is not None:
                values = {name: str(aspect.brief(manifest)) for name, manifest in runs.items()}
                values = values if len(set(values.values())) > 1 else {}
            found.append(Difference(aspect.name, aspect.weight(task), values, aspect.why))
        if found and aspect.name == "task":
            break  # what else differs is then of no interest
    return found


def of_weight(found: Sequence[Difference], weight: Weight) -> list[Difference]:
    """The differences of one weight."""
    return [difference for difference in found if difference.weight == weight]


def common_headlines(manifests: Mapping[str, Manifest]) -> list[str]:
    """The headline metrics that all these runs of one benchmark have."""
    task = next(iter(manifests.values())).identity.task
    return headlines(task, meta=all(manifest.extent.meta for manifest in manifests.values()))


def comparable(metrics: Sequence[str], found: Sequence[Difference], task: Task) -> list[str]:
    """Of these metrics of a benchmark, those that mean the same in runs that differ so."""
    if not any(difference.aspect == "samples" for difference in found):
        return list(metrics)
    known = every_metric(task)
    return [metric for metric in metrics if not known[metric].grows_with_samples]


class Side(NamedTuple):
    """A run of a comparison."""

    manifest: Manifest
    summary: Summary
    rows: Sequence[Row]


def doubts(sides: Mapping[str, Side], found: Sequence[Difference], split: str) -> list[str]:
    """Whatever makes a comparison of these runs doubtful, a sentence each.

    Args:
        sides: The runs, by name.
        found: Their :func:`differences`.
        split: The split that is compared.
    """
    return [
        *map(str, of_weight(found, "warns")),
        *valid_rate_warnings({name: side.summary.splits[split].metrics or {} for name, side in sides.items()}),
        *(
            f"{name}: {side.summary.closed_unanswered} unanswered calls were closed as zero credit (--final)"
            for name, side in sides.items()
            if side.summary.closed_unanswered
        ),
        *(
            f"{name}: the import did not keep the published evaluator's scores: {difference}"
            for name, side in sides.items()
            for difference in import_differences(side.manifest, side.summary)
        ),
        *changed_problems({name: side.rows for name, side in sides.items()}),
    ]


VALID_RATE_GAP = 0.05
"""Valid rates that lie further apart warn: part of a difference is then how often replies could be read."""


def valid_rate_warnings(rates: Mapping[str, Mapping[str, float | int | None]]) -> list[str]:
    """Warnings about runs whose valid rates differ.

    Args:
        rates: Each run's published metrics.
    """
    warnings = []
    for metric in dict.fromkeys(metric.name for metric in METRICS if metric.validity):
        for (first, one), (second, other) in itertools.combinations(rates.items(), 2):
            a, b = one.get(metric), other.get(metric)
            if a is not None and b is not None and abs(a - b) > VALID_RATE_GAP:
                warnings.append(
                    f"{metric} differs ({first}: {a:.3f}; {second}: {b:.3f}): part of a difference is how often "
                    "replies could be read; see the bounds beside the scores"
                )
    return warnings


def changed_problems(rows: Mapping[str, Sequence[Row]]) -> list[str]:
    """Warnings about problems that have another text in another run: statement, reference solution or answer.

    Args:
        rows: Each run's selected rows.
    """
    texts = {name: {row.problem_id: _texts(row) for row in chosen} for name, chosen in rows.items()}
    (first, ours), *others = texts.items()
    warnings = []
    for name, theirs in others:
        common = sorted(set(ours) & set(theirs))
        changed = [problem_id for problem_id in common if ours[problem_id] != theirs[problem_id]]
        if changed:
            has = "has" if len(changed) == 1 else "have"
            more = ", …" if len(changed) > 5 else ""
            warnings.append(
                f"{len(changed)} of {len(common)} common problems {has} another text in {name} than in {first}: "
                f"{', '.join(changed[:5])}{more}"
            )
    return warnings


def _texts(row: Row) -> tuple[str, str, str]:
    return row.problem, row.reference_solution, row.reference_answer


CALIBRATION_ASPECTS = ("protocol", "verifier", "verifier prompt", "reference switch")
"""What a calibration must share with the run that it corrects, beside having at least as many repeats."""


def calibration_doubts(run: Manifest, calibration: Manifest) -> list[str]:
    """What makes it doubtful that a VerifierBench run measures the judge of a ProverBench run, a sentence each."""
    (aspect,) = (aspect for aspect in ASPECTS if aspect.name == "neutralising")
    ours, theirs = str(aspect.read(run)), str(aspect.read(calibration))
    if ours == theirs:
        return []
    return [f"another {aspect.name}: the run has it {ours}, the calibration {theirs}; {aspect.why}"]


def calibration_faults(run: Manifest, calibration: Manifest) -> list[str]:
    """Why a VerifierBench run does not measure the judge of a ProverBench run; empty when it does."""
    faults = []
    if not benchmark_of(run.identity.task).samples:
        faults.append("the run to correct is no ProverBench run")
    if not benchmark_of(calibration.identity.task).labelled:
        faults.append("the calibration is no VerifierBench run")
    for aspect in ASPECTS:
        if aspect.name in CALIBRATION_ASPECTS:
            ours, theirs = str(aspect.read(run)), str(aspect.read(calibration))
            if ours != theirs:
                faults.append(f"another {aspect.name}: the run has {ours}, the calibration {theirs}")
    ours, theirs = str(run.extent.verifier_repeats), str(calibration.extent.verifier_repeats)
    if int(theirs) < int(ours):
        faults.append(f"fewer repeats: the run has {ours}, the calibration {theirs}")
    return faults
