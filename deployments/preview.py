"""What a new loop would go by and what agent and judge are told: values with their sources, and the prompt by its parts."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

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
from tasks.loop.prepare import due_prompt, first_prompt, sent_prompt
from tasks.repository.git import open_repository
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
    rows, lines = dict[str, dict[str, Any]](), list[str]()
    for name, value in values.items():
        plain, owner = TypeAdapter[Any](Any).dump_python(value, mode="json", exclude_defaults=True), OWNERS[name]
        rows[name] = {"value": plain, "source": origins[name], "owner": owner}
        owned = "; operator's key" if owner is Owner.OPERATOR else ""  # said of the fewer ones
        lines.append(clean(f"{name} = {json.dumps(plain, ensure_ascii=False)}   # {origins[name]}{owned}"))
        lines += [f"    {describe(name)}"] if origins[name] == DEFAULT else []
    answer(rows, lines or ["nothing differs from the defaults"], as_json=as_json)


def show_prompt(
    repo: Path, loop: str | None, iteration: int | None, settings: Sequence[str] | None, *, judge: bool, as_json: bool
) -> None:
    repository = open_repository(repo)
    if loop is None and iteration is not None:
        remedy = "name one of `helmsman list`: helmsman prompt LOOP --iteration N"
        raise OperatorError("--iteration needs a loop", remedy=remedy)
    if loop is not None and settings:
        raise OperatorError("--set applies to a loop that does not exist yet", remedy="omit LOOP or --set")
    if loop is None:
        shown = first_prompt(repository, configuration(repository, {"settings": settings}), now_utc(), judge=judge)
    elif iteration is None:
        shown = due_prompt(repository, existing_loop(repository, loop), now_utc(), judge=judge)
    else:
        shown = sent_prompt(repository, existing_loop(repository, loop), iteration, judge=judge)
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
    again = f", attempt {shown.attempt}" if shown.attempt > 1 else ""
    parts = ", ".join(f"{name} {size}{' (cut)' * (name in briefing.trimmed)}" for name, size in briefing.sections)
    when = "as it was sent" if shown.sent else "as it would be sent now"
    lines = (
        f"iteration  {shown.iteration}{again} of loop {shown.loop}, {when}",
        f"system     {plural(tokens(briefing.system), 'token')}",
        f"message    {plural(tokens(briefing.prompt), 'token')}: {parts}",
        *(f"note       {note}" for note in shown.notes),
        # the two texts as they are, but for what would steer a terminal
        *("", "--- system", clean_lines(briefing.system), "", "--- message", clean_lines(briefing.prompt)),
    )
    answer(plain, lines, as_json=as_json)
