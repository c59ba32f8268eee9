"""Lines that two versions of a file do not have in common."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.verify.diff import changed_parts

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=60)


def changed_lines(old: list[str], new: list[str]) -> tuple[list[int], list[int]]:
    """Places of the lines that are on the old side only, and of those on the new side only."""
    parts = list(changed_parts(old, new))
    return [n for a, b, _, _ in parts for n in range(a, b)], [n for _, _, a, b in parts for n in range(a, b)]


def apart(old: str, new: str) -> tuple[str, str]:
    gone, come = changed_lines(list(old), list(new))
    return "".join(old[n] for n in gone), "".join(new[n] for n in come)


@pytest.mark.parametrize(
    ("old", "new", "gone", "come"),
    [
        ("", "", "", ""),
        ("abc", "abc", "", ""),
        ("", "ab", "", "ab"),
        ("abc", "ac", "b", ""),
        ("abcd", "axcd", "b", "x"),
        ("xabcy", "zabcw", "xy", "zw"),
    ],
)
def test_what_stands_on_both_sides_is_left_out(old: str, new: str, gone: str, come: str) -> None:
    assert apart(old, new) == (gone, come)


@given(LINES, LINES)
def test_what_is_left_is_the_same_on_both_sides(old: list[str], new: list[str]) -> None:
    gone, come = changed_lines(old, new)
    assert [line for n, line in enumerate(old) if n not in set(gone)] == [
        line for n, line in enumerate(new) if n not in set(come)
    ]


@given(st.integers(201, 400), st.integers(1, 400), st.integers(1, 400), st.permutations(range(9)), st.integers(0, 200))
def test_so_it_is_where_a_long_file_is_cut(length: int, step: int, different: int, moved: list[int], at: int) -> None:
    old = [str(number * number * step % different) for number in range(length)]
    new = ["first", *old[:at], *map(str, moved), *old[at + 7 :], "last"]
    gone, come = (set(places) for places in changed_lines([*old, "end"], new))
    assert [line for n, line in enumerate([*old, "end"]) if n not in gone] == [
        line for n, line in enumerate(new) if n not in come
    ]


@pytest.mark.parametrize("form", ["{{\nid: {}\n}},", "{{\nid: {}\n}},\n\n"])
def test_a_long_file_of_lines_that_repeat_comes_to_an_end(form: str) -> None:
    old, new = (
        "\n".join(form.format(number) for number in numbers).split("\n") for numbers in (range(9_000), range(9_000, 18_000))
    )
    gone, come = changed_lines(old, new)
    assert {n for n, line in enumerate(old) if line.startswith("id")} <= set(gone)
    assert {n for n, line in enumerate(new) if line.startswith("id")} <= set(come)
