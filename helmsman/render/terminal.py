"""A running loop on one screen: rows of text, each with a style and a rank. Pure: what was read goes in, rows come out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from helmsman.oversee.limits import ALARM_AT, WARN_AT, gauges
from helmsman.plain import clean
from helmsman.records.base import Usage
from helmsman.records.gates import Answer
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.render.activity import Activity
from helmsman.render.facts import judge_facts
from helmsman.render.gate import answer_line, gate_lines
from helmsman.render.lines import steering_lines
from helmsman.texts import check_text, context_text, duration, money_text, plan_lines, plural

BARS = "▁▂▃▄▅▆▇█"
CHECKS_SHOWN = 6
LOW_SCREEN = 32
"""Rows; below it the chart of progress has one row, else `HIGH_CHART`."""
HIGH_CHART = 5
LABEL = 11
"""Columns before the text of a row."""


class Row(NamedTuple):
    """A line of the screen."""

    text: str
    style: str = ""
    rank: int = 0
    """Where the screen is too low, rows of the highest rank are left out first."""
    whole: bool = False
    """Where the screen is too narrow, it goes on in the next line instead of being cut: somebody may have to type it."""


@dataclass(frozen=True)
class ScreenModel:
    """Everything that a frame is made of."""

    state: LoopState
    activity: Activity
    record: IterationRecord | None
    """Of the iteration that ended last."""
    driver: str
    """Who drives the loop; empty: nobody does."""
    driven_since: datetime | None
    answered: Answer | None
    """What the open question was answered, while the loop has not taken it."""
    now: datetime
    unverified: str = ""
    """What was found in the place of a state that Helmsman signed; empty: it did."""

    @property
    def under_way(self) -> datetime | None:
        """When the step began that is being done: by this driver, not by one that died; None where there is none."""
        since = self.activity.since
        if not self.driver or not self.activity.step or since is None:
            return None
        return since if self.driven_since is None or since >= self.driven_since else None

    @property
    def over(self) -> bool:
        """Whether the loop has ended, and whoever drove it has gone."""
        return self.state.ending is not None and not self.driver


def frame(screen: ScreenModel, width: int, height: int) -> list[Row]:
    """The whole screen, from the top. The size only says how much of a chart fits."""
    return [
        _head(screen),
        *_unverified(screen),
        _goal(screen),
        _driven(screen),
        *_waiting(screen),
        *_gate(screen),
        *(Row(line, rank=7) for line in plan_lines(screen.state)),
        *_progress(screen.state, width, height),
        *_spent(screen),
        *_said_last(screen),
        *_calls(screen),
        *_checks(screen),
    ]


def changed_rows(before: ScreenModel | None, now: ScreenModel) -> list[Row]:
    """What a person without a screen has to be told once, where it is not as it was: goal, driver, question, answer."""
    if before is None:
        return [*_unverified(now), _goal(now), *_asked_and_driven(now)]
    known = {*_unverified(before), _goal(before), *_answered(before), *_asked_and_driven(before)}
    return [row for row in (*_unverified(now), _goal(now), *_answered(now), *_asked_and_driven(now)) if row not in known]


def _asked_and_driven(screen: ScreenModel) -> list[Row]:
    return [] if screen.over else [_driven(screen), *_gate(screen)]


def chart(shares: Sequence[float], height: int) -> list[str]:
    """Columns for values between 0 and 1, the highest row first. Even nothing has a mark, so that each value can be counted."""
    levels = [max(round(min(max(share, 0.0), 1.0) * height * len(BARS)), 1) for share in shares]
    above = ([level - row * len(BARS) for level in levels] for row in range(height - 1, -1, -1))
    return ["".join(BARS[min(level, len(BARS)) - 1] if level > 0 else " " for level in row) for row in above]


def _unverified(screen: ScreenModel) -> list[Row]:
    found = clean(screen.unverified)
    return [Row(f"unverified {found}: believe nothing of this", "bold red", rank=-1, whole=True)] if found else []


def _head(screen: ScreenModel) -> Row:
    activity, since, limit = screen.activity, screen.under_way, screen.state.config.limits.iterations
    name = clean(screen.state.loop)
    if since is None:
        return Row(f"{'●' if screen.driver else '○'} {name}  #{screen.state.due} of {limit}  {_idle(screen)}", "bold")
    attempt = f" (attempt {activity.attempt})" if activity.attempt > 1 else ""
    calls = f", {plural(activity.tool_calls, 'tool call')}" if activity.tool_calls else ""
    step = f"{clean(activity.step)} {_age(since, screen.now)}{calls}"
    return Row(f"● {name}  #{activity.iteration or screen.state.due} of {limit}{attempt}  {step}", "bold cyan")


def _goal(screen: ScreenModel) -> Row:
    return Row(f"goal       {clean(screen.state.config.goal.strip())}", rank=5)


def _idle(screen: ScreenModel) -> str:
    if screen.state.ending is not None:
        return "is about to end or to begin again" if screen.driver else "has ended"
    if screen.state.gate is not None:
        return "waits for your answer"
    if screen.state.waiting is not None:
        return "waits"
    return "between two steps" if screen.driver else "nobody drives it"


def _driven(screen: ScreenModel) -> Row:
    if screen.driver:
        return Row(f"driven by  {clean(screen.driver)}", "dim", rank=30)
    return Row(f"driven by  nobody{_taking_up(screen)}: helmsman resume {clean(screen.state.loop)}", "yellow", rank=1, whole=True)


def _taking_up(screen: ScreenModel) -> str:
    """What may bring a driver without anybody's doing; a loop that is resumed by hand meanwhile would keep that one out."""
    if screen.state.gate is not None:
        return "; where no engine takes it up after your answer"
    if screen.state.iteration == 0 and screen.activity.since is None:
        return " yet; an engine takes a moment to come up; if none was started"
    return "; go on with"


