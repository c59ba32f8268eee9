"""What a push comes to, in real repositories: the commit found, its own configuration read, own work known, one loop at most."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from helmsman.errors import OperatorError, TransientError
from helmsman.parsers.alignment_file import own_goal, render
from helmsman.records.alignment import ALIGNMENT, Alignment, AlignmentQuestion
from helmsman.records.decision import Decision, Outcome
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from helmsman.records.triggers import Ignored, Push
from tasks.loop.alignment_file import align_folder
from tasks.repository.git import git, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import loop_names, read_state, replace_state, state_ref, write_state
from tasks.sandbox.enter import git_folder
from tasks.system.lock import exclusive_driver
from tasks.triggers.pushes import find_repository, handle_push
from tests.fakes.push_receiver import ServedRepository, served_repository
from tests.fakes.repositories import NOW, loop_state, make_repository, sh, write
from tests.integration.test_presets import SCRIBE, SHEET
from tests.unit.hat_scenes import definition_text

pytestmark = [pytest.mark.feature("D2"), pytest.mark.usefixtures("home")]

CONFIGURATION = """
goal = "The goal of the file"
checks = ["make test"]
[on_push]
branches = ["main", "feature/*"]
"""
GOALLESS = CONFIGURATION.replace('goal = "The goal of the file"', "")


@pytest.fixture
def served(tmp_path: Path) -> ServedRepository:
    return served_repository(tmp_path, {"helmsman.toml": CONFIGURATION})


def push_of(served: ServedRepository, commit: str = "", branch: str = "main", **changes: Any) -> Push:
    known = {"repository": "project", "location": str(served.bare), "source": "git", "delivery": "delivery-1", "received_at": NOW}
    what = commit or sh(served.bare, "rev-parse", f"refs/heads/{branch}")
    return Push.model_validate({**known, "branch": branch, "commit": what, **changes})


def pushed(served: ServedRepository, branch: str = "main", **files: str) -> Push:
    served.commit("change", files or {"notes": branch})
    served.push(f"HEAD:refs/heads/{branch}")
    return push_of(served, branch=branch)


def started(push: Push) -> LoopState:
    request = handle_push(push, NOW)
    assert isinstance(request, LoopRequest), request
    return read_state(open_repository(Path(request.repository)), request.loop)[0]


def reason(push: Push) -> str:
    found = handle_push(push, NOW)
    assert isinstance(found, Ignored), found
    return found.reason


# --- what is started ----------------------------------------------------------------------------------------------


def test_a_push_gets_a_loop_on_its_commit_with_the_commit_s_own_configuration(served: ServedRepository) -> None:
    push = push_of(served)
    served.commit("later", {"helmsman.toml": CONFIGURATION.replace("make test", "false")})
    served.push("main")
    loop = started(push)
    assert (loop.base_commit, loop.head, loop.base_branch, loop.branch) == (
        push.commit,
        push.commit,
        "main",
        f"helmsman/{loop.loop}",
    )
    assert (loop.config.goal, [check.command for check in loop.config.checks]) == ("The goal of the file", ["make test"])


@pytest.mark.feature("M10")
def test_a_preset_with_its_hats_is_that_of_the_commit(served: ServedRepository) -> None:
    texts = [definition_text(SHEET), definition_text(SCRIBE)]
    files = dict(zip((".helmsman/presets/mine.md", ".helmsman/hats/scribe.md"), texts, strict=True))
    push = pushed(served, **{"helmsman.toml": f'preset = "mine"\n{CONFIGURATION}', **files})
    pushed(served, **{".helmsman/presets/mine.md": "later"})
    loop = started(push)
    assert loop.preset
    assert (loop.preset.sheet, loop.preset.source) == (SHEET, ".helmsman/presets/mine.md")
    assert SCRIBE in loop.preset.hats
    assert loop.config.limits.iterations == 5


@pytest.mark.feature("A5")
def test_the_agent_that_the_receivers_file_sets_is_that_of_the_loop(served: ServedRepository) -> None:
    push = pushed(served, **{"helmsman.toml": CONFIGURATION})
    settings = {"agent": {"kind": "template", "command": ["mine", "run"]}}
    loop = started(push.model_copy(update={"settings": settings}))
    assert loop.agent
    assert (loop.agent.kind.command, loop.config.steering.hooks) == (("mine", "run"), False)


def test_it_never_works_in_a_checkout_whatever_the_configuration_says(served: ServedRepository) -> None:
    push = pushed(served, **{"helmsman.toml": CONFIGURATION})
    push = push.model_copy(update={"settings": {"workspace": {"in_place": True}}})
    assert not started(push).config.workspace.in_place


def test_a_url_is_cloned_once_and_fetched_from_afterwards(served: ServedRepository, home: Path) -> None:
    first = push_of(served, location=f"file://{served.bare}")
    assert started(first).base_commit == first.commit
    second = pushed(served).model_copy(update={"location": first.location})
    assert started(second).base_commit == second.commit
    assert [path.name.partition("-")[0] for path in (home / "repositories").iterdir()] == ["project"]
    assert find_repository(first.location).parent == home / "repositories"


# --- what starts nothing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [None, 'goal = "g"\nchecks = ["true"]\n', CONFIGURATION.replace('"main"', '"trunk"')], ids=["none", "silent", "other"]
)
def test_a_commit_whose_configuration_does_not_name_the_branch_starts_nothing(text: str | None, served: ServedRepository) -> None:
    if text is None:
        (served.clone / "helmsman.toml").unlink()
    push = pushed(served, **({"helmsman.toml": text} if text else {"notes": "x"}))
    assert "on_push.branches does not name the branch" in reason(push)


def test_a_commit_that_has_left_its_branch_starts_nothing_in_a_clone_of_ours_either(served: ServedRepository) -> None:
    kept = push_of(served, location=f"file://{served.bare}")
    gone = pushed(served).model_copy(update={"location": kept.location})
    find_repository(kept.location)
    served.push(f"+{kept.commit}:refs/heads/main")
    assert "does not contain that commit" in reason(gone)
    assert started(kept).base_commit == kept.commit


def test_a_commit_that_is_not_on_the_branch_starts_nothing(served: ServedRepository) -> None:
    elsewhere = pushed(served, "feature/x")
    assert "does not contain that commit" in reason(push_of(served, elsewhere.commit, "main"))
    assert "does not contain that commit" in reason(push_of(served, "a1" * 20, "main"))
    assert "does not contain that commit" in reason(push_of(served, elsewhere.commit, "gone"))
    assert loop_names(open_repository(served.bare)) == []


def test_the_same_push_again_goes_on_with_a_dead_driver_s_loop_and_leaves_every_other_alone(served: ServedRepository) -> None:
    push = push_of(served)
    loop = started(push)
    assert started(push) == loop  # nobody drives it: its driver died
    repository = open_repository(served.bare)
    with exclusive_driver(loop_folder(repository, loop.loop).lock, loop.loop):
        assert reason(push).startswith(f"loop {loop.loop} is already working on")
    why = Decision(kind="stop", rule="limit.iterations", reason="enough", at=NOW, outcome=Outcome.STOPPED)
    replace_state(repository, loop, loop.model_copy(update={"ending": why, "outcome": Outcome.STOPPED}), "end")
    assert reason(push).endswith("has ended: limit.iterations")
    assert loop_names(repository) == [loop.loop]


def test_a_loop_that_was_removed_leaves_nothing_that_passes_for_the_next_one_s(served: ServedRepository) -> None:
    """By `git update-ref -d`, as docs/what-lasts.md has it: its calls and answers still lie there."""
    push = push_of(served)
    repository, first = open_repository(served.bare), started(push)
    folder = loop_folder(repository, first.loop)
    stale = [
        folder.call(1, 1) / "call.json",
        folder.answers / "agent-1.json",
        folder.words / "1.txt",
        git_folder(folder) / "HEAD",
    ]
    for path in stale:
        path.parent.mkdir(parents=True)
        path.write_text("of the one before")
    assert started(push) == first
    assert all(path.exists() for path in stale)
    git(repository.common, "update-ref", "-d", state_ref(first.loop))
    assert started(push).uid != first.uid
    assert not any(path.exists() for path in stale)


def test_a_pushed_loop_knows_the_plan_that_it_is_for_from_the_beginning(served: ServedRepository) -> None:
    plan = CONFIGURATION.replace("[on_push]", '[plan]\nfile = "tasks.md"\n[on_push]')
    loop = started(pushed(served, **{"helmsman.toml": plan, "tasks.md": "- [ ] T1 one\n- [x] T2 two\n"}))
    assert (loop.plan.done, loop.plan.total, loop.plan.now) == (1, 2, "T1")


# --- Helmsman's own -----------------------------------------------------------------------------------------------


def test_a_branch_of_a_loop_starts_nothing(served: ServedRepository) -> None:
    served.push("HEAD:refs/heads/helmsman/a-loop")
    assert reason(push_of(served, branch="helmsman/a-loop")) == "helmsman/a-loop is one of Helmsman's own branches"


def test_a_commit_that_helmsman_wrote_starts_nothing_on_whatever_branch(served: ServedRepository) -> None:
    git(served.clone, "commit", "--quiet", "--allow-empty", "--message", "as our own git writes it")
    served.push("HEAD:main")
    assert "was made by a loop" in reason(push_of(served))
    served.commit("by a person\n\nHelmsman-Loop: a-loop")
    served.push("HEAD:main")
    assert "was made by a loop" in reason(push_of(served))


def test_what_an_agent_committed_as_somebody_else_is_known_by_its_loop(served: ServedRepository) -> None:
    loop = started(push_of(served))
    by_agent = served.commit("the agent's, under the person's name", {"answer": "42"})
    served.push(f"HEAD:refs/heads/{loop.branch}", "HEAD:main")
    assert "was made by a loop" in reason(push_of(served, by_agent))
    by_person = pushed(served)  # on top of the loop's work
    assert started(by_person).base_commit == by_person.commit


def test_a_loop_that_worked_in_place_is_known_by_what_it_added(served: ServedRepository) -> None:
    start = sh(served.clone, "rev-parse", "HEAD")
    by_agent = served.commit("the agent's", {"answer": "42"})
    served.push("main")
    repository = open_repository(served.bare)
    state = loop_state(start, branch="main", head=by_agent)
    write_state(repository, state, over=None, record=None, subject="start")
    assert "was made by a loop" in reason(push_of(served, by_agent))
    assert started(push_of(served, start)).base_commit == start
    assert started(pushed(served)).base_branch == "main"


def test_a_state_that_cannot_be_read_does_not_stand_in_the_way(served: ServedRepository) -> None:
    tree = sh(served.bare, "rev-parse", "main^{tree}")
    broken = sh(served.bare, "commit-tree", tree, "-m", "no state at all")
    sh(served.bare, "update-ref", "refs/helmsman/broken/state", broken)
    assert started(push_of(served)).base_branch == "main"


# --- wrong or hostile configuration -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CONFIGURATION + 'mood = "align"\n', "on_push.mood (helmsman.toml): unknown key"),
        (CONFIGURATION.replace('checks = ["make test"]', ""), "no check is configured"),
        (f'goal_file = "missing.md"\n{GOALLESS}', "missing.md cannot be read"),
        (CONFIGURATION + 'goal_file = "goal.md"\n', "use goal_file, as for all other loops"),
    ],
)
def test_a_wrong_configuration_is_refused_and_leaves_no_loop(text: str, words: str, served: ServedRepository) -> None:
    push = pushed(served, **{"helmsman.toml": text})
    with pytest.raises(OperatorError) as caught:
        handle_push(push, NOW)
    assert words in str(caught.value)
    assert "/tmp" not in str(caught.value)
    assert loop_names(open_repository(served.bare)) == []


@pytest.mark.feature("X3")
@pytest.mark.parametrize("named", ["/etc/hostname", "../../../../../../etc/hostname", "link", "linked/hostname"])
def test_no_goal_file_leads_out_of_the_repository(named: str, served: ServedRepository) -> None:
    (served.clone / "link").symlink_to("/etc/hostname")
    (served.clone / "linked").symlink_to("/etc")
    push = pushed(served, **{"helmsman.toml": f"goal_file = {json.dumps(named)}\n{GOALLESS}"})
    with pytest.raises(OperatorError, match="cannot be used"):
        handle_push(push, NOW)


@pytest.mark.feature("M10", "X3")
@pytest.mark.parametrize("named", ["/etc/mine.md", "../../mine.md", "link.md"])
def test_no_preset_leads_out_of_the_repository(named: str, served: ServedRepository, tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text(definition_text(SHEET))
    (served.clone / "link.md").symlink_to(tmp_path / "mine.md")
    push = pushed(served, **{"helmsman.toml": f"preset = {json.dumps(named)}\n{CONFIGURATION}"})
    with pytest.raises(OperatorError, match="cannot be used"):
        handle_push(push, NOW)


@pytest.mark.feature("X3")
@pytest.mark.parametrize("name", ["a" * 300, "helmsman.toml/x"])
def test_a_commit_with_a_name_that_no_checkout_can_have_is_refused(name: str, served: ServedRepository) -> None:
    blob, start = (sh(served.bare, "rev-parse", f"main{of}") for of in (":helmsman.toml", ""))
    folder, _, file = name.rpartition("/")
    with_file = git(served.bare, "mktree", stdin=f"100644 blob {blob}\t{file}\n".encode()).strip()
    entries = f"040000 tree {with_file}\t{folder}\n" if folder else f"100644 blob {blob}\t{name}\n"
    tree = git(served.bare, "mktree", stdin=f"100644 blob {blob}\thelmsman.toml\n{entries}".encode()).strip()
    sh(served.bare, "update-ref", "refs/heads/main", sh(served.bare, "commit-tree", tree, "-p", start, "-m", "x"))
    with pytest.raises(OperatorError, match=r"the files of commit .* cannot be read"):
        handle_push(push_of(served), NOW)


def test_a_configuration_that_is_a_link_is_none(served: ServedRepository, tmp_path: Path) -> None:
    (tmp_path / "outside.toml").write_text(CONFIGURATION)
    (served.clone / "helmsman.toml").unlink()
    (served.clone / "helmsman.toml").symlink_to(tmp_path / "outside.toml")
    assert "does not name the branch" in reason(pushed(served))


def test_a_repository_that_cannot_be_reached_is_the_world_s_fault(served: ServedRepository, tmp_path: Path) -> None:
    with pytest.raises(TransientError, match="could not be cloned"):
        handle_push(push_of(served, location=f"file://{tmp_path}/nowhere.git"), NOW)
    sh(tmp_path, "clone", "--quiet", str(served.bare), str(tmp_path / "workers"))
    push = pushed(served)
    sh(tmp_path / "workers", "remote", "set-url", "origin", f"file://{tmp_path}/nowhere.git")
    with pytest.raises(TransientError, match="could not be fetched"):
        handle_push(push.model_copy(update={"location": str(tmp_path / "workers")}), NOW)


# --- the alignment file of the commit ------------------------------------------------------------------------------

GOAL = "The goal of the file"
OPEN = Alignment(
    goal=GOAL,
    deliverables=("a CSV export",),
    questions=(AlignmentQuestion(question="Which separator?"),),
)
DONE = OPEN.model_copy(update={"questions": (), "answered": (AlignmentQuestion(question="Which separator?", answer=";"),)})


@pytest.mark.slow
@pytest.mark.feature("M1")
def test_a_pushed_loop_is_told_what_its_commit_s_file_agrees_on(served: ServedRepository) -> None:
    push = pushed(served, **{ALIGNMENT: render(DONE)})
    pushed(served, **{ALIGNMENT: render(OPEN)})
    goal = started(push).config.goal
    assert (own_goal(goal), "- a CSV export" in goal, "Which separator? Answer: ;" in goal) == (GOAL, True, True)


@pytest.mark.slow
def test_a_pushed_loop_to_which_nobody_else_gives_a_goal_has_the_file_s(served: ServedRepository) -> None:
    nobody = f'alignment = "docs/plan.md"\n{GOALLESS}'
    goal = started(pushed(served, **{"helmsman.toml": nobody, "docs/plan.md": render(DONE)})).config.goal
    assert (own_goal(goal), "- a CSV export" in goal) == (GOAL, True)


@pytest.mark.slow
def test_a_pushed_loop_that_is_told_to_do_without_an_alignment_starts_as_ever(served: ServedRepository) -> None:
    files = {"helmsman.toml": 'alignment = ""' + CONFIGURATION, ALIGNMENT: render(OPEN)}
    assert started(pushed(served, **files)).config.goal == GOAL


@pytest.mark.slow
@pytest.mark.feature("M1")
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
    push = pushed(served, **{"helmsman.toml": f'alignment = "{file}"\n{CONFIGURATION}', "docs/notes": "x", **files})
    with pytest.raises(OperatorError) as caught:
        handle_push(push, NOW)
    assert why in str(caught.value)
    assert caught.value.remedy == "fix it, and push again"
    assert "/tmp" not in str(caught.value)
    assert loop_names(open_repository(served.bare)) == []


@pytest.mark.slow
@pytest.mark.feature("X3")
@pytest.mark.parametrize("named", [ALIGNMENT, "linked/plan.md", "../plan.md", "/etc/hostname"])
def test_no_alignment_file_leads_out_of_the_repository(served: ServedRepository, tmp_path: Path, named: str) -> None:
    write(tmp_path / "outside", {"plan.md": render(DONE)})
    (served.clone / ALIGNMENT).symlink_to(tmp_path / "outside" / "plan.md")
    (served.clone / "linked").symlink_to(tmp_path / "outside")
    push = pushed(served, **{"helmsman.toml": f'alignment = "{named}"\n{CONFIGURATION}'})
    with pytest.raises(OperatorError, match=r"cannot be used|is not a regular file"):
        handle_push(push, NOW)


@pytest.mark.slow
def test_every_checkout_of_a_repository_has_an_alignment_of_its_own(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "repository")
    sh(top, "worktree", "add", "--quiet", str(tmp_path / "other"))
    sh(top, "worktree", "add", "--quiet", "--detach", os.fsdecode(os.fsencode(tmp_path) + b"/odd \xff"))
    places = [top, tmp_path / "other", tmp_path / os.fsdecode(b"odd \xff")]
    folders = [align_folder(open_repository(place), ALIGNMENT) for place in places]
    assert len({folder.root for folder in folders}) == len(places)
    with exclusive_driver(folders[0].lock, "one"), exclusive_driver(folders[1].lock, "the other"):
        pass
