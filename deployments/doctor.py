"""`helmsman doctor`: what is missing on this machine, and how to fix it. Each examination is a small function in one tuple."""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx

from deployments import leftovers
from deployments.leftovers import Finding
from deployments.run import refuse_judge
from deployments.settings import configuration
from helmsman.agents.fitting import in_short
from helmsman.config import ClaudeConfig, LoopConfig, MemoryConfig, SandboxConfig
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.layers import Resolved
from helmsman.plain import clean
from helmsman.records.agents import TEMPLATE, Agent, AgentKind
from tasks.agents.claude import as_it_is_called, refuse_root
from tasks.agents.claude_binary import find_binary
from tasks.agents.finding import find_program
from tasks.engine.database import database_of, put_aside, trouble, users
from tasks.engine.embedded import configured_api
from tasks.memory import chosen_url
from tasks.models.judge import asks_claude_code
from tasks.places import state_home
from tasks.processes.environment import agent_environment, other_environment, ours
from tasks.processes.process import run
from tasks.repository.git import Repository, git, open_repository
from tasks.sandbox.trial import require_sandbox
from tasks.system.environment import neutral_directory

OLDEST_GIT = (2, 30)
"""The oldest release that Debian still supports; nothing newer is used."""
LEAST_FREE_GIB = 2
Examination = Callable[[Path], Finding]
Look = Callable[[Path], list[Finding]]
SIGNS = {"ok": "✔", "warn": "!", "missing": "✘"}


def examine(repo: Path, *, fix: bool, as_json: bool) -> int:
    """Look at everything, fix what can be where that is asked for, and print it.

    Returns 0, or 2 when something that a loop needs is missing.
    """
    looks = [*(partial(_guarded, name, examination) for name, examination in EXAMINATIONS), _server]
    told = [one for look in looks for one in examined(look, repo, fix=fix)]
    if as_json:
        print(json.dumps([{**finding.plain(), "fixed": fixed} for finding, fixed in told]))
    else:
        print("\n".join(line for finding, fixed in told for line in _lines(finding, fixed)))
    return 2 if any(finding.verdict == "missing" for finding, _ in told) else 0


def _lines(finding: Finding, fixed: str) -> Iterator[str]:
    yield f"{SIGNS[finding.verdict]} {finding.what:<12} {clean(finding.found)}"
    if fixed:
        yield f"               fixed: {clean(fixed)}"
    if finding.remedy:
        yield f"               what to do: {clean(finding.remedy)}"


def examined(look: Look, repo: Path, *, fix: bool) -> list[tuple[Finding, str]]:
    """What is found, each with what was done about it; what was fixed is looked at again."""
    return [_fixed(finding, look, repo) if fix and finding.fix else (finding, "") for finding in look(repo)]


def _fixed(finding: Finding, look: Look, repo: Path) -> tuple[Finding, str]:
    try:
        fixed = finding.fix() if finding.fix else ""
    except (HelmsmanError, OSError, httpx.HTTPError) as error:
        return finding, f"nothing, it failed: {error}"
    return next((again for again in look(repo) if again.what == finding.what), finding), fixed


def _guarded(name: str, examination: Examination, repo: Path) -> list[Finding]:
    """What one cannot look at hides none of the others."""
    try:
        return [examination(repo)]
    except HelmsmanError as error:
        found = f"{error.problem}{f' ({error.found})' if error.found else ''}"
        return [Finding(name, "missing", found, error.remedy or error.expected)]
    except OSError as error:  # a folder that may not be read, a name that none can have
        return [Finding(name, "warn", f"not looked at: {error}", "see that it can be read")]


def _in_repository(examination: Callable[[Repository], Finding], name: str) -> Examination:
    """Of what lies in a repository nothing is told where there is none: that has its own finding."""

    def look(repo: Path) -> Finding:
        try:
            repository = open_repository(repo)
        except HelmsmanError as error:
            return Finding(name, "ok", f"not looked at: {error.problem}")
        try:
            return _as_far_as_seen(examination(repository), leftovers.unread(repository))
        except HelmsmanError as error:
            return Finding(name, "warn", f"not looked at: {error.problem}", error.remedy or error.expected)

    return look


def _as_far_as_seen(finding: Finding, unread: Sequence[HelmsmanError]) -> Finding:
    """Nothing is in order that could not be looked at."""
    if not unread:
        return finding
    found = "; ".join([finding.found, *(f"not looked at: {error.problem}" for error in unread[: leftovers.SHOWN])])
    return replace(finding, verdict="warn", found=found, remedy=finding.remedy or unread[0].remedy)