def _waiting(screen: ScreenModel) -> Iterator[Row]:
    waiting = screen.state.waiting
    if waiting is not None:
        moment = f"{waiting.until:%Y-%m-%d %H:%M:%S} UTC ({_age(screen.now, waiting.until)} more)"
        yield Row(f"waiting    until {moment}: {clean(waiting.reason)}", "yellow", rank=2, whole=True)


def _gate(screen: ScreenModel) -> Iterator[Row]:
    gate, answer = screen.state.gate, screen.answered
    if gate is not None and answer is not None:
        yield Row(f"given      {answer_line(answer)[LABEL:]}; the loop has not taken it yet", "green", rank=2, whole=True)
    elif gate is not None:
        yield from _gate_rows(gate_lines(gate, screen.state.loop))


def _gate_rows(lines: Sequence[str]) -> Iterator[Row]:
    """The question and the commands stay longest: they alone cannot be guessed."""
    label = ""
    for line in lines:
        label = line[:LABEL].strip() or label
        matters = label == "question" or line.lstrip().startswith("helmsman ")
        rank = 2 if matters else 8 if label == "evidence" else 4
        yield Row(line, "bold yellow" if matters else "yellow", rank, whole=True)


def _answered(screen: ScreenModel) -> Iterator[Row]:
    """The last answer that the loop has taken."""
    yield from (Row(answer_line(answer), rank=13) for answer in screen.state.answers[-1:])


def _progress(state: LoopState, width: int, height: int) -> Iterator[Row]:
    if not state.history:
        return
    shares = [moment.completion for moment in state.history][-max(width - LABEL, 1) :]
    lines = chart(shares, 1 if height < LOW_SCREEN or state.gate else HIGH_CHART)
    ends = {} if len(lines) == 1 else {0: "100%", len(lines) - 1: "0%"}
    axis = (f"{ends.get(row, ''):>{LABEL - 1}} " for row in range(len(lines)))
    yield from (Row(f"{left}{line}", "cyan", rank=10) for left, line in zip(axis, lines, strict=True))
    yield from (Row(line, rank=11) for line in steering_lines(state.oversight, state.config))
    ladder, in_row = state.oversight.ladder, state.oversight.idle
    idle = f", {plural(in_row, 'iteration')} in a row without progress" if in_row else ""
    yield Row(f"level      {ladder.rung.title}{idle}", rank=11)


