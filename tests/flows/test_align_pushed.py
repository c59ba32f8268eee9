"""Pushes that order an alignment, on a real engine: asked by a form, kept on a branch, made once, and merged by a person."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, StateType
from prefect.exceptions import Pause
from prefect.flow_engine import run_flow

from deployments.demo_model import Turn, say
from flows.on_push import on_push
from helmsman.errors import OperatorError
from helmsman.orient.alignment_file import render
from helmsman.pushes import push_loop_id
from helmsman.records.alignment import ALIGNMENT, Alignment, Asked, GapCheck, Specification
from helmsman.records.push import Push
from tasks.alignment.aligning import align_name
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import loop_names
from tests.fakes.answerer import answering
from tests.fakes.judge_api import JudgeApi
from tests.fakes.pushing import Served, served_repository
from tests.fakes.repositories import sh
from tests.flows.test_align import fill_in
from tests.unit.test_alignment import GOOD

pytestmark = pytest.mark.feature("D2", "M1")

ROOT = Path(__file__).parents[2]
GOAL = "export the rows"
ASKS, KNOWS = say(json.dumps(GOOD)), say(json.dumps(GOOD | {"approach": "With semicolons.", "blockingQuestions": []}))
ANSWER = {"answer_1": "a semicolon"}
CONFIGURATION = f"""
goal = "{GOAL}"
[on_push]
branches = ["main"]
mode = "align"
"""
OPEN = Alignment(specification=Specification(goal=GOAL), gaps=GapCheck(questions=(Asked(question="Which separator?"),)))


@dataclass(frozen=True)
class Desk:
    """A bare repository to which a commit was pushed that wants an alignment, and a model that answers."""

    served: Served
    push: Push
    api: JudgeApi

    @property
    def checkout(self) -> Path:
        """Where it is made."""
        return self.served.bare / "helmsman" / "pushes" / self.order

    @property
    def order(self) -> str:
        return f"align-{push_loop_id(self.push)}"

    @property
    def name(self) -> str:
        """Of its run in the engine."""
        return align_name(ALIGNMENT, self.checkout)

    @property
    def branch(self) -> str:
        return f"helmsman/{self.order}"

    @property
    def asked(self) -> int:
        return len(self.api.requests)

    def run(self, push: Push | None = None) -> State[Any]:
        return on_push(push or self.push, return_state=True)

    def pushed(self, branch: str = "main") -> Push:
        """What somebody has committed since, pushed."""
        self.served.push(f"HEAD:{branch}")
        return self.push.model_copy(update={"commit": sh(self.served.clone, "rev-parse", "HEAD"), "branch": branch})

    def shown(self, what: str) -> str:
        return git(self.served.bare, "show", what)

    def branches(self) -> list[str]:
        return git(self.served.bare, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/").split()


Desks = Callable[..., Desk]


@pytest.fixture
def desk(engine_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Desks]:
    """Made from what the model says, one answer after the other and the last one for ever."""
    opened: list[JudgeApi] = []

    def make(turns: Sequence[Turn], **files: str) -> Desk:
        api = JudgeApi(turns)
        opened.append(api.__enter__())
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-test")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        named = {name.replace("__", "."): text for name, text in files.items()}
        served = served_repository(tmp_path, {"helmsman.toml": CONFIGURATION, "README.md": "# Rows\n", **named})
        known = {"repository": "project", "location": str(served.bare), "source": "git", "delivery": str(uuid4())}
        commit = sh(served.clone, "rev-parse", "HEAD")
        push = {**known, "branch": "main", "commit": commit, "received_at": datetime(2026, 11, 22, tzinfo=UTC)}
        return Desk(served, Push.model_validate(push), api)

    yield make
    for api in opened:
        api.__exit__()


def ending(state: State[Any]) -> tuple[StateType, str | None]:
    return state.type, state.name


def test_a_push_that_orders_an_alignment_asks_by_a_form_and_keeps_the_file_in_one_commit_on_a_branch(
    desk: Desks, engine_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    at = desk([ASKS, KNOWS])
    with answering(engine_url, at.name, ANSWER) as person:
        state = at.run()
    assert f"ALIGNMENT.md is on branch {at.branch}: one commit on top of {at.push.commit}, to be merged" in caplog.text
    assert ending(state) == (StateType.COMPLETED, "Aligned")
    assert person.forms[0]["properties"]["answer_1"]["title"] == "Which separator?"
    assert "# Rows" in at.api.requests[0].prompt
    assert f"branch     {at.branch}" in (state.message or "")
    assert state.result()["branch"] == at.branch
    assert at.shown(f"{at.branch}:{ALIGNMENT}").count("a semicolon") == 1
    assert at.shown(f"{at.branch}:README.md") == "# Rows\n"
    assert git(at.served.bare, "rev-parse", f"{at.branch}~1", "main").split() == [at.push.commit] * 2
    assert git(at.served.bare, "diff", "--name-only", "main", at.branch).split() == [ALIGNMENT]
    assert loop_names(open_repository(at.served.bare)) == []
    assert not at.checkout.exists()
    assert len(git(at.served.bare, "worktree", "list").splitlines()) == 1


def test_the_same_push_again_starts_nothing_also_when_its_branch_is_gone(desk: Desks) -> None:
    at = desk([KNOWS])
    assert ending(at.run()) == (StateType.COMPLETED, "Aligned")
    made = at.shown(at.branch)
    again = at.run(at.push.model_copy(update={"delivery": str(uuid4())}))
    assert (again.name, again.message) == (
        "NothingToDo",
        f"{at.push.what} was aligned before; {at.branch} has what came of it",
    )
    assert (at.asked, at.shown(at.branch)) == (1, made)
    git(at.served.bare, "branch", "-D", at.branch)
    assert at.run().name == "NothingToDo"
    assert (at.asked, at.branches()) == (1, ["main"])


@pytest.mark.slow
def test_what_is_merged_starts_nothing_until_a_person_wants_the_loop(desk: Desks) -> None:
    at = desk([KNOWS])
    at.run()
    sh(at.served.clone, "fetch", "--quiet", "origin", at.branch)
    sh(at.served.clone, "merge", "--quiet", "--ff-only", "FETCH_HEAD")
    merged = at.run(at.pushed())
    assert (merged.name, "was made by a loop or by Helmsman" in (merged.message or "")) == ("NothingToDo", True)
    at.served.commit("something else", {"notes": "x"})
    later = at.run(at.pushed())
    assert (later.name, "ALIGNMENT.md leaves nothing open" in (later.message or "")) == ("NothingToDo", True)
    assert at.asked == 1


@pytest.mark.slow
def test_a_person_who_leaves_questions_open_finds_them_on_the_branch(desk: Desks, engine_url: str) -> None:
    at = desk([ASKS])
    with answering(engine_url, at.name, {"answer_1": "", "by": "Ada"}):
        state = at.run()
    assert ending(state) == (StateType.FAILED, "Waiting")
    assert f"branch     {at.branch}" in (state.message or "")
    assert "- [ ] Which separator?" in at.shown(f"{at.branch}:{ALIGNMENT}")
    assert at.run().name == "NothingToDo"


def test_questions_that_the_commit_s_own_file_leaves_open_are_asked_and_worked_in(desk: Desks, engine_url: str) -> None:
    at = desk([KNOWS], ALIGNMENT__md=render(OPEN))
    with answering(engine_url, at.name, ANSWER):
        state = at.run()
    assert ending(state) == (StateType.COMPLETED, "Aligned")
    assert "Which separator?\na semicolon" in at.api.requests[0].prompt
    assert "With semicolons." in at.shown(f"{at.branch}:{ALIGNMENT}")
    assert at.asked == 1


def test_a_file_about_another_goal_fails_the_run_and_is_left_alone(desk: Desks) -> None:
    other = OPEN.model_copy(update={"specification": Specification(goal="import the rows")})
    at = desk([KNOWS], ALIGNMENT__md=render(other))
    with pytest.raises(OperatorError, match=r"starts nothing: ALIGNMENT\.md is about another goal"):
        at.run().result()
    assert (at.asked, at.branches()) == (0, ["main"])


def test_credentials_that_are_refused_leave_nothing_behind_and_the_run_may_be_tried_again(desk: Desks) -> None:
    at = desk([Turn(status=401), KNOWS])
    with pytest.raises(OperatorError, match="credentials were refused"):
        at.run().result()
    assert not at.checkout.exists()
    assert ending(at.run()) == (StateType.COMPLETED, "Aligned")


def test_the_branch_goes_to_the_remote_that_the_configuration_names_and_is_ended_only_there(desk: Desks, tmp_path: Path) -> None:
    """The listed repository is a clone of the one that people push to."""
    at = desk([KNOWS])
    sh(tmp_path, "clone", "--quiet", "--bare", str(at.served.bare), "workers.git")
    workers = tmp_path / "workers.git"
    push = at.push.model_copy(update={"location": str(workers), "settings": {"remote": {"push": True}}})
    sh(workers, "config", "remote.origin.pushurl", f"file://{tmp_path}/nowhere.git")
    failed = at.run(push)
    assert failed.is_failed()
    assert f"{at.branch} could not be pushed to remote origin" in (failed.message or "")
    assert at.branches() == ["main"]
    sh(workers, "config", "--unset", "remote.origin.pushurl")
    assert ending(at.run(push)) == (StateType.COMPLETED, "Aligned")
    assert "With semicolons." in at.shown(f"{at.branch}:{ALIGNMENT}")
    assert git(workers, "rev-parse", at.branch) == git(at.served.bare, "rev-parse", at.branch)
    assert at.asked == 1


def test_a_remote_that_only_the_pushed_commit_knows_is_refused(desk: Desks, tmp_path: Path) -> None:
    place = tmp_path / "theirs.git"
    sh(tmp_path, "init", "--quiet", "--bare", str(place))
    at = desk([KNOWS], helmsman__toml=CONFIGURATION + f'[remote]\npush = true\nname = "{place}"\n')
    with pytest.raises(OperatorError, match="a configured remote"):
        at.run().result()
    assert (git(place, "for-each-ref"), at.asked) == ("", 0)


# --- whatever dies ------------------------------------------------------------------------------------------------

KILLED = """
import sys
from flows.on_push import on_push
from helmsman.records.push import Push
on_push(Push.model_validate_json(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.feature("E3", "H2")
def test_another_run_of_the_push_goes_on_where_one_was_killed_and_pays_nothing_twice(
    desk: Desks, engine_url: str, tmp_path: Path
) -> None:
    at = desk([ASKS, KNOWS])
    environment = {**os.environ, "PREFECT_API_URL": engine_url, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", "-c", KILLED, at.push.model_dump_json()]
    with subprocess.Popen(command, cwd=tmp_path, env=environment) as process:
        with answering(engine_url, at.name, lambda: killed_beside_another(at, process)):
            pass
        assert process.wait(60) == -signal.SIGKILL
    with answering(engine_url, at.name, ANSWER) as person:
        pass
    assert person.statuses == ["ACCEPT"]
    assert ending(at.run()) == (StateType.COMPLETED, "Aligned")
    assert at.shown(f"{at.branch}:{ALIGNMENT}").count("a semicolon") == 1
    assert (at.asked, at.checkout.exists()) == (2, False)


def killed_beside_another(at: Desk, process: "subprocess.Popen[bytes]") -> None:
    """While it waits for its form, another run of the same push has nothing to do."""
    beside = at.run()
    process.send_signal(signal.SIGKILL)
    assert (beside.name, beside.message) == ("NothingToDo", f"{at.push.what} is being aligned already")


@pytest.mark.slow
@pytest.mark.feature("H1", "H2")
def test_under_a_worker_the_push_s_run_leaves_its_process_and_its_answers_come_to_the_branch(
    desk: Desks, engine_url: str
) -> None:
    at = desk([ASKS, KNOWS])
    with get_client(sync_client=True) as client:
        deployed = client.create_deployment(client.create_flow(on_push), f"test-{at.order}")
        given: Mapping[str, Any] = {"push": at.push.model_dump(mode="json")}
        run = client.create_flow_run_from_deployment(deployed, parameters=dict(given))
        with pytest.raises(Pause):
            run_flow(on_push, flow_run=run, parameters={"push": at.push})
        suspended = client.read_flow_run(run.id)
        assert suspended.state is not None
        assert (suspended.name, suspended.state.name) == (at.name, "Suspended")
        assert (at.checkout / ALIGNMENT).exists()
        assert fill_in(engine_url, str(run.id), ANSWER) == "ACCEPT"
        again = client.read_flow_run(run.id)
        state = run_flow(on_push, flow_run=again, parameters={"push": at.push}, return_type="state")
    assert ending(cast("State[Any]", state)) == (StateType.COMPLETED, "Aligned")
    assert at.shown(f"{at.branch}:{ALIGNMENT}").count("a semicolon") == 1
    assert at.asked == 2


@pytest.mark.slow
@pytest.mark.feature("E9")
def test_a_cancelled_one_goes_on_when_its_push_is_run_again(desk: Desks, engine_url: str) -> None:
    at = desk([ASKS, KNOWS])
    cancel = (at.served.bare / "helmsman" / "alignments" / at.name / "cancel").touch
    with answering(engine_url, at.name, cancel):
        state = at.run()
    assert ending(state) == (StateType.CANCELLED, "Cancelled")
    assert "retry this run" in (state.message or "")
    assert at.branches() == ["main"]
    with answering(engine_url, at.name, ANSWER):
        assert ending(at.run()) == (StateType.COMPLETED, "Aligned")
    assert at.asked == 2


# --- a loop that is pushed ----------------------------------------------------------------------------------------


def test_open_questions_in_the_commit_hold_the_start_of_a_pushed_loop_and_the_run_says_so(desk: Desks) -> None:
    loops = CONFIGURATION.replace('"align"', '"loop"').replace("[on_push]", 'checks = ["true"]\n[on_push]')
    at = desk([KNOWS], helmsman__toml=loops, ALIGNMENT__md=render(OPEN))
    state = at.run()
    assert state.is_failed()
    told = state.message or ""
    assert f"{at.push.what} starts nothing: 1 question in ALIGNMENT.md must be answered before a loop starts" in told
    assert "Which separator?" in told
    assert loop_names(open_repository(at.served.bare)) == []
