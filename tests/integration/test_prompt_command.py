"""`helmsman prompt`: due and sent prompts of agent and judge, without side effects."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helmsman.records.agents import Agent, AgentKind
from helmsman.records.iteration import Briefing, Orientation
from helmsman.records.lessons import Tier
from helmsman.records.state import LoopState
from tasks.loop import steps
from tasks.memory import open_store, project_id
from tasks.repository.git import git, open_repository
from tasks.repository.loop_context import loop_context
from tasks.repository.state_ref import write_state
from tasks.repository.worktree import ensure_worktree
from tests.fakes.command_line import CommandLine
from tests.fakes.repositories import NOW, commit
from tests.integration.memory_stores import lesson
from tests.unit import builders

pytestmark = pytest.mark.feature("O10")

CONFIGURED = """\
goal = "make calc right"
checks = ["touch was-run"]
[judge]
criteria = ["half refuses odd numbers"]
"""
FOR_JUDGE = ("--judge",)


def run_prompt(helmsman: CommandLine, *arguments: str) -> dict[str, Any]:
    ended = helmsman.run("prompt", *arguments, "--repo", helmsman.repository, "--json")
    assert ended.exit_code == 0, ended.errors
    return json.loads(ended.output)


def refused(helmsman: CommandLine, *arguments: str) -> str:
    ended = helmsman.run("prompt", *arguments, "--repo", helmsman.repository)
    assert (ended.exit_code, ended.output) == (2, "")
    return ended.errors


def loop_of(helmsman: CommandLine, **fields: Any) -> LoopState:
    """A loop at its beginning, in a worktree; `fields`: of its state."""
    repository = open_repository(helmsman.repository)
    head = git(repository.top, "rev-parse", "HEAD").strip()
    state = builders.state(fields.pop("of", None), base_commit=head, head=head, **fields)
    write_state(repository, state, over=None, record=None, subject="start")
    return state


def files_of(*folders: Path) -> Iterator[tuple[str, bytes]]:
    """But for what SQLite's connections share in memory, by a file of that name."""
    every = (path for folder in folders for path in sorted(folder.rglob("*")))
    paths = (path for path in every if path.is_file() and not path.name.endswith("-shm"))
    return ((str(path), path.read_bytes()) for path in paths)


@pytest.mark.parametrize("arguments", [(), FOR_JUDGE])
def test_without_a_loop_it_is_what_a_new_one_is_sent_first_and_nothing_is_made_or_run(
    helmsman: CommandLine, arguments: tuple[str, ...]
) -> None:
    (helmsman.repository / "helmsman.toml").write_text(CONFIGURED)
    before = dict(files_of(helmsman.folder))
    shown = run_prompt(helmsman, *arguments)
    assert (shown["loop"], shown["iteration"], shown["sent"]) == ("make-calc-right-0000", 1, False)
    assert "make calc right" in shown["message"]
    assert "half refuses odd numbers" in shown["message"]
    assert len(shown["notes"]) == 1
    assert [part["name"] for part in shown["sections"]] == (
        ["rubric", "work", "evidence"] if arguments else ["task", "iteration"]
    )
    assert dict(files_of(helmsman.folder)) == before


def test_what_is_due_of_a_loop_has_its_last_checks_and_what_memory_recalls_and_leaves_both_alone(helmsman: CommandLine) -> None:
    loop_of(helmsman, iteration=3, checks=builders.report(builders.check(passed=False, listed=("test_half fails",), head="x")))
    store = f"sqlite:///{helmsman.folder}/memory/memory.db"
    project = project_id(open_repository(helmsman.repository))
    known = {"tier": Tier.SEMANTIC, "confidence": 0.9, "uses": 4, "successes": 4, "project": project}
    with open_store(store, NOW) as opened:  # so that what was written is not in the file itself yet
        with opened.change() as change:
            change.put_lesson(lesson("m1", "Make the tests pass one by one", **known))
        before = dict(files_of(helmsman.folder))
        shown = helmsman.run("prompt", "mend-it", "--repo", helmsman.repository, HELMSMAN_MEMORY_URL=store)
        assert dict(files_of(helmsman.folder)) == before
    assert shown.exit_code == 0, shown.errors
    assert "iteration  4 of loop mend-it, as it would be sent now\nsystem     " in shown.output
    for words in ("last checks ", "test_half fails", "Make the tests pass one by one"):
        assert words in shown.output


