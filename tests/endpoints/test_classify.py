import json
import re
from pathlib import Path

import pytest

from proverbench.endpoints.classify import RULES, classify, describe, effective_status, unknown_parameter
from proverbench.endpoints.error_facts import ErrorFacts, error_facts, read_error
from proverbench.endpoints.kinds.registry import KINDS

DOCS = Path(__file__).parents[2] / "docs" / "endpoints.md"


def _rows(header):
    lines = DOCS.read_text().splitlines()
    at = lines.index(header) + 2
    rows = []
    while lines[at].startswith("|"):
        rows.append([cell.strip() for cell in lines[at].strip("|").split("|")])
        at += 1
    return rows


def _statuses(rule):
    return ", ".join(f"{s.start}-{s.stop - 1}" if isinstance(s, range) else str(s) for s in rule.statuses)


def test_the_documented_table_is_the_one_in_code():
    documented = [row[:3] for row in _rows("| row | outcome | statuses | recognised by |")]
    assert documented == [[rule.name, rule.outcome, _statuses(rule)] for rule in RULES]


def test_the_documented_finish_reasons_are_the_parsers():
    documented = {row[0].strip("`"): set(re.findall(r"`(\w+)`", row[1])) for row in _rows("| kind | normal stop |")}
    assert documented == {kind.name: set(kind.normal_stops) for kind in KINDS if kind.normal_stops}


def test_every_status_has_a_row():
    assert all(classify(status, ErrorFacts("")) in RULES for status in range(100, 600))


def _openai(message, kind=None, code=None, param=None):
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}


def _anthropic(kind, message):
    return {"type": "error", "error": {"type": kind, "message": message}}


INPUT_TOO_LONG = "The input (5000 tokens) is longer than the model's context length (4096 tokens)."


@pytest.mark.parametrize(
    ("status", "body", "row"),
    [
        # Refused for its length, in the words of many servers.
        (400, _openai("x", code="context_length_exceeded"), "context length"),
        (
            400,
            _openai("This model's maximum context length is 4096 tokens. However, you requested 5000"),
            "context length",
        ),
        (400, {"object": "error", "message": INPUT_TOO_LONG, "code": 400}, "context length"),
        (400, {"error": {"code": 400, "message": "x", "type": "exceed_context_size_error"}}, "context length"),
        (
            400,
            [_openai("The input token count (9) exceeds the maximum number of tokens allowed (8).")],
            "context length",
        ),
        (422, {"error": "`inputs` tokens + `max_new_tokens` must be <= 4096", "error_type": "v"}, "context length"),
        (
            400,
            _anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
            "context length",
        ),
        (413, _anthropic("request_too_large", "Request exceeds the maximum size"), "context length"),
        (413, b"<html><title>413 Request Entity Too Large</title></html>", "any other status"),
        # Refused for its content.
        (400, _openai("x", code="content_policy_violation"), "content policy"),
        (400, _openai("x", code="content_filter"), "content policy"),
        (400, _openai("Invalid prompt: we've limited access", code="invalid_prompt"), "content policy"),
        (400, _openai("The prompt was flagged as potentially violating our usage policy."), "content policy"),
        (403, _openai("This model requires moderation and your input was flagged", code=403), "content policy"),
        (400, _anthropic("invalid_request_error", "Output blocked by content filtering policy"), "content policy"),
        (400, _openai("Unsupported parameter: 'moderation'", code="unsupported_parameter"), "bad parameter"),
        # The whole run's.
        (401, _openai("Incorrect API key provided", code="invalid_api_key"), "wrong key"),
        (401, b"", "wrong key"),
        (402, _openai("Insufficient Balance"), "no credit"),
        (429, _openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota"), "no credit"),
        (403, _openai("billing hard limit reached", code="billing_hard_limit_reached"), "no credit"),
        (400, _anthropic("invalid_request_error", "Your credit balance is too low to access the API"), "no credit"),
        (403, _anthropic("permission_error", "Your API key does not have permission"), "no permission"),
        (429, _openai("Credits exhausted"), "no credit"),
        (403, _openai("Your prepaid credits are depleted"), "no credit"),
        (403, _openai("account suspended due to unpaid invoices"), "no credit"),
        (400, _openai("Budget has been exceeded! Current cost: 5.02, Max budget: 5.0"), "no credit"),
        (429, _openai("您的余额不足"), "no credit"),
        (400, _openai("thinking budget must be below max_tokens"), "any other status"),
        (403, b"<!doctype html><title>Access denied</title>", "any other status"),
        (404, _openai("The model `x` does not exist or you do not have access to it."), "unknown model"),
        (404, _openai("x", code="model_not_found"), "unknown model"),
        (404, _anthropic("not_found_error", "model: claude-nope"), "unknown model"),
        (400, _openai("nope/nope is not a valid model ID"), "unknown model"),
        (404, {"detail": "Not Found"}, "any other status"),
        (404, b"404 page not found", "any other status"),
        # Load.
        (429, _openai("Rate limit reached. Please try again in 1.2s.", "tokens", "rate_limit_exceeded"), "rate limit"),
        (
            429,
            [{"error": {"code": 429, "message": "You exceeded your current quota", "status": "RESOURCE_EXHAUSTED"}}],
            "rate limit",
        ),
        (429, b"<html>Too many requests</html>", "rate limit"),
        (529, _anthropic("overloaded_error", "Overloaded"), "rate limit"),
        (503, _openai("The server is overloaded"), "overload"),
        (503, b"upstream connect error", "transient"),
        (500, _anthropic("api_error", "Internal server error"), "transient"),
        (408, b"", "transient"),
        # The call's own, or the config's.
        (
            400,
            _openai("Unsupported value: 'temperature' does not support 0.2", code="unsupported_value"),
            "bad parameter",
        ),
        (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "x"], "msg": "no"}]}, "bad parameter"),
        (400, _openai("messages must alternate"), "any other status"),
        (418, b"", "any other status"),
        (308, b"", "any other status"),
    ],
)
def test_row(status, body, row):
    facts = read_error(body if isinstance(body, bytes) else json.dumps(body).encode())
    assert classify(status, facts).name == row


