"""A loop on one page of HTML, for a person who was asleep while it ran: how it ended and why, the numbers, the course, each step.

The page holds all that it needs: no script, no address, no font. A Content-Security-Policy says so to the browser as well, and
allows no style but the one whose digest it names; a text that broke out, against all escaping, could still do nothing.
"""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime

from helmsman.agents.telling import in_short
from helmsman.records.gates import Answer, Gate
from helmsman.records.iteration import IterationRecord
from helmsman.records.modes import Climb
from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from helmsman.render.details import ENDINGS, HEADS, answers_table, iteration
from helmsman.render.first_facts import Code, Line, first_facts
from helmsman.render.markup import NOTHING, Markup, element, escaped, joined, opening
from helmsman.render.next_steps import next_steps
from helmsman.render.pieces import bullets, code, facts, folded, output, paragraph, span, table
from helmsman.render.plan import plan_section
from helmsman.render.style import STYLE
from helmsman.render.traces import Trace, figures_of, trace_of
from helmsman.texts import SIGNS, counted, dollars_told, duration, merged_text, money

MOST_DETAILED = 500
"""Iterations that are shown one by one."""
MOST_OUTPUTS = 50
"""Iterations that are shown with the outputs of checks and the agent's last words."""
TITLE_SHOWN = 160
MOST_DOUBTS = 5
"""Findings that are named on the front of the page; all of them stand in the iterations."""


def page(
    state: LoopState, records: Sequence[IterationRecord], state_ref: str, earlier: Sequence[Trace] = (), unverified: str = ""
) -> str:
    """The whole document. Records in the order of their time; of those before them only the traces, for the charts.

    `unverified`: what was found in the place of a state that Helmsman signed; empty: it did.
    """
    shown = records[-MOST_DETAILED:]
    traces = [*earlier, *(trace_of(record) for record in records)]
    body = element(
        "main",
        _unverified(unverified) if unverified else NOTHING,
        _head(state, state_ref),
        _gate(state.gate) if state.gate else NOTHING,
        _numbers(state),
        _course(traces, state.oversight.ladder.climbs),
        plan_section(state),
        _people(state.answers),
        _iterations(state, shown, len(traces) - len(shown)),
        _places(state, state_ref),
        _foot(state),
    )
    document = element("html", _document_head(state), element("body", body), lang="en")
    return f"<!DOCTYPE html>\n{document}\n"


def _document_head(state: LoopState) -> Markup:
    style = Markup(STYLE)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return element(
        "head",
        opening("meta", charset="utf-8"),
        opening("meta", http_equiv="Content-Security-Policy", content=policy),
        opening("meta", name="viewport", content="width=device-width, initial-scale=1"),
        opening("meta", name="referrer", content="no-referrer"),
        opening("link", rel="icon", href="data:,"),  # or a browser asks the server for one
        element("title", escaped(f"{state.loop}: {SIGNS[state.outcome]}")),
        element("style", style),
    )


# --- how it stands ------------------------------------------------------------------------------------------------


def _unverified(found: str) -> Markup:
    return paragraph(element("strong", escaped(f"Unverified: {found}. Believe nothing of this page.")))


def _head(state: LoopState, state_ref: str) -> Markup:
    first, _, rest = state.config.goal.strip().partition("\n")
    title = first if len(first) <= TITLE_SHOWN else f"{first[:TITLE_SHOWN]}…"
    long = rest.strip() or title != first
    return element(
        "header",
        element("div", escaped("Helmsman"), code(state.loop), span(_as_of(state)), class_="over"),
        element("h1", escaped(title)),
        folded("the whole goal", output(state.config.goal)) if long else NOTHING,
        _agent(state),
        _front(state, state_ref),
    )


def _agent(state: LoopState) -> Markup:
    """Which one, where it is not Claude Code, and what it lacks: half of this page says less then."""
    return paragraph(escaped(f"Agent: {in_short(state.agent.kind)}."), class_="small") if state.agent else NOTHING


def _as_of(state: LoopState) -> str:
    return f"as of {state.updated_at:%Y-%m-%d %H:%M} UTC"


def _front(state: LoopState, state_ref: str) -> Markup:
    """Whether it is done, what proves it, what it cost, what to look at."""
    result = result_of(state, state_ref)
    rule = [escaped(" "), code(result.rule)] if result.rule else []
    look, step = (
        [(Code(command),) for name, command in next_steps(result, state.gate) if name == due] for due in ("look", "next")
    )
    rows = (*first_facts(state), ("Look at", [*look, *_doubts(state)]), ("Next", step))
    return element(
        "div",
        paragraph(element("strong", escaped(SIGNS[state.outcome])), *rule),
        facts((name, joined(map(_line, lines))) for name, lines in rows),
        class_=f"why {ENDINGS[state.outcome]}",
    )


def _line(line: Line) -> Markup:
    pieces = [code(piece) if isinstance(piece, Code) else escaped(piece) for piece in line if piece]
    return element("div", *(joined([piece, escaped(" ")]) for piece in pieces))


def _doubts(state: LoopState) -> Iterator[Line]:
    """What a person should see with their own eyes: findings in the change, and what the agent said that was not so."""
    yield from ((f"{one.where}: {one.message}", Code(one.rule)) for one in state.findings[:MOST_DOUBTS])
    if len(state.findings) > MOST_DOUBTS:
        yield (f"… and {counted(len(state.findings) - MOST_DOUBTS, 'more finding')}",)
    if state.trust.contradicted:
        yield (f"{state.trust.contradicted} of {counted(state.trust.checked, 'claim')} of the agent did not hold",)


