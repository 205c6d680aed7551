"""What is asked of the rehearsal but completions: models, files and batches."""

import email
import json
from dataclasses import dataclass
from email.message import Message
from typing import Any

from aiohttp import web

from proverbench.rehearse.batches import PlayedBatches
from proverbench.rehearse.plays import error_body
from proverbench.rehearse.profile import Profile
from proverbench.rehearse.wire import as_json


@dataclass(frozen=True)
class Others:
    """Answers requests for models, files and batches.

    Args:
        desk: The files and batches that there are.
        profile: Of this moment.
        origin: ``http://HOST:PORT``.
    """

    desk: PlayedBatches
    profile: Profile
    origin: str

    def answer(self, http: web.Request, body: bytes) -> tuple[int, bytes]:
        """Models, files and batches: status and body."""
        parts = http.path.strip("/").split("/")
        try:
            return 200, self._route(http, parts, body)
        except KeyError as exc:
            return 404, as_json(error_body(404, f"there is no {exc.args[0]!r}"))
        except LookupError as exc:
            return 404, as_json(error_body(404, str(exc)))
        except (ValueError, TypeError) as exc:
            return 400, as_json(error_body(400, str(exc)))

    def _route(self, http: web.Request, parts: list[str], body: bytes) -> bytes:
        desk, batch = self.desk, self.profile.batch
        anthropic = parts[:3] == ["v1", "messages", "batches"]
        rest = parts[3:] if anthropic else parts[2:]
        after, limit = http.query.get("after_id" if anthropic else "after"), int(http.query.get("limit", 20))
        match http.method, parts[:3] if anthropic else parts[:2], rest:
            case "GET", ["v1", "models"], []:
                names = sorted(self.profile.models or {"rehearse"})
                return as_json({"object": "list", "data": [_model(name) for name in names], "has_more": False})
            case "POST", ["v1", "files"], []:
                return as_json(desk.add_file(*_uploaded(http.headers["Content-Type"], body)))
            case "GET", ["v1", "files"], [file_id]:
                return as_json(desk.file(file_id))
            case "GET", ["v1", "files"], [file_id, "content"]:
                return desk.file_content(file_id)
            case "DELETE", ["v1", "files"], [file_id]:
                return as_json(desk.delete_file(file_id))
            case "POST", ["v1", "batches"], []:
                return as_json(desk.create_openai(json.loads(body), batch))
            case "POST", ["v1", "messages", "batches"], []:
                return as_json(desk.create_anthropic(json.loads(body), batch))
            case "GET", ["v1", "batches"] | ["v1", "messages", "batches"], []:
                return as_json(desk.listing(anthropic=anthropic, after=after, limit=limit))
            case "GET", ["v1", "batches"] | ["v1", "messages", "batches"], [batch_id]:
                return as_json(self._with_url(desk.show(batch_id)))
            case "POST", ["v1", "batches"] | ["v1", "messages", "batches"], [batch_id, "cancel"]:
                return as_json(self._with_url(desk.cancel(batch_id)))
            case "GET", ["v1", "messages", "batches"], [batch_id, "results"]:
                return desk.results(batch_id)
        raise LookupError(f"there is no {http.method} {http.path} here")

    def _with_url(self, batch: dict[str, Any]) -> dict[str, Any]:
        if batch.get("results_url"):
            batch["results_url"] = self.origin + batch["results_url"]
        return batch


def _model(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "type": "model",
        "created": 0,
        "created_at": "1970-01-01T00:00:00Z",
        "display_name": name,
        "owned_by": "rehearse",
    }


def _uploaded(content_type: str, body: bytes) -> tuple[str, bytes, str]:
    """A file sent as a form: name, bytes and purpose."""
    form = email.message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    parts = form.get_payload() if form.is_multipart() else []
    fields = {part.get_param("name", header="content-disposition"): part for part in parts if isinstance(part, Message)}
    if "file" not in fields:
        raise ValueError("file: field required")
    file, purpose = fields["file"], fields.get("purpose")
    return file.get_filename() or "upload", _content(file), "batch" if purpose is None else _content(purpose).decode()


def _content(part: Message) -> bytes:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""
