"""Lean's own kernel on the known files."""

from pathlib import Path
from typing import Any

import pytest

from proverbench.compression.charges import charge
from proverbench.compression.export_reading import read_export
from proverbench.compression.export_writing import write_export
from proverbench.compression.kernel import LeanKernel, find_library
from proverbench.compression.limits import Allowance, StoppedError
from proverbench.compression.olean import read_oleans
from proverbench.compression.structure import check_structure
from proverbench.errors import DataError
from tests.compression.toy import VERDICTS


def verdict(path: Path, kernel: LeanKernel) -> str:
    try:
        export = read_export(path)
    except DataError:
        return "malformed"
    return "reject" if kernel.replay(write_export(export)).problems else "accept"


@pytest.mark.parametrize("name", VERDICTS)
def test_the_kernel_agrees_on_the_toy_files(lean_data: Path, kernel: LeanKernel, name: str) -> None:
    assert verdict(lean_data / f"toy{name}.ndjson", kernel) == VERDICTS[name]


def test_others_found_the_same_verdicts(found_by_others: dict[str, Any]) -> None:
    assert {row["file"]: row["kernel"] for row in found_by_others["files"]} == {
        f"toy{name}.ndjson": wanted for name, wanted in VERDICTS.items()
    }


@pytest.mark.parametrize("version", ["3.0.0", "3.1.0"])
def test_a_real_export_is_replayed_whole(shared_lean: Path, kernel: LeanKernel, version: str) -> None:
    replay = kernel.replay((shared_lean / f"lean4export.Nat.add_succ.v{version}.ndjson").read_bytes())
    assert (replay.accepted, replay.problems) == (19, ())


@pytest.mark.parametrize(
    ("name", "declaration", "said"),
    [
        ("toy.wrong_value.ndjson", "zero_add", "declTypeMismatch"),
        ("toy.missing_definition.ndjson", "zero_add", "unknownConstant MyNat.add"),
        ("toy.rec_k_lie.ndjson", "MyNat", "MyNat.rec: k"),
        ("toy.rec_rule_swapped.ndjson", "MyNat", "MyNat.rec: rule for MyNat.succ"),
        ("toy.level_arity.ndjson", "Eq", "invalid occurrence of datatype"),
    ],
)
def test_what_is_wrong_is_told(lean_data: Path, kernel: LeanKernel, name: str, declaration: str, said: str) -> None:
    problems = kernel.replay(write_export(read_export(lean_data / name))).problems
    assert problems[0].declaration == declaration
    assert said in problems[0].message


@pytest.mark.parametrize("name", ["toy.ndjson", "toy.sparse_ids.ndjson", "toy.mdata.ndjson"])
def test_heartbeats_decide_the_same_in_every_file(lean_data: Path, kernel: LeanKernel, name: str) -> None:
    library = find_library()
    assert library is not None
    terms = write_export(read_export(lean_data / name))
    assert LeanKernel(library, Allowance(heartbeats=234)).replay(terms).problems == ()
    short = LeanKernel(library, Allowance(heartbeats=233)).replay(terms)
    assert [(problem.declaration, problem.kind) for problem in short.problems] == [("zero_add", "budget")]


def test_time_stops_without_a_verdict(lean_data: Path, kernel: LeanKernel) -> None:
    library = find_library()
    assert library is not None
    with pytest.raises(StoppedError, match="more than 0 s"):
        LeanKernel(library, Allowance(time_s=0)).replay((lean_data / "toy.ndjson").read_bytes())


def test_a_source_file_becomes_the_known_terms(
    lean_data: Path, found_by_others: dict[str, Any], kernel: LeanKernel
) -> None:
    done = kernel.compile("Toy.lean", {"Toy.lean": (lean_data / "toy.lean").read_bytes()})
    assert done.messages == ()
    assert done.olean is not None
    export, modules = read_oleans([("Toy", done.olean)])
    assert modules[0].imports == ()
    assert not any(name.startswith("lc") for name in modules[0].constants), "unsafe axioms are left out"
    assert check_structure(export) == []
    assert kernel.replay(write_export(export)).accepted == 19
    for case in found_by_others["charges"]:
        assert charge(export, case["targets"], case["background"]).count == case["N"]


def test_an_error_of_the_compiler_has_its_place(kernel: LeanKernel) -> None:
    done = kernel.compile("A.lean", {"A.lean": b"prelude\ntheorem a : Prop := b\n"})
    assert done.olean is None
    assert any(message.startswith("A.lean:2:") and "`b`" in message for message in done.messages)


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "not an .olean"), (b"olean\x07" + bytes(200), "format 7"), (b"olean\x02" + bytes(200), "outside itself")],
)
def test_other_files_are_no_oleans(data: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_oleans([("A", data)])
