"""People and triggers: when a person is asked, where they are told, and which push starts a loop."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from helmsman.config.base import Count, Owner, Section


class GatesConfig(Section):
    """When a person is asked, and what happens until they answer."""

    ask: bool = False
    """Pause the run where a person is needed and go on with their answer. False: the loop ends as waiting, and an answer given by
    `helmsman approve|answer|reject` counts when it is resumed. The deployments switch it on."""
    plan: bool = False
    """Have goal, checks and limits confirmed before the first iteration."""
    milestone_every: Count = None
    """Iterations between two reviews by a person. "none": no reviews."""
    budget: bool = False
    """Ask for an extension where a limit is reached, instead of ending."""
    merge: bool = False
    """Ask before work that is proven counts as completed."""
    timeout_hours: float = Field(default=72, gt=0, le=24 * 365)
    """Hours until `at_timeout` takes the place of an answer (72: a question asked on Friday evening lasts until Monday)."""
    at_timeout: Literal["stop", "approve"] = "stop"
    """What an unanswered question comes to. `approve` never accepts work or extends a budget: those stop all the same."""
    asked_of: str = ""
    """Who is asked, for the forms and the tracker: a name, a team. Empty: whoever comes."""


class OnPushConfig(Section):
    """Which push starts a loop; read from the pushed commit itself."""

    branches: tuple[str, ...] = ()
    """Branches whose pushes start a loop, as patterns: `main`, `feature/*`. Empty: none."""
    goal_file: str = ""
    """File in the repository that holds the goal. Empty: the goal of helmsman.toml."""


class TrackerConfig(Section):
    """An issue tracker that is told when a person is needed, and whose comments may answer."""

    owner: ClassVar[Owner] = Owner.OPERATOR

    kind: Literal["", "gitea", "github"] = ""
    """Which one. Empty: none."""
    url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    """Base URL of its API, for example `https://git.example.org/api/v1`. Empty: GitHub's own."""
    repository: str = Field(default="", pattern=r"^([\w.-]+/[\w.-]+)?$")
    """`owner/name`."""
    block: str = ""
    """Name of a Tracker block in Prefect that holds the token. Empty: the variable HELMSMAN_TRACKER_TOKEN."""
    allowed_users: tuple[str, ...] = ()
    """Logins whose comments may answer. Empty: nobody's."""
    poll_seconds: float = Field(default=30, ge=1, le=3600)
    """Seconds between two looks for an answer while a question is open."""
    from_rung: int = Field(default=2, ge=1, le=4)
    """Rung of the ladder from which a climb is told (2: a redesign; what is tried below it needs nobody)."""
    notify: tuple[str, ...] = ()
    """Prefect notification blocks that are told too, by type and name: `slack-webhook/ops`. They need no tracker."""

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.kind and not {"", ".", ".."}.isdisjoint(self.repository.split("/")):
            raise PydanticCustomError("no_repository", "tracker.repository as owner/name")
        if self.kind == "gitea" and not self.url:
            raise PydanticCustomError("no_url", "tracker.url too, for example https://git.example.org/api/v1")
        if any(name.count("/") != 1 or name.strip("/") != name for name in self.notify):
            raise PydanticCustomError("no_block", "tracker.notify as a list of blocks by type and name, as slack-webhook/ops")
        return self
