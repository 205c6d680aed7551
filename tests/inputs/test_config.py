"""Configs: what is read, what is refused, and in which words."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.errors import ConfigError
from proverbench.inputs.config import Config, RoleConfig, check_environment
from proverbench.inputs.config_file import load_config
from proverbench.inputs.study import load_study
from proverbench.records import RoleIdentity
from tests.support import grows_too_fast

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"

VERIFIER = '[verifier]\nmodel = "m"\nbase_url = "http://h/v1"\n'


def load(tmp_path: Path, text: str, name: str = "c.toml") -> Config:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return load_config(path)


def load_json(tmp_path: Path, **sections: Any) -> Config:
    return load(tmp_path, json.dumps(sections), "c.json")


def faults(tmp_path: Path, text: str, name: str = "c.toml") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, name)
    path = str(tmp_path / name)
    lines = str(caught.value).split("\n")
    assert all(path in line for line in lines if not line.startswith(" "))
    return [line.removeprefix(path).removeprefix(": ") for line in lines]


def verifier(text: str) -> str:
    return VERIFIER + text


CONFIGS = sorted(path for path in (ROOT / "configs").iterdir() if path.name != "study.toml")
"""A study's file is read by inputs/study.py and has its own tests."""


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.name))
def test_every_shipped_config_loads(path: Path) -> None:
    config = load_config(path)
    if path.name == "compression.toml":
        config.require(["policy"])
        return
    config.require(["verifier"])
    if path.name != "replay.toml":
        config.require(["policy", "verifier", "meta"])


def test_the_shipped_study_loads() -> None:
    study = load_study(ROOT / "configs" / "study.toml")
    assert study.policies
    assert study.judges


@pytest.mark.shared
@pytest.mark.parametrize("name", ["prover", "prover-interrupted", "verifier", "verifier-meta"])
def test_published_configs_load(name: str) -> None:
    path = SHARED / "published-run" / f"{name}.config.json"
    config = load_config(path)
    assert list(config.roles) == [
        role for role in ("policy", "verifier", "meta") if role in json.loads(path.read_text())
    ]


def test_the_published_form_has_its_own_defaults(tmp_path: Path) -> None:
    config = load_json(tmp_path, verifier={"model": "m", "base_url": "http://h/v1"})
    endpoint = config.roles["verifier"].endpoint
    assert (endpoint.kind, endpoint.timeout_s, endpoint.max_retries) == ("openai", 1800.0, 2)
    assert load(tmp_path, VERIFIER).roles["verifier"].endpoint.max_retries > 2


def test_json_is_known_by_its_content_too(tmp_path: Path) -> None:
    text = json.dumps({"verifier": {"model": "m", "base_url": "http://h/v1"}})
    assert load(tmp_path, text, "config").roles["verifier"].endpoint.max_retries == 2


