"""What a provider's error means: one table, in code here and in words in docs/endpoints.md (a test compares them).

Pure: a status, headers' hint and a body go in; an :class:`EndpointError`, or the reason of a refusal, comes out.
"""

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from proverbench.endpoints.error_facts import ErrorFacts, status_of
from proverbench.errors import (
    CallFailedError,
    EndpointError,
    FatalEndpointError,
    RateLimitedError,
    TransientError,
)
from proverbench.redact import one_line

Outcome = Literal["refused", "fatal", "rate_limit", "transient", "failed"]
"""``refused``: answered, invalid. ``fatal``: stops the run. ``rate_limit`` and ``transient``: retried.
``failed``: this call is unanswered, or, while its endpoint has answered nothing, the run stops."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table: the first that applies decides."""

    name: str
    outcome: Outcome
    statuses: tuple[int | range, ...]
    words: str = ""
    """Case-insensitive regular expression, searched in type, code and message; empty: any."""
    why: str = ""
    """Of a refusal: its reason."""
    remedy: str = ""

    def applies(self, status: int, facts: ErrorFacts) -> bool:
        """Whether this row speaks of such an error."""
        here = any(status in s if isinstance(s, range) else status == s for s in self.statuses)
        return here and (not self.words or re.search(self.words, facts.words, re.IGNORECASE) is not None)


_PARAMETER = (
    r"(?:unsupported|unknown|invalid)_(?:parameter|value)|extra_forbidden|extra inputs|unrecognized request argument"
)
_CONTEXT_LENGTH = (
    r"context_length_exceeded|exceed_context_size|string_above_max_length|context_window_exceeded|request_too_large"
    r"|model token limit|token length too long|context (?:the )?overflows|n_keep[^.\n]{0,30}n_ctx"
    r"|context length of only"
    r"|maximum context length|(?:exceed|larger than|longer than)[^.]{0,60}context (?:length|window|size|limit)"
    r"|context (?:length|window|size)[^.]{0,40}exceed|(?:prompt|input)[^.]{0,40}too long"
    r"|longer than the (?:maximum )?model|max_model_len|token count[^.]{0,40}exceeds the maximum"
    r"|tokens \+ .max_new_tokens. must be|reduce the length of the (?:messages|input|prompt)"
)
_CONTENT_POLICY = (
    r"content_policy|content_filter|responsibleaipolicy|\ninvalid_prompt\n|data_inspection_failed|content filter"
    r"|content (?:management|filtering) policy|flagged (?:as|by|for)|(?:input|prompt|request|content)[^.]{0,40} flagged"
    r"|violat\w+[^.]{0,60}polic|safety (?:system|filter|reasons)|content exists risk|considered high risk"
    r"|\n1301\n|contentfilter|sensitive_words_detected|prompt_blocked|moderation_reasons"
)
_NO_CREDIT = (
    r"insufficient_(?:user_)?quota|billing|insufficient[_ ](?:\w+ )?(?:balance|credit|fund)|credit balance"
    r"|exceeded_current_quota|exceeded your current (?:token )?quota|pre_consume_token_quota_failed|arrearage"
    r"|(?:account|your|token) balance|not in good standing|\n1113\n"
    r"|payment (?:is )?(?:required|overdue)|out of credits?|no (?:more )?credits?\b|more credits|spend(?:ing)? limit"
    r"|credits? (?:are |is |have been |has been )?(?:exhausted|depleted|used up|expired)|unpaid|top[ -]up your"
    r"|(?:monthly|project|account|spend(?:ing)?) budget|budget has been exceeded|余额不足|欠费|充值"
)
_PER_MINUTE = (
    r"resource_exhausted|(?:retry|try again) (?:in|after) \d|per (?:minute|second)|too_many_requests_error"
    r"|request_quota_exceeded|allocated quota|aliyun|alibabacloud|model-studio"
)
_TOO_LARGE = r"request too large[^\n]*(?:tokens per min|\bTPM\b)"
_DASHSCOPE = re.compile(r"aliyun|alibabacloud|model-studio|dashscope", re.IGNORECASE)
"""Its hosts; it says "quota" of its tokens per minute."""
_CACHE_MARK = r"cache_control[^\n]*(?:extra inputs|not permitted|unknown|unsupported|not support|unexpected)"
_NO_MODEL = (
    r"model_not_found|model_not_exist|unknown[_ ]model|invalid[_ ]model|not a valid model|no such model"
    r"|model[^.\n]{0,120}(?:does not exist|not found|is not available|not supported|do(?:es)? not have access)"
    r"|not_found_error\n[^\n]*\nmodel:"
)
_ADD_CREDIT = "add credit at the provider, then resume"

