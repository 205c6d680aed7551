"""What a run may set: roles, their endpoints and limits; TOML, and the published evaluator's JSON (docs/configs.md).

Reading finds every fault of a file before it complains, names the nearest known key of an unknown one, and never
repeats a value that may be a credential.
"""

import difflib
import json
import math
import os
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from proverbench.errors import ConfigError, JournalError
from proverbench.records import RoleIdentity
from proverbench.redact import Redactor, one_line

ROLES = ("policy", "verifier", "meta")

AUTOVERIFIER = "debouter/AdvancedMathBench-AutoVerifier"
AUTOVERIFIER_REVISION = "2ad58735622f70bbe2f106049bcdf34f5bb93cfd"

_REDACT = Redactor()
_OWNED_BY_THE_CALL = ("model", "messages", "stream", "n", "tools")
_CREDENTIALS = frozenset(
    [
        "apikey",
        "xapikey",
        "apitoken",
        "apisecret",
        "token",
        "accesstoken",
        "authtoken",
        "bearertoken",
        "hftoken",
        "auth",
        "authorization",
        "bearer",
        "password",
        "passwd",
        "secret",
        "secretkey",
        "clientsecret",
        "accesskey",
        "privatekey",
        "credential",
        "credentials",
        "headers",
        "extraheaders",
        "defaultheaders",
    ]
)
"""Keys under which people put secrets, in lower case without ``_`` and ``-``. ``max_tokens`` and its like are none."""
_OWN_HEADERS = frozenset(
    [
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "accept-encoding",
    ]
)
"""Headers of one connection or one body, which the HTTP client sets itself."""
_DEEPEST = 64
"""Levels of tables and lists; JSON writers and readers stop somewhere, and no server wants so many."""
_MOST_GUESSES = 20
"""Unknown keys for which a near known one is looked for; that takes a while."""
_TOO_DEEP = f"is nested too deeply to be read; wanted at most {_DEEPEST} levels of tables and lists"
_TOKEN_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_GENERATION_HINTS = (
    *_TOKEN_LIMITS,
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "reasoning_effort",
    "reasoning",
    "thinking",
    "seed",
    "stop",
    "extra_body",
    "service_tier",
)
"""Parameters people use; only to guess what an unknown key was meant to be. Others pass just as well."""

_ONLY_FOR: dict[str, tuple[str, ...]] = {
    "base_url": ("openai", "anthropic"),
    "api_key_env": ("openai", "anthropic"),
    "extra_headers_env": ("openai", "anthropic"),
    "api": ("openai",),
    "run": ("replay",),
    "threads": ("embedded",),
    "context": ("openai", "anthropic", "embedded"),
}
_KINDS = ("openai", "anthropic", "embedded", "replay")
_BATCH_KINDS = ("openai", "anthropic")
_LOCAL_MODEL_KEYS = ("model_class", "dtype", "device_map", "trust_remote_code", "revision", "chat_template_kwargs")
"""Keys of the published ``transformers`` backend; its ``api`` backend accepts and ignores them."""


def _checked_url(url: str) -> str:
    """The normalised base URL. No message repeats the URL, which may hold a password."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise PydanticCustomError("url", "is no URL; give one like 'http://127.0.0.1:8000/v1'") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s\x00-\x1f]", url):
        raise PydanticCustomError("url", "is no http(s) URL with a host; give one like 'http://127.0.0.1:8000/v1'")
    if "@" in parts.netloc:
        raise PydanticCustomError(
            "url", "holds a user or password; put the key in an environment variable and name it in api_key_env"
        )
    if "#" in url or ("?" in url and not re.fullmatch(r"api-version=[0-9A-Za-z.-]{1,40}", parts.query)):
        raise PydanticCustomError(
            "url",
            "has a query or fragment; give the plain address of the server's API (Azure's ?api-version=DATE may stay)",
        )
    try:
        parts.hostname.encode("idna")
    except UnicodeError:
        raise PydanticCustomError(
            "url", "has a host that is no name: a part of it is empty or longer than 63 characters"
        ) from None
    base, mark, query = url.partition("?")
    return base.rstrip("/").removesuffix("/chat/completions").rstrip("/") + mark + query


def _checked_variable(name: str) -> str:
    """An environment variable's name. The message does not repeat it: people paste the key itself here."""
    looks_like_a_key = re.match(r"(sk|pk|gsk|hf|xai|ghp)[-_]|AIza", name) is not None and name != name.upper()
    if looks_like_a_key or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise PydanticCustomError(
            "variable",
            "is no name of an environment variable; put the value in a variable and give its name, "
            "such as 'OPENAI_API_KEY'",
        )
    return name


