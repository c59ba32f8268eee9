"""A verification as people read it, as lines or Markdown, and for programs: JUnit XML, and SARIF 2.1.0 for code scanning."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

from helmsman.plain import clean, short_line, spelled
from helmsman.records.iteration import IterationRecord
from helmsman.records.verification import Grounds, OutcomeName, OutcomeTable, Verification
from helmsman.render.markdown_page import code, fence, prose, stacked
from helmsman.texts import check_text, duration, plural

SHOWN = 30  # cases that are listed; a machine gets all of them
LONGEST_COMMENT = 20_000
SIGNS = {
    "proves": "✔", "fails": "✘", "asks": "?", "reported": "·", "nothing": " "
}  # fmt: skip
NAMES: tuple[OutcomeName, ...] = get_args(OutcomeName)
MARK = "<!-- helmsman verify -->"  # by which the comment of an earlier run is found


def verification_lines(found: Verification) -> Iterator[str]:
    """The table, cases that changed first, then the verdict and what it rests on."""
    yield f"change     {found.base[:12]}..{found.head[:12]}, {plural(found.files_changed, 'file')} changed"
    for title, report in (("base", found.base_checks), ("head", found.head_checks)):
        yield from (f"{title:<10} {check_text(result)}" for result in (report.results if report else ()))
    yield from table_lines(found.table)
    yield from _hint_lines(found)
    yield ""
    yield f"{spelled(found.verdict).upper()} (exit status {found.exit_status})"
    for reason in found.reasons:
        yield f"  {clean(reason.why)}"
        yield from ([f"    what to do: {clean(reason.remedy)}"] if reason.remedy else ())
    yield from grounds_lines(found.grounds)
    yield f"{plural(found.runs, 'run')} of the checks, {duration(found.seconds)}"


def _hint_lines(found: Verification) -> Iterator[str]:
    """They decide nothing."""
    yield from (f"hint       {clean(hint.where)}: {short_line(hint.message)} ({hint.rule})" for hint in found.hints[:SHOWN])


def outcome_text(record: IterationRecord) -> str:
    """What a decision that the work is done rests on, of several lines; empty where there was none."""
    table, grounds = record.since_start, record.decision.grounds
    return "\n".join((*(table_lines(table.table) if table else ()), *(grounds_lines(grounds) if grounds else ())))


def table_lines(found: OutcomeTable) -> Iterator[str]:
    """Cases that changed, one each; the others by number."""
    changed = [case for case in found.cases if case.changed]
    for case in changed[:SHOWN]:
        yield f"{case.outcome:<12} {SIGNS[case.consequence]} {short_line(case.name)}"
        yield from ([f"{'':<15}{clean(case.why)}"] if case.consequence != "proves" else ())
    if len(changed) > SHOWN:
        yield f"{'':<12}   and {len(changed) - SHOWN} more that changed"
    unchanged = Counter(case.outcome for case in found.cases if not case.changed)
    yield from (f"{name:<12}   {plural(unchanged[name], 'case')}" for name in NAMES if unchanged[name])
    if found.unnamed:
        yield f"{'':<12}   {plural(found.unnamed, 'further passing test')} not named"


def grounds_lines(grounds: Grounds) -> Iterator[str]:
    """What it rests on, and what nobody looked at."""
    yield from (f"{'rests on' if not number else '':<11}{line}" for number, line in enumerate(grounds.rests_on))
    yield from (f"{'not seen' if not number else '':<11}{line}" for number, line in enumerate(grounds.not_looked_at))


def verification_markdown(found: Verification) -> str:
    """The same for a comment on a pull request; an earlier one is found again by its first line."""
    reasons = (f"- {prose(one.why)}{f' ({prose(one.remedy)})' if one.remedy else ''}" for one in found.reasons)
    return stacked(
        (
            f"{MARK}\n### Helmsman verify: {spelled(found.verdict).upper()}",
            f"{code(f'{found.base[:12]}..{found.head[:12]}')}, {plural(found.files_changed, 'file')} changed",
            "\n".join(reasons),
            fence("\n".join((*table_lines(found.table), *_hint_lines(found), *grounds_lines(found.grounds))), LONGEST_COMMENT),
        )
    )


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def junit_of(found: Verification) -> str:
    """A test case for the verdict and for each case. What cannot be told is skipped, so that it never looks like a pass."""
    suite = Element("testsuite", name="helmsman verify")
    verdict = SubElement(suite, "testcase", classname="helmsman", name="verdict")
    why = "; ".join(clean(reason.why) for reason in found.reasons)
    if kind := {"not_verified": "failure", "inconclusive": "skipped"}.get(found.verdict):
        SubElement(verdict, kind, message=why)
    for case in found.table.cases:
        one = SubElement(suite, "testcase", classname=clean(case.check), name=clean(case.name))
        kind = {"fails": "failure", "asks": "skipped"}.get(case.consequence)
        if kind := {"FAIL_TO_FAIL": "failure", "GONE": "skipped"}.get(case.outcome, kind):
            SubElement(one, kind, message=f"{case.outcome}: {clean(case.why)}")
    suite.set("tests", str(len(suite)))
    for kind in ("failure", "skipped"):
        suite.set(f"{kind}s" if kind == "failure" else kind, str(len(suite.findall(f"./testcase/{kind}"))))
    return tostring(suite, encoding="unicode", xml_declaration=True)


def sarif_of(found: Verification) -> str:
    """Hints as notes at their place; what stands against the change as errors and warnings without one."""
    rules = sorted({hint.rule for hint in found.hints} | {reason.rule for reason in found.reasons})
    results = list[dict[str, Any]]()
    for hint in found.hints:
        region = {"region": {"startLine": hint.line}} if hint.line else {}
        place = {"physicalLocation": {"artifactLocation": {"uri": quote(hint.path, errors="replace")}, **region}}
        results.append({"ruleId": hint.rule, "level": "note", "message": {"text": clean(hint.message)}, "locations": [place]})
    levels = {"not_verified": "error", "inconclusive": "warning"}
    for one in (reason for reason in found.reasons if reason.verdict in levels):
        results.append({"ruleId": one.rule, "level": levels[one.verdict], "message": {"text": clean(one.why)}})
    driver = {"name": "Helmsman", "rules": [{"id": rule} for rule in rules]}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)