def _gate(gate: Gate) -> Markup:
    """The question that is open, before everything else that there is to read."""
    deadline = f"{gate.deadline:%Y-%m-%d %H:%M} UTC, then {gate.at_timeout}" if gate.deadline else ""
    choices = ((choice, escaped(effect)) for choice, effect in gate.choices.items())
    known = (("asked of", escaped(gate.asked_of)), ("until", escaped(deadline)), ("key", code(gate.key)))
    return joined(
        [
            element("h2", escaped("A question is open")),
            element(
                "div",
                paragraph(element("strong", escaped(gate.question))),
                output(gate.evidence),
                bullets(escaped(question) for question in gate.questions),
                facts((*choices, *known)),
                class_="card",
            ),
        ]
    )


def _numbers(state: LoopState) -> Markup:
    return element("section", *(_card(*card) for card in (*_used(state), *_judged(state))), class_="numbers")


def _used(state: LoopState) -> Iterator[tuple[str, str, str]]:
    """Name, value and note of each card: what is done, and what it took."""
    limits, spent, best = state.config.limits, state.spending, state.oversight.best
    hours = f"of {limits.wall_clock_hours:g} hours allowed" if limits.wall_clock_hours else "no limit"
    dollars = f"of {money(limits.cost_usd)} allowed" if limits.cost_usd else "no limit"
    reached = f"best: #{best.iteration}, {best.completion:.0%}" if best else ""
    yield "Completion", f"{state.oversight.progress.completion:.0%}", reached
    yield "Iterations", f"{state.iteration:,}", f"of {limits.iterations:,} allowed"
    yield "Cost", dollars_told(spent.cost_usd, state.untold), dollars
    yield "Time", duration(spent.seconds), hours
    yield "Tokens", f"{spent.tokens:,}", counted(spent.agent_calls, "agent call")


def _judged(state: LoopState) -> Iterator[tuple[str, str, str]]:
    """How much of what was said is true, and how the loop is steered."""
    trust, control = state.trust, state.oversight.control
    compared = "compared with evidence" if trust.checked else "none was compared"
    yield "Claims that held", f"{trust.checked - trust.contradicted} of {trust.checked}", compared
    yield "Ladder", state.oversight.ladder.rung.title, f"{counted(state.oversight.idle, 'iteration')} without progress"
    yield "Urgency", f"{control.output:.2f}", control.band


def _card(name: str, value: str, note: str) -> Markup:
    lines = (("name", name), ("value", value), ("note", note))
    return element("div", *(element("div", escaped(text), class_=kind) for kind, text in lines), class_="card")


# --- the course ---------------------------------------------------------------------------------------------------


def _course(traces: Sequence[Trace], climbs: Sequence[Climb]) -> Markup:
    figures = [element("figure", *charts, class_="card") for charts in figures_of(traces)]
    rows = [
        (escaped(str(climb.iteration)), escaped(f"{climb.before.title} to {climb.after.title}"), escaped(climb.reason))
        for climb in climbs
    ]
    return element(
        "section",
        element("h2", escaped("The course")),
        element("div", *figures, class_="charts"),
        folded(f"why it went up or down the ladder ({len(rows)})", table(("after", "from to", "reason"), rows))
        if rows
        else NOTHING,
    )


def _people(answers: Sequence[Answer]) -> Markup:
    if not answers:
        return NOTHING
    return element(
        "section",
        element("h2", escaped("What people decided")),
        element("div", answers_table(answers), class_="card"),
    )


def _iterations(state: LoopState, records: Sequence[IterationRecord], before: int) -> Markup:
    heading = element("div", *(span(name) for name in HEADS), class_="row heading")
    since = records[0].started_at if before else state.created_at  # a plan is answered before the first one starts
    entries = list(_entries(records, state.answers, since))[::-1]
    left_out = f"{counted(before, 'earlier attempt')} only in the charts; each one with: helmsman log {state.loop} N"
    return element(
        "section",
        element("h2", escaped("Iterations, newest first")),
        element("div", heading, *entries, class_="card list")
        if entries
        else paragraph(escaped("None has ended yet."), class_="soft"),
        paragraph(escaped(left_out), class_="soft small") if before else NOTHING,
    )


def _entries(records: Sequence[IterationRecord], answers: Sequence[Answer], since: datetime) -> Iterator[Markup]:
    """In the order of time, each with the answers that came since the one before it."""
    for number, record in enumerate(records, start=1):
        given = [answer for answer in answers if since < answer.at <= record.ended_at]
        newest = number == len(records)
        yield iteration(record, answers=given, outputs=number > len(records) - MOST_OUTPUTS, opened=newest)
        since = record.ended_at


# --- where it is --------------------------------------------------------------------------------------------------


def _places(state: LoopState, state_ref: str) -> Markup:
    rows: list[tuple[str, Markup]] = [
        ("branch", joined([code(state.branch), escaped(" at "), code(state.head[:12])])),
        ("began at", joined([code(state.base_commit[:12]), escaped(f" {state.base_branch}")])),
        ("proven at", code(state.verified[:12]) if state.verified else NOTHING),
        ("merged", escaped(merged_text(state.merged)) if state.merged else NOTHING),
        ("state", code(state_ref)),
        *(("salvaged", code(kept.ref)) for kept in state.salvaged),
        ("taken off", code(state.failed.ref) if state.failed else NOTHING),
    ]
    return element("section", element("h2", escaped("Where it lies")), element("div", facts(rows), class_="card"))


def _foot(state: LoopState) -> Markup:
    lasted = f"{state.created_at:%Y-%m-%d %H:%M} to {state.updated_at:%Y-%m-%d %H:%M} UTC"
    return element("footer", escaped(f"Helmsman, loop {state.loop}, {lasted}. Every number is read from the loop's own records."))
