"""Pages in Markdown: their content, and that untrusted text cannot change their structure."""

import re
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helmsman.parsers.plan_order import pick_item
from helmsman.plain import short_line
from helmsman.records.agent import AgentOutcome
from helmsman.records.checks import CheckReport, TestCounts
from helmsman.records.decision import Outcome
from helmsman.records.plan import Plan, PlanItem, PlanProgress
from helmsman.records.request import Choice, ParallelLoop, ParallelResult
from helmsman.records.state import LoopState
from helmsman.render.artifacts import (
    ITERATIONS,
    checks_page,
    gates_page,
    group_page,
    iterations_page,
    plan_page,
    summary,
    verdicts_page,
)
from helmsman.render.dashboard import dashboard
from helmsman.render.markdown_page import code, fence, join_blocks, prose, table, wrap_cell
from helmsman.render.report import html_report
from tests.unit import builders
from tests.unit.builders import check, config, report, state
from tests.unit.full_records import open_gate, quoting_record, quoting_state
from tests.unit.histories import SIDEWAYS, green, history, red, step
from tests.unit.rendered import JOINER, read

EVIL = (
    "| a \\| b `x|y` ``` <img src=x onerror=alert(1)> </td><script>alert(1)</script> [l](javascript:alert(1)) ![i](http://e.example)"
    " <https://e.example> **b** _i_ ~~s~~ # h &amp; &#124; <br> \\"
)
PIECES = [
    "|",
    "\\",
    "`",
    "```",
    "~~~",
    "\n",
    "\r\n",
    "\t",
    "<br>",
    "<script>",
    "</td>",
    "&lt;",
    "&#124;",
    "](x)",
    "![",
    "**",
    "__",
]
FOREIGN = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([*PIECES, "- ", "1. ", "# ", "a", " ", "https://e.example/x", "www.e.example", "a@e.example"])).map(
        "".join
    ),
)


def without_space(text: str) -> str:
    """What is left to read of a text, wherever its lines are broken."""
    return re.sub(r"\s", "", text)


@pytest.mark.feature("X3")
@given(st.lists(st.tuples(FOREIGN, FOREIGN), min_size=1, max_size=4))
@example([(EVIL, EVIL)])
@example([("\\|", "a\\"), ("`|`", "`<br>`")])
def test_a_table_keeps_its_rows_and_cells_and_each_cell_its_words(rows: list[tuple[str, str]]) -> None:
    for widths in ((), (10, 20)):
        page = join_blocks([table(("First", "Second"), ((prose(one), code(other)) for one, other in rows), widths), "the end"])
        found = read(page)
        assert found.strangers == []
        assert found.headings == found.fences == []
        assert found.paragraphs == ["the end"]
        assert len(found.tables) == 1
        expected = [["First", "Second"], *([short_line(one), short_line(other)] for one, other in rows)]
        assert [[without_space(cell) for cell in row] for row in found.tables[0]] == [
            [without_space(cell) for cell in row] for row in expected
        ]


@pytest.mark.feature("X3")
@given(FOREIGN)
@example(EVIL)
@example("- a list")
@example("1. a list")
@example("= a heading\n===")
def test_a_sentence_keeps_its_words(text: str) -> None:
    for page in (prose(text), f"So: {prose(text)}", f"- {code(text)}"):
        found = read(f"{page}\n\nthe end")
        assert found.strangers == found.headings == found.fences == found.tables == []
        assert found.paragraphs[-1] == "the end"
        assert without_space("".join(found.paragraphs[:-1])) in {
            without_space(short_line(text)),
            without_space(f"So: {short_line(text)}"),
        }


@pytest.mark.feature("X3")
@given(FOREIGN)
@example("```\n# out\n```")
@example("~~~\nout\n~~~\n````")
@example(EVIL)
def test_a_fence_encloses_all_of_its_text(text: str) -> None:
    found = read(join_blocks([fence(text), "the end"]))
    assert found.paragraphs == ["the end"]
    assert found.strangers == found.headings == found.tables == []
    assert len(found.fences) == 1


@given(st.text(alphabet="ab \n", min_size=50, max_size=300))
def test_a_long_fence_shows_its_end_and_the_cut(text: str) -> None:
    shown = fence(f"{text}\nthe outcome", most=30)
    assert "the outcome" in shown
    assert "characters omitted" in shown


@pytest.mark.feature("X3")
@pytest.mark.parametrize("address", ["https://e.example/x", "HTTP://E.EXAMPLE", "www.e.example", "anna@e.example"])
def test_an_address_is_no_address_any_more(address: str) -> None:
    told = prose(f"see {address} there")
    assert JOINER in told
    assert address not in told.replace("\\", "")


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=12), min_size=1, max_size=40), st.integers(12, 40))
def test_a_cell_is_broken_between_words_into_lines_that_fit(words: list[str], width: int) -> None:
    lines = wrap_cell(" ".join(words), width).split("<br>")
    assert " ".join(lines).split() == words
    assert all(len(line) <= width for line in lines)


