"""What a decision may depend on, and the kinds of decision."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any

from helmsman.oversee.best import has_only_own_commits
from helmsman.plain import clean, in_plain_words, shorten
from helmsman.records.advance import items_green_before, tries_after
from helmsman.records.agent import AgentCall
from helmsman.records.checks import checks_fail
from helmsman.records.control import Oversight
from helmsman.records.decision import Alert, Decision, Outcome, Severity
from helmsman.records.iteration import Evidence
from helmsman.records.proof import WAIVABLE_RULES
from helmsman.records.state import LoopState
from helmsman.texts import plural
from helmsman.verify.completion import ALL_TICKED
from helmsman.verify.findings import describe_blocking, join_some

NAME = 100  # characters of a check's name in a reason
LEAST_LOSS = 0.01  # of completion; a smaller threshold would revert work for two flaky tests of 500
MOST_DENIED_CLAIMS = 2  # claims without changes or without proof: after the first the agent learns what is missing
BUDGET_EXCEEDED = "pain.budget"  # the critical event that is no evidence against the work
UNKNOWN_WAIT = timedelta(hours=1)  # wait if a usage limit announces no reset
LONGEST_WAIT = timedelta(days=8)  # upper bound of any announced wait; the longest known window is a week


@dataclass(frozen=True)
class Situation:
    """Everything that a decision may depend on."""

    state: LoopState  # before this iteration
    evidence: Evidence
    signals: tuple[Alert, ...]
    now: datetime
    oversight: Oversight = field(default_factory=Oversight)

    @property
    def call(self) -> AgentCall:
        return self.evidence.execution.call

    @property
    def critical_events(self) -> list[Alert]:
        return [signal for signal in self.signals if signal.is_critical]

    @property
    def limits(self) -> list[Alert]:
        """Alerts for reached limits."""
        return [signal for signal in self.signals if signal.severity is Severity.ABORT and not signal.is_critical]

    @property
    def acts(self) -> bool:
        """Whether the overseer's alerts have consequences."""
        return self.state.config.ladder.act

    @property
    def commit(self) -> str:
        return self.evidence.execution.change.commit

    @property
    def short_commit(self) -> str:
        return self.commit[:10]

    @property
    def call_ending(self) -> str:
        return f"it ended as {in_plain_words(self.call.outcome)}"

    @property
    def error_suffix(self) -> str:
        return f": {self.call.error}" if self.call.error else ""

    def has_only_own_commits(self, back: str) -> bool:
        return self.commit == back or has_only_own_commits(self.state.history, back, self.evidence.execution.change.start)

    @property
    def last_good(self) -> str:
        """The best commit, or the loop's base commit; empty if the branch is already there.

        An iteration with critical events is never the best; an exceeded budget is no evidence against the work.
        """
        is_harmless = all(signal.rule == BUDGET_EXCEEDED for signal in self.critical_events)
        best = (self.oversight if is_harmless else self.state.oversight).best
        good = best.commit if best else self.state.base_commit
        back = good if self.has_only_own_commits(good) else self.evidence.execution.change.start
        return "" if back == self.commit else back

    # --- status texts

    @property
    def status(self) -> str:
        """State of the work, as a clause."""
        report, has_claimed = self.evidence.checks, self.evidence.claims.wants_to_finish
        if report is None:
            return f"the agent's call ended as {in_plain_words(self.call.outcome)}, so nothing was checked"
        if report.results and not report.passed:
            claim = "; the agent claimed completion anyway" if has_claimed else ""
            return f"{checks_fail(len(report.failures), len(report.results))}{claim}"
        if not has_claimed and (item := self.evidence.item):  # with a plan no claim is needed: it is completed item by item
            remaining = self.evidence.items_left
            done = f"{item.item} is proven" + (
                f", {remaining} {'remains' if remaining == 1 else 'remain'}" if remaining else f", but {self._objections}"
            )
            return f"the plan's item {done if item.proven else f'{item.item} is not proven: {item.why}'}"
        if not has_claimed:
            says = "says that it is blocked" if self.evidence.claims.blocked else "has not claimed completion"
            return f"{'all checks pass, but' if report.results else 'nothing is checked and'} the agent {says}"
        return f"the agent claimed completion, but {self._objections}"

    @property
    def status_and_evidence(self) -> str:
        """Evidence against the work, for the reason of a stop: failing checks with their tests, blocking findings."""
        report, blocking = self.evidence.checks, describe_blocking(self.evidence.findings)
        failing: list[str] = []
        for result in report.failures if report else ():  # with the first of its failing tests
            tests = join_some(result.counts.failing) if result.counts else ""
            failing.append(f"{shorten(clean(result.name), NAME)} fails{f' at {clean(tests)}' if tests else ''}")
        status = self.status
        return "; ".join(part for part in (status, join_some(failing), blocking if blocking not in status else "") if part)

    @property
    def _objections(self) -> str:
        judgement = self.evidence.judgement
        rejected = f"the judge did not approve: {judgement.cause}" if judgement and not judgement.approved else ""
        return self.evidence.proof.objections or rejected or "force_max continues"

    @property
    def gate_states(self) -> str:
        """State of the completion gates."""
        proof, judgement = self.evidence.proof, self.evidence.judgement
        states = (
            f"claimed: {yes_or_no(proof.asked)}",
            f"every check passes: {yes_or_no(proof.green)}",
            f"objections: {len(proof.denied)}",
            *([f"the judge approves: {yes_or_no(judgement.approved)}"] if judgement else ()),
            *(["force_max continues"] if self.state.config.completion.force_max and self.evidence.proven else ()),
        )
        return ", ".join(states)

    @property
    def what_is_missing(self) -> str:
        """What was missing for completion."""
        return "nothing was missing" if self.evidence.proven else self.status

    @property
    def completion_reason(self) -> str:
        judgement, since, how = self.evidence.judgement, self.evidence.since_start, self.evidence.proof.how
        judged = f", and the judge agrees on {plural(len(judgement.criteria), 'criterion', 'criteria')}" if judgement else ""
        claimed = how if how == ALL_TICKED else f"the agent claimed completion ({how})"
        if green := items_green_before(self.state.plan, self.evidence):
            claimed += f" (nothing was red before for {join_some(green)})"
        shown = " (its new tests fail without the work)" if since and since.failing else ""
        return f"{claimed} and {self.checks_text}{shown}{judged} on {self.short_commit}"

    @property
    def checks_text(self) -> str:
        report = self.evidence.checks
        if not self.state.config.checks or report is None:
            return "NOTHING WAS VERIFIED, because no check is configured"
        where = ", verified in the agent's folder" if report.clean is False else ""
        empty = join_some([result.name for result in report.results if result.ran_no_test])
        untested = f", no test ran in {empty}" if empty else ""
        of_items = sum(result.passed for result in self.evidence.own.results) if self.evidence.own else 0
        items = f", and {of_items} of the plan's items" if of_items else ""
        return f"every check passes ({len(report.results)} of {len(report.results)}{items}{untested}{where})"

    @property
    def denied_claims(self) -> str:
        """Claims on an unchanged tree, and without proof."""
        done, refused = self.state.done, self.evidence.proof.refusing_rules
        unchanged, unproven = done.unchanged + ("unchanged" in refused), done.unproven + bool(refused & WAIVABLE_RULES)
        return f"{unchanged} on an unchanged tree, {unproven} without proof, {MOST_DENIED_CLAIMS} of either end the loop"

    @property
    def item_status(self) -> tuple[int, str]:
        """Tries of the plan's item, and its state as text."""
        proof = self.evidence.item
        if proof is None:
            return 0, "no plan item is in progress"
        tries = tries_after(self.state.plan, self.evidence).get(proof.item, 0)
        open_text = f"{proof.item}: {tries} of {self.state.config.plan.tries} tries, missing: {proof.why}"
        return tries, f"{proof.item} is proven" if proof.proven else open_text


