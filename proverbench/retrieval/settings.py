"""What a config file sets for retrievalbench: embedders, rerankers, engines (docs/retrieval.md, "Config")."""

import difflib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from proverbench.errors import ConfigError
from proverbench.inputs.config import EndpointConfig, RoleConfig
from proverbench.inputs.config_fields import Count, Variable
from proverbench.retrieval.records import K_MAX
from proverbench.retrieval.render import TextTemplate
from proverbench.retrieval.strings import QUERY_INSTRUCTION, Strings

OWN_INSTRUCTION = "Given a query, retrieve the declaration of a formal mathematics library that it asks for"

_T = TypeVar("_T", bound=BaseModel)

_TABLES = ("embedder", "reranker", "engine", "runfile", "vectors")
_CREDENTIALS = frozenset({"api_key", "authorization", "password", "secret", "access_token", "headers"})
_NO_SECRETS = "may hold a secret, which no config file should; name an environment variable in api_key_env"


class EmbedderSettings(EndpointConfig):
    """``[embedder.NAME]``: a model behind an OpenAI-compatible ``/embeddings``; endpoint keys as everywhere."""

    kind: Literal["openai"] = "openai"
    model: str = Field(min_length=1)
    revision: str = ""
    """Part of the vectors' identity: change it when the weights behind the same name change."""
    style: Literal["plain", "prefix", "instruct", "lsv2"] = "plain"
    """What stands around a text: nothing; e5-like prefixes; an instruction on the query and nothing on documents, as
    model cards have it or as the LeanSearch v2 release writes it."""
    instruction: str | None = None
    """Absent, the release's sentence of --strings, or else one of our own."""
    query_prefix: str = "query: "
    document_prefix: str = "passage: "
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Request parameters for queries and documents alike, such as ``dimensions``."""
    query_parameters: dict[str, Any] = Field(default_factory=dict)
    document_parameters: dict[str, Any] = Field(default_factory=dict)
    encoding: Literal["base64", "float"] = "base64"
    """In which form vectors are asked for; a server that gives the other one is understood."""
    batch_size: Count = 32
    """Texts a request."""
    concurrency: Count = 4
    precision: Literal["float32", "float16"] = "float32"
    """Of the stored document vectors."""
    licence: str = ""
    """Of the model, such as CC-BY-NC-4.0; a badge on the leaderboard."""

    def template(self, strings: Strings) -> TextTemplate:
        """Return the text template that the style means.

        Raises:
            ConfigError: If the release's template is wanted without its sentence.
        """
        if self.style == "prefix":
            return TextTemplate.prefix(self.query_prefix, self.document_prefix)
        if self.style == "plain":
            return TextTemplate.plain()
        released = strings.texts.get(QUERY_INSTRUCTION)
        if self.style == "lsv2":
            (released,) = [self.instruction] if self.instruction else strings.need([QUERY_INSTRUCTION], "style lsv2")
            return TextTemplate.lsv2(released)
        return TextTemplate.instruct(self.instruction or released or OWN_INSTRUCTION)

    def role(self, extra: dict[str, Any]) -> RoleConfig:
        """The model as a role of its endpoint, with further request parameters."""
        return RoleConfig(model=self.model, generation={**self.parameters, **extra}, endpoint=self)


class RerankerSettings(EndpointConfig):
    """``[reranker.NAME]``: a model that reorders the first results; endpoint keys as everywhere."""

    kind: Literal["openai", "anthropic", "embedded"] = "openai"
    model: str = Field(min_length=1)
    style: Literal["listwise", "pointwise"] = "listwise"
    """A language model that is shown all candidates and orders them, or a model that scores each with the query."""
    scoring: Literal["score", "rerank", "tei", "sglang", "chat"] = "score"
    """Of a pointwise one: vLLM's /score or /rerank, /rerank of text-embeddings-inference or SGLang, or the
    probabilities of ``yes`` and ``no`` in a chat completion."""
    frame: Literal["released", "none"] | None = None
    """Of a pointwise one: the frame of --strings around query and document, or nothing. Absent: as the way wants it."""
    instruction: str | None = None
    """Absent, the release's sentence of --strings, or else one of our own."""
    max_tokens: Count = 8192
    """Of a pointwise one: where vLLM cuts query and document together."""
    batch_size: Count = 32
    """Of a pointwise one: documents a request (a chat completion takes one)."""
    generation: dict[str, Any] = Field(default_factory=dict)
    depth: int | None = Field(default=None, ge=2, le=K_MAX)
    """How many of the first results it sees (listwise 20, pointwise 200 if absent); the rest keeps its order."""
    licence: str = ""

    @property
    def seen(self) -> int:
        """How many of the first results it sees."""
        return self.depth or (20 if self.style == "listwise" else K_MAX)

    @property
    def role(self) -> RoleConfig:
        """The model as a role of its endpoint."""
        own = set(RerankerSettings.model_fields) - set(EndpointConfig.model_fields)
        plain = {name: getattr(self, name) for name in EndpointConfig.model_fields}
        assert own.isdisjoint(plain)
        return RoleConfig(
            model=self.model, generation=self.generation, endpoint=EndpointConfig.model_construct(**plain)
        )


