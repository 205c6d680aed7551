import base64

import msgspec
import pytest

from proverbench.errors import DataError, InvalidReply
from proverbench.protocols.basic_v1 import parse_level, parse_steps, parse_verdict
from proverbench.protocols.grading import parse_paragraph, parse_points, parse_score
from proverbench.protocols.prompts import Template, render_verifier
from proverbench.protocols.registry import find_protocol
from proverbench.records import CallLine, Problem
from proverbench.rehearse import GeneratedReplies, SavedReplies
from proverbench.rehearse.replies import steps_shown
from proverbench.rehearse.wire import read_ask

POLICY = "Write a proof in <step> elements. Problem: {i}"
VERIFIER = "Give <assessment>, <errors>, <first_error_step>. <step0>\n\n a{i}\n\n</step0>\n\n<step1>\n\nb\n\n</step1>"
META = "Here is an <assessment>; answer with a <level>. {i}"


def _ask(prompt, seed=None):
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
    return read_ask("chat", body if seed is None else {**body, "seed": seed})


def _valid(ask, reply):
    text = reply.content
    if reply.finish_reason != "stop" or text is None:
        return False
    try:
        if ask.role == "policy":
            parse_steps(text)
        elif ask.role == "verifier":
            parse_verdict(text, steps_shown(ask.prompt))
        else:
            parse_level(text)
    except InvalidReply:
        return False
    return True


@pytest.mark.parametrize("prompt", [POLICY, VERIFIER, META], ids=["policy", "verifier", "meta"])
@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_replies_are_valid_but_for_the_stated_share(prompt, rate):
    replies = GeneratedReplies(invalid_rate=rate)
    asks = [_ask(prompt.format(i=i)) for i in range(200)]
    invalid = sum(not _valid(ask, replies(ask, 0)) for ask in asks)
    assert abs(invalid / 200 - rate) < 0.12
    assert rate not in (0, 1) or invalid == rate * 200


def test_verifier_accepts_the_stated_share():
    replies = GeneratedReplies(accept_rate=0.7)
    verdicts = [parse_verdict(replies(_ask(VERIFIER.format(i=i)), 0).content, 2) for i in range(300)]
    accepted = sum(verdict.first_error_step == -1 for verdict in verdicts) / 300
    assert abs(accepted - 0.7) < 0.1
    assert {verdict.first_error_step for verdict in verdicts} == {-1, 0, 1}


def test_steps_are_counted_as_shown_to_judges():
    assert steps_shown("no steps") == 1
    assert steps_shown("as <step0>, <step7> and so on\n<step0>\n\na\n\n</step0>\n\n<step1>\n\nb\n\n</step1>") == 2


class TestVary:
    def test_same_prompt_same_reply(self):
        replies = GeneratedReplies()
        assert replies(_ask(POLICY, seed=1), 0) == replies(_ask(POLICY, seed=2), 5)

    def test_by_seed(self):
        replies = GeneratedReplies(vary="seed")
        assert replies(_ask(POLICY, seed=1), 0) == replies(_ask(POLICY, seed=1), 5)
        assert replies(_ask(POLICY, seed=1), 0) != replies(_ask(POLICY, seed=2), 0)

    def test_by_order(self):
        replies = GeneratedReplies(vary="order")
        assert replies(_ask(POLICY), 0) != replies(_ask(POLICY), 1)

    def test_servers_differ_by_their_seed(self):
        assert GeneratedReplies(seed=1)(_ask(POLICY), 0) != GeneratedReplies(seed=2)(_ask(POLICY), 0)

    def test_judgments_of_one_proof_mostly_agree(self):
        replies = GeneratedReplies(vary="seed", accept_rate=1.0)
        verdicts = [parse_verdict(replies(_ask(VERIFIER, seed=i), 0).content, 2) for i in range(200)]
        accepted = sum(verdict.first_error_step == -1 for verdict in verdicts)
        assert 160 <= accepted < 200


@pytest.mark.parametrize("prompt", [POLICY, VERIFIER], ids=["policy", "verifier"])
def test_replies_are_padded(prompt):
    assert len(GeneratedReplies(min_chars=2000)(_ask(prompt), 0).content) >= 1900


class TestSavedReplies:
    @pytest.fixture
    def run(self, tmp_path):
        lines = [
            CallLine(role="policy", id="p", prompt_sha256=_sha256("a"), text="first", finish_reason="end_turn"),
            CallLine(role="policy", id="p", sample=1, prompt_sha256=_sha256("a"), text="second", finish_reason="stop"),
            CallLine(
                role="policy",
                id="q",
                prompt_sha256=_sha256("b"),
                text="?",
                text_b64=base64.b64encode(b"\xed\xa0\x80").decode(),
                finish_reason="length",
            ),
        ]
        journal = b'{"type":"session","at":"x"}\n' + b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        (tmp_path / "calls.jsonl").write_bytes(journal + b'{"type":"call","ro')
        return tmp_path

    def test_by_prompt(self, run):
        replies = SavedReplies(run, otherwise=GeneratedReplies())
        assert len(replies) == 3
        assert (replies(_ask("a"), 0).content, replies(_ask("a"), 0).finish_reason) == ("first", "stop")
        assert replies(_ask("a"), 1).content == "first"
        assert replies(_ask("b"), 0).content == "\ud800"
        assert replies(_ask(POLICY), 0) == GeneratedReplies()(_ask(POLICY), 0)

    def test_in_turn(self, run):
        replies = SavedReplies(run, vary="order", otherwise=GeneratedReplies())
        assert [replies(_ask("a"), n).content for n in range(3)] == ["first", "second", "first"]

    def test_no_run(self, tmp_path):
        with pytest.raises(DataError, match=r"calls\.jsonl: there is no such file"):
            SavedReplies(tmp_path, otherwise=GeneratedReplies())

    def test_damaged_line(self, tmp_path):
        (tmp_path / "calls.jsonl").write_bytes(b'{"type":"session"}\n{"type"\n')
        with pytest.raises(DataError, match=r"calls\.jsonl:2"):
            SavedReplies(tmp_path, otherwise=GeneratedReplies())


def _sha256(text):
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("grade-0-7", lambda text: parse_points(text) >= 6),
        ("score-3", lambda text: parse_score(text) == 1),
        ("process-v1", lambda text: parse_paragraph(text, 2) == -1),
    ],
)
def test_judgments_under_the_other_protocols(name, read):
    template = Template.load("verifier", None, find_protocol(name))
    replies = GeneratedReplies(invalid_rate=0.2)
    accepted = invalid = 0
    for i in range(200):
        row = Problem(problem_id="p", problem=f"Problem {i}.")
        prompt = render_verifier(template, row, ["a", "b"], use_reference=False, neutralise=True).text
        ask = _ask(prompt)
        assert ask.role == "verifier"
        try:
            accepted += read(replies(ask, 0).content)
        except InvalidReply:
            invalid += 1
    assert 20 <= invalid <= 65
    assert 50 <= accepted <= 110
