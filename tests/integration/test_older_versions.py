"""States and records that older versions really wrote: made by checking out these commits of ours and running their code."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from helmsman.config.loop import OLD_KEYS
from helmsman.records.advance import advance
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from tasks.repository.state_ref import parse_state

pytestmark = pytest.mark.feature("X4")

FOLDER = Path(__file__).parents[1] / "fixtures"
STATES = sorted((FOLDER / "states").glob("*.json"))
RECORDS = sorted((FOLDER / "records").glob("*.json"))
REPLACED = {".execution.call.context_tokens", ".execution.call.context_window"}
"""What only the first versions noted: now it is `context`, and nothing goes by the size of a context of long ago."""


GONE = (
    *(f".config.{key}" for key in OLD_KEYS),
    ".config.breaker:",
    ".config.control:",
    ".config.flaky:",
    ".gate.asked_of",
    ".oversight.breaker",
    ".execution.call.first_used",
    ".execution.call.api_retries",
    ".trust.drift",
    ".judge.resets",
    ".oversight.sought",
    ".sought",
)
"""What older versions noted and nothing goes by any more."""


def lost(before: Any, after: Any, at: str = "") -> list[str]:
    """Places of what was there before and is not, or is different, after."""
    if isinstance(before, dict) and isinstance(after, dict):
        there = cast("dict[str, Any]", after)
        fields = cast("dict[str, Any]", before)
        return [one for key, value in fields.items() for one in lost(value, there.get(key, "missing"), f"{at}.{key}")]
    if isinstance(before, list) and isinstance(after, list):
        values = cast("list[Any]", before)
        others = cast("list[Any]", after)
        if len(values) != len(others):
            return [at]
        return [one for place, pair in enumerate(zip(values, others, strict=True)) for one in lost(*pair, f"{at}[{place}]")]
    return [] if before == after else [f"{at}: {before!r} became {after!r}"]


@pytest.mark.parametrize("path", STATES, ids=lambda path: path.stem)
def test_a_state_of_an_older_version_is_read_with_all_that_it_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    missing = lost(json.loads(text), parse_state(text, "mend-it").model_dump(mode="json"))
    assert [one for one in missing if not one.startswith(GONE)] == []


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_of_an_older_version_is_read_with_all_that_it_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    missing = lost(json.loads(text), IterationRecord.model_validate_json(text).model_dump(mode="json"))
    assert {one.partition(":")[0] for one in missing if not one.startswith(GONE)} <= REPLACED


@pytest.mark.parametrize("path", STATES, ids=lambda path: path.stem)
def test_a_loop_of_an_older_version_goes_on(path: Path) -> None:
    state = parse_state(path.read_text(encoding="utf-8"), "mend-it")
    record = IterationRecord.model_validate_json((FOLDER / "records" / path.name).read_text(encoding="utf-8"))
    after = advance(state, record)
    assert LoopState.model_validate_json(after.model_dump_json()) == after
    assert after.spending.cost_usd == pytest.approx(state.spending.cost_usd + 0.5)


def test_there_is_something_to_read() -> None:
    assert len(STATES) == len(RECORDS) >= 6


def test_a_password_in_an_address_which_older_versions_let_in_keeps_no_loop_from_going_on() -> None:
    told = json.loads(STATES[-1].read_text(encoding="utf-8"))
    told["config"]["memory"] = {"url": "postgresql://ada@db/memory?password=secret"}
    assert parse_state(json.dumps(told), "mend-it").config.memory.url.endswith("password=secret")
