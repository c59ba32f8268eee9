"""Systems 3*, 4 and 5: what is looked at behind the agent's back, what lies ahead, and what it is all for."""

from collections.abc import Iterator

from helmsman.oversee.detectors.windows import worked
from helmsman.oversee.variety import score
from helmsman.records.findings import Weight
from helmsman.records.gates import Answer
from helmsman.records.iteration import IterationRecord
from helmsman.records.oversight import Variety
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from helmsman.render.cells import code, prose
from helmsman.render.outlook import LEAST, Outlook, outlook
from helmsman.render.system import Row, Sign, System, passing_checks, worst
from helmsman.render.working_systems import listed
from helmsman.texts import SIGNS, counted, money

TREND = 8
"""Iterations whose completion is told one by one."""
ANSWERS = 3
GOAL = 600


# --- 3*: audit ------------------------------------------------------------------------------------------------------


def audit(state: LoopState, record: IterationRecord | None) -> System:
    """What is true, whatever is said."""
    report = state.checks
    blocking = sum(finding.weight is Weight.BLOCK for finding in state.findings)
    rejected = bool(record and record.judgement and record.judgement.rejected)
    sign = worst(
        (
            (bool(blocking or state.contradictions or rejected), Sign.BAD),
            (report is not None and not report.passed, Sign.WATCH),
            (bool(state.findings) or state.judge.rejections > 0, Sign.WATCH),
        ),
        otherwise=Sign.GOOD if report else Sign.IDLE,
    )
    passing = passing_checks(report) if report else ""
    untrue = f"{counted(len(state.contradictions), 'claim')} did not hold"
    short = f"{passing or 'nothing was checked yet'}, {counted(blocking, 'finding')} that block, {untrue}"
    return System("3*", "audit", sign, short, tuple(_audit(state, record)))


def _audit(state: LoopState, record: IterationRecord | None) -> Iterator[Row]:
    report, trust, judge = state.checks, state.trust, state.judge
    if report is not None and not report.results:
        yield "checks", "none is configured: **nothing is verified**"
    failing = report.failures if report else ()
    yield "failing checks", listed(code(result.name, 120) for result in failing)
    names = [name for result in failing if result.counts for name in result.counts.failing]
    yield "failing tests", listed(code(name, 160) for name in names)
    yield "invariants", listed(f"{_weight(f.weight)} {code(f.rule, 60)} {code(f.where, 160)}" for f in state.findings)
    held = f"{trust.checked - trust.contradicted} of {counted(trust.checked, 'claim')} held so far"
    yield "claims", held if trust.checked else "none could be compared yet"
    yield "untrue", listed(f"{prose(one.said, 160)} – {prose(one.found, 160)}" for one in state.contradictions)
    deeds = state.last_call.drift
    yield "purpose", f"{deeds.related} of {counted(deeds.deeds, 'file')} had to do with the task" if deeds.deeds else ""
    yield "judge", _judge(state, record)
    yield "rejections in a row", f"{judge.rejections} of {state.config.judge.rejections}" if judge.rejections else ""
    yield "asks to be done", _proof(record)


def _weight(weight: Weight) -> str:
    return "✘" if weight is Weight.BLOCK else "▲"


def _judge(state: LoopState, record: IterationRecord | None) -> str:
    if not state.config.judge.criteria:
        return "none: there are no criteria"
    judgement = record.judgement if record else None
    if judgement is None:
        return f"was not asked in this iteration; {_criteria(state)} wait for it"
    met = sum(one.met for one in judgement.criteria)
    return f"{judgement.outcome}, {met} of {_criteria(state)} met{f': {prose(judgement.cause)}' if judgement.cause else ''}"


def _criteria(state: LoopState) -> str:
    return counted(len(state.config.judge.criteria), "criterion", "criteria")


def _proof(record: IterationRecord | None) -> str:
    if record is None or not record.proof.asked:
        return "no"
    denied = f", denied: {prose(record.proof.objections)}" if record.proof.denied else ""
    return f"yes ({prose(record.proof.how, 80)}), checks {'green' if record.proof.green else 'not green'}{denied}"


# --- 4: what lies ahead ---------------------------------------------------------------------------------------------


def ahead(state: LoopState, _record: IterationRecord | None) -> System:
    """Where the work is going, how fast, and what is planned."""
    seen = outlook(state.history, state.config.control.window)
    deadband, done = state.config.control.deadband, state.oversight.progress.completion
    sign = worst(
        (
            (seen.known and seen.pace <= -deadband, Sign.BAD),
            (seen.known and not seen.reached and seen.pace < deadband, Sign.WATCH),
        ),
        otherwise=Sign.GOOD if seen.known or seen.reached else Sign.IDLE,
    )
    short = f"{done:.0%} measured as done, {_left(seen)}"
    return System("4", "outlook", sign, short, tuple(_ahead(state, seen)))


def _ahead(state: LoopState, seen: Outlook) -> Iterator[Row]:
    oversight = state.oversight
    shares = (("tests", oversight.progress.tests), ("checks", oversight.progress.checks),
              ("criteria", oversight.progress.criteria), ("plan", oversight.progress.items))  # fmt: skip
    yield "progress", ", ".join(f"{name} {share:.0%}" for name, share in shares if share is not None)
    yield "trend", " → ".join(f"{moment.completion:.0%}" for moment in worked(state.history, TREND))
    yield "iterations left", _estimate(state, seen)
    yield (
        "strategy",
        f"{oversight.strategy.stance}: {prose(oversight.strategy.reasoning)}" if oversight.strategy.reasoning else "",
    )
    yield "first of all", listed(prose(priority, 200) for priority in oversight.strategy.priorities)
    yield "gap, as the agent sees it", prose(state.memory.remaining_gap, GOAL)
    unsure = f"{state.memory.confidence} % by its own word" if state.memory.confidence is not None else ""
    yield "agent's confidence", unsure
    yield "best so far", _best(state)
    yield "ways left open", _variety(oversight.variety)


