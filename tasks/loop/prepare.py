"""Preparation of an iteration: worktree set-up, the loop's own files, facts for the prompt; and display of the prompt."""

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from helmsman.errors import HelmsmanError, OperatorError
from helmsman.guardrails import RESEARCH_FILE
from helmsman.memory.guardrails_page import render_for_agent as render_guardrails
from helmsman.orient.brief import brief
from helmsman.orient.checks import LOGS, check_logs, evolution_file, feedback_file
from helmsman.orient.hats import hat_record
from helmsman.orient.research import read_research_file
from helmsman.oversee.advice import without_failed_plan
from helmsman.oversee.limits import nearly_used_windows
from helmsman.parsers.progress_file import LONGEST_FILE, read, render
from helmsman.plain import loop_id
from helmsman.records.iteration import Briefing, Orientation, WorkingMemory
from helmsman.records.lessons import Recalled
from helmsman.records.state import LoopState
from tasks.agents.call_folder import CallFolder, stored_briefing
from tasks.agents.catalogue import LoopSettings
from tasks.checks.editable import package_stamps
from tasks.checks.judging import request_for
from tasks.checks.run import CheckContext, set_up
from tasks.checks.run import tear_down as run_teardown
from tasks.checks.targets import check_context, clean_checkout
from tasks.loop.remember import recall_memory
from tasks.loop.start import read_template, state_from_here
from tasks.loop.wiki import copy_wiki
from tasks.repository.git import Repository, commit_and_tree
from tasks.repository.loop_context import LoopContext, loop_folder
from tasks.repository.objects import own_folder
from tasks.repository.plan import current_item
from tasks.repository.setup import copy_included, place_included
from tasks.repository.start_record import record_start
from tasks.repository.worktree import Worktree, commits_between
from tasks.system.files import open_up, read_within, remove, replace_file
from tasks.system.secrets import redact, without_secrets

NAME_END = "0000"  # suffix of a loop that does not exist yet; a real one is random

READY = "helmsman-set-up"  # marker file in a worktree's git folder, removed together with the worktree
_log = logging.getLogger(__name__)
OWN_FOLDER = ".helmsman"
_BYTES_PER_CHARACTER = 4  # most bytes of one UTF-8 character
HISTORY_COMMITS = 10  # commits of the branch in the prompt
OWN_FILES = ".gitignore", "progress.md", "guardrails.md", RESEARCH_FILE, "JUDGE_FEEDBACK.md", "JUDGE_EVOLUTION.md", "checks"


def prepare(context: LoopContext, state: LoopState, now: datetime) -> Orientation:
    """Write the working memory's files for the agent, and return the facts for the prompt."""
    remembered = recall_memory(context, state, now)
    folder = context.worktree / OWN_FOLDER
    if folder.is_symlink() or not folder.is_dir():
        remove(folder)
        folder.mkdir()
    open_up(folder)
    ignore = "".join(f"/{name}\n" for name in OWN_FILES)
    replace_file(folder / ".gitignore", f"# the loop's own files; they are never committed\n{ignore}")
    replace_file(folder / "progress.md", render(without_failed_plan(state.memory, state)))
    if state.researching:
        remove(folder / RESEARCH_FILE)  # its content has to be new
    replace_file(folder / "guardrails.md", render_guardrails(remembered.guardrails))
    remove(context.worktree / LOGS)
    (context.worktree / LOGS).mkdir()
    reported = (*(state.checks.results if state.checks else ()), *((state.plan.own,) if state.plan.own else ()))
    for path, text in check_logs(reported).items():  # for an agent that needs more than one line per failure
        replace_file(context.worktree / path, text)
    if state.config.judge.criteria:
        replace_file(folder / "JUDGE_FEEDBACK.md", feedback_file(state.judge))
        replace_file(folder / "JUDGE_EVOLUTION.md", evolution_file(state.judge))
    copy_wiki(context, state)
    return gather_facts(context, state, commit_and_tree(context.worktree)[0], remembered, now)


