"""Call, append, parse: a reply is on the disk before anybody sees it, in this order and in no other."""

from pathlib import Path

from proverbench.ask.pipeline import OnAnswer, Pipeline
from proverbench.records import CallLine
from proverbench.run.disk import CALLS
from proverbench.run.replies import ReplyReader
from tests.support import problem_rows, write_config, write_rows


def test_a_reply_is_saved_before_anything_looks_into_it(command, server, tmp_path, monkeypatch):
    write_rows(tmp_path / "problems.jsonl", problem_rows(3))
    write_config(tmp_path / "config.toml", server.base_url)
    seen: dict[str, int] = {"parsed": 0, "told": 0}

    def saved(line: CallLine) -> bool:
        """As another process would find it."""
        texts = Path("r", CALLS).read_text(encoding="utf-8").splitlines()
        ours = [text for text in texts if f'"response_id":"{line.response_id}"' in text]
        return len(ours) == 1 and f'"role":"{line.role}"' in ours[0]

    parse, init = ReplyReader.invalid_reason, Pipeline.__init__

    def invalid_reason(reader: ReplyReader, line: CallLine, n_steps: int) -> str | None:
        assert saved(line)
        seen["parsed"] += 1
        return parse(reader, line, n_steps)

    def prepared(pipeline: Pipeline, session, callers, on_answer: OnAnswer | None = None, **more) -> None:
        def told(line) -> None:
            if isinstance(line, CallLine):
                assert saved(line)
                seen["told"] += 1
            if on_answer is not None:
                on_answer(line)

        init(pipeline, session, callers, told, **more)

    monkeypatch.setattr(ReplyReader, "invalid_reason", invalid_reason)
    monkeypatch.setattr(Pipeline, "__init__", prepared)
    ended = command(
        *("run", "--data", "problems.jsonl", "--config", "config.toml", "--verifier-repeats", "2", "--output", "r")
    )
    assert ended.code == 0, ended.err
    assert seen == {"parsed": 9, "told": 9}
