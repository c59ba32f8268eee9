"""Commands that only look: status, list, log, explain, report. They read the repository and need no engine."""

import json
import sys
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import chain, islice
from pathlib import Path

from deployments.choosing import chosen_loop, driver_of, held_by, interruption, is_group, listed
from deployments.lines import as_wide_as_the_screen
from deployments.output import answer, emit, fields, write_file
from deployments.start_directory import STANDARD_STREAM
from helmsman import texts
from helmsman.agents.fitting import in_short
from helmsman.errors import OperatorError
from helmsman.orient.hats import worn
from helmsman.oversee.limits import in_words, open_windows
from helmsman.plain import clean, clean_lines
from helmsman.records.advance import SALVAGES_REMEMBERED
from helmsman.records.iteration import IterationRecord
from helmsman.records.result import LoopResult, result_of
from helmsman.records.state import LoopState
from helmsman.render.activity import Activity, after
from helmsman.render.facts import finding_facts, hat_fact
from helmsman.render.gate import gate_lines
from helmsman.render.lines import explanation, iteration_lines, list_lines, next_lines, steering_lines
from helmsman.render.report import MOST_SHOWN, html_report
from tasks.observers.follow import last_entries
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import group_folder, loop_folder, worktree_of
from tasks.repository.state_ref import Shown, list_loops, read_cuts, read_records, salvage_refs, show_state, state_ref
from tasks.system.clock import now_utc
from tasks.system.paths import LoopFolder

PAGE = "report.html"


def show_status(repo: Path, loop: str | None, *, as_json: bool) -> None:
    repository = open_repository(repo)
    if loop is not None and is_group(repository, loop):
        # its loops are called `GROUP-…`; one whose state cannot be read is in `helmsman list` with the reason
        loops = [shown for shown in list_loops(repository) if shown.state.loop.startswith(f"{loop}-")]
        driver = held_by(group_folder(repository, loop).lock)
        who = driver or "none now; the command that started it continues it"
        rows = fields([("group", f"{loop}, {texts.plural(len(loops), 'loop')}"), ("driven by", who)])
        told = {"group": loop, "driver": driver, "loops": [_result(shown).model_dump(mode="json") for shown in loops]}
        answer(told, chain(rows, _listed(repository, loops)), as_json=as_json)
        return
    shown = show_state(repository, chosen_loop(repository, loop))
    state = shown.state
    result, driver = _result(shown), driver_of(repository, state.loop)
    gate = state.gate.model_dump(mode="json", exclude_defaults=True) if state.gate else None
    known = {"driver": driver, "trust": state.trust.score, "gate": gate, "untold": state.untold}
    told = {"total", "done", "now", "tries", "missing", "ticked"}
    plan = {"plan": state.plan.model_dump(mode="json", include=told)} if state.plan.total else {}
    lines = _status_lines(repository, state, result, driver or "") if not as_json else ()
    answer({**result.model_dump(mode="json"), **known, **plan}, as_wide_as_the_screen(lines), as_json=as_json)


def _status_lines(repository: Repository, state: LoopState, result: LoopResult, driver: str) -> Sequence[str]:
    """What there is to tell of a loop, and nothing of what there is not."""
    folder, worktree = loop_folder(repository, state.loop), worktree_of(repository, state.loop, state.config.workspace)
    return (
        *texts.result_lines(result, driver=driver, interrupted=interruption(repository, state)),
        *([f"agent      {in_short(state.agent.kind)}"] if state.agent else ()),
        *texts.standing_lines(state),
        *(f"usage      {in_words(window)}" for window in open_windows(state.usage, now_utc())),
        *([hat_fact(due).line] if (due := worn(state)) and state.ending is None else ()),
        *(steering_lines(state.oversight, state.config) if state.worked else ()),
        *(fact.line for fact in finding_facts(state.findings) if not fact.is_detail),
        *([_now(folder, state)] if driver else ()),
        *([f"worktree   {clean(str(worktree))}"] if worktree.exists() else ()),
        *(f"salvaged   {ref}" for ref in salvage_refs(repository, state.loop)[-SALVAGES_REMEMBERED:]),
        *([f"taken off  {state.failed.ref}: {clean(state.failed.why)}"] if state.failed else ()),
        *(gate_lines(state.gate, state.loop) if state.gate else ()),
        *(() if driver or state.gate else next_lines(result)),
    )


def _now(folder: LoopFolder, state: LoopState) -> str:
    """What the driver is doing at this moment, from the end of its journal."""
    now = reduce(after, last_entries(folder.journal), Activity())
    detail = f" – {now.calls[-1].text}" if now.calls and now.step == "execute" else ""
    told = f"{texts.format_dollars(now.used.cost_usd, state.untold)} and {texts.format_tokens(now.used.tokens, state.untold)}"
    cost = f", {told} so far" if now.used.tokens or now.used.cost_usd else ""
    return f"now        #{now.iteration} {clean(now.step)}{detail}{cost}" if now.step else ""