def test_the_api_backend_ignores_the_other_backends_keys(tmp_path: Path) -> None:
    section = {"backend": "api", "model": "m", "base_url": "http://h/v1", "dtype": "bfloat16", "device_map": "auto"}
    assert load_json(tmp_path, verifier=section).roles["verifier"].model == "m"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            verifier("temperature = 1"),
            "verifier.temperature is unknown; did you mean verifier.generation.temperature?",
            id="parameter-beside-generation",
        ),
        pytest.param(
            verifier("concurency = 1"),
            "verifier.concurency is unknown; did you mean verifier.concurrency?",
            id="misspelt-limit",
        ),
        pytest.param(
            verifier("max_tokns = 1"),
            "verifier.max_tokns is unknown; did you mean verifier.generation.max_tokens?",
            id="misspelt-parameter",
        ),
        pytest.param(verifier("[verifer]\n"), "verifer is unknown; did you mean verifier?", id="misspelt-role"),
        pytest.param(
            verifier("prices = {inputs = 1}"),
            "verifier.prices.inputs is unknown; did you mean verifier.prices.input?",
            id="misspelt-price",
        ),
        pytest.param(
            verifier("[endpoint.x]\nbase_ur = 'http://h'\nbase_url = 'http://h'"),
            "endpoint.x.base_ur is unknown; did you mean endpoint.x.base_url?",
            id="misspelt-in-endpoint",
        ),
        pytest.param(
            verifier("concurrency = true"), "verifier.concurrency is true; wanted a valid integer", id="boolean-count"
        ),
        pytest.param(
            verifier("concurrency = '16'"), "verifier.concurrency is '16'; wanted a valid integer", id="count-as-text"
        ),
        pytest.param(
            verifier("timeout_s = inf"), "verifier.timeout_s is inf; wanted a finite number", id="endless-timeout"
        ),
        pytest.param(verifier("timeout_s = 0"), "verifier.timeout_s is 0; wanted greater than 0", id="no-timeout"),
        pytest.param(
            verifier("kind = 'opneai'"),
            "verifier.kind is 'opneai'; did you mean 'openai'? known are 'openai', 'anthropic', 'embedded', 'replay'",
            id="kind",
        ),
        pytest.param(
            verifier("threads = 2"),
            "verifier.threads has no meaning for kind 'openai'; delete it",
            id="key-of-other-kind",
        ),
        pytest.param(
            '[verifier]\nmodel = "m"',
            "verifier.base_url is missing; give the server's address, like 'http://127.0.0.1:8000/v1'",
            id="no-url",
        ),
        pytest.param(
            '[verifier]\nbase_url = "http://h"',
            "verifier.model is missing; give the model's name as the server knows it",
            id="no-model",
        ),
        pytest.param(
            '[verifier]\nmodel = "m"\nkind = "replay"',
            "verifier.run is missing; give the folder of the saved run that answers",
            id="replay-without-run",
        ),
        pytest.param(
            '[verifier]\nmodel = "m"\nkind = "anthropic"\ngeneration.max_tokens = 9',
            "verifier.api_key_env is missing; name the variable that holds the key: 'ANTHROPIC_API_KEY'",
            id="anthropic-without-key",
        ),
        pytest.param(
            '[verifier]\nmodel = "m"\nendpoint = "srv"\n[endpoint.srvr]\nbase_url = "http://h"',
            "verifier.endpoint is 'srv'; did you mean 'srvr'?",
            id="misspelt-endpoint",
        ),
        pytest.param(
            '[verifier]\nmodel = "m"\nendpoint = "s"\ntimeout_s = 3\n[endpoint.s]\nbase_url = "http://h"',
            "verifier.timeout_s stands beside verifier.endpoint; move it to [endpoint.s]",
            id="inline-beside-shared",
        ),
        pytest.param("", "has no [policy], [verifier] or [meta]; see docs/configs.md", id="empty"),
        pytest.param("verifier = 3", "verifier is 3; wanted a table", id="no-table"),
    ],
)
def test_a_faulty_config_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    assert faults(tmp_path, text) == [expected]


@pytest.mark.parametrize(
    ("generation", "expected"),
    [
        ("max_tokens = true", ".max_tokens is true; wanted a positive integer"),
        ("max_tokens = 0", ".max_tokens is 0; wanted a positive integer"),
        ("max_completion_tokens = 1.5", ".max_completion_tokens is 1.5; wanted a positive integer"),
        (
            "max_tokens = 1\nmax_completion_tokens = 1",
            " has both max_tokens and max_completion_tokens; keep the one that the server knows",
        ),
        ("model = 'm'", ".model is set by each call itself; give it as verifier.model"),
        ("messages = []", ".messages is set by each call itself; delete it"),
        ("n = 2", ".n is set by each call itself; delete it"),
        ("tools = []", ".tools is set by each call itself; delete it"),
        ("stream = true", ".stream is set by each call itself; give stream = true or false as verifier.stream"),
        ("extra_body.n = 2", ".extra_body.n is set by each call itself; delete it"),
        ("temperature = 'hot'", ".temperature is 'hot'; wanted a number of at least 0"),
        ("temperature = nan", ".temperature is nan; wanted a number of at least 0"),
        ("top_p = 1.5", ".top_p is 1.5; wanted a number from 0 to 1"),
        ("seed = 1.5", ".seed is 1.5; wanted an integer, from which each call gets its own seed"),
        ("extra_body.x = [inf]", ".extra_body.x[0] is inf; wanted a finite number"),
        ("extra_body.day = 2026-01-01", ".extra_body.day is a TOML date; wanted a string"),
        ("extra_body = 1", ".extra_body is 1; wanted a table"),
    ],
)
def test_faulty_request_parameters(tmp_path: Path, generation: str, expected: str) -> None:
    told = faults(tmp_path, verifier(f"[verifier.generation]\n{generation}"))
    assert told[0] == f"verifier.generation{expected}"


