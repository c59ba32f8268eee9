"""The gate before the agent's end, with checks that do not fail each time."""

from pathlib import Path

import pytest

from helmsman.records.agent import StopAttempt
from helmsman.records.checks import CheckReport
from tests.fakes.repositories import Work
from tests.integration.processes import own_tag
from tests.integration.stop_work import ended, gate, work

__all__ = ["work"]
pytestmark = pytest.mark.feature("A4")

NAMES = "=== short test summary info ===\\nFAILED tests/test_a.py::test_one - boom\\n=== 1 failed, 2 passed in 0.1s ===\\n"
FAILS = f"printf '{NAMES}'; exit 1"


def attempts(
    work: Work, *checks: str, last: CheckReport | None = None, seconds: float = 120, times: int = 1
) -> list[StopAttempt]:
    with own_tag() as tag:
        gated = gate(work, tag, *checks, last=last, stop_seconds=seconds)
        return [ended(gated, active=number > 0) for number in range(times)]


def failing_until(marker: Path, until: int) -> str:
    """A check whose named test fails until it has been run so often."""
    return f"echo >> '{marker}'; test $(wc -l < '{marker}') -ge {until} && exit 0; {FAILS}"


def runs(marker: Path) -> int:
    return len(marker.read_text().splitlines())


def test_what_passes_when_it_is_run_again_sends_nobody_back(work: Work, tmp_path: Path) -> None:
    (attempt,) = attempts(work, failing_until(tmp_path / "ran", 2))
    assert (attempt.blocked, attempt.why, attempt.failing) == (False, "every check that ran passes", ())


def test_what_fails_again_sends_it_back_and_is_not_doubted_any_more(work: Work, tmp_path: Path) -> None:
    found = attempts(work, failing_until(tmp_path / "ran", 99), times=2)
    assert [(one.blocked, one.failing_tests) for one in found] == [(True, 1), (True, 1)]
    assert runs(tmp_path / "ran") == 3


def test_it_is_run_again_only_where_the_allowance_lasts(work: Work, tmp_path: Path) -> None:
    (attempt,) = attempts(work, f"sleep 2; {failing_until(tmp_path / 'ran', 2)}", seconds=3.9)
    assert attempt.blocked
    assert runs(tmp_path / "ran") == 1


def test_it_is_run_again_on_the_agent_s_files_not_on_what_the_first_run_left(work: Work) -> None:
    (attempt,) = attempts(work, f"test -e trace -o ! -e notes && exit 0; touch trace; rm notes; {FAILS}")
    assert attempt.blocked
