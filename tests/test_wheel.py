"""The built wheel works outside the checkout, in an environment of its own."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.support import ROOT, problem_rows, write_config, write_rows


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Folder of an environment that has the wheel and, through the test's own environment, what it depends on."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist", ROOT],
        check=True,
        capture_output=True,
    )
    (wheel,) = (folder / "dist").glob("*.whl")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env/bin/python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel],
        check=True,
        capture_output=True,
    )
    (site,) = (folder / "env/lib").glob("python*/site-packages")
    # The dependencies of this environment, behind the wheel: only the package itself must come from the wheel.
    (here,) = {str(Path(path).resolve()) for path in sys.path if path.endswith("site-packages")}
    (site / "dependencies.pth").write_text(f"import sys; sys.path.append({here!r})\n")
    return folder / "env/bin"


def _run(installed, *arguments, cwd):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(arguments, cwd=cwd, env=clean, capture_output=True, text=True, timeout=120, check=False)


def test_runs_with_its_own_prompts(installed, server, tmp_path):
    where = _run(installed, installed / "python", "-c", "import proverbench; print(proverbench.__file__)", cwd=tmp_path)
    assert str(installed.parent) in where.stdout
    write_rows(tmp_path / "problems.jsonl", problem_rows(2))
    write_config(tmp_path / "config.toml", server.base_url)
    ended = _run(
        installed, installed / "proverbench", "run", "--data", "problems.jsonl", "--config", "config.toml",
        "--verifier-repeats", "1", "--output", "r", cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "r/prompts/verifier.txt").read_bytes() == (ROOT / "prompts/verifier.txt").read_bytes()


@pytest.mark.parametrize("script", ["proverbench", "verifierbench", "retrievalbench", "compressionbench"])
def test_every_command_is_installed(installed, script, tmp_path):
    ended = _run(installed, installed / script, "--help", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "Usage" in ended.stdout
