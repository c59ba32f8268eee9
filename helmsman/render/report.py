"""Report of a loop as one HTML page, for a person who was away while it ran: outcome, reasons, numbers, charts and iterations.

The page is self-contained: no script, no address, no font. A Content-Security-Policy enforces this in the browser and
allows only the style with the given digest, so that a text that escaped all escaping could still do nothing.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import accumulate

from markupsafe import Markup

from helmsman.agents import describe_briefly
from helmsman.plain import shorten
from helmsman.records.control import EscalationLevel
from helmsman.records.decision import Outcome
from helmsman.records.gates import GATES
from helmsman.records.iteration import IterationRecord
from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from helmsman.render.artifacts import plan_lines
from helmsman.render.facts import PARTS, VERDICTS, Fact, as_code, facts, first_lines, front_facts
from helmsman.render.lines import next_steps
from helmsman.render.templating import render_html
from helmsman.render.verification import outcome_text
from helmsman.texts import SIGNS, plan_text, plural, short_number

MOST_SHOWN = 500  # attempts at iterations, the newest
MOST_OUTPUTS = 50  # iterations that are shown with the outputs of checks and the agent's last message
MOST_DOUBTS = 5  # findings at the top of the page; the iterations list all of them
TITLE_SHOWN, REASON_SHOWN, RULES_SHOWN = 160, 160, 10
REACH: Mapping[str, Sequence[float]] = {
    "% complete by evidence": (0, 100),
    "output of control": (0, 1),
    "level": (0, EscalationLevel.EJECT),
}
"""Values that an axis always includes, by its label."""
ENDINGS: Mapping[Outcome | None, str] = {
    Outcome.COMPLETED: "good",
    Outcome.CANCELLED: "neutral",
    Outcome.FAILED: "bad",
    Outcome.EJECTED: "bad",
    None: "calm",
}
"""Looks of outcomes; others look like a warning. None: the loop continues."""
Point = tuple[float, float]

LARGEST = 1e15  # larger numbers are not measurements, and their sums would overflow
INK = "#727d8a"
"""Readable on white and on black: an image does not know its background."""
COLOUR = "#3b82c4"
"""Of lines."""
MOST_MARKED = 60  # points that have a dot and a tooltip each; charts with more have none
WIDTH, HEIGHT = 440, 190
"""Size of a chart: two fit side by side, and one is legible on a phone."""
LEFT, RIGHT, TOP, BOTTOM = 66, WIDTH - 18, 54, HEIGHT - 26
"""Edges of the area of the line."""


def style() -> str:
    """The stylesheet, embedded in the page."""
    return (files("helmsman.render") / "templates" / "report.css").read_text(encoding="utf-8")


def html_report(
    state: LoopState, records: Sequence[IterationRecord], state_ref: str, unverified: str = "", *, cut: bool = False
) -> str:
    """The whole page. Records in chronological order; `cut`: earlier ones are omitted.

    `unverified`: what was found instead of a state signed by Helmsman; empty if the state is signed.
    """
    css, (title, _, rest) = style(), state.config.goal.strip().partition("\n")
    entries = list(_entries(records, outputs_from=len(records) - MOST_OUTPUTS))[::-1]
    # whether it is done, what proves it, what it cost; then what a person should look at: findings in the change and
    # false claims of the agent
    commands, trust = dict(next_steps(result_of(state, state_ref), state.gate)), state.trust
    doubts = first_lines(
        (f"{finding.where}: {finding.message} {as_code(finding.rule)}" for finding in state.findings), MOST_DOUBTS
    )
    if trust.contradicted:
        doubts.append(f"{trust.contradicted} of {plural(trust.checked, 'claim')} of the agent did not hold")
    look_command, next_command = (as_code(commands.get(name, "")) for name in ("look", "next"))
    page = render_html(
        "report.html",
        state=state,
        unverified=unverified,
        style=Markup(css),  # noqa: S704 - a file of ours
        digest=base64.b64encode(hashlib.sha256(css.encode()).digest()).decode(),
        sign=SIGNS[state.outcome],
        looks=ENDINGS.get(state.outcome, "warn"),
        title=shorten(title, TITLE_SHOWN + 1),
        is_long=bool(rest.strip()) or len(title) > TITLE_SHOWN,
        agent=describe_briefly(state.agent.kind) if state.agent else "",
        rule=result_of(state, state_ref).rule,
        front=[
            *front_facts(state),
            Fact("Look at", "\n".join(filter(None, [look_command, *doubts]))),
            Fact("Next", next_command),
        ],
        charts=list(_charts(records)),
        noticed=Counter(signal.rule for record in records for signal in record.signals).most_common(RULES_SHOWN),
        climbs=state.oversight.ladder.climbs,
        plan=plan_text(state) if state.plan.total else "",
        plan_lines=list(plan_lines(state)),
        state_ref=state_ref,
        gates=GATES,
        verdicts=VERDICTS,
        entries=entries,
        cut=len(records) if cut else 0,
    )
    return f"{page}\n"


def _charts(records: Sequence[IterationRecord]) -> Iterator[Markup]:
    """All charts of a loop."""
    counted = [record for record in records if record.counts]

    def chart(title: str, label: str, values: Iterable[float], shown_records: Sequence[IterationRecord] = records) -> Markup:
        points: list[Point] = [(record.iteration, value) for record, value in zip(shown_records, values, strict=True)]
        return line_chart(title, points, label=label, reach=REACH.get(label, ()))

    progress = (100 * record.oversight.progress.completion for record in counted)
    yield chart("Progress", "% complete by evidence", progress, counted)
    yield chart("Urgency", "output of control", (record.oversight.control.output for record in counted), counted)
    yield chart("Ladder of escalation", "level", (record.oversight.ladder.rung for record in counted), counted)
    yield chart("Cost", "US dollars in all", accumulate(record.usage.cost_usd for record in records))
    yield chart("Tokens", "in and out, an iteration", (record.usage.tokens for record in records))
    yield chart("Context", "tokens at its peak", (record.execution.call.context.peak for record in records))


def _entries(records: Sequence[IterationRecord], *, outputs_from: int) -> Iterator[Mapping[str, object]]:
    """Template values of the iterations in chronological order."""
    for number, record in enumerate(records):
        all_facts, decision = list(facts(record)), record.decision
        decision_text, decision_look = decision.kind, "warn" if decision.kind == "wait" else "calm"
        if decision.kind == "stop":
            decision_text, decision_look = f"stop: {decision.outcome or 'ended'}", ENDINGS.get(decision.outcome, "warn")
        yield {
            "record": record,
            "opened": number + 1 == len(records),
            "has_outputs": number >= outputs_from,
            "decision": (decision_text, decision_look),
            "reason": shorten(decision.reason, REASON_SHOWN),
            "parts": [(part, part_facts) for part in PARTS if (part_facts := [fact for fact in all_facts if fact.part == part])],
            "outcomes": outcome_text(record),
        }


def line_chart(title: str, points: Sequence[Point], *, label: str, reach: Sequence[float] = ()) -> Markup:
    """Values over iterations as SVG, for light and dark backgrounds and for colour-blind people. Without script and style.

    The axis includes zero, `reach` and every value, so that no line looks steeper than it is.
    """
    drawn = sorted((x, y) for x, y in points if abs(x) < LARGEST and abs(y) < LARGEST)  # drops NaN and infinity
    xs, ys = [x for x, _ in drawn] or [0.0], [0.0, *reach, *(y for _, y in drawn)]
    across, up = _scale(xs, LEFT, RIGHT - 6), _scale(ys, BOTTOM, TOP)
    places = [(across(x), up(y)) for x, y in drawn]
    tips = [f"at {short_number(x)}: {short_number(y)}" for x, y in drawn] if len(drawn) <= MOST_MARKED else []
    return render_html(
        "line_chart.svg",
        title=title,
        shown=bool(drawn),
        width=WIDTH,
        height=HEIGHT if drawn else 64,
        label=label,
        colour=COLOUR,
        path=" ".join(f"{x:.1f},{y:.1f}" for x, y in places) if len(places) > 1 else "",
        dots=[(x, y, tip) for (x, y), tip in zip(places, tips, strict=False)],
        across=[(across(x), short_number(x)) for x in dict.fromkeys((min(xs), max(xs)))],
        up=[(up(y), short_number(y)) for y in dict.fromkeys((min(ys), (min(ys) + max(ys)) / 2, max(ys)))],
        left=LEFT,
        right=RIGHT,
        bottom=BOTTOM,
        ink=INK,
    )


def _scale(values: Sequence[float], begin: float, end: float) -> Callable[[float], float]:
    """Linear map from the range of the values to image coordinates; a single value is centred."""
    low, high = min(values), max(values)
    return lambda value: begin + ((value - low) / (high - low) if high > low else 0.5) * (end - begin)
