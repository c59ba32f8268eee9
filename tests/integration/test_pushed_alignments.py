"""The alignment file that a pushed commit brings along, in real repositories."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from helmsman.errors import OperatorError
from helmsman.parsers.alignment_file import own_goal, render
from helmsman.records.alignment import ALIGNMENT, Alignment, AlignmentQuestion
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from helmsman.records.triggers import Push
from tasks.loop.alignment_file import align_folder
from tasks.repository.git import open_repository
from tasks.repository.state_ref import loop_names, read_state
from tasks.system.lock import exclusive_driver
from tasks.triggers.pushes import handle_push
from tests.fakes.push_receiver import ServedRepository, served_repository
from tests.fakes.repositories import NOW, make_repository, sh, write

pytestmark = [pytest.mark.slow, pytest.mark.feature("D2", "M1"), pytest.mark.usefixtures("home")]

GOAL = "The goal of the file"
CONFIGURATION = f"""
goal = "{GOAL}"
checks = ["make test"]
[on_push]
branches = ["main"]
"""
OPEN = Alignment(
    goal=GOAL,
    deliverables=("a CSV export",),
    questions=(AlignmentQuestion(question="Which separator?"),),
)
DONE = OPEN.model_copy(update={"questions": (), "answered": (AlignmentQuestion(question="Which separator?", answer=";"),)})


@pytest.fixture
def served(tmp_path: Path) -> ServedRepository:
    return served_repository(tmp_path, {"helmsman.toml": CONFIGURATION})


def pushed(served: ServedRepository, files: Mapping[str, str] | None = None, **changes: Any) -> Push:
    commit = served.commit("change", files or {})
    served.push("HEAD:refs/heads/main")
    known = {"repository": "project", "location": str(served.bare), "source": "git", "delivery": "delivery-1", "received_at": NOW}
    return Push.model_validate({**known, "branch": "main", "commit": commit, **changes})


def started(push: Push) -> LoopState:
    request = handle_push(push, NOW)
    assert isinstance(request, LoopRequest), request
    return read_state(open_repository(Path(request.repository)), request.loop)[0]


def test_a_pushed_loop_is_told_what_its_commit_s_file_agrees_on(served: ServedRepository) -> None:
    push = pushed(served, {ALIGNMENT: render(DONE)})
    pushed(served, {ALIGNMENT: render(OPEN)})
    goal = started(push).config.goal
    assert (own_goal(goal), "- a CSV export" in goal, "Which separator? Answer: ;" in goal) == (GOAL, True, True)


def test_a_pushed_loop_to_which_nobody_else_gives_a_goal_has_the_file_s(served: ServedRepository) -> None:
    nobody = CONFIGURATION.replace(f'goal = "{GOAL}"', 'alignment = "docs/plan.md"')
    goal = started(pushed(served, {"helmsman.toml": nobody, "docs/plan.md": render(DONE)})).config.goal
    assert (own_goal(goal), "- a CSV export" in goal) == (GOAL, True)


def test_a_pushed_loop_that_is_told_to_do_without_an_alignment_starts_as_ever(served: ServedRepository) -> None:
    files = {"helmsman.toml": 'alignment = ""' + CONFIGURATION, ALIGNMENT: render(OPEN)}
    assert started(pushed(served, files)).config.goal == GOAL


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        (ALIGNMENT, render(OPEN), "1 question in ALIGNMENT.md must be answered before a loop starts"),
        ("docs/plan.md", None, "the alignment file does not exist"),
        ("docs", None, "docs cannot be read"),
    ],
)
def test_a_file_that_holds_a_loop_holds_a_pushed_one_with_the_reason(
    served: ServedRepository, file: str, text: str | None, why: str
) -> None:
    files = {file: text} if text else {}
    push = pushed(served, {"helmsman.toml": f'alignment = "{file}"\n{CONFIGURATION}', "docs/notes": "x", **files})
    with pytest.raises(OperatorError) as caught:
        handle_push(push, NOW)
    assert why in str(caught.value)
    assert caught.value.remedy == "fix it, and push again"
    assert "/tmp" not in str(caught.value)
    assert loop_names(open_repository(served.bare)) == []


@pytest.mark.feature("X3")
@pytest.mark.parametrize("named", [ALIGNMENT, "linked/plan.md", "../plan.md", "/etc/hostname"])
def test_no_alignment_file_leads_out_of_the_repository(served: ServedRepository, tmp_path: Path, named: str) -> None:
    write(tmp_path / "outside", {"plan.md": render(DONE)})
    (served.clone / ALIGNMENT).symlink_to(tmp_path / "outside" / "plan.md")
    (served.clone / "linked").symlink_to(tmp_path / "outside")
    push = pushed(served, {"helmsman.toml": f'alignment = "{named}"\n{CONFIGURATION}'})
    with pytest.raises(OperatorError, match=r"cannot be used|is not a regular file"):
        handle_push(push, NOW)


def test_every_checkout_of_a_repository_has_an_alignment_of_its_own(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "repository")
    sh(top, "worktree", "add", "--quiet", str(tmp_path / "other"))
    sh(top, "worktree", "add", "--quiet", "--detach", os.fsdecode(os.fsencode(tmp_path) + b"/odd \xff"))
    places = [top, tmp_path / "other", tmp_path / os.fsdecode(b"odd \xff")]
    folders = [align_folder(open_repository(place), ALIGNMENT) for place in places]
    assert len({folder.root for folder in folders}) == len(places)
    with exclusive_driver(folders[0].lock, "one"), exclusive_driver(folders[1].lock, "the other"):
        pass
