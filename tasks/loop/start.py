"""Start of a loop: open an existing one, or create a new one's first state from a configuration and a commit, once."""

import hashlib
import secrets
import shutil
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from jinja2 import TemplateSyntaxError

from helmsman.config import LoopConfig
from helmsman.config.layers import display
from helmsman.errors import OperatorError
from helmsman.memory.handoff import inherited_handoffs
from helmsman.oversee.answers import reconfigure
from helmsman.oversee.gates import due_gate
from helmsman.oversee.ladder import reset_after_person
from helmsman.oversee.limits import reached_limits
from helmsman.plain import OWN_BRANCHES, clean, loop_id
from helmsman.prompts.message import check_template
from helmsman.records.advance import reopen
from helmsman.records.agents import Agent
from helmsman.records.decision import Outcome
from helmsman.records.hats import Preset
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from tasks.agents.call_folder import CallFolder, has_started
from tasks.agents.catalogue import LoopSettings, find_agent
from tasks.agents.project_settings import require_project_settings
from tasks.loop.alignment_file import with_alignment
from tasks.loop.configure import configure
from tasks.loop.handoff import handoffs_at_commit, handoffs_in_checkout
from tasks.loop.merge import require_target
from tasks.loop.remote_handover import pull_state
from tasks.repository.branch_files import required_file
from tasks.repository.git import GitError, Repository, commit_and_tree, current_branch, open_repository, require_head
from tasks.repository.hidden import require_outside
from tasks.repository.loop_context import exclusive_checkout, loop_folder
from tasks.repository.plan import initial_progress
from tasks.repository.remote import require_remote
from tasks.repository.state_ref import known_state, read_state, replace_state, write_state
from tasks.repository.worktree import require_clean
from tasks.sandbox.enter import git_folder
from tasks.system.files import resolve_inside
from tasks.system.lock import exclusive_driver
from tasks.system.paths import LoopFolder
from tasks.system.secrets import settings_with_secrets, without_secrets
from tasks.system.trust import consent_of
from tasks.trackers.thread import delete_memory

SUFFIXES = 6, 12, 24
"""Hash digits that make a loop id unique; more of them where another run's loop has the shorter id."""
KEY = "prompt.template"


def create_loop(
    repository: Repository, resolved: LoopSettings, name: str, now: datetime, begin_with: str = "", run: str = ""
) -> LoopState:
    """Write the first state of a loop, with its preset and agent. `run`: id of the flow run that starts it.

    Raises OperatorError where a loop of that name exists.
    """
    if known_state(repository, name) is not None:
        raise OperatorError(f"a loop named {name} already exists", remedy="it was started in the meantime; choose another --name")
    require_checks(resolved.config, resolved.preset)
    state = state_from_here(repository, resolved, name, now, begin_with).model_copy(update={"run": run})
    _forget_earlier(loop_folder(repository, name))
    write_state(repository, state, over=None, record=None, subject=f"start: {state.config.goal[:60]}")
    return state


def state_from_here(repository: Repository, resolved: LoopSettings, name: str, now: datetime, begin_with: str = "") -> LoopState:
    """The first state of a loop from HEAD or `begin_with`, with its alignment and what earlier loops left. Writes nothing."""
    if resolved.agent is None and (kind := find_agent(repository.top, resolved.config.agent)):
        resolved = replace(resolved, agent=Agent(kind=kind))
    commit, branch = _base_and_branch(repository, resolved.config, begin_with, name)
    is_on_a_loop, file = begin_with.startswith(OWN_BRANCHES), resolved.config.alignment
    config = with_alignment(repository, resolved.config, others=is_on_a_loop)
    earlier_loop = known_state(repository, begin_with.removeprefix(OWN_BRANCHES)) if is_on_a_loop else None
    if earlier_loop is not None:  # it includes the handoffs of all loops before it, whatever the file says
        inherited = inherited_handoffs(earlier_loop)
    else:
        inherited = (
            handoffs_at_commit(repository, commit, file)
            if begin_with or repository.bare
            else handoffs_in_checkout(repository, file)
        )
    state = first_state(
        repository, replace(resolved, config=config), now, loop=name, branch=current_branch(repository.top), commit=commit
    )
    return without_secrets(state.model_copy(update={"inherited": inherited, "branch": branch}))


