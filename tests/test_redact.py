import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.redact import Redactor

KEY = "sk-proj-Ab3/xYz+91_q-77fGh=="


@pytest.mark.parametrize(
    "text",
    [
        f"bad key {KEY}!",
        f"bad key {quote(KEY, safe='')}!",
        f"bad key {KEY[:10]}...{KEY[-6:]}",
        f"twice {KEY} {KEY}{KEY}",
        f"Authorization: Bearer {KEY}",
        f"http://u:{KEY}@host/?key={KEY}",
    ],
)
def test_no_piece_of_a_secret_is_left(text):
    said = Redactor([KEY])(text)
    assert not any(KEY[at : at + 6] in said for at in range(len(KEY) - 5))


@pytest.mark.parametrize("length", [6, 7, 11])
def test_a_piece_of_six_characters_is_one(length):
    """Wherever it is from: no beginning gives it away."""
    redactor = Redactor([KEY])
    for at in range(len(KEY) - length + 1):
        said = redactor(f"what was {KEY[at : at + length]} it")
        assert "[redacted]" in said
        assert not any(KEY[piece : piece + 6] in said for piece in range(len(KEY) - 5))
    assert redactor(f"what was {KEY[9:14]} it") == f"what was {KEY[9:14]} it"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Bearer abcdef123", "[redacted]"),
        ("GET https://joe:pw@host/v1", "GET https://[redacted]host/v1"),
        ("https://host/v1?key=abc&n=1", "https://host/v1?key=[redacted]&n=1"),
        ("Incorrect key sk-ab***yz given", "Incorrect key [redacted] given"),
        ("the model does not exist", "the model does not exist"),
        ("monkey=banana, x@y", "monkey=banana, x@y"),
    ],
)
def test_what_looks_like_a_secret_goes_too(text, said):
    assert Redactor()(text) == said


def test_the_rest_of_a_message_stays():
    assert Redactor(["tenant-77"])("project tenant-77 has no credit") == "project [redacted] has no credit"


def test_empty_secrets_change_nothing():
    assert Redactor(["", ""])("hello") == "hello"


@given(st.text(min_size=6, max_size=40), st.text(max_size=80), st.text(max_size=80))
def test_never_in_the_result(secret, before, after):
    assert secret not in Redactor([secret])(before + secret + after).replace("[redacted]", "")


CODED = "sk-Ab3?>~xYz/91_q??>77"
"""A key whose two forms of base64 differ."""
WRITINGS = {
    "as it is": CODED,
    "lower case": CODED.lower(),
    "upper case": CODED.upper(),
    "percent": quote(CODED, safe=""),
    "base64": base64.b64encode(CODED.encode()).decode(),
    "base64 unpadded": base64.b64encode(CODED.encode()).decode().rstrip("="),
    "urlsafe base64": base64.urlsafe_b64encode(CODED.encode()).decode(),
    "hexadecimal": CODED.encode().hex(),
    "capital hexadecimal": CODED.encode().hex().upper(),
}


@pytest.mark.parametrize("writing", WRITINGS)
def test_a_secret_in_another_writing_goes_from_messages_fields_and_answers(writing):
    text = f"before {WRITINGS[writing]} after"
    redactor = Redactor([CODED])
    for clean in (redactor, redactor.field, redactor.whole):
        said = clean(text)
        assert said.startswith("before [redacted]")
        assert said.rstrip("=").endswith(" after")
        assert WRITINGS[writing].rstrip("=") not in said


def test_the_two_forms_of_base64_differ_for_this_key():
    """Else one of the cases above could not fail."""
    assert WRITINGS["base64"] != WRITINGS["urlsafe base64"]


@pytest.mark.parametrize(
    ("secret", "goes"),
    [
        ("none", False),
        ("whatever", False),
        ("fifteen-letters", True),
        ("abcdefghijklmno", False),
        ("abcdefghijklmnop", True),
        ("k3y4567", False),
        ("k3y45678", True),
    ],
)
def test_a_key_that_may_be_a_word_stays_in_answers(secret, goes):
    said = Redactor([secret]).whole(f"it says {secret} here")
    assert said == (f"it says {'[redacted]' if goes else secret} here")
