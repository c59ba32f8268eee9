"""Read-only commands: status, list, log, explain, report, config, prompt. They read the repository and need no engine."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import reduce
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from deployments.choosing import chosen_loop, continue_text, driver_of, interruption, is_group, lock_owner
from deployments.output import fields, in_local_time, print_result, write_file, write_stdout
from deployments.settings import configuration
from deployments.start_directory import STANDARD_STREAM
from helmsman import texts
from helmsman.agents import describe_briefly
from helmsman.config.base import Owner
from helmsman.config.layers import describe, leaves
from helmsman.config.owners import OWNERS
from helmsman.errors import HelmsmanError, OperatorError
from helmsman.orient.hats import hat_record
from helmsman.oversee.limits import describe_window, open_windows
from helmsman.plain import clean, clean_lines
from helmsman.records.advance import SALVAGES_REMEMBERED
from helmsman.records.decision import Outcome
from helmsman.records.iteration import IterationRecord
from helmsman.records.result import LoopResult, result_of
from helmsman.records.state import LoopState
from helmsman.render.activity import Activity, apply_event
from helmsman.render.facts import finding_facts, hat_fact
from helmsman.render.gate import answered_lines, gate_lines
from helmsman.render.lines import explanation_lines, iteration_lines, list_lines, next_lines, steering_lines
from helmsman.render.report import MOST_SHOWN, html_report
from helmsman.tokens import tokens
from tasks.approvals.answers import find_answer
from tasks.observers.follow import last_entries
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import group_folder, loop_folder, loops_of_group, worktree_of
from tasks.repository.state_ref import (
    ShownState,
    list_loops,
    read_interruptions,
    read_records,
    salvage_refs,
    show_state,
    state_ref,
)
from tasks.system.paths import LoopFolder

PAGE = "report.html"
DEFAULT = "default"


def show_status(repo: Path, loop: str | None, *, as_json: bool) -> None:
    repository = open_repository(repo)
    if loop is not None and is_group(repository, loop):
        names = loops_of_group(repository, loop)  # `helmsman list` reports those with an unreadable state
        loops = [shown for shown in list_loops(repository) if shown.state.loop in names]
        driver = lock_owner(group_folder(repository, loop).lock)
        driven_by = driver or "none; run the command that started it again to continue"
        rows = fields([("group", f"{loop}, {texts.plural(len(loops), 'loop')}"), ("driven by", driven_by)])
        data = {"group": loop, "driver": driver, "loops": [_result_of(shown).model_dump(mode="json") for shown in loops]}
        print_result(data, chain(rows, _list_lines(repository, loops)), as_json=as_json)
        return
    shown = show_state(repository, chosen_loop(repository, loop))
    state = shown.state
    result, driver = _result_of(shown), driver_of(repository, state.loop)
    gate = state.gate.model_dump(mode="json", exclude_defaults=True) if state.gate else None
    more = {"driver": driver, "trust": state.trust.score, "gate": gate, "untold": state.untold}
    plan_fields = {"total", "done", "now", "tries", "missing", "ticked"}
    plan = {"plan": state.plan.model_dump(mode="json", include=plan_fields)} if state.plan.total else {}
    lines = _status_lines(repository, state, result, driver or "") if not as_json else ()
    print_result({**result.model_dump(mode="json"), **more, **plan}, map(in_local_time, lines), as_json=as_json)


def _status_lines(repository: Repository, state: LoopState, result: LoopResult, driver: str) -> Sequence[str]:
    """Lines of a loop's status; empty parts are omitted."""
    folder, worktree = loop_folder(repository, state.loop), worktree_of(repository, state.loop, state.config.workspace)
    return (
        *texts.result_lines(result, driver=driver, interrupted=interruption(repository, state)),
        *([f"agent      {describe_briefly(state.agent.kind)}"] if state.agent else ()),
        *texts.standing_lines(state),
        *(f"usage      {describe_window(window)}" for window in open_windows(state.usage, datetime.now(UTC))),
        *([hat_fact(due).line] if (due := hat_record(state)) and state.ending is None else ()),
        *(steering_lines(state.oversight, state.config) if state.past_iterations else ()),
        *(fact.line for fact in finding_facts(state.findings) if not fact.is_detail),
        *([_activity_line(folder, state)] if driver else ()),
        *([f"worktree   {clean(str(worktree))}"] if worktree.exists() else ()),
        *(f"salvaged   {ref}" for ref in salvage_refs(repository, state.loop)[-SALVAGES_REMEMBERED:]),
        *([f"undone     {state.failed.ref}: {clean(state.failed.why)}"] if state.failed else ()),
        *_question_lines(repository, state, driven=bool(driver)),
        *(() if driver or state.gate else next_lines(result, again=continue_text(repository, state.loop))),
    )


def _question_lines(repository: Repository, state: LoopState, *, driven: bool) -> Sequence[str]:
    """The open question, or the answer that waits for a process of the loop."""
    answer = None
    if state.gate is None:
        return ()
    with suppress(HelmsmanError):  # the process that reads it reports it
        answer = find_answer(loop_folder(repository, state.loop).answers, state.uid, state.gate.key)
    if answer is None:
        return gate_lines(state.gate, state.loop)
    return answered_lines(state.gate, answer, state.loop, "" if driven else continue_text(repository, state.loop))


