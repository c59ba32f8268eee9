"""Facts about a loop and its iterations, as shown in the log, the report and the pages of the engine's UI.

The text of a fact is plain, may have several lines, and has code between backticks.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from helmsman import texts
from helmsman.plain import clean, in_plain_words, short_line
from helmsman.records.agent import AgentCall, AgentOutcome, StopAttempt
from helmsman.records.checks import CheckReport, Finding, Judgement, JudgementOutcome, Weight
from helmsman.records.claims import Contradiction
from helmsman.records.control import EscalationLevel, Oversight, Progress
from helmsman.records.decision import Decision, Outcome, Severity
from helmsman.records.hats import ChosenHat
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState

LISTED = 8  # entries of a list, such as failing tests, that are named
ERRORS_SHOWN, GUARDED_SHOWN, LEARNT_SHOWN, FILES_SHOWN, SAID_SHOWN = 3, 5, 5, 40, 300
LIMITS = "limits."
Kind = Literal["good", "bad", "neutral", "warn"]
Part = Literal["Decision", "Signals", "Checks", "Claims", "Findings", "Judge", "Plan", "Work", "Agent", "Control"]
PARTS: tuple[Part, ...] = "Decision", "Signals", "Checks", "Claims", "Findings", "Judge", "Plan", "Work", "Agent", "Control"
"""In the order of a page."""
SEVERITIES: dict[Severity, Kind] = {
    Severity.LOG: "neutral", Severity.WARN: "warn", Severity.REDIRECT: "warn", Severity.PAUSE: "bad", Severity.ABORT: "bad"
}  # fmt: skip
VERDICTS: dict[JudgementOutcome, Kind] = {
    JudgementOutcome.APPROVED: "good", JudgementOutcome.REJECTED: "bad", JudgementOutcome.UNDECIDED: "warn"
}  # fmt: skip


class Fact(NamedTuple):
    name: str  # at most ten characters if it is shown in a log
    value: str
    kind: Kind | Literal[""] = ""  # how it looks
    part: Part = "Decision"
    is_detail: bool = False  # shown on pages only, not in logs

    @property
    def line(self) -> str:
        return f"{self.name:<10} {self.value}"


def as_code(text: str) -> str:
    """Format a name, a commit or a command as code; empty if there is none."""
    return f"`{clean(text).replace('`', chr(39))}`" if text else ""


def _details(part: Part, *facts: tuple[str, str]) -> Iterator[Fact]:
    """Yield details with a value."""
    yield from (Fact(name, value, "", part, is_detail=True) for name, value in facts if value)


def front_facts(state: LoopState) -> Iterator[Fact]:
    """Answer a person's first questions: whether it is done, what proves it, what fails, what it cost. Omit empty answers."""
    kind = "good" if state.outcome is Outcome.COMPLETED else "warn"
    merged, changed = [texts.merged_text(state.merged)] if state.merged else [], state.oversight.git.followed
    facts = (
        Fact("Warning", clean(texts.git_changes_text(changed)) if changed else "", "bad"),
        Fact("Done", _done_text(state), kind),
        Fact("Proof", _proof_text(state)),
        Fact("Fails", "\n".join(first_lines(failing_names(state.checks))), "bad"),
        Fact("Cost", cost_text(state)),
        Fact("Branch", "\n".join([f"{as_code(state.branch)} at {as_code(state.head[:12])}", *merged])),
    )
    yield from (fact for fact in facts if fact.value)


def failing_names(report: CheckReport | None) -> Iterator[str]:
    """Names of failing tests as code; the command of a check that names none."""
    for result in report.failures if report else ():
        failing = result.counts.failing if result.counts else ()
        yield from (as_code(name) for name in (failing or (result.command,)))


def first_lines(lines: Iterable[str], most: int = LISTED) -> list[str]:
    """Return the first lines and the number of the others."""
    all_lines = list(lines)
    return [*all_lines[:most], *([f"… and {len(all_lines) - most} more"] if len(all_lines) > most else ())]


def _done_text(state: LoopState) -> str:
    if state.ending:
        return f"{'yes' if state.outcome is Outcome.COMPLETED else 'no'}: {state.ending.reason}"
    if state.gate:
        return f"not yet: {state.gate.question}"
    if state.waiting:
        return f"not yet: it continues at {state.waiting.until:%Y-%m-%d %H:%M} UTC: {state.waiting.reason}"
    return "not yet"


