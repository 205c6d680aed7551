"""Every number that leaves the tool, computed a second time from records.jsonl: slowly, by loops and fractions.

What a proof or judgment is worth is counted one by one here; nothing of proverbench.metrics is used. Of intervals it is
checked that the one shown lies where summary.json has it; how they are made is tested in tests/metrics.
"""

import json
import re
import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

from proverbench import load
from proverbench.cli import main
from proverbench.rehearse import GeneratedReplies, RehearseServer
from proverbench.show.report.build import open_runs
from proverbench.show.report.index import ACCEPTS, INVALID_FROM
from tests.support import every, problem_rows, proof_rows, write_calls, write_config, write_rows

SPLITS = ("all", "ugd", "qe")
LEVELS = {"EXACT_MATCH": 4, "BASIC_MATCH": 3, "POOR_MATCH": 2, "WRONG_POLARITY": 0}
R, S = 3, 2
NAMES = ("p", "v", "closed")


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A ProverBench run ``p``; a graded VerifierBench run ``v`` some of whose labels have no place; ``closed``: v, with
    calls closed as zero; ``open``: v, with calls open."""
    folder = tmp_path_factory.mktemp("numbers")
    rows = [row | {"domain": ("ugd", "ugd", "qe", "qe")[i % 4]} for i, row in enumerate(proof_rows(20))]
    for row, verdict in zip(rows[-4:], ("correct", "incorrect", "correct", "incorrect"), strict=True):
        row["annotation"] |= {"first_fatal_error_step": None, "verdict": verdict, "recoverable_error_steps": None}
        for name in ("is_correct", "first_error_step"):
            row.pop(name, None)
    write_rows(folder / "v.jsonl", rows)
    write_rows(folder / "p.jsonl", problem_rows(9))

    def run(*words: str) -> int:
        with pytest.raises(SystemExit) as ended:
            main([*words], prog_name="proverbench")
        return int(ended.value.code or 0)

    with RehearseServer.in_thread(replies=GeneratedReplies(vary="seed", invalid_rate=0.2, accept_rate=0.7)) as server:
        write_config(folder / "c.toml", server.base_url)
        for words in (("run", "--samples", str(S)), ("verify", "--meta")):
            name = "p" if words[0] == "run" else "v"
            data = ("--data", str(folder / f"{name}.jsonl"), "--config", str(folder / "c.toml"))
            assert run(*words, *data, "--verifier-repeats", str(R), "--output", str(folder / name)) == 0
    for name in ("closed", "open"):
        shutil.copytree(folder / "v", folder / name)
        lines = [json.loads(line) for line in (folder / name / "calls.jsonl").read_text().splitlines()]
        lost = {line["id"] for line in lines if line.get("role") == "verifier"}
        lost = set(sorted(lost)[:3])
        kept = [line for line in lines if not (line.get("id") in lost and line.get("repeat") == 1)]
        write_calls(folder / name, kept)
        assert run("score", str(folder / name)) == 1
    assert run("verify", "--resume", str(folder / "closed"), "--final") == 0
    return folder


# ---------------------------------------------------------------- the slow way


def records_of(run: Path, split: str = "all") -> list[dict[str, Any]]:
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    return [record for record in records if split in ("all", record["domain"])]


def key_of(record: dict[str, Any]) -> str:
    return record["proof_id"] or f"{record['problem_id']}/{record['sample_index']}"


def slow_fractions(run: Path, split: str, favour: bool = False) -> dict[str, tuple[int, int]]:
    """Rate → numerator and denominator; ``favour``: had invalid judgments spoken in the score's favour."""
    records = records_of(run, split)
    return (
        _slow_verifier(records, favour)
        if "proof_id" in records[0] and records[0]["proof_id"]
        else _slow_prover(records, favour)
    )


def _slow_prover(records: list[dict[str, Any]], favour: bool) -> dict[str, tuple[int, int]]:
    accepted, failed, valid, solved, problems = 0, 0, 0, set(), set()
    for record in records:
        problems.add(record["problem_id"])
        failed += record["generation_error"] is not None
        valid += sum(judgment["valid"] for judgment in record["judgments"])
        good = [j["first_error_step"] == -1 if j["valid"] else favour for j in record["judgments"]]
        if record["generation_error"] is None and len(good) == R and all(good):
            accepted += 1
            solved.add(record["problem_id"])
    return {
        "pessimistic": (accepted, len(records)),
        "pass_any_sample": (len(solved), len(problems)),
        "generation_failure_rate": (failed, len(records)),
        "verifier_valid_rate": (valid, len(records) * R),
    }


