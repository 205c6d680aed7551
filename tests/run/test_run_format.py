"""docs/run-format.md names every field of every file of a run."""

import json
import re
from pathlib import Path

import pytest

from proverbench import records
from proverbench.run.manifest import FORMAT_VERSION
from tests.support import ROOT, proof_rows, write_config, write_rows

PAGE = (ROOT / "docs" / "run-format.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([a-z0-9_]+)`", PAGE))

STRUCTS = [
    records.Manifest, records.ShardPlace, records.Identity, records.RoleIdentity, records.Extent, records.Problem,
    records.Proof, records.CallLine, records.AttemptLine, records.SessionLine, records.FinalLine, records.BatchLine,
    records.ProofRecord, records.Judgment, records.MetaJudgment, records.Summary, records.SplitSummary,
]  # fmt: skip


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_every_field_is_documented(struct):
    assert set(struct.__struct_fields__) - NAMED == set()


def test_every_type_of_line_is_documented():
    tags = {struct.__struct_config__.tag for struct in records.Line.__args__}
    assert tags == set(re.findall(r"^\*\*`([a-z]+)`\*\*", PAGE, re.MULTILINE))


def test_the_version_is_the_one_in_the_code():
    assert f"Version {FORMAT_VERSION} of the format" in PAGE


def test_every_file_and_every_field_of_timing_is_documented(command, tmp_path, server):
    write_rows(tmp_path / "proofs.jsonl", proof_rows(2))
    write_config(tmp_path / "config.toml", server.base_url)
    command("verify", "--data", "proofs.jsonl", "--config", "config.toml", "--meta", "--output", "r")
    for path in Path("r").iterdir():
        assert f"`{path.name}" in PAGE
    timing = json.loads(Path("r", "timing.json").read_bytes())
    fields = set(timing) | set(timing["sessions"][0]) | set(next(iter(timing["roles"].values())))
    assert fields - NAMED == set()
