"""`helmsman doctor`: what is missing on this machine, and how to fix it. Each examination is a function in one table."""

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from deployments import leftovers
from deployments.leftovers import Finding
from deployments.output import answer
from deployments.run import refuse_judge
from deployments.settings import configuration
from helmsman.agents.fitting import in_short
from helmsman.config import LoopConfig, SandboxConfig
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.plain import clean
from helmsman.records.agents import TEMPLATE, Agent
from tasks.agents.catalogue import find_program
from tasks.agents.claude import as_it_is_called, refuse_root
from tasks.engine.database import database_of, put_aside, trouble, users
from tasks.engine.embedded import configured_api
from tasks.memory import chosen_url
from tasks.models.judge import asks_claude_code
from tasks.repository.git import Repository, git, open_repository
from tasks.sandbox.probe import require_sandbox
from tasks.system.claude_binary import find_binary
from tasks.system.environment import agent_environment, neutral_directory, other_environment, ours
from tasks.system.paths import state_home
from tasks.system.process import run

OLDEST_GIT = (2, 30)  # the oldest release that Debian still supports; nothing newer is used
LEAST_FREE_GIB = 2
LOGINS = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"
SIGNS = {"ok": "✔", "warn": "!", "missing": "✘"}


class Place(NamedTuple):
    """What is looked at, as far as it could be read: a broken file has its own finding."""

    repo: Path
    repository: Repository | None
    agent: Agent | None  # None for Claude Code, and where no configuration can be read
    config: LoopConfig


def examine(repo: Path, *, fix: bool, as_json: bool) -> int:
    """Look at everything, fix what can be where that is asked for, and print it.

    Returns 0, or 2 when something that a loop needs is missing.
    """
    told = examined(EXAMINATIONS, repo, fix=fix)
    lines, plain = list[str](), list[dict[str, Any]]()
    for one, fixed in told:
        known = {name: getattr(one, name) for name in ("what", "verdict", "found", "remedy")}
        plain.append({**known, "fixable": one.fix is not None, "fixed": fixed})
        lines.append(f"{SIGNS[one.verdict]} {one.what:<12} {clean(one.found)}")
        more = {"fixed": fixed, "what to do": one.remedy}
        lines += [f"{'':15}{what}: {clean(said)}" for what, said in more.items() if said]
    answer(plain, lines, as_json=as_json)
    return 2 if any(finding.verdict == "missing" for finding, _ in told) else 0


def examined(names: Iterable[str], repo: Path, *, fix: bool = False) -> list[tuple[Finding, str]]:
    """What is found, each with what was done about it; what was fixed is looked at again."""
    repository = agent = None
    config, told = LoopConfig(goal="-"), list[tuple[Finding, str]]()
    with suppress(HelmsmanError, OSError):
        repository = open_repository(repo)
        resolved = configuration(repository, {}, goal_later=True)
        agent, config = resolved.agent, resolved.config
    place = Place(repo, repository, agent, config)
    for name in names:
        finding, fixed = _look(name, place), ""
        if finding and fix and finding.fix:
            try:
                fixed = finding.fix()
                finding = _look(name, place) or finding
            except (HelmsmanError, OSError, httpx.HTTPError) as error:
                fixed = f"nothing; it failed: {error}"
        told += [(replace(finding, what=name), fixed)] if finding else []
    return told


def _look(name: str, place: Place) -> Finding | None:
    """What one cannot look at hides none of the others."""
    try:
        return EXAMINATIONS[name](place)
    except HelmsmanError as error:
        found = f"{error.problem}{f' ({error.found})' if error.found else ''}"
        return Finding("missing", found, error.remedy or error.expected)
    except OSError as error:  # a folder that may not be read, a name that none can have
        return Finding("warn", f"not checked: {error}", "make it readable")


def _git(_: Place) -> Finding:
    text = git(neutral_directory(), "--version").strip()
    match = re.search(r"(\d+)\.(\d+)", text)
    if match is None or (int(match[1]), int(match[2])) < OLDEST_GIT:
        return Finding("missing", text, f"install git {'.'.join(map(str, OLDEST_GIT))} or newer")
    return Finding("ok", text)


def _engine(_: Place) -> Finding:
    url = configured_api(ours())
    if url is None:
        return Finding("ok", "embedded, started for each run")
    try:
        healthy = httpx.get(f"{url}/health", timeout=10).is_success
    except httpx.HTTPError as error:
        return Finding("missing", f"{url} does not answer: {error}", "start `prefect server start`, or unset PREFECT_API_URL")
    return Finding("ok", url) if healthy else Finding("missing", url, "look at the server's log")


def _disk(_: Place) -> Finding:
    free = shutil.disk_usage(next(path for path in (state_home(), *state_home().parents) if path.exists())).free / 2**30
    remedy = "" if free >= LEAST_FREE_GIB else "free some space: worktrees and transcripts need it"
    return Finding("warn" if remedy else "ok", f"{free:.1f} GiB free for {state_home()}", remedy)


def _repository(place: Place) -> Finding:
    found = open_repository(place.repo)  # raises what is wrong with it
    return Finding("ok", f"{found.top}{' (bare)' if found.bare else ''}")


def _permissions(place: Place) -> Finding:
    if place.agent is None:
        refuse_root(place.config.claude, as_it_is_called(place.config))
        return Finding("ok", place.config.claude.permission_mode)
    return Finding("ok", f"as its command reports: {' '.join(place.agent.kind.command)}")


