"""Runs on the released shapes from the command line, as a user makes them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proverbench.retrieval.cli import main
from tests.retrieval.support import Answer, Seen, serve
from tests.support import SHARED, Ended, every

pytestmark = pytest.mark.shared
RELEASED = SHARED / "data/retrieval/released-shapes"
SAMPLE = RELEASED / "MathlibQR.sample7.json"
CORPUS = RELEASED / "corpus.export.6.jsonl"
SHARED_FILE = RELEASED / "MathlibQR_shared171.cut.json"
QR = ("--task", "mathlibqr", "--queries", SAMPLE, "--allow-modified")

Run = Callable[..., Ended]


@pytest.fixture
def retrievalbench(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """``retrievalbench("run", ...)`` in this process, in an empty folder, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*arguments: str | Path) -> Ended:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments], prog_name="retrievalbench")
        out, err = capfd.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return run


def names_of_sample() -> list[str]:
    return [row["full_name"] for row in json.loads(SAMPLE.read_text(encoding="utf-8"))]


def a_corpus(path: Path, *names: str) -> Path:
    path.write_text("".join(json.dumps({"name": name.split(".")}) + "\n" for name in names), encoding="utf-8")
    return path


def own_queries(path: Path, *names: str) -> Path:
    rows = [{"id": f"q{i}", "text": f"what is {name}", "gold": [name]} for i, name in enumerate(names)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_per_query_files_give_the_released_figures(retrievalbench: Run, tmp_path: Path) -> None:
    cases = json.loads((SHARED / "vectors/retrieval_cases.json").read_text(encoding="utf-8"))["cases"]
    expected = next(case for case in cases if case["id"] == "R20")["expected"]
    per_query = RELEASED / "reports-search/per_query.jsonl"
    config = "".join(
        f'[runfile.{mode}]\npath = "{per_query}"\nmode = "{mode}"\ncorpus = "made up"\n'
        f'missing = "{SHARED_FILE}#missing_in_4280"\n'
        f'[runfile.{mode}-whole]\npath = "{per_query}"\nmode = "{mode}"\ncorpus = "made up"\n'
        for mode in ("retriever_only", "rerank")
    )
    (tmp_path / "c.toml").write_text(config)
    for key, figures in every(expected.items()):
        mode, convention = key.split("/")
        whole = "-whole" if convention == "release_full" else ""
        subset = ("--subset", SHARED_FILE) if convention == "fair" else ()
        output = f"{mode}-{convention}"
        common = ("--corpus", CORPUS, "--config", "c.toml", "--output", output, *QR, *subset)
        done = retrievalbench("run", "--system", f"runfile:{mode}{whole}", *common)
        assert done.code == 0, done.err
        summary = json.loads((tmp_path / output / "summary.json").read_text())
        assert summary["n"] == figures["n"]
        found = {name: summary["metrics"][name] for name in figures if name != "n"}
        assert found == pytest.approx({name: value for name, value in figures.items() if name != "n"}, abs=1e-12)
    compared = json.loads(retrievalbench("compare", "rerank-release_full", "rerank-fair", "--json").out)
    assert any(board["shared"] for board in compared["boards"])


def test_missing_gold_can_score_zero_as_in_the_release(retrievalbench: Run, tmp_path: Path) -> None:
    corpus = a_corpus(tmp_path / "c.jsonl", *names_of_sample()[:4])
    for convention, n in (("dropped", None), ("zero", 34)):
        common = ("--corpus", corpus, *QR, "--missing-gold", convention, "--output", convention)
        assert retrievalbench("run", "--system", "bm25", *common).code == 0
        summary = json.loads((tmp_path / convention / "summary.json").read_text())
        assert (summary["n"] == n) if n else summary["n"] < 34
    page = json.loads(retrievalbench("compare", "dropped", "zero", "--json").out)
    assert [len(board["rows"]) for board in page["boards"]] == [1, 1], "two conventions never share a board"


def test_a_file_of_several_modes_asks_which(retrievalbench: Run) -> None:
    path = RELEASED / "reports-search/per_query.jsonl"
    done = retrievalbench("run", "--system", f"runfile:{path}", "--corpus", CORPUS, *QR, "--output", "r")
    assert done.code == 2
    assert "has the modes rerank, retriever_only; choose one with runfile:PATH#MODE" in done.err


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query_id": "WRONG", "doc_ids": ["A"]}, "0 of 1 query ids of the file are asked; first unknown WRONG"),
        ({"query_id": "q0", "doc_ids": ["B", "C"]}, "0 of 2 names of the file are in the corpus; first unknown 'B'"),
    ],
)
def test_a_run_file_of_something_else_is_refused(
    retrievalbench: Run, tmp_path: Path, row: dict[str, Any], message: str
) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps(row))
    common = ("--corpus", a_corpus(tmp_path / "c.jsonl", "A"), "--queries", own_queries(tmp_path / "q.jsonl", "A"))
    done = retrievalbench("run", "--system", "runfile:x.jsonl", *common, "--output", "r")
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "r").exists()


