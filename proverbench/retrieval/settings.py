"""What a config file sets for retrievalbench: embedders, rerankers, engines (docs/retrieval.md, "Config")."""

import difflib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError

from proverbench.errors import ConfigError
from proverbench.inputs.config import EndpointConfig, RoleConfig
from proverbench.inputs.config_fields import Count, Variable
from proverbench.retrieval.records import K_MAX
from proverbench.retrieval.render import TextTemplate

_T = TypeVar("_T", bound=EndpointConfig)

_CREDENTIALS = frozenset({"api_key", "authorization", "password", "secret", "access_token", "headers"})
_NO_SECRETS = "may hold a secret, which no config file should; name an environment variable in api_key_env"


class EmbedderSettings(EndpointConfig):
    """``[embedder.NAME]``: a model behind an OpenAI-compatible ``/embeddings``; endpoint keys as everywhere."""

    kind: Literal["openai"] = "openai"
    model: str = Field(min_length=1)
    revision: str = ""
    """Part of the vectors' identity: change it when the weights behind the same name change."""
    style: Literal["plain", "prefix", "instruct"] = "plain"
    """What stands around a text: nothing; e5-like prefixes; an instruction on the query, nothing on documents."""
    instruction: str = "Given a query, retrieve the declaration of a formal mathematics library that it asks for"
    query_prefix: str = "query: "
    document_prefix: str = "passage: "
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Request parameters for queries and documents alike, such as ``dimensions``."""
    query_parameters: dict[str, Any] = Field(default_factory=dict)
    document_parameters: dict[str, Any] = Field(default_factory=dict)
    batch_size: Count = 32
    """Texts a request."""
    concurrency: Count = 4
    precision: Literal["float32", "float16"] = "float32"
    """Of the stored document vectors."""
    licence: str = ""
    """Of the model, such as CC-BY-NC-4.0; a badge on the leaderboard."""

    @property
    def template(self) -> TextTemplate:
        """The text template that the style means."""
        if self.style == "instruct":
            return TextTemplate.instruct(self.instruction)
        if self.style == "prefix":
            return TextTemplate.prefix(self.query_prefix, self.document_prefix)
        return TextTemplate.plain()

    def role(self, extra: dict[str, Any]) -> RoleConfig:
        """The model as a role of its endpoint, with further request parameters."""
        return RoleConfig(model=self.model, generation={**self.parameters, **extra}, endpoint=self)


class RerankerSettings(EndpointConfig):
    """``[reranker.NAME]``: a model that reorders the first results; endpoint keys as everywhere."""

    kind: Literal["openai", "anthropic", "embedded"] = "openai"
    model: str = Field(min_length=1)
    generation: dict[str, Any] = Field(default_factory=dict)
    depth: int = Field(default=20, ge=2, le=K_MAX)
    """How many of the first results it sees; the rest keeps its order."""
    licence: str = ""

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
    timeout_s: float = Field(default=60.0, gt=0)


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
        faults += [
            f"{path}: [{name}] is unknown; known are [embedder.NAME], [reranker.NAME] and [engine.NAME]"
            for name in tables
            if name not in ("embedder", "reranker", "engine")
        ]
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
            raise ConfigError(f"{path}: is no TOML: {exc}") from exc

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


def _advice(kind: type[EndpointConfig], place: tuple[int | str, ...], message: str, error_type: str) -> str:
    """Say what is wrong with a key; never the value, which may be a credential."""
    if error_type == "extra_forbidden" and place:
        near = difflib.get_close_matches(str(place[-1]), kind.model_fields, n=1)
        return f"unknown key{f', did you mean {near[0]!r}?' if near else ''}"
    return message
