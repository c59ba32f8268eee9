"""`helmsman doctor`: what is missing on this machine, and how to mend it. Each examination is a small function in one tuple."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from deployments.running import refuse_judge
from deployments.wishes import Wishes, wished
from helmsman.agents.telling import in_short
from helmsman.config import ClaudeConfig, LoopConfig, MemoryConfig, SandboxConfig
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.layers import Resolved
from helmsman.records.agents import TEMPLATE, Agent, AgentKind
from helmsman.texts import clean
from tasks.agents.finding import find_program
from tasks.claude import as_it_is_called, refuse_root
from tasks.claude_binary import find_binary
from tasks.engine import configured_api
from tasks.environment import agent_environment, other_environment, ours
from tasks.git import git, open_repository
from tasks.judge import asks_claude_code
from tasks.memory.chosen import chosen_url
from tasks.places import state_home
from tasks.process import run
from tasks.sandbox.trial import require_sandbox

OLDEST_GIT = (2, 30)
"""The oldest release that Debian still supports; nothing newer is used."""
LEAST_FREE_GIB = 2
SIGNS = {"ok": "✔", "warn": "!", "missing": "✘"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: ok, warn or missing."""

    what: str
    verdict: str
    found: str
    remedy: str = ""


def examine(repo: Path, *, as_json: bool) -> int:
    """Look at everything and print it. Returns 0, or 2 when something that a loop needs is missing."""
    findings = [_guarded(name, examination, repo) for name, examination in EXAMINATIONS]
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings]))
    else:
        for finding in findings:
            print(f"{SIGNS[finding.verdict]} {finding.what:<12} {clean(finding.found)}")
            if finding.remedy:
                print(f"               what to do: {clean(finding.remedy)}")
    return 2 if any(finding.verdict == "missing" for finding in findings) else 0


def _guarded(name: str, examination: Callable[[Path], Finding], repo: Path) -> Finding:
    try:
        return examination(repo)
    except HelmsmanError as error:
        found = f"{error.problem}{f' ({error.found})' if error.found else ''}"
        return Finding(name, "missing", found, error.remedy or error.expected)


def _python(_repo: Path) -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", "ok", version)


def _git(repo: Path) -> Finding:
    text = git(repo if repo.is_dir() else Path(), "--version").strip()
    match = re.search(r"(\d+)\.(\d+)", text)
    if match is None or (int(match[1]), int(match[2])) < OLDEST_GIT:
        return Finding("git", "missing", text, f"install git {'.'.join(map(str, OLDEST_GIT))} or newer")
    return Finding("git", "ok", text)


def _agent(repo: Path) -> Finding:
    resolved = _resolved(repo)
    if resolved and resolved.agent:
        return _other_agent(resolved.agent, resolved.config, open_repository(repo.absolute()).top)
    binary = find_binary(_claude(repo))
    ended = run([str(binary), "--version"], cwd=Path.home(), env=agent_environment(ours(), ()), tag="doctor", deadline=30)
    if ended.exit_code != 0:
        raise OperatorError(
            "the agent's program does not start", found=(ended.stderr or ended.head)[-300:], remedy="reinstall it"
        )
    return Finding("agent", "ok", f"{ended.head.strip()} at {binary}")


def _other_agent(agent: Agent, config: LoopConfig, top: Path) -> Finding:
    """A described one is not asked for its version: nobody knows what it would do."""
    program, kind = find_program(agent.kind, config.agent, top), agent.kind
    if kind.name == TEMPLATE or not kind.version:
        return Finding("agent", "ok", f"{in_short(kind)}; at {program}")
    environment = other_environment(ours(), kind.environment, config.agent.environment)
    ended = run([str(program), "--version"], cwd=Path.home(), env=environment, tag="doctor", deadline=30)
    if ended.exit_code != 0:
        raise OperatorError(f"{kind.program} does not start", found=(ended.stderr or ended.head)[-300:], remedy="reinstall it")
    said = (ended.head.strip().splitlines() or ["no version"])[0]
    note = "" if kind.version in said else f"this one says {said}; what is known of it is of {kind.version}"
    return Finding("agent", "warn" if note else "ok", f"{in_short(kind)}; {said} at {program}", note)


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
    found = open_repository(repo.absolute())
    return Finding("repository", "ok", f"{found.top}{' (bare)' if found.bare else ''}")


def _configuration(repo: Path) -> Finding:
    repository = open_repository(repo.absolute())
    config = wished(repository, Wishes(), goal_later=True).config
    if not config.checks:
        return Finding("checks", "warn", "none configured", "give --check CMD, or checks = [...] in helmsman.toml")
    return Finding("checks", "ok", "; ".join(check.command for check in config.checks))


def _engine(_repo: Path) -> Finding:
    url = configured_api(ours())
    if url is None:
        return Finding("engine", "ok", "embedded, started for each run")
    try:
        healthy = httpx.get(f"{url}/health", timeout=10).is_success
    except httpx.HTTPError as error:
        return Finding(
            "engine", "missing", f"{url} does not answer: {error}", "start `prefect server start`, or unset PREFECT_API_URL"
        )
    return Finding("engine", "ok" if healthy else "missing", url, "" if healthy else "look at the server's log")


def _memory(repo: Path) -> Finding:
    """A store of a team's is asked whether it answers; a file of this user's is made when it is needed."""
    resolved = _resolved(repo)
    config = resolved.config.memory if resolved else MemoryConfig()
    url = chosen_url(config.url)
    if not config.use or not url or url.startswith("sqlite:"):
        return Finding("memory", "ok", "in a file of this machine" if config.use else "off (memory.use)")
    from tasks.memory.postgres_server import PostgresServer

    try:
        server = PostgresServer(url)
        with server.reading():
            return Finding("memory", "ok", server.place)
    except HelmsmanError as error:
        found = f"{error.problem}: {error.found}"
        return Finding("memory", "warn", found, "see that it can be reached; loops go on without a memory that fails")


def _disk(_repo: Path) -> Finding:
    folder = next(path for path in (state_home(), *state_home().parents) if path.exists())
    free = shutil.disk_usage(folder).free / 2**30
    verdict, remedy = ("ok", "") if free >= LEAST_FREE_GIB else ("warn", "free some space: worktrees and transcripts need it")
    return Finding("disk", verdict, f"{free:.1f} GiB free for {state_home()}", remedy)


def _claude(repo: Path) -> ClaudeConfig:
    """The agent's configuration where there is a readable one, else the defaults: a broken file has its own finding."""
    resolved = _resolved(repo)
    return resolved.config.claude if resolved else ClaudeConfig()


def _resolved(repo: Path) -> Resolved | None:
    try:
        return wished(open_repository(repo.absolute()), Wishes(), goal_later=True)
    except HelmsmanError:
        return None


EXAMINATIONS: tuple[tuple[str, Callable[[Path], Finding]], ...] = (
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
    ("memory", _memory),
    ("disk", _disk),
)