def _slow_verifier(records: list[dict[str, Any]], favour: bool) -> dict[str, tuple[int, int]]:
    sums: dict[str, list[int]] = {}

    def add(name: str, earned: int, possible: int) -> None:
        pair = sums.setdefault(name, [0, 0])
        pair[0] += earned
        pair[1] += possible

    for record in records:
        correct = record["is_correct"]
        located = record["annotation"]["first_fatal_error_step"] is not None
        rate = "rough_tpr" if correct else "rough_tnr"
        meta = "meta_ver_tpr" if correct else "meta_ver_tnr"
        judgments = {judgment["repeat"]: judgment for judgment in record["judgments"]}
        for repeat in range(R):
            judgment = judgments[repeat]
            valid, step = judgment["valid"], judgment["first_error_step"]
            polarity = (step == -1) == correct if valid else favour
            add("rough_accuracy", polarity, 1)
            add(rate, polarity, 1)
            if located:
                right = step == record["first_error_step"] if valid else favour
                add("first_error_step_accuracy", right, 1)
                if not correct:
                    add("first_error_step_accuracy_incorrect", right, 1)
            add("verifier_valid_rate", valid, 1)
            level = judgment["meta"]["level"] if valid and judgment["meta"]["valid"] else None
            add("meta_valid_rate", level is not None, 1)
            add(meta, LEVELS[level] if level else 4 * favour, 4)
    return {name: (earned, possible) for name, (earned, possible) in sums.items()}


COMPOSITES = {
    "rough_bal_f1": ("rough_tpr", "rough_tnr"),
    "balanced_accuracy": ("rough_tpr", "rough_tnr"),
    "meta_ver_bal_f1": ("meta_ver_tpr", "meta_ver_tnr"),
}


def slow_scores(run: Path, split: str, favour: bool = False) -> dict[str, float]:
    fractions = {name: Fraction(*pair) for name, pair in slow_fractions(run, split, favour).items()}
    found = dict(fractions)
    for name, parts in COMPOSITES.items():
        if parts[0] in fractions:
            a, b = (fractions[part] for part in parts)
            found[name] = (a + b) / 2 if name == "balanced_accuracy" else 2 * a * b / (a + b) if a + b else Fraction(0)
    return {name: float(value) for name, value in found.items()}


def slow_counts(run: Path, split: str) -> dict[str, int]:
    records = records_of(run, split)
    if records[0]["is_correct"] is None:
        return {"problems": len({record["problem_id"] for record in records}), "proofs": len(records)}
    right = sum(record["is_correct"] for record in records)
    unlocated = sum(record["annotation"]["first_fatal_error_step"] is None for record in records)
    counts = {"proofs": len(records), "correct_proofs": right, "incorrect_proofs": len(records) - right}
    return counts | ({"unlocated_proofs": unlocated} if unlocated else {})


def slow_invalid(run: Path) -> dict[str, Counter[str]]:
    """Role → reasons of its invalid replies."""
    found: dict[str, Counter[str]] = {"policy": Counter(), "verifier": Counter(), "meta": Counter()}
    for record in records_of(run):
        found["policy"].update([record["generation_error"]] if record["generation_error"] else [])
        found["verifier"].update(j["reason"] for j in record["judgments"] if j["reason"])
        metas = [j["meta"] for j in record["judgments"] if j["meta"]]
        found["meta"].update(meta["reason"] for meta in metas if meta["reason"])
    return found


def slow_answered(run: Path) -> dict[str, int]:
    """Role → replies that are there, or closed."""
    records = records_of(run)
    return {
        "policy": sum(record["generation_error"] is not None or bool(record["steps"]) for record in records),
        "verifier": sum(len(record["judgments"]) for record in records),
        "meta": sum(judgment["meta"] is not None for record in records for judgment in record["judgments"]),
    }


