"""What crosses a module or a file, and the project's glossary: one table, longer than other modules.

Words: a *policy* writes a *sample* (one proof, index 0..S-1, a list of zero-based *steps*); a *verifier* gives
*repeats* 0..R-1, each a *judgment*, whose parsed form is a *verdict*; a *meta-verifier* grades a judgment's
explanation with a *level*. *Role*: policy, verifier, meta. *Endpoint*: where a role's calls go. *Call*: one request.
*Run*: one folder. *Split*: ``all``, ``ugd``, ``qe`` or another domain. A reply is *valid* or *invalid*; a call is
*answered* or *unanswered*.

Machine-written lines are msgspec structs, because a run has up to millions of them and they are read partially;
what people write (configs, data rows) is checked by pydantic models in config.py and data.py.
"""

from typing import Any, Literal, NamedTuple

import msgspec

Task = Literal["prover", "verifier"]
Role = Literal["policy", "verifier", "meta"]

LEVEL_SCORES: dict[str, float] = {
    "EXACT_MATCH": 1.0,
    "BASIC_MATCH": 0.75,
    "POOR_MATCH": 0.5,
    "WRONG_POLARITY": 0.0,
}
"""Meta levels and their credit (docs/metrics.md)."""

PROTOCOL = "basic-v1"
"""Name of the parsing rules (docs/metrics.md, "Validity")."""


GIVEN = "given"
"""Kind of the policy in a run that judges proofs which existed already (``--proofs``)."""


class Generation(NamedTuple):
    """What a policy call came to."""

    steps: list[str]
    """The proof; of an invalid generation whatever could be read."""
    error: str | None
    """Reason code, None when valid."""


class CallKey(msgspec.Struct, frozen=True, order=True):
    """Which call: unique within a run."""

    role: Role
    id: str
    """``problem_id`` in ProverBench, ``proof_id`` in VerifierBench."""
    sample: int = 0
    """Sample index; always 0 in VerifierBench."""
    repeat: int = 0
    """Repeat index; always 0 for the policy."""

    @property
    def text(self) -> str:
        """``verifier/ID/SAMPLE/REPEAT``; an ID may hold slashes."""
        return f"{self.role}/{self.id}/{self.sample}/{self.repeat}"

    @classmethod
    def parse(cls, text: str) -> "CallKey":
        """Read what :attr:`text` writes.

        Raises:
            ValueError: If it is no such text (msgspec's ValidationError is one).
        """
        role, _, rest = text.partition("/")
        item, sample, repeat = rest.rsplit("/", 2)
        return cls(msgspec.convert(role, Role), item, int(sample), int(repeat))


WholeVerdict = Literal["correct", "incorrect"]
"""A verdict on a whole proof."""


class Annotation(msgspec.Struct, frozen=True):
    """A human's findings on one proof (design of the published data)."""

    first_fatal_error_step: int | None
    """None where the proof was judged as a whole: ``verdict`` then says how, and no place is known (*unlocated*)."""
    recoverable_error_steps: list[int]
    reviewer_comment: str = ""
    first_error_reason: str = ""
    remark: str = ""
    verdict: WholeVerdict | msgspec.UnsetType = msgspec.UNSET
    """Only of an unlocated label."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One ProverBench row, normalised."""

    problem_id: str
    problem: str
    reference_solution: str = ""
    reference_answer: str = ""
    domain: str | None = None
    subject: str = ""
    source_id: str = ""
    rubric: str | msgspec.UnsetType = msgspec.UNSET
    """What earns how many points; shown to judges that grade, never to the policy."""


class HumanGrade(msgspec.Struct, frozen=True):
    """What one person gave a proof."""

    grader: str
    grade: float
    """In points."""
    comment: str = ""


class Proof(Problem, frozen=True, kw_only=True):
    """One VerifierBench row, normalised: a human-annotated proof."""

    proof_id: str
    steps: list[str]
    policy: str | None = None
    """Who wrote the proof, if known."""
    annotation: Annotation
    is_correct: bool
    first_error_step: int | None
    """Smallest annotated error step, -1 if none; None of an incorrect proof whose label names no step."""
    grade: float | msgspec.UnsetType = msgspec.UNSET
    """People's grade in points; of several graders their mean, unless the row says otherwise."""
    max_grade: int | msgspec.UnsetType = msgspec.UNSET
    """The most points there are; present where there is a grade."""
    grades: list[HumanGrade] | msgspec.UnsetType = msgspec.UNSET
    """What each person gave."""


