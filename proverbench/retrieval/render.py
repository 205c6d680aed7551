"""Document renderers, one for all systems of a run, named and versioned; and the text templates of embedding models.

A renderer is known by its name and by the hash of what it does: the texts that it makes of :data:`PROBES`. A comment
changes nothing; any change of a text leads to another hash, so that no old vector is ever used again and no two
renderers stand on one board.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from proverbench.errors import ConfigError
from proverbench.retrieval.records import Document
from proverbench.retrieval.strings import HEADERS, NO_STRINGS, Strings

OWN_V1, LSV2_COMPAT = "own-v1", "lsv2-compat"
RENDERERS = (OWN_V1, LSV2_COMPAT)
DESCRIPTION_LIMIT = 10_000
"""Characters of a description that the LeanSearch v2 text keeps."""

_LEGACY_SHA256 = "9ad614afddbf10f6a1b1d15ea9b2a15dcc3835c443b661132f5d1bd8d4fcaf39"
"""How runs made before renderers had names call ``own-v1``: by the hash of this module's source at that time."""


def _probes() -> list[Document]:
    """Make documents that exercise every branch: each kind, with and without each field, long and multi-line texts."""
    full: dict[str, Any] = {
        "name": "A.b",
        "signature": "S",
        "type": "T",
        "value": "V",
        "docstring": "D",
        "informal_name": "N",
        "informal": "I\nJ",
        "text": "X",
        "module": "M",
    }
    kinds = ("", "theorem", "definition", "instance", "structure", "def", "lemma")
    probes = [Document(id="i", kind=kind, **full) for kind in kinds]
    for absent in full:
        probes += [
            Document(id="i", kind=kind, **{k: v for k, v in full.items() if k != absent}) for kind in ("", "definition")
        ]
    probes += [Document(id="i"), Document(id="i", kind="theorem"), Document(id="i", kind="instance", value="V")]
    long = [DESCRIPTION_LIMIT, DESCRIPTION_LIMIT + 1]
    return probes + [Document(id="i", name="n", informal="é" * n) for n in long]


PROBES = _probes()


@dataclass(frozen=True)
class Renderer:
    """How a document becomes the text that every system of a run sees."""

    name: str
    render: Callable[[Document], str]

    @cached_property
    def sha256(self) -> str:
        """Hash of what it does: the name and the texts of all :data:`PROBES`."""
        made = json.dumps([self.name, *map(self.render, PROBES)], ensure_ascii=True)
        return hashlib.sha256(made.encode()).hexdigest()


def render_own(document: Document) -> str:
    """``own-v1``: what a document is called, what it says, formally and in words."""
    heading = " ".join(part for part in (document.kind, document.name or document.id) if part)
    parts = (
        heading,
        document.signature or document.type,
        document.informal_name,
        document.informal,
        document.docstring,
        document.text,
    )
    return "\n".join(part for part in parts if part)


def render_lsv2(document: Document, headers: dict[str, str]) -> str:
    r"""``lsv2-compat``: the document text of the LeanSearch v2 release, byte for byte (docs/retrieval.md).

    Args:
        document: Only kind, name, type, value and the informal texts are read; empty fields are absent.
        headers: The release's first sentences: of ``theorem``, ``definition``, ``instance``, and ``""`` of the rest.
    """
    description = document.informal
    if len(description) > DESCRIPTION_LIMIT:
        description = description[:DESCRIPTION_LIMIT] + "...(truncated)"
    informal = ": ".join(part for part in (document.informal_name, description) if part)
    if document.kind:
        informal = f"['{document.kind}']: {informal}"
    formal = " ".join(part for part in (document.name, document.type) if part)
    valued = document.kind in ("definition", "instance") and document.value
    formal += f" {document.value}" if valued else " := by sorry"
    header = headers.get(document.kind, headers[""])
    return f"{header}: \n Informal content: \n {informal} \n Formal content: \n {formal}"


def renderer_of(name: str, strings: Strings = NO_STRINGS) -> Renderer:
    """Return the renderer called ``name``.

    Raises:
        ConfigError: If there is none, or it needs sentences that ``strings`` lacks.
    """
    if name == OWN_V1:
        return Renderer(name, render_own)
    if name == LSV2_COMPAT:
        theorem, definition, instance, other = strings.need(HEADERS, f"the renderer {LSV2_COMPAT}")
        headers = {"theorem": theorem, "definition": definition, "instance": instance, "": other}
        return Renderer(name, lambda document: render_lsv2(document, headers))
    raise ConfigError(f"renderer {name!r} is unknown; known are {', '.join(RENDERERS)}")


def modern_sha256(sha256: str) -> str:
    """Return a renderer's hash as it is made now; runs made before renderers had names held another one."""
    return renderer_of(OWN_V1).sha256 if sha256 == _LEGACY_SHA256 else sha256


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """What stands around a query and around a document before an embedding model reads it; ``{text}`` once in each.

    Raises:
        ConfigError: If a template lacks ``{text}``, or an instruction stands on documents: instruction-aware models
            take it on the query only.
    """

    style: str
    """``plain``, ``prefix`` (e5-like), ``instruct`` (as model cards have it) or ``lsv2`` (as the release has it)."""
    query: str
    document: str

    def __post_init__(self) -> None:
        for name, template in (("query", self.query), ("document", self.document)):
            if template.count("{text}") != 1:
                raise ConfigError(f"{name} template {template!r} must hold {{text}} exactly once")
        if self.style in ("instruct", "lsv2") and self.document != "{text}":
            raise ConfigError(
                f"an instruction-aware model takes its documents bare, found the template {self.document!r}"
            )

    @classmethod
    def plain(cls) -> "TextTemplate":
        """Nothing around the text."""
        return cls("plain", "{text}", "{text}")

    @classmethod
    def prefix(cls, query: str = "query: ", document: str = "passage: ") -> "TextTemplate":
        """Fixed prefixes, as e5-like models were trained with."""
        return cls("prefix", query + "{text}", document + "{text}")

    @classmethod
    def instruct(cls, instruction: str) -> "TextTemplate":
        """An instruction on the query and nothing on documents, as model cards have it."""
        return cls("instruct", f"Instruct: {instruction}\nQuery: {{text}}", "{text}")

    @classmethod
    def lsv2(cls, instruction: str) -> "TextTemplate":
        """An instruction on the query and nothing on documents, as the LeanSearch v2 release writes it."""
        return cls("lsv2", f"Instruction: {instruction}. Query: {{text}}", "{text}")

    def for_query(self, text: str) -> str:
        """Return what the model reads for a query."""
        return self.query.replace("{text}", text)

    def for_document(self, text: str) -> str:
        """Return what the model reads for a document."""
        return self.document.replace("{text}", text)

    def sha256(self) -> str:
        """Return the identity of the pair."""
        return hashlib.sha256(f"{self.style}\0{self.query}\0{self.document}".encode()).hexdigest()
