"""What an iteration finds: a worktree that is set up, own files laid out, facts for the prompt; and showing what it is told."""

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from helmsman.errors import HelmsmanError, OperatorError
from helmsman.guardrails import RESEARCH_FILE
from helmsman.memory.guardrails_page import render_for_agent as render_guardrails
from helmsman.naming import loop_id
from helmsman.orient.brief import brief
from helmsman.orient.checks import LOGS, logs
from helmsman.orient.feedback import evolution_file, feedback_file
from helmsman.orient.hats import worn
from helmsman.orient.research import research_of
from helmsman.oversee.advice import planned_anew
from helmsman.oversee.limits import near
from helmsman.parsers.progress_file import LONGEST_FILE, read, render
from helmsman.records.iteration import Briefing, Orientation, WorkingMemory
from helmsman.records.lessons import Recalled
from helmsman.records.state import LoopState
from tasks.agents.call_folder import CallFolder, kept
from tasks.agents.catalogue import LoopSettings
from tasks.checks.judging import request_for
from tasks.checks.run import CheckContext, set_up
from tasks.checks.run import tear_down as run_teardown
from tasks.checks.targets import check_context, clean_checkout
from tasks.loop.remember import recalled
from tasks.loop.start import state_from_here
from tasks.loop.wiki import lay_out as lay_out_wiki
from tasks.repository.git import Repository, commit_and_tree
from tasks.repository.loop_context import LoopContext, loop_folder
from tasks.repository.objects import own_folder
from tasks.repository.own_template import own_template
from tasks.repository.plan import plan_in_hand
from tasks.repository.setup import copy_included, lay_included
from tasks.repository.worktree import Worktree, commits_between
from tasks.system.files import open_up, read_within, remove
from tasks.system.secrets import redact, without_secrets

NAME_END = "0000"  # of a loop that is not there yet; chance makes another one

READY = "helmsman-set-up"  # file in git's own folder of a worktree: it goes where the worktree goes
_log = logging.getLogger(__name__)
OWN_FOLDER = ".helmsman"
_BYTES = 4  # of one character in UTF-8 at most
HISTORY_COMMITS = 10  # commits of the branch that are shown
OWN_FILES = ".gitignore", "progress.md", "guardrails.md", RESEARCH_FILE, "JUDGE_FEEDBACK.md", "JUDGE_EVOLUTION.md", "checks"


def prepare(context: LoopContext, state: LoopState, now: datetime) -> Orientation:
    """Facts for the prompt, and the working memory laid out for the agent."""
    remembered = recalled(context, state, now)
    folder = context.worktree / OWN_FOLDER
    if folder.is_symlink() or not folder.is_dir():
        remove(folder)
        folder.mkdir()
    open_up(folder)
    ignore = "".join(f"/{name}\n" for name in OWN_FILES)
    _write_anew(folder / ".gitignore", f"# the loop's own files; they are never committed\n{ignore}")
    _write_anew(folder / "progress.md", render(planned_anew(state.memory, state)))
    if state.researching:
        remove(folder / RESEARCH_FILE)  # what it says was found now
    _write_anew(folder / "guardrails.md", render_guardrails(remembered.guardrails))
    remove(context.worktree / LOGS)
    (context.worktree / LOGS).mkdir()
    reported = (*(state.checks.results if state.checks else ()), *((state.plan.own,) if state.plan.own else ()))
    for path, text in logs(reported).items():  # for an agent that needs more than a line of each failure
        _write_anew(context.worktree / path, text)
    if state.config.judge.criteria:
        _write_anew(folder / "JUDGE_FEEDBACK.md", feedback_file(state.judge))
        _write_anew(folder / "JUDGE_EVOLUTION.md", evolution_file(state.judge))
    lay_out_wiki(context, state)
    return facts_at(context, state, commit_and_tree(context.worktree)[0], remembered, now)


