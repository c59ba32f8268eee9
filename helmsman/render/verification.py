"""A verification as lines or Markdown for people, and as JUnit XML and SARIF 2.1.0 for programs."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

from helmsman.plain import clean, clean_lines, in_plain_words, short_line
from helmsman.records.iteration import IterationRecord
from helmsman.records.verification import Grounds, OutcomeName, OutcomeTable, Verification
from helmsman.render.markdown_page import code, fence, join_blocks, prose
from helmsman.texts import check_text, format_duration, plural

SHOWN = 30  # listed cases; JUnit XML has all of them
LONGEST_COMMENT = 20_000
SIGNS = {
    "proves": "✔", "fails": "✘", "asks": "?", "reported": "·", "nothing": " "
}  # fmt: skip
NAMES: tuple[OutcomeName, ...] = get_args(OutcomeName)
MARK = "<!-- helmsman verify -->"  # finds the comment of an earlier run


def verification_lines(verification: Verification) -> Iterator[str]:
    """The outcome table, changed cases first, then the verdict and its grounds."""
    yield f"change     {verification.base[:12]}..{verification.head[:12]}, {plural(verification.files_changed, 'file')} changed"
    for title, report in (("base", verification.base_checks), ("head", verification.head_checks)):
        yield from (f"{title:<10} {check_text(result)}" for result in (report.results if report else ()))
    yield from table_lines(verification.table)
    yield from _hint_lines(verification)
    yield ""
    yield f"{in_plain_words(verification.verdict).upper()} (exit status {verification.exit_status})"
    for reason in verification.reasons:
        yield f"  {clean(reason.why)}"
        yield from ([f"    what to do: {clean(reason.remedy)}"] if reason.remedy else ())
    yield from grounds_lines(verification.grounds)
    yield f"{plural(verification.runs, 'run')} of the checks, {format_duration(verification.seconds)}"


def _hint_lines(verification: Verification) -> Iterator[str]:
    """Hints, which do not influence the verdict."""
    yield from (
        f"hint       {clean(hint.where)}: {short_line(hint.message)} ({hint.rule})" for hint in verification.hints[:SHOWN]
    )


def outcome_text(record: IterationRecord) -> str:
    """Grounds of the decision that the work is done, as several lines; empty if there is none."""
    table, grounds = record.since_start, record.decision.grounds
    return "\n".join((*(table_lines(table.table) if table else ()), *(grounds_lines(grounds) if grounds else ())))


def table_lines(table: OutcomeTable) -> Iterator[str]:
    """Changed cases, one line each; counts of the others."""
    changed = [case for case in table.cases if case.changed]
    for case in changed[:SHOWN]:
        yield f"{case.outcome:<12} {SIGNS[case.consequence]} {short_line(case.name)}"
        yield from ([f"{'':<15}{clean(case.why)}"] if case.consequence != "proves" else ())
    if len(changed) > SHOWN:
        yield f"{'':<12}   and {len(changed) - SHOWN} more that changed"
    unchanged = Counter(case.outcome for case in table.cases if not case.changed)
    yield from (f"{name:<12}   {plural(unchanged[name], 'case')}" for name in NAMES if unchanged[name])
    if table.unnamed:
        yield f"{'':<12}   {plural(table.unnamed, 'further passing test')} not named"


def grounds_lines(grounds: Grounds) -> Iterator[str]:
    """What the verdict rests on, and what was not looked at."""
    yield from (f"{'rests on' if not number else '':<11}{clean(line)}" for number, line in enumerate(grounds.rests_on))
    yield from (f"{'not seen' if not number else '':<11}{clean(line)}" for number, line in enumerate(grounds.not_looked_at))


def verification_markdown(verification: Verification) -> str:
    """Markdown for a comment on a pull request; its first line finds an earlier one."""
    change = code(f"{verification.base[:12]}..{verification.head[:12]}")
    reasons = (f"- {prose(one.why)}{f' ({prose(one.remedy)})' if one.remedy else ''}" for one in verification.reasons)
    lines = (*table_lines(verification.table), *_hint_lines(verification), *grounds_lines(verification.grounds))
    return join_blocks([
        f"{MARK}\n### Helmsman verify: {in_plain_words(verification.verdict).upper()}",
        f"{change}, {plural(verification.files_changed, 'file')} changed",
        "\n".join(reasons),
        fence("\n".join(lines), LONGEST_COMMENT),
    ])  # fmt: skip


def error_markdown(problem: str) -> str:
    """The comment if there is no verdict: an earlier one, on another commit, must not stay."""
    return join_blocks([f"{MARK}\n### Helmsman verify: NO VERDICT", fence(clean_lines(problem), LONGEST_COMMENT)])


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def junit_of(verification: Verification) -> str:
    """JUnit XML: a test case for the verdict and one for each case. Unknown results are skipped, so they never look passed."""
    suite = Element("testsuite", name="helmsman verify")
    verdict = SubElement(suite, "testcase", classname="helmsman", name="verdict")
    why = "; ".join(clean(reason.why) for reason in verification.reasons)
    if kind := {"not_verified": "failure", "inconclusive": "skipped"}.get(verification.verdict):
        SubElement(verdict, kind, message=why)
    for case in verification.table.cases:
        test_case = SubElement(suite, "testcase", classname=clean(case.check), name=clean(case.name))
        kind = {"fails": "failure", "asks": "skipped"}.get(case.consequence)
        if kind := {"FAIL_TO_FAIL": "failure", "GONE": "skipped"}.get(case.outcome, kind):
            SubElement(test_case, kind, message=f"{case.outcome}: {clean(case.why)}")
    suite.set("tests", str(len(suite)))
    for kind in ("failure", "skipped"):
        suite.set(f"{kind}s" if kind == "failure" else kind, str(len(suite.findall(f"./testcase/{kind}"))))
    return tostring(suite, encoding="unicode", xml_declaration=True)


def sarif_of(verification: Verification) -> str:
    """SARIF with hints as notes, and reasons against the change as errors and warnings."""
    rules = sorted({hint.rule for hint in verification.hints} | {reason.rule for reason in verification.reasons})
    results = [_sarif_result(hint.rule, "note", hint.message, hint.path, hint.line) for hint in verification.hints]
    levels = {"not_verified": "error", "inconclusive": "warning"}
    results += [_sarif_result(one.rule, levels[one.verdict], one.why) for one in verification.reasons if one.verdict in levels]
    driver = {"name": "Helmsman", "rules": [{"id": rule} for rule in rules]}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _sarif_result(rule: str, level: str, text: str, path: str = "helmsman.toml", line: int | None = None) -> dict[str, Any]:
    """A result with a location, which code scanning requires of each; a reason has none of its own."""
    location = {"artifactLocation": {"uri": quote(path, errors="replace")}, "region": {"startLine": line or 1}}
    return {"ruleId": rule, "level": level, "message": {"text": clean(text)}, "locations": [{"physicalLocation": location}]}
