"""The one document renderer, the same for all models, and the text templates of embedding models.

Vectors are stored under the hash of this file's text (:data:`RENDERER_SHA256`), so that after an edit of the renderer
no old vector is ever used again.
"""

import hashlib
import inspect
import sys
from dataclasses import dataclass

from proverbench.errors import ConfigError
from proverbench.retrieval.records import Document

RENDERER_SHA256 = hashlib.sha256(inspect.getsource(sys.modules[__name__]).encode("utf-8")).hexdigest()
"""Hash of this module's source: the renderer's identity."""


def render_document(document: Document) -> str:
    """Return the text of a document that every system sees: what it is called, what it says, formally and in words."""
    heading = " ".join(part for part in (document.kind, document.name) if part)
    parts = (
        heading,
        document.signature,
        document.informal_name,
        document.informal,
        document.docstring,
        document.text,
    )
    return "\n".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """What stands around a query and around a document before an embedding model reads it; ``{text}`` once in each.

    Raises:
        ConfigError: If a template lacks ``{text}``, or an instruction stands on documents: instruction-aware models
            take it on the query only.
    """

    style: str
    """``plain``, ``prefix`` (e5-like) or ``instruct``."""
    query: str
    document: str

    def __post_init__(self) -> None:
        for name, template in (("query", self.query), ("document", self.document)):
            if template.count("{text}") != 1:
                raise ConfigError(f"{name} template {template!r} must hold {{text}} exactly once")
        if self.style == "instruct" and self.document != "{text}":
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
        """An instruction on the query and nothing on documents."""
        return cls("instruct", f"Instruct: {instruction}\nQuery: {{text}}", "{text}")

    def for_query(self, text: str) -> str:
        """Return what the model reads for a query."""
        return self.query.replace("{text}", text)

    def for_document(self, text: str) -> str:
        """Return what the model reads for a document."""
        return self.document.replace("{text}", text)

    def sha256(self) -> str:
        """Return the identity of the pair."""
        return hashlib.sha256(f"{self.style}\0{self.query}\0{self.document}".encode()).hexdigest()
