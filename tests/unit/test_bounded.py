"""The laws of bounded output, whatever the chunks that it comes in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.system.process import Excerpt, Lines

STREAMS = st.lists(st.binary(max_size=9) | st.sampled_from([b"\n", b"a\n", b"\n\n"]), max_size=12)


@pytest.mark.feature("X4")
@given(chunks=STREAMS, longest=st.integers(1, 12))
def test_lines_are_the_same_however_the_stream_was_cut(chunks: list[bytes], longest: int) -> None:
    seen: list[bytes] = []
    lines = Lines(seen.append, longest)
    for chunk in chunks:
        lines.add(chunk)
    lines.finish()
    whole = b"".join(chunks).split(b"\n")
    expected = whole if whole[-1] else whole[:-1]
    assert seen == [line[:longest] for line in expected]


@pytest.mark.feature("X4")
@given(chunks=STREAMS, keep=st.integers(0, 12))
def test_an_excerpt_is_the_first_and_the_last_bytes_without_overlap(chunks: list[bytes], keep: int) -> None:
    excerpt = Excerpt(keep)
    for chunk in chunks:
        excerpt.add(chunk)
    stream = b"".join(chunks)
    rest = stream[keep:]
    assert excerpt.total == len(stream)
    assert excerpt.head == stream[:keep].decode(errors="replace")
    assert excerpt.tail == rest[max(0, len(rest) - keep) :].decode(errors="replace")


def test_a_text_that_fits_is_whole_even_where_a_character_lies_across_the_middle() -> None:
    excerpt = Excerpt(3)
    excerpt.add("abéde".encode())
    assert excerpt.text == "abéde"
