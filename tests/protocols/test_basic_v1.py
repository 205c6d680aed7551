import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proverbench.errors import InvalidReply
from proverbench.protocols.basic_v1 import (
    REASONS,
    check_finish,
    final_text,
    parse_level,
    parse_steps,
    parse_verdict,
    read_steps,
)
from proverbench.protocols.fields import decode_field, error_items
from proverbench.records import LEVEL_SCORES, Verdict
from tests.support import grows_too_fast

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "vectors" / "parser.json").read_text("utf-8"))
PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "published-run"
HARMONY = "<|end|><|start|>assistant<|channel|>final<|message|>"


def outcome(parse: Callable[[], Any]) -> Any:
    """The value, or ``!reason``."""
    try:
        return parse()
    except InvalidReply as exc:
        reason = exc.reason
    assert reason in REASONS
    return f"!{reason}"


def verdict(assessment: str = "ok", errors: str = "", index: str = "-1") -> str:
    return f"<assessment>{assessment}</assessment><errors>{errors}</errors><first_error_step>{index}</first_error_step>"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_vectors(vector: dict[str, Any]) -> None:
    text = vector["text"]
    if "expected" in vector:
        got = outcome(lambda: parse_verdict(text, vector["num_steps"]))
        valid = isinstance(got, Verdict)
        assert {"valid": valid, "first_error_step": got.first_error_step if valid else None} == vector["expected"]
    elif "expected_steps" in vector:
        assert read_steps(text) == vector["expected_steps"]
        got = outcome(lambda: parse_steps(text))
        assert got == vector["expected_steps"] or (not vector["expected_steps"] and got.startswith("!"))
    else:
        got = outcome(lambda: parse_level(text))
        assert (None if got.startswith("!") else got) == vector["expected_level"]


# --- Rule 1 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normal", [{"stop"}, {"end_turn", "stop_sequence"}], ids=["openai", "anthropic"])
@pytest.mark.parametrize(
    "reason",
    ["stop", "STOP", "stop ", "length", "max_tokens", "end_turn", "stop_sequence", "eos", "content_filter", "", None],
)
def test_finish_reasons(normal: set[str], reason: str | None) -> None:
    assert outcome(lambda: check_finish(reason, normal)) == (None if reason in normal else "!non_stop_finish")
    # Accepting a missing reason accepts no other.
    accepted = reason in normal or reason is None
    assert outcome(lambda: check_finish(reason, normal, True)) == (None if accepted else "!non_stop_finish")


# --- Rule 2 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(" a \x1c\n", "a", id="stripped"),
        pytest.param("<think>x</think> a", "a", id="think"),
        pytest.param("x</think>y</think>a", "a", id="last-close"),
        pytest.param("<think>x<think>y</think>z</think>a", "a", id="nested"),
        pytest.param("<think>x</think>", "", id="only-reasoning"),
        pytest.param("<think>x", "", id="unfinished"),
        pytest.param("<THINK \n>x", "", id="unfinished-upper-spaced"),
        pytest.param("x</think>a <think> b", "", id="reopened"),
        pytest.param("<think>x</THINK>a", "", id="upper-close-does-not-close"),
        pytest.param("<think>x</think >a", "", id="spaced-close-does-not-close"),
        pytest.param("x</THINK>a", "x</THINK>a", id="upper-close-alone"),
        pytest.param("<thinking>a", "<thinking>a", id="another-tag"),
        pytest.param("< think>a", "< think>a", id="space-before-name"),
        pytest.param("<thinK>a", "", id="kelvin"),
        pytest.param(f"x{HARMONY}y{HARMONY}a", "a", id="last-channel"),
        pytest.param(f"<think>x{HARMONY}a", "a", id="channel-then-think"),
        pytest.param(f"x{HARMONY}y</think>a", "a", id="channel-holds-think"),
        pytest.param(f"y</think>a{HARMONY}", "", id="empty-channel"),
        pytest.param("x<|start|>assistant<|channel|>final<|message|>a", None, id="not-the-whole-marker"),
    ],
)
def test_final_text(text: str, expected: str | None) -> None:
    assert final_text(text) == (text if expected is None else expected)