Row = Problem | Proof


class Verdict(msgspec.Struct, frozen=True):
    """A valid judgment's content."""

    first_error_step: int | None
    """Zero-based index of the earliest wrong step; -1: no error found. None where the protocol asks for none."""
    assessment: str
    """Raw text between the tags, stripped."""
    errors: str
    """Raw text between the tags, stripped; empty when the proof is right."""
    grade: float | None = None
    """Points, where the protocol asks for them."""
    label: Literal["accept", "reject"] | None = None
    """Where the protocol asks for that alone."""


class MetaJudgment(msgspec.Struct, frozen=True):
    """What the meta-verifier said of one judgment."""

    valid: bool
    level: str | None = None
    reason: str | None = None
    """Reason code when invalid; ``verifier_invalid`` when it was not asked; ``unanswered`` when closed unanswered."""


class Judgment(msgspec.Struct, frozen=True, kw_only=True):
    """One repeat of the verifier on one proof."""

    repeat: int = 0
    valid: bool
    first_error_step: int | None = None
    reason: str | None = None
    """Reason code when invalid; ``unanswered`` when the run was closed without an answer."""
    assessment: str | None = None
    errors: str | None = None
    meta: MetaJudgment | None = None
    grade: float | msgspec.UnsetType = msgspec.UNSET
    """Points, under a protocol that asks for them; left out otherwise."""
    accepts: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether it accepts the proof, under a protocol whose verdict is no first-error step; left out otherwise."""

    @property
    def accepting(self) -> bool:
        """Whether it is valid and accepts the proof."""
        if self.accepts is msgspec.UNSET:
            return self.valid and self.first_error_step == -1
        return self.valid and self.accepts


class ProofRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One line of records.jsonl: a proof and its judgments.

    ``proof_id`` and the label fields are VerifierBench's, ``sample_index`` and ``generation_error`` ProverBench's.
    """

    problem_id: str = ""
    proof_id: str | None = None
    sample_index: int = 0
    domain: str | None = None
    subject: str = ""
    policy: str | None = None
    """Model that wrote the proof."""
    complete: bool = True
    """False while a call of this proof is unanswered and not closed by ``--final``."""
    generation_error: str | None = None
    """Reason code of an invalid generation (``unanswered`` when closed so), else None."""
    steps: list[str] = []
    """The proof; also what could be read of an invalid generation. Empty when there is none."""
    neutralised: int = 0
    """Replacements made in what the verifier was shown (docs/metrics.md, "Neutralising")."""
    judgments: list[Judgment] = []
    """Answered (or closed) repeats, in order of ``repeat``; fewer than R while incomplete."""
    annotation: Annotation | None = None
    is_correct: bool | None = None
    first_error_step: int | None = None
    """The human's first error step, -1 if none; None in ProverBench, and where the label names no step."""
    grade: float | msgspec.UnsetType = msgspec.UNSET
    """People's grade of the proof in points, where they gave one."""
    max_grade: int | msgspec.UnsetType = msgspec.UNSET
    """The most points there are."""
    score: float | None = None
    """ProverBench: 1.0 if accepted (all R judgments valid and -1) else 0.0; VerifierBench: mean polarity credit.
    None while incomplete."""

    @property
    def located(self) -> bool:
        """Whether it has a human label that says where the first error is, or that there is none."""
        unplaced = self.annotation is not None and self.annotation.first_fatal_error_step is None
        return self.is_correct is not None and self.first_error_step is not None and not unplaced

    @property
    def key(self) -> str:
        """Unique name within a run: the proof's id, or problem and sample."""
        return self.proof_id if self.proof_id is not None else f"{self.problem_id}/{self.sample_index}"


class CallFacts(msgspec.Struct, kw_only=True, tag_field="type", tag="call"):
    """An answered call without its texts: what decoding can skip when only counts, times and costs are wanted."""

    role: Role
    id: str
    sample: int = 0
    repeat: int = 0
    prompt_sha256: str = ""
    finish_reason: str | None = None
    refused: str | None = None
    usage: dict[str, Any] | None = None
    model: str | None = None
    fingerprint: str | None = None
    response_id: str | None = None
    latency_s: float = 0.0
    attempts: int = 1
    abandoned: int = 0
    at: str = ""
    """UTC time of the answer, ISO 8601."""
    batch: str | None = None
    """Our own id of the batch (:class:`BatchLine`) that answered it, if one did."""
    asked_in: str | msgspec.UnsetType = msgspec.UNSET
    """The run of a study that asked this call and counts its cost; left out in that run itself."""

    @property
    def key(self) -> CallKey:
        """The call's key."""
        return CallKey(self.role, self.id, self.sample, self.repeat)


