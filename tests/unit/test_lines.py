"""Lines as a terminal shows them: local time, hanging indents, and nothing broken that somebody may copy."""

import time
from collections.abc import Iterator

import pytest

from deployments.lines import in_local_time, laid_out

pytestmark = pytest.mark.feature("H4")


@pytest.fixture
def in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_new_york")
def test_moments_are_told_in_local_time_with_the_zone() -> None:
    told = in_local_time("until 2026-11-22 13:00:05 UTC, asked 2026-07-22 12:00 UTC")
    assert told == "until 2026-11-22 08:00:05 EST, asked 2026-07-22 08:00 EDT"


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        (
            "why        one two three four five six seven eight",
            ["why        one two three four five six", "           seven eight"],
        ),
        ("    → continue: 2 of 3 checks fail and more", ["    → continue: 2 of 3 checks fail and", "      more"]),
        ("interrupted in step execute of iteration 1 and", ["interrupted in step execute of iteration", "1 and"]),
        ("next       helmsman resume loop --set limits.iterations=9", None),
        ("           helmsman answer a-loop-of-a-long-name take-over", None),
    ],
)
def test_a_long_line_hangs_under_its_beginning_and_a_command_stays_in_one_piece(line: str, pieces: list[str] | None) -> None:
    assert list(laid_out(line, 40)) == (pieces or [line])
