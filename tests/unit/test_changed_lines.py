"""Lines that two versions of a file do not have in common."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.verify.changed_lines import changed_parts, common_start

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


def test_a_few_changes_far_apart_in_a_long_file_are_found_exactly() -> None:
    old = [f"line {number}" for number in range(5_000)]
    new = ["changed" if number % 1_000 == 7 else line for number, line in enumerate(old)]
    places = [number for number in range(5_000) if number % 1_000 == 7]
    assert changed_lines(["x", *old, "y"], ["z", *new, "w"]) == ([0, *(n + 1 for n in places), 5_001],) * 2


@pytest.mark.parametrize("form", ["{{\nid: {}\n}},", "{{\nid: {}\n}},\n\n"])
def test_a_long_file_of_lines_that_repeat_comes_to_an_end(form: str) -> None:
    old, new = (
        "\n".join(form.format(number) for number in numbers).split("\n") for numbers in (range(9_000), range(9_000, 18_000))
    )
    gone, come = changed_lines(old, new)
    assert {n for n, line in enumerate(old) if line.startswith("id")} <= set(gone)
    assert {n for n, line in enumerate(new) if line.startswith("id")} <= set(come)


def test_a_file_that_could_be_cut_line_by_line_is_cut_a_few_times() -> None:
    shared = ["1", "once", *(str(number) for place in range(2, 3_000) for number in (place, place - 1))]
    old, new = ([line for n, both in enumerate(shared) for line in (both, f"{side} {n}")] for side in ("old", "new"))
    gone, come = map(set, changed_lines(old, new))
    assert [line for n, line in enumerate(old) if n not in gone] == [line for n, line in enumerate(new) if n not in come]


def test_a_common_start_ends_at_the_first_difference() -> None:
    assert [common_start("abc", other) for other in ("", "abd", "abc", "abcd", "x")] == [0, 2, 3, 3, 0]
