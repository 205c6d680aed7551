"""The way out to an endpoint, as the environment says: which proxy, and whose certificates to believe.

All faults of the environment are found here, before the first call and before anything is written: a proxy that cannot
be used, a file of certificates that is missing or holds none. They name the variable, never its value, which may hold a
password.
"""

import ipaddress
import os
import re
import ssl
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from proverbench.errors import ConfigError
from proverbench.inputs.config import Config

DEFAULT_URLS = {"anthropic": "https://api.anthropic.com"}
"""Of kinds that need no base_url and call over a network all the same."""
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
NOT_READ = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables of other programs, which are not read here; people look for the fault elsewhere."""


def address(base_url: str, path: str) -> str:
    """The URL of a path below a base URL; a query of the base goes behind the path."""
    base, _, query = base_url.partition("?")
    return f"{base.rstrip('/')}{path}{f'?{query}' if query else ''}"


def unreachable(config: Config, roles: Iterable[str]) -> Iterator[str]:
    """Everything in the environment that would keep calls from reaching the endpoints of ``roles``."""
    for endpoint in config.endpoints(roles):
        url = endpoint.base_url or DEFAULT_URLS.get(endpoint.kind)
        if url is not None:
            yield from (f"{config.path}: endpoint {endpoint.name!r}: {fault}" for fault in network_faults(url))


def network_faults(url: str, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Everything in the environment that would keep calls to ``url`` from going out."""
    return [*_proxy_faults(url, environ), *_certificate_faults(url, environ)]


def proxy_for(url: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The proxy that the environment names for ``url``, or None.

    Looked up once: aiohttp's own ``trust_env`` does it in a thread for every request, at three times the cost of the
    request itself. It and urllib also know no networks in NO_PROXY.

    Raises:
        ConfigError: If it cannot be used.
    """
    faults = list(_proxy_faults(url, environ))
    if faults:
        raise ConfigError.of(faults)
    named = _named_proxy(url, environ)
    if named is not None:
        value = named[1]
        return value if "://" in value else f"http://{value}"
    parts = urlsplit(url)
    if environ is not os.environ or _proxies(environ) or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return getproxies().get(parts.scheme)  # of the system's settings, on macOS


def trust(url: str) -> ssl.SSLContext | bool:
    """Whose certificates to believe: SSL_CERT_FILE or SSL_CERT_DIR, else the system's own store, as the SDKs do."""
    if not url.startswith("https:"):
        return True
    from httpx2 import create_ssl_context  # takes a while to load, and plain http does not need it

    return create_ssl_context()


def untrusted_remedy(environ: Mapping[str, str] = os.environ) -> str:
    """What to do where a certificate is not trusted."""
    unread = [name for name in NOT_READ if environ.get(name)]
    said = f" ({' and '.join(unread)} {'are' if len(unread) > 1 else 'is'} not read)" if unread else ""
    return f"for a private authority name its file in SSL_CERT_FILE{said}"


def _proxies(environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Scheme or ``all`` → variable and value; a variable in lower case goes before one in upper case, even empty."""
    found: dict[str, tuple[str, str]] = {}
    for scheme in ("http", "https", "all"):
        for name in (f"{scheme}_proxy", f"{scheme}_PROXY".upper()):
            if name in environ:
                if environ[name].strip():
                    found[scheme] = (name, environ[name].strip())
                break
    return found


def _named_proxy(url: str, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Variable and value of the proxy for ``url``; None where there is none, or NO_PROXY lets it go without."""
    parts = urlsplit(url)
    proxies = _proxies(environ)
    named = proxies.get(parts.scheme) or proxies.get("all")
    if named is None or not parts.hostname:
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    without = environ.get("no_proxy", environ.get("NO_PROXY", ""))
    return None if any(_covers(entry, parts.hostname, port) for entry in re.split(r"[,\s]+", without)) else named


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether an entry of NO_PROXY (name, suffix, ``*``, address or network; maybe with a port) speaks of a host."""
    entry = entry.strip().lower()
    if entry in ("", "*"):
        return entry == "*"
    found = re.fullmatch(r"\[([0-9a-f:.%]+)\](?::(\d+))?|([^:\s]+):(\d+)", entry)
    if found:
        entry, wanted = found[1] or found[3], found[2] or found[4]
        if wanted and int(wanted) != port:
            return False
    ip = _ip(host)
    if ip is not None:
        try:
            return ip in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name = entry.removeprefix("*").removeprefix(".")
    return bool(name) and (host.lower().rstrip(".") == name or host.lower().rstrip(".").endswith(f".{name}"))


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _proxy_faults(url: str, environ: Mapping[str, str]) -> Iterator[str]:
    named = _named_proxy(url, environ)
    if named is None:
        return
    name, value = named
    scheme, separator, rest = value.partition("://")
    host = urlsplit(url).hostname
    remedy = f"give an http proxy such as http://HOST:PORT, unset it, or list {host} in NO_PROXY"
    if separator and scheme.lower().startswith("socks"):
        yield f"the environment variable {name} names a SOCKS proxy, which is not spoken here; {remedy}"
    elif separator and scheme.lower() not in ("http", "https"):
        yield f"the environment variable {name} names a proxy of an unknown kind; {remedy}"
    elif not _is_place(rest if separator else value):
        yield f"the environment variable {name} names no host and port; {remedy}"


def _is_place(place: str) -> bool:
    try:
        parts = urlsplit(f"//{place}")
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _certificate_faults(url: str, environ: Mapping[str, str]) -> Iterator[str]:
    if not url.startswith("https:"):
        return
    named = next(((name, environ[name]) for name in _CERTIFICATES if environ.get(name)), None)
    if named is None:
        return
    name, path = named[0], Path(named[1])
    wanted = "a file of certificates in PEM form" if name == "SSL_CERT_FILE" else "a folder of certificates"
    where = f"the environment variable {name} names {path}"
    try:
        if name == "SSL_CERT_DIR":
            if not any(re.fullmatch(r"[0-9a-f]{8}\.\d+", entry.name) for entry in path.iterdir()):
                yield f"{where}, which holds no certificate by its hash (openssl rehash makes them); name {wanted}"
            return
        ssl.create_default_context(cafile=path)
    except ssl.SSLError:
        yield f"{where}, which holds no certificate; name {wanted}, or unset it"
    except OSError as exc:
        yield f"{where}, which cannot be read ({exc.strerror}); name {wanted}, or unset it"
