"""The agent's credentials from a Prefect block, where the operator keeps them there."""

from typing import cast

from prefect.exceptions import PrefectHTTPStatusError

from blocks.claude import ClaudeCode
from helmsman.errors import OperatorError, WorldError


def credentials(block: str) -> dict[str, str]:
    """Variables of the named ClaudeCode block; none for an empty name. Raises OperatorError when there is no such block."""
    if not block:
        return {}
    try:
        loaded = cast("ClaudeCode", ClaudeCode.load(block))  # a coroutine only where an event loop runs
    except ValueError as error:
        raise OperatorError(
            "claude.block names a block that is not there",
            found=block,
            remedy="save a ClaudeCode block under that name in the Prefect UI, or leave claude.block out",
        ) from error
    except PrefectHTTPStatusError as error:
        raise WorldError("Prefect could not be asked for the agent's credentials", found=str(error)) from error
    return loaded.environment()
