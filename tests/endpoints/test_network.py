"""The environment: proxies, certificates, addresses. Each vector is a run in a process of its own."""

import contextlib
import http.server
import json
import threading

import pytest

from proverbench.endpoints.network import address, network_faults, proxy_for
from proverbench.errors import ConfigError
from proverbench.rehearse import RehearseServer
from proverbench.rehearse.plays import answer
from tests.support import SHARED, proof_rows, run_process, write_rows

VECTORS = SHARED / "vectors" / "dialects.json"
ENVIRONMENTS = json.loads(VECTORS.read_bytes())["environment"] if VECTORS.exists() else []
TEXT = "<assessment>ok</assessment><errors></errors><first_error_step>-1</first_error_step>"
REPLY = {"choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}], "model": "m"}
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir")
CLEAN = {name: "" for variable in VARIABLES for name in (variable, variable.upper())}


@contextlib.contextmanager
def answering():
    """A server that answers whatever address it is asked for, as a proxy too; gives its port and the targets."""
    targets = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            targets.append(self.path)
            body = json.dumps(REPLY).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], targets
    finally:
        server.shutdown()
        server.server_close()


def verify(tmp_path, base_url, env):
    write_rows(tmp_path / "rows.jsonl", proof_rows(1))
    config = f'[verifier]\nmodel = "m"\nbase_url = "{base_url}"\nmax_retries = 0\ngeneration = {{ max_tokens = 500 }}\n'
    (tmp_path / "config.toml").write_text(config)
    arguments = ("verify", "--data", "rows.jsonl", "--config", "config.toml", "--output", "r")
    given = {name.lower() for name in env}
    clean = {name: value for name, value in CLEAN.items() if name.lower() not in given}
    return run_process(*arguments, cwd=tmp_path, env={**clean, **env})


@pytest.mark.parametrize("vector", [pytest.param(vector, id=vector["id"]) for vector in ENVIRONMENTS])
def test_vector(tmp_path, vector):
    empty = tmp_path / "empty"
    empty.touch()
    with answering() as (port, targets), answering() as (other_port, through):
        fill = {"{port}": str(port), "{other_port}": str(other_port), "{empty_file}": str(empty)}

        def filled(text):
            for mark, value in fill.items():
                text = text.replace(mark, value)
            return text

        env = {name: filled(value) for name, value in vector["env"].items()}
        ended = verify(tmp_path, filled(vector["base_url"]), env)
    expect = vector["expect"]
    assert all(text in ended.err for text in expect.get("says", []))
    assert not any(text in ended.err for text in expect.get("says_not", []))
    if expect.get("before_first_call"):
        assert (ended.code, targets, through) == (2, [], [])
        assert not (tmp_path / "r").exists()
    else:
        assert ended.code == 0, ended.err
        assert (bool(targets), bool(through)) == (
            (False, True) if "the proxy" in expect.get("through", "") else (True, False)
        )
        if "request_target" in expect:
            assert targets == [expect["request_target"]]


def test_every_fault_is_told_at_once(tmp_path):
    env = {"SSL_CERT_FILE": str(tmp_path / "none.pem"), "https_proxy": "socks5h://user:secret99@p:1"}
    ended = verify(tmp_path, "https://127.0.0.1:9/v1", env)
    assert ended.code == 2
    assert "SSL_CERT_FILE" in ended.err
    assert "https_proxy" in ended.err
    assert "secret99" not in ended.err


@pytest.mark.parametrize(
    ("variable", "content", "words"),
    [
        ("SSL_CERT_FILE", None, "cannot be read"),
        ("SSL_CERT_FILE", "", "holds no certificate"),
        ("SSL_CERT_FILE", "no certificate\n", "holds no certificate"),
        ("SSL_CERT_DIR", None, "cannot be read"),
        ("SSL_CERT_DIR", "", "cannot be read"),
    ],
)
def test_certificates(tmp_path, variable, content, words):
    path = tmp_path / "there"
    if content is not None:
        path.write_text(content)
    (fault,) = network_faults("https://host/v1", {variable: str(path)})
    assert variable in fault
    assert str(path) in fault
    assert words in fault
    assert network_faults("http://host/v1", {variable: str(path)}) == []


def test_an_empty_folder_of_certificates(tmp_path):
    assert "holds no certificate" in network_faults("https://host/v1", {"SSL_CERT_DIR": str(tmp_path)})[0]


