"""A tracker on loopback, and loops that have something to tell it."""

from collections.abc import Iterator
from typing import Any

import pytest

from helmsman.config import LoopConfig, TrackerConfig
from helmsman.records.decision import Decision, Outcome
from helmsman.records.gates import Gate, GateKind
from helmsman.records.state import LoopState
from tasks.trackers.client import TOKEN as VARIABLE
from tasks.trackers.forges import HOSTS
from tests.fakes.tracker_api import REPOSITORY, START, TOKEN, TrackerApi
from tests.unit.builders import HOUR, MINUTE, state


@pytest.fixture(params=["github", "gitea"])
def api(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[TrackerApi]:
    """One that we may ask, and have a token for. At its end, whether every request was as its kind describes them."""
    monkeypatch.setenv(VARIABLE, TOKEN)
    monkeypatch.setenv(HOSTS, "127.0.0.1")
    monkeypatch.setattr("tasks.trackers.thread._logged_errors", {})  # of a process that has told of no loop of that name yet
    with TrackerApi(request.param, most=3) as server:
        yield server
    assert server.violations == []


def configured(api: TrackerApi, **more: Any) -> TrackerConfig:
    users = {"allowed_users": ("Alice", "bob")}
    return TrackerConfig.model_validate({"kind": api.kind, "url": api.url, "repository": REPOSITORY, **users, **more})


def loop(api: TrackerApi, **fields: Any) -> LoopState:
    """One that nobody need know of."""
    tracker = configured(api, **fields.pop("tracker", {}))
    config = LoopConfig.model_validate({"goal": "mend it", "checks": ("pytest",), "tracker": tracker})
    return state(config, **{"created_at": START, **fields})


def ended(api: TrackerApi, rule: str = "some.rule", number: int = 1, **fields: Any) -> LoopState:
    at = START + number * HOUR
    ending = Decision(kind="stop", rule=rule, reason="it is stuck", at=at, outcome=Outcome.STOPPED)
    return loop(api, ending=ending, **fields)


def asking(api: TrackerApi, kind: GateKind = GateKind.MILESTONE, number: int = 1, **fields: Any) -> LoopState:
    gate = Gate(key=f"{kind}-3-{number}", kind=kind, question="And now?", asked_at=START + number * MINUTE)
    return loop(api, gate=gate, **fields)
