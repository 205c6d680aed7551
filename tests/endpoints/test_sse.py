from hypothesis import given
from hypothesis import strategies as st

from proverbench.endpoints.sse import Event, iter_events


async def _events(chunks):
    async def stream():
        for chunk in chunks:
            yield chunk

    return [event async for event in iter_events(stream())]


async def test_fields_comments_and_several_data_lines():
    text = b": hi\nevent: a\nid: 7\ndata: one\ndata:two\n\nevent: empty\n\ndata: [DONE]\n\ndata: cut off"
    assert await _events([text]) == [Event("a", b"one\ntwo"), Event("", b"[DONE]")]


async def test_a_byte_order_mark_at_the_start():
    assert await _events([b"\xef\xbb", b"\xbfdata: x\n\n\xef\xbb\xbfdata: y\n\n"]) == [Event("", b"x")]


async def test_crlf():
    assert await _events([b"event: a\r\ndata: x\r\n\r\n"]) == [Event("a", b"x")]


@given(st.lists(st.binary(max_size=20).filter(lambda b: not set(b) & set(b"\r\n")), max_size=8), st.data())
async def test_any_cut_into_chunks(datas, data):
    text = b"".join(b"data: " + item + b"\n\n" for item in datas)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=10)))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert await _events(chunks) == [Event("", item) for item in datas]
