"""Runs in the published evaluator's format, of our own making: what its importer is tested on in any clone.

Every reply is one whose outcome is known by how it was made, so nothing of the code under test is used here: values,
error words and scores are written down, or summed in the obvious way. The layout is docs/data.md's, "Runs of the
published evaluator".
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

GENERATION = "Prove it, each step in a <step> element.\n\n{problem}\n"
VERIFIER = "Judge the proof of this problem.\n\n{problem}\n\nReference: {human_solution}\n\n{solution}\n"
META = "Compare.\n{problem}\n{human_solution}\n{solution}\n{solution_verification}\n{human_ground_truth}\n"
SCORES = {"EXACT_MATCH": 1.0, "BASIC_MATCH": 0.75, "POOR_MATCH": 0.5, "WRONG_POLARITY": 0.0}
Reply = tuple[dict[str, Any], Any, str | None]
"""A response as it is stored, what it says (None if it is invalid), and the error's word."""


def response(text: str, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """A response that came."""
    usage = {"prompt_tokens": 40, "completion_tokens": len(text) // 4 + 1, "total_tokens": 41 + len(text) // 4}
    return {"text": text, "reasoning_content": "", "finish_reason": finish, "usage": usage, "error": None} | more


def failed(error: str) -> Reply:
    """A call that got no answer."""
    return {"text": "", "finish_reason": None, "error": error}, None, error


def proofs(n: int) -> list[tuple[Reply, list[str]]]:
    """Replies of a policy, with the steps that stand in them."""
    a, b = f"Let $a_{n} < b_{n}$.", f"So $b_{n} > a_{n}$, for $x \\in \\{{1, 2\\}}$."
    whole = f"<step>{a}</step>\n<step>{b}</step>"
    harmony = f"<step>draft</step><|end|><|start|>assistant<|channel|>final<|message|>{whole}"
    return [
        ((response(whole), [a, b], None), [a, b]),
        ((response(f"<think>Hm.</think>Here:\n{whole}", usage=None), [a, b], None), [a, b]),
        ((response(harmony), [a, b], None), [a, b]),
        ((response(whole, "length"), None, "non_stop_finish"), [a, b]),
        ((response("I cannot prove it."), None, "no_proof_steps"), []),
        ((response("<think>It is"), None, "empty_final_answer"), []),
    ]


def judgments(n: int, steps: int) -> list[Reply]:
    """Replies of a verifier of a proof of so many steps: three valid ones and four that are not."""

    def verdict(step: int | str, said: str = "Step uses $a<b$ &amp; more.") -> str:
        errors = "" if step == -1 else f"Step {step} is wrong."
        found = f"<errors>{errors}</errors><first_error_step>{step}</first_error_step>"
        return f"<assessment> {said} {n}</assessment>\n{found}"

    def valid(step: int) -> Reply:
        value = {
            "assessment": f"Step uses $a<b$ &amp; more. {n}",
            "errors": "" if step == -1 else f"Step {step} is wrong.",
            "first_error_step": step,
        }
        return response(verdict(step), reasoning_content="Apart."), value, None

    return [
        valid(-1),
        valid(0),
        valid(steps - 1),
        (response(verdict(steps)), None, "first_error_step is out of range"),
        (response(verdict("none")), None, "first_error_step is not an integer"),
        (response(verdict(-1), "length"), None, "non_stop_finish"),
        (response(verdict(-1).replace("errors>", "faults>")), None, "Expected exactly one <errors> field"),
    ]


def levels() -> list[Reply]:
    """Replies of a meta-verifier."""
    known = [(response(f"<level>{level.lower()}</level>"), level, None) for level in SCORES]
    unread = "Expected one valid <level> field"
    return [*known, (response("<level>GOOD</level>"), None, unread), (response("EXACT_MATCH"), None, unread)]


def rows(*, annotated: bool) -> list[dict[str, Any]]:
    """Six rows, two of them ``qe``; one holds placeholders, which are text like any other."""
    found = []
    for n in range(6):
        row: dict[str, Any] = {
            "problem_id": f"prob-{n}",
            "problem": f"Prove that ${n} < {n + 1}$. {'{solution}' * (n == 2)}",
            "reference_solution": "By definition." if n % 2 else "",
            "domain": "qe" if n in (0, 3) else "ugd",
            "subject": "Algebra" if n < 3 else "",
        }
        if annotated:
            fatal, recoverable = [(-1, [-1]), (1, [-1]), (-1, [0])][n % 3]
            label = min([step for step in (fatal, *recoverable) if step >= 0], default=-1)
            row |= {
                "proof_id": f"proof-{n}",
                "steps": [f"First of {n}.", f" Second of {n}: $a<b$.\n"],
                "annotation": {
                    "first_fatal_error_step": fatal,
                    "recoverable_error_steps": recoverable,
                    "reviewer_comment": f"A comment on {n}.",
                },
                "is_correct": label == -1,
                "first_error_step": label,
            }
        found.append(row)
    return found


def _digest(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def _shown(steps: Sequence[str]) -> str:
    return "\n\n".join(f"<step{n}>\n\n{step}\n\n</step{n}>" for n, step in enumerate(steps))


def _filled(template: str, **values: str) -> str:
    parts = template.split("{")
    return parts[0] + "".join(values[name] + rest for name, _, rest in (part.partition("}") for part in parts[1:]))


class Maker:
    """Writes one run.

    Args:
        task: ``prover`` or ``verifier``.
        samples: S.
        repeats: R.
        meta: Whether levels were asked for.
        reference: The reference switch.
        lost: Whether the endpoint failed now and then, and the run was killed after nine records.
    """

    def __init__(
        self, task: str, *, samples: int, repeats: int, meta: bool = False, reference: bool, lost: bool = False
    ) -> None:
        self.task, self.samples, self.repeats, self.meta = task, samples, repeats, meta
        self.reference, self.lost = reference, lost
        self.rows = rows(annotated=task == "verifier")
        if lost:
            self.rows[0]["source_id"] = "another data file"
        self.data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows).encode()
        self._asked = 0
        errors = ("HTTP_401", "HTTP_503", "HTTP_429", "HTTP_400", "network_error", "invalid_chat_response")
        self._failures = iter([failed(error) for error in errors])

    def manifest(self) -> dict[str, Any]:
        """manifest.json."""
        role = {"backend": "api", "model": "made-up", "base_url": "http://127.0.0.1:8000/v1"}
        role |= {"generation": {"max_tokens": 512}}
        prompts = {"verifier": VERIFIER} | ({"generation": GENERATION} if self.task == "prover" else {})
        prompts |= {"meta": META} if self.meta else {}
        config = {"verifier": role} | ({"policy": role} if self.task == "prover" else {})
        found: dict[str, Any] = {
            "evaluator_version": "0.1.0",
            "protocol": "basic-v1",
            "task": self.task,
            "data_sha256": _digest(self.data),
            "source_rows": 6,
            "selected_rows": 6,
            "config": config | ({"meta": role} if self.meta else {}),
            "settings": {
                "samples": self.samples,
                "verifier_repeats": self.repeats,
                "meta": self.meta,
                "domain": "all",
                "limit": None,
                "use_reference_solution": self.reference,
            },
            "prompt_sha256": {name: _digest(text) for name, text in prompts.items()},
            "code_sha256": "0" * 64,
            "output_policy": "made up",
        }
        compact = json.dumps(found, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return found | {"run_id": _digest(compact)}

    def _reply(self, usual: Reply) -> Reply:
        """Now and then a failure instead, where the run lost some."""
        self._asked += 1
        return next(self._failures, usual) if self.lost and self._asked % 3 == 0 else usual

    def _trial(self, row: dict[str, Any], steps: Sequence[str], number: int, index: int) -> dict[str, Any]:
        kinds = judgments(number, len(steps))
        stored, value, error = self._reply(kinds[(3 * number + index * index) % len(kinds) if number % 4 else 0])
        trial: dict[str, Any] = {
            "index": index,
            "response": stored,
            "parsed": value,
            "error": error,
            "valid": value is not None,
        }
        if self.meta and value is None:
            trial["meta"] = {"valid": False, "score": 0.0, "error": "verifier_invalid", "response": None}
        elif self.meta:
            analysis = (
                f"<assessment>\n\n{value['assessment']}\n\n</assessment>\n\n<errors>\n\n{value['errors']}\n\n</errors>"
            )
            given = row["annotation"]
            truth = "\n\n".join(
                f"<{tag}>\n\n{given[tag]}\n\n</{tag}>"
                for tag in ("reviewer_comment", "first_fatal_error_step", "recoverable_error_steps")
            )
            stored, level, error = levels()[(number + 2 * index) % 6]
            prompt = _filled(
                META,
                problem=row["problem"],
                human_solution=self._solution(row),
                solution=_shown(steps),
                solution_verification=analysis,
                human_ground_truth=truth,
            )
            trial["meta"] = {"valid": level is not None, "score": SCORES.get(level, 0.0), "error": error}
            trial["meta"] |= {"response": stored, "prompt": prompt} | ({"level": level} if level else {})
        return trial

    def _solution(self, row: dict[str, Any]) -> str:
        return (row["reference_solution"] if self.reference else "") or "None"

    def record(self, number: int, sample: int, run_id: str) -> dict[str, Any]:
        """One of records/."""
        row = self.rows[number]
        found: dict[str, Any] = {key: row[key] for key in ("problem_id", "domain", "subject", "problem")}
        found |= {"sample_index": sample, "run_id": run_id, "record_key": f"{number:06}_{sample:03}"}
        steps, error, inputs = row.get("steps", []), None, {}
        if self.task == "prover":
            usual, written = proofs(number)[(2 * number + sample) % 6 if sample else 0]
            stored, _, error = self._reply(usual)
            steps = written if stored["text"] else []
            inputs["policy_prompt"] = _filled(GENERATION, problem=row["problem"])
            found |= {"policy_response": stored, "generation_error": error}
        trials = []
        if error is None:
            inputs["verifier_prompt"] = _filled(
                VERIFIER, problem=row["problem"], human_solution=self._solution(row), solution=_shown(steps)
            )
            trials = [self._trial(row, steps, number, index) for index in range(self.repeats)]
        found |= {"inputs": inputs, "steps": steps, "verifier_trials": trials, "verifier": "made-up"}
        if self.task == "prover":
            accepted = [trial["valid"] and trial["parsed"]["first_error_step"] == -1 for trial in trials]
            found |= {"policy": "made-up", "pessimistic_correct": bool(accepted) and all(accepted)}
        else:
            found |= {"policy": None} | {key: row[key] for key in ("proof_id", "is_correct", "first_error_step")}
        return found

    def write(self, folder: Path) -> None:
        """Write the run, and its data file beside it."""
        (folder / "records").mkdir(parents=True)
        manifest = self.manifest()
        keys = [(number, sample) for number in range(6) for sample in range(self.samples)]
        if self.lost:  # the rows of qe first, as a run of several workers might
            keys = sorted(keys, key=lambda key: self.rows[key[0]]["domain"] != "qe")[:9]
        records = [self.record(number, sample, manifest["run_id"]) for number, sample in sorted(keys)]
        for record in records:
            _write(folder / "records" / f"{record['record_key']}.json", record)
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / "results.jsonl").write_text(lines, encoding="utf-8")
        _write(folder / "manifest.json", manifest)
        _write(folder / "summary.json", self.summary(records, manifest["run_id"]))
        if self.lost:
            (folder / ".running.lock").touch()
        folder.with_name(f"{folder.name}.data.jsonl").write_bytes(self.data)

    def summary(self, records: Sequence[dict[str, Any]], run_id: str) -> dict[str, Any]:
        """summary.json."""
        splits = {}
        for split in ("all", "ugd", "qe"):
            selected = sum(split in ("all", row["domain"]) for row in self.rows)
            ours = [record for record in records if split in ("all", record["domain"])]
            complete = len(ours) == selected * self.samples
            splits[split] = {
                "selected_rows": selected,
                "expected_records": selected * self.samples,
                "completed_records": len(ours),
                "complete": complete,
                "metrics": (self._prover(ours) if self.task == "prover" else self._verifier(ours))
                if complete
                else None,
            }
        return {
            "task": self.task,
            "complete": splits["all"]["complete"],
            "score_scale": "0-1",
            "invalid_output_policy": "zero_credit_in_fixed_denominator",
            "splits": splits,
            "run_id": run_id,
        }

    def _prover(self, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
        problems = {record["problem_id"] for record in records}
        accepted = [record for record in records if record["pessimistic_correct"]]
        valid = sum(trial["valid"] for record in records for trial in record["verifier_trials"])
        return {
            "problems": len(problems),
            "proofs": len(records),
            "pessimistic": len(accepted) / len(records),
            "pass_any_sample": len({record["problem_id"] for record in accepted}) / len(problems),
            "generation_failure_rate": sum(bool(record["generation_error"]) for record in records) / len(records),
            "verifier_valid_rate": valid / (len(records) * self.repeats),
        }

    def _verifier(self, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
        def mean(chosen: Sequence[dict[str, Any]], earned: Any) -> float | None:
            got = [earned(record, trial) for record in chosen for trial in record["verifier_trials"]]
            return sum(got) / len(got) if got else None

        def polarity(record: dict[str, Any], trial: dict[str, Any]) -> bool:
            return trial["valid"] and (trial["parsed"]["first_error_step"] == -1) == record["is_correct"]

        def place(record: dict[str, Any], trial: dict[str, Any]) -> bool:
            return trial["valid"] and trial["parsed"]["first_error_step"] == record["first_error_step"]

        def f1(tpr: float | None, tnr: float | None) -> float | None:
            if tpr is None or tnr is None:
                return None
            return 2 * tpr * tnr / (tpr + tnr) if tpr + tnr else 0.0

        right = [record for record in records if record["is_correct"]]
        wrong = [record for record in records if not record["is_correct"]]
        tpr, tnr = mean(right, polarity), mean(wrong, polarity)
        found: dict[str, Any] = {
            "proofs": len(records),
            "correct_proofs": len(right),
            "incorrect_proofs": len(wrong),
            "rough_accuracy": mean(records, polarity),
            "rough_tpr": tpr,
            "rough_tnr": tnr,
            "rough_bal_f1": f1(tpr, tnr),
            "balanced_accuracy": None if tpr is None or tnr is None else (tpr + tnr) / 2,
            "first_error_step_accuracy": mean(records, place),
            "first_error_step_accuracy_incorrect": mean(wrong, place),
            "verifier_valid_rate": mean(records, lambda record, trial: trial["valid"]),
        }
        if self.meta:
            tpr, tnr = (mean(part, lambda record, trial: trial["meta"]["score"]) for part in (right, wrong))
            found |= {"meta_ver_tpr": tpr, "meta_ver_tnr": tnr, "meta_ver_bal_f1": f1(tpr, tnr)}
            found["meta_valid_rate"] = mean(records, lambda record, trial: trial["meta"]["valid"])
        return found


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def make_all(folder: Path) -> None:
    """The four runs that the importer's tests know by name."""
    Maker("prover", samples=2, repeats=3, reference=True).write(folder / "prover")
    Maker("verifier", samples=1, repeats=3, reference=False).write(folder / "verifier")
    Maker("verifier", samples=1, repeats=3, meta=True, reference=False).write(folder / "verifier-meta")
    Maker("prover", samples=2, repeats=3, reference=True, lost=True).write(folder / "prover-interrupted")