def _python(_repo: Path) -> Finding:
    return Finding("python", "ok", ".".join(map(str, sys.version_info[:3])))


def _git(_repo: Path) -> Finding:
    text = git(neutral_directory(), "--version").strip()
    match = re.search(r"(\d+)\.(\d+)", text)
    if match is None or (int(match[1]), int(match[2])) < OLDEST_GIT:
        return Finding("git", "missing", text, f"install git {'.'.join(map(str, OLDEST_GIT))} or newer")
    return Finding("git", "ok", text)


def _agent(repo: Path) -> Finding:
    resolved = _resolved(repo)
    if resolved and resolved.agent:
        return _other_agent(resolved.agent, resolved.config, open_repository(repo).top)
    binary = find_binary(_claude(repo))
    return Finding("agent", "ok", f"{_version(binary, agent_environment(ours(), ())).strip()} at {binary}")


def _other_agent(agent: Agent, config: LoopConfig, top: Path) -> Finding:
    """A described one is not asked for its version: nobody knows what it would do."""
    program, kind = find_program(agent.kind, config.agent, top), agent.kind
    if kind.name == TEMPLATE or not kind.version:
        return Finding("agent", "ok", f"{in_short(kind)}; at {program}")
    environment = other_environment(ours(), kind.environment, config.agent.environment)
    said = (_version(program, environment, kind.program).strip().splitlines() or ["no version"])[0]
    note = "" if kind.version in said else f"this one says {said}; what is known of it is of {kind.version}"
    return Finding("agent", "warn" if note else "ok", f"{in_short(kind)}; {said} at {program}", note)


def _version(program: Path, environment: Mapping[str, str], name: str = "the agent's program") -> str:
    ended = run([str(program), "--version"], cwd=Path.home(), env=environment, tag="doctor", deadline=30)
    if ended.exit_code != 0:
        raise OperatorError(f"{name} does not start", found=(ended.stderr or ended.head)[-300:], remedy="reinstall it")
    return ended.head


def _permissions(repo: Path) -> Finding:
    resolved = _resolved(repo)
    if resolved and resolved.agent:
        return Finding("permissions", "ok", f"as its command says: {' '.join(resolved.agent.kind.command)}")
    config = resolved.config if resolved else LoopConfig(goal="-")
    refuse_root(config.claude, as_it_is_called(config))
    return Finding("permissions", "ok", config.claude.permission_mode)


def _sandbox(repo: Path) -> Finding:
    """The configured one is tried; where there is none, whether there could be one."""
    resolved = _resolved(repo)
    config = resolved.config.sandbox if resolved else SandboxConfig()
    if config.kind != "none":
        return Finding("sandbox", "ok", require_sandbox(config))
    try:
        require_sandbox(SandboxConfig(kind="bubblewrap"))
    except HelmsmanError as error:
        return Finding("sandbox", "ok", f"none; bubblewrap would not work here: {error.problem}")
    return Finding("sandbox", "ok", 'none; sandbox.kind = "bubblewrap" would work here')


