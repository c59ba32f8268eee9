"""`helmsman doctor`: report what is missing on this machine and how to fix it. Each check is a function in one table."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from deployments import leftovers
from deployments.leftovers import Finding
from deployments.output import print_result
from deployments.run import refuse_judge
from deployments.settings import configuration, operator_settings
from helmsman.agents import describe_briefly
from helmsman.config import LoopConfig, SandboxConfig
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.plain import clean
from helmsman.records.agents import TEMPLATE, Agent
from tasks.agents.catalogue import LoopSettings, find_program, with_agent
from tasks.agents.claude import LOG_IN, LOGINS, call_environment, is_logged_out, refuse_root
from tasks.engine.embedded import configured_api
from tasks.memory import memory_url, open_for_reading
from tasks.models.sending import asks_claude_code
from tasks.repository.git import Repository, git, open_repository
from tasks.sandbox.probe import require_sandbox
from tasks.system.environment import agent_environment, find_binary, neutral_directory, other_environment, own_environment
from tasks.system.paths import state_home
from tasks.system.process import run

OLDEST_GIT = (2, 30)  # the oldest release that Debian still supports; no newer feature is used
LEAST_FREE_GIB = 2
SIGNS = {"ok": "✔", "warn": "!", "missing": "✘"}


class Context(NamedTuple):
    """What the checks examine, as far as it is readable: an invalid file has its own finding."""

    repo: Path
    repository: Repository | None
    agent: Agent | None  # None for Claude Code, and if the configuration is unreadable
    config: LoopConfig


def run_doctor(repo: Path, *, fix: bool, as_json: bool) -> int:
    """Run all checks, optionally fix problems, and print the findings.

    Returns 0, or 2 if something that a loop needs is missing.
    """
    results = collect_findings(CHECKS, repo, fix=fix)
    lines, data = list[str](), list[dict[str, Any]]()
    for finding, fixed in results:
        shown = {name: getattr(finding, name) for name in ("what", "verdict", "found", "remedy")}
        data.append({**shown, "fixable": finding.fix is not None, "fixed": fixed})
        lines.append(f"{SIGNS[finding.verdict]} {finding.what:<12} {clean(finding.found)}")
        more = {"fixed": fixed, "what to do": finding.remedy}
        lines += [f"{'':15}{label}: {clean(text)}" for label, text in more.items() if text]
    print_result(data, lines, as_json=as_json)
    return 2 if any(finding.verdict == "missing" for finding, _ in results) else 0


def collect_findings(names: Iterable[str], repo: Path, *, fix: bool = False) -> list[tuple[Finding, str]]:
    """Findings with the text of their fix; a check runs again after its fix."""
    repository = agent = None
    config, results = LoopConfig(goal="-"), list[tuple[Finding, str]]()
    with suppress(HelmsmanError, OSError):  # the operator's own settings hold whatever the repository has
        own = operator_settings()
        own = with_agent(LoopSettings(own.config, own.origins), neutral_directory())
        agent, config = own.agent, own.config
    with suppress(HelmsmanError, OSError):
        repository = open_repository(repo)
        resolved = configuration(repository, {}, goal_later=True)
        agent, config = resolved.agent, resolved.config
    context = Context(repo, repository, agent, config)
    for name in names:
        finding, fixed = _run_check(name, context), ""
        if fix and finding.fix:
            try:
                fixed = finding.fix()
                finding = _run_check(name, context)
            except (HelmsmanError, OSError) as error:
                fixed = f"nothing: it failed with {error}"
        results.append((replace(finding, what=name), fixed))
    return results


def _run_check(name: str, context: Context) -> Finding:
    """Run one check. An error becomes a finding, so that it does not hide the others."""
    try:
        return CHECKS[name](context)
    except HelmsmanError as error:
        problem = ": ".join(line.strip() for line in error.problem.splitlines())
        text = f"{problem}{f' ({error.found})' if error.found else ''}"
        return Finding("missing", text, error.remedy or error.expected)
    except OSError as error:  # an unreadable folder, or an invalid name
        return Finding("warn", f"not checked: {error}", "make it readable")


def _git(_: Context) -> Finding:
    text = git(neutral_directory(), "--version").strip()
    match = re.search(r"(\d+)\.(\d+)", text)
    if match is None or (int(match[1]), int(match[2])) < OLDEST_GIT:
        return Finding("missing", text, f"install git {'.'.join(map(str, OLDEST_GIT))} or newer")
    return Finding("ok", text)


def _engine(_: Context) -> Finding:
    url = configured_api(own_environment())
    if url is None:
        return Finding("ok", "embedded, started for each run")
    try:
        healthy = httpx.get(f"{url}/health", timeout=10).is_success
    except httpx.HTTPError as error:
        return Finding("missing", f"{url} does not answer: {error}", "start `prefect server start`, or unset PREFECT_API_URL")
    return Finding("ok", url) if healthy else Finding("missing", url, "look at the server's log")


def _disk(_: Context) -> Finding:
    home = state_home()
    if not (home.is_dir() and os.access(home, os.W_OK)):
        return Finding("missing", f"{home} cannot be written", "make it writable, or set HELMSMAN_HOME to another folder")
    free = shutil.disk_usage(home).free / 2**30
    remedy = "" if free >= LEAST_FREE_GIB else "free some space: worktrees and transcripts need it"
    return Finding("warn" if remedy else "ok", f"{free:.1f} GiB free for {home}", remedy)


def _repository(context: Context) -> Finding:
    repository = open_repository(context.repo)  # raises if it is invalid
    return Finding("ok", f"{repository.top}{' (bare)' if repository.bare else ''}")


def _permissions(context: Context) -> Finding:
    if context.agent is None:
        refuse_root(context.config.claude, call_environment(context.config))
        return Finding("ok", context.config.claude.permission_mode)
    return Finding("ok", f"set by its command: {' '.join(context.agent.kind.command)}")


def _agent(context: Context) -> Finding:
    """Find the agent's program. A custom agent is not run for its version, since the effect is unknown."""
    if context.agent is None:
        binary = find_binary(context.config.claude)
        return Finding("ok", f"{_version_of(binary, agent_environment(own_environment(), ())).strip()} at {binary}")
    kind, config = context.agent.kind, context.config.agent
    program = find_program(kind, config, context.repository.top if context.repository else neutral_directory())
    if kind.name == TEMPLATE or not kind.version:
        return Finding("ok", f"{describe_briefly(kind)}; at {program}")
    environment = other_environment(own_environment(), kind.environment, config.environment)
    reported = (_version_of(program, environment, kind.program).strip().splitlines() or ["no version"])[0]
    note = "" if kind.version in reported else f"this is version {reported}; Helmsman is tested with {kind.version}"
    return Finding("warn" if note else "ok", f"{describe_briefly(kind)}; {reported} at {program}", note)


