"""A person at the Prefect UI, in a real browser: asked by a form, stopping a loop, reading how it stands."""

import os
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from helmsman.records.gates import Choice
from helmsman.records.verdict import Outcome
from tasks.processes.process import TAG
from tasks.repository.git import open_repository
from tasks.repository.state_ref import loop_names
from tests.fakes.bench import Bench, ended, eventually
from tests.fakes.browser import browser_page
from tests.fakes.command_line import processes
from tests.fakes.team import PATIENCE, TWO_SESSIONS, Team
from tests.fakes.two_sessions import LOOP

pytestmark = [pytest.mark.timeout(400), pytest.mark.xdist_group("team")]

AGENT_GONE_SECONDS = 10
SLOW_MS = 60_000
PICTURES = os.environ.get("PICTURES_TO", "")
"""Folder for pictures of what the browser shows; empty: none are taken."""


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


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def is_paused(team: Team, bench: Bench) -> bool:
    """Whether the form is there."""
    begun = LOOP in loop_names(open_repository(bench.repository))
    runs = team.server.loop_runs(bench.state.uid) if begun else []
    return any(run["state_type"] == "PAUSED" for run in runs)


@pytest.mark.feature("H1", "H5", "X3")
def test_a_person_fills_in_the_form_wrongly_then_rightly_and_the_loop_goes_on(page: Page, team: Team, tmp_path: Path) -> None:
    bench = team.bench(tmp_path / "asking")
    asking = ("--check", "test -e answer", "--set", "gates.ask=true", "--set", "gates.plan=true", "--yes", "--name", LOOP)
    process = bench.helmsman("run", "Write the <i>answer</i> to a file of that name", *asking)
    assert eventually(lambda: is_paused(team, bench), PATIENCE)
    look_at(page, team, f"runs/flow-run/{team.server.loop_runs(bench.state.uid)[-1]['id']}")
    form = choose_from_menu(page, "Resume")
    for words in ("Shall the loop begin", "The first iteration begins.", "Write the <i>answer</i> to a file of that name"):
        expect(form).to_contain_text(words)
    picture(page, "form")
    form.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("'decision' is a required property")).to_be_visible()
    assert is_paused(team, bench)
    decide(page, form, Choice.APPROVE)
    form.get_by_role("textbox").nth(0).fill("Mind the <b>gap</b>.")
    form.get_by_role("textbox").nth(2).fill("Ada")
    picture(page, "form-filled-in")
    submit(form)
    told = ended(process)
    assert told.exit_code == 0, told
    answer = bench.state.answers[-1]
    assert (answer.choice, answer.by, answer.guidance) == (Choice.APPROVE, "Ada", "Mind the <b>gap</b>.")
    look_at_artifact(page, team, f"{LOOP}-dashboard")
    for words in ("System 1", "System 3*", "System 5", "Write the <i>answer</i> to a file of that name"):
        expect(page.get_by_text(words).first).to_be_visible()
    picture(page, "dashboard")
    look_at_artifact(page, team, f"{LOOP}-gates")
    expect(page.get_by_text("Mind the <b>gap</b>.").first).to_be_visible()


@pytest.mark.feature("E9")
def test_a_cancel_in_the_ui_ends_the_agent_s_processes_within_seconds(page: Page, team: Team, tmp_path: Path) -> None:
    bench = team.bench(tmp_path / "cancelled")
    team.hold()
    run = team.start(bench, TWO_SESSIONS, "false")
    assert team.is_held(), team.log
    tag = f"{bench.state.uid}/"
    assert processes(TAG, tag)
    look_at(page, team, f"runs/flow-run/{run}")
    choose_from_menu(page, "Cancel").get_by_role("button", name="Cancel").last.click()
    assert eventually(lambda: not processes(TAG, tag), AGENT_GONE_SECONDS), processes(TAG, tag)
    team.let_go()
    assert team.ended(run)["state_type"] == "CANCELLED"
    assert bench.state.outcome is Outcome.CANCELLED
