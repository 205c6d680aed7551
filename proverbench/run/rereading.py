"""What another protocol would read in the judgments of a saved run; asks and writes nothing."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from proverbench.errors import InvalidReply
from proverbench.protocols.protocol import Protocol
from proverbench.protocols.registry import accepting_from
from proverbench.records import CallKey, Summary
from proverbench.run.folder import RunFolder
from proverbench.run.reading import proof_steps
from proverbench.run.replies import ReplyReader


@dataclass
class Reread:
    """Counts of what a protocol reads in a run's judgments."""

    judgments: int = 0
    """Answered judgments that were read."""
    accepts: int = 0
    values: Counter[str] = field(default_factory=Counter)
    """What valid ones say → how many."""
    invalid: Counter[str] = field(default_factory=Counter)
    """Reason code → how many."""
    first_invalid: dict[str, CallKey] = field(default_factory=dict)
    """Reason code → the first judgment that is invalid for it."""

    @property
    def valid(self) -> int:
        """Judgments that can be read."""
        return self.judgments - self.invalid.total()


def reread(folder: RunFolder, protocol: Protocol) -> Reread:
    """Read every answered judgment of a run by a protocol, which need not be the run's own.

    Raises:
        JournalError: If a source is damaged.
    """
    sources, found = folder.sources, Reread()
    plain = msgspec.structs.replace(sources.manifest.identity, accept_from=msgspec.UNSET)
    reader = ReplyReader(msgspec.structs.replace(sources.manifest, identity=plain), protocol)
    for proof in range(sources.plan.n_proofs):
        generation = None
        for number in sources.plan.judgments(proof):
            offset = sources.ledger.offset("verifier", number)
            if offset is None:
                continue
            generation = generation or proof_steps(sources, proof)
            found.judgments += 1
            try:
                verdict = reader.judgment(sources.calls.call_at(offset), len(generation.steps) if generation else 0)
            except InvalidReply as exc:
                found.invalid[exc.reason] += 1
                found.first_invalid.setdefault(exc.reason, sources.plan.key("verifier", number))
                continue
            found.accepts += protocol.accepts(verdict)
            found.values[protocol.shown(verdict)] += 1
    return found


def accepting_from_grade(path: Path, least: float) -> Summary:
    """The summary that a run under a grading protocol would have if proofs were accepted from that grade.

    Raises:
        JournalError: If a source is damaged.
    """
    folder = RunFolder(path)
    try:
        reader = folder.sources.reader
        reader.protocol = accepting_from(reader.protocol, least)
        return folder.summary()
    finally:
        folder.sources.close()