# Tables of iterations, checks, verdicts and gates

PAGES: dict[str, Callable[[str], str]] = {
    "summary": lambda text: summary(quoting_state(text)),
    "dashboard": lambda text: dashboard(quoting_state(text), quoting_record(text)),
    "iterations": lambda text: iterations_page(quoting_state(text)),
    "checks": lambda text: checks_page(quoting_state(text), quoting_record(text)),
    "verdicts": lambda text: verdicts_page(quoting_state(text), quoting_record(text)),
    "gates": lambda text: gates_page(quoting_state(text)),
}


def rows_of(state: LoopState) -> list[list[str]]:
    return read(iterations_page(state)).tables[0][1:]


@pytest.mark.feature("H5")
def test_an_iteration_is_shown_with_its_numbers() -> None:
    last = step(completion=0.48, passing_tests=40, failing_tests=2, rung=2, cost_usd=1.25, seconds=754.0, undone=True, attempt=2)
    assert rows_of(state(iteration=1, history=history(last))) == [
        ["1 (2)", "48%", "sideways", "✘", "40 of 42", "+20 \N{MINUS SIGN}5 in 1", "12", "$1.25", "0:12:34", "E-II", "undone"]
    ]


@pytest.mark.feature("H5")
def test_the_newest_fifty_are_shown_and_those_before_are_counted() -> None:
    page = read(iterations_page(state(iteration=10_000, history=history(*[green()] * 80))))
    assert [row[0] for row in page.tables[0][1:]] == [str(number) for number in range(80, 80 - ITERATIONS, -1)]
    assert f"{10_000 - ITERATIONS} earlier iterations omitted: helmsman log mend-it shows them." in page.paragraphs


def test_unusual_iterations_have_remarks() -> None:
    odd = red(SIDEWAYS, "a", outcome=AgentOutcome.TIMED_OUT, asked=True, test_only=True, denials=3, relevance=0.25)
    remarks = rows_of(state(iteration=1, history=history(odd)))[0][-1]
    assert " ".join(remarks.split()) == "timed out, claimed completion, only tests, 3 denied, 25% related"


@pytest.mark.feature("H5")
def test_failing_checks_show_the_end_of_their_output() -> None:
    failing = check(passed=False, head="the beginning", tail="the outcome")
    page = read(checks_page(state(checks=report(failing, check(passed=True)))))
    assert page.headings == ["mend-it: 1 of 2 checks green", "✘ pytest", "Findings"]
    assert page.fences == ["the outcome\n"]


@pytest.mark.feature("H5")
def test_the_way_to_a_decision_is_told_with_what_would_change_it_and_each_criterion_with_its_votes() -> None:
    page = read(verdicts_page(quoting_state(), quoting_record()))
    assert page.headings == ["mend-it: verdicts", "After iteration 7: waiting", "Completion", "Claims", "Judge", "Rejections"]
    assert page.tables[0][3:] == [
        ["no", "some words some words"],
        ["yes", "some words some words; different with: some words"],
    ]
    assert page.tables[3][2:5] == [
        ["criterion", "✘ some words (1 of 3 votes): some words"],
        ["votes", "1 of 3, 2 needed"],
        ["evidence", "some words"],
    ]


@pytest.mark.feature("H5")
def test_an_open_question_is_told_with_the_command_behind_each_choice() -> None:
    page = read(gates_page(state(gate=open_gate("What now?"))))
    assert page.headings[0] == "mend-it: a question is open"
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
    huge = quoting_state("&" * 2000)
    assert huge.checks
    many = huge.model_copy(
        update={
            "config": config(judge={"criteria": tuple(f"criterion {n}" for n in range(200))}),
            "checks": CheckReport(tree="d" * 40, results=huge.checks.results * 60),
            "history": history(*[red(SIDEWAYS, "a")] * 1000),
            "findings": huge.findings * 15,
            "contradictions": huge.contradictions * 20,
            "answers": huge.answers * 20,
        }
    )
    for page in (iterations_page(many), checks_page(many), verdicts_page(many), gates_page(many)):
        assert len(page) < 200_000


# The first page of a loop: is it done, what proves it, what fails, and what comes next

RED = builders.check(passed=False, counts=TestCounts(passed=40, failed=2, failing=("test_total", "test_tax")))


def rows(state: LoopState) -> dict[str, str]:
    """What stands at each name."""
    return {row[0]: row[1] for row in read(summary(state)).tables[0][1:]}