def gather_facts(context: LoopContext, state: LoopState, start: str, remembered: Recalled, now: datetime) -> Orientation:
    """Facts for an iteration that starts from that commit. Read only."""
    common = context.repository.common
    return Orientation(
        started_at=now,
        start_commit=start,
        commits=commits_between(common, state.base_commit, start, HISTORY_COMMITS),
        recalled=remembered,
        hat=hat_record(state),
        plan=current_item(context, state, start, small=bool(nearly_used_windows(state.usage, now))),
        template=read_template(context.repository, state.base_commit, state.config),
    )


def read_notes(context: LoopContext, state: LoopState, changed: Sequence[str] = ()) -> WorkingMemory:
    """Read the agent's progress.md, and research.md where that was its task. A missing file keeps the earlier memory.

    `changed`: files that it changed although research must not change any.
    """
    research = state.memory.research
    if state.researching:
        research = read_research_file(state, read_agent_file(context, RESEARCH_FILE) or "", changed)
    text = read_agent_file(context, "progress.md")
    if text is None:
        problems = ("the file was missing and has been recreated",)
        return state.memory.model_copy(update={"problems": problems, "research": research})
    return read(text).model_copy(update={"research": research})


def read_agent_file(context: LoopContext, name: str) -> str | None:
    """Text of a file that the agent was asked to write; None for a missing file, or a link out of the worktree."""
    data = read_within(context.worktree, f"{OWN_FOLDER}/{name}", _BYTES_PER_CHARACTER * (LONGEST_FILE + 1))
    return None if data is None else redact(data.decode("utf-8", "replace"))[: LONGEST_FILE + 1]


def copy_notes(context: LoopContext, state: LoopState) -> None:
    """Copy the judge's and the research notes out of the worktree, for people. A full disk is ignored."""
    notes = {
        "JUDGE_FEEDBACK.md": feedback_file(state.judge) if state.judge.feedback else "",
        "JUDGE_EVOLUTION.md": evolution_file(state.judge) if state.judge.notes else "",
        RESEARCH_FILE: read_agent_file(context, RESEARCH_FILE) or "",
    }
    with suppress(OSError):
        for name, text in notes.items():
            if text:
                context.folder.notes.mkdir(parents=True, exist_ok=True)
                (context.folder.notes / name).write_text(text, encoding="utf-8")


def set_up_worktree(context: LoopContext, state: LoopState) -> None:
    """Run set-up in a fresh worktree; a person's own checkout (--in-place) is skipped. Raises SetupFailed.

    Records before what is fixed from now on: programs on PATH, included files, and the repository's alternates; after it, as it
    may install hooks and packages, what is compared with the end of each iteration.
    """
    _set_up(context, state)
    record_start(context.repository, state, package_stamps(state.config.checks, context.repository.top))


def _set_up(context: LoopContext, state: LoopState) -> None:
    workspace, checkout = state.config.workspace, clean_checkout(context, state)
    if workspace.clean:
        checkout.begin()
    mark = own_folder(context.worktree) / READY if context.worktree.exists() else None
    if workspace.in_place or mark is None or mark.exists():
        return
    included = (checkout.folder if workspace.clean else context.folder.root) / "included"
    if not workspace.clean:
        copy_included(context.repository, state.base_commit, included)
    place_included(included, context.worktree)
    if workspace.setup:
        set_up(_setup_context(context, state, workspace.setup), state.config)
    mark.touch()


def tear_down(context: LoopContext, state: LoopState) -> None:
    """Run teardown where set-up ran, and remove the clean checkout. Failures are only logged: the work is done."""
    checkout = clean_checkout(context, state)
    contexts = [check_context(context, state)] if checkout.root.exists() else []
    contexts += [] if state.config.workspace.in_place or not context.worktree.exists() else [_setup_context(context, state, ())]
    try:
        for check in contexts:
            run_teardown(check, state.config)
        remove(checkout.folder)
    except (HelmsmanError, OSError) as error:
        _log.warning("the clean checkout %s could not be removed: %s", os.fspath(checkout.folder), error)


