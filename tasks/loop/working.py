"""What the steps do in the loop's worktree: look, have the agent work, check, remember."""

import hashlib
import json
import shutil
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from helmsman.config import CheckConfig, LoopConfig
from helmsman.errors import Cancelled
from helmsman.guardrails import RESEARCH_FILE
from helmsman.memory.guardrails_page import render_for_agent as render_guardrails
from helmsman.orient.checks import LOGS, logs
from helmsman.orient.feedback import evolution_file, feedback_file
from helmsman.orient.hats import worn
from helmsman.orient.progress import LONGEST_FILE, read, render
from helmsman.orient.research import research_of, researching
from helmsman.orient.sessions import session_to_resume
from helmsman.oversee.advice import planned_anew
from helmsman.oversee.limits import near
from helmsman.parsers.status import read_ending
from helmsman.records.agents import prints_text
from helmsman.records.briefing import Briefing, Orientation
from helmsman.records.checks import CheckReport, CheckResult, TrustedCopy
from helmsman.records.events import MemoryNoted
from helmsman.records.evidence import Execution
from helmsman.records.lessons import Guardrail, Recalled
from helmsman.records.memory import WorkingMemory
from helmsman.records.plan import PlanItem
from helmsman.records.proof import SinceStart
from helmsman.records.state import LoopState
from helmsman.verify.completion import required_tests
from tasks.agents.briefings import keep_briefing
from tasks.agents.call_folder import CallFolder
from tasks.agents.calling import call_agent
from tasks.agents.order import Order
from tasks.checking.auditing import put_back_protected
from tasks.checking.checks import run_checks
from tasks.checking.hidden import run_hidden
from tasks.checking.mutating import mutants_in
from tasks.checking.neighbours import looked_up_in
from tasks.checking.only_there import explained
from tasks.checking.rooms import room_of, work_of
from tasks.checking.targets import Shown, Target, failed_by_setup, run_on_start, run_trusted, with_checks
from tasks.checking.trusted_run import changed_since_start, tests_as_they_were
from tasks.loop.merge_work import stand_on
from tasks.loop.plan import plan_in_hand
from tasks.loop.plan import put_back as put_back_plan
from tasks.loop.remember import recalled
from tasks.loop.wiki import lay_out as lay_out_wiki
from tasks.observers.journal import publish
from tasks.repository.git import commit_and_tree
from tasks.repository.hidden import keep_output, require_known
from tasks.repository.own_template import own_template
from tasks.repository.setup import SetupFailed
from tasks.sandbox.taking import take_over_work
from tasks.system.files import read_within
from tasks.system.secrets import redact
from tasks.worktrees.rollback import take_back
from tasks.worktrees.staging import open_up
from tasks.worktrees.workplace import Workplace
from tasks.worktrees.worktree import commits_between, measure_change, settle_work

OWN_FOLDER = ".helmsman"
_BYTES = 4
"""Of one character in UTF-8 at most."""
OWN_FILES = ".gitignore", "progress.md", "guardrails.md", RESEARCH_FILE, "JUDGE_FEEDBACK.md", "JUDGE_EVOLUTION.md", "checks"


def gather(place: Workplace, state: LoopState, now: datetime) -> Orientation:
    """Facts for the prompt, and the working memory laid out for the agent."""
    remembered = recalled(place, state, now)
    _lay_out_memory(place, state, remembered.guardrails)
    if problems := lay_out_wiki(place, state):
        publish(MemoryNoted(lines=problems))
    return facts_at(place, state, commit_and_tree(place.worktree)[0], remembered, now)


def facts_at(place: Workplace, state: LoopState, start: str, remembered: Recalled, now: datetime) -> Orientation:
    """Facts for an iteration that begins with that commit. It only looks, at the repository."""
    common = place.repository.common
    return Orientation(
        started_at=now,
        start_commit=start,
        commits=commits_between(common, state.base_commit, start, state.config.prompt.history_commits),
        recalled=remembered,
        hat=worn(state),
        plan=plan_in_hand(place, state, start, small=bool(near(state.config.usage_limit, state.usage, now))),
        template=own_template(place.repository, state.base_commit, state.config),
    )


