"""The outcome of each test case: at the base, at the head, with the base's tests on the head's source, and the other way round.

`CASES` is the table, and the first row that matches counts; a case that none matches is not known well enough to be listed.
Where a runner names only what fails, whatever it does not name counts as green.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.verification import Case, Consequence, OutcomeName, OutcomeTable

Seen = Literal["red", "green", "gone", "unknown"]
ANY = "red green gone unknown"
CASES: tuple[tuple[str, str, str, str, OutcomeName, Consequence, str], ...] = (
    # base, head, base's tests on the head, head's tests on the base; what it comes to, what follows, and why
    ("red", "green gone", "red", ANY, "CHANGED", "fails",
     "was red on {base} and passes only as the test was changed: {base}'s test fails on {head}'s source"),
    (ANY, "green gone", "red", ANY, "CHANGED", "asks",
     "{base}'s test fails on {head}'s source: what it expects was changed"),
    ("red", "red", ANY, ANY, "FAIL_TO_FAIL", "reported", "fails on {base} as well"),
    ("gone", "red", ANY, ANY, "PASS_TO_FAIL", "fails", "is new and fails on {head}"),
    (ANY, "red", ANY, ANY, "PASS_TO_FAIL", "fails", "fails on {head} and did not fail on {base}"),
    ("red", "green", ANY, ANY, "FAIL_TO_PASS", "proves", "fails on {base}, passes on {head}"),
    (ANY, "green", ANY, "red", "FAIL_TO_PASS", "proves",
     "is new or changed: fails on {base}'s source, passes on {head}"),
    ("gone", "green", ANY, "green", "PASS_TO_PASS", "reported",
     "is new and passes on {base}'s source as well, so it shows nothing of the change"),
    (ANY, "gone", ANY, ANY, "GONE", "reported", "was not collected or was skipped on {head}"),
    ("green", "green", ANY, ANY, "PASS_TO_PASS", "nothing", "passes on {base} and on {head}"),
)  # fmt: skip


class Names(NamedTuple):
    """What the two sides are called in sentences."""

    base: str = "the start"
    head: str = "the work"


LOOP = Names()


@dataclass(frozen=True)
class Known:
    """What one run of one check tells of its cases."""

    failing: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    named: bool = False  # whether a report names every case, so that one that it does not name did not run
    silent: frozenset[str] = frozenset()  # names that make no case of their own
    ended: bool = True  # whether it came to an end that says something of what it does not name

    def seen(self, case: str) -> Seen:
        if case in self.failing:
            return "red"
        if case in self.passing:
            return "green"
        if not self.ended:
            return "unknown"
        return "gone" if self.named else "green"


NOT_RUN = Known(ended=False)


def known(result: CheckResult | None, title: str) -> Known:
    """`title`: what the check is called where no case of it is."""
    if result is None:
        return NOT_RUN
    failing = failing_cases(result, title)
    told = result.counts.failed <= len(result.counts.failing) if result.counts else result.passed
    ended = told and not (result.timed_out or result.error)
    return Known(frozenset(failing), frozenset(result.passing), bool(result.passing), ended=ended)


def failing_cases(result: CheckResult, title: str) -> tuple[str, ...]:
    """Cases that fail and not by chance; the check by its title where it names none. Of one that did not end, what it names."""
    if result.passed or result.by_chance:
        return ()
    failing = tuple(name for name in (result.counts.failing if result.counts else ()) if name not in result.flaky)
    return failing or (() if result.timed_out or result.error else (title,))


def outcome_table(
    head: CheckReport,
    base: CheckReport | Collection[str] | None,
    trusted: CheckReport | None = None,
    on_base: CheckReport | None = None,
    names: Names = LOOP,
) -> OutcomeTable:
    """Every case of every check. `base`: a report, or the names of what failed there; None where neither is known."""
    cases: list[Case] = []
    unnamed = 0
    for place, own in enumerate(head.results):
        at_base = _at(base, place, own.name) if isinstance(base, CheckReport) else _of_names(base, own, head)
        with_tests = _at(trusted, place, own.name)
        # one that came to no end is no pass: whoever changed the tests may have made it one
        if not (with_tests.ended or with_tests is NOT_RUN or with_tests.failing):
            with_tests = Known(frozenset({own.name}), ended=False)
        runs = (at_base, _at_head(own, base, place), with_tests, _at(on_base, place, own.name))
        found = list(_cases(own, runs, names))
        named = sum(runs[1].seen(case.name) == "green" for case in found)
        unnamed += max(0, (own.counts.passed if own.counts else 0) - named)
        cases += found
    order = "fails", "asks", "proves", "reported", "nothing"

    def rank(case: Case) -> tuple[bool, int]:
        """Cases that changed come first, of those the ones that stand against the work."""
        return not case.changed, order.index(case.consequence)

    once = {case.name: case for case in reversed(cases)} if not isinstance(base, CheckReport) else None
    return OutcomeTable(cases=tuple(sorted(reversed(once.values()) if once else cases, key=rank)), unnamed=unnamed)


def _of_names(red: Collection[str] | None, own: CheckResult, head: CheckReport) -> Known:
    """Which check a name belongs to is not told: one that counts tests has those, any other one its own name."""
    if red is None:
        return NOT_RUN
    titles = {result.name for result in head.results}
    silent = (name for name in red if (name in titles if own.counts else name != own.name))
    return Known(frozenset(red), silent=frozenset(silent))


def _at(report: CheckReport | None, place: int, title: str) -> Known:
    return known(report.results[place] if report and place < len(report.results) else None, title)


def _at_head(own: CheckResult, base: CheckReport | Collection[str] | None, place: int) -> Known:
    """What a check does not name did not run, where it passes by its exit status alone and counted tests at the base."""
    counts = base.results[place].counts if isinstance(base, CheckReport) and place < len(base.results) else None
    lost = own.passed and own.counts is None and counts is not None and counts.executed > 0
    run = known(own, own.name)
    return replace(run, named=run.named or lost or own.ran_no_test)


def _cases(own: CheckResult, runs: Sequence[Known], names: Names) -> Iterator[Case]:
    base, head, trusted, on_base = runs
    of_base = base.failing - base.silent
    listed = (*head.failing, *trusted.failing, *on_base.failing, *sorted(of_base), *own.passing, *sorted(base.passing))
    for name in dict.fromkeys(listed):
        seen = [run.seen(name) for run in runs]
        for *allowed, outcome, consequence, why in CASES:
            if all(one in words for one, words in zip(seen, map(str.split, allowed), strict=True)):
                told = {"outcome": outcome, "consequence": consequence, "why": why.format(base=names.base, head=names.head)}
                before = {"fails_on_base": seen[3] == "red", "red_on_base": seen[0] == "red"}
                yield Case.model_validate({"name": name, "check": own.name, **told, **before})
                break
