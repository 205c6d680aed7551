"""The documents are true: links lead somewhere, commands and options exist, the README's Python runs."""

import re
import shlex

import click
import pytest

from proverbench.cli import main
from proverbench.rehearse import RehearseServer
from tests.support import ROOT, write_config

PAGES = sorted(
    path
    for path in [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("data/**/*.md"),
        *ROOT.glob("prompts/*.md"),
        *ROOT.glob("runs/*.md"),
    ]
    if path.name != "CHANGELOG.md"
)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def _anchors(text: str) -> set[str]:
    """Anchors as GitHub makes them of headings."""
    titles = (re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in _HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def _prose(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    broken = []
    for target in _LINK.findall(_prose(page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists() or (anchor and anchor not in _anchors(path.read_text(encoding="utf-8"))):
            broken.append(target)
    assert broken == []


def _commands(text: str) -> list[str]:
    """Each `proverbench …` and `verifierbench …` of code blocks and code spans."""
    code = [*re.findall(r"```(?:sh|bash|console)?\n(.*?)```", text, flags=re.DOTALL), *re.findall(r"`([^`\n]+)`", text)]
    joined = "\n".join(code).replace("\\\n", " ")
    return [
        line.strip().removeprefix("$ ")
        for line in joined.splitlines()
        if re.match(r"(\$ )?(proverbench [a-z]|verifierbench )", line.strip())
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_exist(page):
    context = click.Context(main)
    unknown = []
    for line in _commands(page.read_text(encoding="utf-8")):
        words = shlex.split(line, comments=True)
        command: click.Command | None = main
        words = ["verify", *words[1:]] if words[0] == "verifierbench" else words[1:]
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            command = command.get_command(context, words.pop(0))
        if command is None:
            unknown.append(line)
            continue
        options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        if given - options - {"--help", "-h", "--version"}:
            unknown.append(line)
    assert unknown == []


def test_readme_python_runs(tmp_path, capsys, monkeypatch):
    """On a rehearsed endpoint in place of the embedded model, which takes minutes."""
    (source,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    with RehearseServer.in_thread() as server:
        config = write_config(tmp_path / "config.toml", server.base_url)
        monkeypatch.chdir(tmp_path)
        exec(source.replace("shipped:embedded", str(config)), {})
    assert "pessimistic" in capsys.readouterr().out