@pytest.mark.parametrize(
    ("without", "url", "bypassed"),
    [
        ("127.0.0.0/8", "http://127.0.0.1:8000/v1", True),
        ("127.0.0.0/8", "http://128.0.0.1/v1", False),
        ("10.0.0.0/8, 192.168.0.0/16", "http://192.168.3.4/v1", True),
        ("fd00::/8", "http://[fd12::1]:8000/v1", True),
        ("::1", "http://[::1]:8000/v1", True),
        ("[::1]", "http://[::1]:8000/v1", True),
        ("[::1]:8000", "http://[::1]:8000/v1", True),
        ("[::1]:8001", "http://[::1]:8000/v1", False),
        ("127.0.0.1", "http://127.0.0.1/v1", True),
        ("127.0.0.1:8000", "http://127.0.0.1:8000/v1", True),
        ("127.0.0.1:80", "http://127.0.0.1/v1", True),
        ("127.0.0.1:8001", "http://127.0.0.1:8000/v1", False),
        ("example.org", "http://api.example.org/v1", True),
        (".example.org", "http://api.example.org/v1", True),
        ("*.example.org", "http://api.example.org/v1", True),
        ("example.org", "http://badexample.org/v1", False),
        ("EXAMPLE.org", "http://example.ORG/v1", True),
        ("*", "http://anything/v1", True),
        ("a,*", "http://anything/v1", True),
        ("localhost", "http://127.0.0.1/v1", False),
        ("", "http://127.0.0.1/v1", False),
        ("127.0.0.0/99", "http://127.0.0.1/v1", False),
    ],
)
@pytest.mark.parametrize("name", ["no_proxy", "NO_PROXY"])
def test_no_proxy(name, without, url, bypassed):
    environ = {"http_proxy": "http://p:1", name: without}
    assert proxy_for(url, environ) == (None if bypassed else "http://p:1")


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        ({"http_proxy": "p:1"}, "http://p:1"),
        ({"http_proxy": "localhost:3128"}, "http://localhost:3128"),
        ({"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ({"http_proxy": "http://low:1", "HTTP_PROXY": "http://up:1"}, "http://low:1"),
        ({"http_proxy": "", "HTTP_PROXY": "http://up:1"}, None),
        ({"ALL_PROXY": "p:1"}, "http://p:1"),
        ({"https_proxy": "http://p:1"}, None),
        ({"all_proxy": "socks5://p:1", "http_proxy": "http://p:2"}, "http://p:2"),
    ],
)
def test_which_proxy(environ, proxy):
    assert proxy_for("http://host/v1", environ) == proxy


@pytest.mark.parametrize("value", ["socks5://p:1", "SOCKS4a://p", "ftp://p:1", "http://", "http://p:none", "p:99999"])
def test_proxies_that_cannot_be_used(value):
    with pytest.raises(ConfigError, match="http_proxy"):
        proxy_for("http://host/v1", {"http_proxy": value})
    assert proxy_for("http://host/v1", {"http_proxy": value, "no_proxy": "host"}) is None


def test_an_address_keeps_its_query_behind_the_path():
    assert address("http://h/v1", "/chat/completions") == "http://h/v1/chat/completions"
    assert address("http://h/d?api-version=1", "/x") == "http://h/d/x?api-version=1"


def test_a_key_in_azures_header(command, tmp_path, monkeypatch):
    monkeypatch.setenv("AZURE_KEY", "azure-key-4f9c2e71d8aa0b35")
    write_rows(tmp_path / "rows.jsonl", proof_rows(1))
    with RehearseServer.in_thread(script=lambda _: answer(TEXT)) as server:
        base_url = f"{server.origin}/v1?api-version=2024-10-21"
        lines = ["[verifier]", 'model = "m"', f'base_url = "{base_url}"', "generation = { max_tokens = 500 }"]
        lines.append('extra_headers_env = { "api-key" = "AZURE_KEY" }')
        (tmp_path / "config.toml").write_text("\n".join(lines))
        ended = command("verify", "--data", "rows.jsonl", "--config", "config.toml", "--output", "r")
    assert ended.code == 0, ended.err
    assert server.log[0].headers["api-key"] == "azure-key-4f9c2e71d8aa0b35"
    assert "Authorization" not in server.log[0].headers
    files = [path for path in (tmp_path / "r").rglob("*") if path.is_file()]
    assert not any(b"4f9c2e71d8aa0b35" in path.read_bytes() for path in files)