@pytest.mark.parametrize("parse", [parse_steps, parse_level, lambda text: parse_verdict(text, 1)])
@pytest.mark.parametrize("text", ["", " \n\x1c\u3000", "<think>" + verdict(), verdict() + "</think>"])
def test_an_empty_final_answer_is_the_reason(parse: Callable[[str], Any], text: str) -> None:
    assert outcome(lambda: parse(text)) == "!empty_final_answer"


# --- Rule 3 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        pytest.param("<step0>a</step0>", [], id="numbered-is-none"),
        pytest.param("<step_1>a", [], id="underscore-is-none"),
        pytest.param("<step-1>a", ["a"], id="hyphen-is-a-boundary"),
        pytest.param("< step>a", [], id="space-before-name"),
        pytest.param("<step", [], id="torn-tag"),
        pytest.param("<step\n idx='1'\n>a", ["a"], id="attribute-over-lines"),
        pytest.param("<step <step>a</step>", ["a"], id="tag-swallows-tag"),
        pytest.param("<step/>a</step>", ["a"], id="self-closing-opens"),
        pytest.param(
            "before <step>a</step> between <step>b</step> after", ["a</step> between", "b</step> after"], id="x"
        ),
        pytest.param("<step>\n a\n b</step>", ["a\n b"], id="both-sides-are-stripped"),
        pytest.param("<step>a</step></STEP > \\end{step}>\\endstep>\n</step>", ["a"], id="again-and-again"),
        pytest.param("<step>a\\end { step } >", ["a"], id="spaced-latex"),
        pytest.param("<step>a\\end{step>\\end step}>", ["a"], id="half-braces"),
        pytest.param("<step>a\\end{step}", ["a\\end{step}"], id="latex-without-gt-stays"),
        pytest.param("<step>a</ step>", ["a</ step>"], id="space-in-closing-stays"),
        pytest.param("<step>a</step0>", ["a</step0>"], id="numbered-closing-stays"),
        pytest.param("<step>a</ſtep>", ["a"], id="long-s"),
        pytest.param("<ſtep>a<STEP>b", ["a", "b"], id="long-s-opens"),
        pytest.param("<step></step><step> </step><step>a</step>", ["a"], id="empty-ones-dropped"),
        pytest.param("<step>$a<b$ &lt; \\end{align}</step>", ["$a<b$ &lt; \\end{align}"], id="mathematics"),
        pytest.param("<step>\ud800\0</step>", ["\ud800\0"], id="odd-characters"),
        pytest.param("<step>ERROR: timeout</step>", ["ERROR: timeout"], id="no-sentinels"),
    ],
)
def test_steps(text: str, steps: list[str]) -> None:
    assert read_steps(text) == steps
    older = read_steps(text, strip_start=False)
    assert [step.lstrip() for step in older] == steps  # as format version 1 read them: as many, and the same ends
    assert outcome(lambda: parse_steps(text)) == (steps or "!no_proof_steps")


# --- Rule 4 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "n_steps", "expected"),
    [
        pytest.param("-1", 3, -1, id="none"),
        pytest.param(" \n2\t", 3, 2, id="stripped"),
        pytest.param("-0", 3, 0, id="minus-zero"),
        pytest.param("001", 3, 1, id="leading-zeros"),
        pytest.param("-01", 3, -1, id="minus-leading-zero"),
        pytest.param("１", 3, 1, id="full-width"),
        pytest.param("-١", 3, -1, id="arabic-indic"),
        pytest.param("1２", 13, 12, id="mixed-scripts"),
        pytest.param("0" * 4299 + "1", 3, 1, id="4300-digits"),
        pytest.param("-" + "0" * 4299 + "1", 3, -1, id="4300-digits-and-a-sign"),
        pytest.param("0" * 4301, 3, "!bad_index", id="4301-digits"),
        pytest.param("9" * 4300, 3, "!index_out_of_range", id="4300-nines"),
        pytest.param("9" * 4301, 3, "!bad_index", id="4301-nines"),
        pytest.param("3", 3, "!index_out_of_range", id="n"),
        pytest.param("-2", 3, "!index_out_of_range", id="minus-two"),
        pytest.param("-1", 0, -1, id="no-steps"),
        pytest.param("0", 0, "!index_out_of_range", id="no-steps-index"),
        *(
            pytest.param(text, 3, "!bad_index", id=repr(text))
            for text in [
                "",
                "-",
                "--1",
                "+2",
                "2.0",
                "[2]",
                "step 2",
                "-1 (none)",
                "−1",
                "- 1",
                "1 2",
                "1_0",
                "²",
                "½",
                "Ⅱ",
            ]
        ),
    ],
)
def test_index(index: str, n_steps: int, expected: int | str) -> None:
    got = outcome(lambda: parse_verdict(verdict(index=index), n_steps))
    assert (got.first_error_step if isinstance(got, Verdict) else got) == expected