@pytest.mark.parametrize(
    ("generation", "expected"),
    [
        ("temperature = 1", [".max_tokens is missing; kind 'anthropic' needs it"]),
        (
            "max_tokens = 100\nthinking = {type = 'enabled', budget_tokens = 100}",
            [".thinking.budget_tokens is 100; wanted less than max_tokens, which is 100"],
        ),
        (
            "max_tokens = 100\nthinking = {type = 'enabled', budget_tokens = true}",
            [".thinking.budget_tokens is true; wanted a positive integer"],
        ),
        (
            "max_completion_tokens = 9\nmax_tokens = 9",
            [
                " has both max_tokens and max_completion_tokens; keep the one that the server knows",
                ".max_completion_tokens is not known to kind 'anthropic'; wanted max_tokens",
            ],
        ),
    ],
)
def test_what_anthropic_would_refuse_is_refused_before_any_call(
    tmp_path: Path, generation: str, expected: list[str]
) -> None:
    text = f'[verifier]\nmodel = "m"\nkind = "anthropic"\napi_key_env = "K"\n[verifier.generation]\n{generation}'
    assert faults(tmp_path, text) == [f"verifier.generation{line}" for line in expected]


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    told = faults(
        tmp_path,
        'extra = 1\n[policy]\nmodel = ""\nbase_url = "ftp://h"\ntemprature = 1\n'
        '[verifier]\nmax_retries = -1\n[verifier.generation]\nmax_tokens = "1"\n',
    )
    assert [line.split(" ")[0] for line in told] == [
        "extra",
        "policy.temprature",
        "policy.base_url",
        "policy.model",
        "verifier.base_url",
        "verifier.max_retries",
        "verifier.model",
        "verifier.generation.max_tokens",
    ]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h/v1", "http://h/v1"),
        ("http://h/v1/", "http://h/v1"),
        ("http://h/v1///", "http://h/v1"),
        ("https://h:8000/v1/chat/completions", "https://h:8000/v1"),
        ("https://h/v1/chat/completions/", "https://h/v1"),
        ("https://h", "https://h"),
        ("https://h/v1beta/openai", "https://h/v1beta/openai"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_only_a_slash_and_the_path_of_chat_are_removed(tmp_path: Path, url: str, expected: str) -> None:
    config = load(tmp_path, f'[verifier]\nmodel = "m"\nbase_url = "{url}"')
    assert config.roles["verifier"].endpoint.base_url == expected


@pytest.mark.parametrize(
    "url",
    [
        "http://user:hunter2@h/v1",
        "http://hunter2@h/v1",
        "http://h/v1?key=hunter2",
        "http://h/v1#hunter2",
        "ftp://hunter2/v1",
        "hunter2.example/v1",
        "http://",
        "http://h:hunter2/v1",
        "http://h/hunter2 x",
        "http://[hunter2/v1",
    ],
)
def test_a_bad_url_is_refused_and_never_repeated(tmp_path: Path, url: str) -> None:
    (told,) = faults(tmp_path, f'[verifier]\nmodel = "m"\nbase_url = "{url}"')
    assert told.startswith("verifier.base_url ")
    assert "hunter2" not in told


@pytest.mark.parametrize(
    "text",
    [
        'api_key = "hunter2"',
        '"API-Key" = "hunter2"',
        'generation.api_key = "hunter2"',
        'generation.extra_body.a = [{Authorization = "hunter2"}]',
        'generation.extra_headers = {x = "hunter2"}',
        'generation.extra_body.headers = {x = "hunter2"}',
        'password = "hunter2"',
        'generation.secret = "hunter2"',
        'generation.Access_Token = "hunter2"',
        'api_key_env = "sk-hunter2"',
        'api_key_env = "gsk_hunter2"',
        'extra_headers_env = {"X-Key" = "Bearer hunter2"}',
    ],
)
def test_a_secret_is_refused_and_never_repeated(tmp_path: Path, text: str) -> None:
    (told,) = faults(tmp_path, verifier(text))
    assert "environment variable" in told
    assert "hunter2" not in told


def test_headers_may_be_named_authorization(tmp_path: Path) -> None:
    config = load(tmp_path, verifier('extra_headers_env = {Authorization = "PROXY_AUTH"}'))
    assert config.roles["verifier"].endpoint.extra_headers_env == {"Authorization": "PROXY_AUTH"}


def test_unset_parameters_are_not_sent(tmp_path: Path) -> None:
    generation = {"max_tokens": None, "top_p": 0.5, "extra_body": {"top_k": None, "chat_template_kwargs": {"x": None}}}
    config = load_json(tmp_path, verifier={"model": "m", "base_url": "http://h", "generation": generation})
    assert config.roles["verifier"].generation == {"top_p": 0.5, "extra_body": {"chat_template_kwargs": {"x": None}}}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("c.toml", "[verifier]\n\n\n\n\n\nmodel = \n", ":7:9: TOML syntax: Invalid value"),
        ("c.toml", "[verifier]\nmodel = 'x", ':2:11: TOML syntax: Expected "\'", at the end of the file'),
        ("c.json", '{"verifier":\n\n {"model" 3}}', ":3:11: JSON syntax: Expecting ':' delimiter"),
        ("c.json", '{"verifier": {}, "verifier": {}}', "the key 'verifier' stands twice in one object; keep one"),
        ("c.json", "[]", "holds a JSON list; wanted an object with policy, verifier, meta"),
    ],
)
def test_a_syntax_error_names_line_and_column(tmp_path: Path, name: str, text: str, expected: str) -> None:
    assert faults(tmp_path, text, name) == [expected]


