"""A person at the Prefect UI, in a real browser: asked by a form, stopping a loop, reading how it stands."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, Response, Route, expect

from helmsman.records.decision import Outcome
from helmsman.records.gates import Choice
from tasks.repository.git import open_repository
from tasks.repository.state_ref import list_loops, loop_names
from tasks.system.process import TAG
from tests.fakes.browser import browser_page
from tests.fakes.http_server import Webhook, run_webhook
from tests.fakes.loop_bench import Bench
from tests.fakes.processes import eventually, processes, wait_for_end
from tests.fakes.team_engine import PATIENCE, TWO_SESSIONS, Team
from tests.fakes.two_sessions import CHECK, LOOP

pytestmark = [pytest.mark.timeout(400), pytest.mark.xdist_group("team")]

AGENT_GONE_SECONDS = 10
SLOW_MS = 60_000
PRESSES = 20
MOST_LINES = 20
"""In the log of a run with one iteration: its own, as in `helmsman log`, and what Prefect says of start and end."""


@pytest.fixture
def page() -> Generator[Page]:
    with browser_page(width=1400, height=1100) as (page, _):
        page.route(lambda url: urlsplit(url).hostname != "127.0.0.1", _refuse)
        page.set_default_timeout(SLOW_MS)
        expect.set_options(timeout=SLOW_MS)
        yield page


def _refuse(route: Route) -> None:
    """The pages ask their makers' analytics for settings."""
    route.abort()


def look_at(page: Page, team: Team, where: str) -> None:
    page.goto(f"{team.server.url.removesuffix('/api')}/v2/{where}")


def choose_from_menu(page: Page, what: str) -> Locator:
    """What the menu of a run's page opens."""
    page.get_by_role("button", name="Open menu").first.click()
    page.get_by_role("menuitem", name=what, exact=True).click()
    return page.get_by_role("dialog").or_(page.get_by_role("alertdialog"))


def decide(page: Page, form: Locator, choice: Choice) -> None:
    form.get_by_role("button", name="Select").click()
    page.get_by_role("option", name=choice, exact=True).click()


def submit(form: Locator) -> None:
    """Until it is taken: while the engine's SQLite has no time, the page says that it failed, and a person tries again."""
    for _ in range(5):
        form.get_by_role("button", name="Resume").click()
        with suppress(AssertionError):
            expect(form).not_to_be_visible(timeout=10_000)
            return
    raise AssertionError(form.inner_text())


def look_at_artifact(page: Page, team: Team, key: str) -> None:
    """Its newest version."""
    look_at(page, team, f"artifacts/key/{key}")
    page.locator("a[href*='/artifacts/artifact/']").first.click()


def is_paused(team: Team, bench: Bench) -> bool:
    """Whether the form is there."""
    begun = LOOP in loop_names(open_repository(bench.repository))
    runs = team.server.loop_runs(bench.state.uid) if begun else []
    return any(run["state_type"] == "PAUSED" for run in runs)


@pytest.mark.slow
@pytest.mark.feature("H1", "H5", "X3")
def test_a_form_with_a_mistake_is_asked_again_and_the_loop_continues(page: Page, team: Team, tmp_path: Path) -> None:
    bench = team.bench(tmp_path / "asking")
    asking = ("--check", "test -e answer", "--set", "gates.ask=true", "--set", "gates.plan=true", "--yes", "--name", LOOP)
    process = bench.helmsman("run", "Write the <i>answer</i> to a file of that name", *asking)
    assert eventually(lambda: is_paused(team, bench), PATIENCE)
    look_at(page, team, f"runs/flow-run/{team.server.loop_runs(bench.state.uid)[-1]['id']}")
    form = choose_from_menu(page, "Resume")
    for words in (
        "Start the loop with this goal",
        "The first iteration begins.",
        "Write the <i>answer</i> to a file of that name",
    ):
        expect(form).to_contain_text(words)
    form.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("'decision' is a required property")).to_be_visible()
    assert is_paused(team, bench)
    decide(page, form, Choice.APPROVE)
    form.get_by_role("textbox").nth(0).fill("Mind the <b>gap</b>.")
    form.get_by_role("textbox").nth(2).fill("Ada")
    submit(form)
    told = wait_for_end(process)
    assert told.exit_code == 0, told
    answer = bench.state.answers[-1]
    assert (answer.choice, answer.by, answer.guidance) == (Choice.APPROVE, "Ada", "Mind the <b>gap</b>.")
    look_at_artifact(page, team, f"dashboard-{LOOP}")
    for words in ("System 1", "System 3*", "System 5", "Write the <i>answer</i> to a file of that name"):
        expect(page.get_by_text(words).first).to_be_visible()
    look_at_artifact(page, team, f"gates-{LOOP}")
    expect(page.get_by_text("Mind the <b>gap</b>.").first).to_be_visible()