def test_index_does_not_depend_on_the_interpreters_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert parse_verdict(verdict(index="0" * 4299 + "1"), 3).first_error_step == 1
        assert outcome(lambda: parse_verdict(verdict(index="9" * 4300), 3)) == "!index_out_of_range"
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("nothing", "missing:assessment", id="first-name-first"),
        pytest.param("<assessment>a</assessment>", "missing:errors", id="second"),
        pytest.param("<assessment>a</assessment><errors></errors>", "missing:first_error_step", id="third"),
        pytest.param(verdict() * 2, "duplicate:assessment", id="all-twice"),
        pytest.param(verdict() + "<errors>x</errors>", "duplicate:errors", id="errors-twice"),
        pytest.param(verdict("", index="x") + "<errors></errors>", "duplicate:errors", id="before-empty-assessment"),
        pytest.param(verdict(" \n", index="x"), "empty_assessment", id="before-bad-index"),
        pytest.param(verdict().replace("<errors></errors>", "<errors/>"), "missing:errors", id="self-closing"),
    ],
)
def test_verdict_reasons(text: str, reason: str) -> None:
    assert outcome(lambda: parse_verdict(text, 2)) == f"!{reason}"


def test_a_verdict_keeps_the_raw_text() -> None:
    got = parse_verdict(verdict(" \n a<b &lt; <errors c \n", "\t1. x\x1c"), 1)
    assert got == Verdict(first_error_step=-1, assessment="a<b &lt; <errors c", errors="1. x")


def test_fields_may_overlap_each_other() -> None:
    # Each name is counted on its own, so one field may stand inside another.
    text = "<assessment>a<errors>b</assessment>c</errors><first_error_step>0</first_error_step>"
    assert parse_verdict(text, 1) == Verdict(first_error_step=0, assessment="a<errors>b", errors="b</assessment>c")


# --- Rule 5 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(pytest.param(f"x <level>{name.lower()}</level> y", name, id=name) for name in LEVEL_SCORES),
        pytest.param("<LEVEL\n>\x1cExact_Match\n</LeVeL\t>", "EXACT_MATCH", id="case-and-space"),
        pytest.param("<level>BAſIC_MATCH</level>", "BASIC_MATCH", id="long-s"),
        pytest.param("<level>WRONG_POLARİTY</level>", None, id="dotted-i"),
        pytest.param("<level>WRONG_POLARıTY</level>", "WRONG_POLARITY", id="dotless-i"),
        pytest.param("<level>EXACT MATCH</level>", None, id="two-words"),
        pytest.param("<level>EXACT-MATCH</level>", None, id="hyphen"),
        pytest.param("<level></level>", None, id="empty"),
        pytest.param("<level>a</level><level>EXACT_MATCH</level>", None, id="one-good-of-two"),
        pytest.param("<level><level>EXACT_MATCH</level></level>", "EXACT_MATCH", id="nested"),
        pytest.param("< level>EXACT_MATCH</level>", None, id="space-before-name"),
        pytest.param("<level a>EXACT_MATCH</level>", None, id="attribute"),
    ],
)
def test_level(text: str, expected: str | None) -> None:
    assert outcome(lambda: parse_level(text)) == (expected or "!bad_level")


# --- The same rules as obvious, slow expressions ----------------------------------------------------------------------


def slow_final(text: str) -> str:
    text = text.split(HARMONY)[-1].split("</think>")[-1]
    return "" if re.search(r"<think\s*>", text, re.I) else text.strip()


def slow_steps(text: str) -> Any:
    text = slow_final(text)
    if not text:
        return "!empty_final_answer"
    pieces = re.split(r"<step\b[^>]*>", text, flags=re.I)[1:]
    closing = r"(?:\s|</step\s*>|\\end\s*\{?\s*step\s*\}?\s*>|\\endstep\s*>)\Z"
    steps = []
    for piece in pieces:
        while (shorter := re.sub(closing, "", piece, flags=re.I)) != piece:
            piece = shorter
        if piece:
            steps.append(piece.strip())
    return steps or "!no_proof_steps"


