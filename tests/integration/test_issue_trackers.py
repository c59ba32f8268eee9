"""What starts no loop at an issue: a tracker that is not the operator's, and words where there is no loop."""

import pytest

from helmsman.errors import OperatorError
from helmsman.records.triggers import Ignored
from tasks.triggers.issues import handle_issue_event
from tests.fakes.push_receiver import ServedRepository
from tests.fakes.tracker_api import TrackerApi
from tests.integration.test_issues import NOW, ONE_KIND, comment_event, comments, configuration, event, served, tracker
from tests.integration.trackers import api

pytestmark = [pytest.mark.feature("D6"), pytest.mark.usefixtures("home")]
__all__ = ["api", "served"]  # fixtures


@ONE_KIND
def test_a_tracker_that_the_repository_names_is_not_taken(served: ServedRepository, api: TrackerApi) -> None:
    served.commit("theirs", {"helmsman.toml": configuration() + f'[tracker]\nkind = "{api.kind}"\nurl = "{api.url}"\n'})
    served.push("main")
    with pytest.raises(OperatorError, match="only the operator may set"):
        handle_issue_event(event(served, api), NOW)


@ONE_KIND
def test_an_issue_of_another_tracker_than_the_operator_s_starts_nothing(served: ServedRepository, api: TrackerApi) -> None:
    other = event(served, api).model_copy(update={"settings": tracker(api, "acme/other")})
    with pytest.raises(OperatorError, match="tracker is not configured"):
        handle_issue_event(other, NOW)


@ONE_KIND
def test_a_comment_on_an_issue_without_a_loop_is_ignored(served: ServedRepository, api: TrackerApi) -> None:
    assert isinstance(handle_issue_event(comment_event(served, api, "/helmsman cancel"), NOW), Ignored)
    assert isinstance(handle_issue_event(event(served, api, "withdrawn"), NOW), Ignored)
    assert comments(api) == []
