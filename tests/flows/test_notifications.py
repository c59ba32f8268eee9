"""Prefect blocks of the operator: the tracker's token, and notifications."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.events.actions import SendNotification
from prefect.server.events import jinja_filters
from prefect.server.schemas.core import FlowRun
from prefect.server.utilities.user_templates import register_user_template_filters, render_user_template_sync
from pydantic import SecretStr

from blocks.tracker import Tracker
from deployments.deploy import automations
from helmsman.config import TrackerConfig
from helmsman.errors import OperatorError
from helmsman.records.events import Event, ObserverFailed
from tasks.system.journal import listening
from tasks.trackers.forges import tracker_token
from tasks.trackers.notify import notify
from tests.fakes.approver import answer_forms
from tests.fakes.http_server import Webhook, run_webhook
from tests.fakes.scripted_agent import PROMISE, says
from tests.flows.conftest import Drive
from tests.flows.test_loop import SOLVE

pytestmark = pytest.mark.feature("H3")


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with run_webhook() as server:
        yield server


def keep(url: str, name: str) -> None:
    sent = {"subject": "{{subject}}", "body": "{{body}}"}
    CustomWebhookNotificationBlock.model_validate({"name": "ops", "url": url, "json_data": sent}).save(name, overwrite=True)  # pyright: ignore[reportUnusedCoroutine]


def test_a_failing_notification_block_is_logged_and_stops_no_other(
    engine_url: str, webhook: Webhook, caplog: pytest.LogCaptureFixture
) -> None:
    with run_webhook() as gone:
        keep(gone.url, "gone")
    keep(webhook.url, "there")
    with caplog.at_level(logging.WARNING):
        notify(("custom-webhook/gone", "custom-webhook/nowhere", "secret/nowhere", "custom-webhook/there"), "s", "b")
    assert len(webhook.received) == 1
    told = [one for one in caplog.messages if "could not be notified" in one]
    assert len(told) == 3
    assert not any("secret-path" in one for one in told)


def test_a_failing_notification_is_a_line_of_the_display_and_of_the_run_s_log(
    drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    told = list[Event]()
    with listening(told.append), caplog.at_level(logging.WARNING):
        drive([], workspace={"setup": ["exit 3"]}, tracker={"notify": ["custom-webhook/nowhere"]})
    [failed] = (event.why for event in told if isinstance(event, ObserverFailed))
    assert failed.startswith("the notification block custom-webhook/nowhere could not be notified: ")
    assert ("prefect.flow_runs", failed) in [(line.name, line.getMessage()) for line in caplog.records]


TRACKER = {"notify": ["custom-webhook/there"]}


def test_the_first_question_of_a_process_and_its_answer_are_notified(
    drive: Drive, repository: Path, engine_url: str, webhook: Webhook
) -> None:
    keep(webhook.url, "there")
    with answer_forms(engine_url, "loop", {"decision": "approve"}):
        drive([says(PROMISE, shell=SOLVE)], gates={"ask": True, "plan": True}, tracker=TRACKER)
    asked, over = (sent["body"] for sent in webhook.received)
    assert asked.startswith(f"The loop loop in {repository} asks: Plan. Start the loop with this goal")
    assert over == f"Resolved: the loop loop in {repository} continues."


def test_an_end_by_an_error_is_notified_with_the_error(drive: Drive, repository: Path, webhook: Webhook) -> None:
    keep(webhook.url, "there")
    drive([], workspace={"setup": ["echo no such mirror >&2; exit 3"]}, tracker=TRACKER)
    [told] = webhook.received
    assert told["subject"] == f"Helmsman, loop loop: it has ended (error.operator) ({repository.name})"
    assert "has ended as failed (error.operator)" in told["body"]
    assert "exit 3 expected: every command" in told["body"]


@pytest.mark.parametrize(
    ("state", "message", "found", "told"),
    [
        (
            "Suspended",
            "Go on?",
            {"labels": {"helmsman.repository": "/srv/shop"}},
            "asks a person/srv/shop: Go on?\nAnswer by Resume in ",
        ),
        (
            "Failed",
            "@all <!channel>",
            {"parameters": {"request": {"repository": "/gone"}}},
            "has failed/gone: @\u200ball <!\u200bchannel>\nSee ",
        ),
        ("Failed", "No.", {"parameters": {"push": {"repository": "acme/site"}}}, "has failedacme/site: No.\nSee "),
    ],
)
def test_the_server_s_message_names_the_repository_and_the_reason_even_if_there_is_no_loop_yet(
    state: str, message: str, found: dict[str, Any], told: str
) -> None:
    [action] = automations(uuid4(), notify=uuid4())[-1].actions
    assert isinstance(action, SendNotification)
    register_user_template_filters(jinja_filters.all_filters)
    of_run = {"flow_id": uuid4(), "name": "odd-hare", "state": {"type": "FAILED", "message": message}, **found}
    known = {"event": {"event": f"prefect.flow-run.{state}"}, "flow_run": FlowRun.model_validate(of_run)}
    subject, body = (render_user_template_sync(text, known) for text in (action.subject, action.body))
    assert f"{subject}{body}".startswith(f"Helmsman: odd-hare {told}")


def test_the_tracker_s_token_comes_from_the_block_that_is_named(engine_url: str) -> None:
    Tracker(token=SecretStr("token-in-a-block")).save("issues", overwrite=True)  # pyright: ignore[reportUnusedCoroutine] - no event loop runs
    assert tracker_token(TrackerConfig(kind="github", repository="acme/site", block="issues")) == "token-in-a-block"
    with pytest.raises(OperatorError, match="does not exist") as told:
        tracker_token(TrackerConfig(kind="github", repository="acme/site", block="nowhere"))
    assert "tracker.block" in told.value.remedy