@pytest.mark.slow
@pytest.mark.feature("E9")
def test_a_cancel_in_the_ui_ends_the_agent_and_a_retry_resumes_the_loop(page: Page, team: Team, tmp_path: Path) -> None:
    bench = team.bench(tmp_path / "cancelled")
    team.hold()
    run = team.start(bench, TWO_SESSIONS, CHECK)
    assert team.is_held(), team.log
    tag = f"{bench.state.uid}/"
    assert processes(TAG, tag)
    look_at(page, team, f"runs/flow-run/{run}")
    choose_from_menu(page, "Cancel").get_by_role("button", name="Cancel").last.click()
    assert eventually(lambda: not processes(TAG, tag), AGENT_GONE_SECONDS), processes(TAG, tag)
    team.release()
    assert team.ended(run)["state_type"] == "CANCELLED"
    assert bench.state.outcome is Outcome.CANCELLED
    # by the automation, after the worker's own last word on the run, which would undo a retry
    assert team.eventually(lambda: "its work is kept" in team.run_of(run)["state"]["message"]), team.run_of(run)["state"]
    assert not any("Traceback" in line for _, line in team.log_of(run)), team.log_of(run)
    page.reload()
    choose_from_menu(page, "Retry").get_by_role("button", name="Retry").last.click()
    assert team.eventually(lambda: team.run_of(run)["state_type"] == "COMPLETED"), (team.states(run), team.log)
    assert bench.state.outcome is Outcome.COMPLETED


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with run_webhook() as server:
        yield server


WRONG_VALUE = "limits.iterations must be a whole number, not 'many'"


@pytest.mark.slow
@pytest.mark.feature("H1", "H2", "D1")
def test_a_loop_under_a_worker_asks_refuses_a_wrong_answer_with_the_reason_and_stops_by_choice(
    page: Page, team: Team, webhook: Webhook, tmp_path: Path
) -> None:
    bench = team.bench(tmp_path / "wrong-value")
    team.notify(webhook.url)
    tracker = {"notify": ["custom-webhook/questions"]}
    run = team.start(bench, "an answer", "test -e answer", gates={"plan": True}, tracker=tracker)
    assert team.is_asleep(run), team.states(run)
    asked = bench.state.gate
    assert asked is not None
    assert team.eventually(lambda: bool(webhook.received)), team.states(run)
    [told] = webhook.received  # not by the loop as well, which would come first
    assert told["subject"] == f"Helmsman: {LOOP} asks a person"
    assert told["body"] == f"{bench.repository}: {asked.question}\nAnswer by Resume in the menu of the run's page."
    look_at(page, team, f"runs/flow-run/{run}?tab=Details")
    expect(page.get_by_text(asked.question).first).to_be_visible()
    form = choose_from_menu(page, "Resume")
    decide(page, form, Choice.APPROVE)
    form.get_by_role("textbox").nth(1).fill("limits.iterations=many")
    submit(form)

    def asks_again() -> bool:
        return bench.state.gate is not None and bench.state.gate.refused == WRONG_VALUE

    assert team.eventually(asks_again), team.log
    assert team.eventually(lambda: team.run_of(run)["state_name"] == "Suspended"), team.states(run)
    page.reload()
    form = choose_from_menu(page, "Resume")
    expect(form).to_contain_text(f"Your answer was rejected: {WRONG_VALUE}")
    decide(page, form, Choice.STOP)
    form.get_by_role("textbox").nth(2).fill("Ada")
    submit(form)
    assert team.ended(run)["state_name"] == "Stopped"
    look_at_artifact(page, team, f"gates-{LOOP}")
    warnings = [line for level, line in team.log_of(run) if level == "WARNING"]
    assert warnings == [
        f"this loop waits for a person: {asked.question} To answer, choose Resume in the menu of this run.",
        f"your answer was rejected: {WRONG_VALUE}",
        f"this loop waits for a person: {asked.question} To answer, choose Resume in the menu of this run.",
    ]
    lines = [line for _, line in team.log_of(run)]
    assert not any("Traceback" in line for line in lines), lines
    told = "Finished in state Stopped('gate.plan: stopped by Ada (engine). Retry this run to continue"
    assert lines[-1].startswith(told), lines[-1]