def _setup_context(context: LoopContext, state: LoopState, due: tuple[str, ...]) -> CheckContext:
    checkout = Worktree(context.worktree, setup_due=due)
    return CheckContext(checkout, f"{context.tag(state)}/set-up", context.folder.cancel.exists, sandbox=state.config.isolation)


@dataclass(frozen=True)
class ShownPrompt:
    """The prompt that was sent in an iteration, or would be."""

    loop: str
    iteration: int
    attempt: int
    sent: bool
    briefing: Briefing
    notes: tuple[str, ...] = ()  # what it does not contain


def sent_prompt(repository: Repository, state: LoopState, iteration: int, *, judge: bool) -> ShownPrompt:
    """The prompt that was sent in an iteration's last attempt. Raises OperatorError where it is not stored."""
    folder = loop_folder(repository, state.loop)
    numbers = (path.name.rpartition("-")[2] for path in folder.calls.glob(f"{folder.call(iteration, 0).name[:-1]}*"))
    for attempt in sorted((int(number) for number in numbers if number.isdecimal()), reverse=True):
        briefing = stored_briefing(CallFolder(folder.call(iteration, attempt), state.uid), judge=judge)
        if briefing is not None:
            return ShownPrompt(state.loop, iteration, attempt, sent=True, briefing=briefing)
    recipient = "judge" if judge else "agent"
    raise OperatorError(
        f"no prompt of the {recipient} is stored for iteration {iteration} of loop {state.loop}",
        expected="an iteration in which it was called, on this machine, by this version or a later one",
        found=f"iterations 1 to {state.iteration}" if state.iteration else "no finished iteration",
        remedy=f"helmsman log {state.loop}",
    )


def due_prompt(repository: Repository, state: LoopState, now: datetime, *, judge: bool) -> ShownPrompt:
    """The prompt of the next iteration, or the one that was sent where its call has started."""
    # without a worktree: everything needed is committed, and an agent may be working there
    context = LoopContext(repository, repository.common, loop_folder(repository, state.loop))
    if judge:
        if not state.config.judge.criteria:
            raise OperatorError(
                "no judge is called: there are no criteria",
                expected="judge.criteria, or criteria in RUBRIC.md",
                remedy="leave --judge out, or write criteria: helmsman rubric --help",
            )
        briefing = without_secrets(request_for(context, state).briefing)
        note = "the work on the branch; the next iteration is not in it"
        return ShownPrompt(state.loop, state.due, state.attempt, sent=False, briefing=briefing, notes=(note,))
    already_sent = stored_briefing(CallFolder(context.folder.call(state.due, state.attempt), state.uid), judge=False)
    if already_sent is not None:
        return ShownPrompt(state.loop, state.due, state.attempt, sent=True, briefing=already_sent)
    orientation = without_secrets(
        gather_facts(context, state, state.head, recall_memory(context, state, now, only_look=True), now)
    )
    config, notes = state.config, list[str]()
    if not state.iteration and state.checks is None and config.checks:
        notes.append("the checks run before the first iteration; their failures are added to its prompt")
    if config.prompt.written:
        notes.append("a model may be called before the iteration (prompt.written); its text is added to the prompt")
    briefing = without_secrets(brief(state, orientation))
    return ShownPrompt(state.loop, state.due, state.attempt, sent=False, briefing=briefing, notes=tuple(notes))


def first_prompt(repository: Repository, resolved: LoopSettings, now: datetime, *, judge: bool) -> ShownPrompt:
    """The prompt of the first iteration of a loop that starts with this configuration."""
    name = loop_id(resolved.config.goal, NAME_END)
    return due_prompt(repository, state_from_here(repository, resolved, name, now), now, judge=judge)
