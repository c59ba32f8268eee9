"""What a loop that is done leaves, when something goes wrong meanwhile: its end stays, and what is missing is told."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from deployments.demo_model import Turn
from flows.loop import loop
from helmsman.config import LoopConfig
from helmsman.records.decision import Outcome
from helmsman.records.events import Event, MemoryNoted, StepFinished, StepStarted
from helmsman.records.gates import GateKind
from helmsman.records.request import LoopRequest
from tasks.memory import open_store
from tasks.repository.git import Repository, git, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import read_state, replace_state, state_ref, write_state
from tasks.system.journal import listening
from tests.fakes.approver import answer_forms
from tests.fakes.judge_api import JudgeApi, Raw
from tests.fakes.repositories import LOOP, LoopWork, commit, make_repository, start_loop
from tests.integration.memory_stores import NOW
from tests.unit.builders import STOP, check, report

pytestmark = pytest.mark.feature("L2", "L9")
CANCELLED, ASKED, PROPOSED = (
    "cancelled while a model is asked",
    "unreadable after a model was asked",
    "unreadable after a proposal",
)
MOVED, NOTHING = "advanced by another process", "nothing"
NOTHING_TAUGHT = Turn(text=json.dumps({"lessons": []}), usage={"input_tokens": 1000, "output_tokens": 100})


def cancel(repository: Repository) -> None:
    loop_folder(repository, LOOP).cancel.touch()


def spoil(repository: Repository) -> None:
    """What is written down cannot be read any more."""
    git(repository.common, "update-ref", state_ref(LOOP), "HEAD")


def move_on(repository: Repository) -> None:
    """As another driver does that believes it is alone."""
    state, commit = read_state(repository, LOOP)
    after = state.model_copy(update={"guidance": ("Mind the gap.",)})
    write_state(repository, after, over=commit, record=None, subject="another driver")


def asks(event: Event) -> bool:
    return isinstance(event, StepStarted) and event.step == "draw_lessons"


def has_asked(event: Event) -> bool:
    return isinstance(event, StepFinished) and event.step == "draw_lessons"


def proposes(event: Event) -> bool:
    return isinstance(event, MemoryNoted) and event.lines[0].startswith("proposed for AGENTS.md")


TrackerAction = tuple[Callable[[Event], bool], Callable[[Repository], None]]
DEEDS: Mapping[str, TrackerAction] = {
    CANCELLED: (asks, cancel),
    ASKED: (has_asked, spoil),
    PROPOSED: (proposes, spoil),
    MOVED: (has_asked, move_on),
    NOTHING: (lambda _: False, spoil),
}


def done(folder: Path, **settings: Any) -> LoopWork:
    """A loop whose work is proven, and whose check the project names. By default a model is asked what it teaches."""
    work = start_loop(make_repository(folder / "top", {"Makefile": "test:\n\ttrue\n"}), folder / "tree")
    head = commit(work.path, "the work", {"app.py": "2\n"})
    config = LoopConfig.model_validate(
        {
            **work.state.config.model_dump(),
            "memory": {"extraction": "model", "url": f"sqlite:///{folder / 'memory.db'}"},
            **settings,
        }
    )
    checks = report(check(passed=True, command="make test"))
    found = {"head": head, "verified": head, "ending": STOP, "checks": checks, "config": config, "iteration": 1}
    after = replace_state(work.repository, work.state, work.state.model_copy(update=found), "done")
    return LoopWork(work.repository, work.path, after, work.start)


class Left:
    """Loops that were left, by what went wrong meanwhile."""

    def __init__(self, works: Mapping[str, LoopWork], endings: Mapping[str, dict[str, Any]]) -> None:
        """Keep what became of them."""
        self.works, self.endings = works, endings

    def told(self, what: str) -> list[str]:
        return self.endings[what]["told"]

    def stays_done(self, what: str) -> bool:
        return self.endings[what]["name"] == "Completed"

    def summed_up(self, what: str) -> list[str]:
        """What later loops know of it."""
        with open_store(self.works[what].state.config.memory.url, NOW) as store:
            return [one.loop for one in store.summaries()]


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory, engine_url: str) -> Left:
    assert engine_url
    home = tmp_path_factory.mktemp("left")
    works = {what: done(home / str(number)) for number, what in enumerate((CANCELLED, ASKED, PROPOSED, MOVED, NOTHING))}
    with JudgeApi([NOTHING_TAUGHT]) as api, JudgeApi([Raw(b"", trickle=0.1)]) as silent, pytest.MonkeyPatch.context() as own:
        own.setenv("ANTHROPIC_API_KEY", "sk-ant-a-secret-of-the-test")
        endings = dict[str, dict[str, Any]]()
        for what, work in works.items():
            own.setenv("ANTHROPIC_BASE_URL", silent.url if what == CANCELLED else api.url)
            endings[what] = driven(what, work.repository.top)
    return Left(works, endings)


def driven(what: str, path: Path) -> dict[str, Any]:
    """What becomes of the loop when that happens once."""
    (moment, deed), repository, told, happened = DEEDS[what], open_repository(path), list[str](), list[str]()

    def listener(event: Event) -> None:
        told.extend(event.lines if isinstance(event, MemoryNoted) else ())
        if moment(event) and not happened:
            happened.append(what)
            deed(repository)

    with listening(listener):
        final = loop(LoopRequest(repository=str(path), loop=LOOP), return_state=True)
    return {"name": final.name, "message": final.message, "told": told}


@pytest.mark.slow
def test_a_cancel_while_a_model_is_asked_skips_its_lessons_and_keeps_the_outcome(left: Left) -> None:
    work = left.works[CANCELLED]
    assert left.stays_done(CANCELLED)
    assert any("the loop are stored: cancelled" in line for line in left.told(CANCELLED))
    assert left.summed_up(CANCELLED) == left.summed_up(NOTHING) == [LOOP]
    state, _ = read_state(work.repository, work.state.loop)
    assert (state.outcome, state.proposed) == (Outcome.COMPLETED, ("Check your work with `make test`.",))


@pytest.mark.parametrize("what", [ASKED, PROPOSED])
def test_a_loop_whose_state_cannot_be_written_stays_completed_with_a_reason(left: Left, what: str) -> None:
    assert left.stays_done(what)
    assert any("the state of loop the-loop cannot be read" in line for line in left.told(what))
    assert left.summed_up(what) == left.summed_up(NOTHING)


def test_a_fenced_driver_stops_finishing(left: Left) -> None:
    assert left.endings[MOVED]["name"] == "Failed"
    assert "advanced by another process" in left.endings[MOVED]["message"]
    assert not any("proposed for AGENTS.md" in line for line in left.told(MOVED))


@pytest.mark.slow
@pytest.mark.feature("H1")
@pytest.mark.parametrize(("decision", "committed"), [("approve", True), ("stop", False)])
def test_lines_proposed_for_agents_md_are_committed_after_approval(
    decision: str, *, committed: bool, engine_url: str, tmp_path: Path
) -> None:
    asking = {"memory": {"agents_md": "commit", "url": f"sqlite:///{tmp_path / 'memory.db'}"}, "gates": {"ask": True}}
    work = done(tmp_path, **asking)
    with answer_forms(engine_url, LOOP, {"decision": decision}) as person:
        driven(NOTHING, work.repository.top)
        driven(NOTHING, work.repository.top)  # done again, it neither asks nor commits anew
    assert "For AGENTS.md:\n\n- Check your work with" in person.forms[0]["description"]
    state, _ = read_state(work.repository, work.state.loop)
    assert (state.outcome, [answer.kind for answer in state.answers]) == (Outcome.COMPLETED, [GateKind.LEARNINGS])
    changed = git(
        work.repository.common, "log", "--format=%s", f"{work.state.head}..{state.branch}", "--", "AGENTS.md"
    ).splitlines()
    assert len(changed) == int(committed)
    if committed:
        assert "Check your work with `make test`." in work.at("AGENTS.md", state.branch)