def _database(_: Place) -> Finding:
    """Only the embedded engine's. A server of one's own says itself what is wrong with its database."""
    file = database_of(ours()) if configured_api(ours()) is None else None
    found = trouble(file) if file else None
    if file is None or found is None:
        return Finding("ok", "the engine can use it" if file else "none that belongs to this user")
    told, busy = f"{file}: {found.why}", users(file)
    if busy:
        return Finding("missing", f"{told}; process {busy[0]} has it open", "use the Prefect that it uses")
    if not found.of_the_file:
        return Finding("missing", told, "look at the disk and at the permissions of that folder")
    remedy = "install that Prefect, or helmsman doctor --fix puts the file aside; what loops need is in git"
    return Finding("missing", told, remedy, lambda: f"kept as {put_aside(file, datetime.now(UTC))}")


def _agent(place: Place) -> Finding:
    """A described one is not asked for its version: nobody knows what it would do."""
    if place.agent is None or place.repository is None:
        binary = find_binary(place.config.claude)
        return Finding("ok", f"{_version(binary, agent_environment(ours(), ())).strip()} at {binary}")
    kind, config = place.agent.kind, place.config.agent
    program = find_program(kind, config, place.repository.top)
    if kind.name == TEMPLATE or not kind.version:
        return Finding("ok", f"{in_short(kind)}; at {program}")
    environment = other_environment(ours(), kind.environment, config.environment)
    said = (_version(program, environment, kind.program).strip().splitlines() or ["no version"])[0]
    note = "" if kind.version in said else f"this is version {said}; Helmsman is tested with {kind.version}"
    return Finding("warn" if note else "ok", f"{in_short(kind)}; {said} at {program}", note)


def _version(program: Path, environment: Mapping[str, str], name: str = "the agent's program") -> str:
    ended = run([str(program), "--version"], cwd=Path.home(), env=environment, tag="doctor", deadline=30)
    if ended.exit_code != 0:
        raise OperatorError(f"{name} does not start", found=(ended.stderr or ended.head)[-300:], remedy="reinstall it")
    return ended.head


def _sandbox(place: Place) -> Finding:
    """The configured one is tried; where there is none, whether there could be one."""
    if place.config.sandbox.kind != "none":
        return Finding("ok", require_sandbox(place.config.sandbox))
    try:
        require_sandbox(SandboxConfig(kind="bubblewrap"))
    except HelmsmanError as error:
        return Finding("ok", f"none; bubblewrap would not work here: {error.problem}")
    return Finding("ok", 'none; sandbox.kind = "bubblewrap" would work here')


def _credentials(place: Place) -> Finding:
    kind, block = place.agent.kind if place.agent else None, place.config.claude.block
    wanted = kind.login if kind else LOGINS
    if name := next((name for name in wanted if ours().get(name)), None):
        return Finding("ok", f"{name} is set")
    if kind and kind.login:
        return Finding("warn", f"none of {', '.join(kind.login)} is set", f"where it is not logged in: {kind.remedy}")
    if kind:
        return Finding("ok", f"unknown for {kind.name}")
    if block:
        return Finding("ok", f"from the Prefect block {block}")
    if (Path(ours().get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / ".credentials.json").exists():
        return Finding("ok", "the agent's own login")
    return Finding("warn", "none found", "log in with `claude /login`, or set ANTHROPIC_API_KEY")


def _judge(place: Place) -> Finding:
    if not place.config.judge.criteria:
        return Finding("ok", "none: there are no criteria")
    if not asks_claude_code(place.config):
        return Finding("ok", "asked by the Messages API" if ours().get("ANTHROPIC_API_KEY") else "as its block says")
    refuse_judge(place.config)
    return Finding("ok", f"asked by Claude Code at {find_binary(place.config.claude)}")


def _checks(place: Place) -> Finding:
    checks = configuration(open_repository(place.repo), {}, goal_later=True).config.checks  # raises what is wrong with it
    if not checks:
        return Finding("warn", "none configured", "give --check CMD, or checks = [...] in helmsman.toml")
    return Finding("ok", "; ".join(check.command for check in checks))


def _memory(place: Place) -> Finding:
    """A store of a team's is asked whether it answers; a file of this user's is made when it is needed."""
    config = place.config.memory
    url = chosen_url(config.url)
    if not config.use or not url or url.startswith("sqlite:"):
        return Finding("ok", "in a file of this machine" if config.use else "off (memory.use)")
    from tasks.memory.postgres import PostgresServer

    try:
        server = PostgresServer(url)
        with server.reading():
            return Finding("ok", server.place)
    except HelmsmanError as error:
        remedy = "make sure that it can be reached; loops continue without memory"
        return Finding("warn", f"{error.problem}: {error.found}", remedy)


def _left_over(look: Callable[[Repository], Finding], place: Place) -> Finding:
    """Of what lies in a repository nothing is told where there is none: that has its own finding."""
    if place.repository is None:
        return Finding("ok", "not checked: there is no repository")
    return look(place.repository)


def _on_server(name: str, place: Place) -> Finding | None:
    """Asked last, and only where a server is configured and answers: what asks it takes seconds to import."""
    if configured_api(ours()) is None or _engine(place).verdict != "ok":
        return None
    from deployments.deploy import server_finding

    return server_finding(name, datetime.now(UTC))


EXAMINATIONS: Mapping[str, Callable[[Place], Finding | None]] = {
    "python": lambda _: Finding("ok", ".".join(map(str, sys.version_info[:3]))),
    "git": _git,
    "agent": _agent,
    "permissions": _permissions,
    "sandbox": _sandbox,
    "credentials": _credentials,
    "judge": _judge,
    "repository": _repository,
    "checks": _checks,
    "engine": _engine,
    "database": _database,
    "memory": _memory,
    "disk": _disk,
    **{look.__name__: partial(_left_over, look) for look in leftovers.EXAMINATIONS},
    **{name: partial(_on_server, name) for name in ("automations", "slots")},
}