def _checked_header(name: str) -> str:
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
        raise PydanticCustomError("header", "is no HTTP header's name")
    if name.lower() in _OWN_HEADERS:
        raise PydanticCustomError("header", "is a header that each request sets itself; delete it")
    return name


BaseUrl = Annotated[str, AfterValidator(_checked_url)]
Variable = Annotated[str, AfterValidator(_checked_variable)]
Header = Annotated[str, AfterValidator(_checked_header)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


_T = TypeVar("_T", bound=_Table)


class Prices(_Table):
    """US dollars per million tokens; what is None makes the cost "at least"."""

    input: Price | None = None
    cached_input: Price | None = None
    """Input tokens read from the provider's cache; None: as ``input``."""
    cache_write: Price | None = None
    """Input tokens written to the cache; None: as ``input``."""
    output: Price | None = None
    """Output tokens, reasoning included."""
    batch: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    """What a call in a batch (``--batch``) costs, as a share of these prices, e.g. 0.5; None: as much as any other."""


class EndpointConfig(_Table):
    """Where calls go, and how many may go there at once. Roles that share one share its limits."""

    name: str
    """``NAME`` of ``[endpoint.NAME]``; of an inline endpoint, the first role that uses it."""
    kind: Literal["openai", "anthropic", "embedded", "replay"] = "openai"
    base_url: BaseUrl | None = None
    """Normalised: no trailing ``/`` or ``/chat/completions``. None for anthropic: its own address."""
    api_key_env: Variable | None = None
    """Name of the variable that holds the key; None: no key is sent."""
    extra_headers_env: dict[Header, Variable] = {}
    """Header → name of the variable that holds its value."""
    connect_timeout_s: Seconds = 10.0
    read_timeout_s: Seconds | None = None
    """Longest silence between two pieces of a reply; None: as ``timeout_s`` (a reasoning model may think unheard)."""
    timeout_s: Seconds = 1800.0
    """Longest time for one attempt as a whole."""
    max_retries: int = Field(default=6, ge=0, le=100)
    """Attempts after the first; 2 in the published JSON form."""
    concurrency: Count = 16
    """Calls in flight at once, over all roles and stages; 2 for kind ``embedded``."""
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    prices: Prices | None = None
    """For roles that state none of their own; read :attr:`RoleConfig.effective_prices`."""
    stream: Literal["auto"] | bool = "auto"
    """``auto``: where a long reply would leave the connection idle."""
    api: Literal["chat", "responses"] = "chat"
    """Kind ``openai`` only: chat completions, or the Responses API."""
    accept_missing_finish: bool = False
    """Take an absent finish reason for a normal stop; for servers that never send one."""
    run: Annotated[Path, Field(strict=False)] | None = None
    """Kind ``replay`` only: the saved run that answers."""
    threads: Count | None = None
    """Kind ``embedded`` only: CPU threads; None: one core is left free."""
    context: Count | None = None
    """Tokens of context. Kind ``embedded``: for each call in flight; None: its default. Of a server: what its model
    takes in all, so that a dry run can tell which prompts would not fit; nothing is sent."""


class RoleConfig(_Table):
    """One role: which model, with what request parameters, where."""

    model: str
    """Model name as the server knows it. Empty for kind ``replay`` where the saved run's is taken."""
    generation: dict[str, Any] = {}
    """Request parameters, passed through as they are; unset ones are not in it. ``seed`` is a base seed."""
    endpoint: EndpointConfig
    prices: Prices | None = None
    """This role's own, for roles that share an endpoint but not a model."""

    @property
    def effective_prices(self) -> Prices | None:
        """The role's own prices, else its endpoint's; None when the config states none."""
        return self.prices if self.prices is not None else self.endpoint.prices

    def identity(self, replayed: RoleIdentity | None = None) -> RoleIdentity:
        """What must not change of this role when a run is resumed.

        Args:
            replayed: Of kind ``replay``, the identity of this role in the saved run: a replayed call is that
                model's, so the role's identity is too.

        Raises:
            ConfigError: If this role states a model or generation that the saved run was not made with.
        """
        if replayed is not None:
            self._require_same(replayed)
            return replayed
        return RoleIdentity(
            model=self.model,
            kind=self.endpoint.kind,
            generation=self.generation,
            accept_missing_finish=self.endpoint.accept_missing_finish,
            api=self.endpoint.api if self.endpoint.kind == "openai" else None,
        )

    def _require_same(self, replayed: RoleIdentity) -> None:
        faults = []
        if self.model not in ("", replayed.model):
            faults.append(f"model is {self.model!r}, but {self.endpoint.run} was made with {replayed.model!r}")
        if self.generation not in ({}, replayed.generation):
            faults.append(
                f"generation is {self.generation!r}, but {self.endpoint.run} was made with {replayed.generation!r}"
            )
        if faults:
            raise ConfigError("; ".join(faults) + "; leave them out for kind replay")


class Config(_Table):
    """A config file, read and checked."""

    path: Annotated[Path, Field(strict=False)]
    roles: dict[str, RoleConfig]

    def require(self, roles: Iterable[str]) -> None:
        """Make sure that ``roles`` are there.

        Raises:
            ConfigError: Names every missing one.
        """
        missing = [role for role in roles if role not in self.roles]
        if missing:
            raise ConfigError.of(
                f"{self.path}: the table [{role}] is missing; this run needs it (docs/configs.md)" for role in missing
            )

    def require_batches(self, roles: Iterable[str]) -> None:
        """Make sure that the endpoints of ``roles`` may have batches.

        Raises:
            ConfigError: Names every role whose endpoint cannot.
        """
        faults = [
            f"{self.path}: {role}: endpoints of kind {self.roles[role].endpoint.kind!r} have no batches; "
            f"leave {role} out of --batch (--batch none: every role is asked directly)"
            for role in roles
            if role in self.roles and self.roles[role].endpoint.kind not in _BATCH_KINDS
        ]
        if faults:
            raise ConfigError.of(faults)

    def endpoints(self, roles: Iterable[str]) -> list[EndpointConfig]:
        """The distinct endpoints of ``roles``, in order of first use."""
        found: dict[str, EndpointConfig] = {}
        for role in roles:
            endpoint = self.roles[role].endpoint
            found.setdefault(endpoint.name, endpoint)
        return list(found.values())


def check_environment(config: Config, roles: Iterable[str], environ: Mapping[str, str] = os.environ) -> None:
    """Make sure that the variables which hold keys and header values are set. A dry run does not ask.

    Raises:
        ConfigError: Names every variable that is unset or empty, and how to set it.
    """
    faults = []
    for endpoint in config.endpoints(roles):
        wanted = {"api_key_env": endpoint.api_key_env} if endpoint.api_key_env else {}
        wanted |= {f"extra_headers_env.{header}": name for header, name in endpoint.extra_headers_env.items()}
        for key, variable in wanted.items():
            value = environ.get(variable)
            if not (value or "").strip():
                state = "not set" if value is None else "empty"
                faults.append(
                    f"{config.path}: endpoint {endpoint.name!r} reads {key} from the environment variable "
                    + _unset_variable(variable, state)
                )
    if faults:
        raise ConfigError.of(dict.fromkeys(faults))


def _unset_variable(name: str, state: str) -> str:
    if _may_be_a_key(name):
        return (
            f"{name[:4]}… (cut: it looks like a key), which is {state}; give the NAME of a variable that holds the "
            "key, such as 'OPENAI_API_KEY', not the key"
        )
    return f"{name}, which is {state}; set it: export {name}=..."


def _may_be_a_key(name: str) -> bool:
    """Whether what stands in the place of a variable's name looks like the secret itself."""
    if name == name.upper() and "_" in name:
        return False
    long = len(name) >= 20 and re.search(r"[0-9]", name) and re.search(r"[A-Za-z]", name)
    return bool(long) or re.match(r"sk[-_]", name, re.IGNORECASE) is not None


def read_saved(model: type[_T], table: object, where: str) -> _T:
    """Read back a table of a config that a run's manifest keeps.

    Args:
        model: What it is.
        table: As it stands there.
        where: Which it is, for messages.

    Raises:
        JournalError: If it is none, which somebody's hand must have done.
    """
    try:
        return model.model_validate_json(msgspec.json.encode(table))
    except ValidationError as exc:
        faults = "; ".join(".".join(map(str, (where, *fault["loc"]))) + f": {fault['msg']}" for fault in exc.errors())
        raise JournalError(f"{faults}; the manifest was changed") from None


def load_config(path: Path | str) -> Config:
    """Read and check a config file.

    Args:
        path: A TOML file, or the published evaluator's JSON (told by ``.json``, or a first character ``{``).

    Raises:
        ConfigError: Lists all faults, each with the file and the key.
    """
    path = Path(path)
    data, published = _read(path)
    # The rest walks the tables by recursion and repeats names in messages.
    unreadable = _unreadable(data)
    if unreadable:
        raise ConfigError.of(f"{path}: {fault}" for fault in unreadable)
    reader = _Reader(path, published)
    config = reader.config(data)
    if reader.faults:
        raise ConfigError.of(dict.fromkeys(reader.faults))
    return config


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
            f"{path}: the key {_plain(repr(key))} stands twice in one object; keep one" for key in repeated
        )
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: holds a JSON {type(data).__name__}; wanted an object with policy, verifier, meta")
    return data