RULES: tuple[Rule, ...] = (
    Rule("cache mark", "failed", (400, 422), _CACHE_MARK, remedy="this server takes no marks for its prompt cache"),
    Rule("bad parameter", "failed", (400, 422), _PARAMETER),
    Rule(
        "too large a request",
        "failed",
        (413, 429),
        _TOO_LARGE,
        remedy="no wait helps: one request asks for more than the minute's tokens; lower max_tokens or raise the limit",
    ),
    # Google, DashScope and Cerebras say "quota" of limits per minute, some also when to come back.
    Rule("rate limit", "rate_limit", (429,), _PER_MINUTE),
    Rule("no credit", "fatal", (402,), remedy=_ADD_CREDIT),
    Rule("no credit", "fatal", (400, 403, 429), _NO_CREDIT, remedy=_ADD_CREDIT),
    Rule("content policy", "refused", (400, 403, 422, 451), _CONTENT_POLICY, why="content_policy"),
    Rule("context length", "refused", (400, 413, 422), _CONTEXT_LENGTH, why="context_length"),
    Rule("wrong key", "fatal", (401,), remedy="check the key in the variable that api_key_env names"),
    Rule(
        "no permission",
        "fatal",
        (403,),
        r"api[_ -]?key|permission|authenti|not allowed|access|unsupported_country|region",
        remedy="check the key and what it may use",
    ),
    Rule("unknown model", "fatal", (400, 404, 422), _NO_MODEL, remedy="check the role's model"),
    Rule("rate limit", "rate_limit", (429, 529)),
    Rule("overload", "rate_limit", (range(500, 600),), r"overloaded|rate[_ ]limit|too many requests|at capacity"),
    Rule("transient", "transient", (408, 409, 425, range(500, 600))),
    Rule("any other status", "failed", (range(100, 600),)),
)

_STATUS_OF_WORD: tuple[tuple[str, int], ...] = (
    (r"insufficient_quota|billing_error", 402),
    (r"rate_limit", 429),
    (r"overloaded", 529),
    (r"authentication|invalid_api_key|unauthorized", 401),
    (r"permission", 403),
    (r"not_found", 404),
    (r"request_too_large", 413),
    (r"invalid_request|bad_?request|context_length_exceeded|content_policy|content_filter|exceed_context_size", 400),
    (r"timeout", 504),
)
"""For an error that comes without a status of its own: in a 200's body, or in mid-stream."""

_UNAUTHORISED = re.compile(r"\W*(?:401\b|unauthori[sz]ed\W*$|invalid api key|incorrect api key)", re.IGNORECASE)
"""The whole of what some gateways say."""

_NAMES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^([a-z_][\w.]*): extra inputs",
        r'"loc": \[[^\]]*"([\w.]+)"\]',
        r"['`\"]([a-z][a-z0-9_.]{1,60})['`\"]",
        r"(?:argument|parameter|field)s?(?: supplied)?:? ([a-z_][\w.]*)",
    )
)
"""Where servers put the name of a parameter that they do not take."""
_PARAMETER_WORDS = re.compile(
    r"unsupported|unknown|unrecognized|unexpected|not support|not permitted|extra inputs|extra_forbidden", re.IGNORECASE
)


def effective_status(facts: ErrorFacts) -> int:
    """The status that an error means when HTTP said 200: its numeric code, else what its type or code names."""
    stated = facts.status or status_of(facts.code) or status_of(facts.type)
    if stated:
        return stated
    for pattern, status in _STATUS_OF_WORD:
        if re.search(pattern, f"{facts.type}\n{facts.code}", re.IGNORECASE):
            return status
    if re.search(_CONTEXT_LENGTH, facts.words, re.IGNORECASE):  # TGI and LM Studio send no code with these words
        return 400
    return 401 if _UNAUTHORISED.match(facts.message) else 500


def classify(status: int, facts: ErrorFacts, *, output_limit: int | None = None, host: str = "") -> Rule:
    """The row of the table that applies.

    Args:
        status: The HTTP status, or :func:`effective_status`.
        facts: What the body says.
        output_limit: The request's own limit on output tokens. A context smaller than that is the config's fault and
            would refuse every call, so it is not taken for a refusal of this one.
        host: Where the request went; one provider says "no quota" of its limits per minute.
    """
    if _DASHSCOPE.search(host):
        facts = replace(facts, marks=f"{facts.marks}\naliyun")
    for rule in RULES:
        if rule.applies(status, facts) and not (rule.why == "context_length" and facts.room(output_limit).limit_alone):
            return rule
    return RULES[-1]


MAX_HINT_S = 300.0
"""Hints to wait beyond this are cut to it: a provider that says "come back tomorrow" is asked sooner."""