def slow_verdict(text: str, n_steps: int) -> Any:
    text = slow_final(text)
    if not text:
        return "!empty_final_answer"
    values = []
    for name in ("assessment", "errors", "first_error_step"):
        found = re.findall(rf"<{name}\s*>(.*?)</\s*{name}\s*>", text, re.I | re.S)
        if len(found) != 1:
            return f"!{'duplicate' if found else 'missing'}:{name}"
        values.append(found[0].strip())
    if not values[0]:
        return "!empty_assessment"
    if not re.fullmatch(r"-?\d+", values[2]):
        return "!bad_index"
    index = int(values[2])
    if not -1 <= index <= n_steps - 1:
        return "!index_out_of_range"
    return Verdict(first_error_step=index, assessment=values[0], errors=values[1])


def slow_level(text: str) -> str:
    text = slow_final(text)
    if not text:
        return "!empty_final_answer"
    found = re.findall(r"<level\s*>\s*(\w+)\s*</level\s*>", text, re.I)
    if len(found) == 1 and found[0].upper() in ("EXACT_MATCH", "BASIC_MATCH", "POOR_MATCH", "WRONG_POLARITY"):
        return found[0].upper()
    return "!bad_level"


COMMON = ["<", "</", ">", "/", " ", "\n", "\x1c", "\u3000", "a", "\0", "\ud800", "\\", "{", "}", "-", "İ", "ı", "ﬆ"]
REASONING = ["<think>", "<think ", "<thinK>", "</think>", "</THINK>", HARMONY, HARMONY[:-1]]
STEPS = ["<step>", "<ſtep", "<Step ", "<step0>", "step", "STEP", "ſtep", "</step>", "</step ", "</ step>", "\\end"]
STEPS += ["\\END"]
STEPS += ["\\end{step}>", "\\endstep>", "{step}", "\\end { step } >"]
FIELD_NAMES = ["assessment", "aſſeſſment", "ERRORS", "errors", "first_error_step", "fırst_error_ſtep"]
FIELD_NAMES += ["fİrst_error_step"]
FIELD_TAGS = [
    f"{mark}{name}{end}" for name in FIELD_NAMES for mark in ("<", "</", "</ ") for end in (">", " >", "", "/>")
]
WHOLE = [
    "<assessment>a</assessment>",
    "<assessment>a < b <= 1<2</assessment>",
    "<errors></errors>",
    "<first_error_step>0</first_error_step>",
]
INDICES = ["-1", "0", "1", "１", "²", "-0", "007", "+1"]
LEVELS = ["<level>", "</level>", "<LEVEL >", "</ level>", "level", "EXACT_MATCH", "exact_match", "POOR_MATCH"]
LEVELS += ["BAſIC_MATCH"]
LEVELS += ["WRONG_POLARİTY", "wrong_polarıty", "<level>POOR_MATCH</level>", "é", "١"]


def soup(*alphabets: list[str], size: int = 14) -> st.SearchStrategy[str]:
    """Texts glued from fragments; tag fragments as often as all others together."""
    fragments = [fragment for alphabet in alphabets for fragment in alphabet]
    return st.lists(st.sampled_from(fragments) | st.sampled_from(COMMON), max_size=size).map("".join)


@given(soup(STEPS, REASONING) | soup(STEPS))
@settings(max_examples=400)
def test_steps_equal_the_obvious_expression(text: str) -> None:
    assert final_text(text) == slow_final(text)
    assert outcome(lambda: parse_steps(text)) == slow_steps(text)


VERDICT_SOUP = (
    soup(FIELD_TAGS, WHOLE, REASONING, INDICES)
    | soup(WHOLE, size=6)
    | st.tuples(
        soup(FIELD_TAGS, size=4), soup(FIELD_TAGS, size=4), soup(INDICES, size=2), soup(FIELD_TAGS, size=3)
    ).map(lambda parts: verdict(*parts[:3]) + parts[3])
    | st.permutations([*WHOLE, "<assessment>", "</errors>", "x"]).map("".join)
)


@given(VERDICT_SOUP, st.integers(0, 12))
@settings(max_examples=400)
def test_verdicts_equal_the_obvious_expression(text: str, n_steps: int) -> None:
    assert outcome(lambda: parse_verdict(text, n_steps)) == slow_verdict(text, n_steps)