def _proof_text(state: LoopState) -> str:
    if not state.config.checks:
        return "no check is configured: nothing is verified"
    if state.checks is None:
        return "none yet: no check has run"
    counts = [result.counts for result in state.checks.results if result.counts]
    tests = f", {sum(count.passed for count in counts)} tests passed" if counts else ""
    proven = f"proven at `{state.verified[:12]}`" if state.verified else "not proven yet"
    return f"{passing_text(state.checks)}{tests}; {proven}"


def passing_text(report: CheckReport) -> str:
    """Number of passing checks: `2 of 8 checks green`."""
    passing, total = len(report.results) - len(report.failures), len(report.results)
    return f"{passing} of {texts.plural(total, 'check')} green" if total else "no check configured"


def cost_text(state: LoopState) -> str:
    limits, spent = state.config.limits, state.spending
    iterations = f"{state.iteration} of {texts.plural(limits.iterations, 'iteration')}"
    dollars = texts.format_cost(spent.cost_usd, limits.cost_usd, state.untold)
    return f"{dollars}, {iterations}, {texts.format_duration(spent.seconds)}, {texts.format_tokens(spent.tokens, state.untold)}"


def facts(record: IterationRecord) -> Iterator[Fact]:
    """All facts of an iteration, in the order of its steps."""
    yield from _agent_facts(record)
    yield from _research_facts(record)
    yield from _work_facts(record)
    yield from check_facts(record.checks)
    yield from finding_facts(record.findings)
    yield from _plan_facts(record)
    yield from _claim_facts(record)
    yield from judge_facts(record.judgement)
    yield from _signal_facts(record)
    yield from decision_facts(record.decision)
    yield from control_facts(record.oversight)
    if record.execution.change.leftovers_committed:
        yield Fact("note", "the agent left work uncommitted; Helmsman committed it", "", "Work")


def _unexplained(call: AgentCall) -> str:
    """What is known of a crash that printed no message: a wrong program or version, or a signal."""
    if call.outcome is not AgentOutcome.CRASHED:
        return ""
    code = call.exit_code
    how = "" if code is None else f" by signal {-code}" if code < 0 else f" with exit status {code}"
    return f"the agent's program ended{how}, without a result and without a message"


def _agent_facts(record: IterationRecord) -> Iterator[Fact]:
    call = record.execution.call
    if record.hat:
        yield hat_fact(record.hat)
    if error := call.error or _unexplained(call):
        yield Fact("error", short_line(error, SAID_SHOWN), "", "Agent")
    yield from (Fact("guard", texts.guard_text(guarded), "warn", "Agent") for guarded in call.guarded[:GUARDED_SHOWN])
    if call.stops:
        yield Fact("stop", _stops_text(call.stops), "", "Agent")
    if call.rotated:
        yield Fact("rotated", clean(call.rotated), "", "Agent")
    for compaction in call.context.compactions:
        yield Fact("compacted", f"{compaction.before:,} → {compaction.after:,} tokens ({clean(compaction.trigger)})", "", "Agent")
    for error in [repeated for repeated in call.errors if repeated.times > 1][-ERRORS_SHOWN:]:
        text = f"{error.times} times {error.kind} {clean(error.where)}: {clean(error.message)[:120]}"
        yield Fact("failure", text, "warn", "Agent")
    usage, tools = call.usage, ", ".join(f"{clean(name)} {times}" for name, times in call.tools[:12])
    tokens = f"{usage.tokens:,} ({usage.output_tokens:,} written, {usage.cache_read_tokens:,} read from the cache)"
    spent = texts.format_dollars(usage.cost_usd, call.untold)
    yield from _details(
        "Agent",
        ("model", call.model),
        ("took", f"{texts.format_duration(call.seconds)}, {texts.plural(call.turns, 'turn')}, {spent}"),
        ("tokens", tokens),
        ("context", texts.context_text(call.context) if call.context.peak else ""),
        ("tools", tools),
        ("refused", ", ".join(call.permission_denials)),
    )


def hat_fact(hat: ChosenHat) -> Fact:
    return Fact("hat", f"{clean(hat.name)}: {clean(hat.why)}{f' ({clean(hat.preset)})' if hat.preset else ''}", "", "Agent")


def _stops_text(attempts: Sequence[StopAttempt]) -> str:
    times = sum(attempt.blocked for attempt in attempts)
    before = f"blocked {texts.plural(times, 'time')} (checks fail), then " if times and not attempts[-1].blocked else ""
    if times > 1 and attempts[-1].blocked:
        return f"blocked {texts.plural(times, 'time')}, the last time: {clean(attempts[-1].why)}"
    return f"{before}{texts.stop_text(attempts[-1])}"


