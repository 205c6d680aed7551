"""Values of a config's fields, checked: addresses, names of variables and headers. No message repeats a secret."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

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
Count = Annotated[int, Field(ge=1)]


def may_be_a_key(name: str) -> bool:
    """Whether what stands in the place of a variable's name looks like the secret itself."""
    if name == name.upper() and "_" in name:
        return False
    long = len(name) >= 20 and re.search(r"[0-9]", name) and re.search(r"[A-Za-z]", name)
    return bool(long) or re.match(r"sk[-_]", name, re.IGNORECASE) is not None


def is_credential(key: str) -> bool:
    """Whether people put secrets under such a key."""
    plain = re.sub(r"[-_ ]", "", key.lower())
    return plain in _CREDENTIALS or plain.endswith(("apikey", "secretkey"))


def unset_variable(name: str, state: str) -> str:
    """What to say of a variable that is not set, or empty; names that look like the key itself are cut."""
    if may_be_a_key(name):
        return (
            f"{name[:4]}… (cut: it looks like a key), which is {state}; give the NAME of a variable that holds the "
            "key, such as 'OPENAI_API_KEY', not the key"
        )
    return f"{name}, which is {state}; set it: export {name}=..."
