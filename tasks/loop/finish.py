"""What a loop that has ended leaves: lessons to later loops, a handoff, a proposal for AGENTS.md, pages of the wiki.

Its work is done and proven, so nothing here changes how it ended; what goes wrong is told.
"""

from helmsman.errors import Cancelled, HelmsmanError
from helmsman.plain import clean
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
from tasks.loop.wiki import archive, keep_up
from tasks.repository.loop_context import LoopContext
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import Fenced, replace_state
from tasks.system.clock import now_utc
from tasks.system.journal import publish
from tasks.trackers.thread import tell_news


def finish(context: LoopContext, state: LoopState) -> LoopState:
    """Done again for the same end, it changes nothing. Returns the loop with what a person has answered meanwhile."""
    state = _concluded(context, state)
    if state.outcome is Outcome.COMPLETED:
        problems = [hand_over(context, state)]
        state = _proposed(context, state, problems)
        try:
            state = passed(context, state)
            yes = any(one.kind is GateKind.LEARNINGS and one.choice is Choice.APPROVE for one in state.answers)
            if yes and state.gate is None:
                commit_lines(context, state)
        except Cancelled as cancelled:  # the work stays done, whoever wants to wait no more
            problems.append(f"the question about AGENTS.md was skipped: {cancelled}")
        except HelmsmanError as error:
            problems.append(str(error))
        if context.worktree.exists():
            problems += keep_up(context, state)
        problems += archive(context, state)
        try:
            if state.config.remote.push:
                push_loop(context.repository, state)
        except HelmsmanError as error:
            problems.append(f"{error}\n  push it again with: helmsman resume {state.loop}")
        state = _delivered(context, state, problems)
        _tell(problems)
    if state.issue is not None:
        tell_news(state, context)
    return state


def _concluded(context: LoopContext, state: LoopState) -> LoopState:
    """A model may be asked what the loop teaches; it is paid for by the loop."""
    if not to_be_asked(state):
        conclude(context, state)
        return state
    try:
        drawn = steps.draw_lessons(context, state)
    except Cancelled as cancelled:  # who cancels wants to wait no more; the work stays done, and the rules say what it teaches
        drawn = ExtractedLessons(reason=f"no model was asked for lessons: {cancelled}")
    conclude(context, state, asked=drawn.observations)
    _tell([drawn.reason])
    spent, used = state.spending, drawn.usage
    more = {"cost_usd": spent.cost_usd + used.cost_usd, "tokens": spent.tokens + used.tokens}
    after = state.model_copy(update={"spending": spent.model_copy(update=more), "updated_at": now_utc()})
    return _written_down(context, state, after, "lessons drawn by a model")


def _proposed(context: LoopContext, state: LoopState, problems: list[str]) -> LoopState:
    if state.proposed:  # a person is being asked, or was
        return state
    lines, problem = propose(context, state, *learnt(context, state))
    problems.append(problem)
    if not lines:
        return state
    publish(MemoryNoted(lines=(f"proposed for AGENTS.md, as {context.folder.root / PATCH}:", *lines)))
    after = state.model_copy(update={"proposed": lines, "updated_at": now_utc()})
    return _written_down(context, state, after, "learnings proposed for AGENTS.md")


def _written_down(context: LoopContext, before: LoopState, after: LoopState, subject: str) -> LoopState:
    """The loop as it stands in git now: as before, where it cannot be written. Raises Fenced when somebody else moved it on."""
    try:
        return replace_state(context.repository, before, after, subject)
    except Fenced:
        raise
    except HelmsmanError as error:
        _tell([str(error)])
        return before


def _delivered(context: LoopContext, state: LoopState, problems: list[str]) -> LoopState:
    """A loop that was started for an issue, with its pull request, or with the reason why it has none."""
    link = state.issue
    if link is None or link.pull_request:
        return state
    try:
        made = with_retries(steps.open_pull_request, state.config.retry)(context, state)
        after = link.model_copy(update={"pull_request": made.url or f"#{made.number}", "problem": ""})
    except HelmsmanError as error:
        after = link.model_copy(update={"problem": clean(error.in_a_line)})
        problems.append(f"issue #{link.number} got no pull request: {error}\n{by_hand(state)}")
    if after == link:
        return state
    told = f"pull request {after.pull_request}" if after.pull_request else "no pull request"
    return _written_down(context, state, state.model_copy(update={"issue": after, "updated_at": now_utc()}), told)


def _tell(problems: list[str]) -> None:
    told = tuple(problem for problem in problems if problem)
    if told:
        publish(MemoryNoted(lines=told))