def _credentials(repo: Path) -> Finding:
    resolved = _resolved(repo)
    if resolved and resolved.agent:
        return _other_credentials(resolved.agent.kind)
    names = [name for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN") if ours().get(name)]
    if names:
        return Finding("credentials", "ok", f"{names[0]} is set")
    if _claude(repo).block:
        return Finding("credentials", "ok", f"from the Prefect block {_claude(repo).block}")
    folder = Path(ours().get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    if (folder / ".credentials.json").exists():
        return Finding("credentials", "ok", "the agent's own login")
    return Finding("credentials", "warn", "none found", "log in with `claude /login`, or set ANTHROPIC_API_KEY")


def _other_credentials(kind: AgentKind) -> Finding:
    names = [name for name in kind.login if ours().get(name)]
    if names:
        return Finding("credentials", "ok", f"{names[0]} is set")
    if not kind.login:
        return Finding("credentials", "ok", f"not known of {kind.name}")
    return Finding("credentials", "warn", f"none of {', '.join(kind.login)} is set", f"where it is not logged in: {kind.remedy}")


def _judge(repo: Path) -> Finding:
    resolved = _resolved(repo)
    if resolved is None or not resolved.config.judge.criteria:
        return Finding("judge", "ok", "none: there are no criteria")
    if not asks_claude_code(resolved.config):
        return Finding("judge", "ok", "asked by the Messages API" if ours().get("ANTHROPIC_API_KEY") else "as its block says")
    refuse_judge(resolved.config)
    return Finding("judge", "ok", f"asked by Claude Code at {find_binary(resolved.config.claude)}")


def _repository(repo: Path) -> Finding:
    found = open_repository(repo)
    return Finding("repository", "ok", f"{found.top}{' (bare)' if found.bare else ''}")


def _configuration(repo: Path) -> Finding:
    checks = configuration(open_repository(repo), {}, goal_later=True).config.checks
    if not checks:
        return Finding("checks", "warn", "none configured", "give --check CMD, or checks = [...] in helmsman.toml")
    return Finding("checks", "ok", "; ".join(check.command for check in checks))


def _engine(_repo: Path) -> Finding:
    url = configured_api(ours())
    if url is None:
        return Finding("engine", "ok", "embedded, started for each run")
    try:
        healthy = httpx.get(f"{url}/health", timeout=10).is_success
    except httpx.HTTPError as error:
        remedy = "start `prefect server start`, or unset PREFECT_API_URL"
        return Finding("engine", "missing", f"{url} does not answer: {error}", remedy)
    return Finding("engine", "ok" if healthy else "missing", url, "" if healthy else "look at the server's log")


def _memory(repo: Path) -> Finding:
    """A store of a team's is asked whether it answers; a file of this user's is made when it is needed."""
    resolved = _resolved(repo)
    config = resolved.config.memory if resolved else MemoryConfig()
    url = chosen_url(config.url)
    if not config.use or not url or url.startswith("sqlite:"):
        return Finding("memory", "ok", "in a file of this machine" if config.use else "off (memory.use)")
    from tasks.memory.postgres import PostgresServer

    try:
        server = PostgresServer(url)
        with server.reading():
            return Finding("memory", "ok", server.place)
    except HelmsmanError as error:
        remedy = "see that it can be reached; loops go on without a memory that fails"
        return Finding("memory", "warn", f"{error.problem}: {error.found}", remedy)


def _disk(_repo: Path) -> Finding:
    folder = next(path for path in (state_home(), *state_home().parents) if path.exists())
    free = shutil.disk_usage(folder).free / 2**30
    verdict, remedy = ("ok", "") if free >= LEAST_FREE_GIB else ("warn", "free some space: worktrees and transcripts need it")
    return Finding("disk", verdict, f"{free:.1f} GiB free for {state_home()}", remedy)


def _database(_repo: Path) -> Finding:
    """Only the embedded engine's. A server of one's own says itself what is wrong with its database."""
    file = database_of(ours()) if configured_api(ours()) is None else None
    found = trouble(file) if file else None
    if file is None or found is None:
        return Finding("database", "ok", "the engine can use it" if file else "none that is ours to look at")
    told, busy = f"{file}: {found.why}", users(file)
    if busy:
        return Finding("database", "missing", f"{told}; process {busy[0]} has it open", "use the Prefect that it uses")
    if not found.of_the_file:
        return Finding("database", "missing", told, "look at the disk and at the permissions of that folder")
    remedy = "install that Prefect, or helmsman doctor --fix puts the file aside; what loops need is in git"
    return Finding("database", "missing", told, remedy, lambda: f"kept as {put_aside(file, datetime.now(UTC))}")


def _server(_repo: Path) -> list[Finding]:
    """Asked last, and only where one is configured and answers: what asks it takes seconds to import."""
    if configured_api(ours()) is None or _engine(neutral_directory()).verdict != "ok":
        return []
    from deployments.server_health import server_findings

    return server_findings(datetime.now(UTC))


def _claude(repo: Path) -> ClaudeConfig:
    """The agent's configuration where there is a readable one, else the defaults: a broken file has its own finding."""
    resolved = _resolved(repo)
    return resolved.config.claude if resolved else ClaudeConfig()


def _resolved(repo: Path) -> Resolved | None:
    with suppress(HelmsmanError):
        return configuration(open_repository(repo), {}, goal_later=True)
    return None


EXAMINATIONS: tuple[tuple[str, Examination], ...] = (
    ("python", _python),
    ("git", _git),
    ("agent", _agent),
    ("permissions", _permissions),
    ("sandbox", _sandbox),
    ("credentials", _credentials),
    ("judge", _judge),
    ("repository", _repository),
    ("checks", _configuration),
    ("engine", _engine),
    ("database", _database),
    ("memory", _memory),
    ("disk", _disk),
    *((look.__name__, _in_repository(look, look.__name__)) for look in leftovers.EXAMINATIONS),
)
