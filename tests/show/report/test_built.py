"""The built scripts are those of the committed sources, and nobody has edited them by hand."""

import hashlib
import json
import re

from tests.support import ROOT

REPORT = ROOT / "proverbench" / "show" / "report"
SCRIPT = REPORT / "script"
PAGES = [ROOT / "proverbench" / part for part in ("show/report/page", "compression/page", "retrieval/page")]
SOURCE = re.compile(r".+\.(ts|mjs)|package(-lock)?\.json")
BUILT = json.loads((REPORT / "page" / "built.json").read_text(encoding="utf-8"))
REMEDY = "run `make page` (needs npm) and commit what it builds"


def sources() -> list[str]:
    names = [path.relative_to(SCRIPT).as_posix() for path in SCRIPT.rglob("*") if path.is_file()]
    return sorted(name for name in names if not name.startswith("node_modules/") and SOURCE.fullmatch(name))


def test_built_scripts_are_from_these_sources() -> None:
    state = hashlib.sha256()
    for name in sources():
        state.update(name.encode() + b"\0" + (SCRIPT / name).read_bytes() + b"\0")
    assert len(sources()) > 30
    assert state.hexdigest() == BUILT["sources"], REMEDY


def test_built_scripts_are_unchanged() -> None:
    pages = {path.resolve() for folder in PAGES for path in folder.glob("*.js")}
    assert pages == {(REPORT / "page" / name).resolve() for name in BUILT["files"]}, "every script of a page is built"
    for name, digest in BUILT["files"].items():
        assert hashlib.sha256((REPORT / "page" / name).read_bytes()).hexdigest() == digest, f"{name}: {REMEDY}"


def test_modules_have_one_purpose_each() -> None:
    for name in sources():
        text = (SCRIPT / name).read_text(encoding="utf-8")
        if name.endswith(".ts"):
            assert len(text.splitlines()) <= 400, f"{name} has more than 400 lines: split it"
            assert re.match(r"/\*", text), f"{name}: the first line says what the module is for"
