"""Documents, queries, rankings and positions: what crosses a module or a file of retrievalbench."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

K_MAX = 200
"""Every ranked list is cut here; no metric looks deeper."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a corpus."""

    id: str
    """Unique in its corpus."""
    name: str = ""
    """Full name of the declaration, if it has one. Several rows may share it (a declaration exported twice)."""
    kind: str = ""
    module: str = ""
    signature: str = ""
    """The formal statement as its source has it."""
    type: str = ""
    """The formal statement as the elaborator prints it."""
    value: str = ""
    """What a definition says, as the elaborator prints it."""
    docstring: str = ""
    informal_name: str = ""
    informal: str = ""
    """A description in words."""
    text: str = ""
    """Free text, for corpora that are not a formal library."""
    start: tuple[int, int] = (0, 0)
    """Of a LeanDojo premise: line and column, from 1, where it begins in its file (``module``)."""
    end: tuple[int, int] = (0, 0)


class Place(msgspec.Struct, frozen=True, order=True):
    """A place in a file of a LeanDojo corpus."""

    path: str
    line: int
    column: int

    @property
    def position(self) -> tuple[int, int]:
        """Line and column, as :class:`Document` has them."""
        return self.line, self.column


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """One query, as its benchmark file gives it."""

    id: str
    text: str
    gold: list[list[str]]
    """Gold units as written: lists of interchangeable names or ids."""
    cluster: str
    """What queries belong together (the declaration): the unit of the clustered interval."""
    split: str = ""
    labels: dict[str, str] = {}
    """Breakdowns, such as the query style or the difficulty."""
    kinds: list[str] = []
    """Of each unit, where the benchmark tells apart ``original`` and ``alternative`` ones."""
    places: list[Place] = []
    """Where the gold premises are defined, in place of ``gold`` (LeanDojo)."""
    pool: Place | None = None
    """The theorem that asks: only what is accessible there is searched (LeanDojo)."""


class GoldQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query with its gold units looked up in a corpus."""

    id: str
    text: str
    cluster: str
    units: list[list[str]]
    """Row ids of each unit that the corpus has; empty means that the query is dropped."""
    units_left_out: int
    """Units without any member in the corpus."""
    overlapping: bool
    """Whether one row stands in two units, so that P, AP and nDCG may need their cap at 1."""
    labels: dict[str, str] = {}
    names: list[str] | UnsetType = UNSET
    """Gold members as the benchmark writes them; unset where they are the row ids."""
    kinds: list[str] | UnsetType = UNSET
    """Of each unit, ``original`` or ``alternative``, where the benchmark says so."""
    kinds_left_out: list[str] | UnsetType = UNSET
    """Of the units that were left out."""
    pool: Place | UnsetType = UNSET
    """The theorem that asks: only what is accessible there is searched (LeanDojo)."""

    @property
    def dropped(self) -> bool:
        """Whether nothing can be found; such a query is counted, never scored 0."""
        return not self.units

    @property
    def called(self) -> set[str]:
        """Everything by which a subset may name this query: its id, its declaration, its gold."""
        names = self.names if self.names is not UNSET else ()
        return {self.id, self.cluster, *names, *(row for unit in self.units for row in unit)}


class Ranking(msgspec.Struct, frozen=True):
    """What a system returned for one query, best first, as returned (repeats and all)."""

    query_id: str
    doc_ids: list[str]
    seconds: float | UnsetType = UNSET
    """How long the answer took, where it was asked for by itself and now."""


class Unanswered(msgspec.Struct, frozen=True):
    """A query that a system could not answer; it earns no score and no zero."""

    query_id: str
    kind: str
    message: str


class Positions(msgspec.Struct, frozen=True, kw_only=True):
    """One line of positions.jsonl: where one query's units were found."""

    query_id: str
    positions: list[int | None]
    """1-based rank of each unit's earliest member, in the order of the units; None when not within k_max."""
    n_retrieved: int
    """Length of the list as returned, before the cut at k_max."""
    seconds: float | UnsetType = UNSET
    """How long the system took for this query alone, where it says so."""


def json_line(record: Any) -> bytes:
    """One record as a line of JSON with its line end."""
    return msgspec.json.encode(record) + b"\n"


class BenchmarkIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Which queries a run asks."""

    file: str
    sha256: str
    published: bool | None
    """Whether the file is the published one, unchanged; None for tasks without one."""
    notes: list[str] = []
    subset: str = ""
    split: str = ""
    sampled_n: int | None = None
    """Queries drawn, when not all were asked."""
    sampled_from: int | None = None
    sample_seed: int | None = None
    query_text: str | UnsetType = UNSET
    """What of a row was asked, where that is a choice; unset is ``formal``."""
    missing_gold: str | UnsetType = UNSET
    """``zero`` where queries without gold in the corpus score 0, as in the release; unset: they are dropped."""


class CorpusIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What a run searches."""

    name: str
    revision: str
    sha256: str
    documents: int
    key: str
    """Equal for two runs that may be ranked together."""
    sampled_from: int | None = None
    sample_seed: int | None = None
    whole_documents: int | UnsetType = UNSET
    """Documents of the corpus of that name and revision, where they are known and this file has another number."""


class RunManifest(msgspec.Struct, frozen=True, kw_only=True):
    """``manifest.json`` of a retrieval run: one system on one benchmark and one corpus."""

    format: int = 1
    tool: str = "retrievalbench"
    run_id: str = ""
    """SHA-256 of everything but ``operation``."""
    task: str
    system: str
    """The system's spec."""
    system_identity: dict[str, Any]
    external: bool
    own_corpus: str = ""
    """The corpus that the system itself searches, where that is not the run's."""
    licence: str = ""
    benchmark: BenchmarkIdentity
    corpus: CorpusIdentity
    renderer: str | UnsetType = UNSET
    """Name of the document renderer; unset is ``own-v1``."""
    renderer_sha256: str
    queries_sha256: str
    """Of queries.jsonl."""
    k_max: int = K_MAX
    pool: str | UnsetType = UNSET
    """``accessible`` where a query searches only what its theorem can use (LeanDojo); unset is the whole corpus."""
    own_missing: str | UnsetType = UNSET
    """Where a system searches a corpus of its own: SHA-256 of the list of names that it lacks; unset if unknown."""
    operation: dict[str, Any] = {}
    """Paths, versions, endpoints' addresses; may change when a run is resumed. No secrets."""
