import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_example_of_a_kind_of_ones_own_runs_as_said():
    text = (DOCS / "endpoints.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    said = re.search(r"It prints `([^`]*)`", text)
    assert done.stdout.strip() == said.group(1)
    assert len(code.splitlines()) < 60  # a page


def test_the_published_revision_is_served():
    text = (DOCS / "serving.md").read_text()
    assert text.count("--revision 2ad58735622f70bbe2f106049bcdf34f5bb93cfd") == 2
