"""The built wheel works outside the checkout, in an environment of its own."""

import json
import os
import re
import shlex
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from proverbench.cli import main
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
    here = sorted({str(Path(path).resolve()) for path in sys.path if path.endswith("site-packages")})
    (site / "dependencies.pth").write_text(f"import sys; sys.path.extend({here!r})\n")
    return folder / "env/bin"


def _run(installed, *arguments, cwd):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(arguments, cwd=cwd, env=clean, capture_output=True, text=True, timeout=500, check=False)


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


_NOT_RUN = {
    "proverbench view": "serves until it is stopped",
    "proverbench label": "likewise",
    "proverbench rehearse": "likewise",
    "proverbench data fetch": "goes to the network",
    "proverbench data import": "reads other people's files",
    "proverbench study": "needs a completed study file; tests/cli/test_init.py runs the one of init",
    "studies/": "likewise",
    "proverbench protocol check": "reads a file of one's own",
    "proverbench data split": "likewise",
    "--follow": "watches until it is stopped",
    "--labels": "needs labels that people gave",
    "--invalid": "needs invalid replies",
    "--calibration": "a rehearsed judge judges at random, which a correction refuses",
}
_STANDS_FOR = {
    r"(shipped:embedded|shipped:local|configs/local\.toml|rehearse\.toml)": "config.toml",
    r"(verifierbench .*)runs/NAME": r"\1runs/CALIBRATION",
    r"verifier/ID/": "verifier/{first}/",
    r"http://127\.0\.0\.1:8000/v1": "{url}",
    r"--data data/": "--data mine/data/",
    r"runs/PILOT": "runs/NAME",
    r"runs/ONE": "runs/A",
    r"runs/OTHER": "runs/B",
    r"--choose 40": "--choose 4",
    r" … ": " --data shipped:proverbench --config config.toml --verifier-repeats 1 ",
}
# In one process: what takes time is to import everything, once.
_RUN_ALL = """
import json, shutil, sys
from proverbench.cli import main
from proverbench.cli.verify import command as verifierbench

failed = []
for line, (program, *words) in json.load(open("commands.json")):
    if "--shard 1/" not in line and "--shard 2/" not in line and "merge" not in line:
        shutil.rmtree("runs", ignore_errors=True)
        shutil.copytree("pristine", "runs")
    try:
        (verifierbench if program == "verifierbench" else main)(words, prog_name=program)
    except SystemExit as exc:
        if exc.code:
            failed.append(f"exit {exc.code}: {line}")
if failed:
    sys.exit("; ".join(failed))
"""


def _commands_of_help(command: click.Command, context: click.Context) -> Iterator[str]:
    """Each line of the help texts that is a command, without the comment after it."""
    text = re.sub(r"(\\\n|\n(?=\s{8,}--))\s*", " ", command.help or "")
    for line in text.splitlines():
        if found := re.search(r"(?:^|: )\s*((?:proverbench|verifierbench) (?:-|[a-z]+ ).*)$", line):
            yield re.split(r" {2,}| >", found[1])[0]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from _commands_of_help(child, context)


def _commands_of_readme() -> Iterator[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).splitlines()
    spans = re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for line in [*blocks, *(" ".join(span.split()) for span in spans)]:
        if re.match(r"(proverbench|verifierbench) (-|[a-z]+ )", line):
            yield line.split("  ")[0]


def _to_run() -> list[str]:
    found = dict.fromkeys([*_commands_of_help(main, click.Context(main)), *_commands_of_readme()])
    return [line for line in found if not any(mark in line for mark in _NOT_RUN)]


def test_every_command_of_help_and_readme_runs_in_an_empty_folder(installed, server, tmp_path):
    """Placeholders stand for runs that are made first, the embedded model for a rehearsed one."""
    lines = _to_run()
    assert len(lines) > 20
    write_config(tmp_path / "config.toml", server.base_url)
    few = ["--data", "shipped:proverbench", "--config", "config.toml", "--limit", "4", "--samples", "2"]
    for name, options in {"NAME": [], "A": [], "B": ["--no-use-reference-solution"]}.items():
        made = _run(
            installed, installed / "proverbench", "run", *few, *options, "--verifier-repeats", "3",
            "--output", f"pristine/{name}", cwd=tmp_path,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
    made = _run(
        installed, installed / "verifierbench", "--data", "shipped:verifierbench", "--config", "config.toml",
        "--use-reference-solution", "--verifier-repeats", "3", "--output", "pristine/CALIBRATION", cwd=tmp_path,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    first = json.loads((tmp_path / "pristine/NAME/inputs.jsonl").read_text().splitlines()[0])["problem_id"]
    commands = []
    for line in lines:
        known = line
        for pattern, meaning in _STANDS_FOR.items():
            known = re.sub(
                pattern, meaning.format(first=first, url=server.base_url) if "{" in meaning else meaning, known
            )
        commands.append((line, shlex.split(known, comments=True)))
    (tmp_path / "commands.json").write_text(json.dumps(commands))
    (tmp_path / "run_all.py").write_text(_RUN_ALL)
    ended = _run(installed, installed / "python", "run_all.py", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr[-3000:]