@pytest.mark.parametrize("prefix", ["\ufeff", "\r\n"])
def test_files_from_other_editors(tmp_path: Path, prefix: str) -> None:
    assert load(tmp_path, prefix + VERIFIER.replace("\n", "\r\n")).roles["verifier"].model == "m"


@pytest.mark.parametrize("depth", [900, 980, 990, 100_000])
def test_deep_nesting_is_read_or_refused(tmp_path: Path, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    text = '{"verifier": {"model": "m", "base_url": "http://h", "generation": {"x": ' + deep + "}}}"
    try:
        outcome = load(tmp_path, text, "c.json").path.name
    except ConfigError as exc:
        outcome = str(exc)
    assert "c.json" in outcome


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no\.toml: cannot be read: No such file"):
        load_config(tmp_path / "no.toml")
    with pytest.raises(ConfigError, match="Is a directory"):
        load_config(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"\n# \xe9")
    with pytest.raises(ConfigError, match=r"latin\.toml:2: byte 3 is not UTF-8"):
        load_config(tmp_path / "latin.toml")


def test_transformers_is_refused_with_what_to_do_instead(tmp_path: Path) -> None:
    section = {
        "backend": "transformers",
        "model": "debouter/AdvancedMathBench-AutoVerifier",
        "dtype": "float16",
        "generation": {"temperature": 0, "top_k": 5},
        "chat_template_kwargs": {"enable_thinking": True},
    }
    told = faults(tmp_path, json.dumps({"verifier": section}), "c.json")
    assert told[0].startswith("verifier.backend is 'transformers'")
    assert told[1].strip() == (
        "vllm serve debouter/AdvancedMathBench-AutoVerifier --revision 2ad58735622f70bbe2f106049bcdf34f5bb93cfd "
        "--dtype float16 --port 8000"
    )
    instead = json.loads("{" + told[3] + "}")
    role = load_json(tmp_path, **instead).roles["verifier"]
    assert role.model == section["model"]
    assert role.generation == {
        "max_tokens": 65536,
        "temperature": 0,
        "extra_body": {"top_k": 5, "chat_template_kwargs": {"enable_thinking": True}},
    }


def test_a_stated_revision_is_the_one_served(tmp_path: Path) -> None:
    section = {"backend": "transformers", "model": "a b", "revision": "v 1", "trust_remote_code": True}
    told = faults(tmp_path, json.dumps({"verifier": section}), "c.json")
    assert told[1].strip() == "vllm serve 'a b' --revision 'v 1' --dtype bfloat16 --port 8000 --trust-remote-code"


def test_every_published_section_is_checked_used_or_not(tmp_path: Path) -> None:
    good = {"model": "m", "base_url": "http://h"}
    text = json.dumps({"verifier": good, "meta": good | {"max_retries": 11}, "policy": good | {"backend": "vllm"}})
    assert faults(tmp_path, text, "c.json") == [
        "policy.backend is 'vllm'; wanted 'api'",
        "meta.max_retries is 11; wanted an integer from 0 to 10",
    ]


def test_roles_that_name_an_endpoint_share_it(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        '[endpoint.s]\nbase_url = "http://h"\nprices.output = 2\n[policy]\nmodel = "a"\nendpoint = "s"\n'
        '[verifier]\nmodel = "b"\nendpoint = "s"\nprices.output = 1',
    )
    policy, judge = config.roles["policy"], config.roles["verifier"]
    assert policy.endpoint is judge.endpoint
    assert policy.endpoint.name == "s"
    assert [role.effective_prices and role.effective_prices.output for role in (policy, judge)] == [2, 1]


def test_equal_inline_endpoints_are_one(tmp_path: Path) -> None:
    text = "".join(
        f'[{role}]\nmodel = "{role}"\nbase_url = "http://h{slash}"\nprices.input = {price}\nconcurrency = {limit}\n'
        for role, slash, price, limit in (("policy", "/", 1, 4), ("verifier", "", 2, 4), ("meta", "", 1, 5))
    )
    config = load(tmp_path, text)
    policy, judge, meta = (config.roles[role] for role in ("policy", "verifier", "meta"))
    assert policy.endpoint is judge.endpoint
    assert [endpoint.name for endpoint in config.endpoints(config.roles)] == ["policy", "meta"]
    assert [role.effective_prices and role.effective_prices.input for role in (policy, judge, meta)] == [1, 2, 1]


def test_an_inline_endpoint_never_takes_a_shared_ones_name(tmp_path: Path) -> None:
    config = load(tmp_path, VERIFIER + '[endpoint.verifier]\nbase_url = "http://other"')
    assert config.roles["verifier"].endpoint.name == "verifier (inline)"


def test_required_roles(tmp_path: Path) -> None:
    config = load(tmp_path, VERIFIER)
    config.require(["verifier"])
    with pytest.raises(ConfigError, match=r"(?s)\[policy\] is missing.*\[meta\] is missing"):
        config.require(["policy", "verifier", "meta"])


def test_variables_must_be_set_and_not_empty(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        verifier('api_key_env = "MY_KEY"\nextra_headers_env = {"X-Team" = "MY_TEAM"}\n')
        + '[meta]\nmodel = "m"\nbase_url = "http://other"\napi_key_env = "META_KEY"',
    )
    check_environment(config, ["verifier"], {"MY_KEY": "k", "MY_TEAM": "t"})
    with pytest.raises(ConfigError) as caught:
        check_environment(config, ["verifier"], {"MY_KEY": " "})
    assert str(caught.value).split("\n") == [
        f"{config.path}: endpoint 'verifier' reads api_key_env from the environment variable MY_KEY, which is empty; "
        "set it: export MY_KEY=...",
        f"{config.path}: endpoint 'verifier' reads extra_headers_env.X-Team from the environment variable MY_TEAM, "
        "which is not set; set it: export MY_TEAM=...",
    ]


def test_the_real_environment_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load(tmp_path, verifier('api_key_env = "PROVERBENCH_TEST_KEY"'))
    with pytest.raises(ConfigError):
        check_environment(config, ["verifier"])
    monkeypatch.setenv("PROVERBENCH_TEST_KEY", "k")
    check_environment(config, ["verifier"])


def test_identity_holds_what_a_reply_depends_on(tmp_path: Path) -> None:
    role = load(tmp_path, verifier("accept_missing_finish = true\ngeneration.seed = 7")).roles["verifier"]
    assert role.identity() == RoleIdentity(
        model="m", kind="openai", generation={"seed": 7}, accept_missing_finish=True, api="chat"
    )


def test_a_replayed_role_is_the_saved_one(tmp_path: Path) -> None:
    saved = RoleIdentity(model="gpt", kind="anthropic", generation={"max_tokens": 5})
    role = load(tmp_path, '[verifier]\nkind = "replay"\nrun = "runs/x"').roles["verifier"]
    assert role.identity(saved) == saved
    other: RoleConfig = role.model_copy(update={"model": "claude"})
    with pytest.raises(ConfigError, match="model is 'claude', but runs/x was made with 'gpt'"):
        other.identity(saved)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
_keys = st.sampled_from(
    ["model", "base_url", "kind", "generation", "prices", "endpoint", "backend", "stream", "api", "run", "timeout_s"]
)


@given(st.dictionaries(_keys, _values), _values)
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, section: Any, endpoint: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps({"verifier": section, "endpoint": endpoint}))
    try:
        outcome = f"{path}: read {list(load_config(path).roles)}"
    except ConfigError as exc:
        outcome = str(exc)
    assert str(path) in outcome


