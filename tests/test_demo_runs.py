"""The committed runs are what this version would derive from their sources."""

import shutil

import pytest

from proverbench.run.folder import write_derived
from proverbench.run.sources import Sources
from tests.support import ROOT


@pytest.mark.parametrize("name", ["demo-prover", "demo-verifier"])
def test_derived_files_are_rebuilt_byte_for_byte(name, tmp_path):
    shutil.copytree(ROOT / "runs" / name, tmp_path / name)
    before = {path.name: path.read_bytes() for path in (tmp_path / name).glob("*.json*")}
    sources = Sources(tmp_path / name)
    assert write_derived(sources).complete
    sources.close()
    assert {path.name: path.read_bytes() for path in (tmp_path / name).glob("*.json*")} == before
