"""A verification for other programs: JUnit XML for test reporters, SARIF 2.1.0 for code scanning."""

import json
import string
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from helmsman.plain import clean
from helmsman.records.findings import Finding
from helmsman.records.verification import Consequence, Verification, Word

_PLAIN = frozenset(string.ascii_letters + string.digits + "-._~/")
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def junit_of(found: Verification) -> str:
    """A test case for the verdict and for each case. What cannot be told is skipped, so that it never looks like a pass."""
    suite = Element("testsuite", name="helmsman verify")
    verdict = SubElement(suite, "testcase", classname="helmsman", name="verdict")
    why = "; ".join(clean(reason.why) for reason in found.reasons)
    _mark(verdict, {Word.NOT_VERIFIED: "failure", Word.INCONCLUSIVE: "skipped"}.get(found.verdict, ""), why)
    for case in found.table.cases:
        one = SubElement(suite, "testcase", classname=clean(case.check), name=clean(case.name))
        kind = {Consequence.FAILS: "failure", Consequence.ASKS: "skipped"}.get(case.consequence, "")
        red, gone = case.outcome == "FAIL_TO_FAIL", case.outcome == "GONE"
        _mark(one, "failure" if red else "skipped" if gone else kind, f"{case.outcome}: {clean(case.why)}")
    suite.set("tests", str(len(suite)))
    for kind in ("failure", "skipped"):
        suite.set(f"{kind}s" if kind == "failure" else kind, str(len(suite.findall(f"./testcase/{kind}"))))
    return tostring(suite, encoding="unicode", xml_declaration=True)


def _mark(case: Element, kind: str, message: str) -> None:
    if kind:
        SubElement(case, kind, message=message)


def sarif_of(found: Verification) -> str:
    """Hints as notes at their place; what stands against the change as errors and warnings without one."""
    rules = sorted({hint.rule for hint in found.hints} | {reason.rule for reason in found.reasons})
    results = [*map(_hint, found.hints), *(_reason(reason.rule, reason.why, reason.verdict) for reason in found.reasons)]
    driver = {"name": "Helmsman", "rules": [{"id": rule} for rule in rules]}
    run = {"tool": {"driver": driver}, "results": [one for one in results if one]}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _hint(hint: Finding) -> dict[str, Any]:
    region = {"region": {"startLine": hint.line}} if hint.line else {}
    place = {"physicalLocation": {"artifactLocation": {"uri": _uri(hint.path)}, **region}}
    return {"ruleId": hint.rule, "level": "note", "message": {"text": clean(hint.message)}, "locations": [place]}


def _uri(path: str) -> str:
    """A relative reference: what no address may hold is written by its bytes."""
    return "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in path.encode("utf-8", "replace"))


def _reason(rule: str, why: str, verdict: Word) -> dict[str, Any]:
    level = {Word.NOT_VERIFIED: "error", Word.INCONCLUSIVE: "warning"}.get(verdict)
    return {"ruleId": rule, "level": level, "message": {"text": clean(why)}} if level else {}
