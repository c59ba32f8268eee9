"""Pages of the wiki: our parts are regenerated, a person's parts stay, and foreign text forges nothing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.wiki import (
    BEGIN,
    CONSTRAINTS,
    END,
    INDEX,
    ITERATIONS,
    MAP,
    SPEC,
    SUMMARY,
    archive_files,
    constraints_page,
    index_page,
    map_page,
    spec_page,
    update_page,
)
from helmsman.oversee.imperatives import read_imperatives
from helmsman.plain import inert
from helmsman.records.iteration import Choice, Completed, WorkingMemory
from helmsman.records.state import LoopState
from tests.unit.builders import STOP, check, config, record, report, state
from tests.unit.full_records import full_record, full_state, overwritten

pytestmark = pytest.mark.feature("L8")
FOREIGN = st.lists(
    st.one_of(st.sampled_from([BEGIN, END, "\n", "\r\n", "# x", "```", "](x)", "<b>", "\x1b[2J"]), st.text(max_size=5))
).map("".join)


def completed(**fields: object) -> LoopState:
    return state(config("make it work"), iteration=2, ending=STOP, checks=report(check(passed=True)), **fields)


# --- pages --------------------------------------------------------------------------------------------------------


def test_a_missing_page_is_created_with_a_place_for_a_person() -> None:
    assert update_page(MAP, "one\ntwo", "") == (
        "# Map\n\nFolders of this project, with their number of files. "
        "The text between the markers is regenerated; all else is yours.\n\n"
        f"{BEGIN}\none\ntwo\n{END}\n"
    )


def test_a_persons_text_around_our_part_stays() -> None:
    old = f"# Mine\n\nbefore\n{BEGIN}\nold\n{END}\n\nafter \\1\n"
    new = update_page(MAP, "one\ntwo", old)
    assert new == f"# Mine\n\nbefore\n{BEGIN}\none\ntwo\n{END}\n\nafter \\1\n"
    assert update_page(MAP, "one\ntwo", new) == new


@pytest.mark.parametrize("old", ["# Mine\n", f"{BEGIN}\n", f"{END}\n{BEGIN}\n"])
def test_a_page_without_our_part_stays_as_it_is(old: str) -> None:
    assert update_page(MAP, "one\ntwo", old) == old


@given(FOREIGN, st.integers(1, 300))
def test_foreign_text_is_one_line_without_markup(text: str, longest: int) -> None:
    line = inert(text, longest)
    assert len(line) <= longest
    assert line.isprintable() or not line
    assert not re.search(r"<[!a-zA-Z/]|```", line)


@given(FOREIGN)
def test_every_page_has_exactly_one_part_of_ours(text: str) -> None:
    foreign = overwritten(full_state(), text)
    loop = foreign.model_copy(update={"loop": "a-loop", "memory": WorkingMemory(decisions=(Choice(chose=text or "x"),))})
    orders = read_imperatives("a.md", f"You must {text}.\n")
    folders = map_page((f"{text}/x.py", "a/b.py", text))
    index = index_page(["a-loop", text], [text])
    pages = {SPEC: spec_page(loop), CONSTRAINTS: constraints_page(orders), MAP: folders, INDEX: index}
    for name, body in pages.items():
        made = update_page(name, body, "")
        assert update_page(name, body, made) == made


def test_the_constraints_are_requirements_and_prohibitions_by_document() -> None:
    orders = (
        *read_imperatives("goal", "You must win.\n"),
        *read_imperatives("AGENTS.md", "Never edit generated files.\n\nYou should be brief.\n"),
        *read_imperatives("specs/a.md", "# A\n\nThe parser must accept empty input.\n"),
    )
    page = constraints_page(orders)
    assert page.strip() == (
        "## AGENTS.md\n\n> - MUST NOT: Never edit generated files. (line 1)\n\n"
        "## specs/a.md\n\n> - MUST: The parser must accept empty input. (line 3)"
    )
    assert read_imperatives(CONSTRAINTS, page) == ()
    assert constraints_page(()) == "(none found)"


# --- the map ------------------------------------------------------------------------------------------------------


def test_the_map_names_folders_of_two_levels_with_their_files() -> None:
    files = ("README.md", "src/parse/__init__.py", "src/parse/a.py", "src/parse/deep/b.py", "tools/x.sh")
    assert map_page(files).split("\n") == ["- `src/` (3 files)", "- `src/parse/` (3 files)", "- `tools/` (1 file)"]
    assert map_page(("README.md",)) == "(no folders)"


# --- decisions and archives ---------------------------------------------------------------------------------------


def test_decisions_of_a_loop_are_archived_with_their_reasons() -> None:
    memory = WorkingMemory(
        decisions=(Choice(chose="A table!", rejected="an if-chain", reason="speed", revisit_if="it grows"), Choice(chose=" "))
    )
    made = archive_files(completed(memory=memory), [])
    (decided,) = (text for name, text in made.items() if name.startswith("decisions/mend-it-"))
    assert decided == (
        "# Decided in loop mend-it, 2026-11-22\n\n## A table!\n\n"
        "> Chose: A table!\n> Rejected: an if-chain\n> Reason: speed\n> Revisit if: it grows"
    )
    assert not any(name.startswith("decisions") for name in archive_files(completed(), []))


def test_an_archive_tells_goal_outcome_iterations_verdicts_and_files() -> None:
    memory = WorkingMemory(completed=(Completed(text="the parser"),), uncertainties=("why?",))
    made = archive_files(completed(memory=memory), [record(iteration=1), full_record()])
    summary, iterations = (made[f"loops/mend-it-{completed().uid[:8]}/{name}"] for name in (SUMMARY, ITERATIONS))
    for part in (
        "> make it work",
        f"- uid: {completed().uid}",
        "- outcome: completed on 2026-11-22: done",
        "- passed: pytest",
        "- the parser",
    ):
        assert part in summary
    assert "- shop.py\n- tests/test_shop.py" in summary
    assert "## Iteration 1\n" in iterations
    assert "## Iteration 7, attempt 2\n" in iterations
    assert "- judge: rejected errors are swallowed\n" in iterations
    assert "- checks: 1 of 2 failed\n" in iterations
