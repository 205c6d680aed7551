"""The two benchmarks, in one table: nothing else asks which of them a run belongs to.

A run's manifest names its benchmark by the task word; :func:`benchmark_of` looks it up.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from proverbench.records import Problem, Proof, Role, Task


@dataclass(frozen=True)
class Benchmark:
    """What sets one benchmark apart from the other."""

    task: Task
    """The word for it in files."""
    name: str
    """The name that people know it by."""
    command: str
    """The command that makes and resumes its runs."""
    stages: tuple[Role, ...]
    """The roles that are always asked, in the order of the stages."""
    optional_stages: tuple[Role, ...]
    """Roles that are asked where the run wants them."""
    subject: Role
    """The role whose model the benchmark is about; a new run's folder is named after it."""
    repeats: int
    """R as published."""
    reference_shown: bool
    """Whether judges see the reference solution unless the switch says otherwise, as published."""
    row: type[Problem]
    """The type of its input rows."""
    labelled: bool
    """Whether people labelled its proofs, so that judgments can be right or wrong."""
    unit: str
    """What one input row is, in the singular."""
    rows_are: str
    """What its input rows are, in full."""
    published_rows: int
    """Rows of the published data set."""
    published_sha256: str
    """SHA-256 of its file."""
    counts: tuple[str, ...]
    """Names of the whole numbers that come before its metrics."""
    factors: tuple[str, ...]
    """What reports break its scores down by, in their order."""

    @property
    def samples(self) -> bool:
        """Whether a policy writes the proofs; otherwise they are in the data."""
        return "policy" in self.stages

    def asked(self, *, meta: bool, given: bool) -> tuple[Role, ...]:
        """The roles that calls go to.

        Args:
            meta: Whether the meta-verifier is asked, where it may be.
            given: Whether the proofs were given to the run, so that no policy is asked.
        """
        wanted = self.stages + (self.optional_stages if meta else ())
        return tuple(role for role in wanted if not (given and role == "policy"))


_PROVERBENCH = Benchmark(
    task="prover",
    name="ProverBench",
    command="proverbench run",
    stages=("policy", "verifier"),
    optional_stages=(),
    subject="policy",
    repeats=8,
    reference_shown=True,
    row=Problem,
    labelled=False,
    unit="problem",
    rows_are="problems",
    published_rows=245,
    published_sha256="a71e670987a97ca8863f5fcd137e1d289ed6f7bad8456dfbcbcb03049e2a6b81",
    counts=("problems", "proofs"),
    factors=("subject", "length", "domain"),
)
_VERIFIERBENCH = Benchmark(
    task="verifier",
    name="VerifierBench",
    command="verifierbench",
    stages=("verifier",),
    optional_stages=("meta",),
    subject="verifier",
    repeats=1,
    reference_shown=False,
    row=Proof,
    labelled=True,
    unit="proof",
    rows_are="annotated proofs",
    published_rows=888,
    published_sha256="59997ab90eec9adce7f22fc395e610a04e247864b51a26f3683b98b194b056b6",
    counts=("proofs", "correct_proofs", "incorrect_proofs"),
    factors=("subject", "length", "severity", "policy", "domain"),
)

BENCHMARKS: Mapping[Task, Benchmark] = {of.task: of for of in (_PROVERBENCH, _VERIFIERBENCH)}
"""Task word → its benchmark."""


def benchmark_of(task: Task) -> Benchmark:
    """The benchmark that a run's manifest names."""
    return BENCHMARKS[task]