class EngineSettings(EndpointConfig):
    """``[engine.leansearch]``, ``[engine.leanexplore]``: where a public engine is, and what is asked of it."""

    base_url: str | None = None
    api_key_env: Variable | None = None
    results: int = Field(default=K_MAX, ge=1, le=K_MAX)
    """How many results to ask for; fewer where the engine refuses so many."""
    revision: str = ""
    """What is known of the engine's version or corpus, part of the run's identity."""
    corpus: str = ""
    """What its corpus is called, if known."""
    missing: str = ""
    """``FILE`` or ``FILE#KEY``: names that its corpus lacks; absent, its coverage is unknown."""
    timeout_s: float = Field(default=60.0, gt=0)


class _Imported(BaseModel):
    """What was computed elsewhere: a file, and what its makers say of it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: str = ""
    path: str = Field(min_length=1)
    label: str = ""
    """How a report calls it; the system's spec if absent."""
    licence: str = ""


class RunFileSettings(_Imported):
    """``[runfile.NAME]``: lists made elsewhere."""

    mode: str = ""
    """Which lists of a release's ``per_query.jsonl``, such as ``rerank``."""
    corpus: str = ""
    """The corpus that was searched, where it is not the run's: its row stands apart."""
    missing: str = ""
    """``FILE`` or ``FILE#KEY``: names that this corpus lacks; absent, its coverage is unknown."""


class VectorSettings(_Imported):
    """``[vectors.NAME]``: document vectors made elsewhere, a row a document."""

    ids: str | None = None
    """A list of row ids or names, a line each or JSON: which document each row is. Absent: in the corpus's order."""
    renderer: str = ""
    """What made the texts that were embedded, as its makers say; the run must use the same."""
    queries: str | None = None
    """An ``.npy`` file with a row for each id of ``query_ids``."""
    query_ids: str | None = None
    embedder: str | None = None
    """``[embedder.NAME]`` that embeds the queries, in place of ``queries``."""

    @model_validator(mode="after")
    def _one_source_of_queries(self) -> "VectorSettings":
        if (self.queries is None) == (self.embedder is None) or (self.queries is None) != (self.query_ids is None):
            raise ValueError("give queries and query_ids, or embedder")
        return self


class Settings:
    """The tables of a config file.

    Args:
        path: For messages.
        tables: As read.

    Raises:
        ConfigError: Lists all faults.
    """

    def __init__(self, path: str, tables: dict[str, Any]) -> None:
        self.tables = tables
        self._path = path
        faults: list[str] = []
        self.embedders = self._read(EmbedderSettings, "embedder", faults)
        self.rerankers = self._read(RerankerSettings, "reranker", faults)
        self.engines = self._read(EngineSettings, "engine", faults)
        self.runfiles = self._read(RunFileSettings, "runfile", faults)
        self.vectors = self._read(VectorSettings, "vectors", faults)
        known = ", ".join(f"[{name}.NAME]" for name in _TABLES)
        faults += [f"{path}: [{name}] is unknown; known are {known}" for name in tables if name not in _TABLES]
        if faults:
            raise ConfigError.of(faults)

    @classmethod
    def load(cls, path: Path | None) -> "Settings":
        """Read a config file; none means no tables.

        Raises:
            ConfigError: If it cannot be read, or lists all its faults.
        """
        if path is None:
            return cls("(no config)", {})
        try:
            return cls(str(path), tomllib.loads(path.read_text(encoding="utf-8-sig")))
        except OSError as exc:
            raise ConfigError(f"{path}: cannot be read: {exc.strerror or exc}") from exc
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
            raise ConfigError(f"{path}: is not TOML: {exc}") from exc

    def _read(self, kind: type[_T], table: str, faults: list[str]) -> dict[str, _T]:
        found: dict[str, _T] = {}
        named = self.tables.get(table, {})
        if not isinstance(named, dict):
            faults.append(f"{self._path}: {table} must be tables like [{table}.NAME]")
            return found
        for name, values in named.items():
            if not isinstance(values, dict):
                faults.append(f"{self._path}: {table}.{name} must be a table [{table}.{name}]")
                continue
            faults += [f"{self._path}: {place}: {_NO_SECRETS}" for place in _credentials(values, f"{table}.{name}")]
            try:
                found[name] = kind.model_validate({**values, "name": name})
            except ValidationError as exc:
                for error in exc.errors(include_url=False, include_input=False):
                    where = ".".join([table, name, *map(str, error["loc"])])
                    faults.append(f"{self._path}: {where}: {_advice(kind, error['loc'], error['msg'], error['type'])}")
        return found


def _credentials(value: Any, where: str) -> Iterator[str]:
    """Yield the places of keys that may hold a secret, at any depth; ``extra_headers_env`` holds names only."""
    if isinstance(value, list):
        for item in value:
            yield from _credentials(item, where)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key.lower().replace("-", "_") in _CREDENTIALS:
                yield f"{where}.{key}"
            elif key != "extra_headers_env":
                yield from _credentials(item, f"{where}.{key}")


def _advice(kind: type[BaseModel], place: tuple[int | str, ...], message: str, error_type: str) -> str:
    """Say what is wrong with a key; never the value, which may be a credential."""
    if error_type == "extra_forbidden" and place:
        near = difflib.get_close_matches(str(place[-1]), kind.model_fields, n=1)
        return f"unknown key{f', did you mean {near[0]!r}?' if near else ''}"
    return message
