"""What the replies of one run mean: its protocol and its endpoints' kinds, looked up once. Pure."""

from collections.abc import Mapping

from proverbench.endpoints.kinds.registry import find_kind
from proverbench.errors import ConfigError, InvalidReply
from proverbench.protocols.basic_v1 import check_finish
from proverbench.protocols.protocol import Protocol
from proverbench.protocols.registry import protocol_of
from proverbench.records import GIVEN, CallLine, Generation, Manifest, MetaJudgment, Role, Verdict


class ReplyReader:
    """Reads the replies of a run.

    Read is the stored text: where the exact one held lone surrogates, they are replaced, so that steps and verdicts can
    be written and sent on.

    Args:
        manifest: Of the run.
        declared: The protocol that its folder holds, if it holds one.

    Attributes:
        protocol: How its replies are read.
    """

    def __init__(self, manifest: Manifest, declared: Protocol | None = None) -> None:
        self.protocol: Protocol = protocol_of(manifest.identity, declared)
        self._strips_start = manifest.strips_steps
        self._stops: Mapping[Role, tuple[frozenset[str], bool]] = {
            role: (find_kind(identity.kind).normal_stops, identity.accept_missing_finish)
            for role, identity in manifest.identity.roles.items()
            if identity.kind != GIVEN
        }

    def _text(self, line: CallLine) -> str:
        """The text of a reply that ended as it should.

        Raises:
            InvalidReply: If it did not.
        """
        if line.refused is not None:
            raise InvalidReply(f"refused:{line.refused}")
        if (stops := self._stops.get(line.role)) is not None:
            check_finish(line.finish_reason, *stops)
        return line.text

    def generation(self, line: CallLine) -> Generation:
        """Read a policy call's reply."""
        if line.steps is not None:
            return Generation(line.steps, None if line.steps else "no_proof_steps")
        try:
            return Generation(self.protocol.read_proof(self._text(line), self._strips_start), None)
        except InvalidReply as exc:
            return Generation(self.protocol.readable_steps(line.text, self._strips_start), exc.reason)

    def judgment(self, line: CallLine, n_steps: int) -> Verdict:
        """Read a verifier call's reply.

        Raises:
            InvalidReply: With the reason code.
        """
        return self.protocol.read_judgment(self._text(line), n_steps)

    def level(self, line: CallLine) -> MetaJudgment:
        """Read a meta-verifier call's reply."""
        if self.protocol.read_level is None:
            raise ConfigError(f"protocol {self.protocol.name!r} has no meta-verifier")
        try:
            return MetaJudgment(True, level=self.protocol.read_level(self._text(line)))
        except InvalidReply as exc:
            return MetaJudgment(False, reason=exc.reason)

    def invalid_reason(self, line: CallLine, n_steps: int) -> str | None:
        """Why a reply is invalid; None when it is valid. ``n_steps`` counts only for a judgment."""
        if line.role == "policy":
            return self.generation(line).error
        if line.role == "meta":
            return self.level(line).reason
        try:
            self.judgment(line, n_steps)
        except InvalidReply as exc:
            return exc.reason
        return None
