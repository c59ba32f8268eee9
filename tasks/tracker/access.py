"""The tracker that is configured, with its token: from a Prefect block where one is named, else from a variable."""

import httpx

from helmsman.config import TrackerConfig
from helmsman.errors import OperatorError
from helmsman.plain import clean
from tasks.processes.environment import ours
from tasks.tracker.calling import TOKEN
from tasks.tracker.gitea import gitea
from tasks.tracker.github import github
from tasks.tracker.rest import IssueTracker

HOSTS = "HELMSMAN_TRACKER_HOSTS"
PUBLIC = "api.github.com"


def open_tracker(config: TrackerConfig, patience: float) -> IssueTracker:
    """The tracker for a few calls, `patience` seconds in all. Raises OperatorError where there is no token, or none for there."""
    _require_known_host(config)
    token = tracker_token(config)
    return (gitea if config.kind == "gitea" else github)(config.url, config.repository, token, patience)


def _require_known_host(config: TrackerConfig) -> None:
    """The address is the repository's word, and the token the operator's: it goes only where the operator says."""
    host = httpx.URL(config.url).host if config.url else PUBLIC
    if host not in ours().get(HOSTS, PUBLIC).split():
        raise OperatorError(
            "the tracker's token is not meant for that address",
            expected=f"one of the hosts in {HOSTS}",
            found=clean(config.url),
            remedy=f"name the host in {HOSTS} where the loops run, if it is yours",
        )


def where(config: TrackerConfig) -> str:
    """Which tracker it is, for what is remembered of it."""
    return f"{config.kind} {config.url} {config.repository}"


def tracker_token(config: TrackerConfig) -> str:
    if config.block:
        from blocks.tracker import Tracker
        from tasks.credentials import of_block

        variables = of_block(Tracker, config.block, "tracker.block")
    else:
        variables = ours()
    token = variables.get(TOKEN, "").strip()
    if not token:
        raise OperatorError(
            "there is no token for the tracker",
            expected=f"{TOKEN} in the environment, or a Tracker block that tracker.block names",
            remedy="give one that may read and write issues and labels of tracker.repository",
        )
    return token
