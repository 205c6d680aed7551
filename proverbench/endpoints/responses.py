"""The Responses API: kind ``openai`` with ``api = "responses"``."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from proverbench.endpoints.base import Reply, Request
from proverbench.endpoints.body import decode
from proverbench.endpoints.error_facts import ErrorFacts, error_facts, is_error
from proverbench.endpoints.http import Heard, Wire, cut, text_or_none
from proverbench.endpoints.kinds.kind import Opening
from proverbench.endpoints.openai import OpenAIEndpoint, refusal_in, split_content
from proverbench.endpoints.sse import Event
from proverbench.errors import CallFailedError

_ENDINGS = {"max_output_tokens": "length"}
"""Reasons of an incomplete response, in the words of chat completions; others stay as they are."""

_UNFINISHED = ("queued", "in_progress")
_LAST = (".completed", ".incomplete", ".failed")


class _Response(msgspec.Struct):
    status: Any = None
    output: list[Any] | None = None
    error: Any = None
    incomplete_details: Any = None
    usage: Any = None
    model: Any = None
    id: Any = None


class _Progress(msgspec.Struct):
    type: str = ""
    response: _Response | None = None
    error: Any = None
    message: Any = None
    code: Any = None


class ResponsesEndpoint(OpenAIEndpoint):
    """One attempt at a time of a response; see :class:`HttpEndpoint` for the arguments.

    The status stands for the finish reason: ``completed`` is stored as ``stop``, an incomplete response as its reason
    (``max_output_tokens`` as ``length``), so that one table of finish reasons serves the kind.
    """

    path = "/responses"

    def body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        """The request body of a response."""
        wire = self.roles[request.role]
        body = {**wire.parameters, "input": request.prompt}
        seed = self.seed(request, wire)
        if seed is not None:
            body["seed"] = seed
        if stream:
            body["stream"] = True
        return body

    def read_reply(self, raw: bytes, wire: Wire) -> Reply:
        """The text of a response."""
        try:
            response = decode(raw, _Response)
        except ValueError:
            response = _Response()
        if is_error(response.error):
            return self._refused(response.error, wire, raw)
        if response.output is None or not isinstance(response.status, str):
            refused = self.refused_inside(raw, wire)
            if refused is not None:
                return refused
            raise self.bad_reply(raw, "a 200 without status and output")
        return self._reply(response)

    async def read_stream(self, events: AsyncIterator[Event], wire: Wire, heard: Heard) -> Reply:
        """A response from the last event of its stream, which holds it whole."""
        async for event in events:
            if event.name.startswith("response.") and not event.name.endswith(_LAST):
                heard.began = True
                continue  # the many small pieces, which the last event holds again
            progress = self._progress(event)
            if progress.type == "error":
                facts = error_facts({"error": progress.error or {"message": progress.message, "code": progress.code}})
                return self.refused_or_raise(200, facts or ErrorFacts(message="an error event"), wire)
            response = progress.response
            if response is not None and progress.type.endswith(_LAST) and progress.type.count(".") == 1:
                if is_error(response.error):
                    return self._refused(response.error, wire)
                return self._reply(response)
        raise cut()

    def _progress(self, event: Event) -> _Progress:
        try:
            return decode(event.data, _Progress)
        except ValueError:
            raise self.bad_reply(event.data, "an event of a stream that is none of the Responses API") from None

    def _reply(self, response: _Response) -> Reply:
        if response.status in ("failed", "cancelled"):
            raise self.broken_off(response.status, response.usage if isinstance(response.usage, dict) else None)
        if response.status in _UNFINISHED:
            raise CallFailedError(
                f"the response is {response.status}, not finished, and is not waited for; take background out of the "
                "role's generation",
                kind="not_finished",
                status=200,
            )
        text: list[str] = []
        refusal: list[str] = []
        reasoning: list[str] = []
        for item in response.output or ():
            if not isinstance(item, dict):
                continue
            if item.get("type") == "message":
                text.append(split_content(item.get("content"))[0] or "")
                refusal.append(refusal_in(item.get("content")))
            elif item.get("type") == "reasoning":
                reasoning += _thoughts(item)
        answer, refused_as = "".join(text), "".join(refusal)
        refused = bool(refused_as) and not answer.strip()
        return Reply(
            text=refused_as if refused else answer,
            finish_reason=_finish_reason(response),
            refused="content_policy" if refused else None,
            reasoning="\n\n".join(reasoning) or None,
            usage=response.usage if isinstance(response.usage, dict) else None,
            model=text_or_none(response.model),
            response_id=text_or_none(response.id),
        )


def _finish_reason(response: _Response) -> str | None:
    if response.status == "completed":
        return "stop"
    details = response.incomplete_details
    reason = details.get("reason") if isinstance(details, dict) else None
    return _ENDINGS.get(str(reason), str(reason)) if reason is not None else str(response.status)


def _thoughts(item: dict[str, Any]) -> list[str]:
    lists = [part for part in (item.get("summary"), item.get("content")) if isinstance(part, list)]
    parts = [part for parts in lists for part in parts if isinstance(part, dict)]
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]


async def open_openai(opening: Opening) -> OpenAIEndpoint:
    """Open an endpoint of kind ``openai``, by whichever of its two APIs the config names."""
    made = ResponsesEndpoint if opening.config.api == "responses" else OpenAIEndpoint
    return made(opening.config, opening.roles, access=opening.access, on_quota=opening.on_quota)
