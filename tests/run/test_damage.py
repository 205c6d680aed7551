"""Random damage of any file behind a run's figures: each is named, and none changes a score unnoticed."""

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from proverbench.errors import ProverBenchError
from proverbench.run.disk import CALLS, SEAL
from proverbench.run.folder import RECORDS, RunFolder, write_derived
from proverbench.run.inputs import INPUTS
from proverbench.run.manifest import MANIFEST
from proverbench.run.sources import SUMMARY
from proverbench.run.verify import verify_run
from tests.run.made_runs import PROOF, call, make_run, problem, verdict

CLASSES = {
    "digits": b"0123456789",
    "letters": b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "structure": b'{}[]",:',
    "markup": b"<>/_-.",
    "escapes": b"\\",
    "blanks": b" ",
    "line ends": b"\n",
    "beyond ASCII": bytes(range(128, 256)),
}
"""Kinds of bytes; damage is dealt to each alike, however few there are."""
FILES = (CALLS, CALLS, CALLS, SEAL, INPUTS, MANIFEST, "prompts/verifier.txt", RECORDS, SUMMARY)
"""Where damage is done; most in calls.jsonl."""


def _write(folder: Path, of: str) -> None:
    texts = [
        verdict(-1),
        verdict(1),
        f"<think>ü∑</think>{verdict(0)}",
        verdict(-1).replace("E", 'a\\"b\n ∎'),
        "no verdict",
    ]
    lines = []
    for name in "abc":
        lines.append(call(f"policy/{name}/0/0", PROOF.replace("one", f"{of} ≤ \\frac{{1}}{{2}}"), latency_s=1.5))
        for repeat in range(4):
            text = texts[(ord(name) + repeat) % len(texts)]
            usage = {"prompt_tokens": 100 + repeat, "completion_tokens": 7, "total_tokens": 107 + repeat}
            lines.append(call(f"verifier/{name}/0/{repeat}", text, usage=usage, at="2026-01-01T00:00:00.000Z"))
    sources = make_run(folder, [problem(name) for name in "abc"], lines, repeats=4)
    write_derived(sources)
    sources.close()


@pytest.fixture
def run(tmp_path) -> Path:
    _write(tmp_path / "whole", "x")
    _write(tmp_path / "other", "y")
    return tmp_path / "whole"


def _flip(rng: random.Random, data: bytes) -> bytes:
    kinds = [places for kind in CLASSES.values() if (places := [at for at, byte in enumerate(data) if byte in kind])]
    at = rng.choice(rng.choice(kinds))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _byte(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    new = bytes([rng.randrange(256)]) if rng.random() < 0.5 else b""
    return data[:at] + new + data[at + rng.randrange(2) :]


def _lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(3):
        case 0:
            del lines[one]
        case 1:
            lines.insert(one, lines[two])
        case 2:
            lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


DAMAGES: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "flip": _flip,
    "byte": _byte,
    "lines": _lines,
    "cut": _cut,
}


def _scores(run: Path) -> object:
    folder = RunFolder(run)
    try:
        return folder.summary()
    finally:
        folder.close()


def _damage(run: Path, rng: random.Random, kinds: list[str], tries: int) -> None:
    whole, scores = {name: (run / name).read_bytes() for name in FILES}, _scores(run)
    assert verify_run(run).faults == []
    for number in range(tries):
        name, kind = rng.choice(FILES), rng.choice(kinds)
        damaged = DAMAGES[kind](rng, whole[name])
        if damaged == whole[name]:
            continue
        (run / name).write_bytes(damaged)
        what = f"try {number}, {kind} of {name}"
        try:
            faults = verify_run(run).faults
        except ProverBenchError as exc:
            faults = [str(exc)]
        # seal.json may come to count fewer lines, and manifest.json has blanks, and limits that are no identity.
        if name not in (SEAL, MANIFEST):
            assert faults, what
            assert Path(name).name in " ".join(faults), (what, faults)
        if name == CALLS and kind == "flip":
            at = next(i for i, (a, b) in enumerate(zip(damaged, whole[name], strict=True)) if a != b)
            line = damaged.count(b"\n", 0, at) + 1
            named = {int(found) for found in re.findall(rf"{CALLS}:(\d+)", " ".join(faults))}
            assert named & {line - 1, line, line + 1}, (what, line, faults)
        try:
            found = _scores(run)
        except ProverBenchError:
            pass
        else:
            assert found == scores, what
            assert name in (SEAL, MANIFEST, RECORDS, SUMMARY), what
        (run / name).write_bytes(whole[name])


@pytest.mark.parametrize("kind", DAMAGES)
def test_random_damage_is_named(run, kind):
    _damage(run, random.Random(kind), [kind], 40)


@pytest.mark.torture
def test_random_damage_of_2000_tries_is_named(run):
    _damage(run, random.Random("torture"), list(DAMAGES), 2000)
    _damage(run, random.Random("flips"), ["flip"], 2000)


def test_two_halves_of_different_runs(run):
    mine, other = ((run.parent / name / CALLS).read_bytes().splitlines(keepends=True) for name in ("whole", "other"))
    for at in range(1, len(mine)):
        (run / CALLS).write_bytes(b"".join(mine[:at] + other[at:]))
        assert f"{CALLS}:{at + 1}" in " ".join(verify_run(run).faults)


def test_a_truncated_copy_of_the_folder(run):
    copy = run.parent / "copy"
    for kept in (0, 1, 12):
        shutil.copytree(run, copy)
        lines = (copy / CALLS).read_bytes().splitlines(keepends=True)
        (copy / CALLS).write_bytes(b"".join(lines[:kept]))
        before = {name: (copy / name).read_bytes() for name in (RECORDS, SUMMARY)}
        with pytest.raises(ProverBenchError, match=r"seal\.json counts"):
            _scores(copy)
        assert {name: (copy / name).read_bytes() for name in before} == before
        shutil.rmtree(copy)
