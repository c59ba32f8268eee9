"""The pull request of a loop that was started by an issue, if the forge rejects it at first."""

import pytest

from flows.on_issue import on_issue
from helmsman.records.decision import Outcome
from helmsman.records.result import result_of
from helmsman.texts import result_lines
from tests.fakes.push_receiver import ServedRepository
from tests.fakes.tracker_api import Fault, TrackerApi
from tests.integration.test_issues import comments, completed, event, served, started, stored
from tests.integration.trackers import api

__all__ = ["api", "served"]
pytestmark = pytest.mark.feature("D6")


@pytest.mark.slow
@pytest.mark.usefixtures("engine_url")
@pytest.mark.parametrize("api", ["gitea"], indirect=True)
def test_a_pull_request_that_is_refused_leaves_the_loop_completed_and_is_opened_the_next_time(
    served: ServedRepository, api: TrackerApi
) -> None:
    loop = completed(served, started(served, api))
    api.faults.append(Fault(403, method="POST", path="/pulls"))
    refused = on_issue(event(served, api, moment="2"), return_state=True)
    after = stored(served, loop)
    assert (refused.name, after.outcome, api.pulls) == ("Completed", Outcome.COMPLETED, [])
    assert after.issue is not None
    assert "lacks a permission" in after.issue.problem
    assert f"git push origin {loop.branch}" in comments(api)[-1]
    assert any("no pull request: " in line for line in result_lines(result_of(after, "")))
    on_issue(event(served, api, moment="3"), return_state=True)
    (pull,) = api.pulls
    brought = stored(served, loop).issue
    assert brought is not None
    assert brought.pull_request.endswith(f"/pulls/{pull.number}")
    assert brought.pull_request in comments(api)[-1]
    again = on_issue(event(served, api, moment="4"), return_state=True)
    assert (again.name, len(api.pulls), len(comments(api))) == ("NothingToDo", 1, 3)