def execute(
    place: Workplace, state: LoopState, briefing: Briefing, orientation: Orientation, credentials: dict[str, str]
) -> Execution:
    """Have the agent work, then commit what it left and measure what it changed."""
    start = orientation.start_commit
    session = session_to_resume(state, orientation.started_at)
    stop = place.folder.cancel.exists
    item = orientation.plan.item.check if orientation.plan and orientation.plan.item else ""
    folder = CallFolder(place.folder.call(state.due, state.attempt), state.uid)
    keep_briefing(folder, briefing)
    call = call_agent(Order(place, state, briefing.prompt, start, session, credentials, stop, item, briefing.system))
    take_over_work(place, state)
    change = settle_work(place.repository, place.worktree, state, start)
    if researching(state):
        put_back = take_back(place, state, start)
    else:
        put_back = put_back_protected(place, state, change.commit) if state.config.invariants.revert else ()
    touched = None if researching(state) else put_back_plan(place, state, start)
    if put_back or touched:
        change = measure_change(place.worktree, start)
    transcript = str(folder.packed.relative_to(place.folder.root)) if folder.packed.exists() else ""
    return Execution(call=call, change=change, put_back=put_back, transcript=transcript, plan=touched)


def check(place: Workplace, state: LoopState, execution: Execution) -> CheckReport:
    """Run the checks on the tree that the iteration ended with."""
    change = execution.change
    report = _checked(place, state, Target(change.commit, change.tree, state.config))
    if not (report.clean and report.failures and report.conclusive and _asks_to_be_done(state, execution)):
        return report
    try:
        return explained(room_of(place, state), place.worktree, change.commit, report, state.config)
    finally:
        stand_on(place, state, change.commit, checked=change.commit)


def _asks_to_be_done(state: LoopState, execution: Execution) -> bool:
    promise = state.config.completion.promise
    return read_ending(execution.call.final_text, promise, only_at_end=prints_text(state.agent)).wants_to_finish


def check_base(place: Workplace, state: LoopState, tree: str) -> CheckReport:
    """Run the checks on the tree that the loop begins with. Raises SetupFailed."""
    return _run(place, state, Target(state.head, tree, state.config))


def check_item(place: Workplace, state: LoopState, execution: Execution, item: PlanItem) -> CheckReport:
    """Run the own check of a plan's item on the tree that the iteration ended with."""
    config = with_checks(state.config, (CheckConfig(command=item.check),))
    return _checked(place, state, Target(execution.change.commit, execution.change.tree, config))


def check_trusted(
    place: Workplace, state: LoopState, execution: Execution, checks: tuple[CheckConfig, ...], *, tests: bool = False
) -> TrustedCopy:
    """Run those checks on the tree that the iteration ended with, its protected files as they were when the loop began.

    `tests`: its tests instead.
    """
    work = work_of(place, state, execution.change.commit, checks)
    return run_trusted(work, execution.change.tree, partial(_checked, place, state), tests=tests)


def compare_with_start(place: Workplace, state: LoopState, execution: Execution, report: CheckReport, *, run: bool) -> SinceStart:
    """What differs from the start. `run`: run the work's tests on the source of the start as well."""
    change = execution.change
    work = work_of(place, state, change.commit)
    changed = changed_since_start(work)
    shown = run_on_start(work, change.tree, changed, report, partial(_checked, place, state)) if run else Shown()
    tests_changed = bool(tests_as_they_were(work, changed))
    asked = state.config.workspace.clean and bool(changed)
    answers = looked_up_in(room_of(place, state), work) if asked and state.config.proof.neighbours else ()
    mutants = mutants_in(room_of(place, state), work, report) if asked and state.config.proof.mutants else None
    return SinceStart(
        unchanged=not changed,
        tests_changed=tests_changed,
        failing=shown.failing,
        tests=shown.tests,
        on_start=shown.report.without_output if shown.report else None,
        looked_up=answers,
        mutants=mutants,
    )


def check_hidden(place: Workplace, state: LoopState, commit: str, name: str) -> tuple[CheckResult, ...]:
    """Which of the hidden checks pass on a commit; what they are and print is kept under `name`, for people alone."""
    require_known(state)
    results = run_hidden(room_of(place, state), work_of(place, state, commit))
    keep_output(state.uid, name, results)
    return tuple(result.unseen for result in results)


def check_merge(place: Workplace, state: LoopState, commit: str, tree: str) -> CheckReport:
    """Run the checks on a commit that the loop is not at."""
    return _checked(place, state, Target(commit, tree, state.config, stay=state.head))


