"""A loop as a collector sees it: one trace, and metrics of tokens, cost and verdicts."""

from typing import Any

import pytest

from helmsman.records.decision import Outcome
from tasks.repository.git import git
from tests.fakes.collector import Collector, run_collector
from tests.fakes.scripted_agent import PROMISE, Call, message_events, result, says
from tests.flows.conftest import Drive

pytestmark = pytest.mark.feature("H6")
SOLVE = 'echo 42 > answer; echo "$TRACEPARENT" > parent'


def uses_a_tool() -> Call:
    used = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo hush-hush"}}
    message = {"id": "m", "model": "scripted", "content": [used], "usage": {"input_tokens": 10}}
    returned = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "hush-hush", "is_error": True}
    events = (
        {"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": "s"},
        {"type": "user", "message": {"content": [returned]}, "session_id": "s"},
        *message_events("hush-hush"),
        result("hush-hush", cost=0.5, tokens=100),
    )
    return Call(shell="echo 1 > answer", events=events)


def test_a_loop_is_one_trace_of_iterations_steps_and_tool_calls(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    with run_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("CLAUDE_CODE_ENABLE_TELEMETRY", "1")
        driven = drive([uses_a_tool(), says(PROMISE, shell=SOLVE, cost=0.25)])
    assert driven.state.outcome is Outcome.COMPLETED
    (root,) = collector.children()
    steps = ["orient", "plan", "prompt", "execute", "checks", "invariants", "claims", "judge", "learn", "oversee", "decide"]
    iterations = [span for span in collector.children(root.id) if span.name == "iteration"]
    for iteration, passed in zip(iterations, ("failed", "passed"), strict=True):
        assert [span.name for span in collector.children(iteration.id)] == [f"step {name}" for name in steps]
        assert iteration.attributes["helmsman.checks"] == passed
    assert list(collector.tree(iterations[0].id))[3:6] == ["step execute", "  invoke_agent claude", "    execute_tool Bash"]
    (agent,) = (span for span in collector.spans if span.name == "invoke_agent claude" and span.start > iterations[1].start)
    assert git(driven.repository, "show", f"{driven.state.branch}:parent").strip() == f"00-{agent.trace}-{agent.id}-01"
    assert {span.trace for span in collector.spans} == {root.trace}
    assert len({span.id for span in collector.spans}) == len(collector.spans)
    assert (root.attributes["helmsman.outcome"], root.attributes["helmsman.cost_usd"]) == ("completed", 0.75)
    assert collector.resource["service.name"] == "helmsman"
    assert sums(collector, "helmsman.cost") == pytest.approx(0.75)
    assert sums(collector, "helmsman.iterations", **{"helmsman.checks": "passed"}) == 1
    assert "hush-hush" not in str(collector.spans)


def sums(collector: Collector, metric: str, **attributes: Any) -> float:
    chosen = [point for told, point in collector.points[metric] if attributes.items() <= told.items()]
    return sum(point.as_double or point.as_int for point in chosen)