def _spent(screen: ScreenModel) -> Iterator[Row]:
    """The call of the agent that runs, or that was cut off and is not charged yet, is added."""
    state, activity = screen.state, screen.activity
    used = activity.used if (activity.iteration, activity.attempt) == (state.due, state.attempt) else Usage()
    before, limits = state.spending, state.config.limits
    more = {"cost_usd": before.cost_usd + used.cost_usd, "tokens": before.tokens + used.tokens}
    spending = before.model_copy(update=more)
    every = gauges(limits, spending, state.iteration)
    nearest = max(gauge.share for gauge in every)
    style = "red" if nearest >= ALARM_AT else "yellow" if nearest >= WARN_AT else ""
    share = {gauge.name: f" ({gauge.share:.0%})" for gauge in every}
    cost = f"{money_text(spending.cost_usd, limits.cost_usd, state.untold)}{share.get('cost_usd', '')}"
    tokens = "" if limits.tokens is None else f" of {limits.tokens:,}{share['tokens']}"
    yield Row(f"spent      {cost}, {spending.tokens:,}{tokens} tokens", style, rank=9)
    hours = "" if limits.wall_clock_hours is None else f" of {limits.wall_clock_hours:g} hours{share['wall_clock_hours']}"
    calls = f"{plural(spending.agent_calls, 'agent call')}, {len(state.recent_calls)} of {limits.calls_per_hour} in an hour"
    yield Row(f"time       {duration(spending.seconds)}{hours}, {calls}", style, rank=14)


def _said_last(screen: ScreenModel) -> Iterator[Row]:
    """What the last iteration came to."""
    state, record = screen.state, screen.record
    if state.last_call.context.peak:
        yield Row(f"context    {context_text(state.last_call.context)}", rank=13)
    yield from _judged(state, record)
    yield from _answered(screen)
    decision = state.ending or (record.decision if record else None)
    if decision is not None:
        number = f"#{record.iteration} " if record else ""
        yield Row(f"decision   {number}{decision.word} ({clean(decision.rule)}): {clean(decision.reason)}", rank=6)


def _judged(state: LoopState, record: IterationRecord | None) -> Iterator[Row]:
    """The verdict of the last iteration; where it had none, the last rejection that is remembered."""
    verdict = next(judge_facts(record.judgement if record else None), None)
    if verdict:
        yield Row(verdict.line, rank=12)
    elif state.judge.feedback:
        last = state.judge.feedback[-1]
        yield Row(f"judge      rejected #{last.iteration}: {clean(last.reason)}", rank=12)


def _calls(screen: ScreenModel) -> Iterator[Row]:
    """Oldest first; the newest stays longest."""
    calls, style = screen.activity.calls, "" if screen.under_way else "dim"
    least = 20 if screen.state.gate else 2
    for number, said in enumerate(calls):
        label = "" if number else "calls"
        yield Row(f"{label:<{LABEL}}{_age(said.at, screen.now):>8}  {said.text}", style, rank=least + len(calls) - number)


def _checks(screen: ScreenModel) -> Iterator[Row]:
    """Those of the attempt under way; before any has begun, the last report."""
    report, checks = screen.state.checks, [said.text for said in screen.activity.checks.values()]
    shown = checks or [check_text(result) for result in (report.results if report else ())]
    for number, text in enumerate(shown[-CHECKS_SHOWN:]):
        style = {"✔": "green", "✘": "red"}.get(text[:1], "") if checks else "dim"
        yield Row(f"{'' if number else 'checks':<{LABEL}}{text}", style, rank=8)


def _age(since: datetime, now: datetime) -> str:
    return duration(max((now - since).total_seconds(), 0.0))
