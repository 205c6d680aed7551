"""Which calls a run wants: every call has a dense number, so that the state of a run is a few bytes a call."""

from collections.abc import Iterable, Sequence

from proverbench.records import CallFacts, CallKey, Extent, Proof, Role, Row

ROLES: tuple[Role, ...] = ("policy", "verifier", "meta")


def row_id(row: Row) -> str:
    """The id that a row's calls are named by: ``proof_id`` in VerifierBench, else ``problem_id``."""
    return row.proof_id if isinstance(row, Proof) else row.problem_id


class Plan:
    """The calls of a run, numbered.

    Proof ``p = i * S + j`` is sample j of row i. Policy call p has number p; judgment r of proof p, and its meta
    level, have number ``p * R + r`` of their role.

    Args:
        rows: The selected rows, in data order.
        extent: How much is asked.
        judged_only: True when no policy is asked (VerifierBench).
    """

    def __init__(self, rows: Sequence[Row], extent: Extent, *, judged_only: bool) -> None:
        self.rows = rows
        self.samples = extent.samples
        self.repeats = extent.verifier_repeats
        self.meta = extent.meta
        self.judged_only = judged_only
        self.ids = [row_id(row) for row in rows]
        """Of each row."""
        self._index = {item: i for i, item in enumerate(self.ids)}

    @property
    def n_proofs(self) -> int:
        """Proofs wanted: rows times S."""
        return len(self.rows) * self.samples

    def place(self, item: str) -> int | None:
        """The place of the row that calls of that id are about, or None when the plan does not hold it."""
        return self._index.get(item)

    def size(self, role: Role) -> int:
        """The most calls that ``role`` may need."""
        if role == "policy":
            return 0 if self.judged_only else self.n_proofs
        if role == "meta" and not self.meta:
            return 0
        return self.n_proofs * self.repeats

    def number(self, key: CallKey | CallFacts) -> int | None:
        """The call's number within its role, or None when the plan does not hold it."""
        row = self.place(key.id)
        if row is None or not 0 <= key.sample < self.samples:
            return None
        proof = row * self.samples + key.sample
        if key.role == "policy":
            return None if self.judged_only or key.repeat else proof
        if not 0 <= key.repeat < self.repeats or (key.role == "meta" and not self.meta):
            return None
        return proof * self.repeats + key.repeat

    def key(self, role: Role, number: int) -> CallKey:
        """The inverse of :meth:`number`."""
        proof, repeat = (number, 0) if role == "policy" else divmod(number, self.repeats)
        row, sample = divmod(proof, self.samples)
        return CallKey(role, self.ids[row], sample, repeat)

    def row(self, proof: int) -> Row:
        """The row that proof number ``proof`` belongs to."""
        return self.rows[proof // self.samples]

    def sample(self, proof: int) -> int:
        """The sample index of proof number ``proof``."""
        return proof % self.samples

    def judgments(self, proof: int) -> Iterable[int]:
        """Numbers of the judgments of a proof."""
        return range(proof * self.repeats, (proof + 1) * self.repeats)
