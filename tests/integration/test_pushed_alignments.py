"""Alignments and pushes in real repositories: what a commit brings along, what is ordered, where it is made and what is kept."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helmsman.errors import OperatorError
from helmsman.orient.alignment import own_goal
from helmsman.orient.alignment_file import render
from helmsman.records.alignment import ALIGNMENT, Alignment, Asked, GapCheck, Specification
from helmsman.records.push import Nothing, Push, PushedAlignment
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from tasks.alignment.aligning import align_folder
from tasks.alignment.config import configured
from tasks.lock import drive_alone
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import loop_names, read_state
from tasks.triggers.pushed_alignments import checked_out, keep
from tasks.triggers.pushes import begin
from tests.fakes.pushing import Served, served_repository
from tests.fakes.repositories import NOW, make_repository, sh, write

pytestmark = [pytest.mark.slow, pytest.mark.feature("D2", "M1")]

GOAL = "The goal of the file"
CONFIGURATION = f"""
goal = "{GOAL}"
checks = ["make test"]
[on_push]
branches = ["main"]
"""
ALIGN = CONFIGURATION.replace('checks = ["make test"]', "") + 'mode = "align"\n'
OPEN = Alignment(
    specification=Specification(goal=GOAL, deliverables=("a CSV export",)),
    gaps=GapCheck(questions=(Asked(question="Which separator?"),)),
)
DONE = OPEN.model_copy(update={"gaps": GapCheck(answered=(Asked(question="Which separator?", answer=";"),))})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "state"))


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return served_repository(tmp_path, {"helmsman.toml": CONFIGURATION})


def pushed(served: Served, files: Mapping[str, str] | None = None, **changes: Any) -> Push:
    commit = served.commit("change", files or {})
    served.push("HEAD:refs/heads/main")
    known = {"repository": "project", "location": str(served.bare), "source": "git", "delivery": "delivery-1", "received_at": NOW}
    return Push.model_validate({**known, "branch": "main", "commit": commit, **changes})


def started(push: Push) -> LoopState:
    request = begin(push, NOW)
    assert isinstance(request, LoopRequest), request
    return read_state(open_repository(Path(request.repository)), request.loop)[0]


def ordered(push: Push) -> PushedAlignment:
    order = begin(push, NOW)
    assert isinstance(order, PushedAlignment), order
    return order


def reason(push: Push) -> str:
    found = begin(push, NOW)
    assert isinstance(found, Nothing), found
    return found.reason


def made(order: PushedAlignment, text: str = render(OPEN)) -> str:
    with checked_out(order):
        write(Path(order.request.repository), {order.request.out: text})
        return keep(order)


# --- a loop that a push starts ------------------------------------------------------------------------------------


def test_a_pushed_loop_is_told_what_its_commit_s_file_agrees_on(served: Served) -> None:
    push = pushed(served, {ALIGNMENT: render(DONE)})
    pushed(served, {ALIGNMENT: render(OPEN)})
    goal = started(push).config.goal
    assert (own_goal(goal), "- a CSV export" in goal, "Which separator? Answer: ;" in goal) == (GOAL, True, True)


def test_a_pushed_loop_to_which_nobody_else_gives_a_goal_has_the_file_s(served: Served) -> None:
    nobody = CONFIGURATION.replace(f'goal = "{GOAL}"', 'alignment = "docs/plan.md"')
    goal = started(pushed(served, {"helmsman.toml": nobody, "docs/plan.md": render(DONE)})).config.goal
    assert (own_goal(goal), "- a CSV export" in goal) == (GOAL, True)


@pytest.mark.parametrize(
    ("files", "setting"),
    [({}, ""), ({ALIGNMENT: "# Alignment of our wheels\n"}, ""), ({ALIGNMENT: render(OPEN)}, 'alignment = ""')],
    ids=["no file", "a document of somebody's own", "told to do without"],
)
def test_a_pushed_loop_without_an_alignment_starts_as_ever(served: Served, files: Mapping[str, str], setting: str) -> None:
    assert started(pushed(served, {"helmsman.toml": setting + CONFIGURATION, **files})).config.goal == GOAL


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        (ALIGNMENT, render(OPEN), "1 question in ALIGNMENT.md must be answered before a loop starts"),
        (ALIGNMENT, render(DONE).replace(GOAL, "Another"), "ALIGNMENT.md is about another goal"),
        (ALIGNMENT, "# Alignment\n## Spec\n", "ALIGNMENT.md cannot be read"),
        ("docs/plan.md", None, "the alignment file is not there"),
        ("docs", None, "the alignment file of the pushed commit cannot be read"),
        ("helmsman.toml/plan.md", None, "the alignment file of the pushed commit cannot be read"),
        ("docs/plan.md", "# Plans\n", "docs/plan.md is no alignment"),
    ],
)
def test_a_file_that_holds_a_loop_holds_a_pushed_one_with_the_reason(
    served: Served, file: str, text: str | None, why: str
) -> None:
    files = {file: text} if text else {}
    push = pushed(served, {"helmsman.toml": f'alignment = "{file}"\n{CONFIGURATION}', "docs/notes": "x", **files})
    with pytest.raises(OperatorError) as caught:
        begin(push, NOW)
    assert why in str(caught.value)
    assert "push" in caught.value.remedy
    assert "/tmp" not in str(caught.value)
    assert loop_names(open_repository(served.bare)) == []


@pytest.mark.feature("X3")
@pytest.mark.parametrize("mode", ["loop", "align"])
@pytest.mark.parametrize("named", [ALIGNMENT, "linked/plan.md", "../plan.md", "/etc/hostname", ".git/config"])
def test_no_alignment_file_leads_out_of_the_repository(served: Served, tmp_path: Path, mode: str, named: str) -> None:
    write(tmp_path / "outside", {"plan.md": render(DONE)})
    (served.clone / ALIGNMENT).symlink_to(tmp_path / "outside" / "plan.md")
    (served.clone / "linked").symlink_to(tmp_path / "outside")
    push = pushed(served, {"helmsman.toml": f'alignment = "{named}"\n{CONFIGURATION}mode = "{mode}"\n'})
    with pytest.raises(OperatorError, match=r"the alignment file (is not in the repository|of the pushed commit cannot be read)"):
        begin(push, NOW)


# --- one that is ordered ------------------------------------------------------------------------------------------


def test_an_order_carries_the_commit_s_own_goal_and_its_checkout_the_commit_s_configuration(served: Served) -> None:
    text = ALIGN.replace(f'goal = "{GOAL}"', "") + 'goal_file = "docs/goal.md"\n[prompt]\nmodel = "of-the-commit"\n'
    push = pushed(served, {"helmsman.toml": text, "docs/goal.md": "What the file says\n"})
    pushed(served, {"helmsman.toml": text.replace("of-the-commit", "of-later")})
    order = ordered(push)
    with checked_out(order):
        config = configured(order.request)
    assert (config.goal, config.prompt.model, order.request.ask) == ("What the file says", "of-the-commit", True)
    assert loop_names(open_repository(served.bare)) == []


def test_a_goal_that_is_too_long_to_be_aligned_is_refused_where_every_alignment_s_is(served: Served) -> None:
    push = pushed(served, {"helmsman.toml": ALIGN.replace(GOAL, "x" * 50_001)})
    with checked_out(order := ordered(push)), pytest.raises(OperatorError, match="too long to be aligned"):
        configured(order.request)


def test_it_is_made_beside_the_operator_s_checkout_and_changes_nothing_in_it(served: Served, tmp_path: Path) -> None:
    push = pushed(served, {"helmsman.toml": ALIGN, ".gitignore": "*.md\n"})
    sh(tmp_path, "clone", "--quiet", str(served.bare), "workers")
    workers = tmp_path / "workers"
    before = sorted(path.name for path in workers.iterdir())
    order = ordered(push.model_copy(update={"location": str(workers)}))
    assert made(order) == order.branch
    assert (sorted(path.name for path in workers.iterdir()), sh(workers, "status", "--porcelain")) == (before, "")
    assert sh(workers, "show", f"{order.branch}:{ALIGNMENT}") + "\n" == render(OPEN)
    assert sh(workers, "worktree", "list").count("\n") == 0


names = st.text("abé -.:*\"'\\\n$", min_size=1, max_size=8).filter(lambda name: name.strip(".") != "" and name == name.strip())


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(others=st.dictionaries(names, st.text("x\r\n", max_size=5), max_size=4), text=st.text(min_size=1, max_size=50))
def test_what_is_kept_is_the_pushed_commit_and_that_one_file_byte_for_byte(
    tmp_path: Path, others: dict[str, str], text: str
) -> None:
    served = served_repository(tmp_path / uuid4().hex, {"helmsman.toml": f'alignment = "docs/plan.md"\n{ALIGN}'})
    push = pushed(served, {f"kept/{name}": other for name, other in others.items()} | {".gitattributes": "* text eol=crlf\n"})
    order = ordered(push)
    with checked_out(order):
        place = Path(order.request.repository, "docs")
        place.mkdir()
        (place / "plan.md").write_bytes(text.encode())
        keep(order)
    tree = git(served.bare, "ls-tree", "-rz", push.commit).split("\0")
    after = git(served.bare, "ls-tree", "-rz", order.branch).split("\0")
    assert set(tree) < set(after)
    assert [entry.partition("\t")[2] for entry in set(after) - set(tree)] == ["docs/plan.md"]
    assert git(served.bare, "show", f"{order.branch}:docs/plan.md").encode() == text.encode()
    assert git(served.bare, "rev-parse", f"{order.branch}^").strip() == push.commit


def test_what_helmsman_keeps_starts_nothing_under_whatever_name_it_is_pushed(served: Served) -> None:
    push = pushed(served, {"helmsman.toml": ALIGN})
    order = ordered(push)
    made(order)
    commit = git(served.bare, "rev-parse", order.branch).strip()
    assert "is a branch of Helmsman's own" in reason(push.model_copy(update={"branch": order.branch, "commit": commit}))
    git(served.bare, "update-ref", "refs/heads/main", commit)
    assert "was made by a loop or by Helmsman" in reason(push.model_copy(update={"commit": commit}))


# --- once, whatever happens ---------------------------------------------------------------------------------------


def test_an_order_is_filled_once(served: Served) -> None:
    push = pushed(served, {"helmsman.toml": ALIGN})
    order = ordered(push)
    with checked_out(order):
        assert reason(push) == f"{push.what} is being aligned already"
        with pytest.raises(OperatorError, match="is being made already"), checked_out(order):
            pass
    assert ordered(push) == order  # whoever had begun has died
    made(order)
    assert reason(push) == f"{push.what} was aligned before; {order.branch} has what came of it"
    with pytest.raises(OperatorError, match="by another run meanwhile"), checked_out(order):
        pass


def test_a_person_who_agrees_to_nothing_new_ends_the_order_without_a_branch(served: Served) -> None:
    push = pushed(served, {"helmsman.toml": ALIGN, ALIGNMENT: render(OPEN)})
    order = ordered(push)
    with checked_out(order):
        assert Path(order.request.repository, ALIGNMENT).read_text() == render(OPEN)
        assert keep(order) == ""
    assert "was aligned before" in reason(push)
    assert git(served.bare, "for-each-ref", "--format=%(refname)", "refs/heads/").split() == ["refs/heads/main"]


def test_what_is_written_in_the_checkout_outlives_whoever_wrote_it_and_an_empty_checkout_goes(served: Served) -> None:
    order = ordered(pushed(served, {"helmsman.toml": ALIGN}))
    top = Path(order.request.repository)
    with pytest.raises(KeyboardInterrupt):
        interrupted(order, {})
    assert not top.exists()
    with pytest.raises(KeyboardInterrupt):
        interrupted(order, {ALIGNMENT: render(OPEN)})
    with checked_out(order):
        assert (top / ALIGNMENT).read_text() == render(OPEN)


def interrupted(order: PushedAlignment, files: Mapping[str, str]) -> None:
    with checked_out(order):
        write(Path(order.request.repository), files)
        raise KeyboardInterrupt


def test_half_a_checkout_is_made_anew(served: Served) -> None:
    order = ordered(pushed(served, {"helmsman.toml": ALIGN}))
    top = Path(order.request.repository)
    with checked_out(order):
        (top / ".git").unlink()
        (top / "helmsman.toml").write_text("half")
    with checked_out(order):
        assert (git(top, "rev-parse", "HEAD").strip(), (top / "helmsman.toml").read_text()) == (order.commit, ALIGN)


def test_a_commit_whose_file_leaves_nothing_open_is_not_aligned_again(served: Served) -> None:
    push = pushed(served, {"helmsman.toml": ALIGN, ALIGNMENT: render(DONE)})
    assert reason(push).endswith('ALIGNMENT.md leaves nothing open; to start the loop, write mode = "loop" and push that')


def test_every_checkout_of_a_repository_has_an_alignment_of_its_own(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "repository")
    sh(top, "worktree", "add", "--quiet", str(tmp_path / "other"))
    sh(top, "worktree", "add", "--quiet", "--detach", os.fsdecode(os.fsencode(tmp_path) + b"/odd \xff"))
    places = [top, tmp_path / "other", tmp_path / os.fsdecode(b"odd \xff")]
    folders = [align_folder(open_repository(place), ALIGNMENT) for place in places]
    assert len({folder.root for folder in folders}) == len(places)
    with drive_alone(folders[0].lock, "one"), drive_alone(folders[1].lock, "the other"):
        pass