# ---------------------------------------------------------------- what the tool says


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", NAMES)
class TestScores:
    def check(self, scores: pd.DataFrame, run: Path, split: str) -> None:
        """A table of scores, from wherever it came."""
        rows = {row["metric"]: row for row in scores[scores["split"] == split].to_dict("records")}
        values, counts, fractions = slow_scores(run, split), slow_counts(run, split), slow_fractions(run, split)
        assert set(rows) == set(values) | set(counts)
        best = slow_scores(run, split, favour=True)
        for metric, count in counts.items():
            assert rows[metric]["count"] == count
            assert pd.isna(rows[metric]["value"])
        for metric, value in values.items():
            row = rows[metric]
            assert row["value"] == pytest.approx(value, abs=1e-12)
            assert pd.isna(row["count"])
            if metric in fractions:
                assert (row["numerator"], row["denominator"]) == fractions[metric]
            else:
                assert row["formula"].endswith(
                    "(" + ", ".join("{}/{}".format(*fractions[part]) for part in COMPOSITES[metric]) + ")"
                )
            if not pd.isna(row["bound_high"]):
                assert row["bound_low"] == pytest.approx(value, abs=1e-11)
                assert row["bound_high"] == pytest.approx(best[metric], abs=1e-11)
            assert row["shown_low"] <= row["value"] <= row["shown_high"]

    def test_frames(self, runs, name, split):
        self.check(load(runs / name).scores, runs / name, split)

    def test_csv(self, command, runs, name, split):
        assert command("export", runs / name, "--to", "csv", "--table", "scores").code == 0
        self.check(pd.read_csv("export/scores.csv"), runs / name, split)

    def test_xlsx(self, command, runs, name, split):
        assert command("export", runs / name, "--to", "xlsx", "--table", "scores").code == 0
        header, *rows = openpyxl.load_workbook("export.xlsx")["scores"].iter_rows(values_only=True)
        self.check(pd.DataFrame(rows, columns=header), runs / name, split)

    def test_latex(self, command, runs, name, split):
        metrics = list(slow_scores(runs / name, split))
        chosen = [word for metric in metrics for word in ("--metric", metric)]
        shown = command("export", runs / name, "--to", "latex", "--split", split, *chosen).out
        row = next(line for line in shown.splitlines() if line.startswith("    m-"))
        cells = [re.match(r"[\d.]+", cell.strip())[0] for cell in row.split("&")[-len(metrics) :]]
        assert cells == [f"{100 * slow_scores(runs / name, split)[metric]:.1f}" for metric in metrics]
        for metric, (numerator, denominator) in slow_fractions(runs / name, split).items():
            assert f"{split} {metric} = {numerator}/{denominator}" in shown

    def test_markdown(self, command, runs, name, split):
        shown = command("report", runs / name, "--format", "md").out
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown.splitlines() if line[:1] == "|"]
        column = rows[0].index(split)
        cells = {row[0].strip("`"): row[column] for row in rows[2:]}
        values, fractions = slow_scores(runs / name, split), slow_fractions(runs / name, split)
        assert cells.pop("records") == f"{len(records_of(runs / name, split))}/{len(records_of(runs / name, split))}"
        assert set(cells) == set(values)
        for metric, cell in cells.items():
            assert cell.split()[0] == f"{100 * values[metric]:.1f}"
            if metric in fractions:
                assert cell.endswith("{}/{}".format(*fractions[metric]))

    def test_page(self, runs, name, split):
        with open_runs([runs / name]) as report:
            shown = report.head["runs"][0]["splits"][split]
        assert {k: v for k, v in shown["metrics"].items() if isinstance(v, int)} == slow_counts(runs / name, split)
        rates = {metric: value for metric, value in shown["metrics"].items() if not isinstance(value, int)}
        assert rates == pytest.approx(slow_scores(runs / name, split), abs=1e-12)
        for metric, pair in slow_fractions(runs / name, split).items():
            assert shown["fractions"][metric] == "{}/{}".format(*pair)


@pytest.mark.parametrize("name", [*NAMES, "open"])
class TestCounts:
    def test_page_and_markdown(self, command, runs, name):
        invalid, answered = slow_invalid(runs / name), slow_answered(runs / name)
        with open_runs([runs / name]) as report:
            shown = report.head["runs"][0]
        for role, count in shown["answered"].items():
            assert count == answered[role]
            assert shown["invalid"].get(role, {}) == dict(invalid[role])
        markdown = command("report", runs / name, "--format", "md").out
        for role in shown["answered"]:
            if total := sum(invalid[role].values()):
                assert f"invalid, {role}: {total} of {answered[role]}" in markdown
        closed = sum(counts["unanswered"] for counts in invalid.values())
        assert (f"{shown['closed_unanswered']} unanswered calls were closed" in markdown) == (closed > 0)
        if name == "open":
            requested = len(records_of(runs / name)) * R
            assert shown["missing"]["verifier"] == requested - answered["verifier"] == 3

    def test_proofs(self, runs, name):
        proofs = load(runs / name).proofs.set_index("key")
        for record in every(records_of(runs / name)):
            row = proofs.loc[key_of(record)]
            judgments = record["judgments"]
            accepts = sum(j["valid"] and j["first_error_step"] == -1 for j in judgments)
            rejects = sum(j["valid"] and j["first_error_step"] != -1 for j in judgments)
            assert (row["judgments"], row["accepts"], row["rejects"]) == (len(judgments), accepts, rejects)
            assert row["invalid"] == len(judgments) - accepts - rejects

    def test_judgments(self, runs, name):
        frame = load(runs / name).judgments
        records = records_of(runs / name)
        assert len(frame) == len(records) * R
        made = {(row["key"], row["repeat"]): row for row in frame.to_dict("records")}
        for record in records:
            key = key_of(record)
            there = {judgment["repeat"]: judgment for judgment in record["judgments"]}
            for repeat in range(R):
                row, judgment = made[key, repeat], there.get(repeat)
                if judgment is None:
                    assert row["state"] == ("not asked" if record["generation_error"] else "open")
                    continue
                assert row["valid"] == judgment["valid"]
                assert row["valid_credit"] == judgment["valid"]

    def test_marks_of_the_page(self, runs, name):
        with open_runs([runs / name]) as report:
            index = report.head["index"]
        columns, reasons = index["columns"], index["reasons"]
        by_key = {key_of(record): record for record in records_of(runs / name)}
        assert len(index["proofs"]) == len(by_key)
        for row in index["proofs"]:
            proof = dict(zip(columns, row, strict=True))
            record = by_key[proof["key"]]
            [(_, why, marks)] = proof["runs"]
            assert why == record["generation_error"]
            for judgment in record["judgments"]:
                mark = marks[judgment["repeat"]]
                if judgment["valid"]:
                    assert mark == (ACCEPTS if judgment["first_error_step"] == -1 else judgment["first_error_step"])
                else:
                    assert reasons[INVALID_FROM - mark] == judgment["reason"]