class CallLine(CallFacts, kw_only=True, tag_field="type", tag="call"):
    """One answered call in calls.jsonl; holds no verdict. Text fields hold no lone surrogate."""

    text: str = ""
    text_b64: str | None = None
    """The exact text, UTF-8 with surrogatepass, base64; only where ``text`` had to be changed."""
    reasoning: str | None = None
    reasoning_b64: str | None = None
    """As ``text_b64``, of ``reasoning``."""
    steps: list[str] | None = None
    """Only of a proof that was given as steps (``--proofs``): these are the proof, not what ``text`` parses to."""
    prompt: str | None = None
    """Only of an imported run, which has no templates to make it from again: the prompt as it was sent."""


class AttemptLine(msgspec.Struct, kw_only=True, tag_field="type", tag="attempt"):
    """A call that ended unanswered, or one attempt of a call whose reply was broken off, in calls.jsonl."""

    role: Role
    id: str
    sample: int = 0
    repeat: int = 0
    error: str = ""
    """Short stable word, e.g. ``timeout``, ``http_503``, ``cancelled``, ``server_ended:abort``."""
    message: str = ""
    status: int | None = None
    attempts: int = 1
    """Attempts of the call. 0: one attempt whose reply was broken off; the line that ends the call counts it."""
    abandoned: int = 0
    at: str = ""
    finish_reason: str | None = None
    """Of a reply that was broken off, like the next two."""
    text_chars: int | None = None
    """Length of what came of its text, in characters; None where no reply had begun."""
    usage: dict[str, Any] | None = None
    """Token counts, where they were told; they count as spent."""
    asked_in: str | msgspec.UnsetType = msgspec.UNSET
    """As of a call that was answered."""

    @property
    def broken_off(self) -> bool:
        """Whether this is a reply that began and was broken off: it was paid for."""
        return self.text_chars is not None

    @property
    def what(self) -> str:
        """What it is, in a word or two."""
        if self.attempts == 0:
            return f"broken off after {self.text_chars or 0:,} characters"
        return f"unanswered after {self.attempts:,} attempt{'s' if self.attempts != 1 else ''}"


class SessionLine(msgspec.Struct, kw_only=True, tag_field="type", tag="session"):
    """A process began or ended asking, in calls.jsonl."""

    event: Literal["start", "stop"]
    at: str
    reason: str | None = None
    """Why it stopped: ``done``, ``budget: …``, ``interrupted``, ``terminated``, ``batches cancelled``, ``left`` (who
    read its records in Python went away), ``stopped`` (a shard's worker was told to), ``fatal: …``."""
    operation: dict[str, Any] | None = None
    """At the start: what was configured (as in manifest.json)."""
    grown_from: "Extent | msgspec.UnsetType" = msgspec.UNSET
    """At the start of a session that grows a run which was complete: its extent before. Looking, then growing, is a
    second look at the same question (docs/metrics.md, "Looks")."""


class FinalLine(msgspec.Struct, kw_only=True, tag_field="type", tag="final"):
    """``--final``: these calls were unanswered and count as zero credit until a later session asks again."""

    at: str
    keys: list[str]
    """``CallKey.text`` of each; calls that depend on one of them are closed with it."""


BatchEvent = Literal["intent", "submitted", "collected", "cancelled", "expired", "failed"]


class BatchLine(msgspec.Struct, kw_only=True, tag_field="type", tag="batch"):
    """What happened to a batch of calls (``--batch``), in calls.jsonl."""

    event: BatchEvent
    at: str
    batch: str
    """Our own id of the batch, chosen before it is submitted."""
    remote: str | None = None
    """The provider's id, once known."""
    role: str = ""
    keys: list[str] = []
    """Its calls, in the ``intent`` line."""
    message: str = ""


class LossLine(msgspec.Struct, kw_only=True, tag_field="type", tag="loss"):
    """``--accept-loss``: what was damaged or missing above this line, which somebody chose to go on without."""

    at: str
    lines: list[int]
    """Lines that cannot be used, by their place in the file, from 1; their calls are asked again."""
    missing: int = 0
    """Lines that were not there."""
    faults: list[str] = []
    """What was wrong, in words."""