@pytest.mark.parametrize(
    "text",
    [
        f"generation.extra_body.{key} = 'hunter2'"
        for key in ("apiKey", "api-key", "token", "auth", "bearer", "x-api-key", "secret_key", "OPENAI_API_KEY")
    ],
)
def test_a_secret_in_generation_is_refused_however_its_key_is_written(tmp_path: Path, text: str) -> None:
    (told,) = faults(tmp_path, verifier(text))
    assert "may hold a secret" in told
    assert "hunter2" not in told


def test_limits_of_tokens_are_no_secrets_and_an_endpoint_may_have_any_name(tmp_path: Path) -> None:
    text = """
[endpoint.token]
base_url = "http://h/v1"
[verifier]
endpoint = "token"
model = "m"
generation = {max_tokens = 5, extra_body = {min_tokens = 1, token_healing = true, skip_special_tokens = false}}
"""
    assert load(tmp_path, text).roles["verifier"].endpoint.name == "token"


@pytest.mark.parametrize(
    "text", ['kind = "https://me:hunter2@h/v1"', 'endpoint = "https://me:hunter2@h/v1"', 'api = "sk-hunter2hunter2"']
)
def test_no_value_shows_a_password(tmp_path: Path, text: str) -> None:
    assert "hunter2" not in " ".join(faults(tmp_path, f'[verifier]\nmodel = "m"\n{text}'))


