"""TOML with keys that take the parser hours."""

import pytest

from helmsman.toml_of import toml_of

pytestmark = pytest.mark.feature("X4")

PARTS = ("a", "a-1", '""', '"a b"', "'a'", "''", r'"\""', r'"\\"', r'"\u0041"', r'"\\\" . \""', '"\'"', "'\"'")
BEFORE = ("", "x = 1\n", "[", "x = {", "x = '''\n\\\n'''\n")


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("between", [".", " . "])
def test_a_key_of_too_many_parts_is_refused_before_it_is_parsed(part: str, between: str) -> None:
    for before in BEFORE:
        with pytest.raises(ValueError, match="a dotted name of more than 50 parts"):
            toml_of(before + between.join([part] * 40_000) + " = 1")


@pytest.mark.parametrize("part", [r"\"", '"', r'"\"', r"\\\"", "'", r'."\"', r'"."\"', r'\"."'])
def test_what_looks_like_keys_without_end_is_read_at_once(part: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        toml_of(part * 100_000)
