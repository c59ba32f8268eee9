"""Loops that follow a plan: one item after the other, ticked by evidence in commits of the loop's own."""

import tomllib
from pathlib import Path

import pytest

from helmsman.records.decision import Outcome
from helmsman.records.gates import Choice
from helmsman.records.iteration import IterationRecord
from helmsman.render.facts import facts
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import read_records
from tests.fakes.scripted_agent import PROMISE, Call, prompt_of, says
from tests.flows.conftest import Drive
from tests.flows.test_gates import put, resume

PLAN = """\
# what is to be done
[[item]]
id = "T001"
title = "Write alpha"
check = "grep -q one alpha"

[[item]]
id = "T002"
title = "Write beta after it"
check = "grep -q one beta"
needs = ["T001"]
done = false # by hand

[[item]]
id = "T003"
title = "Look at both"
check = "test -e alpha -a -e beta"
needs = ["T002"]
verify = true
"""
GREEN = ("test ! -e broken",)


def put_plan(repository: Path, text: str = PLAN, name: str = "plan.toml") -> None:
    (repository / name).write_text(text)
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "plan")


def notes(item: str) -> str:
    """Shell text of an agent that says in progress.md that an item is done."""
    return f"echo 'Done: {item}: all of it' >> .helmsman/progress.md"


def work(name: str, then: str = "") -> Call:
    return says(shell=f"echo one > {name}; git add {name}; git commit -qm 'Write {name}'; {then}")


def records_of(repository: Path) -> list[IterationRecord]:
    return list(read_records(open_repository(repository), "loop"))[::-1]


@pytest.mark.feature("M8")
def test_items_whose_check_passed_before_they_were_worked_on_are_named(drive: Drive, repository: Path) -> None:
    checks = {"T001": "grep -q one alpha", "T002": "test -e alpha"}  # that of T002 tests the work of T001
    put_plan(repository, "".join(f'[[item]]\nid = "{name}"\ntitle = "Do {name}"\ncheck = "{checks[name]}"\n' for name in checks))
    driven = drive([work("alpha"), says()], checks=GREEN, plan={"file": "plan.toml"})
    ending, lines = driven.state.ending, [[fact.line for fact in facts(record)] for record in records_of(repository)]
    assert ending is not None
    assert ending.reason.startswith("every item of the plan is ticked (nothing was red before for T002) and every check passes")
    assert [any("proven, but nothing was red before" in line for line in of_one) for of_one in lines] == [False, True]


@pytest.mark.feature("M8")
def test_plan_items_are_ticked_by_evidence_not_by_the_agent_s_claims(drive: Drive, repository: Path) -> None:
    put_plan(repository)
    lie = f"sed -i 's/^title/done = true\\n&/' plan.toml; git commit -qam 'All done'; {notes('T001')}"
    calls = [
        says(f"T001 is done.\n{PROMISE}", shell=lie),
        work("alpha"),
        says(shell=notes("T002")),
        work("beta"),
        says(shell=notes("T003")),
    ]
    driven = drive(calls, checks=GREEN, plan={"file": "plan.toml"})
    assert driven.state.outcome is Outcome.COMPLETED
    records = records_of(repository)
    assert [(record.item.item, record.tick is not None) for record in records if record.item] == [
        ("T001", False), ("T001", True), ("T002", False), ("T002", True), ("T003", True),
    ]  # fmt: skip
    subjects = git(repository, "log", "--reverse", "--format=%s", "main..helmsman/loop").splitlines()
    assert subjects == [
        "All done", "helmsman: restore the plan", "Write alpha", "Tick T001: Write alpha",
        "Write beta", "Tick T002: Write beta after it", "Tick T003: Look at both",
    ]  # fmt: skip
    plan = git(repository, "show", "helmsman/loop:plan.toml")
    assert [item["done"] for item in tomllib.loads(plan)["item"]] == [True, True, True]
    assert "done = true # by hand" in plan
    first, second = prompt_of(driven.agent, 0), prompt_of(driven.agent, 1)
    assert "# The current item: T001 of `plan.toml`" in first
    assert "T003" not in first
    assert "was changed and reverted" in second
    assert "1 of 5 iterations were spent on it" in second
    assert driven.state.plan.ticked == {"T001": 2, "T002": 4, "T003": 5}
    assert driven.state.head == git(repository, "rev-parse", "helmsman/loop").strip()


@pytest.mark.slow
@pytest.mark.feature("M8", "H1")
def test_an_item_that_was_tried_too_often_is_a_question_and_approving_gives_it_as_many_tries_again(
    drive: Drive, repository: Path
) -> None:
    put_plan(repository)
    noise = says(shell="date +%N > noise")
    calls = [noise, noise, work("alpha"), work("beta", notes("T002")), says(shell=notes("T003"))]
    driven = drive(calls, checks=GREEN, plan={"file": "plan.toml", "tries": 2})
    ending = driven.state.ending
    assert ending is not None
    assert (driven.state.iteration, ending.rule, ending.outcome) == (2, "plan.tries", Outcome.WAITING)
    assert "T001 (Write alpha)" in ending.reason
    assert "its check fails (exit code 2): grep -q one alpha" in ending.reason
    assert driven.state.gate is not None
    assert driven.state.gate.question == "Item T001 of the plan was tried 2 times without success. How should it continue?"
    assert "`grep -q one alpha` exits with 2" in prompt_of(driven.agent, 1)
    put(repository, Choice.APPROVE)
    after = resume(repository)
    assert (after.outcome, after.plan.done, after.plan.tries) == (Outcome.COMPLETED, 3, {})
