"""A verification as people read it: lines for a terminal, Markdown for a comment on a pull request or an artifact."""

from collections.abc import Iterator

from helmsman.plain import clean, short_line
from helmsman.records.verification import Case, Consequence, Grounds, OutcomeName, OutcomeTable, Verification, Word
from helmsman.render.cells import code, prose, stacked, table
from helmsman.texts import check_text, counted, duration

SHOWN = 30
"""Cases that are listed; a machine gets all of them."""
WORDS = {Word.VERIFIED: "VERIFIED", Word.NOT_VERIFIED: "NOT VERIFIED", Word.INCONCLUSIVE: "INCONCLUSIVE"}
SIGNS = {
    Consequence.PROVES: "✔", Consequence.FAILS: "✘", Consequence.ASKS: "?", Consequence.REPORTED: "·", Consequence.NOTHING: " "
}  # fmt: skip
NAMES: tuple[OutcomeName, ...] = "FAIL_TO_PASS", "PASS_TO_PASS", "PASS_TO_FAIL", "FAIL_TO_FAIL", "CHANGED", "GONE"
MARK = "<!-- helmsman verify -->"
"""By which the comment of an earlier run is found."""


def verification_lines(found: Verification) -> Iterator[str]:
    """The table, cases that changed first, then the verdict and what it rests on."""
    yield f"change     {found.base[:12]}..{found.head[:12]}, {counted(found.files_changed, 'file')} changed"
    for title, report in (("base", found.base_checks), ("head", found.head_checks)):
        yield from (f"{title:<10} {check_text(result)}" for result in (report.results if report else ()))
    yield from table_lines(found.table)
    yield from (f"hint       {clean(hint.where)}: {short_line(hint.message)} ({hint.rule})" for hint in found.hints[:SHOWN])
    yield ""
    yield f"{WORDS[found.verdict]} (exit status {found.exit_status})"
    for reason in found.reasons:
        yield f"  {clean(reason.why)}"
        yield from ([f"    what to do: {clean(reason.remedy)}"] if reason.remedy else ())
    yield from grounds_lines(found.grounds)
    yield f"{counted(found.runs, 'run')} of the checks, {duration(found.seconds)}"


def table_lines(found: OutcomeTable) -> Iterator[str]:
    """Cases that changed, one each; the others by number."""
    changed = [case for case in found.cases if case.changed]
    for case in changed[:SHOWN]:
        yield f"{case.outcome:<12} {SIGNS[case.consequence]} {short_line(case.name)}"
        yield from ([f"{'':<15}{clean(case.why)}"] if case.consequence is not Consequence.PROVES else ())
    if len(changed) > SHOWN:
        yield f"{'':<12}   and {len(changed) - SHOWN} more that changed"
    yield from (f"{name:<12}   {counted(number, 'case')}" for name, number in _unchanged(found))
    if found.unnamed:
        yield f"{'':<12}   {counted(found.unnamed, 'further passing test')} not named"


def grounds_lines(grounds: Grounds) -> Iterator[str]:
    """What it rests on, and what nobody looked at."""
    yield from (f"{'rests on' if not number else '':<11}{line}" for number, line in enumerate(grounds.rests_on))
    yield from (f"{'not seen' if not number else '':<11}{line}" for number, line in enumerate(grounds.not_looked_at))


def verification_markdown(found: Verification) -> str:
    """The same for a comment on a pull request; an earlier one is found again by its first line."""
    reasons = (f"- {prose(one.why)}{f' ({prose(one.remedy)})' if one.remedy else ''}" for one in found.reasons)
    hints = "\n".join(f"- {code(hint.where)} {prose(hint.message)}" for hint in found.hints[:SHOWN])
    return stacked(
        (
            f"{MARK}\n### Helmsman verify: {WORDS[found.verdict]}",
            f"{code(f'{found.base[:12]}..{found.head[:12]}')}, {counted(found.files_changed, 'file')} changed",
            "\n".join(reasons),
            *table_markdown(found.table),
            f"**Hints** (they decide nothing)\n\n{hints}" if hints else "",
            *grounds_markdown(found.grounds),
        )
    )


def table_markdown(found: OutcomeTable) -> Iterator[str]:
    """Cases that changed as rows, the others by number."""
    changed = [case for case in found.cases if case.changed]
    yield table(("outcome", "case", "what was seen"), (_row(case) for case in changed[:SHOWN]))
    rest = [f"{name}: {number}" for name, number in _unchanged(found)]
    rest += [f"{len(changed) - SHOWN} more that changed"] if len(changed) > SHOWN else []
    rest += [f"{counted(found.unnamed, 'further passing test')} not named"] if found.unnamed else []
    yield prose(", ".join(rest))


def grounds_markdown(grounds: Grounds) -> Iterator[str]:
    for title, lines in (("Rests on", grounds.rests_on), ("Not looked at", grounds.not_looked_at)):
        yield "\n".join((f"**{title}**", "", *(f"- {prose(line)}" for line in lines))) if lines else ""


def _unchanged(found: OutcomeTable) -> Iterator[tuple[OutcomeName, int]]:
    for name in NAMES:
        if number := sum(case.outcome == name and not case.changed for case in found.cases):
            yield name, number


def _row(case: Case) -> tuple[str, str, str]:
    return f"{case.outcome} {SIGNS[case.consequence]}".replace("_", "\\_"), code(case.name), prose(case.why)
