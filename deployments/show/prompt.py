"""What agent and judge are told, by parts with their sizes in tokens; and whole."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deployments.wishes import Wishes, wished
from helmsman.errors import OperatorError
from helmsman.plain import clean, clean_lines
from helmsman.records.briefing import Briefing
from helmsman.texts import counted
from helmsman.tokens import tokens
from tasks.loops.opening import now_utc
from tasks.loops.prompts import ShownPrompt, due_prompt, first_prompt, sent_prompt
from tasks.repository.git import Repository, open_repository
from tasks.repository.state_ref import show_state


def show_prompt(
    repo: Path, loop: str | None, iteration: int | None, settings: tuple[str, ...], *, judge: bool, as_json: bool
) -> None:
    shown = _shown(open_repository(repo), loop, iteration, settings, judge=judge)
    print(json.dumps(_plain(shown), ensure_ascii=False) if as_json else "\n".join(_lines(shown)))


def _shown(
    repository: Repository, loop: str | None, iteration: int | None, settings: tuple[str, ...], *, judge: bool
) -> ShownPrompt:
    if loop is None:
        if iteration is not None:
            raise OperatorError(
                "--iteration needs a loop", remedy="name one of `helmsman list`: helmsman prompt LOOP --iteration N"
            )
        return first_prompt(repository, wished(repository, Wishes(settings=settings)), now_utc(), judge=judge)
    if settings:
        raise OperatorError("--set is for a loop that is not there yet", remedy="leave LOOP or --set out")
    found = show_state(repository, loop)
    if found.unverified:
        print(f"unverified: {clean(found.unverified)}: believe nothing of what follows", file=sys.stderr)
    if iteration is not None:
        return sent_prompt(repository, found.state, iteration, judge=judge)
    return due_prompt(repository, found.state, now_utc(), judge=judge)


def _plain(shown: ShownPrompt) -> dict[str, Any]:
    briefing = shown.briefing
    sections = [{"name": name, "tokens": size, "trimmed": name in briefing.trimmed} for name, size in briefing.sections]
    return {
        "loop": shown.loop,
        "iteration": shown.iteration,
        "attempt": shown.attempt,
        "sent": shown.sent,
        "system": briefing.system,
        "message": briefing.prompt,
        "tokens": {"system": tokens(briefing.system), "message": tokens(briefing.prompt)},
        "sections": sections,
        "notes": list(shown.notes),
    }


def _lines(shown: ShownPrompt) -> Iterator[str]:
    """The sizes, then the two texts as they are, but for what would steer a terminal."""
    briefing, when = shown.briefing, "as it was sent" if shown.sent else "as it would be sent now"
    again = f", attempt {shown.attempt}" if shown.attempt > 1 else ""
    yield f"iteration  {shown.iteration}{again} of loop {shown.loop}, {when}"
    yield f"system     {counted(tokens(briefing.system), 'token')}"
    yield f"message    {counted(tokens(briefing.prompt), 'token')}: {_parts(briefing)}"
    yield from (f"note       {note}" for note in shown.notes)
    yield from ("", "--- system", clean_lines(briefing.system), "", "--- message", clean_lines(briefing.prompt))


def _parts(briefing: Briefing) -> str:
    return ", ".join(f"{name} {size}{' (cut)' * (name in briefing.trimmed)}" for name, size in briefing.sections)