class _Reader:
    """Turns a file's tables into models, collecting every fault on the way."""

    def __init__(self, path: Path, published: bool) -> None:
        self.path = path
        self.published = published
        self.faults: list[str] = []
        self._shared: dict[str, EndpointConfig | None] = {}
        self._inline: list[EndpointConfig] = []

    def config(self, data: dict[str, Any]) -> Config:
        self._refuse_credentials(data, "")
        self._refuse_unknown(data, (*ROLES, "endpoint"), "")
        tables = data.get("endpoint", {})
        if self._is_table(tables, "endpoint"):
            for name, table in tables.items():
                where = f"endpoint.{name}"
                self._shared[name] = self._endpoint(where, name, table) if self._is_table(table, where) else None
        roles: dict[str, RoleConfig] = {}
        for name in ROLES:
            if name in data and self._is_table(data[name], name):
                role = self._role(name, data[name])
                if role is not None:
                    roles[name] = role
        if not any(name in data for name in ROLES) and not self.faults:
            self.faults.append(f"{self.path}: has no [policy], [verifier] or [meta]; see docs/configs.md")
        return Config(path=self.path, roles=roles)

    def _fault(self, where: str, message: str) -> None:
        self.faults.append(f"{self.path}: {_place(where)} {message}")

    def _is_table(self, value: object, where: str) -> bool:
        if isinstance(value, dict):
            return True
        self._fault(where, f"is {_shown(value)}; wanted a table")
        return False

    def _refuse_credentials(self, value: object, where: str) -> None:
        for key, item, place in _walk(value, where):
            if where != "endpoint" and _is_credential(key):  # what an endpoint is called is its user's choice
                remedy = "put headers' values in environment variables and name them in extra_headers_env"
                if key.lower() != "headers":
                    remedy = "put it in an environment variable and name that in api_key_env"
                self._fault(place, f"may hold a secret, which no config file should; {remedy}")
            elif key != "extra_headers_env":
                self._refuse_credentials(item, place)

    def _refuse_unknown(self, table: dict[str, Any], known: Iterable[str], where: str) -> None:
        candidates = {key: _join(where, key) for key in known}
        if where in ROLES:
            candidates |= {key: f"{where}.generation.{key}" for key in _GENERATION_HINTS}
        guesses = 0
        for key in table:
            if key in known or _is_credential(key):
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
            self._fault(f"{name}.backend", _served_instead(name, table))
            return None
        if backend != "api":
            self._fault(f"{name}.backend", f"is {_shown(backend)}; wanted 'api'")
        published = ("backend", *_LOCAL_MODEL_KEYS) if self.published or "backend" in table else ()
        self._refuse_unknown(table, (*_ROLE_KEYS, *_ENDPOINT_KEYS, *published), name)
        endpoint = self._role_endpoint(name, table)
        kind = table.get("kind", "openai") if endpoint is None else endpoint.kind
        model = table.get("model", "" if kind == "replay" else None)
        if model is None:
            self._fault(f"{name}.model", "is missing; give the model's name as the server knows it")
        elif not isinstance(model, str) or (not model.strip() and kind != "replay"):
            self._fault(f"{name}.model", f"is {_shown(model)}; wanted a model's name")
        generation = table.get("generation", {})
        if self._is_table(generation, f"{name}.generation"):
            generation = _without_unset(generation)
            self.faults.extend(f"{self.path}: {fault}" for fault in _generation_faults(name, generation, kind))
        prices = self._prices(f"{name}.prices", table["prices"]) if "prices" in table else None
        if len(self.faults) > before or endpoint is None:
            return None
        return RoleConfig(model=str(model), generation=generation, endpoint=endpoint, prices=prices)

    def _role_endpoint(self, name: str, table: dict[str, Any]) -> EndpointConfig | None:
        # Prices are kept with the role: two models on one server share its limits and differ in price.
        inline = {key: table[key] for key in _ENDPOINT_KEYS if key in table and key != "prices"}
        if "endpoint" not in table:
            endpoint = self._endpoint(name, self._free_name(name), inline)
            return self._same_or_new(endpoint)
        wanted = table["endpoint"]
        for key in inline:
            self._fault(f"{name}.{key}", f"stands beside {name}.endpoint; move it to [endpoint.{_plain(str(wanted))}]")
        if not isinstance(wanted, str):
            self._fault(f"{name}.endpoint", f"is {_shown(wanted)}; wanted the NAME of an [endpoint.NAME] table")
        elif wanted not in self._shared:
            near = difflib.get_close_matches(wanted, self._shared, n=1)
            guess = f"did you mean {near[0]!r}?" if near else "there is no such [endpoint.NAME]"
            self._fault(f"{name}.endpoint", f"is {_shown(wanted)}; {guess}")
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
            self._refuse_unknown(table, _ENDPOINT_KEYS, where)
        if isinstance(table.get("prices"), dict):
            self._refuse_unknown(table["prices"], tuple(Prices.model_fields), f"{where}.prices")
        kind = table.get("kind", "openai")
        self._check_kind(where, kind, table)
        settings = {key: value for key, value in table.items() if key in _ENDPOINT_KEYS}
        if kind == "embedded":
            settings.setdefault("concurrency", 2)
        if self.published:
            settings.setdefault("max_retries", 2)
            retries = settings["max_retries"]
            if isinstance(retries, int) and not isinstance(retries, bool) and retries > 10:
                self._fault(f"{where}.max_retries", f"is {retries}; wanted an integer from 0 to 10")
        endpoint = self._model(EndpointConfig, where, {"name": name, **settings})
        return endpoint if len(self.faults) == before else None

    def _check_kind(self, where: str, kind: object, table: dict[str, Any]) -> None:
        for key, kinds in _ONLY_FOR.items():
            if key in table and kind in _KINDS and kind not in kinds:
                self._fault(f"{where}.{key}", f"has no meaning for kind {kind!r}; delete it")
        if kind == "openai" and table.get("base_url") is None:
            self._fault(f"{where}.base_url", "is missing; give the server's address, like 'http://127.0.0.1:8000/v1'")
        if kind == "anthropic" and table.get("base_url") is None and table.get("api_key_env") is None:
            self._fault(f"{where}.api_key_env", "is missing; name the variable that holds the key: 'ANTHROPIC_API_KEY'")
        if kind == "replay" and table.get("run") is None:
            self._fault(f"{where}.run", "is missing; give the folder of the saved run that answers")

    def _prices(self, where: str, table: object) -> Prices | None:
        if isinstance(table, dict):
            self._refuse_unknown(table, tuple(Prices.model_fields), where)
        return self._model(Prices, where, table)

    def _model(self, model: type[_T], where: str, table: object) -> _T | None:
        try:
            return model.model_validate(table)
        except ValidationError as exc:
            for error in exc.errors(include_url=False):
                if error["type"] != "extra_forbidden":  # told with a guess by _refuse_unknown
                    self._fault(_join(where, *map(str, error["loc"])), _said(error))
            return None


