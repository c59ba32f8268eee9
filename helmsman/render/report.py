"""A loop on one page of HTML, for a person who was asleep while it ran: how it ended and why, the numbers, the course, each step.

The page holds all that it needs: no script, no address, no font. A Content-Security-Policy says so to the browser as well, and
allows no style but the one whose digest it names; a text that broke out, against all escaping, could still do nothing.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import accumulate

from markupsafe import Markup

from helmsman.agents.fitting import in_short
from helmsman.plain import shortened
from helmsman.records.control import EscalationLevel
from helmsman.records.decision import Outcome
from helmsman.records.gates import GATES
from helmsman.records.iteration import IterationRecord
from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from helmsman.render.artifacts import plan_lines
from helmsman.render.charts import Point, line_chart, strip
from helmsman.render.facts import PARTS, VERDICTS, Fact, checks_kind, coded, facts, front_facts, some
from helmsman.render.lines import next_steps
from helmsman.render.templating import render_html
from helmsman.render.verification import outcome_text
from helmsman.texts import SIGNS, plan_text, plural

MOST_SHOWN = 500  # attempts at iterations, the newest
MOST_OUTPUTS = 50  # iterations that are shown with the outputs of checks and the agent's last words
MOST_DOUBTS = 5  # findings that are named on the front of the page; all of them stand in the iterations
TITLE_SHOWN, REASON_SHOWN, RULES_SHOWN = 160, 160, 10
REACH: Mapping[str, Sequence[float]] = {
    "% complete by evidence": (0, 100),
    "output of control": (0, 1),
    "rung": (0, EscalationLevel.EJECT),
}
"""What an axis shows in any case, by its label."""
ENDINGS: Mapping[Outcome | None, str] = {
    Outcome.COMPLETED: "good",
    Outcome.CANCELLED: "neutral",
    Outcome.FAILED: "bad",
    Outcome.EJECTED: "bad",
    None: "calm",
}
"""How outcomes look, those that are not here like a warning; None: it goes on."""


def style() -> str:
    """All of it is in the page; nothing is loaded."""
    return (files("helmsman.render") / "templates" / "report.css").read_text(encoding="utf-8")


def html_report(
    state: LoopState, records: Sequence[IterationRecord], state_ref: str, unverified: str = "", *, cut: bool = False
) -> str:
    """The whole page. Records in the order of their time; `cut`: there were more before them.

    `unverified`: what was found in the place of a state that Helmsman signed; empty: it did.
    """
    css, (title, _, rest) = style(), state.config.goal.strip().partition("\n")
    entries = list(_entries(records, outputs_from=len(records) - MOST_OUTPUTS))[::-1]
    # whether it is done, what proves it, what it cost; then what a person should see with their own eyes: findings in the change,
    # and what the agent said that was not so
    commands, trust = dict(next_steps(result_of(state, state_ref), state.gate)), state.trust
    doubts = some((f"{one.where}: {one.message} {coded(one.rule)}" for one in state.findings), MOST_DOUBTS)
    if trust.contradicted:
        doubts.append(f"{trust.contradicted} of {plural(trust.checked, 'claim')} of the agent did not hold")
    look, following = (coded(commands.get(name, "")) for name in ("look", "next"))
    page = render_html(
        "report.html",
        state=state,
        unverified=unverified,
        style=Markup(css),  # noqa: S704 - a file of ours
        digest=base64.b64encode(hashlib.sha256(css.encode()).digest()).decode(),
        sign=SIGNS[state.outcome],
        looks=ENDINGS.get(state.outcome, "warn"),
        title=shortened(title, TITLE_SHOWN + 1),
        is_long=bool(rest.strip()) or len(title) > TITLE_SHOWN,
        agent=in_short(state.agent.kind) if state.agent else "",
        rule=result_of(state, state_ref).rule,
        front=[*front_facts(state), Fact("Look at", "\n".join(filter(None, [look, *doubts]))), Fact("Next", following)],
        figures=list(_figures(records)),
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


def _figures(records: Sequence[IterationRecord]) -> Iterator[tuple[Markup, ...]]:
    """All charts of a loop; those of one figure stand below each other, iteration under iteration."""
    counted = [record for record in records if record.counts]

    def drawn(title: str, label: str, values: Iterable[float], of: Sequence[IterationRecord] = records) -> Markup:
        points: list[Point] = [(record.iteration, value) for record, value in zip(of, values, strict=True)]
        return line_chart(title, points, label=label, reach=REACH.get(label, ()))

    progress = (100 * record.oversight.progress.completion for record in counted)
    yield (drawn("Progress", "% complete by evidence", progress, counted),)
    yield (drawn("Urgency", "output of control", (record.oversight.control.output for record in counted), counted),)
    yield (drawn("Ladder of escalation", "rung", (record.oversight.ladder.rung for record in counted), counted),)
    yield (drawn("Cost", "US dollars in all", accumulate(record.usage.cost_usd for record in records)),)
    yield (drawn("Tokens", "in and out, an iteration", (record.usage.tokens for record in records)),)
    yield (drawn("Context", "tokens at its fullest", (record.execution.call.context.peak for record in records)),)
    # a judge that was never asked has no strip
    labels = [f"{one.iteration}.{one.attempt}" if one.attempt > 1 else str(one.iteration) for one in records]
    looks = {
        "Checks": [checks_kind(one.checks) for one in records],
        "Claims against evidence": [
            "bad" if one.contradictions else "good" if one.claims_checked else "neutral" for one in records
        ],
        "Verdicts of the judge": [VERDICTS[one.judgement.outcome] if one.judgement else "neutral" for one in records],
    }
    asked = any(one.judgement for one in records)
    yield tuple(strip(title, [*zip(labels, kinds, strict=True)]) for title, kinds in list(looks.items())[: 2 + asked])


def _entries(records: Sequence[IterationRecord], *, outputs_from: int) -> Iterator[Mapping[str, object]]:
    """In the order of time."""
    for number, record in enumerate(records):
        told, decision = list(facts(record)), record.decision
        words, look = decision.kind, "warn" if decision.kind == "wait" else "calm"
        if decision.kind == "stop":
            words, look = f"stop: {decision.outcome or 'ended'}", ENDINGS.get(decision.outcome, "warn")
        yield {
            "record": record,
            "opened": number + 1 == len(records),
            "has_outputs": number >= outputs_from,
            "decision": (words, look),
            "reason": shortened(decision.reason, REASON_SHOWN),
            "parts": [(part, found) for part in PARTS if (found := [fact for fact in told if fact.part == part])],
            "outcomes": outcome_text(record),
        }