def test_what_was_sent_is_kept_with_the_call_and_shown_from_the_moment_it_is(helmsman: CommandLine) -> None:
    state = loop_of(helmsman, agent=Agent(kind=AgentKind(name="any", command=("cat",), prompt="stdin")))
    context = loop_context(str(helmsman.repository), state)
    ensure_worktree(context.repository, context.worktree, state.branch, state.head)
    briefing = Briefing(
        system="Always.", prompt="Make it\x1b[2J right.\n", sections=(("task", 4), ("notes", 2)), trimmed=("notes",)
    )
    steps.execute.fn(context, state, briefing, Orientation(started_at=NOW, start_commit=state.head))
    sent = run_prompt(helmsman, state.loop, "--iteration", "1")
    assert (sent["sent"], sent["system"], sent["message"], sent["attempt"]) == (True, "Always.", briefing.prompt, 1)
    assert sent["sections"][1] == {"name": "notes", "tokens": 2, "trimmed": True}
    assert run_prompt(helmsman, state.loop) == sent
    words = helmsman.run("prompt", state.loop, "--repo", helmsman.repository).output
    assert words.startswith("iteration  1 of loop mend-it, as it was sent\n")
    assert words.endswith(": task 4, notes 2 (cut)\n\n--- system\nAlways.\n\n--- message\nMake it [2J right.\n")


TEMPLATE = '{% extends "iteration.md.j2" %}\n{% block rules %}\nRun `make fmt`.\n{% endblock %}\n'


@pytest.mark.feature("D12")
def test_the_repository_s_own_template_is_read_from_the_commit_and_refused_before_anything_is_paid_for(
    helmsman: CommandLine, tmp_path: Path
) -> None:
    top = helmsman.repository
    (top / "helmsman.toml").write_text('goal = "g"\nprompt.template = "docs/own.md.j2"\n')
    assert "prompt.template: docs/own.md.j2 is not in commit" in refused(helmsman)
    commit(top, "own", {"docs/own.md.j2": TEMPLATE})
    assert "</checks>\n\nRun `make fmt`.\n\nIteration 1 of 30" in run_prompt(helmsman)["message"]
    (top / "docs" / "own.md.j2").write_text("not committed")
    assert "Run `make fmt`." in run_prompt(helmsman)["message"]
    commit(top, "broken", {"docs/own.md.j2": TEMPLATE.replace("Run", "{{ Run }}")})
    assert "cannot be used: docs/own.md.j2:3: Run is undefined; expected one of" in refused(helmsman)
    (tmp_path / "outside.j2").write_text(TEMPLATE)
    assert "prompt.template leads out of its repository" in refused(helmsman, "--set", "prompt.template=../outside.j2")


def test_a_prompt_that_cannot_be_shown_is_rejected_with_a_remedy(helmsman: CommandLine) -> None:
    (helmsman.repository / "helmsman.toml").write_text('goal = "g"\n')
    loop_of(helmsman)
    assert "no prompt of the agent is stored for iteration 7 of loop mend-it" in refused(helmsman, "mend-it", "--iteration", "7")
    assert "no judge is called: there are no criteria" in refused(helmsman, "mend-it", "--judge")
    assert "--iteration needs a loop" in refused(helmsman, "--iteration", "1")
    assert "--set applies to a loop that does not exist yet" in refused(helmsman, "mend-it", "--set", "goal=x")