def _left(seen: Outlook) -> str:
    if seen.reached:
        return "proven" if seen.completion >= 1 else "what is missing is the proof"
    if not seen.known:
        return "too early to tell how far it is"
    return "no end in sight at this pace" if seen.left is None else f"about {counted(seen.left, 'more iteration')} at this pace"


def _estimate(state: LoopState, seen: Outlook) -> str:
    allowed = max(0, state.config.limits.iterations - state.iteration)
    granted = f"the limit leaves {allowed}"
    if seen.completion >= 1:
        return f"none: it is proven ({granted})"
    if seen.reached:
        return f"everything that is measured is green; what is missing is that it is asked for and proven ({granted})"
    if not seen.known:
        return f"too early to tell: {seen.seen} of {LEAST} iterations to read a pace from ({granted})"
    pace = f"{seen.pace * 100:+.1f} points an iteration (median of the last {seen.seen}; middle half {_between(seen)})"
    if seen.left is None:
        return f"none can be told: {seen.completion:.0%} done at {pace}; {granted}"
    most = seen.most if seen.most is not None else "no end"
    return f"**about {seen.left}** (from {seen.least} to {most}): {seen.completion:.0%} done at {pace}; {granted}"


def _between(seen: Outlook) -> str:
    return f"{seen.slow * 100:+.1f} to {seen.fast * 100:+.1f}"


def _best(state: LoopState) -> str:
    best = state.oversight.best
    return f"{best.completion:.0%} after iteration {best.iteration}, at {code(best.commit[:10])}" if best else ""


def _variety(trend: tuple[Variety, ...]) -> str:
    if not trend or not trend[-1].lines:
        return ""
    last, change = trend[-1], score(trend[-1]) - score(trend[0])
    over = f", {change:+.2f} over {counted(len(trend), 'iteration')}" if len(trend) > 1 else ""
    counts = (
        f"{last.lines:,} lines, {last.tests} tests, {last.suppressions} suppressions, {last.skips} skips, {last.casts} casts, "
        f"{last.dead} dead"
    )
    return f"{score(last):+.2f} (higher is better){over}: {counts}"


# --- 5: what it is for ----------------------------------------------------------------------------------------------


def policy(state: LoopState, _record: IterationRecord | None) -> System:
    """Goal, rules and people."""
    ended = state.outcome if state.ending else None
    sign = worst((
        (ended is not None and ended not in {Outcome.COMPLETED, Outcome.WAITING}, Sign.BAD),
        (state.gate is not None or ended is Outcome.WAITING, Sign.WATCH),
    ))  # fmt: skip
    short = f"a person is asked: {prose(state.gate.question, 160)}" if state.gate else _standing(state)
    return System("5", "policy", sign, short, tuple(_policy(state)))


def _standing(state: LoopState) -> str:
    if state.ending:
        return f"{SIGNS[state.ending.outcome]}: {prose(state.ending.rule, 80)}"
    return f"goal, {counted(len(state.config.checks), 'check')} and limits stand; nobody is asked"


def _policy(state: LoopState) -> Iterator[Row]:
    config = state.config
    yield "goal", prose(config.goal, GOAL)
    yield "checks", listed((code(check.title, 120) for check in config.checks), 10)
    yield "rubric", listed((f"{code(one.id, 60)} {prose(one.text, 160)}" for one in config.judge.criteria), 10)
    yield "limits", _limits(state)
    yield "asks a person", _gates(state)
    yield "open question", f"{prose(state.gate.question)} ({code(state.gate.key, 80)})" if state.gate else ""
    yield "asked of", prose(state.gate.asked_of, 80) if state.gate else ""
    yield "answers", listed((_answer(answer) for answer in state.answers[::-1]), ANSWERS)
    yield "told to the next iteration", listed(prose(said, 200) for said in state.guidance)
    yield "ended", f"{prose(state.ending.rule, 80)}: {prose(state.ending.reason, GOAL)}" if state.ending else ""


def _limits(state: LoopState) -> str:
    limits = state.config.limits
    hours = f"{limits.wall_clock_hours:g} h" if limits.wall_clock_hours else "any time"
    dollars = money(limits.cost_usd) if limits.cost_usd else "any cost"
    tokens = f"{limits.tokens:,} tokens" if limits.tokens else "any number of tokens"
    return f"{limits.iterations} iterations, {hours}, {dollars}, {tokens}, {limits.calls_per_hour} calls an hour"


def _gates(state: LoopState) -> str:
    gates = state.config.gates
    asked = (
        ("before the start", gates.plan),
        (f"every {gates.milestone_every} iterations", gates.milestone_every is not None),
        ("where a limit is reached", gates.budget),
        ("before merging", gates.merge),
    )
    when = ", ".join(name for name, on in (*asked, ("where it does not get on", True)) if on)
    how = f"and waits {gates.timeout_hours:g} h" if gates.ask else "by ending as waiting"
    return f"{when}; {how}"


def _answer(answer: Answer) -> str:
    said = f": {prose(answer.guidance, 160)}" if answer.guidance else ""
    return f"{code(answer.gate, 80)} **{answer.choice}** by {prose(answer.by, 60) or 'somebody'} ({answer.via}){said}"
