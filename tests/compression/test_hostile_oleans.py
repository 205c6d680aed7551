"""Bytes that are not a module: each is refused in bounded time, with a sentence and no traceback."""

import random
import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proverbench.compression.checking import check_sources, compile_background
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.olean import read_oleans
from proverbench.compression.tasks import load_task, shipped_tasks
from proverbench.errors import DataError

SOURCE = b"""prelude
set_option linter.all false
inductive T where | a | b (t : T)
theorem same (p : Prop) (h : p) : p := (fun x => x) h
"""


@pytest.fixture(scope="module")
def olean(kernel: LeanKernel) -> bytes:
    done = kernel.compile("A.lean", {"A.lean": SOURCE})
    assert done.olean is not None
    return done.olean


def outcome(data: bytes) -> str:
    """What reading says; anything but a DataError fails the test."""
    try:
        return f"{len(read_oleans([('A', data)])[0].declarations)} declarations"
    except DataError as exc:
        return str(exc)


def test_the_good_one(olean: bytes) -> None:
    assert outcome(olean) == "3 declarations"


def test_every_word_turned_into_another_pointer_is_survived(olean: bytes) -> None:
    """Each word of the file in turn points at some other place, and at the object that it may be the first field of."""
    base = int.from_bytes(olean[80:88], "little")
    chance = random.Random(1)
    said = set()
    for at in range(88, len(olean) - 8, 8):
        for place in (at - 8, 8 * chance.randrange(12, len(olean) // 8)):
            changed = bytearray(olean)
            struct.pack_into("<Q", changed, at, base + place)
            said.add(outcome(bytes(changed)).split("(")[0])
    assert "an object contains itself" in said


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_random_damage_is_survived(olean: bytes, data: st.DataObject) -> None:
    changed = bytearray(olean)
    for _ in range(data.draw(st.integers(1, 8))):
        changed[data.draw(st.integers(80, len(olean) - 1))] = data.draw(st.integers(0, 255))
    outcome(bytes(changed[: data.draw(st.integers(0, len(olean)))]))


@pytest.mark.parametrize("damage", ["cut", "noise", "empty", "circle"])
def test_a_build_that_yields_no_module_is_invalid(
    olean: bytes, kernel: LeanKernel, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    task = load_task(shipped_tasks()["logic"])
    compile_background(task, kernel)
    base, root = struct.unpack_from("<QQ", olean, 80)
    circle = bytearray(olean)
    field = root - base + 8 + 8 * 2
    struct.pack_into("<Q", circle, field, root)
    yields = {"cut": olean[:200], "noise": b"x" * 1000, "empty": b"", "circle": bytes(circle)}[damage]
    real = LeanKernel.compile

    def compile_to_that(self: LeanKernel, *args: object, **options: object) -> object:
        return replace(real(self, *args, **options), olean=yields)  # type: ignore[arg-type]

    monkeypatch.setattr(LeanKernel, "compile", compile_to_that)
    check = check_sources(task, task.original, kernel)
    assert check.verdict == "invalid"
    assert check.problems
    assert "Traceback" not in str(check.problems)
