"""Declared protocols: their files, and how they read replies."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.errors import ConfigError, InvalidReply
from proverbench.protocols.declared import REASONS, Declared, check_examples, declare
from proverbench.protocols.elements import json_objects
from tests.support import grows_too_fast

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "vectors" / "protocols.json").read_text("utf-8"))["declared"]
TAGGED = '[protocol]\nname = "own"\nverdict = "label"\nvalues = {yes = "accept", no = "reject"}\nfind = {tag = "v"%s}\n'


def _declared(name: str) -> Declared:
    return declare(VECTORS["declarations"][name], f"{name}.toml")


def _read(declared: Declared, text: str, n_steps: int = 1) -> dict[str, object]:
    try:
        read = declared.read(text, n_steps)._asdict()
    except InvalidReply as exc:
        return {"valid": False, "reason": exc.reason}
    return {"valid": True, **{name: value for name, value in read.items() if value is not None}}


@pytest.mark.parametrize(
    "vector", [pytest.param(vector, id=f"{vector['protocol']}-{vector['name']}") for vector in VECTORS["replies"]]
)
def test_vectors(vector: dict) -> None:
    assert _read(_declared(vector["protocol"]), vector["text"], vector.get("num_steps", 1)) == vector["expected"]


@pytest.mark.parametrize(
    ("which", "text", "expected"),
    [
        pytest.param("only", "<v>yes</v><v>yes</v>", "duplicate:value", id="only-of-two"),
        pytest.param("first", "<v>yes</v><v>no</v>", "accept", id="first"),
        pytest.param("last", "<v>yes</v><v>no</v>", "reject", id="last"),
        pytest.param("same", "<v>Yes</v><v> yes </v>", "accept", id="same"),
        pytest.param("same", "<v>yes</v><v>no</v>", "conflicting:value", id="same-but-different"),
        pytest.param("same", "<v>yes</v><v>maybe</v>", "conflicting:value", id="same-but-one-unreadable"),
        pytest.param("same", "<v>maybe</v><v>MAYBE</v>", "bad_value", id="same-and-unreadable"),
        pytest.param("last", "<v>yes</v><v>maybe</v>", "bad_value", id="last-is-not-repaired"),
        pytest.param("only", "<think><v>yes</v></think>", "empty_final_answer", id="reasoning-only"),
        pytest.param("only", "<v>yes", "missing:value", id="unclosed"),
    ],
)
def test_which_of_several_counts(which: str, text: str, expected: str) -> None:
    read = _read(declare(TAGGED % f', which = "{which}"', "own.toml"), text)
    assert expected == (read.get("label") or read["reason"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"result": {"score": 9.50}}', 9.5, id="half"),
        pytest.param('{"result": {"score": 1e1}}', 10, id="exponent"),
        pytest.param('{"result": {"score": 1e99999999}}', "bad_value", id="huge-exponent"),
        pytest.param('{"result": {"score": true}}', "bad_value", id="boolean"),
        pytest.param('{"result": {"score": -1}}', "value_out_of_range", id="below"),
        pytest.param('{"result": {"score": 9.25}}', "value_not_on_scale", id="between"),
        pytest.param('{"result": {"score": NaN}}', "missing:value", id="nan"),
        pytest.param('{"result": 9}', "missing:value", id="no-such-path"),
        pytest.param('{"x": {"result": {"score": 9}}}', "missing:value", id="inside-another-object"),
        pytest.param('{{"result": {"score": 9}}', 9, id="stray-brace"),
        pytest.param('{"note: {"result": {"score": 9}}', 9, id="broken-string-before"),
        pytest.param('{"a":1,"a":2,"b":{"result":{"score":9}}} {"result":{"score":8}}', 8, id="key-twice-outside"),
    ],
)
def test_json(text: str, expected: float | str) -> None:
    read = _read(_declared("json-score-10"), text)
    assert expected == (read["grade"] if read["valid"] else read["reason"])


@given(
    st.recursive(
        st.integers() | st.text() | st.booleans() | st.none(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    st.text(alphabet='{}[]":, \\a', max_size=12),
)
def test_an_object_is_found_behind_any_text(value: object, before: str) -> None:
    # Whatever stands before, the marked object decodes unless an earlier one has swallowed it.
    marked = {"marked": value}
    found = list(json_objects(before + "\n" + json.dumps(marked)))
    alone = list(json_objects(json.dumps(marked)))
    assert alone == [json.loads(json.dumps(marked), parse_int=Decimal, parse_float=Decimal)]
    assert found == _slowly(before + "\n" + json.dumps(marked))


@given(st.text(alphabet='{}[]":, \\a1', max_size=40))
def test_objects_are_those_of_the_obvious_way(text: str) -> None:
    assert list(json_objects(text)) == _slowly(text)


def _slowly(text: str) -> list[object]:
    """Python's own decoder tried at every brace: quadratic, but obvious."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError
        return dict(pairs)

    def refuse(name: str) -> object:
        raise ValueError(name)

    decoder = json.JSONDecoder(object_pairs_hook=unique, parse_constant=refuse, parse_int=Decimal, parse_float=Decimal)
    found, position = [], 0
    while (position := text.find("{", position)) >= 0:
        try:
            decoded, position = decoder.raw_decode(text, position)
            found.append(decoded)
        except ValueError:
            position += 1
    return found