@given(soup(LEVELS, REASONING) | soup(LEVELS, size=8) | st.sampled_from(LEVELS).map(lambda w: f"<level>{w}</level>"))
@settings(max_examples=400)
def test_levels_equal_the_obvious_expression(text: str) -> None:
    assert outcome(lambda: parse_level(text)) == slow_level(text)


ANYTHING = st.text() | st.text(st.characters(codec=None)) | soup(STEPS, FIELD_TAGS, LEVELS, REASONING, INDICES, size=30)


@given(ANYTHING, st.integers(0, 5))
def test_whatever_comes_only_an_invalid_reply_is_raised(text: str, n_steps: int) -> None:
    steps = outcome(lambda: parse_steps(text))  # outcome catches InvalidReply alone and checks its reason
    assert read_steps(text) == ([] if isinstance(steps, str) else steps)
    got = outcome(lambda: parse_verdict(text, n_steps))
    assert isinstance(got, str) or -1 <= got.first_error_step < n_steps
    level = outcome(lambda: parse_level(text))
    assert level in LEVEL_SCORES or level.startswith("!")
    decode_field(text)
    error_items(text)


@given(st.lists(st.text(min_size=1, alphabet=st.characters(exclude_characters="<>\\")).map(str.strip), min_size=1))
def test_steps_survive_their_tags(texts: list[str]) -> None:
    wanted = [text for text in texts if text]
    reply = "".join(f"<step>{text}\n</step>\n" for text in texts)
    assert outcome(lambda: parse_steps(reply)) == (wanted or "!no_proof_steps")


# --- Time -------------------------------------------------------------------------------------------------------------

TEN_SPACES = " " * 10
UNITS = ["<assessment>", "</assessment>", "<assessment", "<errors>", "<first_error_step>", "</first_error_step"]
UNITS += ["<step", "<step ", "<step>", "</step", "</step>", "</step " + TEN_SPACES, "<step>" + TEN_SPACES + "</step>"]
UNITS += ["<think", "<think ", "</think>", "</think", "\\end", "\\end ", "\\end{", "\\end{step}>", "\\endstep>"]
UNITS += ["\\end  step "]
UNITS += [" ", "\n ", "<", ">", "</", "</ ", "a", "<level>", "<level>a", "<level> ", "<level>a </level>", "</level"]
UNITS += ["-", "1"]
UNITS += [HARMONY, HARMONY[:20], "<|end|>", "<assessment></assessment>", "<level>" + "a" * 50, "}", "{ ", "step"]
UNITS += ["pets/<"]
UNITS += ["<![CDATA[", "]]>", "<![CDATA[]]>", "&lt;", "&lt", "&", "<error>", "<error ", "1. ", "\n1. ", "- "]


def everything(text: str) -> None:
    final_text(text)
    read_steps(text)
    for parse in (parse_steps, parse_level, lambda reply: parse_verdict(reply, 3)):
        outcome(lambda parse=parse: parse(text))  # type: ignore[misc]
    decode_field(text)
    error_items(text)


SURROUNDINGS = [("", ""), ("<step>x", "x"), ("<assessment>", ""), ("<step>", ">"), ("</step", ""), ("<step>a>", "!")]
SURROUNDINGS += [(verdict()[:-30], verdict()[-20:]), ("<level>", "!"), ("<think", "!"), ("</", "!"), ("\\end", "")]


