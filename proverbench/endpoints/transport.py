"""HTTP for the model endpoints: one aiohttp session, timeouts, and outside exceptions mapped in one place.

The SDKs' request machinery takes more CPU for a call than all else that is done with it (docs/performance.md), and it
maps a reset connection to a timeout. So calls go through here; the wire formats are the SDKs'.
"""

import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import aiohttp

from proverbench.endpoints.base import ConnectError
from proverbench.endpoints.network import proxy_for, trust, untrusted_remedy
from proverbench.errors import (
    AttemptTimeoutError,
    EndpointError,
    FatalEndpointError,
    TransientError,
)
from proverbench.redact import Redactor, one_line

_KEEPALIVE_S = 60
"""Probe a silent connection this often, so that routers do not forget it while a model thinks."""
_MAX_HEADER = 64 * 1024


class Transport:
    """POSTs JSON to one URL.

    Args:
        url: Where every request goes.
        headers: Sent with every request; may hold secrets.
        connect_timeout_s: Longest wait for a connection.
        read_timeout_s: Longest silence between two pieces of a reply, its first byte included.
        redact: Cleans every message before it enters an exception.
        trust_env: Use the proxies that the environment names.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        connect_timeout_s: float,
        read_timeout_s: float,
        redact: Redactor,
        trust_env: bool = True,
    ) -> None:
        self.url = url
        self.redact = redact
        self._headers = {"User-Agent": "proverbench", "Content-Type": "application/json", **headers}
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout_s, sock_read=read_timeout_s)
        self._connect_timeout_s = connect_timeout_s
        self._read_timeout_s = read_timeout_s
        self._proxy = proxy_for(url) if trust_env else None
        self._session: aiohttp.ClientSession | None = None

    def post(self, body: bytes) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Send one request; the response's body is still to be read, inside the block.

        Raises:
            TransientError: The network failed or nothing came in time (AttemptTimeoutError once sent).
            FatalEndpointError: The URL cannot work.
        """
        return self._sent("POST", body)

    def get(self, params: Mapping[str, str] | None = None) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """The same, with parameters instead of a body."""
        return self._sent("GET", None, params)

    @asynccontextmanager
    async def _sent(
        self, method: str, body: bytes | None, params: Mapping[str, str] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            try:
                sent = await self._open().request(method, self.url, data=body, params=params, allow_redirects=False)
            except aiohttp.ClientError:
                raise
            except ValueError as exc:  # of the URL or a header; its text may hold the header's value
                raise FatalEndpointError(
                    f"the request cannot be made ({type(exc).__name__}); check base_url and extra_headers_env",
                    kind="bad_request",
                ) from None
            async with sent as response:
                yield response
        except (aiohttp.ClientError, OSError, TimeoutError) as exc:
            raise self._mapped(exc) from None  # the cause's text may hold the URL's or header's secrets

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            # limits.py decides how many calls are in flight; a second limit here could only hide waiting.
            connector = aiohttp.TCPConnector(
                limit=0, keepalive_timeout=30, socket_factory=_keepalive_socket, ssl=trust(self.url)
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers=self._headers,
                timeout=self._timeout,
                proxy=self._proxy,
                cookie_jar=aiohttp.DummyCookieJar(),
                max_line_size=_MAX_HEADER,
                max_field_size=_MAX_HEADER,
            )
        return self._session

    def _mapped(self, exc: Exception) -> EndpointError:
        said = one_line(self.redact(str(exc)))[:300] or type(exc).__name__
        if isinstance(exc, aiohttp.ConnectionTimeoutError):
            said = f"no connection within {self._connect_timeout_s:g} s; check base_url"
            return ConnectError(said, kind="connect_timeout")
        if isinstance(exc, TimeoutError):
            return AttemptTimeoutError(f"nothing came for {self._read_timeout_s:g} s", kind="read_timeout")
        if isinstance(exc, aiohttp.ClientConnectorCertificateError):
            said = f"the certificate of {exc.host} is not trusted; {untrusted_remedy()}"
            return ConnectError(said, kind="certificate")
        if isinstance(exc, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
            return ConnectError(f"the proxy of the environment does not work: {said}", kind="proxy")
        if isinstance(exc, aiohttp.ClientConnectorError):
            cause = exc.os_error
            known = cause.errno if not isinstance(cause, socket.gaierror) else None
            why = os.strerror(known) if known else cause.strerror or type(cause).__name__
            remedy = "check base_url, and that the server is running"
            return ConnectError(f"no connection to {exc.host}:{exc.port}: {why}; {remedy}", kind="connect")
        if isinstance(exc, aiohttp.InvalidURL):
            return FatalEndpointError("the URL cannot be used; check base_url", kind="bad_url")
        return TransientError(f"the connection broke: {said}", kind="network")


def _keepalive_socket(address: Any) -> socket.socket:
    family, kind, proto, _, _ = address
    sock = socket.socket(family=family, type=kind, proto=proto)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # macOS calls the idle time TCP_KEEPALIVE.
    idle = getattr(socket, "TCP_KEEPIDLE", None) or getattr(socket, "TCP_KEEPALIVE", None)
    if idle is not None:
        sock.setsockopt(socket.IPPROTO_TCP, idle, _KEEPALIVE_S)
    if hasattr(socket, "TCP_KEEPINTVL"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_S)
    return sock
