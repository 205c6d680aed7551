"""`proverbench merge`, as its user runs it; what it does to runs is in tests/test_merging.py."""

from pathlib import Path

from tests.support import problem_rows, write_config, write_rows


def test_tells_scores_and_what_next(command, tmp_path, server):
    write_rows(tmp_path / "problems.jsonl", problem_rows(4))
    write_config(tmp_path / "config.toml", server.base_url)
    for part in ("1/2", "2/2"):
        command(
            "run", "--data", "problems.jsonl", "--config", "config.toml", "--shard", part, "--output", f"part{part[0]}"
        )
    ended = command("merge", "part1", "part2", "--output", "whole")
    assert ended.code == 0
    assert "pessimistic" in ended.out
    assert ended.err.rstrip().endswith("proverbench inspect whole")
    assert command("score", "whole").code == 0


def test_needs_folders_and_an_output(command, tmp_path):
    assert command("merge").code == 2
    ended = command("merge", "nowhere", "--output", "whole")
    assert ended.code == 2
    assert "nowhere" in ended.err
    assert not Path("whole").exists()
