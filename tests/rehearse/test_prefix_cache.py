import pytest

from proverbench.rehearse.prefix_cache import PrefixCache
from proverbench.rehearse.wire import read_ask


def chat(text):
    return read_ask("chat", {"model": "m", "messages": [{"role": "user", "content": text}]})


def message(*blocks):
    content = [{"type": "text", "text": text, **({"cache_control": {}} if marked else {})} for text, marked in blocks]
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]}
    return read_ask("messages", body)


LONG = "x" * 4 * 1100


def test_a_prefix_is_read_once_its_answer_has_begun():
    cache = PrefixCache(300.0)
    assert cache.ask(chat(LONG), 0.0, 5.0) == (0, 0)
    assert cache.ask(chat(LONG), 4.9, 9.9) == (0, 0), "it is still being read"
    # 1,100 tokens hold 8 blocks of 128: 1,024.
    assert cache.ask(chat(LONG), 5.0, 10.0) == (1024, 0)
    assert cache.ask(chat(LONG + "y" * 4000), 20.0, 21.0) == (1024, 0)
    assert cache.ask(chat("y" + LONG), 30.0, 31.0) == (0, 0)


def test_it_is_forgotten_after_its_last_use():
    cache = PrefixCache(60.0)
    cache.ask(chat(LONG), 0.0, 1.0)
    assert cache.ask(chat(LONG), 50.0, 51.0)[0] == 1024
    assert cache.ask(chat(LONG), 110.0, 111.0)[0] == 1024, "used at 51"
    assert cache.ask(chat(LONG), 172.0, 173.0)[0] == 0


@pytest.mark.parametrize("tokens", [100, 1023])
def test_short_prompts_are_not_kept(tokens):
    cache = PrefixCache()
    cache.ask(chat("x" * 4 * tokens), 0.0, 0.0)
    assert cache.ask(chat("x" * 4 * tokens), 1.0, 1.0) == (0, 0)


def test_anthropic_reads_and_writes_what_is_marked():
    cache = PrefixCache()
    both = message((LONG, True), ("z" * 8000, True))
    assert cache.ask(both, 0.0, 1.0) == (0, 3100)
    assert cache.ask(both, 2.0, 3.0) == (3100, 0)
    other = message((LONG, True), ("w" * 8000, True))
    assert cache.ask(other, 4.0, 5.0) == (1100, 2000)
    assert cache.ask(message((LONG, False)), 6.0, 7.0) == (0, 0)