Line = CallLine | AttemptLine | SessionLine | FinalLine | BatchLine | LossLine
Facts = CallFacts | AttemptLine | SessionLine | FinalLine | BatchLine | LossLine
"""A line without the texts of a call."""


class RoleIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What must not change of a role when a run is resumed."""

    model: str
    kind: str
    """``openai``, ``anthropic`` …: whose finish reasons apply. Of a replayed role, the kind that was replayed."""
    generation: dict[str, Any] = {}
    accept_missing_finish: bool = False
    api: str | None = None


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What makes two runs the same experiment; refused if changed on resume."""

    task: Task
    protocol: str = PROTOCOL
    roles: dict[Role, RoleIdentity] = {}
    prompt_sha256: dict[Role, str] = {}
    """Role → SHA-256 of its template with LF line ends."""
    own_prompts: list[Role] = []
    """Roles that used this project's own prompts: scores are not comparable with published tables."""
    use_reference_solution: bool = False
    neutralise: bool = True
    data_sha256: str = ""
    """SHA-256 of the data file's bytes."""
    proofs_sha256: str | None = None
    """SHA-256 of the file of given proofs (``--proofs``), if one was."""
    protocol_sha256: str | msgspec.UnsetType = msgspec.UNSET
    """Of a protocol that the user declared in a file: SHA-256 of the file's text."""
    accept_from: float | msgspec.UnsetType = msgspec.UNSET
    """Under a grading protocol the least grade that accepts a proof, where it is not the protocol's own."""
    correct_from: float | msgspec.UnsetType = msgspec.UNSET
    """The points from which a proof that people graded counts as correct, where it is not the usual."""
    proofs_split: str | msgspec.UnsetType = msgspec.UNSET
    """How the texts of given proofs became steps, where not by their tags."""


class Extent(msgspec.Struct, frozen=True, kw_only=True):
    """How much was asked; may grow on resume, never shrink."""

    rows: int
    """Selected rows."""
    samples: int = 1
    verifier_repeats: int = 1
    meta: bool = False
    domain: str | None = None
    limit: int | None = None
    shard: str | None = None
    """``i/n``, 1-based, or None."""


class ShardPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a shard's rows stand among all that were selected, so that shards can be joined in data order."""

    of: int
    """Rows that all shards have together."""
    positions: list[int]
    """Zero-based place of each of the shard's rows, in ascending order."""


STRIPS_STEPS = 2
"""The format version from which on steps cut from a reply are stripped on both sides."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """manifest.json."""

    format_version: int = 1
    run_id: str = ""
    """SHA-256 of identity and extent as canonical JSON."""
    identity: Identity
    extent: Extent
    inputs_sha256: str = ""
    """SHA-256 of inputs.jsonl."""
    shard_place: ShardPlace | None = None
    """Only of a shard."""
    operation: dict[str, Any] = {}
    """Endpoint URLs, limits, retries, prices, tool and SDK versions. No secrets. Never in records or summary."""

    @property
    def strips_steps(self) -> bool:
        """Whether steps cut from replies are stripped on both sides, as the published evaluator does.

        Runs of format version 1 kept the white space at a step's start; what was shown to their judges stays so.
        """
        return self.format_version >= STRIPS_STEPS


class SplitSummary(msgspec.Struct, kw_only=True):
    """One split of summary.json."""

    selected_rows: int
    expected_records: int
    completed_records: int
    complete: bool
    metrics: dict[str, float | int | None] | None = None
    """Published metrics (docs/metrics.md); None unless complete and not empty."""
    intervals: dict[str, dict[str, Any]] | None = None
    bounds: dict[str, dict[str, Any]] | None = None
    undefined: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    """Metric that is None → why; left out where there is none."""


class Summary(msgspec.Struct, kw_only=True):
    """summary.json."""

    task: Task
    complete: bool
    run_id: str
    score_scale: str = "0-1"
    invalid_output_policy: str = "zero_credit_in_fixed_denominator"
    protocol: str = PROTOCOL
    scored_by: str = ""
    """``proverbench VERSION``."""
    splits: dict[str, SplitSummary]
    invalid: dict[str, dict[str, int]] = {}
    """Role → reason code → count, over answered calls (and calls closed by ``--final``)."""
    usage: dict[str, dict[str, Any]] = {}
    """Role → token counts and number of calls whose usage is unknown."""
    closed_unanswered: int = 0
    """Calls that ``--final`` counted as zero credit."""
    warnings: list[str] = []
    """Sentences for people: own prompts, identical replies, changed model names …"""