def first_state(
    repository: Repository, resolved: LoopSettings, now: datetime, *, loop: str, branch: str, commit: str
) -> LoopState:
    """The state of a loop that starts from a commit. Raises OperatorError where its configuration cannot run."""
    config = resolved.config
    require_no_secret(config)
    require_outside(repository, config)
    require_target(repository, config)
    if config.remote.push:
        require_remote(repository, config.remote.name)
    require_project_settings(repository, commit, config)
    read_template(repository, commit, config)
    return LoopState(
        loop=loop,
        uid=secrets.token_hex(8),
        config=config,
        created_at=now,
        updated_at=now,
        base_branch=branch,
        base_commit=commit,
        branch=f"{OWN_BRANCHES}{loop}",
        head=commit,
        preset=resolved.preset,
        agent=resolved.agent,
        plan=initial_progress(repository, commit, config),
    )


def write_first_state(repository: Repository, state: LoopState, subject: str) -> bool:
    """Write a loop's first state. Return False, changing nothing, where another run for the same event was faster."""
    if known_state(repository, state.loop) is not None:
        return False
    folder = loop_folder(repository, state.loop)
    with exclusive_driver(folder.lock, state.loop):
        if known_state(repository, state.loop) is not None:
            return False
        _forget_earlier(folder)
        write_state(repository, state, over=None, record=None, subject=subject)
    return True


def _forget_earlier(folder: LoopFolder) -> None:
    """Delete the files of a removed loop with the same name (docs/what-lasts.md): they would count as this one's."""
    for leftover in (folder.answers, folder.words, folder.calls, folder.notes, git_folder(folder)):
        shutil.rmtree(leftover, ignore_errors=True)
    delete_memory(folder)


def require_checks(config: LoopConfig, preset: Preset | None = None) -> None:
    if not config.checks and not config.allow_no_checks:
        suggestion = f"; for a {preset.name}: {'; '.join(preset.sheet.checks)}" if preset and preset.sheet.checks else ""
        raise OperatorError(
            "no check is configured, so nothing can be verified",
            expected=f"at least one command whose exit code proves the goal{suggestion}",
            remedy="give --check 'make test' (repeatable), or checks = [...] in helmsman.toml, or --no-checks to do without",
        )


def require_no_secret(config: LoopConfig) -> None:
    """Raise OperatorError where the configuration, which is stored and pushed, has a secret. Those in the goal are redacted."""
    if keys := settings_with_secrets(config):
        raise OperatorError(
            "the configuration contains a secret, which would be stored in the loop's state and pushed with it",
            expected='the name of an environment variable, as in: curl -H "Authorization: Bearer $TOKEN"',
            found=f"a secret in {', '.join(keys)}",
            remedy='put it into the environment, and name the variable there (checks: environment = ["TOKEN"])',
        )


def _base_and_branch(repository: Repository, config: LoopConfig, begin_with: str, name: str) -> tuple[str, str]:
    """Commit that a new loop starts from, and its branch. Raises OperatorError."""
    if begin_with and config.workspace.in_place:
        raise OperatorError(
            "a loop that works in place starts from what is checked out",
            found=f"another base: {display(begin_with)}",
            remedy="check that out first, or leave --in-place out",
        )
    if not begin_with:
        require_head(repository.top)
    try:
        commit = commit_and_tree(repository.top, begin_with or "HEAD")[0]
    except (GitError, ValueError) as error:
        if not begin_with:
            raise
        raise OperatorError("the base does not exist", expected="a branch, tag or commit", found=display(begin_with)) from error
    if not config.workspace.in_place:
        return commit, f"{OWN_BRANCHES}{name}"
    branch = current_branch(repository.top)
    if repository.bare or not branch:
        raise OperatorError(
            "--in-place needs a checkout that is on a branch",
            found="a bare repository" if repository.bare else "a detached HEAD",
            remedy="leave --in-place out, or switch to a branch",
        )
    with exclusive_checkout(repository):  # of its own while another loop's agent works here
        require_clean(repository.top)
    return commit, branch