def show_list(repo: Path, *, as_json: bool) -> None:
    repository = open_repository(repo)
    unreadable: list[OperatorError] = []
    loops = list_loops(repository, unreadable.append)
    for error in unreadable:  # it hides none of the others
        print(clean_lines(str(error)), file=sys.stderr)
    nothing = [] if unreadable else ["no loop was started in this repository yet; start one with: helmsman run GOAL --check CMD"]
    lines = _listed(repository, loops) if loops else nothing
    answer([_result(shown).model_dump(mode="json") for shown in loops], lines, as_json=as_json)


def _listed(repository: Repository, loops: Sequence[Shown]) -> Iterator[str]:
    return as_wide_as_the_screen(list_lines([listed(repository, shown) for shown in loops], now_utc()))


def _result(shown: Shown) -> LoopResult:
    return result_of(shown.state, state_ref(shown.state.loop), shown.unverified)


def existing_loop(repository: Repository, loop: str) -> LoopState:
    """Raises OperatorError where there is none. Says beside the output, which may be read by a program, what to think of it."""
    found = show_state(repository, loop)
    if found.unverified:
        print(f"unverified: {clean(found.unverified)}: do not trust what follows", file=sys.stderr)
    return found.state


def show_log(repo: Path, loop: str, iteration: int | None, *, as_json: bool) -> None:
    repository = open_repository(repo)
    existing_loop(repository, loop)
    if iteration is not None:
        record = _record(repository, loop, iteration)
        lines = chain(iteration_lines(record), _evidence(repository, record))
        answer(record, as_wide_as_the_screen(lines), as_json=as_json)
        return
    records = list(read_records(repository, loop))[::-1]
    lines, cuts = list[str](), read_cuts(repository, loop) if not as_json else []
    for record in records:
        while cuts and cuts[0][0] <= record.iteration:  # attempts that were cut off until then
            lines.append(clean(f"    cut off    {cuts.pop(0)[1]}"))
        lines += iteration_lines(record) if not as_json else ()
    lines += (clean(f"    cut off    {words}") for _, words in cuts)
    lines += [] if records else ["no iteration has ended yet"]
    plain = [record.model_dump(mode="json") for record in records] if as_json else None
    answer(plain, as_wide_as_the_screen(lines), as_json=as_json)


def show_explanation(repo: Path, loop: str, iteration: int | None, *, as_json: bool) -> None:
    repository = open_repository(repo)
    existing_loop(repository, loop)
    record = _record(repository, loop, iteration)
    told = {"decision", "signals", "oversight", "moment", "failed", "iteration", "attempt", "hat"}
    plain = json.loads(record.model_dump_json(include=told)) if as_json else None
    answer(plain, as_wide_as_the_screen(explanation(record)), as_json=as_json)


def _record(repository: Repository, loop: str, iteration: int | None) -> IterationRecord:
    """The newest of that iteration's attempts, or the newest of all."""
    records = read_records(repository, loop)
    record = next((found for found in records if iteration in {None, found.iteration}), None)
    if record is None:
        which = "finished iteration" if iteration is None else f"finished iteration {iteration}"
        raise OperatorError(f"loop {loop} has no {which}", remedy=f"helmsman log {loop}")
    return record


def _evidence(repository: Repository, record: IterationRecord) -> Iterator[str]:
    folder = loop_folder(repository, record.loop).call(record.iteration, record.attempt)
    change = record.execution.change
    yield from ("", "--- the agent's last words", clean_lines(record.execution.call.final_text))
    yield from ("", f"--- commits {change.start[:10]}..{change.commit[:10]}")
    yield from (f"{commit.id[:10]} {clean(commit.subject)}" for commit in change.commits)
    for result in record.checks.results if record.checks else ():
        yield from ("", f"--- {clean(result.command)} ({result.seconds:.1f} s)", clean_lines(result.head))
        yield from [clean_lines(result.tail)] if result.tail else []
    yield from ("", f"prompt and transcript: {folder}")


def report(repo: Path, loop: str, output: Path | None) -> None:
    """Write the page and print where it is. None: into the loop's own folder; `-`: to standard output."""
    repository = open_repository(repo)
    text = report_page(repository, loop)
    if output == STANDARD_STREAM:
        emit(text)
        return
    path = output or loop_folder(repository, loop).root / PAGE
    if output is None:
        path.parent.mkdir(parents=True, exist_ok=True)  # a clone has the loop and not its folder
    write_file(path, text, "the report", "choose another file with -o FILE, or print it with -o -")
    print(clean(str(path.absolute())))


def report_page(repository: Repository, loop: str) -> str:
    """The page of a loop as it stands, with its newest iterations."""
    shown = show_state(repository, loop)
    newest_first = list(islice(read_records(repository, loop), MOST_SHOWN + 1))
    cut = len(newest_first) > MOST_SHOWN
    return html_report(shown.state, newest_first[:MOST_SHOWN][::-1], state_ref(loop), shown.unverified, cut=cut)
