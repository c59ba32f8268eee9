"""Tables of iterations, checks, verdicts and gates."""

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings

from helmsman.records.agent import AgentOutcome
from helmsman.records.checks import CheckReport
from helmsman.records.state import LoopState
from helmsman.render.artifacts import ITERATIONS, checks_page, gates_page, iterations_page, summary, verdicts_page
from helmsman.render.dashboard import dashboard
from tests.unit.builders import check, config, report, state
from tests.unit.histories import SIDEWAYS, green, history, red, step
from tests.unit.rendered import read
from tests.unit.shown import troubled_gate, troubled_record, troubled_report, troubled_state
from tests.unit.test_cells import EVIL, FOREIGN

PAGES: dict[str, Callable[[str], str]] = {
    "summary": lambda text: summary(troubled_state(text)),
    "dashboard": lambda text: dashboard(troubled_state(text), troubled_record(text)),
    "iterations": lambda text: iterations_page(troubled_state(text)),
    "checks": lambda text: checks_page(troubled_state(text), troubled_record(text)),
    "verdicts": lambda text: verdicts_page(troubled_state(text), troubled_record(text)),
    "gates": lambda text: gates_page(troubled_state(text)),
}


def rows_of(state: LoopState) -> list[list[str]]:
    return read(iterations_page(state)).tables[0][1:]


@pytest.mark.feature("H5")
def test_an_iteration_is_told_with_its_numbers() -> None:
    last = step(completion=0.48, passing_tests=40, failing_tests=2, rung=2, cost_usd=1.25, seconds=754.0, undone=True, attempt=2)
    assert rows_of(state(iteration=1, history=history(last))) == [
        ["1 (2)", "48%", "sideways", "✘", "40 of 42", "+20 \N{MINUS SIGN}5 in 1", "12", "$1.25", "0:12:34", "E-II", "taken back"]
    ]


@pytest.mark.feature("H5")
def test_the_newest_fifty_are_shown_and_those_before_are_counted() -> None:
    page = read(iterations_page(state(iteration=10_000, history=history(*[green()] * 80))))
    assert [row[0] for row in page.tables[0][1:]] == [str(number) for number in range(80, 80 - ITERATIONS, -1)]
    assert f"{10_000 - ITERATIONS} earlier iterations left out: helmsman log mend-it has them." in page.paragraphs


def test_what_is_worth_a_remark_is_remarked() -> None:
    odd = red(SIDEWAYS, "a", outcome=AgentOutcome.TIMED_OUT, asked=True, test_only=True, denials=3, relevance=0.25)
    remarks = rows_of(state(iteration=1, history=history(odd)))[0][-1]
    assert " ".join(remarks.split()) == "timed out, asked to be done, only tests, 3 refused, 25% to the point"


@pytest.mark.feature("H5")
def test_failing_checks_show_the_ends_of_what_they_printed() -> None:
    failing = check(passed=False, head="the beginning", tail="the outcome")
    page = read(checks_page(state(checks=report(failing, check(passed=True)))))
    assert page.headings == ["mend-it: 1 of 2 checks green", "✘ pytest", "Findings"]
    assert page.fences == ["the outcome\n"]


@pytest.mark.feature("H5")
def test_the_way_to_a_decision_is_told_with_what_would_change_it() -> None:
    page = read(verdicts_page(troubled_state(), troubled_record()))
    assert page.headings == ["mend-it: verdicts", "After iteration 11: continue", "Completion", "Claims", "Judge", "Rejections"]
    assert page.tables[0][3:] == [
        ["no", "Is a limit reached? some words"],
        ["yes", "Else? some words; otherwise with: some words"],
    ]


@pytest.mark.feature("H5")
def test_each_criterion_is_told_with_its_votes() -> None:
    page = read(verdicts_page(troubled_state(), troubled_record()))
    assert page.tables[3][2:5] == [
        ["criterion", "✔ c1 (3 of 3 votes): some words"],
        ["votes", "3 of 3, 2 needed"],
        ["evidence", "some words"],
    ]


@pytest.mark.feature("H5")
def test_an_open_question_is_told_with_the_command_behind_each_choice() -> None:
    page = read(gates_page(state(gate=troubled_gate("What now?"))))
    assert page.headings[0] == "mend-it: a person is asked"
    assert [row[0] for row in page.tables[0]] == ["Choice", "approve", "take-over", "stop"]
    assert page.tables[0][1][2] == "helmsman approve mend-it"


@pytest.mark.feature("H5", "X3")
@pytest.mark.parametrize("name", PAGES)
@settings(max_examples=30, deadline=None)
@given(text=FOREIGN)
@example(text=EVIL)
@example(text="```\n| a |\n```")
def test_foreign_text_changes_nothing_but_the_words(name: str, text: str) -> None:
    page, usual = read(PAGES[name](f"{text} x {text}")), read(PAGES[name]("some words"))  # never nothing at all
    assert page.strangers == []
    assert len(page.headings) == len(usual.headings)
    assert len(page.fences) == len(usual.fences)
    assert [[len(row) for row in table] for table in page.tables] == [[len(row) for row in table] for table in usual.tables]


@pytest.mark.feature("H5")
@pytest.mark.parametrize("name", PAGES)
def test_a_page_stays_small_however_much_there_is_to_tell(name: str) -> None:
    assert len(PAGES[name]("&" * 20_000)) < 200_000
    many = troubled_state("&" * 2000).model_copy(
        update={
            "config": config(judge={"criteria": tuple(f"criterion {n}" for n in range(200))}),
            "checks": CheckReport(tree="d" * 40, results=troubled_report("&" * 2000).results * 60),
            "history": history(*[red(SIDEWAYS, "a")] * 1000),
            "findings": troubled_state("&" * 2000).findings * 15,
            "contradictions": troubled_state("&" * 2000).contradictions * 20,
            "answers": troubled_state("&" * 2000).answers * 20,
        }
    )
    for page in (iterations_page(many), checks_page(many), verdicts_page(many), gates_page(many)):
        assert len(page) < 200_000
