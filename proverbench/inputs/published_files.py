"""The files of a run of the published evaluator, as it writes them (docs/data.md)."""

from typing import Any

import msgspec

from proverbench.records import Task
from proverbench.selection import EVERYTHING


class WrittenSettings(msgspec.Struct):
    """How much was asked."""

    samples: int
    verifier_repeats: int
    meta: bool = False
    domain: str = EVERYTHING
    limit: int | None = None
    use_reference_solution: bool = False


class WrittenManifest(msgspec.Struct):
    """manifest.json."""

    evaluator_version: str
    task: Task
    data_sha256: str
    source_rows: int
    selected_rows: int
    config: dict[str, dict[str, Any]]
    settings: WrittenSettings
    prompt_sha256: dict[str, str]
    run_id: str
    code_sha256: str = ""


class WrittenResponse(msgspec.Struct):
    """What came for a call, or why nothing did."""

    text: str = ""
    reasoning_content: Any = None
    """Text as a rule; the evaluator stores whatever a server sent."""
    finish_reason: Any = None
    usage: Any = None
    error: str | None = None


class WrittenMeta(msgspec.Struct):
    """A grade of a judgment."""

    response: WrittenResponse | None = None
    prompt: str | None = None


class WrittenTrial(msgspec.Struct):
    """A judgment of a proof."""

    index: int
    response: WrittenResponse
    meta: WrittenMeta | None = None


class WrittenRecord(msgspec.Struct):
    """A line of records.jsonl: a proof, and all that was asked about it."""

    record_key: str
    run_id: str
    problem_id: str
    problem: str
    verifier_trials: list[WrittenTrial]
    domain: str | None = None
    subject: str = ""
    sample_index: int = 0
    inputs: dict[str, str] = {}
    policy_response: WrittenResponse | None = None
    steps: list[str] = []
    proof_id: str | None = None
    is_correct: bool | None = None
    first_error_step: int | None = None

    @property
    def row(self) -> int:
        """Its place in the data file."""
        return int(self.record_key.partition("_")[0])


class WrittenSplit(msgspec.Struct):
    """One split in summary.json."""

    selected_rows: int = 0
    metrics: dict[str, float | int | None] | None = None


class WrittenSummary(msgspec.Struct):
    """summary.json."""

    splits: dict[str, WrittenSplit] = {}


class WrittenMark(msgspec.Struct):
    """What tells such a manifest from any other."""

    evaluator_version: str
