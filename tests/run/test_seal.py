"""Seals: every damage of a file is seen, and named where it is."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proverbench.run.seal import START, Checker, Fault, SealFile, place_of, sealed


def _bodies(n: int) -> list[bytes]:
    return [json.dumps({"type": "call", "id": f"p{i}", "text": "x" * (i % 7)}).encode() for i in range(n)]


def _file(n: int, unsealed: int = 0) -> tuple[list[bytes], SealFile]:
    bodies = _bodies(n)
    lines, place = bodies[:unsealed], START
    if unsealed:
        checker = Checker()
        for raw in lines:
            checker.feed(raw)
        place = checker.place
    for body in bodies[unsealed:]:
        raw, place = sealed(body, place)
        lines.append(raw)
    return lines, SealFile(place.number, place.head)


def _check(lines: list[bytes], kept: SealFile | None) -> tuple[list[Fault], list[bool]]:
    checker = Checker(kept)
    usable = [checker.feed(raw) for raw in lines]
    return checker.end(), usable


@pytest.mark.parametrize("unsealed", [0, 3, 8])
def test_a_whole_file_has_no_faults(unsealed: int) -> None:
    lines, kept = _file(8, unsealed)
    assert _check(lines, kept) == ([], [True] * 8)
    assert _check(lines, None) == ([], [True] * 8)


def test_a_sealed_line_is_json_with_the_same_fields_and_a_seal() -> None:
    body = _bodies(1)[0]
    raw, place = sealed(body, START)
    assert json.loads(raw) == json.loads(body) | {"seal": json.loads(raw)["seal"]}
    assert place_of(raw) == place
    assert place_of(body) is None


@pytest.mark.parametrize("unsealed", [0, 2])
@settings(max_examples=400)
@given(data=st.data())
def test_every_flipped_bit_is_seen_at_its_line(unsealed: int, data: st.DataObject) -> None:
    lines, kept = _file(6, unsealed)
    index = data.draw(st.integers(0, 5))
    at = data.draw(st.integers(0, len(lines[index]) - 1))
    damaged = bytearray(lines[index])
    damaged[at] ^= 1 << data.draw(st.integers(0, 7))
    faults, usable = _check([*lines[:index], bytes(damaged), *lines[index + 1 :]], kept)
    assert faults
    if index >= unsealed:
        assert {fault.line for fault in faults} <= {index + 1, index + 2}
        assert all(usable[i] for i in range(6) if i != index)
    else:  # the chain begins with a hash of what has no seal
        assert faults[0].line in (unsealed + 1, index + 1, index + 2)


@pytest.mark.parametrize("unsealed", [0, 2])
@given(data=st.data())
def test_every_missing_repeated_or_moved_line_is_seen(unsealed: int, data: st.DataObject) -> None:
    lines, kept = _file(7, unsealed)
    positions = st.lists(st.integers(0, 6), max_size=9)
    chosen = data.draw(positions)
    faults, _ = _check([lines[i] for i in chosen], kept)
    assert bool(faults) == (chosen != list(range(7)))


@pytest.mark.parametrize("length", range(7))
def test_a_file_that_is_cut_lacks_so_many_lines(length: int) -> None:
    lines, kept = _file(7)
    faults, _ = _check(lines[:length], kept)
    assert [(fault.line, fault.missing) for fault in faults] == [(length, 7 - length)]


def test_without_seal_json_a_cut_cannot_be_seen() -> None:
    lines, _ = _file(7)
    assert _check(lines[:4], None)[0] == []


def test_a_gap_says_how_many() -> None:
    lines, kept = _file(7)
    assert _check(lines[:2] + lines[5:], kept)[0] == [Fault(3, "comes after 3 lines that are missing", 3)]


def test_a_line_that_is_there_twice_says_where_it_was_written_and_is_used_once() -> None:
    lines, kept = _file(5)
    faults, usable = _check([*lines[:3], lines[1], *lines[3:]], kept)
    assert faults == [Fault(4, "is repeated or moved: it was written as line 2")]
    assert usable == [True, True, True, False, True, True]


def test_two_halves_of_different_runs_do_not_follow() -> None:
    lines, kept = _file(6)
    other, place = [], START
    for body in _bodies(7)[1:]:
        raw, place = sealed(body, place)
        other.append(raw)
    faults, _ = _check(lines[:3] + other[3:], kept)
    assert faults[0] == Fault(4, "does not follow from the line before: one of the two was changed")


def test_an_accepted_loss_is_no_fault_any_more_and_later_ones_are() -> None:
    lines, kept = _file(6)
    lines[2] = lines[2].replace(b"p2", b"p9")
    checker = Checker(kept)
    for raw in lines:
        checker.feed(raw)
    loss, place = checker.loss_line(lambda faults: b'{"type":"loss","lines":%d}' % len(faults))
    more, place = sealed(b'{"type":"call","id":"p2"}', place)
    whole = [*lines, loss, more]
    kept = SealFile(place.number, place.head)
    faults, usable = _check(whole, kept)
    assert (faults, usable) == ([], [True, True, False, True, True, True, True, True])
    assert _check(whole[:-1], kept)[0] == [Fault(7, "is the last, and 1 more that seal.json counts are missing", 1)]
    again = [raw.replace(b"p4", b"p8") for raw in whole]
    assert any(fault.line == 5 for fault in _check(again, kept)[0])


def test_the_line_of_a_loss_cannot_be_moved_to_another_file() -> None:
    lines, kept = _file(6)
    lines[2] = lines[2].replace(b"p2", b"p9")
    checker = Checker(kept)
    for raw in lines:
        checker.feed(raw)
    loss, _ = checker.loss_line(lambda faults: b'{"type":"loss"}')
    others, other_kept = _file(6)
    others[4] = others[4].replace(b"p4", b"p9")
    assert any("checksum" in fault.what for fault in _check([*others, loss], other_kept)[0])
