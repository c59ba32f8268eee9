"""Every parser on what fuzzing has found, on what is known to break parsers, and on anything. `make fuzz` looks for more."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools.fuzz_targets import TARGETS, corpus, seeds

pytestmark = pytest.mark.feature("X4")

DEEP = 20_000
ANYTHING = st.binary(max_size=300) | st.text(max_size=100).map(lambda text: text.encode(errors="replace"))
HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "a zero": b"\0",
    "zeros": b"\0" * 5000,
    "a mark alone": b"\xef\xbb\xbf",
    "UTF-16": "\ufeff# Checks\n- `make`\n".encode("utf-16"),
    "broken UTF-8": b"\xff\xfe\xc3\x28\xed\xa0\x80\xf4\x90\x80\x80" * 50,
    "deep lists": b"[" * 5 * DEEP,
    "deep objects": b'{"a":' * DEEP,
    "deep and whole": b"[" * DEEP + b"]" * DEEP,
    "deep TOML": b"a = " + b"[" * DEEP,
    "a dotted key without end": b".".join([b"a"] * 20_000) + b" = 1",
    "deep XML": b"<a>" * DEEP,
    "deep headings": b"#" * DEEP + b" a\n",
    "deep quotes": b"> " * DEEP,
    "deep lists of Markdown": b"".join(b" " * n + b"- [ ] a\n" for n in range(300)),
    "deep brackets of a shell": b"$(" * 5000 + b"`" * 5000,
    "a number beyond numbers": b'{"a": ' + b"9" * 10_000 + b"}",
    "numbers that are none": b'{"a": NaN, "b": -Infinity, "c": 1e999}',
    "an entity bomb": b'<!DOCTYPE a [<!ENTITY b "' + b"c" * 500 + b'">]><testsuite>' + b"&b;" * 500 + b"</testsuite>",
    "a file from outside": b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///dev/zero">]><testsuite>&b;</testsuite>',
    "an alias bomb": b"---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\n",
    "a tag of YAML": b"---\ngoal: !!python/object/apply:os.system [id]\n---\n",
    "one long line": b"a" * 50_000,
    "many lines": b"\n" * 5000,
    "lonely carriage returns": b"a\rb\r\nc\x0bd\x0ce\x85f\xe2\x80\xa8g" * 50,
    "escapes and signs that turn": "\x1b[31m\u202e\u2066\u200b\ufeff\x9b31m".encode() * 50,
    "half an object": b'{"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "',
    "the same key twice": b'{"a": 1, "a": {"a": []}}',
    "types that nobody expects": b'{"type": {}, "message": 5, "criteria": {"id": []}, "userStories": [null, 1, [], {}]}',
}  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
def test_hostile_input_and_earlier_findings_break_no_parser(name: str) -> None:
    for data in (*HOSTILE.values(), *(path.read_bytes() for path in corpus(name))):
        TARGETS[name].read(data)


@pytest.mark.timeout(300)
@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=ANYTHING, seed=st.integers(0, 999))
def test_any_input_is_parsed_or_rejected(data: bytes, seed: int) -> None:
    """Anything, and anything in the middle of something real."""
    for target in TARGETS.values():
        target.read(data)
        real = next(seeds(target), b"")
        start = random.Random(seed).randrange(len(real) + 1)
        target.read(real[:start] + data + real[start:])
        target.read(real[:start])
