"""Prefect blocks of the operator: the tracker's token, and notifications."""

import logging
from collections.abc import Iterator

import pytest
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from pydantic import SecretStr

from blocks.tracker import Tracker
from helmsman.config import TrackerConfig
from helmsman.errors import OperatorError
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


TRACKER = {"notify": ["custom-webhook/there"]}


def test_the_first_question_of_a_process_and_its_answer_are_notified(drive: Drive, engine_url: str, webhook: Webhook) -> None:
    keep(webhook.url, "there")
    with answer_forms(engine_url, "loop", {"decision": "approve"}):
        drive([says(PROMISE, shell=SOLVE)], gates={"ask": True, "plan": True}, tracker=TRACKER)
    asked, over = (sent["body"] for sent in webhook.received)
    assert asked.startswith("The loop loop asks: Plan. Start the loop with this goal")
    assert over == "Resolved: the loop loop continues."


def test_an_end_by_an_error_is_notified_with_the_error(drive: Drive, webhook: Webhook) -> None:
    keep(webhook.url, "there")
    drive([], workspace={"setup": ["echo no such mirror >&2; exit 3"]}, tracker=TRACKER)
    [told] = webhook.received
    assert told["subject"] == "Helmsman, loop loop: it has ended (error.operator)"
    assert "has ended as failed (error.operator)" in told["body"]
    assert "exit 3 expected: every command" in told["body"]


def test_the_tracker_s_token_comes_from_the_block_that_is_named(engine_url: str) -> None:
    Tracker(token=SecretStr("token-in-a-block")).save("issues", overwrite=True)  # pyright: ignore[reportUnusedCoroutine] - no event loop runs
    assert tracker_token(TrackerConfig(kind="github", repository="acme/site", block="issues")) == "token-in-a-block"
    with pytest.raises(OperatorError, match="does not exist") as told:
        tracker_token(TrackerConfig(kind="github", repository="acme/site", block="nowhere"))
    assert "tracker.block" in told.value.remedy
