"""Credentials of agent, judge and tracker from Prefect blocks, where the operator stores them."""

from typing import cast

import httpx
from prefect.exceptions import PrefectHTTPStatusError

from blocks.claude import ClaudeCode
from blocks.judge import Judge
from blocks.tracker import Tracker
from helmsman.config import LoopConfig
from helmsman.errors import OperatorError, TransientError
from tasks.system.secrets import register

PUBLIC = frozenset({"ANTHROPIC_BASE_URL"})
"""Variables of a block that are not secrets."""


def agent_credentials(config: LoopConfig) -> dict[str, str]:
    """Variables of the ClaudeCode block that `claude.block` names; empty without one."""
    return of_block(ClaudeCode, config.claude.block, "claude.block")


def judge_credentials(config: LoopConfig) -> dict[str, str]:
    """Variables of the Judge block that `judge.block` names, or the agent's."""
    return of_block(Judge, config.judge.block, "judge.block") if config.judge.block else agent_credentials(config)


def of_block(kind: type[ClaudeCode] | type[Judge] | type[Tracker], block: str, key: str) -> dict[str, str]:
    """Variables of the block named by a configuration key. Raises OperatorError without such a block, TransientError."""
    if not block:
        return {}
    try:
        loaded = cast("ClaudeCode | Judge | Tracker", kind.load(block))  # a coroutine only where an event loop runs
    except ValueError as error:
        raise OperatorError(
            f"{key} names a block that does not exist",
            found=block,
            remedy=f"save a {kind.__name__} block under that name in the Prefect UI, or leave {key} out",
        ) from error
    except (httpx.HTTPError, PrefectHTTPStatusError) as error:
        raise TransientError(f"the credentials could not be read from Prefect in {key}", found=str(error)) from error
    variables = loaded.environment()
    register({name: value for name, value in variables.items() if name not in PUBLIC})
    return variables