@pytest.mark.feature("H5")
def test_a_loop_at_work_says_what_fails_and_that_nothing_is_asked() -> None:
    found = rows(builders.state(iteration=2, checks=builders.report(RED, builders.check(passed=True))))
    assert list(found) == ["Done", "Proof", "Fails", "Cost", "Branch", "Next"]
    assert (found["Done"], found["Proof"]) == ("not yet", "1 of 2 checks green, 40 tests passed; not proven yet")
    assert all(name in found["Fails"] for name in ("test_total", "test_tax"))
    assert "no question is open" in found["Next"]


@pytest.mark.feature("H5")
def test_a_completed_one_says_what_proves_it_and_an_asking_one_where_to_answer() -> None:
    green = builders.report(builders.check(passed=True))
    done = rows(builders.state(ending=builders.STOP, checks=green, verified="c" * 40))
    assert done["Done"].startswith("yes: ")
    assert done["Proof"] == f"1 of 1 check green; proven at {'c' * 12}"
    assert "Fails" not in done
    asking = rows(builders.state(gate=open_gate("How?")))
    assert "How" in asking["Done"]
    assert "Resume in the menu" in asking["Next"]


# A group on one page: every loop, why it stands so, and nothing of what it quotes taken for a mark

DONE = ParallelLoop(
    loop="g-1", goal="one", outcome=Outcome.COMPLETED, branch="helmsman/g-1", cost_usd=1.5, merged="0123456789abcdef"
)
STOPPED = ParallelLoop(
    loop="g-2", goal="a | b", outcome=Outcome.STOPPED, reason="limits.iterations: <b>3</b> of 3", branch="b", cost_usd=0.5
)
UNTOLD = ParallelLoop(loop="g-3", goal="three", approach="Tests first.", branch="c", untold=("cost",))


@pytest.mark.feature("H5", "M5")
def test_every_loop_has_a_row_with_its_outcome_and_the_best_is_named_with_the_reason_and_what_choosing_cost() -> None:
    chosen = Choice(loop="g-1", reason="by rule: 4 lines changed in 1 file", cost_usd=0.5)
    loops = DONE, STOPPED, UNTOLD
    page = group_page(ParallelResult(group="g", completed=1, loops=loops, chosen=chosen, problems=("g-4: died",)))
    assert "1 of 3 loops completed, $2.50" in page
    assert "best       g-1: by rule" in page
    assert "merged as 0123456789" in page
    assert "cost unknown" in page
    assert "under way" in page
    assert "Tests first" in page
    assert "problem    g-4: died" in page


@pytest.mark.feature("H5", "M5", "X3")
def test_what_is_quoted_does_not_leave_its_fence() -> None:
    page = group_page(ParallelResult(group="g", completed=1, loops=(STOPPED.model_copy(update={"goal": "``` <b>"}),)))
    assert page.startswith("# g\n\n````\ngroup ")
    assert page.endswith("\n````\n")


# A plan as people see it: a line and a table

HOSTILE = '<script>alert("1")</script> & [link](http://x) | `code`'


def following(size: int, *, done: int, title: str = "Write a part", **fields: object) -> LoopState:
    """A loop in the middle of a plan in which each fourth item opens the next four."""
    items = tuple(
        PlanItem(id=f"T{number}", title=title, needs=(f"T{number // 4 - 1}",) if number >= 4 else (), done=number < done)
        for number in range(size)
    )
    hand = pick_item(Plan(kind="toml", items=items))
    now = hand.item.id if hand.item else ""
    plan = PlanProgress(
        total=size, done=done, now=now, tries={now: 1}, missing="its check fails", sketch=hand.sketch, ticked={"T0": 3}
    )
    return builders.state(builders.config(plan={"file": "plan.toml"}), plan=plan, **fields)


@pytest.mark.feature("M8")
def test_titles_of_a_plan_become_no_markup_anywhere() -> None:
    state = following(2, done=0, title=HOSTILE)
    html = html_report(state, [], "refs/helmsman/mend-it")
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    markdown = plan_page(state)
    assert "<script" not in markdown
    assert "[link](" not in markdown


@pytest.mark.feature("M8")
def test_the_page_of_the_engine_lists_every_item_with_its_mark() -> None:
    told = plan_page(following(7, done=2))
    rows = [line for line in told.splitlines() if line.startswith("- ")]
    assert [row[2] for row in rows] == ["✔", "✔", "▶", "○", "○", "○", "○"]
    assert rows[0] == "- ✔ `T0` Write a part"
    assert "its check fails" in told
    assert "220 further items are omitted" in plan_page(following(300, done=2))
    assert plan_page(builders.state()) == ""
    assert "The plan" not in html_report(builders.state(), [], "refs/helmsman/mend-it")
