"""The term viewer's numbers, and the page."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from proverbench.compression import reporting as report_module
from proverbench.compression.building import compile_files
from proverbench.compression.charges import charge
from proverbench.compression.checking import check_sources
from proverbench.compression.collecting import Apart
from proverbench.compression.export import APP, BVAR, CONST, KIND_NAMES, SORT, Axiom, Theorem
from proverbench.compression.export_building import Builder
from proverbench.compression.export_reading import read_export
from proverbench.compression.export_writing import write_export
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.olean import read_oleans
from proverbench.compression.ranking import RankedTask, Run, rank_tracks
from proverbench.compression.reporting import render_report, view_check
from proverbench.compression.rules_page import example
from proverbench.compression.tasks import Task
from proverbench.compression.viewing import view_charge


def own(view: dict[str, Any], node: int) -> int:
    nodes = view["nodes"]
    return int(nodes["count"][node]) - sum(int(nodes["count"][child]) for child in nodes["children"][node])


def test_every_node_says_where_its_count_goes(lean_data: Path) -> None:
    export = read_export(lean_data / "toy.mdata.ndjson")
    view = view_charge(export, charge(export, ["zero_add", "pair_eta"], []))
    nodes = view["nodes"]
    for node, kind in enumerate(nodes["kind"]):
        if KIND_NAMES[kind] in ("application", "λ", "∀", "let", "projection", "bound variable"):
            assert own(view, node) == 1
        assert KIND_NAMES[kind] != "metadata"
    assert view["count"] == sum(item["nodes"] for item in view["items"])
    for item in view["items"]:
        assert item["nodes"] == sum(part["nodes"] for part in item["parts"])
        assert all(nodes["count"][part["root"]] == part["nodes"] for part in item["parts"])
    assert [item["nodes"] for item in view["items"]] == sorted((item["nodes"] for item in view["items"]), reverse=True)


def test_labels(lean_data: Path) -> None:
    export = read_export(lean_data / "toy.ndjson")
    nodes = view_charge(export, charge(export, ["pair_eta", "zero_add"], []))["nodes"]
    assert {"congrArg.{1, 1}", "Sort 1", "Pair field 0", "ih", "MyNat.succ"} <= set(nodes["label"])


def test_numbers_beyond_javascript_are_texts() -> None:
    builder = Builder()
    t = builder.name_of(0, "T")
    type_ = builder.term(SORT)
    const = builder.term(CONST, name=t, a=builder.level_list(()))
    term = const
    for _ in range(60):
        term = builder.term(APP, a=term, b=term)
    builder.export.declarations = [Axiom(t, [], type_), Theorem(builder.name_of(0, "big"), [], const, term)]
    view = view_charge(builder.export, charge(builder.export, ["big"], []))
    assert view["items"][0]["nodes"] == str(2**61 - 1)
    assert max(len(str(count)) for count in view["nodes"]["count"]) == 19
    assert len(view["nodes"]["kind"]) == 62


def test_what_is_too_large_is_listed_but_not_carried(monkeypatch: pytest.MonkeyPatch, lean_data: Path) -> None:
    monkeypatch.setattr("proverbench.compression.viewing.LARGEST", 50)
    export = read_export(lean_data / "toy.ndjson")
    view = view_charge(export, charge(export, ["zero_add"], []))
    assert view["count"] == 407
    assert len(view["nodes"]["kind"]) <= 50
    assert any(part["root"] is None for item in view["items"] for part in item["parts"])


def test_the_page_holds_everything_and_runs_nothing_else(
    toy_task: Task, shorter: dict[str, bytes], kernel: LeanKernel
) -> None:
    check = check_sources(toy_task, shorter, kernel)
    hostile = "<img src=x onerror=alert(1)></script>"
    tasks = [RankedTask("s", "toy", 254, 240)]
    tables = rank_tracks([Run(hostile, "s", 206, "x"), Run("b", "s", None, "y")], tasks)
    page = render_report(tables, [Apart("r.json", hostile)], [view_check(check, hostile)])
    assert hostile not in page
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert "default-src &#x27;none&#x27;" in policy[1]
    packed = re.search(r'id="model">([^<]+)<', page)
    assert packed is not None
    model = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    (table,) = model["rankings"]
    assert (table["track"], table["tasks"][0]["original"], table["tasks"][0]["sharing"]) == ("open", 254, 240)
    assert model["apart"][0]["reason"] == hostile
    assert table["agents"][0] == {
        "agent": hostile,
        "average": 1.0,
        "no_score": 0,
        "counts": [206],
        "places": [1.0],
    }
    assert model["views"][0] == {"title": hostile, "task": "toy", "original": 254, "count": 206}
    assert [view["title"] for view in model["views"][1:]] == ["The example of the rules"]
    titles = [section["title"] for section in model["rules"]]
    assert {"Validity", "Kinds of change", "Tracks", "Receipts", "A complete example", "Glossary"} <= set(titles)
    assert BVAR == 0, "the page's script numbers the kinds alike"


PAGE = Path(report_module.__file__).parent / "page"


def test_the_example_s_terms_are_what_its_source_compiles_to(kernel: LeanKernel) -> None:
    base, own = (PAGE / "example-base.lean").read_bytes(), (PAGE / "example.lean").read_bytes()
    built = compile_files({"Base.lean": base, "Example.lean": own}, kernel)
    assert built.problems == ()
    export, _ = read_oleans([("Base", built.oleans["Base.lean"]), ("Example", built.oleans["Example.lean"])])
    assert write_export(export) == (PAGE / "example.ndjson").read_bytes()


def test_the_example_s_numbers_are_the_worked_ones() -> None:
    """As docs/compression-metrics.md works them out by hand."""
    _, charged, _ = example()
    nodes = {item.name: item.nodes for item in charged.items}
    parts = {part.label: part.nodes for item in charged.items for part in item.parts if item.name == "MyNat"}
    assert nodes["MyNat"] == 92
    assert (parts["type of MyNat.rec"], sum(nodes.values())) == (26, charged.count)
    # Three binders (3) over types of 1, 1 and `Eq.{1} MyNat n m` (3 + 3 + 3), then `@congrArg.{1,1} … ih`: 17 nodes.
    (lemma,) = (item for item in charged.items if item.name == "succ_congr")
    assert lemma.pays()["value"] == 3 + 1 + 1 + 9 + 17
    assert charged.count == 76 + 67 + 92 + 28 + 58