@pytest.mark.parametrize(
    ("message", "limit", "row"),
    [
        pytest.param(
            "'max_tokens' is too large: 8000. This model's maximum context length is 4096 tokens and your request 9",
            8000,
            "any other status",
            id="limit-alone-is-too-much",
        ),
        pytest.param(
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the "
            "messages, 500 in the completion).",
            500,
            "context length",
            id="together-too-much",
        ),
        pytest.param(
            "maximum context length is 4096 tokens, your prompt has 5000", 8000, "context length", id="prompt"
        ),
    ],
)
def test_a_context_smaller_than_the_output_limit_is_the_configs_fault(message, limit, row):
    assert classify(400, ErrorFacts(message), output_limit=limit).name == row


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 502, "message": "x"}, 502),
        ({"code": "401", "message": "x"}, 401),
        ({"code": 200, "message": "x"}, 500),
        ({"code": 99999, "message": "x"}, 500),
        ({"type": "overloaded_error", "message": "x"}, 529),
        ({"type": "rate_limit_error", "message": "x"}, 429),
        ({"type": "api_error", "message": "x"}, 500),
        ({"type": "authentication_error", "message": "x"}, 401),
        ({"type": "insufficient_quota", "message": "x"}, 402),
        ({"code": "context_length_exceeded", "message": "x"}, 400),
        ({"message": "rate_limit in words alone says little"}, 500),
    ],
)
def test_status_of_an_error_in_a_200(error, status):
    assert effective_status(error_facts({"error": error})) == status


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (
            _openai("Unsupported parameter: 'max_tokens' is not supported with this model.", param="max_tokens"),
            "max_tokens",
        ),
        (_openai("Unsupported parameter: 'max_tokens' is not supported"), "max_tokens"),
        (_openai("Unrecognized request argument supplied: top_k"), "top_k"),
        (_anthropic("invalid_request_error", "seed: Extra inputs are not permitted"), "seed"),
        ({"detail": [{"type": "extra_forbidden", "loc": ["body", "top_x"], "msg": "no"}]}, "top_x"),
        (_openai("Unsupported value for this model"), None),
        (_openai("messages must alternate"), None),
        (_openai("x", param="messages"), None),
    ],
)
def test_the_parameter_that_is_complained_of(body, name):
    assert unknown_parameter(error_facts(body)) == name


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "nothing"),
        (b"  plain\n text ", "plain text"),
        (b'{"error": "said plainly"}', "said plainly"),
        (b'{"detail": [{"loc": ["x"]}]}', '[{"loc": ["x"]}]'),
        (b'{"message": "vllm", "object": "error"}', "vllm"),
        (b'{"error": {"message": "outer", "metadata": {"raw": "inner"}}}', "outer: inner"),
        (b'"text"', "text"),
        (b"7", "7"),
        (b"{}", "{}"),
        (b"[" * 100_000, "[" * 500),
        (b"<HTML><TITLE> Login </TITLE>", "an HTML page titled 'Login'"),
    ],
)
def test_any_body_is_read(body, message):
    assert read_error(body).message == message


@pytest.mark.parametrize(
    ("url", "remedy"),
    [
        ("http://h:1", 'try base_url = "http://h:1/v1"'),
        ("http://h:1/v1", "nothing answers at http://h:1/v1; check base_url and model"),
        ("http://h/v1beta/openai", 'try base_url = "http://h/v1beta/openai/v1"'),
    ],
)
def test_404_proposes_what_to_try(url, remedy):
    facts = ErrorFacts("Not Found")
    assert remedy in describe(classify(404, facts), 404, facts, base_url=url)


def test_what_the_config_does_not_hold_is_not_blamed_on_it():
    facts = ErrorFacts("Unknown parameter: 'stream_options'", code="unknown_parameter", param="stream_options")
    assert "set stream = false" in describe(classify(400, facts), 400, facts, base_url="http://h/v1")
