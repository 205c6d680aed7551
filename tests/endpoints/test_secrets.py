"""faults.md row 43: no byte of a key in anything that a failing run wrote or printed."""

import pytest

from proverbench.rehearse import RehearseServer
from proverbench.rehearse.plays import Play, failure
from tests.support import problem_rows, write_config, write_rows

KEY = "sk-live-0f1e2d3c4b5a69788796"
TENANT = "tenant-secret-5150"
MORE = 'api_key_env = "ROW43_KEY"\nextra_headers_env = { "X-Tenant" = "ROW43_TENANT" }\nmax_retries = 0'


@pytest.mark.parametrize("status", [401, 422, 500])
def test_no_byte_of_it(command, monkeypatch, tmp_path, status):
    echo = f"key {KEY} (or {KEY[:9]}***{KEY[-6:]}) of {TENANT}: see https://u:{KEY}@host/v1?key={KEY}"

    def script(got):
        return failure(status, echo) if got.index >= 2 else Play()

    with RehearseServer.in_thread(script=script) as server:
        config = write_config(tmp_path / "config.toml", server.base_url, more=MORE, concurrency=1)
        data = write_rows(tmp_path / "data.jsonl", problem_rows(4))
        monkeypatch.setenv("ROW43_KEY", KEY)
        monkeypatch.setenv("ROW43_TENANT", TENANT)
        ended = command("run", "--config", config, "--data", data, "--samples", "2", "--output", tmp_path / "run")
    assert ended.code == 1
    written = "".join(
        path.read_text(errors="replace") for path in sorted((tmp_path / "run").rglob("*")) if path.is_file()
    )
    everything = written + ended.out + ended.err
    assert "redacted" in everything
    for secret in (KEY, TENANT):
        assert not [secret[at : at + 6] for at in range(len(secret) - 5) if secret[at : at + 6] in everything]