def _research_facts(record: IterationRecord) -> Iterator[Fact]:
    research = record.memory.research
    if record.was_research:
        value = f"complete: {short_line(research.approach, SAID_SHOWN)}" if research.complete else "incomplete"
        yield Fact("research", value, "", "Work")
        yield from (Fact("missing", clean(problem), "warn", "Work") for problem in research.problems)


def _work_facts(record: IterationRecord) -> Iterator[Fact]:
    change, failed = record.execution.change, record.failed
    size = f"{texts.plural(change.files_changed, 'file')}, +{change.insertions} −{change.deletions}"
    value = (
        f"{size}, {texts.plural(len(change.commits), 'commit')}, now {change.commit[:10]}"
        if change.files_changed
        else "unchanged"
    )
    yield Fact("tree", value, "", "Work")

    rolled_back = (
        f"{failed.why}; kept at {as_code(failed.ref)}, the branch went back to {as_code(failed.back_to[:10])}" if failed else ""
    )
    yield from _details(
        "Work",
        ("commits", "\n".join(f"`{commit.id[:10]}` {clean(commit.subject)}" for commit in change.commits)),
        ("files", "\n".join(first_lines(map(as_code, change.files), FILES_SHOWN))),
        ("protected", ", ".join((*map(clean, record.execution.put_back), "restored")) if record.execution.put_back else ""),
        ("undone", rolled_back),
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
    yield from _details("Checks", ("restored", ", ".join(report.left_behind)))


def checks_kind(report: CheckReport | None) -> Kind:
    """Whether checks passed; warn if only after a rerun on the same tree."""
    if report is None or not report.results:
        return "neutral"
    if not report.passed:
        return "bad"
    return "warn" if any(result.flaky for result in report.results) else "good"


def finding_facts(findings: Sequence[Finding]) -> Iterator[Fact]:
    for finding in findings:
        is_blocking = finding.weight is Weight.BLOCK
        text = f"{'✘' if is_blocking else '!'} {finding.rule} {clean(finding.where)}: {clean(finding.message)}"
        yield Fact("finding" if is_blocking else "hint", text, "bad" if is_blocking else "warn", "Findings")
        yield from _details("Findings", ("instead", finding.honest))


def _plan_facts(record: IterationRecord) -> Iterator[Fact]:
    item, plan_change = record.item, record.execution.plan
    if item is not None:
        is_silent = item.proven and record.own_passed_before
        text = "✔ proven" if item.proven else f"✘ {clean(item.why)}"
        text += ", but nothing was red before: its check passed already when the loop came to it" if is_silent else ""
        ticked = f", ticked in {record.tick.commit[:10]}" if record.tick else ""
        results = record.own.results if record.own else ()
        for number, one in enumerate(results):  # of the checks of earlier items, only those that fail
            yield Fact(
                "item check", texts.check_text(one), "good" if one.passed else "bad", "Plan", is_detail=number > 0 and one.passed
            )
        yield Fact("item", f"{clean(item.item)}: {text}{ticked}", "good" if item.proven and not is_silent else "warn", "Plan")
        yield from _details("Plan", ("title", item.title))
    if plan_change is not None:
        text = clean(plan_change.why)
        yield Fact("plan", text if plan_change.kept else f"its file was restored: {text}", "", "Plan")


def _claim_facts(record: IterationRecord) -> Iterator[Fact]:
    if record.claims.wants_to_finish:
        yield Fact("claim", f"claims completion ({clean(record.claims.how)})", "", "Claims")
    if record.blocked:
        yield Fact("blocked", clean(record.claims.blocked), "warn", "Claims")
    yield from contradiction_facts(record.contradictions)
    compared = f"{texts.plural(record.claims_checked, 'claim')} with evidence" if record.claims_checked else ""
    denied = "\n".join(f"{in_plain_words(denial.rule)}: {denial.why}" for denial in record.proof.denied)
    yield from _details("Claims", ("compared", compared), ("not done", denied))


def contradiction_facts(contradictions: Sequence[Contradiction]) -> Iterator[Fact]:
    yield from (
        Fact("untrue", f"{clean(contradiction.said)}: {clean(contradiction.found)}", "bad", "Claims")
        for contradiction in contradictions
    )


def judge_facts(judgement: Judgement | None) -> Iterator[Fact]:
    """The verdict, criterion by criterion."""
    if judgement is None:
        return
    yield Fact(
        "judge",
        f"{judgement.outcome}{f': {clean(judgement.cause)}' if judgement.cause else ''}",
        VERDICTS[judgement.outcome],
        "Judge",
    )
    for criterion in judgement.criteria:
        votes = f" ({criterion.votes_met} of {criterion.votes_cast} votes)" if criterion.votes_cast > 1 else ""
        sign, kind = ("✔", "good") if criterion.met else ("?", "warn") if criterion.cannot_tell else ("✘", "bad")
        yield Fact("criterion", f"{sign} {clean(criterion.criterion)}{votes}: {clean(criterion.reason)[:200]}", kind, "Judge")
        needed = (
            f"{criterion.votes_met} of {criterion.votes_cast}, {criterion.votes_needed} needed"
            if criterion.votes_cast > 1
            else ""
        )
        yield from _details("Judge", ("votes", needed), ("evidence", as_code(criterion.evidence)))
    score = f"{judgement.score:.0%} of the weight met" if judgement.score is not None else ""
    cost = f"{texts.format_money(judgement.usage.cost_usd)}, {texts.format_duration(judgement.seconds)}"
    effort = f"{judgement.model or 'a model'}, {texts.plural(judgement.calls, 'call')}, {cost}"
    yield from _details("Judge", ("score", score), ("asked", effort))


def _signal_facts(record: IterationRecord) -> Iterator[Fact]:
    is_completed = record.decision.outcome is Outcome.COMPLETED
    for alert in record.signals:
        # a limit reached by completed work is not worth a line; the decision says why a claim is refused
        is_detail = alert.rule.startswith(("completion.", "judge.")) or (is_completed and alert.rule.startswith(LIMITS))
        yield Fact(texts.alert_word(alert), clean(alert.message), SEVERITIES[alert.severity], "Signals", is_detail=is_detail)
        numbers = " / ".join(f"{number:g}" for number in (alert.value, alert.threshold) if number is not None)
        yield from _details(
            "Signals", ("rule", as_code(alert.rule) + (f" ({numbers})" if numbers else "")), ("advice", alert.instruction)
        )


def decision_facts(decision: Decision) -> Iterator[Fact]:
    yield Fact("→", f"{decision.title}: {clean(decision.reason)}", "")
    others = ((step, f"; different with: {step.otherwise}" if step.held and step.otherwise else "") for step in decision.path)
    steps = (("yes" if step.held else "no", f"{step.question} {step.because}{other}") for step, other in others)
    yield from _details("Decision", ("rule", as_code(decision.rule)), *steps)


def control_facts(oversight: Oversight) -> Iterator[Fact]:
    """Numbers and diagnoses behind the control between iterations."""
    control, ladder = oversight.control, oversight.ladder
    gains = f"{control.gains.kp:.2f}/{control.gains.ki:.2f}/{control.gains.kd:.2f}"
    terms = f"P {control.proportional:.2f}, I {control.integral:.2f}, D {control.derivative:+.3f} by {gains} ({control.phase})"
    has_next = oversight.strategy.reasoning and ladder.rung < EscalationLevel.HUMAN  # otherwise there is no next iteration
    effects = {True: ", the advice helped", False: ", the advice did not help", None: ""}
    yield from _details(
        "Control",
        ("progress", shares_text(oversight.progress)),
        ("control", f"{terms} give {control.output:.2f}: {control.band}"),
        ("idle", f"{texts.plural(oversight.idle, 'iteration')} in a row without progress" if oversight.idle else ""),
        ("ladder", f"{ladder.rung.title}{f': {clean(ladder.reason)}' if ladder.reason else ''}"),
        ("feedback", f"{oversight.feedback}; diagnosis {oversight.diagnosis}"),
        ("strategy", f"{oversight.strategy.stance}: {clean(oversight.strategy.reasoning)}" if has_next else ""),
        *(
            ("learning", f"{it.kind}: level {it.level}, {it.in_row} in a row, {it.seen} in all{effects[it.helped]}")
            for it in oversight.learning[:LEARNT_SHOWN]
        ),
        *(("issue", f"{clean(issue.rule)}: {clean(issue.message)}") for issue in oversight.issues),
        *(("fault", f"{clean(fault)}; its default was used") for fault in oversight.faults),
    )


def shares_text(progress: Progress) -> str:
    """Completion and its parts: `62% (checks 50%, tests 75%)`."""
    shares = (("checks", progress.checks), ("tests", progress.tests), ("criteria", progress.criteria), ("items", progress.items))
    parts = ", ".join(f"{name} {share:.0%}" for name, share in shares if share is not None)
    return f"{progress.completion:.0%}{f' ({parts})' if parts else ''}"