Answer = tuple[str, Decision | None]
"""The numbers with their thresholds, and the decision or None if the answer is no."""
TextFunction = Callable[[Situation], str]


@dataclass(frozen=True)
class Question:
    """One row of the decision table."""

    rule: str
    asks: str  # text of the question; yes decides
    decide: Callable[[Situation], Answer]
    otherwise: TextFunction  # what would have changed the answer


QUESTIONS: list[Question] = []  # in order


TEXTS: Mapping[str, Any] = tomllib.loads(files("helmsman.oversee.decide").joinpath("questions.toml").read_text("utf-8"))


def question(rule: str, otherwise: TextFunction | None = None) -> Callable[[Callable[[Situation], Answer]], Question]:
    """Decorator: add the function as the next row of the decision table. `otherwise`: computed text instead of the table's."""
    asked = TEXTS[rule]

    def row(decide: Callable[[Situation], Answer]) -> Question:
        QUESTIONS.append(Question(rule, asked["asks"], decide, otherwise or (lambda s: asked["otherwise"].format(s=s))))
        return QUESTIONS[-1]

    return row


# --- what follows -----------------------------------------------------------------------------------------------------


def stop(s: Situation, rule: str, reason: str, outcome: Outcome, **more: Any) -> Decision:
    return Decision(kind="stop", rule=rule, reason=reason, at=s.now, outcome=outcome, **more)


def wait(s: Situation, rule: str, reason: str, until: datetime, *, repeat: bool = False) -> Decision:
    return Decision(kind="wait", rule=rule, reason=reason, at=s.now, until=until, repeat=repeat)


def proceed(s: Situation, rule: str, reason: str) -> Decision:
    return Decision(kind="continue", rule=rule, reason=reason, at=s.now)


def with_rollback(s: Situation, decision: Decision) -> Decision:
    """The same decision on a better tree, if the work kept getting worse and the loop continues. Endings have their own."""
    best = s.oversight.best
    may_roll_back = s.acts and not s.state.config.completion.force_max and not decision.repeat
    got_worse = any(signal.rule == "regressing" for signal in s.signals) and decision.kind != "stop"
    if not may_roll_back or not got_worse or best is None or best.commit == s.commit:
        return decision
    if best.completion - s.oversight.progress.completion < LEAST_LOSS or not s.has_only_own_commits(best.commit):
        return decision
    back = best.commit
    reason = f"{decision.reason}; the work got worse, so the branch is reset to {back[:10]} and the work kept on a ref"
    return decision.model_copy(update={"back_to": back, "reason": reason})


def next_attempt_at(s: Situation, reset: datetime | None) -> datetime:
    """When to try again, after the announced reset or, if unknown, after a default wait."""
    margin = timedelta(seconds=s.state.config.usage_limit.margin_seconds)
    return min(reset + margin if reset else s.now + UNKNOWN_WAIT, s.now + LONGEST_WAIT)


def yes_or_no(held: bool) -> str:
    return "yes" if held else "no"