def facts_at(context: LoopContext, state: LoopState, start: str, remembered: Recalled, now: datetime) -> Orientation:
    """Facts for an iteration that begins with that commit. It only looks, at the repository."""
    common = context.repository.common
    return Orientation(
        started_at=now,
        start_commit=start,
        commits=commits_between(common, state.base_commit, start, HISTORY_COMMITS),
        recalled=remembered,
        hat=worn(state),
        plan=plan_in_hand(context, state, start, small=bool(near(state.usage, now))),
        template=own_template(context.repository, state.base_commit, state.config),
    )


def read_notes(context: LoopContext, state: LoopState, changed: Sequence[str] = ()) -> WorkingMemory:
    """Read progress.md as the agent left it, and research.md where that was its task. A missing file keeps what was known.

    `changed`: files that it changed although it was to look only.
    """
    found = state.memory.research
    if state.researching:
        found = research_of(state, own_file(context, RESEARCH_FILE) or "", changed)
    text = own_file(context, "progress.md")
    if text is None:
        gone = ("the file was gone; it has been written again",)
        return state.memory.model_copy(update={"problems": gone, "research": found})
    return read(text).model_copy(update={"research": found})


def own_file(context: LoopContext, name: str) -> str | None:
    """A file that the agent was to write. A link to somewhere else is no file of ours."""
    folder = context.worktree / OWN_FOLDER
    path = folder / name
    if folder.is_symlink() or path.is_symlink() or not path.is_file():
        return None
    data = read_within(context.worktree, f"{OWN_FOLDER}/{name}", _BYTES * (LONGEST_FILE + 1))
    return None if data is None else redact(data.decode("utf-8", "replace"))[: LONGEST_FILE + 1]


def keep_notes(context: LoopContext, state: LoopState) -> None:
    """What judge and research wrote down, for people: it outlives the worktree. A disk that is full does not matter."""
    notes = {
        "JUDGE_FEEDBACK.md": feedback_file(state.judge) if state.judge.feedback else "",
        "JUDGE_EVOLUTION.md": evolution_file(state.judge) if state.judge.notes else "",
        RESEARCH_FILE: own_file(context, RESEARCH_FILE) or "",
    }
    with suppress(OSError):
        for name, text in notes.items():
            if text:
                context.folder.notes.mkdir(parents=True, exist_ok=True)
                (context.folder.notes / name).write_text(text, encoding="utf-8")


def _write_anew(path: Path, text: str) -> None:
    """Write a file of our own where the agent may have put anything: a link leads out of the worktree, a pipe blocks."""
    remove(path)
    with path.open("x", encoding="utf-8") as file:
        file.write(text)


def begin_verification(context: LoopContext, state: LoopState) -> None:
    """What holds from now on: programs on PATH, files that are included, what the repository borrows from."""
    if state.config.workspace.clean:
        clean_checkout(context, state).begin()


def ready_worktree(context: LoopContext, state: LoopState) -> None:
    """Run set-up in a fresh worktree. Raises SetupFailed. Somebody's own checkout (--in-place) is theirs to set up."""
    workspace = state.config.workspace
    mark = own_folder(context.worktree) / READY if context.worktree.exists() else None
    if workspace.in_place or mark is None or mark.exists():
        return
    begin_verification(context, state)
    included = clean_checkout(context, state).folder / "included" if workspace.clean else context.folder.root / "included"
    if not workspace.clean:
        copy_included(context.repository, state.base_commit, included)
    lay_included(included, context.worktree)
    if workspace.setup:
        set_up(_set_up_context(context, state, workspace.setup), state.config)
    mark.touch()


def tear_down(context: LoopContext, state: LoopState) -> None:
    """Run teardown where set-up ran, and remove the clean checkout. What fails is logged: the work is done."""
    checkout = clean_checkout(context, state)
    contexts = [check_context(context, state)] if checkout.root.exists() else []
    contexts += [] if state.config.workspace.in_place or not context.worktree.exists() else [_set_up_context(context, state, ())]
    try:
        for one in contexts:
            run_teardown(one, state.config)
        remove(checkout.folder)
    except (HelmsmanError, OSError) as error:
        _log.warning("the clean checkout %s could not be removed: %s", os.fspath(checkout.folder), error)