_ENDPOINT_KEYS = tuple(key for key in EndpointConfig.model_fields if key != "name")
_ROLE_KEYS = ("model", "generation", "endpoint")


def _said(error: ErrorDetails) -> str:
    """A pydantic error as a predicate: what was found, what is wanted."""
    if error["type"] in ("url", "variable", "header"):
        return error["msg"]
    wanted = error["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return f"is {_shown(error['input'])}; wanted {wanted}"


def _shown(value: object) -> str:
    """A value as JSON would show it, cut short. Tables are not shown: they may hold anything."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    text = _plain(repr(value)) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= 60 else text[:57] + "..."


def _plain(text: str) -> str:
    """``text`` without what looks like a key or a URL's password, on one line."""
    return one_line(_REDACT(text))


def _place(where: str) -> str:
    """A key's place, without what somebody pasted into a key."""
    return one_line(
        re.sub(r"[^.\[\]\s]+", lambda part: f"{part[0][:4]}…" if _may_be_a_key(part[0]) else part[0], where)
    )


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


def _is_credential(key: str) -> bool:
    plain = re.sub(r"[-_ ]", "", key.lower())
    return plain in _CREDENTIALS or plain.endswith(("apikey", "secretkey"))


def _without_unset(generation: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are set: one that is null is not sent, at the top and in ``extra_body``."""
    kept = {key: value for key, value in generation.items() if value is not None}
    if isinstance(kept.get("extra_body"), dict):
        kept["extra_body"] = {key: value for key, value in kept["extra_body"].items() if value is not None}
    return kept


def _generation_faults(role: str, generation: dict[str, Any], kind: object) -> Iterator[str]:
    where = f"{role}.generation"
    extra = generation.get("extra_body", {})
    if not isinstance(extra, dict):
        yield f"{where}.extra_body is {_shown(extra)}; wanted a table"
        extra = {}
    for place, table in ((where, generation), (f"{where}.extra_body", extra)):
        for key in _OWNED_BY_THE_CALL:
            if key in table:
                yield f"{place}.{key} is set by each call itself; {_instead_of(key, role)}"
    limits = {key: value for key, value in (extra | generation).items() if key in _TOKEN_LIMITS}
    for key, value in limits.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            yield f"{where}.{key} is {_shown(value)}; wanted a positive integer"
    if "max_tokens" in limits and "max_completion_tokens" in limits:
        yield f"{where} has both max_tokens and max_completion_tokens; keep the one that the server knows"
    yield from _sampling_faults(where, generation)
    if kind == "anthropic":
        yield from _anthropic_faults(where, generation)
    yield from _unsendable(generation, where)


def _instead_of(key: str, role: str) -> str:
    if key == "model":
        return f"give it as {role}.model"
    if key == "stream":
        return f"give stream = true or false as {role}.stream"
    return "delete it"


def _sampling_faults(where: str, generation: dict[str, Any]) -> Iterator[str]:
    for key, most in (("temperature", math.inf), ("top_p", 1.0)):
        value = generation.get(key)
        if value is None:
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= most:
            wanted = "a number of at least 0" if most == math.inf else f"a number from 0 to {most:g}"
            yield f"{where}.{key} is {_shown(value)}; wanted {wanted}"
    seed = generation.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        yield f"{where}.seed is {_shown(seed)}; wanted an integer, from which each call gets its own seed"


def _anthropic_faults(where: str, generation: dict[str, Any]) -> Iterator[str]:
    most = generation.get("max_tokens")
    if "max_completion_tokens" in generation:
        yield f"{where}.max_completion_tokens is not known to kind 'anthropic'; wanted max_tokens"
    if most is None:
        yield f"{where}.max_tokens is missing; kind 'anthropic' needs it"
    thinking = generation.get("thinking", {})
    if not isinstance(thinking, dict):
        yield f"{where}.thinking is {_shown(thinking)}; wanted a table, like {{type = 'enabled', budget_tokens = 8000}}"
        return
    budget = thinking.get("budget_tokens")
    if budget is None:
        return
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        yield f"{where}.thinking.budget_tokens is {_shown(budget)}; wanted a positive integer"
    elif isinstance(most, int) and budget >= most:
        yield f"{where}.thinking.budget_tokens is {budget}; wanted less than max_tokens, which is {most}"


def _unsendable(value: object, where: str) -> Iterator[str]:
    """Faults of values that JSON cannot carry: not-a-number, infinity, and TOML's dates and times."""
    if isinstance(value, float) and not math.isfinite(value):
        yield f"{where} is {value}; wanted a finite number"
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        yield f"{where} is an integer of more than 64 bits, which JSON writers refuse"
    elif isinstance(value, str | int | float | bool | None):
        return
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unsendable(item, f"{where}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _unsendable(item, _join(where, key))
    else:
        yield f"{where} is a TOML {type(value).__name__}; wanted a string"


def _served_instead(role: str, table: dict[str, Any]) -> str:
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
    given = _without_unset(given) if isinstance(given, dict) else {}
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
