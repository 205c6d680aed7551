"""Which room may import which: an arrow that is not here is a decision to take (docs/architecture.md)."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import proverbench

PACKAGE = Path(proverbench.__file__).parent

PURE = "benchmark errors lines protocols metrics records redact selection shipped spending tables unseen version"
"""Rooms that touch no disk, net, clock or environment, but for templates and what is shipped, which are read."""

ARROWS = {
    # pure
    "errors": "",
    "version": "",
    "lines": "",
    "unseen": "",
    "redact": "unseen",
    "records": "",
    "tables": "errors",
    "benchmark": "records",
    "selection": "errors records",
    "shipped": "errors",
    "protocols": "errors records shipped",
    "metrics": "benchmark errors records",
    "spending": "records tables",
    # what is asked, and where
    "concurrency": "",
    "endpoints.kinds": "redact",
    "endpoints": "concurrency endpoints.kinds errors inputs lines redact spending",
    "inputs": "benchmark endpoints.kinds errors protocols records redact run selection shipped spending tables version",
    # runs
    "run": "benchmark endpoints.kinds errors lines metrics protocols records selection spending unseen version",
    "ask": "benchmark concurrency endpoints endpoints.kinds errors inputs protocols records run selection spending "
    "tables version",
    "people": "benchmark errors inputs metrics records run",
    # what people use
    "show": "benchmark errors metrics people protocols records run selection spending unseen version",
    "rehearse": "errors protocols records run",
    "api": "ask benchmark endpoints errors inputs records run",
    "cli": "ask benchmark endpoints endpoints.kinds errors inputs metrics people protocols records rehearse run show "
    "spending unseen",
    "retrieval": "cli concurrency endpoints errors inputs metrics run shipped show version",
    "compression": "cli endpoints errors inputs protocols shipped show version",
    "proverbench": "api endpoints errors inputs metrics protocols show",
    "__main__": "cli compression retrieval",
}
"""Room → the rooms that it may import. A room is a folder or a module of ``proverbench/``."""


def _room(module: str) -> str:
    parts = module.split(".")[1:]
    if parts[:2] == ["endpoints", "kinds"]:
        return "endpoints.kinds"
    return parts[0] if parts else "proverbench"


def _imports(tree: ast.Module) -> set[str]:
    """Modules of which something is imported somewhere in a module, but for its types' sake."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {node.module or "" for node in found if isinstance(node, ast.ImportFrom) and node.module != "proverbench"}
    names |= {
        f"proverbench.{alias.name}"
        for node in found
        if isinstance(node, ast.ImportFrom) and node.module == "proverbench"
        for alias in node.names
    }
    return names | {alias.name for node in found if isinstance(node, ast.Import) for alias in node.names}


def _by_room() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        found.setdefault(_room(module), set()).update(_imports(ast.parse(path.read_text(encoding="utf-8"))))
    found["proverbench"] |= {f"proverbench.{home}" for home in proverbench._HOMES.values()}  # loaded when used
    return found


BY_ROOM = _by_room()


def test_every_room_has_a_line():
    assert set(BY_ROOM) == set(ARROWS)


def test_rooms_import_exactly_what_is_drawn():
    ours = {
        room: {_room(name) for name in names if name.split(".")[0] == "proverbench"} - {room}
        for room, names in BY_ROOM.items()
    }
    assert {room: " ".join(sorted(arrows)) for room, arrows in ours.items()} == ARROWS


def test_no_way_leads_back_into_a_room():
    TopologicalSorter({room: arrows.split() for room, arrows in ARROWS.items()}).prepare()  # raises CycleError


def test_pure_rooms_import_pure_rooms_and_nothing_that_touches_the_world():
    worldly = {
        "os",
        "socket",
        "time",
        "asyncio",
        "subprocess",
        "aiohttp",
        "requests",
        "tempfile",
        "shutil",
        "threading",
    }
    for room in PURE.split():
        assert set(ARROWS[room].split()) <= set(PURE.split()), room
        assert not {name.split(".")[0] for name in BY_ROOM[room]} & worldly, room
