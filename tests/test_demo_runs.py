"""The committed runs are what this version would derive from their sources."""

import shutil

import pytest

from proverbench.run.folder import write_derived
from proverbench.run.sources import Sources
from proverbench.run.study import cells_of
from tests.support import ROOT

STUDY = [str(cell.path.relative_to(ROOT / "runs")) for cell in cells_of(ROOT / "runs/demo-study")]


def test_the_study_is_there():
    assert len(STUDY) == 6


@pytest.mark.parametrize("name", ["demo-prover", "demo-verifier", *STUDY])
def test_derived_files_are_rebuilt_byte_for_byte(name, tmp_path):
    shutil.copytree(ROOT / "runs" / name, tmp_path / name)
    before = {path.name: path.read_bytes() for path in (tmp_path / name).glob("*.json*")}
    sources = Sources(tmp_path / name)
    assert write_derived(sources).complete
    sources.close()
    assert {path.name: path.read_bytes() for path in (tmp_path / name).glob("*.json*")} == before
