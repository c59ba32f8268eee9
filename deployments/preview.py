"""What a new loop would go by and what agent and judge are told: values with their sources, and the prompt by its parts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from deployments.output import answer
from deployments.settings import configuration
from deployments.show import existing_loop
from helmsman.config.base import Owner
from helmsman.config.layers import describe, leaves
from helmsman.config.owners import OWNERS
from helmsman.errors import OperatorError
from helmsman.plain import clean, clean_lines
from helmsman.texts import plural
from helmsman.tokens import tokens
from tasks.loop.prompts import ShownPrompt, due_prompt, first_prompt, sent_prompt
from tasks.repository.git import Repository, open_repository
from tasks.system.clock import now_utc

DEFAULT = "default"


def show_configuration(repo: Path, *, key: str, changed: bool, as_json: bool, **said: Any) -> None:
    """Print it. `key`: one key or a section; empty: all. Raises OperatorError for one that there is not."""
    resolved = configuration(open_repository(repo), said, goal_later=True)
    origins = resolved.origins
    leaf = leaves(resolved.config).items()
    values = {name: value for name, value in leaf if not key or name == key or name.startswith(f"{key}.")}
    if not values:
        describe(key)  # which says what is meant, perhaps
    if changed:
        values = {name: value for name, value in values.items() if origins[name] != DEFAULT}
    rows = {
        name: {"value": _plain_value(value), "source": origins[name], "owner": OWNERS[name]} for name, value in values.items()
    }
    answer(rows, _value_lines(rows), as_json=as_json)


def _value_lines(rows: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    if not rows:
        yield "nothing differs from the defaults"
    for name, row in rows.items():
        owned = "; operator's key" if row["owner"] is Owner.OPERATOR else ""  # said of the fewer ones
        yield clean(f"{name} = {json.dumps(row['value'], ensure_ascii=False)}   # {row['source']}{owned}")
        if row["source"] == DEFAULT:
            yield f"    {describe(name)}"


def _plain_value(value: Any) -> Any:
    """As JSON shows it."""
    if isinstance(value, tuple):
        return [_plain_value(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value.model_dump(mode="json", exclude_defaults=True) if hasattr(value, "model_dump") else value


def show_prompt(
    repo: Path, loop: str | None, iteration: int | None, settings: Sequence[str] | None, *, judge: bool, as_json: bool
) -> None:
    shown = _shown(open_repository(repo), loop, iteration, settings or (), judge=judge)
    briefing = shown.briefing
    plain = {
        "loop": shown.loop,
        "iteration": shown.iteration,
        "attempt": shown.attempt,
        "sent": shown.sent,
        "system": briefing.system,
        "message": briefing.prompt,
        "tokens": {"system": tokens(briefing.system), "message": tokens(briefing.prompt)},
        "sections": [{"name": name, "tokens": size, "trimmed": name in briefing.trimmed} for name, size in briefing.sections],
        "notes": list(shown.notes),
    }
    answer(plain, _lines(shown), as_json=as_json)


def _shown(
    repository: Repository, loop: str | None, iteration: int | None, settings: Sequence[str], *, judge: bool
) -> ShownPrompt:
    if loop is None:
        if iteration is not None:
            remedy = "name one of `helmsman list`: helmsman prompt LOOP --iteration N"
            raise OperatorError("--iteration needs a loop", remedy=remedy)
        return first_prompt(repository, configuration(repository, {"settings": settings}), now_utc(), judge=judge)
    if settings:
        raise OperatorError("--set is for a loop that is not there yet", remedy="leave LOOP or --set out")
    state = existing_loop(repository, loop)
    if iteration is not None:
        return sent_prompt(repository, state, iteration, judge=judge)
    return due_prompt(repository, state, now_utc(), judge=judge)


def _lines(shown: ShownPrompt) -> Iterator[str]:
    """The sizes, then the two texts as they are, but for what would steer a terminal."""
    briefing, when = shown.briefing, "as it was sent" if shown.sent else "as it would be sent now"
    again = f", attempt {shown.attempt}" if shown.attempt > 1 else ""
    yield f"iteration  {shown.iteration}{again} of loop {shown.loop}, {when}"
    yield f"system     {plural(tokens(briefing.system), 'token')}"
    parts = ", ".join(f"{name} {size}{' (cut)' * (name in briefing.trimmed)}" for name, size in briefing.sections)
    yield f"message    {plural(tokens(briefing.prompt), 'token')}: {parts}"
    yield from (f"note       {note}" for note in shown.notes)
    yield from ("", "--- system", clean_lines(briefing.system), "", "--- message", clean_lines(briefing.prompt))