@pytest.mark.parametrize("key", ["deadbeef0123deadbeef0123", "AKIA0123456789ABCDEF", "sk_0123456789"])
def test_a_key_in_the_place_of_a_variables_name_is_not_repeated(tmp_path: Path, key: str) -> None:
    def used() -> None:
        check_environment(load(tmp_path, verifier(f'api_key_env = "{key}"')), ["verifier"], {})

    with pytest.raises(ConfigError, match="variable") as caught:
        used()
    assert key[4:10] not in str(caught.value)


def test_a_long_name_of_a_variable_is_shown(tmp_path: Path) -> None:
    config = load(tmp_path, verifier('api_key_env = "OUR_COMPANYS_API_KEY_2"'))
    with pytest.raises(ConfigError, match="variable OUR_COMPANYS_API_KEY_2, which is not set"):
        check_environment(config, ["verifier"], {})


@pytest.mark.parametrize("header", ["Content-Length", "transfer-encoding", "Host", "CONNECTION", "Content-Type"])
def test_headers_that_each_request_sets_itself_are_refused(tmp_path: Path, header: str) -> None:
    (told,) = faults(tmp_path, verifier(f'extra_headers_env = {{"{header}" = "VAR"}}'))
    assert "each request sets itself" in told


@pytest.mark.parametrize("host", ["...", "a..b", "a" * 64, "h." + "é" * 64])
def test_a_host_that_no_resolver_takes_is_refused(tmp_path: Path, host: str) -> None:
    (told,) = faults(tmp_path, f'[verifier]\nmodel = "m"\nbase_url = "http://{host}/v1"')
    assert "has a host that is no name" in told


