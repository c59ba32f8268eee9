"""The step `oversee`: reads its input, then calls the pure part. Input that cannot be read is reported and left out."""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from helmsman.config import LoopConfig
from helmsman.errors import Cancelled, TransientError
from helmsman.oversee.conflicts import MOST_ORDERS
from helmsman.oversee.imperatives import read_imperatives
from helmsman.oversee.oversee import Observations
from helmsman.oversee.oversee import oversee as conclude
from helmsman.oversee.signals import IterationView
from helmsman.records.checks import Scan
from helmsman.records.control import Imperative, Overseen
from helmsman.records.events import SignalRaised
from helmsman.records.iteration import Evidence, Orientation
from helmsman.records.state import LoopState
from tasks.agents.safety import DESTROYED
from tasks.checks.scan import SecretScan, measure_variety, secrets_in, security_findings
from tasks.checks.targets import check_context
from tasks.repository.loop_context import LoopContext
from tasks.repository.start_record import changes_since_start
from tasks.repository.worktree import recover, reset_to
from tasks.system.files import read_within
from tasks.system.journal import publish

T = TypeVar("T")
MOST_FILES = 50
LARGEST_FILE = 200_000  # maximum bytes of a file to read
_FIRST = ("RUBRIC.md", "AGENTS.md", "CLAUDE.md", ".helmsman/guardrails.md")
_DOCUMENT = re.compile(r"[\w./-]{1,200}\.(?:md|rst|txt)\b")


def oversee(context: LoopContext, state: LoopState, orientation: Orientation, evidence: Evidence) -> Overseen:
    """The overseer's result for the iteration, with its signals published."""
    overseen = conclude(
        IterationView(state, evidence, orientation.started_at, datetime.now(UTC)), _observed_input(context, state, evidence)
    )
    for signal in overseen.signals:
        publish(SignalRaised(signal=signal))
    return overseen


def _observed_input(context: LoopContext, state: LoopState, evidence: Evidence) -> Observations:
    """The overseer's input besides the evidence. Where no checks ran, only secrets are looked for."""
    call = evidence.execution.call
    faults: list[str] = []
    read, config, change = partial(_read, faults), state.config, evidence.execution.change
    # reported by the session's watch, which knows the shell's working directory
    destroyed = (call.pain.removeprefix(DESTROYED),) if call.pain.startswith(DESTROYED) else ()
    scanned = read(
        "secrets",
        SecretScan(),
        lambda: secrets_in(context.worktree, change) if "secrets" not in config.pain.off else SecretScan(),
    )
    faults.extend(filter(None, (scanned.unread,)))
    git = read("git folder", state.oversight.git, lambda: changes_since_start(context.repository, state, change.commit))
    if evidence.checks is None:  # a usage limit, or pain
        return Observations(memory=evidence.memory, leaks=scanned.leaks, destroyed=destroyed, git=git, faults=tuple(faults))
    return Observations(
        memory=evidence.memory,
        orders=read("orders", (), lambda: read_instructions(context.worktree, config)),
        leaks=scanned.leaks,
        scan=read("security scan", None, lambda: _scan(context, state, change.commit)),
        destroyed=destroyed,
        git=git,
        variety=read("variety", None, lambda: measure_variety(context.worktree, change.commit)),
        exists=lambda path: (context.worktree / path).exists(),
        faults=tuple(faults),
    )


def _scan(context: LoopContext, state: LoopState, commit: str) -> Scan | None:
    """Run the security scan. Raises TransientError for one without a result: nothing may be compared with it."""
    command = state.config.pain.scan
    if not command:
        return None
    checks = check_context(context, state)
    try:
        scan = security_findings(command, checks, commit)
    finally:  # a command that breaks the worktree's link to its repository must not break the next iteration
        if not checks.checkout.clean:
            recover(context.repository, context.worktree, state.branch)
            reset_to(context.worktree, state.branch, commit)
    if scan.error:
        raise TransientError("the security scan gave no result", found=scan.error, remedy="check pain.scan")
    return scan


def _read(faults: list[str], part: str, default: T, look: Callable[[], T]) -> T:
    """The result of `look`; the default, with the error added to `faults`, where it fails. Raises Cancelled."""
    try:
        return look()
    except Cancelled:
        raise
    except Exception as error:  # noqa: BLE001 - an observer that fails must not stop the loop; the error is recorded
        faults.append(f"{part}: {type(error).__name__}: {error}"[:200])
        return default


def read_instructions(worktree: Path, config: LoopConfig) -> tuple[Imperative, ...]:
    """Instructions for the loop, the goal's first. Skips unreadable files; never raises."""
    instructions = list(read_imperatives("goal", config.goal))
    for criterion in config.judge.criteria:
        instructions += read_imperatives(f"criteria {criterion.id}", criterion.text)
    for name in _list_files(worktree, config.goal):
        text = read_within(worktree, name, LARGEST_FILE) or b""
        instructions += read_imperatives(name, text.decode("utf-8-sig", "replace"))
    return tuple(instructions[:MOST_ORDERS])


def _list_files(worktree: Path, goal: str) -> list[str]:
    """Names of instruction files, as cited; each file once, none outside of the worktree."""
    cited = (found[0].removeprefix("./") for found in islice(_DOCUMENT.finditer(goal), MOST_FILES))
    specs = islice(sorted(f"specs/{path.name}" for path in (worktree / "specs").glob("*.md")), MOST_FILES)
    found = dict[Path, str]()
    for name in (*_FIRST, *cited, *specs):
        with suppress(OSError, RuntimeError, ValueError):  # no such file, a loop of links, a zero byte
            path = (worktree / name).resolve(strict=True)
            if path.is_relative_to(worktree.resolve()) and path.is_file():
                found.setdefault(path, name)
    return list(found.values())[:MOST_FILES]
