"""`make docs` builds: every page is in the site, every link leads somewhere, the API and the gallery are there."""

import os
import subprocess
import sys

import pytest

from tests.support import ROOT

pytest.importorskip("mkdocs", reason="the extra [docs] is not installed")


def test_the_site_builds_strictly(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    site = tmp_path / "site"
    for page in ("index.html", "walks/paper/index.html", "gallery/both.html"):
        assert (site / page).is_file()
    assert "run_prover" in (site / "api/index.html").read_text(encoding="utf-8")
    missing = [path.stem for path in (ROOT / "docs").glob("*.md") if not (site / path.stem / "index.html").is_file()]
    assert missing == []
