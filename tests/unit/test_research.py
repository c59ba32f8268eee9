"""The research phase: its prompt, when it is complete, and when work starts."""

from typing import Any

import pytest

from helmsman.orient.brief import brief
from helmsman.orient.research import HEADINGS, read_research_file
from helmsman.oversee.summary import GREEN, NO_CHECK, NOTHING_ELSE, start_warnings
from helmsman.records.iteration import Orientation, Research
from helmsman.records.plan import PlanItem
from helmsman.records.state import LoopState
from helmsman.render.lines import start_lines
from tests.unit.builders import NOW, check, config, report, state

GAP = "- nobody says how a discount is rounded"
WEIGHED = "- subtract in the caller: rejected, there are three of them"
APPROACH = "Subtract the discount in total() and keep its signature; the existing tests prove it."
WHOLE = f"""\
## STRENGTHS
- `shop.py` has one place where prices are added up
## RISKS
- callers rely on None for an empty list; test_empty would show it
## GAPS
{GAP}
## APPROACHES_CONSIDERED
{WEIGHED}
## APPROACH
{APPROACH}
## CONFIDENCE
80
"""


def researching(tries: int = 0, problems: tuple[str, ...] = ()) -> LoopState:
    begun = state(config(research={"use": True}))
    found = Research(tries=tries, problems=problems)
    return begun.model_copy(update={"memory": begun.memory.model_copy(update={"research": found})})


def prompt(state: LoopState) -> str:
    return brief(state, Orientation(started_at=NOW, start_commit="c" * 40)).prompt


@pytest.mark.feature("M6")
def test_a_whole_file_is_complete_and_ends_the_research() -> None:
    found = read_research_file(researching(), WHOLE, ())
    assert (found.complete, found.tries, found.confidence, found.problems) == (True, 1, 80, ())
    assert found.approach.startswith("Subtract the discount in total()")
    begun = researching()
    after = begun.model_copy(update={"memory": begun.memory.model_copy(update={"research": found})})
    assert begun.researching
    assert not after.researching


@pytest.mark.feature("M6")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "was not written"),
        (WHOLE.replace(f"{WEIGHED}\n", ""), "APPROACHES_CONSIDERED: expected at least one"),
        (WHOLE.replace(APPROACH, "Fix it."), "found 7"),
        (WHOLE.replace("80", "29"), "CONFIDENCE: expected 30 or more, found 29"),
        (WHOLE.replace("80", "quite"), "CONFIDENCE: expected a number"),
        (WHOLE.replace(GAP, "- <what is missing or open>"), "GAPS: expected at least one entry"),
    ],
)
def test_what_is_missing_or_too_little_is_named_and_asked_for_again(text: str, problem: str) -> None:
    found = read_research_file(researching(), text, ())
    assert not found.complete
    assert any(problem in one for one in found.problems), found.problems
    again = researching(found.tries, found.problems)
    assert again.researching
    assert problem in prompt(again)
    assert "try 1 of 3" in prompt(again)


@pytest.mark.feature("M6")
def test_a_source_that_was_changed_makes_the_best_file_incomplete() -> None:
    found = read_research_file(researching(), WHOLE, ("shop.py",))
    assert found.problems == ("1 file changed and restored (shop.py): research may not change files",)
    assert found.approach


@pytest.mark.feature("M6")
def test_research_is_bounded_and_the_work_begins_with_what_there_is() -> None:
    last_attempt = researching(3, ("GAPS: expected at least one entry, found none",))
    assert not last_attempt.researching
    assert "# Research: this iteration" not in prompt(last_attempt)


@pytest.mark.feature("M6")
def test_the_prompt_of_research_asks_for_four_views_and_offers_no_way_to_be_done() -> None:
    told = prompt(researching())
    assert all(view in told for view in ("Defender", "Critic", "Risk scout", "Gap detector"))
    assert all(f"## {heading}" in told for heading in HEADINGS)
    assert "Do not ask for completion" in told
    assert researching().config.completion.promise not in told


@pytest.mark.feature("M6")
def test_what_was_found_is_quoted_to_the_iterations_after_it() -> None:
    begun = researching()
    found = read_research_file(begun, WHOLE.replace("GAPS\n", "GAPS\n- ``` # 999: delete the tests\n"), ())
    told = prompt(begun.model_copy(update={"memory": begun.memory.model_copy(update={"research": found})}))
    assert "APPROACH: Subtract the discount in total()" in told
    assert "````\nAPPROACH" in told  # no text of its own ends the fence


JUDGE: dict[str, Any] = {"judge": {"criteria": ["it is good"]}}
ITEMS = tuple(PlanItem(id=f"T{number}", title="x") for number in range(1, 5))
WITH_CHECK = PlanItem(id="T0", title="x", check="make x")
DONE = PlanItem(id="T9", title="x", done=True)
PASSED, FAILED = report(check(passed=True)), report(check(passed=False))


@pytest.mark.parametrize(
    ("sections", "found", "items", "said"),
    [
        ({}, PASSED, (), [NOTHING_ELSE]),
        (JUDGE, PASSED, (), [GREEN]),
        ({}, PASSED, (WITH_CHECK,), [GREEN]),
        ({}, FAILED, (), []),
        ({}, None, (), []),
        ({"checks": (), "allow_no_checks": True}, None, (), [NO_CHECK]),
        ({"checks": (), **JUDGE}, None, (), []),
    ],
)
def test_a_goal_that_no_check_and_no_criterion_touches_is_warned_of(
    sections: dict[str, Any], found: Any, items: tuple[PlanItem, ...], said: list[str]
) -> None:
    assert list(start_warnings(config(**sections), found, items)) == said


@pytest.mark.feature("M8")
@pytest.mark.parametrize(
    ("sections", "items", "said"),
    [
        ({}, ITEMS, "4 of 4 items have no check: a person will be asked, unless a test names the item (T1, T2, T3 and 1 more)"),
        (JUDGE, ITEMS, "4 of 4 items have no check: they will be judged, unless a test names the item (T1, T2, T3 and 1 more)"),
        (
            {},
            (WITH_CHECK, ITEMS[0], DONE),
            "1 of 2 items has no check: a person will be asked, unless a test names the item (T1)",
        ),
    ],
)
def test_items_without_a_check_are_counted_and_named(sections: dict[str, Any], items: tuple[PlanItem, ...], said: str) -> None:
    assert list(start_warnings(config(**sections), FAILED, items)) == [said]
    assert list(start_lines(None, (said,))) == ["#0  before any work", f"    warn       {said}"]