@pytest.mark.parametrize(
    "piece", ['{"a":', '{"{', '{"k":"{",', '{"a":{"x":1},', '{":{":"', "{", '{"result":{"score":9}}']
)
def test_reading_json_takes_linear_time(piece: str) -> None:
    declared = _declared("json-score-10")
    once, twice = piece * 5_000, piece * 10_000
    assert not grows_too_fast(lambda: _read(declared, once), lambda: _read(declared, twice))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("x", "f.toml: is not TOML", id="no-toml"),
        pytest.param("x = 1", "wanted one table, [protocol]", id="no-table"),
        pytest.param(TAGGED.replace('"own"', '"Own!"') % "", "protocol.name", id="name"),
        pytest.param(TAGGED.replace('"own"', '"basic-v1"') % "", "the name of a shipped protocol", id="shipped-name"),
        pytest.param(TAGGED % ', json = "a"', "found json and tag; wanted one of json, regex and tag", id="two-ways"),
        pytest.param(TAGGED.replace('tag = "v"', "") % "", "found none; wanted one of", id="no-way"),
        pytest.param(TAGGED.replace('"accept"', "1") % "", "a label needs words that mean", id="label-of-numbers"),
        pytest.param(TAGGED.replace("no =", "YES =") % "", "'yes' is given twice", id="word-twice"),
        pytest.param(TAGGED.replace('tag = "v"', "regex = '(a)\\1'") % "", "RE2, which reads in linear time", id="re2"),
        pytest.param(TAGGED.replace('tag = "v"', "regex = 'a'") % "", "has no group 'value'", id="no-group"),
        pytest.param(TAGGED.replace('tag = "v"', 'json = "a..b"') % "", "wanted keys and [i]", id="path"),
        pytest.param(TAGGED.replace('"label"', '"grade"') % "", "protocol.scale: a grade needs one", id="no-scale"),
        pytest.param(TAGGED % "" + "extra = 1", "protocol.extra: Extra inputs", id="unknown-key"),
    ],
)
def test_a_faulty_file_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=r"f\.toml") as caught:
        declare(text, "f.toml")
    assert expected in str(caught.value)


def test_examples_are_read_and_compared() -> None:
    good = TAGGED % "" + (
        '[[protocol.example]]\nreply = "<v>yes</v>"\nexpect = "accept"\n'
        '[[protocol.example]]\nreply = "<v>perhaps</v>"\nexpect_reason = "bad_value"\n'
    )
    check_examples(declare(good, "f.toml"), "f.toml")
    with pytest.raises(ConfigError, match="read 'accept', but the file expects 'reject'"):
        check_examples(declare(good.replace('expect = "accept"', 'expect = "reject"'), "f.toml"), "f.toml")
    with pytest.raises(ConfigError) as caught:
        check_examples(declare(TAGGED % "", "f.toml"), "f.toml")
    assert "one reply that is valid" in str(caught.value)
    assert "one reply that is invalid" in str(caught.value)


def test_every_reason_is_explained() -> None:
    used = {vector["expected"].get("reason") for vector in VECTORS["replies"]} - {None}
    assert used <= set(REASONS)