def test_what_partly_fits_is_counted(retrievalbench: Run, tmp_path: Path) -> None:
    rows = [{"query_id": "q0", "doc_ids": ["A", "Z"]}, {"query_id": "WRONG", "doc_ids": ["A"]}]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    corpus = a_corpus(tmp_path / "c.jsonl", "A", "B")
    common = ("--corpus", corpus, "--queries", own_queries(tmp_path / "q.jsonl", "A", "B"))
    done = retrievalbench("run", "--system", "runfile:x.jsonl", *common, "--output", "r")
    assert done.code == 0
    for note in ("1 query ids not asked", "1 queries without list", "1 names not in corpus"):
        assert note in done.err
        assert note in retrievalbench("compare", "r").out


def test_the_shared_file_cuts_run_report_and_compare_alike(retrievalbench: Run, tmp_path: Path) -> None:
    corpus = a_corpus(tmp_path / "c.jsonl", *names_of_sample())
    done = retrievalbench(
        "run", "--system", "bm25", "--corpus", corpus, *QR, "--subset", SHARED_FILE, "--output", "cut"
    )
    assert done.code == 0, done.err
    assert json.loads((tmp_path / "cut/summary.json").read_text())["n"] == 14
    assert retrievalbench("run", "--system", "bm25", "--corpus", corpus, *QR, "--output", "whole").code == 0
    compared = json.loads(retrievalbench("compare", "whole", "--subset", SHARED_FILE, "--json").out)
    (shared,) = [board for board in compared["boards"] if board["shared"]]
    assert "14 queries of 3 declarations" in shared["title"]
    whole = json.loads((tmp_path / "cut/summary.json").read_text())["metrics"]["nDCG@10"]
    assert shared["rows"][0]["metrics"]["nDCG@10"] == whole
    assert retrievalbench("report", "whole", "--subset", SHARED_FILE, "-o", "p.html").code == 0
    for content in ('{"shared":["Lattice"]}', '{"shared_declarations":[]}', '["No.Such.Declaration"]', ""):
        (tmp_path / "s.json").write_text(content)
        for command in (
            ("run", "--system", "bm25", "--corpus", corpus, *QR, "--output", "no"),
            ("report", "whole", "-o", "no"),
            ("compare", "whole"),
        ):
            done = retrievalbench(*command, "--subset", "s.json")
            assert done.code == 2, (command, content)
            assert "Traceback" not in done.err
            assert not (tmp_path / "no").exists()


def test_renderers_make_two_boards_and_are_in_the_manifest(retrievalbench: Run, tmp_path: Path) -> None:
    common = (
        "--corpus",
        CORPUS,
        "--queries",
        own_queries(tmp_path / "q.jsonl", "Orchard.Graft", "Orchard.Tree.mirror"),
    )
    done = retrievalbench("run", "--system", "bm25", *common, "--renderer", "lsv2-compat", "--output", "no")
    assert done.code == 2
    assert "header_theorem" in done.err
    assert "--strings FILE" in done.err
    released = ("--renderer", "lsv2-compat", "--strings", RELEASED / "strings.json", "--output", "released")
    assert retrievalbench("run", "--system", "bm25", *common, *released).code == 0
    assert retrievalbench("run", "--system", "bm25", *common, "--output", "own").code == 0
    manifests = [json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("own", "released")]
    assert "renderer" not in manifests[0]
    assert manifests[1]["renderer"] == "lsv2-compat"
    assert len({manifest["run_id"] for manifest in manifests}) == 2
    boards = json.loads(retrievalbench("compare", "own", "released", "--json").out)["boards"]
    assert [len(board["rows"]) for board in boards] == [1, 1]
    assert retrievalbench("run", "--resume", "released").code == 0


