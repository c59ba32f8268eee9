"""`helmsman trust`, and the confirmations of other commands before they run code of a repository."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from deployments.dialogue import confirm, has_terminal, say
from deployments.output import print_result
from helmsman.config import LoopConfig
from helmsman.config.owners import ConsentMissing, TrustRequest, setting_lines
from helmsman.errors import OperatorError
from helmsman.plain import clean
from tasks.agents.project_settings import FILES, project_settings
from tasks.loop.configure import repository_requests
from tasks.repository.git import Repository, git, open_repository
from tasks.repository.git_config import programs_in_config
from tasks.system.trust import agree_to, consent_of, require_agreement, revoke, trust_commands, trust_of

T = TypeVar("T")
COMMANDS = "Its checks and set-up are commands of its own, which run as you."


def require_consent(repository: Repository, *, yes: bool, as_json: bool, file: Path | None = None) -> bool:
    """Get consent for a repository's commands and the programs of its git configuration before anything runs.

    `file` has checks too. Returns whether there is a terminal to ask. Raises OperatorError without consent.
    """
    ask = may_ask(repository, yes=yes, as_json=as_json)
    if not is_trusted(repository):
        if not yes:
            refuse_untrusted(repository, ask=ask, file=file)
            _require_yes(f"Do you trust {clean(str(repository.top))}? {COMMANDS} Asked once.")
        trust_commands(repository.consent_key)
    return ask


def may_ask(repository: Repository, *, yes: bool, as_json: bool) -> bool:
    """Whether there is a terminal to ask. Raises ConsentMissing without consent to the programs of the git configuration."""
    ask = not (yes or as_json) and has_terminal()
    with_consent(
        repository, lambda: require_agreement([programs_in_config(repository)], consent_of(repository.consent_key)), ask=ask
    )
    return ask


def is_trusted(repository: Repository) -> bool:
    return trust_of(repository.consent_key).commands


def refuse_untrusted(repository: Repository, *, ask: bool, file: Path | None = None) -> None:
    """Raise OperatorError if the repository is not trusted and there is no terminal to ask."""
    if not (ask or is_trusted(repository)):
        places = f"{file} and `helmsman config`" if file else "`helmsman config`"
        raise OperatorError(
            "this repository's own commands are not trusted yet",
            expected="confirmation, once for each repository",
            found=str(repository.top),
            remedy=f"look at what it runs ({places}), then `helmsman trust`, or give --yes",
        )


def with_consent(repository: Repository, action: Callable[[], T], *, ask: bool) -> T:
    """Run an action that may raise ConsentMissing; with a terminal, show the request, ask, and retry after consent."""
    try:
        return action()
    except ConsentMissing as refusal:
        if not ask:
            raise
        say("This repository sets keys that only you may set:", *_setting_lines(refusal.requested))
        _require_yes("Allow exactly these settings, and its own commands, from now on?")
        agree_to(repository.consent_key, refusal.requested)
    return with_consent(repository, action, ask=ask)


def trust(repo: Path, *, yes: bool, forget: bool, as_json: bool) -> int:
    """Show what a repository requests, ask, and store the consent. With `forget`, revoke all consent."""
    repository = open_repository(repo)
    if forget:
        revoke(repository.consent_key)
    # all requests of files in the checkout and in its commit, and the programs of its git configuration
    config = LoopConfig.model_validate({"goal": "any", "claude": {"setting_sources": tuple(FILES)}}, strict=True)
    head = git(repository.common if repository.bare else repository.top, "rev-parse", "HEAD").strip()
    files = [] if repository.bare else repository_requests(repository.top)
    all_requests = [*files, *project_settings(repository, head, config), programs_in_config(repository)]
    requested = [request for request in dict.fromkeys(all_requests) if request.settings]
    if not (forget or as_json or yes) and (_not_agreed(repository, requested) or not is_trusted(repository)):
        say(*_trust_lines(repository, requested))
        if not has_terminal():
            raise OperatorError("there is no terminal to ask", remedy="helmsman trust --yes agrees to what is shown")
        exactly = ", and its files set exactly this" if requested else ""
        _require_yes(f"Let its own commands run here{exactly}?")
        yes = True
    if yes and not forget:
        agree_to(repository.consent_key, requested)
    pending = _not_agreed(repository, requested)
    settings = [
        {
            "file": request.file,
            "key": item.key,
            "value": json.loads(item.value),
            "line": item.line,
            "agreed": request not in pending,
        }
        for request in requested
        for item in request.settings
    ]
    plain = {"repository": str(repository.top), "commands": is_trusted(repository), "requested": settings}
    print_result(plain, _trust_lines(repository, requested), as_json=as_json)
    return 0


def _not_agreed(repository: Repository, requested: Iterable[TrustRequest]) -> list[TrustRequest]:
    consent = consent_of(repository.consent_key)
    return [request for request in requested if request.fingerprint not in consent]


def _require_yes(question: str) -> None:
    if not confirm(question):
        raise OperatorError("not confirmed; nothing was started", remedy="helmsman trust shows it again")


def _setting_lines(requested: Iterable[TrustRequest]) -> Iterator[str]:
    yield from (f"  {clean(line)}" for request in requested for line in setting_lines(request))


def _trust_lines(repository: Repository, requested: list[TrustRequest]) -> Iterator[str]:
    yield f"repository  {clean(str(repository.top))}"
    yield f"commands    {'may run here' if is_trusted(repository) else 'not trusted yet: checks and set-up run as your user'}"
    pending = _not_agreed(repository, requested)
    for request in requested:
        yield f"{'asks for' if request in pending else 'agreed to':<12}{clean(request.file)}"
        yield from _setting_lines([request])