def _checked(place: Workplace, state: LoopState, target: Target) -> CheckReport:
    """What the checks say; where the commit's own set-up fails, which was well when the loop began, all of them fail by that."""
    try:
        return _run(place, state, target)
    except SetupFailed as error:
        return failed_by_setup(target, error)


def _run(place: Workplace, state: LoopState, target: Target) -> CheckReport:
    room, commit = room_of(place, state), target.commit
    if room.checkout.clean:
        return run_checks(room, commit, target.tree, target.config, target.overlay)
    try:
        report = run_checks(room, commit, target.tree, target.config, target.overlay)
    except Cancelled:
        stand_on(place, state, target.stay or commit, checked=commit)
        raise
    stand_on(place, state, target.stay or commit, checked=commit)
    return report


def checks_fingerprint(config: LoopConfig) -> str:
    """Changes when any check does, or what is looked for in it: a report speaks only for what made it."""
    asked = [[check.model_dump(mode="json") for check in config.checks], required_tests(config), config.flaky.model_dump()]
    asked += [[config.workspace.clean, config.workspace.setup]]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def trusted_fingerprint(state: LoopState, checks: Sequence[CheckConfig]) -> str:
    """Changes when any of these checks does, or what is kept as it was, or since when."""
    kept = state.config.invariants.model_dump(mode="json", include={"protect", "trusted", "allow"})
    where = [state.config.workspace.clean, state.config.workspace.setup]
    asked = [[check.model_dump(mode="json") for check in checks], kept, state.base_commit, state.config.flaky.model_dump(), where]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def fold_memory(place: Workplace, state: LoopState, changed: Sequence[str] = ()) -> WorkingMemory:
    """Read progress.md as the agent left it, and research.md where that was its task. A missing file keeps what was known.

    `changed`: files that it changed although it was to look only.
    """
    found = state.memory.research
    if researching(state):
        found = research_of(state, own_file(place, RESEARCH_FILE) or "", changed)
    text = own_file(place, "progress.md")
    if text is None:
        gone = ("the file was gone; it has been written again",)
        return state.memory.model_copy(update={"problems": gone, "research": found})
    return read(text).model_copy(update={"research": found})


def own_file(place: Workplace, name: str) -> str | None:
    """A file that the agent was to write. A link to somewhere else is no file of ours."""
    folder = place.worktree / OWN_FOLDER
    path = folder / name
    if folder.is_symlink() or path.is_symlink() or not path.is_file():
        return None
    data = read_within(place.worktree, f"{OWN_FOLDER}/{name}", _BYTES * (LONGEST_FILE + 1))
    return None if data is None else redact(data.decode("utf-8", "replace"))[: LONGEST_FILE + 1]


def _lay_out_memory(place: Workplace, state: LoopState, guardrails: Sequence[Guardrail]) -> None:
    folder = place.worktree / OWN_FOLDER
    if folder.is_symlink() or not folder.is_dir():
        _remove(folder)
        folder.mkdir()
    open_up(folder)
    ignore = "".join(f"/{name}\n" for name in OWN_FILES)
    _write_anew(folder / ".gitignore", f"# the loop's own files; they are never committed\n{ignore}")
    _write_anew(folder / "progress.md", render(planned_anew(state.memory, state)))
    if researching(state):
        _remove(folder / RESEARCH_FILE)  # what it says was found now
    _write_anew(folder / "guardrails.md", render_guardrails(guardrails))
    _lay_out_logs(place, state)
    if state.config.judge.criteria:
        _write_anew(folder / "JUDGE_FEEDBACK.md", feedback_file(state.judge))
        _write_anew(folder / "JUDGE_EVOLUTION.md", evolution_file(state.judge))


def _lay_out_logs(place: Workplace, state: LoopState) -> None:
    """What the failing checks printed, for an agent that needs more than a line of each failure."""
    _remove(place.worktree / LOGS)
    (place.worktree / LOGS).mkdir()
    reported = state.checks.results if state.checks else ()
    for path, text in logs((*reported, *((state.plan.own,) if state.plan.own else ()))).items():
        _write_anew(place.worktree / path, text)


def _write_anew(path: Path, text: str) -> None:
    """Write a file of our own where the agent may have put anything: a link leads out of the worktree, a pipe blocks."""
    _remove(path)
    with path.open("x", encoding="utf-8") as file:
        file.write(text)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
