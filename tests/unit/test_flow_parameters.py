"""Parameters of a flow as the Prefect UI's form stores them in a schedule."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from helmsman.plain import LONGEST_SLUG, loop_id
from helmsman.records.request import LOOP_ID, ChainRequest, LoopRequest

pytestmark = pytest.mark.feature("D1")


def wrap(**value: Any) -> dict[str, Any]:
    return {"__prefect_kind": "json", **value}


@pytest.mark.parametrize(
    ("settings", "meant"),
    [
        (wrap(), {}),
        (wrap(value=""), {}),
        (wrap(value='{"limits": {"iterations": 3}}'), {"limits": {"iterations": 3}}),
        ({"limits": wrap(value='{"iterations": 3}')}, {"limits": {"iterations": 3}}),
        ({"limits": {"iterations": {"__prefect_kind": "none", "value": 3}}}, {"limits": {"iterations": 3}}),
        ({"limits": wrap()}, {}),
    ],
)
def test_what_a_json_editor_holds_counts_as_what_was_typed(settings: dict[str, Any], meant: dict[str, Any]) -> None:
    assert LoopRequest.model_validate({"repository": "/r", "settings": settings}).settings == meant


def test_a_whole_request_and_items_of_a_list_may_be_typed_as_json() -> None:
    assert LoopRequest.model_validate(wrap(value='{"repository": "/r", "checks": ["true"]}')).checks == ("true",)
    listed = {"repository": "/r", "chain": "c", "loops": [wrap(value='{"goal": "one"}'), wrap()], "settings": wrap()}
    assert [link.goal for link in ChainRequest.model_validate(listed).loops] == ["one"]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (wrap(value="{limits"), "Expecting property name"),
        ({"__prefect_kind": "workspace_variable", "variable_name": "x"}, "a schedule cannot fill in workspace_variable"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError) as refused:
        LoopRequest.model_validate({"repository": "/r", "settings": settings})
    assert reason in str(refused.value)


def test_fields_of_the_form_are_configuration_and_win_over_settings() -> None:
    more = {"preset": "coverage", "model": "opus", "settings": {"limits": {"tokens": 4, "iterations": 9}}}
    filled_in = {"repository": "/r", "max_iterations": 3, "max_dollars": 2, "ask_before_start": True, **more}
    request = LoopRequest.model_validate(filled_in)
    assert request.configuration == request.changes
    assert request.changes == {
        "limits": {"tokens": 4, "iterations": 3, "cost_usd": 2},
        "preset": "coverage",
        "claude": {"model": "opus"},
        "gates": {"plan": True},
    }


@pytest.mark.parametrize("path", [".", "~/shop", "https://git.example.org/shop.git", " "])
def test_a_repository_is_named_by_an_absolute_path_because_a_worker_starts_in_the_folder_of_the_flows(path: str) -> None:
    assert LoopRequest(repository="/srv/shop\n").repository == "/srv/shop"
    allowed = LoopRequest.model_json_schema()["properties"]["repository"]["pattern"]  # by which a server refuses it earlier
    assert (re.search(allowed, "/srv/shop\n") is not None, re.search(allowed, path)) == (True, None)
    with pytest.raises(ValidationError, match="expected an absolute path"):
        LoopRequest(repository=path)


# Ids made from goals


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("Größe & Café: überprüfen!", "große-cafe".replace("ß", "") + "-uberprufen-1a2b3c"),
        ("all of the words that still fit and no half word", "all-of-the-words-that-still-fit-1a2b3c"),
        ("x" * 100, "x" * LONGEST_SLUG + "-1a2b3c"),
        ("目标", "loop-1a2b3c"),
    ],
)
def test_an_id_reads_like_the_first_words_of_its_goal(goal: str, expected: str) -> None:
    assert loop_id(goal, "1a2b3c") == expected


@given(st.text())
def test_an_id_is_safe_in_refs_folders_and_keys_whatever_the_goal(goal: str) -> None:
    name = loop_id(goal, "1a2b3c")
    assert re.fullmatch(LOOP_ID, name)
    assert len(name) <= LONGEST_SLUG + len("-1a2b3c")