@pytest.mark.parametrize(("before", "after"), SURROUNDINGS, ids=repr)
def test_time_is_linear(before: str, after: str) -> None:
    def reading(unit: str, size: int) -> Callable[[], None]:
        return lambda: everything(before + unit * (size // len(unit)) + after)

    assert [unit for unit in UNITS if grows_too_fast(reading(unit, 40_000), reading(unit, 80_000))] == []


@pytest.mark.torture
@pytest.mark.parametrize("unit", UNITS)
def test_time_is_linear_in_megabytes(unit: str) -> None:
    once, twice = (unit * (size // len(unit)) for size in (500_000, 1_000_000))
    assert not grows_too_fast(lambda: everything(once), lambda: everything(twice))


# --- Display ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param("a<b and c>d, <b>x", "a<b and c>d, <b>x", id="less-than-survives"),
        pytest.param("a &lt; b &amp; c &gt; d &quot;&apos;", "a < b & c > d \"'", id="xml"),
        pytest.param("&le; &#8804; &#x2264; &nbsp;", "≤ ≤ ≤ \xa0", id="html-and-numbers"),
        pytest.param("&amp;lt;", "&lt;", id="once"),
        pytest.param("a & b && c &d &foo; &;", "a & b && c &d &foo; &;", id="stray-ampersands"),
        pytest.param("&#0; &#xD800; &#9999999;", "&#0; &#xD800; &#9999999;", id="no-characters"),
        pytest.param("x<![CDATA[a<b &lt; ]]>y&lt;", "xa<b &lt; y<", id="cdata"),
        pytest.param("<![CDATA[a&lt;b", "<![CDATA[a<b", id="unclosed-cdata"),
        pytest.param("\0\ud800\ufffe &lt;", "\0\ud800\ufffe <", id="not-xml-characters"),
        pytest.param("\r\n\r", "\r\n\r", id="line-ends"),
    ],
)
def test_decode_field(raw: str, expected: str) -> None:
    assert decode_field(raw) == expected


@given(st.text(st.characters(codec=None, exclude_characters="&")))
def test_a_field_without_references_is_shown_as_it_is(raw: str) -> None:
    assert decode_field(raw.replace("<![", "<[")) == raw.replace("<![", "<[")


@given(st.text())
def test_escaped_text_comes_back(text: str) -> None:
    assert decode_field(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")) == text


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param("", [], id="empty"),
        pytest.param(" \n", [], id="blank"),
        pytest.param("a<b is false", ["a<b is false"], id="one"),
        pytest.param("1. a\n   more\n2) b &lt; c", ["a\n   more", "b < c"], id="numbered"),
        pytest.param("- a\n- b", ["a", "b"], id="bullets"),
        pytest.param("Two:\n1. a\n2. b", ["Two:\n1. a\n2. b"], id="not-a-list-from-the-start"),
        pytest.param("<error>a</error>\n<error step='2'>b<c</error>", ["a", "b<c"], id="elements"),
        pytest.param("<item>1. a</item> note <LI>b", ["1. a", "note", "b"], id="nothing-dropped"),
        pytest.param("<error><![CDATA[<error>x</error>]]></error>", ["<error>x</error>"], id="cdata-is-text"),
        pytest.param("<errors_found> <b>", ["<errors_found> <b>"], id="other-tags"),
        pytest.param("3.5 is no list", ["3.5 is no list"], id="decimal"),
    ],
)
def test_error_items(raw: str, expected: list[str]) -> None:
    assert error_items(raw) == expected


# --- Against replies that the published format's runs hold ------------------------------------------------------------


@pytest.mark.shared
@pytest.mark.parametrize("run", ["prover", "verifier", "verifier-meta"])
def test_published_runs_are_read_alike(run: str) -> None:
    read = 0
    for line in (PUBLISHED / run / "results.jsonl").read_text("utf-8").split("\n"):
        if not line:
            continue
        record = json.loads(line)
        if "policy_response" in record:
            response = record["policy_response"]
            assert read_steps(response["text"]) == record["steps"]

            def generation(response: dict[str, Any] = response) -> list[str]:
                check_finish(response["finish_reason"], {"stop"})
                return parse_steps(response["text"])

            expected = f"!{record['generation_error']}" if record["generation_error"] else record["steps"]
            assert outcome(generation) == expected
            read += 1
        for trial in record["verifier_trials"]:
            response = trial["response"]

            def judgment(response: dict[str, Any] = response, n: int = len(record["steps"])) -> Verdict:
                check_finish(response["finish_reason"], {"stop"})
                return parse_verdict(response["text"], n)

            got = outcome(judgment)
            assert isinstance(got, Verdict) == trial["valid"]
            if isinstance(got, Verdict):
                assert trial["parsed"] == {
                    "assessment": got.assessment,
                    "errors": got.errors,
                    "first_error_step": got.first_error_step,
                }
            meta = trial.get("meta")
            if meta and meta["response"]:

                def level(response: dict[str, Any] = meta["response"]) -> str:
                    check_finish(response["finish_reason"], {"stop"})
                    return parse_level(response["text"])

                assert (not outcome(level).startswith("!")) == meta["valid"]
                assert not meta["valid"] or outcome(level) == meta["level"]
            read += 1
    assert read >= 18
