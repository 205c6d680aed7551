"""Reading a config: TOML, and the published evaluator's JSON (docs/configs.md).

Every fault of a file is found before it is refused, the nearest known key of an unknown one is named, and no value
that may be a credential is repeated.
"""

import difflib
import json
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from proverbench.endpoints.kinds.registry import known_kind
from proverbench.errors import ConfigError
from proverbench.inputs.config import SOME_KINDS, Config, EndpointConfig, RoleConfig
from proverbench.inputs.config_fields import is_credential, may_be_a_key
from proverbench.inputs.generation import GENERATION_HINTS, generation_faults, without_unset
from proverbench.redact import one_line, plain, shown
from proverbench.shipped import resolve
from proverbench.spending.prices import Prices
from proverbench.tables import T

ROLES = ("policy", "verifier", "meta")

AUTOVERIFIER = "debouter/AdvancedMathBench-AutoVerifier"
AUTOVERIFIER_REVISION = "2ad58735622f70bbe2f106049bcdf34f5bb93cfd"

_DEEPEST = 64
"""Levels of tables and lists; JSON writers and readers stop somewhere, and no server wants so many."""
_MOST_GUESSES = 20
"""Unknown keys for which a near known one is looked for; that takes a while."""
_TOO_DEEP = f"is nested too deeply to be read; wanted at most {_DEEPEST} levels of tables and lists"
_LOCAL_MODEL_KEYS = ("model_class", "dtype", "device_map", "trust_remote_code", "revision", "chat_template_kwargs")
"""Keys of the published ``transformers`` backend; its ``api`` backend accepts and ignores them."""


def load_config(path: Path | str) -> Config:
    """Read and check a config file.

    Args:
        path: A TOML file, or the published evaluator's JSON (told by ``.json``, or a first character ``{``);
            ``shipped:NAME`` is one of ours.

    Raises:
        ConfigError: Lists all faults, each with the file and the key.
    """
    path = resolve(path, "configs")
    data, published = read_tables(path)
    reader = ConfigReader(path, published)
    config = reader.config(data)
    if reader.faults:
        raise ConfigError.of(dict.fromkeys(reader.faults))
    return config


def read_tables(path: Path) -> tuple[dict[str, Any], bool]:
    """The tables of a file, not yet looked into, and whether it is the published evaluator's JSON.

    Raises:
        ConfigError: If it cannot be read as such tables.
    """
    data, published = _read(path)
    # Who looks into them walks them by recursion and repeats names in messages.
    unreadable = _unreadable(data)
    if unreadable:
        raise ConfigError.of(f"{path}: {fault}" for fault in unreadable)
    return data, published


def _read(path: Path) -> tuple[dict[str, Any], bool]:
    try:
        raw = path.read_bytes()
    except OSError as exc:
        raise ConfigError(f"{path}: cannot be read: {exc.strerror}; give the path of a config file") from exc
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        raise ConfigError(f"{path}:{line}: byte {exc.start} is not UTF-8; save the file as UTF-8") from exc
    if path.suffix.lower() == ".json" or text.lstrip().startswith("{"):
        return _read_json(path, text), True
    try:
        return tomllib.loads(text.replace("\r\n", "\n")), False
    except RecursionError as exc:
        raise ConfigError(f"{path}: {_TOO_DEEP}") from exc
    except tomllib.TOMLDecodeError as exc:
        message = str(exc)
        at = re.search(r" \(at line (\d+), column (\d+)\)$", message)
        if at:
            raise ConfigError(f"{path}:{at[1]}:{at[2]}: TOML syntax: {message[: at.start()]}") from exc
        line = text.count("\n") + 1
        column = len(text) - (text.rfind("\n") + 1) + 1
        said = message.removesuffix(" (at end of document)")
        raise ConfigError(f"{path}:{line}:{column}: TOML syntax: {said}, at the end of the file") from exc
    except ValueError as exc:
        raise ConfigError(f"{path}: TOML cannot be read: {exc}") from exc


