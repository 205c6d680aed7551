"""Hooks of the site: its first page is the README, and the gallery is made of the committed runs."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
GALLERY = {
    "prover": ["runs/demo-prover"],
    "verifier": ["runs/demo-verifier"],
    "both": ["runs/demo-prover", "runs/demo-verifier"],
}


_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def _is_page(target: str) -> bool:
    return ":" in target or (ROOT / "docs" / target.partition("#")[0]).is_file()


def on_files(files: Files, config: Any) -> Files:
    """Add the README as the first page; files of the repository that are no pages lose their links."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    text = _LINK.sub(lambda link: link[0] if _is_page(link[2]) else link[1], text)
    files.append(File.generated(config, "index.md", content=text))
    return files


def on_post_build(config: Any) -> None:
    """Write the gallery's pages."""
    folder = Path(config["site_dir"]) / "gallery"
    folder.mkdir(exist_ok=True)
    for name, runs in GALLERY.items():
        paths = [str(ROOT / run) for run in runs]
        output = str(folder / f"{name}.html")
        subprocess.run([sys.executable, "-m", "proverbench", "report", *paths, "-o", output], check=True)
