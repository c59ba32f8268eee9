"""What a loop that has ended leaves: lessons to later loops, a handoff, a proposal for AGENTS.md, pages of the wiki.

Its work is done and proven, so nothing here changes how it ended; what goes wrong is told.
"""

from collections.abc import Callable

from helmsman.errors import HelmsmanError
from helmsman.plain import clean, one_line
from helmsman.records.decision import Outcome
from helmsman.records.events import MemoryNoted
from helmsman.records.gates import Choice, GateKind
from helmsman.records.lessons import ExtractedLessons
from helmsman.records.state import LoopState
from helmsman.render.issue import by_hand
from tasks.approvals.ask import passed
from tasks.engine.step import with_retries
from tasks.loop import steps
from tasks.loop.handoff import PATCH, commit_lines, hand_over, propose
from tasks.loop.remember import conclude, learnt, to_be_asked
from tasks.loop.wiki import keep_up
from tasks.repository.loop_context import LoopContext
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import Fenced, replace_state
from tasks.system.clock import now_utc
from tasks.system.journal import publish
from tasks.trackers.thread import tell_news


def finish(context: LoopContext, state: LoopState) -> LoopState:
    """Done again for the same end, it changes nothing. Returns the loop with what a person has answered meanwhile.

    Whatever goes wrong in one part is told and keeps no other from being done. Raises Fenced where somebody else drives the loop.
    """
    problems = list[str]()
    for what, leave in (LESSONS, *(LEFT if state.outcome is Outcome.COMPLETED else ())):
        try:
            state = leave(context, state) or state
        except Fenced:
            raise
        except Exception as error:  # noqa: BLE001 - the loop is done, whatever breaks behind its end
            told = error.in_a_line if isinstance(error, HelmsmanError) else f"{type(error).__name__}: {error}"
            problems.append(f"{what.format(loop=state.loop, folder=context.folder.root)}: {one_line(told)[:500]}")
    _tell(problems)
    if state.issue is not None:
        tell_news(state, context)
    return state


def _concluded(context: LoopContext, state: LoopState) -> LoopState | None:
    """A model may be asked what the loop teaches; it is paid for by the loop."""
    drawn, asked = ExtractedLessons(), to_be_asked(state)
    try:
        drawn = steps.draw_lessons(context, state) if asked else drawn
    finally:  # whoever cancels wants to wait no more; the rules say what it teaches
        conclude(context, state, asked=drawn.observations)
    if not asked:
        return None
    _tell([drawn.reason])
    spent, used = state.spending, drawn.usage
    more = {"cost_usd": spent.cost_usd + used.cost_usd, "tokens": spent.tokens + used.tokens}
    after = state.model_copy(update={"spending": spent.model_copy(update=more), "updated_at": now_utc()})
    return replace_state(context.repository, state, after, "lessons drawn by a model")


def _proposed(context: LoopContext, state: LoopState) -> LoopState | None:
    if state.proposed:  # a person is being asked, or was
        return None
    lines = propose(context, state, *learnt(context, state))
    if not lines:
        return None
    publish(MemoryNoted(lines=(f"proposed for AGENTS.md, as {context.folder.root / PATCH}:", *lines)))
    after = state.model_copy(update={"proposed": lines, "updated_at": now_utc()})
    return replace_state(context.repository, state, after, "learnings proposed for AGENTS.md")


def _noted(context: LoopContext, state: LoopState) -> None:
    """What a person has agreed to of it, on the loop's branch."""
    if state.gate is None and any(one.kind is GateKind.LEARNINGS and one.choice is Choice.APPROVE for one in state.answers):
        commit_lines(context, state)


def _pushed(context: LoopContext, state: LoopState) -> None:
    if state.config.remote.push:
        push_loop(context.repository, state)


def _delivered(context: LoopContext, state: LoopState) -> LoopState | None:
    """A loop that was started for an issue, with its pull request, or with the reason why it has none."""
    link = state.issue
    if link is None or link.pull_request:
        return None
    try:
        made = with_retries(steps.open_pull_request, state.config.retry)(context, state)
        after = link.model_copy(update={"pull_request": made.url or f"#{made.number}", "problem": ""})
    except HelmsmanError as error:
        after = link.model_copy(update={"problem": clean(error.in_a_line)})
        _tell([f"issue #{link.number} got no pull request: {error}\n{by_hand(state)}"])
    told = f"pull request {after.pull_request}" if after.pull_request else "no pull request"
    changed = state.model_copy(update={"issue": after, "updated_at": now_utc()})
    return None if after == link else replace_state(context.repository, state, changed, told)


def _tell(problems: list[str]) -> None:
    told = tuple(problem for problem in problems if problem)
    if told:
        publish(MemoryNoted(lines=told))


Leave = Callable[[LoopContext, LoopState], LoopState | None]
LESSONS: tuple[str, Leave] = "not all that the loop teaches is kept", _concluded
LEFT: tuple[tuple[str, Leave], ...] = (
    ("the handoff is kept in {folder}/handoff.md", hand_over),
    ("nothing was proposed for AGENTS.md", _proposed),
    ("the question about AGENTS.md was skipped", passed),
    ("AGENTS.md was not changed", _noted),
    ("the wiki is out of date", keep_up),
    ("not pushed; push it again with: helmsman resume {loop}", _pushed),
    ("the pull request was not noted", _delivered),
)
"""What a completed loop leaves, in this order, and what is said where one of it cannot be had."""