def error_of(rule: Rule, status: int, message: str, *, asked_s: float | None = None) -> EndpointError:
    """The exception of a row that is no refusal.

    Args:
        rule: The row.
        status: The HTTP status.
        message: For people.
        asked_s: How long the provider asks to wait, in seconds; None when it does not say.
    """
    kind = f"http_{status}"
    hint_s = None if asked_s is None else min(asked_s, MAX_HINT_S)
    long_s = asked_s if asked_s is not None and asked_s > MAX_HINT_S else None
    if rule.outcome == "fatal":
        return FatalEndpointError(message, kind=kind, status=status)
    if rule.outcome == "rate_limit":
        return RateLimitedError(message, kind=kind, status=status, retry_after_s=hint_s, asked_s=long_s)
    if rule.outcome == "transient":
        return TransientError(message, kind=kind, status=status, retry_after_s=hint_s, asked_s=long_s)
    return CallFailedError(message, kind=kind, status=status)


def describe(rule: Rule, status: int, facts: ErrorFacts, *, base_url: str, generation: Collection[str] = ()) -> str:
    """One line for people: what came, and what to do.

    Args:
        rule: The row that applies.
        status: The HTTP status, or :func:`effective_status`.
        facts: What the body says.
        base_url: Of the endpoint.
        generation: Names of the parameters that the role's config sets.
    """
    said = facts.message.strip() or "an empty body"
    code = facts.code or facts.type
    text = f"HTTP {status}{f' {code}' if code and code != str(status) else ''}: {said}"
    remedies = [rule.remedy] if rule.remedy else []
    if status in (404, 405) and rule.name != "unknown model":
        remedies.append(_url_remedy(base_url))
    if 300 <= status < 400:
        remedies.append("the server redirects; set base_url to where it points")
    remedies += _parameter_remedies(rule, status, facts, generation)
    afford = re.search(r"can only afford (\d[\d,]*)", facts.message)
    if rule.name == "no credit" and afford:
        remedies.append(f"or lower max_tokens to {afford[1]} at most")
    return one_line("; ".join([text, *remedies]))


def _parameter_remedies(rule: Rule, status: int, facts: ErrorFacts, generation: Collection[str]) -> list[str]:
    if status not in (400, 422) or rule.outcome != "failed" or rule.name == "cache mark":
        return []
    said = facts.message
    if re.search(r"enable_thinking[^\n]*stream", said):
        return ["set stream = true for this endpoint"]
    parameter = unknown_parameter(facts)
    most = re.search(r"(?:at most|a value <=|less than or equal to|maximum (?:value )?(?:of|is)) (\d[\d,]*)", said)
    if parameter and parameter.startswith("stream"):
        return ["set stream = false for this endpoint"]
    if most and re.search(r"max_\w*tokens", f"{parameter} {said}"):
        return [f"lower {parameter or 'max_tokens'} in the role's generation table to {most[1]} at most"]
    if not parameter:
        return []
    renamed = [name for name in ("max_completion_tokens", "max_tokens") if parameter != name]
    other = next((name for name in renamed if "tokens" in parameter and re.search(rf"\b{name}\b", said)), None)
    meant = other or near_parameter(parameter)
    hint = f" to {meant!r}" if other else f"; did you mean {meant!r}?" if meant and parameter in generation else ""
    return [f"the server does not accept {parameter!r}; change it in the role's generation table{hint}"]


PARAMETERS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
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
    "enable_thinking",
    "seed",
    "stop",
    "logit_bias",
    "logprobs",
    "response_format",
    "verbosity",
    "extra_body",
    "service_tier",
    "chat_template_kwargs",
)
"""Request parameters that people use; only to guess what another name was meant to be."""


def near_parameter(name: str) -> str | None:
    """The known request parameter that a name is most likely a misspelling of; None when it is known, or near none."""
    if name in PARAMETERS:
        return None
    return next(iter(difflib.get_close_matches(name.lower(), PARAMETERS, n=1, cutoff=0.8)), None)


def unknown_parameter(facts: ErrorFacts) -> str | None:
    """The name of the request parameter that the server complains about, if it names one."""
    if facts.param and facts.param not in ("messages", "prompt", "None"):
        return facts.param
    if not _PARAMETER_WORDS.search(facts.words):
        return None
    found = next(filter(None, (pattern.search(facts.message) for pattern in _NAMES)), None)
    return found.group(1) if found else None


def _url_remedy(base_url: str) -> str:
    path, _, query = base_url.partition("?")
    path = path.rstrip("/")
    if "/openai/deployments/" in path and not query:
        return f'Azure wants its version behind the address: base_url = "{path}?api-version=DATE"'
    if query:
        return f"nothing answers at {path}; check base_url, its api-version and model"
    if re.search(r"/v\d+\w*$", path):
        return f"nothing answers at {path}; check base_url and model"
    return f'nothing answers at {path}; try base_url = "{path}/v1"'
