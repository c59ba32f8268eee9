"""`helmsman trust`, and what the other commands ask before they run anything of a repository."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from deployments.dialogue import agreed, is_anybody_there, say
from deployments.output import answer
from helmsman.config import LoopConfig
from helmsman.config.owners import NotAgreed, Requested, asked_lines
from helmsman.errors import OperatorError
from helmsman.plain import clean
from tasks.agents.project_settings import FILES, project_settings
from tasks.loop.configure import in_repository
from tasks.repository.git import Repository, git, open_repository
from tasks.repository.git_config import programs_in_config
from tasks.system.trust import agree_to, consent_of, require_agreed, revoke, trust_commands, trust_of

T = TypeVar("T")
COMMANDS = "Its checks and set-up are commands of its own, which run as you."


def settle(repository: Repository, *, yes: bool, as_json: bool) -> bool:
    """Before anything of a repository runs, find out whether its commands may, and the programs of its git configuration.

    Returns whether somebody is there to be asked. Raises OperatorError where nobody agreed.
    """
    ask = may_ask(repository, yes=yes, as_json=as_json)
    if not is_trusted(repository):
        if not yes:
            refuse_untrusted(repository, ask=ask)
            _require_yes(f"Do you trust {clean(str(repository.top))}? {COMMANDS} Asked once.")
        trust_commands(repository.common)
    return ask


def may_ask(repository: Repository, *, yes: bool, as_json: bool) -> bool:
    """Whether somebody is there to be asked. Raises NotAgreed where nobody agrees to the programs of its git configuration."""
    ask = not (yes or as_json) and is_anybody_there()
    consenting(repository, lambda: require_agreed([programs_in_config(repository)], consent_of(repository.common)), ask=ask)
    return ask


def is_trusted(repository: Repository) -> bool:
    return trust_of(repository.common).commands


def refuse_untrusted(repository: Repository, *, ask: bool) -> None:
    """Raise OperatorError where the repository is not trusted and there is no terminal to ask."""
    if not (ask or is_trusted(repository)):
        raise OperatorError(
            "this repository's own commands are not trusted yet",
            expected="confirmation, once for each repository",
            found=str(repository.top),
            remedy="look at what it runs, then `helmsman trust`, or give --yes",
        )


def consenting(repository: Repository, action: Callable[[], T], *, ask: bool) -> T:
    """Do something that may raise NotAgreed; where somebody is there, show what is asked for, and do it once they agree."""
    try:
        return action()
    except NotAgreed as refusal:
        if not ask:
            raise
        say("This repository sets keys that only you may set:", *_told(refusal.requested))
        _require_yes("Allow exactly these settings, and its own commands, from now on?")
        agree_to(repository.common, refusal.requested)
    return consenting(repository, action, ask=ask)


def trust(repo: Path, *, yes: bool, forget: bool, as_json: bool) -> int:
    """Show what a repository asks for, ask, and keep the answer. With `forget`, take back all that was agreed to."""
    repository = open_repository(repo)
    if forget:
        revoke(repository.common)
    # all that files of the checkout and of its commit ask for, and the programs of its git configuration
    every = LoopConfig.model_validate({"goal": "any", "claude": {"setting_sources": tuple(FILES)}}, strict=True)
    head = git(repository.common if repository.bare else repository.top, "rev-parse", "HEAD").strip()
    files = [] if repository.bare else in_repository(repository.top)
    found = [*files, *project_settings(repository, head, every), programs_in_config(repository)]
    requested = [one for one in dict.fromkeys(found) if one.settings]
    if not (forget or as_json or yes):
        say(*_shown(repository, requested))
        if _open(repository, requested) or not is_trusted(repository):
            if not is_anybody_there():
                raise OperatorError("there is no terminal to ask", remedy="helmsman trust --yes agrees to what is shown")
            exactly = ", and its files set exactly this" if requested else ""
            _require_yes(f"Let its own commands run here{exactly}?")
            yes = True
    if yes and not forget:
        agree_to(repository.common, requested)
    waiting = _open(repository, requested)
    settings = [
        {"file": one.file, "key": said.key, "value": json.loads(said.value), "line": said.line, "agreed": one not in waiting}
        for one in requested
        for said in one.settings
    ]
    plain = {"repository": str(repository.top), "commands": is_trusted(repository), "requested": settings}
    answer(plain, _shown(repository, requested), as_json=as_json)
    return 0


def _open(repository: Repository, requested: Iterable[Requested]) -> list[Requested]:
    consent = consent_of(repository.common)
    return [one for one in requested if one.fingerprint not in consent]


def _require_yes(question: str) -> None:
    if not agreed(question):
        raise OperatorError("not confirmed; nothing was started", remedy="helmsman trust shows it again")


def _told(requested: Iterable[Requested]) -> Iterator[str]:
    yield from (f"  {clean(line)}" for one in requested for line in asked_lines(one))


def _shown(repository: Repository, requested: list[Requested]) -> Iterator[str]:
    yield f"repository  {clean(str(repository.top))}"
    yield f"commands    {'may run here' if is_trusted(repository) else 'not trusted yet: checks and set-up run as your user'}"
    waiting = _open(repository, requested)
    for one in requested:
        yield f"{'asks for' if one in waiting else 'agreed to':<12}{clean(one.file)}"
        yield from _told([one])