def _version_of(program: Path, environment: Mapping[str, str], name: str = "the agent's program") -> str:
    ended = run([str(program), "--version"], cwd=neutral_directory(), env=environment, tag="doctor", deadline=30)
    if ended.exit_code != 0:
        raise OperatorError(f"{name} does not start", found=(ended.stderr or ended.head)[-300:], remedy="reinstall it")
    return ended.head


def _sandbox(context: Context) -> Finding:
    """Try the configured sandbox; if none is configured, whether bubblewrap would work."""
    if context.config.sandbox.kind != "none":
        return Finding("ok", require_sandbox(context.config.sandbox))
    try:
        require_sandbox(SandboxConfig(kind="bubblewrap"))
    except HelmsmanError as error:
        return Finding("ok", f"none; bubblewrap would not work here: {error.problem}")
    return Finding("ok", 'none; sandbox.kind = "bubblewrap" would work here')


def _credentials(context: Context) -> Finding:
    kind, block = context.agent.kind if context.agent else None, context.config.claude.block
    names = kind.login if kind else LOGINS
    if name := next((name for name in names if own_environment().get(name)), None):
        return Finding("ok", f"{name} is set")
    if kind and kind.login:
        return Finding("warn", f"none of {', '.join(kind.login)} is set", f"if it is not logged in: {kind.remedy}")
    if kind:
        return Finding("ok", f"unknown for {kind.name}")
    if block:
        return Finding("ok", f"from the Prefect block {block}")
    if is_logged_out(context.config.claude, call_environment(context.config)):
        return Finding("warn", "none found", LOG_IN)
    return Finding("ok", "the agent's own login")


def _judge(context: Context) -> Finding:
    if not context.config.judge.criteria:
        return Finding("ok", "none: there are no criteria")
    if not asks_claude_code(context.config):
        return Finding(
            "ok", "through the Messages API" if own_environment().get("ANTHROPIC_API_KEY") else "as configured in its block"
        )
    refuse_judge(context.config)
    return Finding("ok", f"through Claude Code at {find_binary(context.config.claude)}")


def _checks(context: Context) -> Finding:
    checks = configuration(open_repository(context.repo), {}, goal_later=True).config.checks  # raises if it is invalid
    if not checks:
        return Finding("warn", "none configured", "give --check CMD, or checks = [...] in helmsman.toml")
    return Finding("ok", "; ".join(check.command for check in checks))


def _memory(context: Context) -> Finding:
    """Check that the store can be read; a local file is created on demand."""
    config = context.config.memory
    url = memory_url(config.url)
    if not config.use:
        return Finding("ok", "off (memory.use)")
    try:
        with open_for_reading(url):
            return Finding("ok", "in a local file" if not url or url.startswith("sqlite:") else "on a server")
    except HelmsmanError as error:
        return Finding("warn", f"{error.problem}: {error.found}", f"{error.remedy}; loops continue without memory")


def _check_repository(check: Callable[[Repository], Finding], context: Context) -> Finding:
    """Run a check of the repository if there is one: a missing repository has its own finding."""
    if context.repository is None:
        return Finding("ok", "not checked: there is no repository")
    return check(context.repository)


CHECKS: Mapping[str, Callable[[Context], Finding]] = {
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
    "memory": _memory,
    "disk": _disk,
    **{check.__name__: partial(_check_repository, check) for check in leftovers.CHECKS},
}
