"""The four sources of a run's folder, read: manifest.json, inputs.jsonl, prompts/, calls.jsonl.

Everything else in the folder is derived from these (derive.py).
"""

import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec

from proverbench.benchmark import benchmark_of
from proverbench.errors import JournalError, PromptError
from proverbench.protocols.declared import as_protocol, declare
from proverbench.protocols.prompts import Template
from proverbench.records import (
    Facts,
    Generation,
    Line,
    Role,
)
from proverbench.run.calls import CallsReader, Ledger
from proverbench.run.disk import CALLS
from proverbench.run.extent import Plan
from proverbench.run.inputs import Inputs
from proverbench.run.manifest import MANIFEST, PROMPTS, PROTOCOL_FILE, declared_text, read_manifest
from proverbench.run.regular import read_regular
from proverbench.run.replies import ReplyReader

SUMMARY = "summary.json"
SHARDS = "shards"
"""Where a cluster's workers write; taken into the run at its end (executors/shards.py)."""

PROMPT_FILES: dict[Role, str] = {"policy": "generation.txt", "verifier": "verifier.txt", "meta": "meta.txt"}
"""Role → the name of its template, under prompts/ of the project and of a run."""


class Sources:
    """A run's sources, as they are on disk at this moment.

    Args:
        path: The run's folder.

    Attributes:
        manifest: What was asked.
        rows: The selected rows, in data order.
        templates: Role → the template as used; a role is absent when it has none here (an imported run).
        plan: The calls, numbered.
        calls: Reads their lines.
        reader: Reads their replies.

    Raises:
        RunMismatchError: If the folder is no run.
        JournalError: If a source but calls.jsonl is damaged; names the file and line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        while True:
            self.manifest = read_manifest(path)
            try:
                self._read_parts()
                break
            except JournalError:
                if read_manifest(path) == self.manifest:
                    raise  # it did not just grow between the two looks at it
        self.calls = CallsReader(path / CALLS)
        self._ledger: Ledger | None = None

    @property
    def ledger(self) -> Ledger:
        """Which calls are answered; the file is read through when this is first looked at.

        Raises:
            JournalError: If a line of calls.jsonl is damaged; names its number.
        """
        if self._ledger is None:
            self._ledger = self._read_ledger(None)
        return self._ledger

    def read_through(self, observe: Callable[[Facts], object]) -> None:
        """Show every line of calls.jsonl, in order; where the ledger is still to be made, that is done on the way.

        Raises:
            JournalError: If a line of calls.jsonl is damaged; names its number.
        """
        if self._ledger is None:
            self._ledger = self._read_ledger(observe)
        else:
            for line in self.calls.facts():
                observe(line)

    def _read_ledger(self, observe: Callable[[Line], object] | None) -> Ledger:
        ledger = self.calls.ledger(self.plan, observe)
        self._refuse_shrunk(ledger)
        return ledger

    def _refuse_shrunk(self, ledger: Ledger) -> None:
        """What no seal shows, of a run of an older version: that calls are gone which the summary counts."""
        if ledger.checker.unsealed < ledger.checker.lines or self.calls.kept() is not None:
            return
        try:
            summary = msgspec.json.decode(read_regular(self.path / SUMMARY), type=_Counted)
        except (OSError, msgspec.DecodeError):
            return  # nothing is known of what there was
        if summary.run_id != self.manifest.run_id:
            return  # it is of the run before it grew
        faults = [
            f"  {role}: {SUMMARY} counts {usage.calls:,} answered calls, {CALLS} has {ledger.count(role):,}"
            for role, usage in summary.usage.items()
            if self.plan.size(role) and ledger.count(role) < usage.calls
        ]
        if faults:
            raise JournalError(
                "\n".join(
                    [
                        f"{self.path / CALLS} lacks calls that were answered:",
                        *faults,
                        "Put a whole copy of it back. Or go on with what is left: "
                        f"proverbench score {shlex.quote(str(self.path))} --accept-loss writes down what is lost, and "
                        "--resume can then ask those calls again",
                    ]
                )
            )

    def _read_parts(self) -> None:
        path = self.path
        self.rows = Inputs(path, self.manifest)
        self.protocol_text = declared_text(path, self.manifest.identity)
        declared = None
        if self.protocol_text is not None:
            declared = as_protocol(declare(self.protocol_text, str(path / PROMPTS / PROTOCOL_FILE)), self.protocol_text)
        self.reader = ReplyReader(self.manifest, declared)
        try:
            self.templates = {
                role: Template.load(role, path / PROMPTS / PROMPT_FILES[role], self.reader.protocol)
                for role in self.manifest.identity.prompt_sha256
                if (path / PROMPTS / PROMPT_FILES[role]).is_file()
            }
        except PromptError as exc:
            raise JournalError(str(exc)) from exc
        for role, template in self.templates.items():
            if template.sha256 != self.manifest.identity.prompt_sha256[role]:
                raise JournalError(
                    f"{template.source} is not the prompt that the run was made with (its SHA-256 is not the one in "
                    f"{MANIFEST}); put the original back"
                )
        self.plan = Plan(
            self.rows, self.manifest.extent, judged_only=not benchmark_of(self.manifest.identity.task).samples
        )
        self.latest_proof: tuple[int, Generation] | None = None
        """The proof that was read last, and its number: it is wanted several times in a row (reading.proof_steps)."""

    def refresh(self) -> None:
        """Take into account what was written since; a run that grew meanwhile has its new rows and calls.

        All of calls.jsonl has been read, and found sound, when this returns.

        Raises:
            JournalError: If a source is damaged.
        """
        manifest = read_manifest(self.path)
        if manifest.run_id != self.manifest.run_id:
            self.manifest, before = manifest, self.rows
            self._read_parts()
            before.close()
            self._ledger = None
        self.calls.update(self.ledger)

    def close(self) -> None:
        """Close the files."""
        self.calls.close()
        self.rows.close()


class _CountedCalls(msgspec.Struct):
    calls: int


class _Counted(msgspec.Struct):
    """What a summary says of how many calls were answered."""

    run_id: str
    usage: dict[Role, _CountedCalls]
