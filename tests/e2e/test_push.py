"""From a push to a loop's result: hook or webhook, receiver, engine, worker, loop; every one of them real."""

import asyncio
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest
from prefect.events import Event
from prefect.events.clients import PrefectEventSubscriber
from prefect.events.filters import EventFilter, EventNameFilter

from deployments.demo_model import Request, Turn, bash, call, say
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import list_loops
from tests.fakes.command_line import ScriptedCommandLine, scripted_command_line
from tests.fakes.issue_events import comment_event, issue_event
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import eventually
from tests.fakes.push_receiver import (
    Receiver,
    ServedRepository,
    deploy,
    github_headers,
    install_hook,
    run_receiver,
    run_worker,
    send,
    served_repository,
    write_repository_list,
)
from tests.fakes.tracker_api import BOT, REPOSITORY, TOKEN, TrackerApi

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("push"),
    pytest.mark.feature("D2"),
]  # one engine, one worker

PATIENCE = 100
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
ANSWER = (
    call(bash("echo 42 > answer && git add answer && git commit -m 'Answer'")),
    say("It is so.\n<promise>COMPLETE</promise>"),
)
CONFIGURATION = """
goal_file = "docs/goal.md"
checks = ["test -e answer"]

[on_push]
branches = ["main", "release/*"]
"""
SITE = """
checks = ["test -e answer"]
[gates]
merge = true
"""
SETS = f"""
[repositories."{REPOSITORY}"]
at = "PLACE"
set.tracker = {{ kind = "github", url = "URL", repository = "{REPOSITORY}" }}
"""
FILES = {"helmsman.toml": CONFIGURATION, "docs/goal.md": "There shall be an answer.\n"}


def script(request: Request) -> Turn:
    return ANSWER[min(request.turn, 1)]


@dataclass(frozen=True)
class Scene:
    """All that takes part."""

    server: PrefectServer
    api: httpx.Client
    helmsman: ScriptedCommandLine
    receiver: Receiver
    served: ServedRepository
    forge: TrackerApi
    """Where issues of `acme/site` are; its clone on this machine is `site`."""
    site: ServedRepository

    def runs_of(self, commit: str) -> list[Mapping[str, Any]]:
        wanted = {"flows": {"name": {"any_": ["on_push"]}}, "sort": "EXPECTED_START_TIME_DESC", "limit": 200}
        found = self.api.post("/flow_runs/filter", json=wanted).raise_for_status().json()
        return [run for run in found if run["parameters"]["push"]["commit"] == commit]

    def issue_runs(self) -> list[Mapping[str, Any]]:
        """Runs for events at issues, the first one first."""
        wanted = {"flows": {"name": {"any_": ["on_issue"]}}, "sort": "EXPECTED_START_TIME_ASC"}
        return self.api.post("/flow_runs/filter", json=wanted).raise_for_status().json()

    def tell(self, kind: str, body: bytes) -> str:
        """What the receiver answers to an event at an issue."""
        return send(f"{self.receiver.url}/github", body, github_headers(body, x_github_event=kind)).text

    def run_of(self, commit: str) -> Mapping[str, Any]:
        """The one run of a commit, once it has ended."""

        def has_ended() -> bool:
            return [run["state_type"] in ENDED for run in self.runs_of(commit)] == [True]

        assert eventually(has_ended, PATIENCE), (self.receiver.log.read_text(), self.runs_of(commit))
        return self.runs_of(commit)[0]

    def loops(self, commit: str) -> list[LoopState]:
        return [one.state for one in list_loops(open_repository(self.served.bare)) if one.state.base_commit == commit]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Generator[Scene]:
    folder = tmp_path_factory.mktemp("pushed")
    served = served_repository(folder / "served", FILES)
    with (
        PrefectServer.running(folder / "server") as server,
        scripted_command_line(folder, server.url, script) as helmsman,
        TrackerApi("github") as forge,
    ):
        site = served_repository(folder / "site", {"helmsman.toml": SITE})
        at = {"project": str(served.bare), "owner/project": str(served.bare)}
        sets = SETS.replace("URL", forge.url).replace("PLACE", str(site.clone))
        deploy(helmsman.variables, ("on-push", "on-issue"))
        token = {"HELMSMAN_TRACKER_TOKEN": TOKEN, "HELMSMAN_TRACKER_HOSTS": "127.0.0.1"}
        with (
            run_worker(folder, {**helmsman.variables, **token}),
            run_receiver(folder, write_repository_list(folder, at, sets), helmsman.variables) as receiver,
            httpx.Client(base_url=server.url, timeout=30, trust_env=False) as api,
        ):
            install_hook(served, receiver.url)
            yield Scene(server, api, helmsman, receiver, served, forge, site)
        assert forge.violations == []