def open_loop(request: LoopRequest, run: str, now: datetime) -> LoopState:
    """The state to continue from: a new loop's, or the last one of an existing loop.

    `run`: id of the flow run. Without `request.loop` each run has its own loop, also after a crash.
    """
    repository = open_repository(Path(request.repository))
    name, is_locked = request.loop, bool(request.loop)
    if name and (existing := known_state(repository, name)):
        pull_state(repository, name, existing.config.remote, locked=is_locked)
        return _reopen_existing(repository, request, now)
    resolved = configure(repository.top, request, consent=consent_of(repository.consent_key))
    if not name:  # the ids of scheduled runs begin with the time; their hash tells apart those that start together
        hashed = hashlib.sha256(run.encode()).hexdigest()
        names = (loop_id(resolved.config.goal, hashed[:length]) for length in SUFFIXES)
        candidates = ((candidate, known_state(repository, candidate)) for candidate in names)
        name = next(candidate for candidate, existing in candidates if existing is None or existing.run == run)
    pull_state(repository, name, resolved.config.remote, locked=is_locked)
    if existing := known_state(repository, name):  # another machine has started it, or this run did before a crash
        return _reopen_existing(repository, request, now) if request.loop else existing
    return create_loop(repository, resolved, name, now, request.base, run)


def _reopen_existing(repository: Repository, request: LoopRequest, now: datetime) -> LoopState:
    """The state of an existing loop, reopened with the changed configuration where the request says so."""
    state, _ = read_state(repository, request.loop)
    if not request.reopen or state.outcome is Outcome.COMPLETED:
        return state
    config = without_secrets(reconfigure(state, request.changes))
    require_no_secret(config)
    if config != state.config:
        require_outside(repository, config)
    updated = state.model_copy(update={"config": config})
    if due_gate(updated, now) is not None:  # the question comes first, asked or not: its answer decides how to continue
        return replace_state(repository, state, updated, "resume")
    require_budget(state, config)
    if state.ending is None and config == state.config:
        return state
    if state.config.workspace.in_place and state.ending is not None and not _has_call_in_flight(repository, state):
        with exclusive_checkout(repository):
            require_clean(repository.top)
    return replace_state(repository, state, reset_after_person(reopen(state, config, now), now), "resume")


def _has_call_in_flight(repository: Repository, state: LoopState) -> bool:
    """Whether uncommitted work may be that of an agent whose iteration has not ended."""
    return has_started(CallFolder(loop_folder(repository, state.loop).call(state.due, state.attempt), state.uid))


def require_budget(state: LoopState, config: LoopConfig) -> None:
    used_up = reached_limits(config.limits, state.spending, state.iteration)
    if used_up:
        raise OperatorError(
            f"loop {state.loop} has used up a limit, so it cannot continue",
            found="; ".join(signal.message for signal in used_up),
            remedy=f"raise it: helmsman resume {state.loop} --set {used_up[0].rule}=VALUE",
        )


def read_template(repository: Repository, commit: str, config: LoopConfig) -> str:
    """Checked text of the repository's template; empty if there is none. Raises OperatorError with file and line."""
    path = config.prompt.template
    if not path:
        return ""
    resolve_inside(repository.top, path, KEY)
    file = required_file(repository, commit, path, KEY)
    try:
        text = file.content.decode("utf-8-sig").replace("\r\n", "\n")
        check_template(text)
    except UnicodeDecodeError as error:
        line, cause = file.content.count(b"\n", 0, error.start) + 1, "it is not UTF-8"
    except TemplateSyntaxError as problem:
        line, cause = problem.lineno, problem.message or "it cannot be parsed"
    else:
        return text
    raise OperatorError(
        f"the prompt's template cannot be used: {clean(path)}:{line}: {clean(cause)}",
        expected=f"a template as docs/prompt.md describes it ({KEY})",
        remedy="correct it and commit; `helmsman prompt` shows the result",
    )