def _activity_line(folder: LoopFolder, state: LoopState) -> str:
    """Current activity of the driver, from the end of its journal."""
    now = reduce(apply_event, last_entries(folder.journal), Activity())
    detail = f" – {now.lines[-1]}" if now.lines and now.step == "execute" else ""
    spent = f"{texts.format_dollars(now.used.cost_usd, state.untold)} and {texts.format_tokens(now.used.tokens, state.untold)}"
    cost = f", {spent} so far" if now.used.tokens or now.used.cost_usd else ""
    return f"now        #{now.iteration} {clean(now.step)}{detail}{cost}" if now.step else ""


def show_list(repo: Path, *, as_json: bool) -> None:
    repository = open_repository(repo)
    unreadable: list[OperatorError] = []
    loops = list_loops(repository, unreadable.append)
    for error in unreadable:  # the others are listed all the same
        print(clean_lines(str(error)), file=sys.stderr)
    nothing = [] if unreadable else ["no loop was started in this repository yet; start one with: helmsman run GOAL --check CMD"]
    lines = _list_lines(repository, loops) if loops else nothing
    print_result([_result_of(shown).model_dump(mode="json") for shown in loops], lines, as_json=as_json)


def _list_lines(repository: Repository, loops: Sequence[ShownState]) -> Iterator[str]:
    return map(in_local_time, list_lines((loop.state, _status_word(repository, loop.state), loop.unverified) for loop in loops))


def _status_word(repository: Repository, state: LoopState) -> str:
    """Outcome or state of the driver in a word. An open question comes before both: somebody has to act."""
    if state.outcome is None and state.gate is not None:
        return texts.SIGNS[Outcome.WAITING]
    if state.outcome is None and driver_of(repository, state.loop):
        return "▶ running"
    return "✘ interrupted" if interruption(repository, state) else texts.SIGNS[state.outcome]


def _result_of(shown: ShownState) -> LoopResult:
    return result_of(shown.state, state_ref(shown.state.loop), shown.unverified)


def existing_loop(repository: Repository, loop: str) -> LoopState:
    """State of a loop, with a warning on standard error if unverified. Raises OperatorError if it does not exist."""
    shown = show_state(repository, loop)
    if shown.unverified:
        print(f"unverified: {clean(shown.unverified)}: do not trust the following", file=sys.stderr)
    return shown.state


def show_log(repo: Path, loop: str, iteration: int | None, *, as_json: bool) -> None:
    repository = open_repository(repo)
    existing_loop(repository, loop)
    if iteration is not None:
        record = _find_record(repository, loop, iteration)
        lines = chain(iteration_lines(record), _evidence_lines(repository, record))
        print_result(record, map(in_local_time, lines), as_json=as_json)
        return
    records = list(read_records(repository, loop))[::-1]
    lines, cuts = list[str](), read_interruptions(repository, loop) if not as_json else []
    for record in records:
        while cuts and cuts[0][0] <= record.iteration:  # attempts interrupted before that iteration
            lines.append(clean(f"    cut off    {cuts.pop(0)[1]}"))
        lines += iteration_lines(record) if not as_json else ()
    lines += (clean(f"    cut off    {reason}") for _, reason in cuts)
    lines += [] if records else ["no iteration has ended yet"]
    plain = [record.model_dump(mode="json") for record in records] if as_json else None
    print_result(plain, map(in_local_time, lines), as_json=as_json)


def show_explanation(repo: Path, loop: str, iteration: int | None, *, as_json: bool) -> None:
    repository = open_repository(repo)
    existing_loop(repository, loop)
    record = _find_record(repository, loop, iteration)
    included = {"decision", "signals", "oversight", "moment", "failed", "iteration", "attempt", "hat"}
    plain = json.loads(record.model_dump_json(include=included)) if as_json else None
    print_result(plain, map(in_local_time, explanation_lines(record)), as_json=as_json)


def _find_record(repository: Repository, loop: str, iteration: int | None) -> IterationRecord:
    """Newest record of that iteration, or of the loop."""
    records = read_records(repository, loop)
    record = next((candidate for candidate in records if iteration in {None, candidate.iteration}), None)
    if record is None:
        which = "finished iteration" if iteration is None else f"finished iteration {iteration}"
        raise OperatorError(f"loop {loop} has no {which}", remedy=f"helmsman log {loop}")
    return record


def _evidence_lines(repository: Repository, record: IterationRecord) -> Iterator[str]:
    folder = loop_folder(repository, record.loop).call(record.iteration, record.attempt)
    change = record.execution.change
    yield from ("", "--- the agent's last message", clean_lines(record.execution.call.final_text))
    yield from ("", f"--- commits {change.start[:10]}..{change.commit[:10]}")
    yield from (f"{commit.id[:10]} {clean(commit.subject)}" for commit in change.commits)
    for result in record.checks.results if record.checks else ():
        yield from ("", f"--- {clean(result.command)} ({result.seconds:.1f} s)", clean_lines(result.head))
        yield from [clean_lines(result.tail)] if result.tail else []
    yield from ("", f"prompt and transcript: {folder}")