def _unreadable(data: dict[str, Any]) -> list[str]:
    """Faults that keep a config from being looked at: it is nested too deeply, or holds text that is no Unicode."""
    faults: list[str] = []
    left: list[tuple[object, str, int]] = [(data, "", 0)]
    while left:
        value, where, depth = left.pop()
        if depth > _DEEPEST:
            return [_TOO_DEEP]
        if isinstance(value, str) and not _is_unicode(value):
            faults.append(f"{where} is {value[:60]!a}, which holds half a character (a lone surrogate)")
        elif isinstance(value, list):
            left += [(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(value)]
        elif isinstance(value, dict):
            for key, item in value.items():
                if _is_unicode(key):
                    left.append((item, _join(where, key), depth + 1))
                else:
                    faults.append(f"{where or 'the file'} has the key {key[:60]!a}, which holds half a character")
    return faults


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_json(path: Path, text: str) -> dict[str, Any]:
    repeated: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            repeated.extend(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        return table

    try:
        data = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as exc:
        raise ConfigError(f"{path}:{exc.lineno}:{exc.colno}: JSON syntax: {exc.msg}") from exc
    except RecursionError as exc:
        raise ConfigError(f"{path}: {_TOO_DEEP}") from exc
    except ValueError as exc:
        raise ConfigError(f"{path}: JSON cannot be read: {exc}") from exc
    if repeated:
        raise ConfigError.of(
            f"{path}: the key {plain(repr(key))} stands twice in one object; keep one" for key in repeated
        )
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: holds a JSON {type(data).__name__}; wanted an object with policy, verifier, meta")
    return data


class ConfigReader:
    """Turns a file's tables into models, collecting every fault on the way."""

    def __init__(self, path: Path, published: bool) -> None:
        self.path = path
        self.published = published
        self.faults: list[str] = []
        self._shared: dict[str, EndpointConfig | None] = {}
        self._inline: list[EndpointConfig] = []

    def config(self, data: dict[str, Any]) -> Config:
        """The config that these tables are, as far as they are free of faults."""
        self._refuse_credentials(data, "")
        self._refuse_unknown(data, (*ROLES, "endpoint"), "")
        self._read_endpoints(data.get("endpoint", {}))
        roles: dict[str, RoleConfig] = {}
        for name in ROLES:
            if name in data and self._is_table(data[name], name):
                role = self._role(name, data[name])
                if role is not None:
                    roles[name] = role
        if not any(name in data for name in ROLES) and not self.faults:
            self.faults.append(f"{self.path}: has no [policy], [verifier] or [meta]; see docs/configs.md")
        return Config(path=self.path, roles=roles)

    def _read_endpoints(self, tables: object) -> None:
        """Those that roles may name."""
        if self._is_table(tables, "endpoint"):
            assert isinstance(tables, dict)
            for name, table in tables.items():
                where = f"endpoint.{name}"
                self._shared[name] = self._endpoint(where, name, table) if self._is_table(table, where) else None

    def _fault(self, where: str, message: str) -> None:
        self.faults.append(f"{self.path}: {_place(where)} {message}")

    def _is_table(self, value: object, where: str) -> bool:
        if isinstance(value, dict):
            return True
        self._fault(where, f"is {shown(value)}; wanted a table")
        return False

    def _refuse_credentials(self, value: object, where: str) -> None:
        for key, item, place in _walk(value, where):
            if where != "endpoint" and is_credential(key):  # what an endpoint is called is its user's choice
                remedy = "put headers' values in environment variables and name them in extra_headers_env"
                if key.lower() != "headers":
                    remedy = "put it in an environment variable and name that in api_key_env"
                self._fault(place, f"may hold a secret, which no config file should; {remedy}")
            elif key != "extra_headers_env":
                self._refuse_credentials(item, place)

    def _refuse_unknown(self, table: dict[str, Any], known: Iterable[str], where: str) -> None:
        candidates = {key: _join(where, key) for key in known}
        if where in ROLES:
            candidates |= {key: f"{where}.generation.{key}" for key in GENERATION_HINTS}
        guesses = 0
        for key in table:
            if key in known or is_credential(key):
                continue
            guesses += 1
            near = (
                difflib.get_close_matches(key.lower(), candidates, n=1, cutoff=0.6) if guesses <= _MOST_GUESSES else []
            )
            guess = f"did you mean {candidates[near[0]]}?" if near else f"known are {', '.join(known)}"
            self._fault(_join(where, key), f"is unknown; {guess}")

    def _role(self, name: str, table: dict[str, Any]) -> RoleConfig | None:
        before = len(self.faults)
        backend = table.get("backend", "api")
        if backend == "transformers":
            self._fault(f"{name}.backend", served_instead(name, table))
            return None
        if backend != "api":
            self._fault(f"{name}.backend", f"is {shown(backend)}; wanted 'api'")
        published = ("backend", *_LOCAL_MODEL_KEYS) if self.published or "backend" in table else ()
        self._refuse_unknown(table, (*_ROLE_KEYS, *_ENDPOINT_KEYS, *_own_keys(table), *published), name)
        endpoint = self._role_endpoint(name, table)
        kind = table.get("kind", "openai") if endpoint is None else endpoint.kind
        found = known_kind(kind)
        needs_model = found is None or found.needs_model
        model = table.get("model", None if needs_model else "")
        if model is None:
            self._fault(f"{name}.model", "is missing; give the model's name as the server knows it")
        elif not isinstance(model, str) or (not model.strip() and needs_model):
            self._fault(f"{name}.model", f"is {shown(model)}; wanted a model's name")
        generation = table.get("generation", {})
        if self._is_table(generation, f"{name}.generation"):
            generation = without_unset(generation)
            self.faults.extend(f"{self.path}: {fault}" for fault in generation_faults(name, generation, kind))
        prices = self._prices(f"{name}.prices", table["prices"]) if "prices" in table else None
        if len(self.faults) > before or endpoint is None:
            return None
        return RoleConfig(model=str(model), generation=generation, endpoint=endpoint, prices=prices)

    def _role_endpoint(self, name: str, table: dict[str, Any]) -> EndpointConfig | None:
        # Prices are kept with the role: two models on one server share its limits and differ in price.
        keys = (*_ENDPOINT_KEYS, *_own_keys(table))
        inline = {key: table[key] for key in keys if key in table and key != "prices"}
        if "endpoint" not in table:
            endpoint = self._endpoint(name, self._free_name(name), inline)
            return self._same_or_new(endpoint)
        wanted = table["endpoint"]
        for key in inline:
            self._fault(f"{name}.{key}", f"stands beside {name}.endpoint; move it to [endpoint.{plain(str(wanted))}]")
        if not isinstance(wanted, str):
            self._fault(f"{name}.endpoint", f"is {shown(wanted)}; wanted the NAME of an [endpoint.NAME] table")
        elif wanted not in self._shared:
            near = difflib.get_close_matches(wanted, self._shared, n=1)
            guess = f"did you mean {near[0]!r}?" if near else "there is no such [endpoint.NAME]"
            self._fault(f"{name}.endpoint", f"is {shown(wanted)}; {guess}")
        else:
            return self._shared[wanted]
        return None

    def _free_name(self, role: str) -> str:
        return f"{role} (inline)" if role in self._shared else role

    def _same_or_new(self, endpoint: EndpointConfig | None) -> EndpointConfig | None:
        if endpoint is None:
            return None
        for other in self._inline:
            if endpoint.model_copy(update={"name": other.name}) == other:
                return other
        self._inline.append(endpoint)
        return endpoint

    def _endpoint(self, where: str, name: str, table: dict[str, Any]) -> EndpointConfig | None:
        before = len(self.faults)
        if where not in ROLES:
            self._refuse_unknown(table, (*_ENDPOINT_KEYS, *_own_keys(table)), where)
        if isinstance(table.get("prices"), dict):
            self._refuse_unknown(table["prices"], tuple(Prices.model_fields), f"{where}.prices")
        kind = table.get("kind", "openai")
        self._check_kind(where, kind, table)
        settings = {key: value for key, value in table.items() if key in _ENDPOINT_KEYS}
        if (known := known_kind(kind)) is not None:
            settings = {**known.defaults, **settings}
            if own := {key: table[key] for key in known.own_keys if key in table}:
                settings["options"] = own
        if self.published:
            settings.setdefault("max_retries", 2)
            retries = settings["max_retries"]
            if isinstance(retries, int) and not isinstance(retries, bool) and retries > 10:
                self._fault(f"{where}.max_retries", f"is {retries}; wanted an integer from 0 to 10")
        endpoint = self._model(EndpointConfig, where, {"name": name, **settings})
        return endpoint if len(self.faults) == before else None

    def _check_kind(self, where: str, kind: object, table: dict[str, Any]) -> None:
        known = known_kind(kind)
        if known is None:
            return  # told by the model
        for key in SOME_KINDS:
            if key in table and key not in known.keys:
                self._fault(f"{where}.{key}", f"has no meaning for kind {kind!r}; delete it")
        for key, wanted in known.own_keys.items():
            if key in table and (fault := wanted(table[key])) is not None:
                self._fault(f"{where}.{key}", f"is {shown(table[key])}; wanted {fault}")
        for key, said in known.faults(table):
            self._fault(f"{where}.{key}", said)

    def _prices(self, where: str, table: object) -> Prices | None:
        if isinstance(table, dict):
            self._refuse_unknown(table, tuple(Prices.model_fields), where)
        return self._model(Prices, where, table)

    def _model(self, model: type[T], where: str, table: object) -> T | None:
        try:
            return model.model_validate(table)
        except ValidationError as exc:
            for error in exc.errors(include_url=False):
                if error["type"] != "extra_forbidden":  # told with a guess by _refuse_unknown
                    self._fault(_join(where, *map(str, error["loc"])), _said(error))
            return None


_ENDPOINT_KEYS = tuple(key for key in EndpointConfig.model_fields if key not in ("name", "options"))
_ROLE_KEYS = ("model", "generation", "endpoint")


def _own_keys(table: dict[str, Any]) -> Iterable[str]:
    """The keys that only the kind of this table has."""
    kind = known_kind(table.get("kind", "openai"))
    return () if kind is None else kind.own_keys


def _said(error: ErrorDetails) -> str:
    """A pydantic error as a predicate: what was found, what is wanted."""
    if error["type"] in ("url", "variable", "header", "kind"):
        return error["msg"]
    wanted = error["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return f"is {shown(error['input'])}; wanted {wanted}"


def _place(where: str) -> str:
    """A key's place, without what somebody pasted into a key."""
    return one_line(re.sub(r"[^.\[\]\s]+", lambda part: f"{part[0][:4]}…" if may_be_a_key(part[0]) else part[0], where))


def _join(*keys: str) -> str:
    return ".".join(key for key in keys if key)


def _walk(value: object, where: str) -> Iterator[tuple[str, Any, str]]:
    """``(key, value, place)`` of every entry one level down, through lists."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key), item, _join(where, str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, f"{where}[{index}]")


def served_instead(role: str, table: dict[str, Any]) -> str:
    """How to get the answers of a published ``transformers`` section: the same model behind vLLM."""
    model = str(table.get("model", "MODEL"))
    revision = table.get("revision") or (AUTOVERIFIER_REVISION if model == AUTOVERIFIER else None)
    command = ["vllm", "serve", model]
    if revision:
        command += ["--revision", str(revision)]
    command += ["--dtype", str(table.get("dtype", "bfloat16")), "--port", "8000"]
    if table.get("trust_remote_code") is True:
        command.append("--trust-remote-code")
    given = table.get("generation")
    given = without_unset(given) if isinstance(given, dict) else {}
    body: dict[str, Any] = {key: given[key] for key in ("top_k", "repetition_penalty") if key in given}
    if table.get("chat_template_kwargs"):
        body["chat_template_kwargs"] = table["chat_template_kwargs"]
    generation = {"max_tokens": given.get("max_tokens", 65536), "temperature": given.get("temperature", 1.0)}
    if "top_p" in given:
        generation["top_p"] = given["top_p"]
    if body:
        generation["extra_body"] = body
    section = {"backend": "api", "model": model, "base_url": "http://127.0.0.1:8000/v1", "generation": generation}
    return (
        "is 'transformers': models are not loaded in this process. Serve the same model with\n"
        f"    {shlex.join(command)}\n"
        "  (several GPUs: add --tensor-parallel-size N) and put instead\n"
        f"    {json.dumps(role)}: {json.dumps(section, ensure_ascii=False)}"
    )
