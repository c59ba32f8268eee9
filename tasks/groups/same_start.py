"""What a group that is run again must share with its first run: goals, and the settings that decide when work is done."""

from collections.abc import Sequence

from helmsman.config import VERIFYING, LoopConfig
from helmsman.config.layers import display, merge_tables
from helmsman.errors import OperatorError
from helmsman.parsers.alignment_file import own_goal
from helmsman.plain import clean
from helmsman.records.decision import Outcome
from helmsman.records.request import Link, LoopRequest, ParallelRequest
from helmsman.records.state import LoopState
from tasks.loop.configure import configure
from tasks.repository.git import Repository
from tasks.repository.state_ref import read_first_state
from tasks.system.secrets import redact
from tasks.system.trust import consent_of

GOAL_SHOWN = 200
REMEDY = "or start another group: --name NAME"


def require_same_goal(name: str, state: LoopState, link: Link) -> None:
    """Raise OperatorError where a loop was started with another goal: continuing would build on work for something else."""
    earlier_goal = own_goal(state.config.goal)
    if earlier_goal.strip() != redact(link.goal).strip():
        raise OperatorError(
            f"group {name} was started with other goals",
            expected=f"for {state.loop}: {clean(earlier_goal)[:GOAL_SHOWN]}",
            found=clean(link.goal)[:GOAL_SHOWN],
            remedy=f"pass the goals that it was started with, {REMEDY}",
        )


def require_same_verification(repository: Repository, request: ParallelRequest, state: LoopState, link: Link) -> None:
    """Raise OperatorError where a loop was started with other checks, or others of the settings that decide when work is done.

    A loop has the settings of its start, or those that a person gave it since. A stopped one that is reopened gets the new
    settings, but no other checks.
    """
    settings = merge_tables(request.settings, link.settings)
    asked = LoopRequest(repository=request.repository, goal=link.goal, checks=link.checks, settings=settings)
    config = configure(repository.top, asked, consent=consent_of(repository.consent_key)).config
    is_reopened = request.reopen and state.outcome is not Outcome.COMPLETED
    names = sorted(VERIFYING - {"goal"}) if not is_reopened else ["checks"] if link.checks else []
    if other := _differing(names, config, state.config):
        other = _differing(other, config, read_first_state(repository, state.loop).config)
    if other:
        raise OperatorError(
            f"group {request.group} was started with other settings for when work is done: {', '.join(other)}",
            expected=f"for {state.loop}: {_shown(state.config, other)}",
            found=_shown(config, other),
            remedy=f"pass what it was started with, {REMEDY}",
        )


def _differing(names: Sequence[str], asked: LoopConfig, started: LoopConfig) -> list[str]:
    is_known = all(check.is_available for check in started.hidden)  # another machine may have the commands of hidden checks
    return [name for name in names if getattr(asked, name) != getattr(started, name) and (name != "hidden" or is_known)]


def _shown(config: LoopConfig, names: Sequence[str]) -> str:
    """The values of settings, without hidden checks, which are shown nowhere."""
    values = config.model_dump(mode="json", include={*names} - {"hidden"}, exclude_defaults=True)
    return ", ".join(f"{name} = {display(values[name])}" for name in names if name in values) or "the defaults"