@pytest.mark.slow
@pytest.mark.feature("D1", "X3")
def test_a_loop_that_sleeps_says_until_when_and_its_run_s_page_what_each_iteration_brought(
    page: Page, team: Team, tmp_path: Path
) -> None:
    bench = team.bench(tmp_path / "sleeping")
    run = team.start(bench, TWO_SESSIONS, CHECK, limits={"calls_per_hour": 1})
    asleep = team.ended(run, "Sleeping")
    assert (asleep["state_type"], team.has_left(run)) == ("SCHEDULED", True), team.log
    waiting = bench.state.waiting
    assert waiting is not None
    assert abs(datetime.fromisoformat(asleep["next_scheduled_start_time"]) - waiting.until) < timedelta(seconds=1)
    assert asleep["state"]["message"] == waiting.reason
    [iteration] = [one for one in team.server.runs(bench.state.uid) if one["parent_task_run_id"]]
    assert iteration["state_name"] == "0 of 1 check green"
    look_at(page, team, f"runs/flow-run/{run}")
    lines = [line for _, line in team.log_of(run)]
    told = lines[next(at for at, line in enumerate(lines) if line.startswith("#1  agent finished")) :]
    summary = told[: next(at for at, line in enumerate(told) if line.lstrip().startswith("→")) + 1]
    assert [line.split()[0] for line in summary[1:]][:3] == ["stop", "tree", "check"]
    assert len(lines) <= MOST_LINES, lines
    for line in summary:
        expect(page.get_by_text(line.strip()).first).to_be_visible()


def fill_in(page: Page, **fields: str) -> None:
    for label, text in fields.items():
        page.get_by_label(label.replace("_", " ")).first.fill(text)


def submitted(page: Page, team: Team) -> Mapping[str, Any]:
    """The run that the form of a loop starts, once it has ended."""
    return team.ended(pressed(page, page.get_by_role("button", name="Submit"), "/create_flow_run").json()["id"])


def pressed(page: Page, button: Locator, path: str) -> Response:
    """What the server answers. While its SQLite has no time, a person presses again, as docs/deployments.md says."""
    for _ in range(PRESSES):
        with page.expect_response(lambda answer: answer.request.method == "POST" and answer.url.endswith(path)) as made:
            button.click()
        if made.value.ok:
            return made.value
    raise AssertionError(f"refused {PRESSES} times: {path}")


@pytest.mark.slow
@pytest.mark.feature("D1")
def test_the_form_of_a_loop_has_a_field_for_each_usual_limit_and_its_run_says_what_is_wrong(
    page: Page, team: Team, tmp_path: Path
) -> None:
    bench, form = team.bench(tmp_path / "form"), f"deployments/deployment/{team.id_of('loop/loop')}/run"
    look_at(page, team, form)
    fill_in(page, Repository=str(bench.repository))
    assert "goal: missing;" in submitted(page, team)["state"]["message"]
    look_at(page, team, form)
    fill_in(page, Repository=str(bench.repository), Goal="an answer")
    told = submitted(page, team)["state"]["message"]
    assert "checks = [...] in helmsman.toml" in told
    look_at(page, team, form)
    fill_in(page, Repository=str(bench.repository), Goal="an answer", Max_iterations="3", Max_dollars="2.5", Model="opus")
    page.get_by_role("button", name="Add item").click()
    page.locator("textarea").nth(2).fill("test -e answer")
    assert submitted(page, team)["state_type"] == "COMPLETED"
    [found] = list_loops(open_repository(bench.repository))
    config = found.state.config
    assert (config.limits.iterations, config.limits.cost_usd, config.claude.model) == (3, 2.5, "opus")
