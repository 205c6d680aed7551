"""A saved run, read: the one way for every command to look into a run's folder (docs/run-format.md)."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from proverbench.errors import PromptError
from proverbench.protocols.prompts import prompt_sha256
from proverbench.records import CallKey, CallLine, Line, Manifest, ProofRecord, Row, Summary
from proverbench.run.derive import build_record, build_records
from proverbench.run.disk import replacing, write_whole
from proverbench.run.looks import Looks, looks_of
from proverbench.run.manifest import pretty
from proverbench.run.reading import render
from proverbench.run.regular import open_regular, read_regular
from proverbench.run.sources import SUMMARY, Sources
from proverbench.run.summarise import Scored, Summariser
from proverbench.run.timing import timing

RECORDS = "records.jsonl"
TIMING = "timing.json"


class RunFolder:
    """A run, finished or still going, always derived from its four sources.

    Args:
        path: The run's folder.

    Raises:
        JournalError: If the folder is no run, or a source is damaged; names the file and line. Of calls.jsonl that is
            told by what first reads it.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.sources = Sources(self.path)

    @property
    def manifest(self) -> Manifest:
        """What was asked."""
        return self.sources.manifest

    def rows(self) -> Sequence[Row]:
        """The selected rows, in data order; each is read when it is looked at, so they end with this folder."""
        return self.sources.rows

    def row(self, item: str) -> Row:
        """The row of that problem or proof id.

        Raises:
            KeyError: If the run has no such row.
        """
        place = self.sources.plan.place(item)
        if place is None:
            raise KeyError(item)
        return self.sources.rows[place]

    @property
    def seal(self) -> str:
        """``LINES:HEAD`` of calls.jsonl, as `verify-run` prints it."""
        checker = self.sources.ledger.checker
        return f"{checker.lines}:{checker.place.head}"

    @cached_property
    def looks(self) -> Looks:
        """How often it was looked at; reads calls.jsonl."""
        return looks_of(self.sources)

    def records(self) -> Iterator[ProofRecord]:
        """Every expected record, in data order then sample; built as they are taken."""
        return build_records(self.sources)

    def record(self, item: str, sample: int = 0) -> ProofRecord | None:
        """One record by problem or proof id; None when the run has no such proof."""
        number = self.sources.plan.number(CallKey("verifier", item, sample, 0))
        return None if number is None else build_record(self.sources, number // self.sources.plan.repeats)

    def summary(self) -> Summary:
        """The summary of what is on disk now."""
        return self.scored().summary

    def scored(self, observe: Callable[[ProofRecord], object] | None = None) -> Scored:
        """Summary and arrays of what is on disk now.

        Args:
            observe: Sees every record as it is built.
        """
        return scored(self.sources, observe)

    def refresh(self) -> None:
        """Take into account what was written since; all of the run has been read, and found sound, when this returns.

        Raises:
            JournalError: If a source is damaged.
        """
        self.sources.refresh()

    def lines(self) -> Iterator[Line]:
        """Everything that happened, in order."""
        return (line for _, line in self.sources.calls.lines())

    def calls(self) -> Iterator[CallLine]:
        """The answered calls, in order of their answers; each key once."""
        ledger, plan = self.sources.ledger, self.sources.plan
        for offset, line in self.sources.calls.lines():
            if isinstance(line, CallLine):
                number = plan.number(line.key)
                if number is not None and ledger.offset(line.role, number) == offset:
                    yield line

    def call(self, key: CallKey) -> CallLine | None:
        """The answered call of that key, or None; ``exact_text`` gives its text as it came."""
        number = self.sources.plan.number(key) if self.sources.plan.size(key.role) else None
        offset = None if number is None else self.sources.ledger.offset(key.role, number)
        return None if offset is None else self.sources.calls.call_at(offset)

    def prompt(self, key: CallKey) -> str:
        """The exact prompt of that call, rendered again from the sources.

        Raises:
            KeyError: If the run has no template for the role, or lacks the reply that the prompt is made from.
            PromptError: If the call was answered to another prompt, by the hash that was saved with the answer.
        """
        prompt, line = render(self.sources, key).text, self.call(key)
        if line is not None and line.prompt_sha256 and line.prompt_sha256 != (made := prompt_sha256(prompt)):
            raise PromptError(
                f"the prompt that was sent (SHA-256 {line.prompt_sha256[:12]}…) is not the one that this folder makes "
                f"({made[:12]}…): a source was changed, or it was sent by other rules"
            )
        return prompt

    def close(self) -> None:
        """Close the run's files."""
        self.sources.close()


def scored(sources: Sources, observe: Callable[[ProofRecord], object] | None = None) -> Scored:
    """Summary and arrays of a run's sources; writes nothing.

    Args:
        sources: The run.
        observe: Sees every record as it is built.
    """
    summariser = Summariser(sources)
    for record in build_records(sources, summariser.see_call):
        summariser.see_record(record)
        if observe is not None:
            observe(record)
    return summariser.scored()


def write_derived(sources: Sources) -> Summary:
    """Write records.jsonl, summary.json and timing.json anew; each file is replaced in one step.

    Raises:
        JournalError: If the disk refuses it, or a source is damaged.
    """
    encode = msgspec.json.Encoder().encode
    times = timing(sources)  # first, for it looks at the lines that the ledger is made from
    with replacing(sources.path / RECORDS) as file:
        summary = scored(sources, lambda record: file.write(encode(record) + b"\n")).summary
    write_whole(sources.path / SUMMARY, pretty(summary))
    write_whole(sources.path / TIMING, pretty(times))
    return summary


def update_derived(sources: Sources) -> Summary:
    """Make sure that the derived files are those of the sources; they are written only where they are not.

    They are not where a process was killed, or the disk was full, after the last line of calls.jsonl.

    Raises:
        JournalError: If the disk refuses it, or a source is damaged.
    """
    encode = msgspec.json.Encoder().encode
    times = timing(sources)
    try:
        with open(sources.path / RECORDS, "rb", opener=open_regular) as old:
            differs = False

            def compare(record: ProofRecord) -> None:
                nonlocal differs
                line = encode(record) + b"\n"
                differs = differs or old.read(len(line)) != line

            summary = scored(sources, compare).summary
            differs = differs or old.read(1) != b""
        contents = {SUMMARY: summary, TIMING: times}
        differs = differs or any(read_regular(sources.path / name) != pretty(of) for name, of in contents.items())
    except OSError:
        differs = True  # missing, most likely; what else it may be, writing tells
    return write_derived(sources) if differs else summary


def begin_derived(sources: Sources) -> None:
    """When a run begins to ask: write the derived files, unless there are some that say it is incomplete.

    Those that said something else, the session has withdrawn.

    Raises:
        JournalError: If the disk refuses it.
    """
    if not (sources.path / SUMMARY).exists():
        write_derived(sources)