def test_a_corpus_that_is_not_the_one_meant_is_refused(retrievalbench: Run, tmp_path: Path) -> None:
    common = ("--corpus", CORPUS, "--queries", own_queries(tmp_path / "q.jsonl", "Orchard.Graft"))
    done = retrievalbench("run", "--system", "bm25", *common, "--corpus-sha256", "0" * 64, "--output", "r")
    assert done.code == 2
    assert "its SHA-256 is" in done.err
    named = ("--corpus-name", "mathlib-4280", "--corpus-revision", "c5f07cc71d42", "--output", "r")
    assert retrievalbench("run", "--system", "bm25", *common, *named).code == 0
    assert "has 310,579 rows, the searched file 6" in retrievalbench("compare", "r").out


def test_a_changed_manifest_is_refused(retrievalbench: Run, tmp_path: Path) -> None:
    names = [f"N.x{i}" for i in range(3)]
    corpus, queries = a_corpus(tmp_path / "c.jsonl", *names), own_queries(tmp_path / "q.jsonl", *names)
    assert (
        retrievalbench("run", "--system", "bm25", "--corpus", corpus, "--queries", queries, "--output", "r").code == 0
    )
    path, positions = tmp_path / "r/manifest.json", tmp_path / "r/positions.jsonl"
    positions.write_text(positions.read_text().replace('"positions":[1]', '"positions":[188]', 1))
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "k_max": 50}))
    for command in (("score", "r"), ("report", "r", "-o", "p.html"), ("compare", "r")):
        done = retrievalbench(*command)
        assert done.code != 0
        assert "lists are cut at 50, but query" in done.err
        assert "188" in done.err
        assert "r:" in done.err
    path.write_text(json.dumps({**manifest, "system": "better"}))
    assert "the file was changed after the run was made" in retrievalbench("compare", "r").err


def test_released_vectors_are_searched_with_the_queries_of_a_model_or_a_file(
    retrievalbench: Run, tmp_path: Path
) -> None:
    queries = own_queries(tmp_path / "q.jsonl", "Orchard.Graft", "Orchard.Tree.mirror")
    vectors = np.load(RELEASED / "index/embeddings.npy")
    np.save(tmp_path / "queries.npy", vectors[[4, 1]].astype(np.float32))
    (tmp_path / "ids.txt").write_text("q0\nq1\n")

    def answer(seen: Seen) -> Answer:
        rows = {"what is Orchard.Graft": 3, "what is Orchard.Tree.mirror": 1}
        return 200, {"data": [{"embedding": vectors[rows[text]].tolist()} for text in seen.body["input"]]}

    with serve(answer) as server:
        (tmp_path / "c.toml").write_text(
            f'[vectors.file]\npath = "{RELEASED}/index/embeddings.npy"\nlabel = "Released"\nlicence = "Apache-2.0"\n'
            'queries = "queries.npy"\nquery_ids = "ids.txt"\n'
            f'[vectors.model]\npath = "{RELEASED}/index/embeddings.npy"\nembedder = "m"\nrenderer = "own-v1"\n'
            f'[embedder.m]\nmodel = "m"\nbase_url = "{server.url}"\n'
        )
        common = ("--corpus", CORPUS, "--queries", queries, "--config", "c.toml")
        systems = ("--system", "vectors:file", "--system", "vectors:model")
        done = retrievalbench("run", *systems, *common, "--output", "r")
        assert done.code == 0, done.err
        compared = retrievalbench("compare", "r").out
        assert "Released" in compared
        assert "Apache-2.0" in compared
        for name in ("vectors-file", "vectors-model"):
            assert json.loads((tmp_path / "r" / name / "summary.json").read_text())["metrics"]["R@1"] == 1
        wrong = ("--renderer", "lsv2-compat", "--strings", RELEASED / "strings.json", "--output", "no")
        done = retrievalbench("run", "--system", "vectors:model", *common, *wrong)
        assert done.code == 2
        assert "was made of own-v1 texts; run with --renderer own-v1" in done.err
        np.save(tmp_path / "queries.npy", np.ones((2, 3)))
        done = retrievalbench("run", "--system", "vectors:file", *common, "--output", "no")
        assert done.code == 2
        assert "queries have 3 dimensions, documents 8" in done.err
        assert not (tmp_path / "no").exists()