def test_a_push_becomes_an_event_a_run_and_a_loop_whose_result_is_on_a_branch(scene: Scene) -> None:
    def push() -> str:
        commit = scene.served.commit("work to do", {"notes": uuid4().hex})
        scene.served.push("HEAD:main")
        return commit

    commit, event = asyncio.run(_event_of(scene.server.url, push))
    run = scene.run_of(commit)
    (loop,) = scene.loops(commit)
    assert (run["state_type"], run["name"], loop.outcome) == ("COMPLETED", loop.loop, Outcome.COMPLETED), run["state"]
    assert (loop.base_branch, loop.config.goal) == ("main", "There shall be an answer.")
    assert git(scene.served.bare, "show", f"{loop.branch}:answer") == "42\n"
    assert git(scene.served.bare, "rev-parse", "main").strip() == commit
    assert (event.resource.name, event.payload["branch"]) == ("project", "main")
    assert [related.id for related in event.related] == [f"prefect.flow-run.{run['id']}"]


@pytest.mark.feature("D6")
def test_a_label_becomes_a_loop_that_asks_in_its_issue_and_ends_as_a_pull_request(scene: Scene) -> None:
    issue = scene.forge.open_issue("mallory", "There shall be an answer.", ["helmsman"])
    label = issue_event("github", "labeled", issue.number)
    assert scene.tell("issues", label) == f"accepted: issue #{issue.number} of {REPOSITORY}: labelled\n"
    assert scene.tell("issues", label) == f"already known: issue #{issue.number} of {REPOSITORY}: labelled\n"
    assert eventually(lambda: any("/helmsman approve" in one.body for one in issue.comments), PATIENCE), scene.issue_runs()
    assert eventually(lambda: [run["state_name"] for run in scene.issue_runs()] == ["Suspended"], PATIENCE)
    hostile = comment_event("github", "/helmsman approve", 1, by="mallory", number=issue.number)
    assert "mallory is not known to be a member" in scene.tell("issue_comment", hostile)
    answer = comment_event("github", "/helmsman approve", 2, association="OWNER", number=issue.number)
    assert scene.tell("issue_comment", answer).startswith("accepted")
    assert eventually(lambda: {run["state_name"] for run in scene.issue_runs()} == {"Completed", "Heeded"}, PATIENCE)
    ((loop, *_),) = list_loops(open_repository(scene.site.clone))
    (pull,) = scene.forge.pulls
    assert (pull.head, pull.base, pull.body.splitlines()[1]) == (loop.branch, "main", f"Closes #{issue.number}")
    assert git(scene.site.bare, "show", f"{loop.branch}:answer") == "42\n"
    assert (loop.outcome, loop.spending.agent_calls) == (Outcome.COMPLETED, 1)
    begun, question, understood, end = [one.body for one in issue.comments if one.author == BOT]
    assert (loop.loop in begun, "approved for merging" in question, "Understood" in understood) == (True, True, True)
    assert loop.issue is not None
    assert loop.issue.pull_request in end


def test_a_push_while_the_engine_is_down_is_run_once_it_is_back(scene: Scene) -> None:
    scene.server.kill()
    commit = scene.served.commit("nobody there", {"notes": uuid4().hex})
    scene.served.push("HEAD:refs/heads/release/patience")
    assert scene.served.hook_is_done()
    assert eventually(lambda: "events are delayed: the engine cannot be reached" in scene.receiver.log.read_text(), PATIENCE)
    scene.server.start()
    assert scene.run_of(commit)["state_type"] == "COMPLETED"
    assert [loop.outcome for loop in scene.loops(commit)] == [Outcome.COMPLETED]


async def _event_of(url: str, push: Callable[[], str]) -> tuple[str, Event]:
    """What is pushed, and the event that tells people of it."""
    named = EventFilter(event=EventNameFilter(name=["git.push"]))
    async with asyncio.timeout(PATIENCE), PrefectEventSubscriber(api_url=url, filter=named) as stream:
        commit = push()
        async for event in stream:
            if event.payload["commit"] == commit:
                return commit, event
    raise AssertionError("the stream of events has ended")
