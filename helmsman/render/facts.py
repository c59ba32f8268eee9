"""What there is to tell of a loop and of its iterations, as facts: the log, the report and the engine's pages all show these.

A fact's text is plain, several lines are parted by newlines, and what stands between backticks in it is shown as code.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from helmsman import texts
from helmsman.plain import clean, short_line, spelled
from helmsman.records.agent import StopAttempt
from helmsman.records.checks import CheckReport, Finding, Judgement, JudgementOutcome, Weight
from helmsman.records.claims import Contradiction
from helmsman.records.control import EscalationLevel, Oversight, Progress
from helmsman.records.decision import Decision, Outcome, Severity
from helmsman.records.hats import Worn
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState

LISTED = 8  # failing tests, or whatever else is listed, that are named
ERRORS_SHOWN, GUARDED_SHOWN, LEARNT_SHOWN, FILES_SHOWN, SAID_SHOWN = 3, 5, 5, 40, 300
LIMITS = "limits."
Kind = Literal["good", "bad", "neutral", "warn"]
Part = Literal["Decision", "Signals", "Checks", "Claims", "Findings", "Judge", "Plan", "Work", "Agent", "Control"]
PARTS: tuple[Part, ...] = "Decision", "Signals", "Checks", "Claims", "Findings", "Judge", "Plan", "Work", "Agent", "Control"
"""In the order in which a page shows them."""
SEVERITIES: dict[Severity, Kind] = {
    Severity.LOG: "neutral", Severity.WARN: "warn", Severity.REDIRECT: "warn", Severity.PAUSE: "bad", Severity.ABORT: "bad"
}  # fmt: skip
VERDICTS: dict[JudgementOutcome, Kind] = {
    JudgementOutcome.APPROVED: "good", JudgementOutcome.REJECTED: "bad", JudgementOutcome.UNDECIDED: "warn"
}  # fmt: skip


class Fact(NamedTuple):
    name: str  # what it is about, ten characters at most where a line of a log has it
    value: str
    kind: Kind | Literal[""] = ""  # how it looks
    part: Part = "Decision"
    is_detail: bool = False  # whether only a page tells it, and no log

    @property
    def line(self) -> str:
        return f"{self.name:<10} {self.value}"


def coded(text: str) -> str:
    """A name, a commit or a command, as pages show one; nothing where there is none."""
    return f"`{clean(text).replace('`', chr(39))}`" if text else ""


def _details(part: Part, *facts: tuple[str, str]) -> Iterator[Fact]:
    """Those that say something."""
    yield from (Fact(name, value, "", part, is_detail=True) for name, value in facts if value)


def front_facts(state: LoopState) -> Iterator[Fact]:
    """What a person asks first: is it done, what proves it, what fails, what did it cost. What has no answer is left out."""
    done = "good" if state.outcome is Outcome.COMPLETED else "warn"
    merged = [texts.merged_text(state.merged)] if state.merged else []
    facts = (
        Fact("Done", _done(state), done),
        Fact("Proof", _proof(state)),
        Fact("Fails", "\n".join(some(failing_names(state.checks))), "bad"),
        Fact("Cost", cost_text(state)),
        Fact("Branch", "\n".join([f"{coded(state.branch)} at {coded(state.head[:12])}", *merged])),
    )
    yield from (fact for fact in facts if fact.value)


def failing_names(report: CheckReport | None) -> Iterator[str]:
    """Tests by name; a command that names none by itself. As code."""
    for result in report.failures if report else ():
        names = result.counts.failing if result.counts else ()
        yield from (coded(name) for name in (names or (result.command,)))


def some(lines: Iterable[str], most: int = LISTED) -> list[str]:
    """The first few of them, and how many more there are."""
    every = list(lines)
    return [*every[:most], *([f"… and {len(every) - most} more"] if len(every) > most else ())]


def _done(state: LoopState) -> str:
    if state.ending:
        return f"{'yes' if state.outcome is Outcome.COMPLETED else 'no'}: {state.ending.reason}"
    if state.gate:
        return f"not yet: {state.gate.question}"
    if state.waiting:
        return f"not yet: it goes on at {state.waiting.until:%Y-%m-%d %H:%M} UTC: {state.waiting.reason}"
    return "not yet"


def _proof(state: LoopState) -> str:
    if not state.config.checks:
        return "no check is configured: nothing is verified"
    if state.checks is None:
        return "none yet: no check has run"
    counts = [result.counts for result in state.checks.results if result.counts]
    tests = f", {sum(one.passed for one in counts)} tests passed" if counts else ""
    proven = f"proven at `{state.verified[:12]}`" if state.verified else "not proven yet"
    return f"{green_text(state.checks)}{tests}; {proven}"


def green_text(report: CheckReport) -> str:
    """How many checks pass: `2 of 8 checks green`."""
    passing, every = len(report.results) - len(report.failures), len(report.results)
    return f"{passing} of {texts.plural(every, 'check')} green" if every else "no check configured"


def cost_text(state: LoopState) -> str:
    limits, spent = state.config.limits, state.spending
    iterations = f"{state.iteration} of {texts.plural(limits.iterations, 'iteration')}"
    dollars = texts.money_text(spent.cost_usd, limits.cost_usd, state.untold)
    return f"{dollars}, {iterations}, {texts.duration(spent.seconds)}, {texts.format_tokens(spent.tokens, state.untold)}"


def facts(record: IterationRecord) -> Iterator[Fact]:
    """All that there is to tell of an iteration, in the order in which it happened."""
    yield from _agent(record)
    yield from _research(record)
    yield from _work(record)
    yield from check_facts(record.checks)
    yield from finding_facts(record.findings)
    yield from _item(record)
    yield from _claims(record)
    yield from judge_facts(record.judgement)
    yield from _signals(record)
    yield from decision_facts(record.decision)
    yield from control_facts(record.oversight)
    if record.execution.change.leftovers_committed:
        yield Fact("note", "the agent left work uncommitted; Helmsman committed it", "", "Work")


def _agent(record: IterationRecord) -> Iterator[Fact]:
    call = record.execution.call
    if record.hat:
        yield hat_fact(record.hat)
    if call.error:
        yield Fact("its words", short_line(call.error, SAID_SHOWN), "", "Agent")
    yield from (Fact("guard", texts.guard_text(one), "warn", "Agent") for one in call.guarded[:GUARDED_SHOWN])
    if call.stops:
        yield Fact("stop", _stops_text(call.stops), "", "Agent")
    if call.rotated:
        yield Fact("rotated", clean(call.rotated), "", "Agent")
    for one in call.context.compactions:
        yield Fact("compacted", f"{one.before:,} → {one.after:,} tokens ({clean(one.trigger)})", "", "Agent")
    for error in [one for one in call.errors if one.times > 1][-ERRORS_SHOWN:]:
        found = f"{error.times} times {error.kind} {clean(error.where)}: {clean(error.message)[:120]}"
        yield Fact("failure", found, "warn", "Agent")
    usage, tools = call.usage, ", ".join(f"{clean(name)} {times}" for name, times in call.tools[:12])
    tokens = f"{usage.tokens:,} ({usage.output_tokens:,} written, {usage.cache_read_tokens:,} read from the cache)"
    used = texts.format_dollars(usage.cost_usd, call.untold)
    yield from _details(
        "Agent",
        ("model", call.model),
        ("took", f"{texts.duration(call.seconds)}, {texts.plural(call.turns, 'turn')}, {used}"),
        ("tokens", tokens),
        ("context", texts.context_text(call.context) if call.context.peak else ""),
        ("tools", tools),
        ("refused", ", ".join(call.permission_denials)),
    )


def hat_fact(hat: Worn) -> Fact:
    return Fact("hat", f"{clean(hat.name)}: {clean(hat.why)}{f' ({clean(hat.preset)})' if hat.preset else ''}", "", "Agent")


def _stops_text(attempts: Sequence[StopAttempt]) -> str:
    times = sum(attempt.blocked for attempt in attempts)
    before = f"blocked {texts.plural(times, 'time')} (checks fail), then " if times and not attempts[-1].blocked else ""
    if times > 1 and attempts[-1].blocked:
        return f"blocked {texts.plural(times, 'time')}, the last time: {clean(attempts[-1].why)}"
    return f"{before}{texts.stop_text(attempts[-1])}"


def _research(record: IterationRecord) -> Iterator[Fact]:
    found = record.memory.research
    if record.researched:
        complete = f"complete: {short_line(found.approach, SAID_SHOWN)}" if found.complete else "incomplete"
        yield Fact("research", complete, "", "Work")
        yield from (Fact("missing", clean(problem), "warn", "Work") for problem in found.problems)


def _work(record: IterationRecord) -> Iterator[Fact]:
    change, failed = record.execution.change, record.failed
    size = f"{texts.plural(change.files_changed, 'file')}, +{change.insertions} −{change.deletions}"
    told = (
        f"{size}, {texts.plural(len(change.commits), 'commit')}, now {change.commit[:10]}"
        if change.files_changed
        else "unchanged"
    )
    yield Fact("tree", told, "", "Work")

    taken = f"{failed.why}; kept at {coded(failed.ref)}, the branch went back to {coded(failed.back_to[:10])}" if failed else ""
    yield from _details(
        "Work",
        ("commits", "\n".join(f"`{commit.id[:10]}` {clean(commit.subject)}" for commit in change.commits)),
        ("files", "\n".join(some(map(coded, change.files), FILES_SHOWN))),
        ("protected", ", ".join((*map(clean, record.execution.put_back), "put back")) if record.execution.put_back else ""),
        ("taken off", taken),
    )


def check_facts(report: CheckReport | None) -> Iterator[Fact]:
    if report is None:
        yield Fact("checks", "not run", "", "Checks")
        return
    if not report.results:
        yield Fact("checks", "NONE CONFIGURED: nothing was verified", "warn", "Checks")
    for result in report.results:
        kind: Kind = ("warn" if result.flaky else "good") if result.passed else "bad"
        yield Fact("check", texts.check_text(result), kind, "Checks")
    if report.clean is False and report.results:
        yield Fact("", "verified in the agent's folder (workspace.clean = false)", "warn", "Checks")
    yield from _details("Checks", ("put back", ", ".join(report.left_behind)))


def checks_kind(report: CheckReport | None) -> Kind:
    """Whether checks passed; warn: only after another try on the same tree."""
    if report is None or not report.results:
        return "neutral"
    if not report.passed:
        return "bad"
    return "warn" if any(result.flaky for result in report.results) else "good"


def finding_facts(findings: Sequence[Finding]) -> Iterator[Fact]:
    for one in findings:
        blocks = one.weight is Weight.BLOCK
        told = f"{'✘' if blocks else '!'} {one.rule} {clean(one.where)}: {clean(one.message)}"
        yield Fact("finding" if blocks else "hint", told, "bad" if blocks else "warn", "Findings")
        yield from _details("Findings", ("honest", one.honest))


def _item(record: IterationRecord) -> Iterator[Fact]:
    item, touched = record.item, record.execution.plan
    if item is not None:
        told = "✔ proven" if item.proven else f"✘ {clean(item.why)}"
        ticked = f", ticked in {record.tick.commit[:10]}" if record.tick else ""
        yield Fact("item", f"{clean(item.item)}: {told}{ticked}", "good" if item.proven else "warn", "Plan")
        yield from _details("Plan", ("title", item.title))
    if touched is not None:
        told = clean(touched.why)
        yield Fact("plan", told if touched.kept else f"its file was put back: {told}", "", "Plan")


def _claims(record: IterationRecord) -> Iterator[Fact]:
    if record.claims.wants_to_finish:
        yield Fact("claim", f"claims completion ({clean(record.claims.how)})", "", "Claims")
    if record.blocked:
        yield Fact("blocked", clean(record.claims.blocked), "warn", "Claims")
    yield from untrue_facts(record.contradictions)
    compared = f"{texts.plural(record.claims_checked, 'claim')} with evidence" if record.claims_checked else ""
    denied = "\n".join(f"{spelled(one.rule)}: {one.why}" for one in record.proof.denied)
    yield from _details("Claims", ("compared", compared), ("not done", denied))


def untrue_facts(contradictions: Sequence[Contradiction]) -> Iterator[Fact]:
    yield from (Fact("untrue", f"{clean(one.said)}: {clean(one.found)}", "bad", "Claims") for one in contradictions)


def judge_facts(found: Judgement | None) -> Iterator[Fact]:
    """The verdict, criterion by criterion."""
    if found is None:
        return
    yield Fact("judge", f"{found.outcome}{f': {clean(found.cause)}' if found.cause else ''}", VERDICTS[found.outcome], "Judge")
    for one in found.criteria:
        votes = f" ({one.votes_met} of {one.votes_cast} votes)" if one.votes_cast > 1 else ""
        sign, kind = ("✔", "good") if one.met else ("?", "warn") if one.cannot_tell else ("✘", "bad")
        yield Fact("criterion", f"{sign} {clean(one.criterion)}{votes}: {clean(one.reason)[:200]}", kind, "Judge")
        needed = f"{one.votes_met} of {one.votes_cast}, {one.votes_needed} needed" if one.votes_cast > 1 else ""
        yield from _details("Judge", ("votes", needed), ("evidence", coded(one.evidence)))
    score = f"{found.score:.0%} of the weight met" if found.score is not None else ""
    used = f"{texts.plural(found.calls, 'call')}, {texts.money(found.usage.cost_usd)}, {texts.duration(found.seconds)}"
    yield from _details("Judge", ("score", score), ("asked", f"{found.model or 'a model'}, {used}"))


def _signals(record: IterationRecord) -> Iterator[Fact]:
    done = record.decision.outcome is Outcome.COMPLETED
    for one in record.signals:
        used_up = done and one.rule.startswith(LIMITS)  # what it was given, for work that is done: not worth a line
        yield Fact(texts.alert_word(one), clean(one.message), SEVERITIES[one.severity], "Signals", is_detail=used_up)
        known = " / ".join(f"{number:g}" for number in (one.value, one.threshold) if number is not None)
        yield from _details("Signals", ("rule", coded(one.rule) + (f" ({known})" if known else "")), ("told", one.instruction))


def decision_facts(decision: Decision) -> Iterator[Fact]:
    yield Fact("→", f"{decision.word}: {clean(decision.reason)}", "")
    asked = ((step, f"; otherwise with: {step.otherwise}" if step.held and step.otherwise else "") for step in decision.path)
    steps = (("yes" if step.held else "no", f"{step.question} {step.because}{other}") for step, other in asked)
    yield from _details("Decision", ("rule", coded(decision.rule)), *steps)


def control_facts(oversight: Oversight) -> Iterator[Fact]:
    """What control between iterations rests on."""
    control, ladder = oversight.control, oversight.ladder
    gains = f"{control.gains.kp:.2f}/{control.gains.ki:.2f}/{control.gains.kd:.2f}"
    terms = f"P {control.proportional:.2f}, I {control.integral:.2f}, D {control.derivative:+.3f} by {gains} ({control.phase})"
    goes_on = oversight.strategy.reasoning and ladder.rung < EscalationLevel.HUMAN  # else there is no next iteration to go about
    helped = {True: ", what was done helped", False: ", what was done did not help", None: ""}
    yield from _details(
        "Control",
        ("progress", shares_text(oversight.progress)),
        ("control", f"{terms} give {control.output:.2f}: {control.band}"),
        ("idle", f"{texts.plural(oversight.idle, 'iteration')} in a row without progress" if oversight.idle else ""),
        ("ladder", f"{ladder.rung.title}{f': {clean(ladder.reason)}' if ladder.reason else ''}"),
        ("feedback", f"{oversight.feedback}; diagnosis {oversight.diagnosis}"),
        ("strategy", f"{oversight.strategy.stance}: {clean(oversight.strategy.reasoning)}" if goes_on else ""),
        *(
            ("learning", f"{one.kind}: level {one.level}, {one.in_row} in a row, {one.seen} in all{helped[one.helped]}")
            for one in oversight.learning[:LEARNT_SHOWN]
        ),
        *(("issue", f"{clean(issue.rule)}: {clean(issue.message)}") for issue in oversight.issues),
        *(("fault", f"{clean(fault)}; its default was used") for fault in oversight.faults),
    )


def shares_text(progress: Progress) -> str:
    """How far it is, and by what: `62% (checks 50%, tests 75%)`."""
    named = (("checks", progress.checks), ("tests", progress.tests), ("criteria", progress.criteria), ("items", progress.items))
    parts = ", ".join(f"{name} {share:.0%}" for name, share in named if share is not None)
    return f"{progress.completion:.0%}{f' ({parts})' if parts else ''}"
