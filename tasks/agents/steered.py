"""What steering needs of one call: its rules, the files they look at, and the server that the agent's CLI asks."""

import hashlib
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

from helmsman.guardrails import Rules, is_fix
from helmsman.guardrails.context import known_window
from helmsman.orient.allowance import checks_allowance, claude_config
from helmsman.parsers.alignment_file import own_goal
from helmsman.parsers.test_files import is_test_file
from helmsman.records.agent import Guarded
from helmsman.records.events import StopAnswered, ToolGuarded
from helmsman.records.state import LoopState
from tasks.agents.hook_server import HookServer, hook_server
from tasks.agents.listener import worded
from tasks.agents.steering import Steering
from tasks.agents.stop_gate import StopGate
from tasks.agents.stops import Stops
from tasks.checks.context import clean_checkout
from tasks.repository.git import git
from tasks.repository.loop_context import LoopContext
from tasks.system.files import read_plain
from tasks.system.journal import publish

LARGEST_CONTENT = 4 * 1024 * 1024
"""Bytes of a file whose content is compared with what it was; such a file is not written by hand."""
SHARE_OF_IDLE = 0.5
"""Of the time without a line of output that counts as a hang: the agent is silent while it waits for the checks."""


@contextmanager
def steering(
    context: LoopContext, state: LoopState, start: str, home: str, stop: Callable[[], bool], item: str = ""
) -> Generator[tuple[Steering, HookServer]]:
    """Guard rails for a call that begins at this commit, and where its CLI finds them. At the end nothing of it runs any more.

    `item`: the own check of the plan's item in hand.
    """
    gate, stops, worktree = None, None, str(context.worktree)
    if seconds := stop_seconds(state, item):
        allowed = state.config.steering.model_copy(update={"stop_seconds": seconds})
        config = state.config.model_copy(update={"steering": allowed})
        gate = StopGate(clean_checkout(context, state), start, context.tag(state), config, state.checks, stop, item)
        stops = Stops(gate.run, lambda attempt: publish(StopAnswered(attempt=attempt)))

    def tell(guarded: Guarded) -> None:
        publish(ToolGuarded(guarded=guarded.model_copy(update={"detail": worded(guarded.detail, worktree)})))

    steers = Steering(_rules(context, state, start, home), tell, partial(_content, context.worktree), stops)
    with hook_server(steers.answer) as server:
        try:
            yield steers, server
        finally:
            if gate:
                gate.close()


def stop_seconds(state: LoopState, item: str = "") -> float:
    """Seconds that checks may take when the agent wants to stop; 0 where none runs then.

    Without a clean checkout none does: it would change the files that the agent works on.
    """
    config = state.config
    due = (config.checks or item) and config.workspace.clean and not state.researching
    return min(checks_allowance(state) if due else 0, SHARE_OF_IDLE * config.claude.idle_timeout_minutes * 60)


def window_of(state: LoopState, model: str) -> int:
    """Tokens that the context window of a model holds. The messages do not repeat the `[1m]` that a large one is asked for by."""
    configured = claude_config(state).model
    return known_window(configured if "[1m]" in configured else model, state.windows, state.config.context.window)


def _rules(context: LoopContext, state: LoopState, start: str, home: str) -> Rules:
    """For the iteration that is due."""
    config = state.config

    @cache
    def tests_before() -> frozenset[str]:
        found = git(context.worktree, "ls-tree", "-r", "-z", "--name-only", state.base_commit).split("\0")
        return frozenset(filter(is_test_file, found))

    return Rules(
        worktree=os.path.realpath(context.worktree),
        protected=config.invariants.protect,
        allowed=config.invariants.allow,
        level=state.oversight.ladder.rung if config.ladder.act else 0,
        branch=state.branch,
        nesting=config.limits.nesting,
        fix=is_fix(own_goal(config.goal)),
        looks_only=state.researching,
        start=start,
        home=home,
        resolve=os.path.realpath,
        exists=os.path.lexists,
        tests=lambda path: is_test_file(path) and path in tests_before(),  # those that the loop wrote are its own to change
    )


def _content(worktree: Path, path: str) -> str | None:
    """Digest of a file's content; empty where there is no file, None for one that cannot be read at once."""
    try:
        whole = worktree / path
        if not os.path.lexists(whole):
            return ""
        found = read_plain(whole, LARGEST_CONTENT + 1)
        return None if len(found) > LARGEST_CONTENT else hashlib.sha256(found).hexdigest()
    except (OSError, ValueError):
        return None
