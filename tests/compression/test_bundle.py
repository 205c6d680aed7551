"""Submissions and receipts: made the same twice, and every change to one is noticed and named."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from proverbench.compression.bundle import (
    Extras,
    bundle_name,
    pack,
    pack_members,
    read_bundle,
    read_log,
    read_tokens,
    track_of,
    tracks_of,
    unpack,
    unpack_members,
)
from proverbench.compression.checking import Check, check_sources
from proverbench.compression.hashing import sha256_hex
from proverbench.compression.isolation import MEANS, UNSAFE
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.receipts import (
    PARTS,
    build_parts,
    bundle_mismatches,
    load_key,
    make_key,
    make_receipt,
    read_receipt,
    receipt_problems,
)
from proverbench.compression.tasks import Task
from proverbench.compression.verifying import verify_bundle
from proverbench.errors import DataError

Members = dict[str, bytes]
TIME = "2026-01-02T03:04:05+00:00"


@pytest.fixture(scope="session")
def check(toy_task: Task, shorter: dict[str, bytes], kernel: LeanKernel) -> Check:
    return check_sources(toy_task, shorter, kernel)


@pytest.fixture(scope="session")
def data(check: Check) -> bytes:
    return pack(check, Extras(agent="alice", minutes=12.5, tokens={"input": 3}, log={"a/b.txt": b"log"}))


def submission(members: Members) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(members["submission.json"])
    return found


def relist(members: Members, **changes: Any) -> None:
    """Make submission.json agree with the members again, as a careful forger would."""
    spec = submission(members) | changes
    spec["files"] = {path: sha256_hex(content) for path, content in members.items() if path != "submission.json"}
    members["submission.json"] = json.dumps(spec).encode()


def test_the_same_submission_is_the_same_bytes(check: Check, data: bytes) -> None:
    extras = Extras(agent="alice", minutes=12.5, tokens={"input": 3}, log={"a/b.txt": b"log"})
    assert pack(check, extras) == data
    assert bundle_name(data) == f"submission-{sha256_hex(data)[:16]}.tar.gz"


def test_what_is_in_it(data: bytes, check: Check, toy_task: Task) -> None:
    members = unpack_members(data, source="b")
    assert sorted(members) == [
        "log/a/b.txt",
        "sources/Toy.lean",
        "submission.json",
        "task/original/Toy.lean",
        "task/task.toml",
        "terms.ndjson",
    ]
    spec = submission(members)
    assert (spec["count"], spec["original_count"], spec["agent"], spec["track"]) == (206, 254, "alice", "open")
    assert (spec["minutes"], spec["budget_minutes"], spec["tokens"]) == (12.5, None, {"input": 3})
    bundle = unpack(data, source="b")
    assert bundle.problems == ()
    assert bundle.task == toy_task
    assert bundle.terms == check.terms


def test_an_invalid_check_is_not_packed(toy_task: Task, toy_sources: dict[str, bytes], kernel: LeanKernel) -> None:
    bad = check_sources(toy_task, {"Toy.lean": toy_sources["Toy.lean"].replace(b"zero_add_by_helper", b"z")}, kernel)
    with pytest.raises(DataError, match="target zero_add_by_helper is not declared"):
        pack(bad, Extras())


def test_a_track_has_a_budget(check: Check) -> None:
    packed = pack(check, Extras(kind="agent", track="agent-120", minutes=120))
    assert submission(unpack_members(packed, source="b"))["budget_minutes"] == 120
    for extras in ({"kind": "agent", "minutes": 61}, {"kind": "agent"}, {"kind": "record", "minutes": 9}):
        with pytest.raises(DataError, match="track agent-60 is for agents within 60 minutes"):
            Extras(track="agent-60", **extras)


@pytest.mark.parametrize(
    ("given", "minutes", "kind", "track", "counts"),
    [
        ("record", 5, "record", "open", ["open"]),
        ("agent", None, "agent", "open", ["open"]),
        ("agent", 0, "agent", "open", ["open"]),
        ("agent", 60, "agent", "agent-60", ["open", "agent-60", "agent-120"]),
        ("agent", 60.5, "agent", "agent-120", ["open", "agent-120"]),
        ("agent", 121, "agent", "open", ["open"]),
        ("agent-120", 30, "agent", "agent-120", ["open", "agent-60", "agent-120"]),
    ],
)
def test_kinds_and_minutes_decide_the_tracks(
    given: str, minutes: float | None, kind: str, track: str, counts: list[str]
) -> None:
    found = track_of(given, minutes)
    assert found == (kind, track)
    assert tracks_of(found[0], minutes) == counts


@pytest.mark.parametrize("name", ["", " ", "a\x1b[31m", "e\u0301", "a\u202eb", "a\u200bb", "x" * 101])
def test_names_that_cannot_be_shown_are_refused_by_participant_and_verifier(data: bytes, name: str) -> None:
    with pytest.raises(DataError, match="--agent"):
        Extras(agent=name)
    members = unpack_members(data, source="b")
    relist(members, agent=name)
    problems = unpack(pack_members(members), source="b").problems
    assert [problem.split(":")[0] for problem in problems] == ["agent"]


def change_source(members: Members) -> None:
    members["sources/Toy.lean"] += b"\n"


def change_terms(members: Members) -> None:
    members["terms.ndjson"] = members["terms.ndjson"].replace(b'"bvar":0', b'"bvar":1')


def change_task(members: Members) -> None:
    members["task/task.toml"] = members["task/task.toml"].replace(b"original_count = 254", b"original_count = 999")
    relist(members)


def change_original(members: Members) -> None:
    members["task/original/Toy.lean"] += b"\n"


def change_log(members: Members) -> None:
    members["log/a/b.txt"] = b"nothing happened"


def add_member(members: Members) -> None:
    members["sources/Extra.lean"] = b""


def remove_terms(members: Members) -> None:
    del members["terms.ndjson"]


def change_count(members: Members) -> None:
    spec = submission(members)
    members["submission.json"] = json.dumps(spec | {"count": 5}).encode()


def change_budget(members: Members) -> None:
    members["submission.json"] = json.dumps(submission(members) | {"track": "agent-60"}).encode()


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (change_source, "sources/Toy.lean: changed"),
        (change_terms, "terms.ndjson: changed"),
        (change_task, "task: its SHA-256 is"),
        (change_original, "original/Toy.lean: changed"),
        (change_log, "log/a/b.txt: changed"),
        (add_member, "sources/Extra.lean: is not listed"),
        (remove_terms, "terms.ndjson: is missing"),
        (change_count, "count: submission.json says 5, its charges sum to 206"),
        (change_budget, "effort: track agent-60 is for agents within 60 minutes; this is: record, minutes 12.5"),
    ],
)
def test_each_change_is_named_without_running_anything(
    data: bytes, tamper: Callable[[Members], None], said: str
) -> None:
    members = unpack_members(data, source="b")
    tamper(members)
    try:
        problems = unpack(pack_members(members), source="b").problems
    except DataError as exc:
        problems = (str(exc),)
    assert any(said in problem for problem in problems), problems


def test_a_file_under_another_name_is_noticed(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / bundle_name(data)
    path.write_bytes(data)
    assert read_bundle(path).problems == ()
    other = path.rename(tmp_path / "submission-0000000000000000.tar.gz")
    said = f"its SHA-256 {sha256_hex(data)} says {bundle_name(data)}"
    assert read_bundle(other).problems == (f"the file's name is {other.name}, {said}",)


def lie_about_count(members: Members) -> None:
    charges = submission(members)["charges"] | {"zero_add_by_helper": 1}
    relist(members, charges=charges, count=sum(charges.values()))


def lie_about_charges(members: Members) -> None:
    charges = submission(members)["charges"]
    charges = {**charges, "MyNat": charges["MyNat"] - 1, "MyNat.add": charges["MyNat.add"] + 1}
    relist(members, charges=charges)


def lie_about_terms(members: Members) -> None:
    members["terms.ndjson"] += b"\n"
    relist(members)


def swap_sources(members: Members) -> None:
    members["sources/Toy.lean"] = members["task/original/Toy.lean"]
    relist(members)


def break_proof(members: Members) -> None:
    members["sources/Toy.lean"] = members["sources/Toy.lean"].replace(b"MyNat.succ ih) n", b"MyNat.succ n) n")
    relist(members)


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (lie_about_count, "count: is 206, submission.json claims 121"),
        (lie_about_charges, "charges: submission.json claims other nodes for MyNat, MyNat.add"),
        (lie_about_terms, "terms: the sources build to terms with SHA-256"),
        (swap_sources, "count: is 254, submission.json claims 206"),
        (break_proof, "Toy.lean:"),
    ],
)
def test_a_careful_forgery_is_found_by_checking_again(
    data: bytes, kernel: LeanKernel, tamper: Callable[[Members], None], said: str
) -> None:
    members = unpack_members(data, source="b")
    tamper(members)
    forged = pack_members(members)
    assert unpack(forged, source="b").problems == ()
    outcome = verify_bundle(unpack(forged, source="b"))
    assert any(said in problem for problem in outcome["problems"]), outcome["problems"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[:-9], "is cut"),
        (lambda data: data + b"x", "bytes after its end"),
        (lambda data: b"hello", "is not a readable .tar.gz"),
        (lambda data: pack_members({"submission.json": b"{}"}), "submission.json: task: Field required"),
        (lambda data: pack_members({}), "holds no submission.json"),
        (lambda data: pack_members({"../x": b""}), "not a plain file with a relative path"),
        (lambda data: pack_members({"/x": b""}), "not a plain file with a relative path"),
    ],
)
def test_what_is_no_bundle(data: bytes, damage: Callable[[bytes], bytes], said: str) -> None:
    with pytest.raises(DataError, match=said):
        unpack(damage(data), source="b")


def test_logs_and_tokens(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "x.txt").write_bytes(b"1")
    assert read_log(tmp_path / "log") == {"x.txt": b"1"}
    (tmp_path / "log" / "link").symlink_to("/etc/passwd")
    with pytest.raises(DataError, match="symbolic link"):
        read_log(tmp_path / "log")
    with pytest.raises(DataError, match="is not a directory"):
        read_log(tmp_path / "log" / "x.txt")
    tokens = tmp_path / "tokens.json"
    tokens.write_text('{"input": 1}')
    assert read_tokens(tokens) == {"input": 1}
    tokens.write_text("[1]")
    with pytest.raises(DataError, match="holds no JSON object but list"):
        read_tokens(tokens)
    tokens.write_text("{")
    with pytest.raises(DataError, match="is not JSON"):
        read_tokens(tokens)


# --- verification and receipts


@pytest.fixture(scope="session")
def outcome(data: bytes, kernel: LeanKernel) -> dict[str, Any]:
    return verify_bundle(unpack(data, source="b"))


def test_verification_finds_the_same(outcome: dict[str, Any]) -> None:
    assert (outcome["verdict"], outcome["problems"], outcome["count"]) == ("valid", [], 206)
    assert outcome["verifier"]["task_source"] == "bundle"


def test_verification_says_how_it_was_isolated(data: bytes, outcome: dict[str, Any]) -> None:
    assert outcome["verifier"]["isolation"] in MEANS
    unsafe = verify_bundle(unpack(data, source="b"), isolation=UNSAFE)
    assert (unsafe["verdict"], unsafe["verifier"]["isolation"]) == ("valid", "none")


def test_another_task_than_the_organisers_is_refused(data: bytes, toy_task: Task) -> None:
    other = replace(toy_task, sha256="0" * 64)
    found = verify_bundle(unpack(data, source="b"), trusted=[other])
    assert found["verdict"] == "invalid"
    assert "those given are toy 0000" in found["problems"][0]
    assert found["count"] is None


@pytest.fixture
def key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture
def parts(data: bytes, outcome: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(build_parts(unpack(data, source="b"), outcome, outcome["verifier"])))
    return found


def written(tmp_path: Path, content: dict[str, Any]) -> Path:
    path = tmp_path / "receipt.json"
    path.write_text(json.dumps(content))
    return path


def test_a_receipt_reads_back_and_is_sound(tmp_path: Path, parts: dict[str, Any], key: Ed25519PrivateKey) -> None:
    for private in (None, key):
        receipt = make_receipt(parts, TIME, private)
        again = read_receipt(written(tmp_path, receipt.as_json()))
        assert again == receipt
        assert receipt_problems(again) == []
        assert again.valid


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("task", "name", "another"),
        ("task", "sha256", "0" * 64),
        ("submission", "agent", "mallory"),
        ("submission", "sha256", "0" * 64),
        ("sources", "sha256", "0" * 64),
        ("terms", "sha256", "0" * 64),
        ("scores", "count", 1),
        ("verdict", "verdict", "invalid"),
        ("verifier", "isolation", "isolated (honestly)"),
        ("verifier", "kernel", "another kernel"),
    ],
)
def test_a_changed_part_is_named(
    tmp_path: Path, parts: dict[str, Any], key: Ed25519PrivateKey, signed: bool, part: str, field: str, value: Any
) -> None:
    content = make_receipt(parts, TIME, key if signed else None).as_json()
    content["parts"][part] = {**content["parts"][part], field: value}
    found = receipt_problems(read_receipt(written(tmp_path, content)))
    assert found == [f"{part}: changed after the receipt was made (its link in the chain does not match)"]


@pytest.mark.parametrize("part", PARTS)
def test_a_receipt_made_anew_over_a_lie_loses_its_signature(
    tmp_path: Path, parts: dict[str, Any], key: Ed25519PrivateKey, part: str
) -> None:
    signature = make_receipt(parts, TIME, key).as_json()["signature"]
    first = next(iter(parts[part]))
    parts[part][first] = ["a lie"] if first == "problems" else 5 if first == "count" else "a lie"
    content = make_receipt(parts, TIME, None).as_json() | {"signature": signature}
    assert receipt_problems(read_receipt(written(tmp_path, content))) == [
        "signature: does not match what the receipt says"
    ]


def test_the_root_does_not_depend_on_the_time_but_the_signature_binds_it(
    tmp_path: Path, parts: dict[str, Any], key: Ed25519PrivateKey
) -> None:
    receipt = make_receipt(parts, TIME, key)
    later = make_receipt(parts, "2027-01-02T03:04:05+00:00", key)
    assert receipt.root == later.root
    content = receipt.as_json() | {"verified_at": later.verified_at}
    assert receipt_problems(read_receipt(written(tmp_path, content))) == [
        "signature: does not match what the receipt says"
    ]


def test_a_key_that_is_there_twice_is_no_receipt(tmp_path: Path, parts: dict[str, Any]) -> None:
    text = json.dumps(make_receipt(parts, TIME, None).as_json())
    path = tmp_path / "receipt.json"
    path.write_text(text.replace('"count": 206', '"count": 1, "count": 206'))
    with pytest.raises(DataError, match="a key is there twice"):
        read_receipt(path)


def test_who_signed_matters_when_asked(parts: dict[str, Any], key: Ed25519PrivateKey) -> None:
    ours = key.public_key().public_bytes_raw().hex()
    assert receipt_problems(make_receipt(parts, TIME, key), trusted=ours) == []
    other = Ed25519PrivateKey.generate()
    assert "not by the trusted key" in receipt_problems(make_receipt(parts, TIME, other), trusted=ours)[0]
    assert "unsigned" in receipt_problems(make_receipt(parts, TIME, None), trusted=ours)[0]


def test_a_receipt_of_another_bundle_is_noticed(data: bytes, parts: dict[str, Any], check: Check) -> None:
    receipt = make_receipt(parts, TIME, None)
    assert bundle_mismatches(receipt, unpack(data, source="b")) == []
    other = unpack(pack(check, Extras(agent="bob")), source="b")
    assert [problem.split(":")[0] for problem in bundle_mismatches(receipt, other)] == ["submission"]


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("parts"),
        lambda content: content["parts"].pop("terms"),
        lambda content: content.update(format=1),
        lambda content: content.update(format=3),
        lambda content: content.update(extra="x"),
        lambda content: content["parts"]["task"].update(extra="x"),
        lambda content: content["chain"].update(extra="x"),
        lambda content: content.update(verified_at=5),
        lambda content: content.update(signature={"algorithm": "RSA", "public_key": "0" * 64, "signature": "0" * 128}),
        lambda content: content.update(signature={"algorithm": "Ed25519", "public_key": "0" * 64}),
        lambda content: content["parts"]["submission"].update(kind="team"),
        lambda content: content["parts"]["submission"].update(minutes=True),
        lambda content: content.update(root="0"),
        lambda content: content["parts"]["scores"].update(count="few"),
        lambda content: content["parts"]["verifier"].pop("isolation"),
    ],
)
def test_what_is_no_receipt(tmp_path: Path, parts: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads(json.dumps(make_receipt(parts, TIME, None).as_json()))
    change(content)
    with pytest.raises(DataError):
        read_receipt(written(tmp_path, content))


def test_keys(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    public = make_key(path)
    assert path.stat().st_mode & 0o077 == 0
    assert load_key(path).public_key().public_bytes_raw().hex() == public
    with pytest.raises(DataError, match="cannot be written"):
        make_key(path)
    with pytest.raises(DataError, match="compressionbench keygen"):
        load_key(tmp_path / "none.pem")
    path.write_text("no key")
    with pytest.raises(DataError, match="not an unencrypted private key"):
        load_key(path)
