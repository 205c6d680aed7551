"""A local server that speaks the protocol of the Hugging Face hub."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def a_hub(
    repository: str, revision: str, files: dict[str, bytes], *, elsewhere: str | None = None
) -> Iterator[tuple[str, list[Any]]]:
    """A server that speaks as much of the hub as its library asks for.

    Args:
        repository: The one that it has.
        revision: Likewise.
        files: Path → content; also served as they are, below ``/``.
        elsewhere: An address to whose host it redirects for the files themselves, as the hub does for large ones.

    Yields:
        Its address, and (method, path, Authorization) of what was asked.
    """
    seen: list[Any] = []
    commit = revision if len(revision) == 40 else "c" * 40
    resolve = f"/datasets/{repository}/resolve/{revision}/"
    tree = f"/api/datasets/{repository}/tree/{revision}"

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            path = self.path.partition("?")[0]
            seen.append((self.command, path, self.headers.get("Authorization")))
            name = path.removeprefix(resolve)
            if path == tree:
                listed = [{"type": "file", "path": n, "size": len(b), "oid": "0" * 40} for n, b in files.items()]
                self._send(200, json.dumps(listed).encode(), {"Content-Type": "application/json"})
            elif path.startswith(resolve) and name in files:
                etag = hashlib.sha256(files[name]).hexdigest()
                if elsewhere is None:
                    self._send(200, files[name], {"X-Repo-Commit": commit, "ETag": f'"{etag}"'})
                else:
                    linked = {"X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(len(files[name]))}
                    self._send(302, b"", {"X-Repo-Commit": commit, "Location": f"{elsewhere}/{name}", **linked})
            elif path.removeprefix("/") in files:
                self._send(200, files[path.removeprefix("/")], {})
            else:
                self._send(404, b"no", {})

        def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = _answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
