"""The align flow on a real engine: rounds with a model, people who answer, and whatever dies in between."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, StateType
from prefect.exceptions import Pause
from prefect.flow_engine import run_flow

from deployments.demo_model import Turn, say
from flows.align import align
from helmsman.errors import OperatorError
from helmsman.orient.alignment import STANDARD
from helmsman.records.alignment import ALIGNMENT, Alignment, AlignRequest
from tasks.loop.alignment_file import align_folder, align_name, read_alignment
from tasks.repository.git import open_repository
from tasks.system.paths import state_home
from tests.fakes import engine_client
from tests.fakes.approver import answer_forms
from tests.fakes.command_line import trust_repositories
from tests.fakes.faults import Fault
from tests.fakes.judge_api import JudgeApi
from tests.fakes.processes import Ended
from tests.fakes.terminal import Terminal
from tests.unit.test_alignment import GOOD

pytestmark = pytest.mark.feature("M1")
ROOT = Path(__file__).parents[2]
ASKS, KNOWS = say(json.dumps(GOOD)), say(json.dumps(GOOD | {"approach": "With semicolons.", "blockingQuestions": []}))
ANSWER = {"answer_1": "a semicolon"}
AWAY = Fault(status=529, headers={"x-should-retry": "false"})
QUICK = {"retry": {"attempts": 1, "first_delay_seconds": 0.01}}


@dataclass(frozen=True)
class Desk:
    """A goal to align in a repository, and a model that answers."""

    repository: Path
    api: JudgeApi
    file: str
    """No two tests share its name in the engine."""

    @property
    def name(self) -> str:
        return align_name(self.file)

    @property
    def path(self) -> Path:
        return self.repository / self.file

    @property
    def asked(self) -> int:
        """How often the model was asked."""
        return len(self.api.requests)

    def request(self, *, ask: bool = True, **settings: Any) -> AlignRequest:
        given = {**QUICK, **settings}
        return AlignRequest(repository=str(self.repository), goal="export the rows", out=self.file, settings=given, ask=ask)

    def run(self, *, ask: bool = True, **settings: Any) -> State[Any]:
        return align(self.request(ask=ask, **settings), return_state=True)

    def written(self) -> Alignment:
        found = read_alignment(self.path)
        assert found is not None
        return found


Desks = Callable[[Sequence[Turn]], Desk]


@pytest.fixture
def desk(engine_url: str, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Desks]:
    """Made from what the model says, one answer after the other and the last one for ever."""
    opened: list[JudgeApi] = []

    def make(turns: Sequence[Turn]) -> Desk:
        api = JudgeApi(turns)
        opened.append(api.__enter__())
        api.put_into(monkeypatch)
        return Desk(repository, api, f"{uuid4().hex[:8]}.md")

    yield make
    for api in opened:
        api.__exit__()


def ending(state: State[Any]) -> tuple[StateType, str | None]:
    return state.type, state.name


def test_a_goal_that_leaves_nothing_open_is_written_down_and_done(desk: Desks) -> None:
    at = desk([KNOWS])
    state = at.run()
    assert ending(state) == (StateType.COMPLETED, "Aligned")
    assert at.file in (state.message or "")
    written = at.written()
    assert (written.due, written.goal, written.approach) == ("", "export the rows", "With semicolons.")
    assert (written.made.by, written.made.round, written.made.cost_usd > 0) == ("model", 1, True)
    assert list(align_folder(open_repository(at.repository), at.file).root.iterdir()) == [
        align_folder(open_repository(at.repository), at.file).lock
    ]


@pytest.mark.feature("H1")
def test_questions_pause_the_run_for_a_form_and_the_answers_go_into_a_second_request(desk: Desks, engine_url: str) -> None:
    at = desk([ASKS, KNOWS])
    with answer_forms(engine_url, at.name, {**ANSWER, "by": "Ada"}) as person:
        state = at.run()
    assert ending(state) == (StateType.COMPLETED, "Aligned")
    fields = person.forms[0]["properties"]
    titles = {"answer_1": "Which separator?", "by": "Your name", "question": "Question"}
    assert {name: field["title"] for name, field in fields.items()} == titles
    assert "export the rows" in person.forms[0]["description"]
    assert "Which separator?\na semicolon" in at.api.requests[1].prompt
    written = at.written()
    assert [(one.question, one.answer) for one in written.answered] == [("Which separator?", "a semicolon")]
    assert (written.made.round, written.approach, at.asked) == (2, "With semicolons.", 2)


def test_a_run_that_does_not_ask_leaves_the_questions_in_the_file(desk: Desks) -> None:
    at = desk([ASKS])
    state = at.run(ask=False)
    assert ending(state) == (StateType.FAILED, "Waiting")
    assert "Which separator?" in (state.message or "")
    assert at.written().open == ("Which separator?",)
    assert ending(at.run(ask=False)) == (StateType.FAILED, "Waiting")
    assert at.asked == 1


def test_answers_that_a_person_wrote_into_the_file_are_worked_in_by_the_next_run(desk: Desks) -> None:
    at = desk([ASKS, KNOWS])
    at.run(ask=False)
    answer_in_file(at)
    assert ending(at.run(ask=False)) == (StateType.COMPLETED, "Aligned")
    assert at.written().approach == "With semicolons."
    assert (at.written().answered[0].answer, at.asked) == ("a tab", 2)


def answer_in_file(at: Desk) -> None:
    text = at.path.read_text().replace("- [ ] Which separator?", "- [x] Which separator?\n  - Answer: a tab")
    at.path.write_text(text.replace("a CSV export", "a TSV export"))


@pytest.mark.slow
@pytest.mark.feature("H1", "E9")
def test_a_cancelled_wait_repeats_no_paid_call(desk: Desks, engine_url: str) -> None:
    at = desk([ASKS, KNOWS])
    cancel = align_folder(open_repository(at.repository), at.file).cancel.touch
    with answer_forms(engine_url, at.name, cancel):
        assert ending(at.run()) == (StateType.CANCELLED, "Cancelled")
    with answer_forms(engine_url, at.name, ANSWER):
        assert ending(at.run()) == (StateType.COMPLETED, "Aligned")
    assert at.asked == 2


@pytest.mark.parametrize(
    ("turn", "why"),
    [(AWAY, "no model could be asked: the model could not be reached"), (say("Certainly!"), "the answer contains no JSON")],
    ids=["away", "no JSON"],
)
def test_without_an_answer_of_use_the_template_asks_and_says_why(desk: Desks, turn: Turn, why: str) -> None:
    at = desk([turn])
    state = at.run(ask=False)
    assert ending(state) == (StateType.FAILED, "Waiting")
    written = at.written()
    assert (written.made.by, written.open[: len(STANDARD)], at.asked) == ("template", STANDARD, 2)
    assert why in written.made.reason
    assert "the template: no model was asked" in (state.message or "")


def test_an_answer_of_no_use_is_asked_for_once_more_with_the_reason(desk: Desks) -> None:
    at = desk([say("Certainly!"), KNOWS])
    assert ending(at.run()) == (StateType.COMPLETED, "Aligned")
    assert "the answer contains no JSON object with `blockingQuestions`" in at.api.requests[1].prompt
    assert at.written().made.cost_usd == pytest.approx(2 * (100 * 4 + 20 * 20) / 1e6, rel=0.01)


def test_rejected_credentials_are_an_error_and_no_file_is_written(desk: Desks) -> None:
    at = desk([Fault(status=401)])
    state = at.run()
    assert state.is_failed()
    with pytest.raises(OperatorError, match="credentials were refused"):
        state.result()
    assert not at.path.exists()


# --- whatever dies ------------------------------------------------------------------------------------------------


@pytest.mark.feature("E3")
def test_an_answer_that_could_not_be_written_down_is_not_paid_for_twice(desk: Desks) -> None:
    at = desk([KNOWS])
    blocked = Desk(at.repository, at.api, f"check.sh/{at.file}")
    with pytest.raises(OperatorError, match="cannot be"):
        blocked.run().result()
    assert at.asked == 1
    (at.repository / "check.sh").unlink()
    assert ending(blocked.run()) == (StateType.COMPLETED, "Aligned")
    assert at.asked == 1


KILLED = """
import sys
from flows.align import align
from helmsman.records.alignment import AlignRequest
align(AlignRequest.model_validate_json(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.feature("E3", "H2")
def test_a_form_submitted_after_a_kill_counts_and_repeats_no_paid_call(desk: Desks, engine_url: str, tmp_path: Path) -> None:
    at = desk([ASKS, KNOWS])
    kill_while_it_waits(at, engine_url, tmp_path)
    with answer_forms(engine_url, at.name, ANSWER) as person:
        pass
    assert person.statuses == ["ACCEPT"]
    assert ending(at.run()) == (StateType.COMPLETED, "Aligned")
    assert (at.written().answered[0].answer, at.asked) == ("a semicolon", 2)


def kill_while_it_waits(at: Desk, engine_url: str, folder: Path) -> None:
    """A process that makes the alignment is killed once its questions are there."""
    request = at.request().model_dump_json()
    environment = {**os.environ, "PREFECT_API_URL": engine_url, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-P", "-c", KILLED, request], cwd=folder, env=environment) as process:
        with answer_forms(engine_url, at.name, lambda: process.send_signal(signal.SIGKILL)):
            pass
        assert process.wait(60) == -signal.SIGKILL


@pytest.mark.feature("H1", "H2")
def test_under_a_worker_the_run_is_suspended_until_the_form_is_submitted(desk: Desks, engine_url: str) -> None:
    at = desk([ASKS, KNOWS])
    with get_client(sync_client=True) as client:
        deployed = client.create_deployment(client.create_flow(align), f"test-{at.file}")
        run = client.create_flow_run_from_deployment(deployed, parameters={"request": at.request().model_dump(mode="json")})
        with pytest.raises(Pause):
            run_flow(align, flow_run=run, parameters={"request": at.request()})
        suspended = client.read_flow_run(run.id)
        assert suspended.state is not None
        assert (suspended.state.type, suspended.state.name) == (StateType.PAUSED, "Suspended")
        assert fill_in(engine_url, str(run.id), ANSWER) == "ACCEPT"
        again = client.read_flow_run(run.id)
        state = run_flow(align, flow_run=again, parameters={"request": at.request()}, return_type="state")
    assert ending(cast("State[Any]", state)) == (StateType.COMPLETED, "Aligned")
    assert (at.written().answered[0].answer, at.asked) == ("a semicolon", 2)


def fill_in(engine_url: str, run: str, form: Mapping[str, Any]) -> str:
    with engine_client.client(engine_url, auth=engine_client.login()) as client:
        told = client.post(f"/flow_runs/{run}/resume", json={"run_input": dict(form)})
    return str(told.raise_for_status().json()["status"])


COMMAND = f"""
import sys
from pathlib import Path
from deployments.align import align_goal
sys.exit(align_goal(Path(sys.argv[1]), "export the rows", None, {ALIGNMENT!r}, yes=False, as_json=False))
"""


def typed(api: JudgeApi, engine_url: str, repository: Path, keys: str) -> Ended:
    """The command in a terminal in which somebody types beforehand."""
    variables = {**os.environ, **api.credentials, "PREFECT_API_URL": engine_url, "PYTHONPATH": str(ROOT)}
    with Terminal.running([sys.executable, "-P", "-c", COMMAND, repository], repository.parent, variables) as terminal:
        shown = terminal.run_typed(keys)
    return replace(shown, output=shown.output.replace("\r\n", "\n"))


def aligned(engine_url: str, repository: Path, turns: Sequence[Turn], keys: str) -> tuple[Ended, Alignment, list[str]]:
    """What was shown, what is written, and what the model was asked."""
    trust_repositories(state_home(), repository)
    with JudgeApi(turns) as api:
        ended = typed(api, engine_url, repository, keys)
        prompts = [asked.prompt for asked in api.requests]
    written = read_alignment(repository / ALIGNMENT)
    assert written is not None, ended
    return ended, written, prompts


def ask_turn(*questions: str) -> Turn:
    return say(json.dumps(GOOD | {"blockingQuestions": questions}))


@pytest.mark.slow
def test_questions_are_asked_in_the_terminal_until_none_is_open(engine_url: str, repository: Path) -> None:
    first = ask_turn("Which separator?", "Which \x1b[2Jcolumns?")
    ended, written, prompts = aligned(engine_url, repository, [first, KNOWS], "a tab\n-\n")
    assert ended.exit_code == 0, ended
    assert "1. Which separator?" in ended.output
    assert "2. Which [2Jcolumns?" in ended.output
    assert "\x1b[2J" not in ended.output
    assert "then: helmsman run" in ended.output
    assert [one.answer for one in written.answered] == ["a tab", ""]
    assert len(prompts) == 2
    assert "Which separator?\na tab" in prompts[1]