def report(repo: Path, loop: str, output: Path | None) -> None:
    """Write the HTML report and print its path. None: in the loop's own folder; `-`: to standard output."""
    repository = open_repository(repo)
    text = report_page(repository, loop)
    if output == STANDARD_STREAM:
        write_stdout(text)
        return
    path = output or loop_folder(repository, loop).root / PAGE
    if output is None:
        path.parent.mkdir(parents=True, exist_ok=True)  # a clone has the loop but not its folder
    write_file(path, text, "the report", "choose another file with -o FILE, or print it with -o -")
    print(clean(str(path.absolute())))


def report_page(repository: Repository, loop: str) -> str:
    """HTML report of a loop with its newest iterations."""
    shown = show_state(repository, loop)
    newest_first = list(islice(read_records(repository, loop), MOST_SHOWN + 1))
    cut = len(newest_first) > MOST_SHOWN
    return html_report(shown.state, newest_first[:MOST_SHOWN][::-1], state_ref(loop), shown.unverified, cut=cut)


# Configuration of a new loop, with the sources of its values, and the prompts for agent and judge, by section.


def show_configuration(repo: Path, *, key: str, changed: bool, as_json: bool, **options: Any) -> None:
    """Print the configuration. `key`: a key or a section; empty: all. Raises OperatorError for an unknown one."""
    resolved = configuration(open_repository(repo, unborn=True), options, goal_later=True)
    origins = resolved.origins
    leaf = leaves(resolved.config).items()
    values = {name: value for name, value in leaf if not key or name == key or name.startswith(f"{key}.")}
    if not values:
        describe(key)  # raises with a suggestion
    if changed:
        values = {name: value for name, value in values.items() if origins[name] != DEFAULT}
    rows, lines = dict[str, dict[str, Any]](), list[str]()
    for name, value in values.items():
        json_value, owner = TypeAdapter[Any](Any).dump_python(value, mode="json", exclude_defaults=True), OWNERS[name]
        rows[name] = {"value": json_value, "source": origins[name], "owner": owner}
        note = "; operator's key" if owner is Owner.OPERATOR else ""  # only the exceptions are marked
        lines.append(clean(f"{name} = {json.dumps(json_value, ensure_ascii=False)}   # {origins[name]}{note}"))
        lines += [f"    {describe(name)}"] if origins[name] == DEFAULT else []
    print_result(rows, lines or ["nothing differs from the defaults"], as_json=as_json)


def show_prompt(
    repo: Path, loop: str | None, iteration: int | None, settings: Sequence[str] | None, *, judge: bool, as_json: bool
) -> None:
    from tasks.loop.prepare import due_prompt, first_prompt, sent_prompt  # slow to import; only needed here

    repository = open_repository(repo)
    if loop is None and iteration is not None:
        remedy = "name one of `helmsman list`: helmsman prompt LOOP --iteration N"
        raise OperatorError("--iteration needs a loop", remedy=remedy)
    if loop is not None and settings:
        raise OperatorError("--set applies to a loop that does not exist yet", remedy="omit LOOP or --set")
    if loop is None:
        shown = first_prompt(repository, configuration(repository, {"settings": settings}), datetime.now(UTC), judge=judge)
    elif iteration is None:
        shown = due_prompt(repository, existing_loop(repository, loop), datetime.now(UTC), judge=judge)
    else:
        shown = sent_prompt(repository, existing_loop(repository, loop), iteration, judge=judge)
    briefing = shown.briefing
    data = {
        "loop": shown.loop,
        "iteration": shown.iteration,
        "attempt": shown.attempt,
        "sent": shown.sent,
        "system": briefing.system,
        "message": briefing.prompt,
        "tokens": {"system": tokens(briefing.system), "message": tokens(briefing.prompt)},
        "sections": [{"name": name, "tokens": size, "trimmed": name in briefing.trimmed} for name, size in briefing.sections],
        "notes": list(shown.notes),
    }
    again = f", attempt {shown.attempt}" if shown.attempt > 1 else ""
    parts = ", ".join(f"{name} {size}{' (cut)' * (name in briefing.trimmed)}" for name, size in briefing.sections)
    when = "as it was sent" if shown.sent else "as it would be sent now"
    lines = (
        f"iteration  {shown.iteration}{again} of loop {shown.loop}, {when}",
        f"system     {texts.plural(tokens(briefing.system), 'token')}",
        f"message    {texts.plural(tokens(briefing.prompt), 'token')}: {parts}",
        *(f"note       {note}" for note in shown.notes),
        # both texts unchanged except for terminal control sequences
        *("", "--- system", clean_lines(briefing.system), "", "--- message", clean_lines(briefing.prompt)),
    )
    print_result(data, lines, as_json=as_json)
