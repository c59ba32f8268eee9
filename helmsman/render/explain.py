"""Why an iteration was decided as it was: the way through the table, the numbers, and what would have changed it."""

from collections.abc import Iterator

from helmsman.config import LoopConfig
from helmsman.memory.telling import recalled_lines
from helmsman.plain import clean, cut_between_words
from helmsman.records.iteration import IterationRecord
from helmsman.records.modes import Rung
from helmsman.records.moments import Progress
from helmsman.records.oversight import Diagnosis, Oversight
from helmsman.records.verdict import Considered
from helmsman.render.verification import grounds_lines, table_lines
from helmsman.texts import counted, hat_line, signal_word, told_signals

LEARNT_SHOWN = 5
REASON_SHOWN = 100


def explanation(record: IterationRecord) -> Iterator[str]:
    """The decision of one iteration."""
    decision = record.decision
    attempt = f" (attempt {record.attempt})" if record.attempt > 1 else ""
    yield f"#{record.iteration}{attempt}  {decision.word} ({decision.rule})"
    yield f"    {clean(decision.reason)}"
    yield "way"
    for step in decision.path:
        yield from _asked(step)
    if not decision.path:
        yield "    not recorded: an earlier version of Helmsman took this decision"
    if record.since_start and record.since_start.table.cases:
        yield "outcomes"
        yield from (f"    {line}" for line in table_lines(record.since_start.table))
    if decision.grounds:
        yield from grounds_lines(decision.grounds)
    yield from numbers(record.oversight)
    if record.hat:
        yield hat_line(record.hat)
    if record.moment:
        yield f"movement   {record.moment.movement}"
    yield from (f"{signal_word(signal):<10} {clean(signal.rule)}: {clean(signal.message)}" for signal in told_signals(record))
    yield from recalled_lines(record.recalled)
    yield from (f"learned    {clean(lesson)}" for lesson in record.learned.lessons)
    if record.failed:
        failed = record.failed
        yield f"taken off  {failed.commit[:10]} stays at {failed.ref}; the branch is at {failed.back_to[:10]}"


def numbers(oversight: Oversight) -> Iterator[str]:
    """What control between iterations rests on."""
    control, ladder = oversight.control, oversight.ladder
    gains = f"{control.gains.kp:.2f}/{control.gains.ki:.2f}/{control.gains.kd:.2f}"
    yield f"progress   {_shares(oversight.progress)}"
    terms = f"P {control.proportional:.2f}, I {control.integral:.2f}, D {control.derivative:+.3f} by {gains} ({control.phase})"
    yield f"control    {terms} give {control.output:.2f}: {control.band}"
    if oversight.idle:
        yield f"idle       {counted(oversight.idle, 'iteration')} in a row without progress"
    yield f"ladder     {ladder.rung.title}{f': {clean(ladder.reason)}' if ladder.reason else ''}"
    yield f"feedback   {oversight.feedback}; diagnosis {oversight.diagnosis}"
    if oversight.strategy.reasoning and ladder.rung < Rung.HUMAN:  # there is no next iteration to go about
        yield f"strategy   {oversight.strategy.stance}: {clean(oversight.strategy.reasoning)}"
    for learnt in oversight.learning[:LEARNT_SHOWN]:
        yield f"learning   {learnt.kind}: level {learnt.level}, {learnt.in_row} in a row, {learnt.seen} in all"
    yield from (f"issue      {clean(issue.rule)}: {clean(issue.message)}" for issue in oversight.issues)
    yield from (f"fault      {clean(fault)}; its default was used" for fault in oversight.faults)


def steering_lines(oversight: Oversight, config: LoopConfig) -> Iterator[str]:
    """How a loop is steered, for a look at its state: what is ordinary is left out."""
    control, ladder = oversight.control, oversight.ladder
    yield f"progress   {_shares(oversight.progress)}, urgency {control.output:.2f} ({control.band})"
    why = clean(cut_between_words(ladder.reason, REASON_SHOWN))
    health = ", ".join(filter(None, (
        f"{ladder.rung.title} because of {why}" if ladder.rung > Rung.PATCH else "",
        f"diagnosis {oversight.diagnosis}" if oversight.diagnosis not in {Diagnosis.NONE, Diagnosis.PRODUCTIVE} else "",
    )))  # fmt: skip
    watched = "" if config.ladder.act else " (only watched: ladder.act is off)"
    yield f"health     {health or 'nothing to notice'}{watched}"
    yield from (f"fault      {clean(fault)}; its default was used" for fault in oversight.faults)


def _asked(step: Considered) -> Iterator[str]:
    yield f"    {'yes' if step.held else 'no ':<3} {clean(step.question)} {clean(step.because)}"
    if step.held:
        yield f"        otherwise with: {clean(step.otherwise)}"


def _shares(progress: Progress) -> str:
    named = (("checks", progress.checks), ("tests", progress.tests), ("criteria", progress.criteria), ("items", progress.items))
    parts = ", ".join(f"{name} {share:.0%}" for name, share in named if share is not None)
    return f"{progress.completion:.0%}{f' ({parts})' if parts else ''}"