def _set_up_context(context: LoopContext, state: LoopState, due: tuple[str, ...]) -> CheckContext:
    checkout = Worktree(context.worktree, due=due)
    return CheckContext(checkout, f"{context.tag(state)}/set-up", context.folder.cancel.exists, sandbox=state.config.box)


@dataclass(frozen=True)
class ShownPrompt:
    """What was sent in an iteration, or what would be."""

    loop: str
    iteration: int
    attempt: int
    sent: bool
    briefing: Briefing
    notes: tuple[str, ...] = ()  # what is not in it


def sent_prompt(repository: Repository, state: LoopState, iteration: int, *, judge: bool) -> ShownPrompt:
    """What was sent in an iteration, at its last attempt. Raises OperatorError where nothing is kept of that."""
    folder = loop_folder(repository, state.loop)
    found = (path.name.rpartition("-")[2] for path in folder.calls.glob(f"{folder.call(iteration, 0).name[:-1]}*"))
    for attempt in sorted((int(number) for number in found if number.isdecimal()), reverse=True):
        briefing = kept(CallFolder(folder.call(iteration, attempt), state.uid), judge=judge)
        if briefing is not None:
            return ShownPrompt(state.loop, iteration, attempt, sent=True, briefing=briefing)
    asked = "judge" if judge else "agent"
    raise OperatorError(
        f"nothing is kept here of what the {asked} was sent in iteration {iteration} of loop {state.loop}",
        expected="an iteration in which it was asked, on this machine, by this version or a later one",
        found=f"iterations 1 to {state.iteration}" if state.iteration else "no finished iteration",
        remedy=f"helmsman log {state.loop}",
    )


def due_prompt(repository: Repository, state: LoopState, now: datetime, *, judge: bool) -> ShownPrompt:
    """What the iteration that is due would be sent, or was, where its call has begun."""
    # without a worktree: what is looked at is committed, and an agent may be at work there
    place = LoopContext(repository, repository.common, loop_folder(repository, state.loop))
    if judge:
        if not state.config.judge.criteria:
            raise OperatorError(
                "no judge is asked: there are no criteria",
                expected="judge.criteria, or criteria in RUBRIC.md",
                remedy="leave --judge out, or write criteria: helmsman rubric --help",
            )
        briefing = without_secrets(request_for(place, state).briefing)
        note = "the work as it stands on the branch; the iteration that is due is not in it"
        return ShownPrompt(state.loop, state.due, state.attempt, sent=False, briefing=briefing, notes=(note,))
    begun = kept(CallFolder(place.folder.call(state.due, state.attempt), state.uid), judge=False)
    if begun is not None:
        return ShownPrompt(state.loop, state.due, state.attempt, sent=True, briefing=begun)
    orientation = without_secrets(facts_at(place, state, state.head, recalled(place, state, now, only_look=True), now))
    config, notes = state.config, list[str]()
    if not state.iteration and state.checks is None and config.baseline and config.checks:
        notes.append("the checks run before the first iteration; what fails then stands in its prompt too")
    if config.prompt.written:
        notes.append("a model may be asked before the iteration (prompt.written); what it writes then stands in the prompt too")
    briefing = without_secrets(brief(state, orientation))
    return ShownPrompt(state.loop, state.due, state.attempt, sent=False, briefing=briefing, notes=tuple(notes))


def first_prompt(repository: Repository, resolved: LoopSettings, now: datetime, *, judge: bool) -> ShownPrompt:
    """What the first iteration of a loop would be sent that is started with this configuration."""
    name = loop_id(resolved.config.goal, NAME_END)
    return due_prompt(repository, state_from_here(repository, resolved, name, now), now, judge=judge)
