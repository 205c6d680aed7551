"""The files of the LeanSearch v2 release, as released: loaded, rendered, scored (retrieval_cases.json)."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proverbench.errors import ConfigError, DataError
from proverbench.retrieval.benchmarks import load_benchmark
from proverbench.retrieval.corpus import load_corpus
from proverbench.retrieval.derive import scores_of
from proverbench.retrieval.gold import find_positions, resolve_gold
from proverbench.retrieval.metrics import macro_mean
from proverbench.retrieval.records import Document, Query
from proverbench.retrieval.render import TextTemplate, renderer_of
from proverbench.retrieval.settings import VectorSettings
from proverbench.retrieval.strings import load_strings
from proverbench.retrieval.subsets import load_missing, load_subset
from proverbench.retrieval.systems.imported import ImportedVectors
from tests.retrieval.support import make_context, make_query
from tests.support import SHARED, every

pytestmark = pytest.mark.shared
RELEASED = SHARED / "data/retrieval/released-shapes"


def case(case_id: str) -> Any:
    cases = json.loads((SHARED / "vectors/retrieval_cases.json").read_text(encoding="utf-8"))["cases"]
    return next(one for one in cases if one["id"] == case_id)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def written(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def made_up_mpr(path: Path) -> Path:
    rows = [
        {
            "id": f"mathlibmpr_{i:03}",
            "pr": 1,
            "formal_main_result": f"T{i}",
            "NL_main_result": "t",
            "formal_statement": f"theorem T{i} : True := by sorry",
            "premise_group": [{"kind": "original", "docs": [f"T{i}.g{j}"]} for j in range(n)],
        }
        for i, n in enumerate(case("R01")["input"]["groups_per_row"])
    ]
    return written(path, rows)


def test_a_file_is_the_published_one_by_its_hash_not_by_its_counts(tmp_path: Path) -> None:
    path = made_up_mpr(tmp_path / "MathlibMPR.json")
    with pytest.raises(DataError, match="91a52d4998e81663effcf94cfe72908054577a2a9c16ddd7b32bc61657f4f9a7"):
        load_benchmark(path, "mathlibmpr")
    assert load_benchmark(path, "mathlibmpr", allow_modified=True).published is False


def test_both_statements_can_be_asked(tmp_path: Path) -> None:
    path = made_up_mpr(tmp_path / "m.json")

    def asked(text: str) -> str:
        return load_benchmark(path, "mathlibmpr", allow_modified=True, query_text=text).queries[3].text

    assert asked("formal") == asked("") == "theorem T3 : True := by sorry"
    assert asked("natural") == "t"
    assert asked("both") == "theorem T3 : True := by sorry\nt"
    with pytest.raises(DataError, match="without a choice of text"):
        load_benchmark(RELEASED / "MathlibQR.sample7.json", "mathlibqr", allow_modified=True, query_text="both")


def test_covered_has_three_definitions(tmp_path: Path) -> None:
    asked = case("R02")["input"]["queries"]
    rows = [
        {"id": str(i), "formal_statement": "s", "NL_main_result": "n", "premise_group": query["premise_group"]}
        for i, query in enumerate(asked)
    ]
    benchmark = load_benchmark(written(tmp_path / "m.json", rows), "mathlibmpr", allow_modified=True)
    docs = {doc for query in asked for group in query["premise_group"] for doc in group["docs"]}
    lines = "".join(json.dumps({"name": doc}) + "\n" for doc in sorted(docs))
    corpus = load_corpus(written(tmp_path / "c.jsonl", lines))
    gold = [resolve_gold(query, corpus.rows_of) for query in benchmark.queries]
    positions = {
        query.id: find_positions(query.id, [corpus.row(name) for name in asked[i]["retrieved"]], query.units)
        for i, query in enumerate(gold)
    }
    scores = scores_of(gold, positions, k_max=200, service_cap=None)
    for i, query in every(enumerate(asked)):
        assert positions[str(i)].positions == query["expected"]["positions"]
        for k in (5, 10, 20, 30, 50):
            found = {name: values[i, k - 1] for name, values in scores.curves.items() if name in query["expected"]["5"]}
            assert found == pytest.approx(query["expected"][str(k)], abs=1e-12), query["name"]
    macro = {name: macro_mean(scores.curves[name])[9] for name in case("R02")["expected"]["macro_at_10"]}
    assert macro == pytest.approx(case("R02")["expected"]["macro_at_10"], abs=1e-12)


def test_a_group_that_the_corpus_lacks_is_left_out_of_covered_and_missed_by_the_route() -> None:
    query = Query(
        id="q", text="t", cluster="q", gold=[["o1"], ["o2"], ["a1"]], kinds=["original"] * 2 + ["alternative"]
    )
    for lacks, found, expected in (
        ("o2", ["o1", "a1"], (1, 1, 0)),  # the alternative route is complete
        ("o2", ["o1"], (0, 0, 0)),
        ("a1", ["o1", "o2"], (1, 1, 1)),
        ("a1", ["o1"], (0, 0, 0)),
    ):
        gold = resolve_gold(query, {name: [name] for name in ("o1", "o2", "a1") if name != lacks})
        positions = {"q": find_positions("q", found, gold.units)}
        curves = scores_of([gold], positions, k_max=5, service_cap=None).curves
        assert tuple(curves[name][0, 4] for name in ("Covered", "CoveredRoute", "CoveredOriginal")) == expected


def test_the_export_loads_with_ids_of_its_own() -> None:
    corpus = load_corpus(RELEASED / "corpus.export.6.jsonl")
    ids = [document.id for document in corpus.documents]
    assert len(set(ids)) == 6
    assert len({document.name for document in corpus.documents}) == 5
    assert corpus.rows_of["Orchard.Graft"] == ["Orchard.Graft::Orchard.Graft", "Orchard.Graft.Old::Orchard.Graft"]
    assert ids == [document.id for document in load_corpus(RELEASED / "corpus.export.6.jsonl").documents]
    gold = resolve_gold(make_gold("Orchard.Graft"), corpus.rows_of)
    assert find_positions("q", [ids[4]], gold.units).positions == [1]


def make_gold(name: str) -> Any:
    return Query(id="q", text="t", gold=[[name]], cluster="q")


@pytest.mark.parametrize(
    ("result", "row"),
    [
        ("Orchard.Graft", "Orchard.Graft::Orchard.Graft"),
        ("Orchard.Graft.Old::Orchard.Graft", "Orchard.Graft.Old::Orchard.Graft"),
        ("Orchard.Graft.Old::Orchard.Graft::3", "Orchard.Graft.Old::Orchard.Graft"),
        ("Orchard.Tree.Basic::Orchard.Tree.mirror", "Orchard.Tree.mirror"),
        ("Elsewhere::Orchard.Tree.mirror::12", "Orchard.Tree.mirror"),
        ("Orchard.tree.mirror", "Orchard.tree.mirror"),
        ("No::Such", "No::Such"),
    ],
)
def test_results_are_understood_in_all_three_forms(result: str, row: str) -> None:
    assert load_corpus(RELEASED / "corpus.export.6.jsonl").row(result) == row


def test_two_copies_in_one_module_load(tmp_path: Path) -> None:
    row = json.dumps({"name": ["A", "b"], "module_name": ["M"]}) + "\n"
    corpus = load_corpus(written(tmp_path / "c.jsonl", row * 3))
    assert [document.id for document in corpus.documents] == ["M::A.b", "M::A.b::2", "M::A.b::3"]


def test_the_renderer_gives_the_released_bytes(tmp_path: Path) -> None:
    render = renderer_of("lsv2-compat", load_strings(RELEASED / "strings.json")).render
    examples = json.loads((RELEASED / "renderer_examples.json").read_text(encoding="utf-8"))
    wanted = case("R04")["expected"]
    for example in every(examples):
        # A record without a name cannot be a row of a corpus; its text is that of a document without one.
        row = {"id": "x", **example["record"]}
        (document,) = load_corpus(written(tmp_path / "c.jsonl", json.dumps(row) + "\n")).documents
        assert render(document) == example["text"]
        assert sha256(render(document)) == example["sha256"] == wanted[example["case"]]
    fifth = case("R05")
    (document,) = load_corpus(written(tmp_path / "c.jsonl", json.dumps(fifth["input"]["record"]) + "\n")).documents
    assert sha256(render(document)) == fifth["expected"]["sha256"]


def test_a_long_description_is_cut_at_ten_thousand_characters() -> None:
    render = renderer_of("lsv2-compat", load_strings(RELEASED / "strings.json")).render
    whole, cut = (render(Document(id="i", name="n", informal="é" * n)) for n in (10_000, 10_001))
    assert "truncated" not in whole
    assert "é" * 10_000 + "...(truncated) \n Formal content" in cut
    assert "é" * 10_001 not in cut


def test_a_renderer_is_known_by_what_it_does() -> None:
    strings = load_strings(RELEASED / "strings.json")
    own, released = renderer_of("own-v1"), renderer_of("lsv2-compat", strings)
    assert own.sha256 == renderer_of("own-v1").sha256
    assert own.sha256 != released.sha256
    other = {**strings.texts, "header_other": "x"}
    assert renderer_of("lsv2-compat", type(strings)("s", other)).sha256 != released.sha256
    with pytest.raises(ConfigError, match=r"header_theorem, header_definition.*give --strings FILE"):
        renderer_of("lsv2-compat")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("[]", "must be an object", id="list"),
        pytest.param({"header_theorm": "x"}, "did you mean header_theorem", id="unknown"),
        pytest.param({"header_other": 5}, "must be a text, found 5", id="no text"),
        pytest.param({"header_other": {"text": "x", "sha256": "0" * 64}}, "does not have its SHA-256", id="hash"),
        pytest.param("x", "is not JSON", id="no json"),
    ],
)
def test_sentences_that_are_not_what_they_say_are_refused(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_strings(written(tmp_path / "s.json", value))


def test_both_query_templates() -> None:
    given = case("R19")
    instruction = load_strings(RELEASED / "strings.json").texts["query_instruction"]
    query, wanted = given["input"]["query"], given["expected"]
    assert sha256(TextTemplate.instruct(instruction).for_query(query)) == wanted["instruct (seed) sha256"]
    released = TextTemplate.lsv2(instruction)
    assert sha256(released.for_query(query)) == wanted["lsv2 (release) sha256"]
    assert released.for_query(query).endswith(wanted["lsv2 ends"])
    assert released.for_document("d") == "d"
    with pytest.raises(ConfigError, match="takes its documents bare"):
        TextTemplate("lsv2", "{text}", "x {text}")


def test_the_shared_declarations_load_as_released() -> None:
    path = RELEASED / "MathlibQR_shared171.cut.json"
    assert load_subset(path) == ["Lattice", "GaloisConnection", "Nucleus"]
    assert load_missing(f"{path}#missing_in_LE") == [
        "CategoryTheory.FundamentalGroupoid",
        "SimplicialObject.Augmented.ExtraDegeneracy",
    ]
    assert len(load_subset(RELEASED / "MathlibMPR_Prop_ids.cut.txt")) == 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"shared":["Lattice"]}', "has the keys shared; wanted shared_declarations"),
        ('{"shared_declarations":[]}', "names no query and no declaration"),
        ('{"shared_declarations":["Lattice",7]}', "member 1 must be a name, found 7"),
        ('["No.Such.Declaration"]', ""),
        ("", "names no query and no declaration"),
    ],
)
def test_subsets_of_another_shape_say_what_was_found(tmp_path: Path, content: str, message: str) -> None:
    path = written(tmp_path / "s.json", content)
    if message:
        with pytest.raises(DataError, match=message):
            load_subset(path)
    else:
        assert load_subset(path) == ["No.Such.Declaration"], "refused where the queries are known"


def test_released_vectors_are_normalised_again(tmp_path: Path) -> None:
    context = make_context(tmp_path, *"abcdef")
    settings = VectorSettings(path=str(RELEASED / "index/embeddings.npy"), embedder="x")
    view = ImportedVectors(settings, context).view
    assert view.mapped.shape == (6, 8)
    assert view.mapped.dtype == np.float16
    lengths = np.linalg.norm(view.block(0, 6), axis=1)
    assert lengths == pytest.approx(np.ones(6), abs=1e-6)
    assert np.linalg.norm(np.asarray(view.mapped, dtype=np.float32), axis=1) == pytest.approx(np.ones(6), abs=1e-3)
    assert (view.take(np.array([4, 1])) == view.block(0, 6)[[4, 1]]).all()
    with pytest.raises(DataError, match="has 6 rows, the corpus 2 documents"):
        ImportedVectors(settings, make_context(tmp_path, "a", "b"))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        pytest.param(np.array([[1.0, 0.0], [0.0, 0.0]]), "1 rows are zero.*row 1", id="zeros"),
        pytest.param(np.array([[np.nan, 0.0], [0.0, 1.0]]), "1 rows are zero or not finite.*row 0", id="nan"),
        pytest.param(np.array([[1, 0], [0, 1]]), "must hold rows of floats", id="integers"),
        pytest.param(np.array([1.0, 0.0]), "must hold rows of floats", id="one row"),
        pytest.param(np.array([[{}, 1], [2, 3]], dtype=object), "is not an .npy file of numbers", id="objects"),
    ],
)
def test_files_that_are_no_vectors_are_refused(tmp_path: Path, matrix: Any, message: str) -> None:
    np.save(tmp_path / "e.npy", matrix, allow_pickle=True)
    with pytest.raises(DataError, match=message):
        ImportedVectors(VectorSettings(path=str(tmp_path / "e.npy"), embedder="x"), make_context(tmp_path, "a", "b"))


def test_names_give_rows_their_order(tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", np.eye(2))
    ids = written(tmp_path / "ids.txt", "d1\nd0\n")
    settings = VectorSettings(path=str(tmp_path / "e.npy"), ids=str(ids), embedder="x")
    view = ImportedVectors(settings, make_context(tmp_path, "a", "b")).view
    assert view.block(0, 2).tolist() == [[0, 1], [1, 0]]
    written(ids, "d1\nd7\n")
    with pytest.raises(DataError, match="1 documents have no row; the first is 'd0'"):
        ImportedVectors(settings, make_context(tmp_path, "a", "b"))


def test_what_a_query_is_called_includes_the_names_of_its_gold() -> None:
    corpus = load_corpus(RELEASED / "corpus.export.6.jsonl")
    assert "Orchard.Graft" in resolve_gold(make_gold("Orchard.Graft"), corpus.rows_of).called
    assert "Gone" in resolve_gold(make_gold("Gone"), corpus.rows_of).called
    assert make_query("q", "t", ["a"]).called == {"q", "a"}
