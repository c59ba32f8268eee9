"""Front matter of a rubric as configuration."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.parsers.rubric import from_front_matter

pytestmark = pytest.mark.feature("V1")


def lines(said: dict[Any, Any]) -> list[str]:
    return ["---", *(f"{key}: {value}" for key, value in said.items()), "---"]


def test_short_keys_are_those_of_the_configuration() -> None:
    said = {"model": "opus", "hitl_threshold": 3, "force_max": True, "max_iterations": 9, "goal": "g"}
    said |= {"milestone_every": 4, "structured_memory": True}
    assert from_front_matter(said, lines(said)) == (
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
    assert from_front_matter(said, lines(said)) == ({"limits": {"tokens": 5, "iterations": 9}}, [])


@pytest.mark.parametrize("key", ["base_branch", "autonomous", "title", "version"])
def test_keys_that_mean_nothing_here_are_left_alone(key: str) -> None:
    assert from_front_matter({key: 5}, []) == ({}, [])


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("hitl_treshold", "unknown key 'hitl_treshold'; did you mean hitl_threshold?"),
        ("tokens", "unknown key 'tokens'; did you mean limits.tokens"),
        ("limits.tokens", "write the sections as tables"),
        ("nonsense", "unknown key 'nonsense'; correct it"),
        (5, "unknown key '5'"),
    ],
)
def test_an_unknown_key_is_a_flaw_with_its_line(key: Any, told: str) -> None:
    values, (flaw,) = from_front_matter({"goal": "g", key: 1}, ["---", "goal: g", f"{key}: 1"])
    assert values == {"goal": "g"}
    assert told in f"{flaw.cause}; {flaw.remedy}"
    assert flaw.line == 3


def test_a_key_in_short_and_in_full_is_a_flaw() -> None:
    said = {"model": "a", "judge": {"model": "b"}}
    _, (flaw,) = from_front_matter(said, lines(said))
    assert (flaw.line, flaw.cause) == (2, "model and judge.model say the same thing")


@given(
    st.dictionaries(
        st.text(max_size=10) | st.integers() | st.none(), st.none() | st.integers() | st.dictionaries(st.text(), st.none())
    )
)
def test_any_front_matter_is_read(said: dict[Any, Any]) -> None:
    values, flaws = from_front_matter(said, lines(said))
    assert len(values) + len(flaws) <= len(said)
