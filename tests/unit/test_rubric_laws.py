"""What holds for every text that is read as a rubric, and what its front matter says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import LoopConfig
from helmsman.parsers.rubric import MOST_PROBLEMS, find_conflicts, parse_front_matter, read_rubric, settings

pytestmark = pytest.mark.feature("V1")

MARKS = st.sampled_from(
    ["## Checks", "## Judge criteria", "## Envisioning", "- ", "`", "```", "~~~", "(", ")", "[", "]", "<!--", "-->", "weight 2",
     "2 of 3", "tests: ", "name: ", ",", ";", '"', "\n", "\n", "\n  ", " ", "a", "#", "\\", "\0", "\t", "é"]
)  # fmt: skip
DOCUMENTS = st.lists(MARKS, max_size=60).map("".join) | st.text(max_size=300)


@given(DOCUMENTS, st.integers(1, 50))
def test_any_text_is_read_and_every_flaw_lies_in_it(text: str, first: int) -> None:
    rubric = read_rubric(text, first)
    lines = [one.line for one in rubric.problems]
    assert lines == sorted(lines)
    assert all(first <= line <= first + text.count("\n") for line in lines)


@given(DOCUMENTS)
def test_whatever_is_without_flaw_is_valid_configuration(text: str) -> None:
    rubric = read_rubric(text)
    if not rubric.problems:
        config = LoopConfig.model_validate({"goal": "g", **settings(rubric)}, strict=True)
        assert len(config.checks) == len(rubric.checks)


HOSTILE = [
    "`" * 100_000,
    "` " * 50_000,
    "- `a` (" * 20_000,
    "(" * 100_000,
    ")" * 100_000,
    "a (" + "[" * 1_900 + ")",
    f"- a ({'[' * 1_900})\n" * 100,
    '- "' * 50_000,
    "* _" * 50_000,
    "a:" + " " * 100_000,
    "".join("`" * length + "\n" for length in range(400, 2, -1)),
    "<!--\n" * 20_000,
    "a\n" * 50_000,
    "a\n- b\n  c\n" * 10_000,
    "## chek\n" * 10_000,
]


@pytest.mark.feature("X3")
@pytest.mark.parametrize("heading", ["## Checks\n- ", "## Judge criteria\n- "])
def test_hostile_text_is_parsed_in_bounded_time(heading: str) -> None:
    for text in HOSTILE:
        assert len(read_rubric(heading + text).problems) <= MOST_PROBLEMS


# Front matter of a rubric as configuration


def lines(said: dict[Any, Any]) -> list[str]:
    return ["---", *(f"{key}: {value}" for key, value in said.items()), "---"]


def test_short_keys_are_those_of_the_configuration() -> None:
    said = {"model": "opus", "hitl_threshold": 3, "force_max": True, "max_iterations": 9, "goal": "g"}
    said |= {"milestone_every": 4, "structured_memory": True}
    assert parse_front_matter(said, lines(said)) == (
        {
            "goal": "g",
            "judge": {"model": "opus", "rejections": 3},
            "completion": {"force_max": True},
            "limits": {"iterations": 9},
            "gates": {"milestone_every": 4},
            "memory": {"wiki": True},
        },
        [],
    )


def test_a_short_key_stands_beside_others_of_its_section() -> None:
    said = {"max_iterations": 9, "limits": {"tokens": 5}}
    assert parse_front_matter(said, lines(said)) == ({"limits": {"tokens": 5, "iterations": 9}}, [])


@pytest.mark.parametrize("key", ["base_branch", "autonomous", "title", "version"])
def test_keys_of_other_loops_are_ignored(key: str) -> None:
    assert parse_front_matter({key: 5}, []) == ({}, [])


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("hitl_treshold", "unknown key 'hitl_treshold'; did you mean hitl_threshold?"),
        ("tokens", "unknown key 'tokens'; did you mean limits.tokens"),
        ("limits.tokens", "write sections as nested tables"),
        ("nonsense", "unknown key 'nonsense'; correct or remove it"),
        (5, "unknown key '5'"),
    ],
)
def test_an_unknown_key_is_a_flaw_with_its_line(key: Any, told: str) -> None:
    values, (flaw,) = parse_front_matter({"goal": "g", key: 1}, ["---", "goal: g", f"{key}: 1"])
    assert values == {"goal": "g"}
    assert told in f"{flaw.cause}; {flaw.remedy}"
    assert flaw.line == 3


def test_a_key_in_short_and_in_full_is_a_flaw() -> None:
    said = {"model": "a", "judge": {"model": "b"}}
    _, (flaw,) = parse_front_matter(said, lines(said))
    assert (flaw.line, flaw.cause) == (2, "model and judge.model set the same value")


def test_what_stands_in_the_front_matter_and_in_a_section_is_a_flaw() -> None:
    assert [flaw.cause for flaw in find_conflicts({"checks": "a"}, {"checks": "b"}, [])] == [
        "checks are in both the front matter and ## Checks"
    ]
    assert list(find_conflicts({"checks": "a"}, {}, [])) == []
