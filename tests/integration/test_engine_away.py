"""An unreachable Prefect server, or another service at its address: what fails and what continues."""

from collections.abc import Generator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_CSRF_SUPPORT_ENABLED, PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from helmsman.errors import OperatorError, TransientError
from tasks.credentials import judge_credentials
from tasks.engine.embedded import engine
from tasks.engine.runs import _read_run  # pyright: ignore[reportPrivateUsage] - what the watch for a cancel asks, without its thread
from tests.fakes.http_server import Reply, serve_http
from tests.unit.builders import config


@contextmanager
def showing_a_page() -> Generator[str]:
    """What a proxy shows to people while the server behind it is restarted."""
    with serve_http(lambda _: Reply(200, b"<html>We will be back soon.</html>")) as url:
        yield f"{url}/api"


def test_unreachable_credentials_are_a_transient_error() -> None:
    unreachable = temporary_settings({PREFECT_API_URL: "http://127.0.0.1:1/api", PREFECT_CLIENT_MAX_RETRIES: 0})
    with unreachable, pytest.raises(TransientError, match=r"credentials could not be read from Prefect in claude\.block"):
        judge_credentials(config(claude={"block": "x"}))  # without a block of its own, the judge has the agent's


def test_a_page_for_people_is_no_cancel_and_ends_nobodys_watch_for_one() -> None:
    behind = {PREFECT_CLIENT_CSRF_SUPPORT_ENABLED: False}
    with showing_a_page() as url, temporary_settings({PREFECT_API_URL: url, **behind}), get_client(sync_client=True) as client:
        assert _read_run(client, uuid4()) is None


@pytest.mark.parametrize("named", ["http://localhost:port/api", "http://[::1", "localhost:4200/api", "/api"])
def test_an_invalid_address_is_an_operator_error(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", named)
    with engine() as engine_is_up, pytest.raises(OperatorError, match="PREFECT_API_URL is not the address"):
        engine_is_up()
