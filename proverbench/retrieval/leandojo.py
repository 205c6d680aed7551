"""LeanDojo's protocol: premises with their places, what a theorem can reach, and what its tactics ask for.

As ReProver does it (docs/retrieval.md, "LeanDojo"): a premise is accessible at a theorem when it ends before the
theorem begins in the same file, or stands in a file that this one imports, directly or not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proverbench.errors import DataError
from proverbench.retrieval.reading import Faults, text_field
from proverbench.retrieval.records import Document, Place, Query

GOAL = "⊢"
"""Every state that asks holds it."""
K_MAX = 100
"""Where the protocol cuts its lists."""


@dataclass(frozen=True)
class Library:
    """The files of a corpus, what each imports, and the rows of their premises."""

    imports: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rows: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Numbers of each file's premises."""
    documents: Sequence[Document] = ()

    @classmethod
    def of(cls, imports: Mapping[str, Sequence[str]], documents: Sequence[Document]) -> "Library":
        """Gather the premises of each file."""
        rows: dict[str, list[int]] = {path: [] for path in imports}
        for number, document in enumerate(documents):
            if document.module in rows:
                rows[document.module].append(number)
        return cls(imports, rows, documents if imports else ())

    @cached_property
    def _reached(self) -> dict[str, NDArray[np.bool_]]:
        return {}

    def accessible(self, theorem: Place) -> NDArray[np.bool_]:
        """Return which rows a theorem can use, shape (documents,). Copies in one file of one name go together.

        Raises:
            DataError: If the theorem's file, or one that it imports, is not in the corpus.
        """
        found = self.accessible_from(theorem.path).copy()
        own = [self.documents[row] for row in self.rows[theorem.path]]
        names = {premise.name for premise in own if premise.end <= theorem.position}
        for row, premise in zip(self.rows[theorem.path], own, strict=True):
            found[row] = premise.name in names
        return found

    def accessible_from(self, path: str) -> NDArray[np.bool_]:
        """Return which rows the files that ``path`` imports have, directly or not; its own are none of them.

        Raises:
            DataError: If one of these files is not in the corpus.
        """
        if path not in self._reached:
            found = np.zeros(len(self.documents), dtype=bool)
            seen, waiting = {path}, [path]
            while waiting:
                of = waiting.pop()
                if of not in self.imports:
                    raise DataError(
                        f"the corpus lacks the file {of!r}, which {path!r} is or imports; take the whole one"
                    )
                if of != path:
                    found[list(self.rows[of])] = True
                fresh = [other for other in self.imports[of] if other not in seen]
                seen.update(fresh)
                waiting += fresh
            self._reached[path] = found
        return self._reached[path]

    def premise_at(self, place: Place) -> Document | None:
        """Return the premise whose text holds a place."""
        for row in self.rows.get(place.path, ()):
            premise = self.documents[row]
            if premise.start <= place.position <= premise.end:
                return premise
        return None


def read_premises(row: dict[str, Any], line: int, faults: Faults) -> tuple[str, list[str], list[Document]]:
    """Read one file of a LeanDojo corpus: its path, what it imports, each premise a document.

    As ReProver does, premises without a name or code, of a generated name (``user__.n``) or a bracketed one are left
    out.
    """
    module = text_field(row, "path", line, faults, required=True)
    imports = row.get("imports", [])
    if not isinstance(imports, list) or not all(isinstance(path, str) for path in imports):
        faults.add(line, "imports must be a list of paths")
        imports = []
    if not isinstance(row["premises"], list) or not all(isinstance(p, dict) for p in row["premises"]):
        faults.add(line, "premises must be a list of objects")
        return module, imports, []
    documents = []
    taken: dict[str, int] = {}
    for premise in row["premises"]:
        name = text_field(premise, "full_name", line, faults)
        code = text_field(premise, "code", line, faults)
        if not name or not code or "user__.n" in name or (name.startswith("[") and name.endswith("]")):
            continue
        taken[name] = taken.get(name, 0) + 1
        # One name may stand in several files, and twice in one file: each is a row, the name joins them.
        suffix = "" if taken[name] == 1 else f"#{taken[name]}"
        documents.append(
            Document(
                id=f"{module}:{name}{suffix}",
                name=name,
                kind=text_field(premise, "kind", line, faults),
                module=module,
                signature=code,
                start=_position(premise, "start", line, faults),
                end=_position(premise, "end", line, faults),
            )
        )
    return module, imports, documents


def _position(row: dict[str, Any], name: str, line: int | None, faults: Faults) -> tuple[int, int]:
    match row.get(name):
        case [int(at), int(column)]:
            return at, column
        case found:
            faults.add(line, f"{name} must be [line, column], found {found!r}")
            return 0, 0


def read_queries(theorems: Sequence[dict[str, Any]], faults: Faults) -> list[Query]:
    """Read a split: every traced tactic that names premises asks for them, with the state before it."""
    queries = []
    for theorem in theorems:
        name = text_field(theorem, "full_name", None, faults, required=True)
        path = text_field(theorem, "file_path", None, faults)
        tactics = theorem.get("traced_tactics")
        if not isinstance(tactics, list) or not all(isinstance(tactic, dict) for tactic in tactics):
            faults.add(None, f"{name}: traced_tactics must be a list of objects")
            continue
        # Two theorems of one name in two files are two queries.
        prefix = f"{path}:{name}" if path else name
        pool = Place(path, *_position(theorem, "start", None, faults)) if path and "start" in theorem else None
        for step, tactic in enumerate(tactics):
            provenances = _provenances(tactic)
            if provenances is None:
                faults.add(None, f"{name}: annotated_tactic {step} must be [text, [{{full_name: ...}}, ...]]")
                continue
            if not provenances:
                continue
            state = text_field(tactic, "state_before", None, faults, required=True)
            if state and GOAL not in state:
                faults.add(None, f"{name}: state_before of tactic {step} has no {GOAL}; found {state[:60]!r}")
            names = list(dict.fromkeys(str(p["full_name"]) for p in provenances))
            queries.append(
                Query(
                    id=f"{prefix}:{step}",
                    text=state,
                    gold=[[name] for name in names],
                    cluster=prefix,
                    places=[place for p in provenances if (place := _place(p)) is not None],
                    pool=pool,
                )
            )
    return queries


def _provenances(tactic: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the premises that a traced tactic names, or None if it is malformed."""
    match tactic.get("annotated_tactic"):
        case [str(), list() as provenances] if all(
            isinstance(p, dict) and isinstance(p.get("full_name"), str) and p["full_name"] for p in provenances
        ):
            return provenances
    return None


def _place(provenance: dict[str, Any]) -> Place | None:
    match provenance:
        case {"def_path": str(path), "def_pos": [int(line), int(column)]}:
            return Place(path, line, column)
    return None