@pytest.mark.parametrize(
    "url", ["http://[::1]:8000/v1", "http://127.0.0.1/v1", "http://h./v1", "http://bücher.example"]
)
def test_hosts_that_are_fine(tmp_path: Path, url: str) -> None:
    assert load(tmp_path, f'[verifier]\nmodel = "m"\nbase_url = "{url}"').roles["verifier"].endpoint.base_url == url


DEEP = {"toml": "x = " + "[" * 5000 + "]" * 5000, "json": '{"verifier": ' + '{"a": ' * 400 + "1" + "}" * 401}


@pytest.mark.parametrize("form", ["toml", "json"])
def test_a_config_that_is_nested_too_deeply(tmp_path: Path, form: str) -> None:
    assert faults(tmp_path, DEEP[form], f"c.{form}") == [
        "is nested too deeply to be read; wanted at most 64 levels of tables and lists"
    ]


@pytest.mark.parametrize(
    "place", ['"model": "a\\ud800"', '"generation": {"stop": ["\\ud800"]}', '"generation": {"\\ud800": 1}']
)
def test_half_a_character_is_refused(tmp_path: Path, place: str) -> None:
    (told,) = faults(tmp_path, '{"verifier": {"base_url": "http://h", ' + place + "}}", "c.json")
    assert "half a character" in told
    assert told.isascii()


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_an_integer_that_json_writers_refuse(tmp_path: Path, value: int) -> None:
    (told,) = faults(tmp_path, verifier(f"generation.top_k = {value}"))
    assert "more than 64 bits" in told


def test_keys_said_twice_take_linear_time(tmp_path: Path) -> None:
    def reading(size: int) -> Callable[[], None]:
        text = "{" + ",".join(f'"k{n}":1,"k{n}":2' for n in range(size)) + "}"

        def read() -> None:
            assert len(faults(tmp_path, text, "c.json")) == size

        return read

    assert not grows_too_fast(reading(5_000), reading(10_000))


def test_many_unknown_keys_take_linear_time(tmp_path: Path) -> None:
    def reading(size: int) -> Callable[[], None]:
        text = "{" + ",".join(f'"k{n}":1' for n in range(size)) + "}"

        def read() -> None:
            assert len(faults(tmp_path, text, "c.json")) >= size

        return read

    assert not grows_too_fast(reading(5_000), reading(10_000))
