"""Finishing a loop that has ended: lessons for later loops, a handoff, a proposal for AGENTS.md, wiki pages.

The work is done and proven, so nothing here changes the loop's outcome; errors are reported.
"""

from collections.abc import Callable
from datetime import UTC, datetime

from helmsman.errors import HelmsmanError
from helmsman.plain import clean, one_line
from helmsman.records.decision import Outcome
from helmsman.records.gates import Choice, GateKind
from helmsman.records.lessons import ExtractedLessons
from helmsman.records.state import LoopState
from helmsman.render.issue import manual_steps
from tasks.approvals.ask import ask_due_questions
from tasks.engine.step import with_retries
from tasks.loop import steps
from tasks.loop.handoff import PATCH, commit_lines, write_handoff, write_proposal
from tasks.loop.remember import conclude_memory, known_lessons, needs_model_lessons
from tasks.loop.wiki import update_wiki
from tasks.repository.loop_context import LoopContext
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import Fenced, replace_state
from tasks.system.journal import note
from tasks.trackers.thread import publish_changes


def finish(context: LoopContext, state: LoopState) -> LoopState:
    """Finish a loop. Idempotent for the same end. Return the loop with a person's answers so far.

    An error in one part is reported and does not prevent the other parts. Raises Fenced where another driver has the loop.
    """
    problems = list[str]()
    for problem, finish_part in (LESSONS_PART, *(COMPLETED_PARTS if state.outcome is Outcome.COMPLETED else ())):
        try:
            state = finish_part(context, state) or state
        except Fenced:
            raise
        except Exception as error:  # noqa: BLE001 - the loop is done, whatever fails after its end
            message = error.one_line if isinstance(error, HelmsmanError) else f"{type(error).__name__}: {error}"
            problems.append(f"{problem.format(loop=state.loop, folder=context.folder.root)}: {one_line(message)[:500]}")
    note(*problems)
    publish_changes(state, context)
    return state


def _conclude(context: LoopContext, state: LoopState) -> LoopState | None:
    """Conclude the loop's memory, asking a model for lessons where configured; the loop pays for that."""
    drawn, is_asked = ExtractedLessons(), needs_model_lessons(state)
    try:
        drawn = steps.draw_lessons(context, state) if is_asked else drawn
    finally:  # after a cancel nobody waits for the model; the rules draw lessons without it
        conclude_memory(context, state, extracted=drawn.observations)
    if not is_asked:
        return None
    note(drawn.reason)
    spent, used = state.spending, drawn.usage
    increased = {"cost_usd": spent.cost_usd + used.cost_usd, "tokens": spent.tokens + used.tokens}
    after = state.model_copy(update={"spending": spent.model_copy(update=increased), "updated_at": datetime.now(UTC)})
    return replace_state(context.repository, state, after, "lessons extracted by a model")


def _propose(context: LoopContext, state: LoopState) -> LoopState | None:
    if state.proposed:  # a person is being asked, or has been
        return None
    lines = write_proposal(context, state, *known_lessons(context, state))
    if not lines:
        return None
    note(f"proposed for AGENTS.md, as {context.folder.root / PATCH}:", *lines)
    after = state.model_copy(update={"proposed": lines, "updated_at": datetime.now(UTC)})
    return replace_state(context.repository, state, after, "learnings proposed for AGENTS.md")


def _commit_learnings(context: LoopContext, state: LoopState) -> None:
    """Commit the proposed lines that a person approved to the loop's branch."""
    if state.gate is None and any(a.kind is GateKind.LEARNINGS and a.choice is Choice.APPROVE for a in state.answers):
        commit_lines(context, state)


def _push(context: LoopContext, state: LoopState) -> None:
    if state.config.remote.push:
        push_loop(context.repository, state)


def _open_pull_request(context: LoopContext, state: LoopState) -> LoopState | None:
    """For a loop that was started for an issue, open the pull request, or store the reason why that failed."""
    link = state.issue
    if link is None or link.pull_request:
        return None
    try:
        opened = with_retries(steps.open_pull_request, state.config.retry)(context, state)
        after = link.model_copy(update={"pull_request": opened.url or f"#{opened.number}", "problem": ""})
    except HelmsmanError as error:
        after = link.model_copy(update={"problem": clean(error.one_line)})
        note(f"issue #{link.number} got no pull request: {error}\n{manual_steps(state)}")
    subject = f"pull request {after.pull_request}" if after.pull_request else "no pull request"
    changed = state.model_copy(update={"issue": after, "updated_at": datetime.now(UTC)})
    return None if after == link else replace_state(context.repository, state, changed, subject)


FinishPart = Callable[[LoopContext, LoopState], LoopState | None]
LESSONS_PART: tuple[str, FinishPart] = "not all lessons of the loop are stored", _conclude
COMPLETED_PARTS: tuple[tuple[str, FinishPart], ...] = (
    ("the handoff is only in {folder}/handoff.md", write_handoff),
    ("nothing was proposed for AGENTS.md", _propose),
    ("the question about AGENTS.md was skipped", ask_due_questions),
    ("AGENTS.md was not changed", _commit_learnings),
    ("the wiki is out of date", update_wiki),
    ("not pushed; push it again with: helmsman resume {loop}", _push),
    ("the pull request was not recorded", _open_pull_request),
)
"""The parts of finishing a completed loop, in this order, each with the message for its failure."""
