"""What a security scanner printed: bandit's JSON or SARIF."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from posixpath import normpath
from typing import Any, get_args

from helmsman.parsers.loose import amount, at, count, items, mapping, text
from helmsman.records.checks import MOST_WEAKNESSES, Harm, Scan, Weakness

_MOST_READ = 20_000  # findings of one scan that are looked at
_SEVERE = 7.0  # CVSS scores from here on are called high; SARIF's `security-severity` is such a score
_MODERATE = 4.0
_NUMBERED = re.compile(r"(\d+) ?(.*)")
_LEVELS: Mapping[str, Harm] = {"error": "high", "warning": "medium", "note": "low", "none": "low"}
_NAMES: Mapping[str, Harm] = {"HIGH": "high", "MEDIUM": "medium", "LOW": "low"}
_ORDER = get_args(Harm)


def read_scan(output: str, worktree: str, commit: str = "") -> Scan:
    """What a scanner printed, bandit's JSON or SARIF, in the severest 200 findings.

    Scanners that draw a progress bar print it first: the report begins with the first line that starts with a brace.
    """
    report, start = mapping(None), 0 if output.startswith("{") else output.find("\n{") + 1
    with suppress(ValueError, RecursionError):
        report = mapping(json.JSONDecoder().raw_decode(output, start)[0])
    if "runs" not in report and "results" not in report:
        return Scan(commit=commit, error="the scan printed neither bandit's JSON nor SARIF")
    found = _of_sarif(report, worktree) if "runs" in report else _of_bandit(report, worktree)
    ranked = sorted(islice(found, _MOST_READ), key=lambda one: _ORDER.index(one.severity))
    return Scan(commit=commit, findings=tuple(ranked[:MOST_WEAKNESSES]), left_out=max(len(ranked) - MOST_WEAKNESSES, 0))


def _of_bandit(report: Mapping[str, Any], worktree: str) -> Iterator[Weakness]:
    for one in map(mapping, items(report.get("results"))):
        line, code = count(one.get("line_number")), text(one.get("code"), 10_000)
        # It shows neighbouring lines as well, each behind its number; those change for other reasons.
        shown = (_NUMBERED.match(said) for said in code.splitlines())
        yield Weakness(
            rule="/".join(filter(None, (text(one.get("test_id"), 40), text(one.get("test_name"), 59)))),
            path=_path(text(one.get("filename"), 4096), worktree),
            line=line,
            severity=_NAMES.get(text(one.get("issue_severity")), "low"),
            digest=_digest(next((said[2] for said in shown if said and said[1] == str(line)), code)),
        )


def _of_sarif(report: Mapping[str, Any], worktree: str) -> Iterator[Weakness]:
    for run in map(mapping, items(report.get("runs"))):
        rules = [mapping(rule) for rule in items(at(run, "tool.driver.rules"))]
        named = {text(rule.get("id"), 100): rule for rule in rules}
        for result in map(mapping, items(run.get("results"))):
            # Whether somebody took it away; that it was asked for and is not granted yet, or was refused, takes nothing away.
            said = {text(mapping(one).get("status")) for one in items(result.get("suppressions"))}
            if not said or said & {"underReview", "rejected"}:
                yield _of_result(result, rules, named, worktree)


def _of_result(
    result: Mapping[str, Any], rules: Sequence[Mapping[str, Any]], named: Mapping[str, Mapping[str, Any]], worktree: str
) -> Weakness:
    name, place = text(result.get("ruleId"), 100), result.get("ruleIndex")
    # The place may be -1, or one in another list: of the rules of an extension, so a name counts more; `B602/1` is one of B602.
    placed = rules[count(place)] if count(place) == place and count(place) < len(rules) else mapping(None)
    rule = (named.get(name) or named.get(name.rpartition("/")[0], {})) if name else placed
    location = at(result, "locations.0.physicalLocation")
    words = text(at(location, "region.snippet.text"), 10_000) or text(at(result, "message.text"), 1000)
    return Weakness(
        rule=name or text(rule.get("id"), 100),
        path=_path(text(at(location, "artifactLocation.uri"), 4096), worktree),
        line=count(at(location, "region.startLine")),
        severity=_severity(result, rule),
        digest=_digest(words),
    )


def _severity(result: Mapping[str, Any], rule: Mapping[str, Any]) -> Harm:
    """A score says more than a level, which many tools set by how sure they are."""
    scores = (_number(at(one, "properties.security-severity")) for one in (result, rule))
    score = next((number for number in scores if number is not None), None)
    if score is not None:
        return "high" if score >= _SEVERE else "medium" if score >= _MODERATE else "low"
    own = text(result.get("level")) or text(at(rule, "defaultConfiguration.level"))
    return _NAMES.get(text(at(result, "properties.issue_severity")).upper()) or _LEVELS.get(own, "medium")


def _number(value: object) -> float | None:
    """SARIF writes scores as text."""
    if isinstance(value, str):
        return float(value) if re.fullmatch(r"\d{1,2}(\.\d{1,4})?", value) else None
    return amount(value)


def _path(name: str, worktree: str) -> str:
    plain = normpath(name.removeprefix("file://")) if name else ""
    return plain.removeprefix(f"{normpath(worktree)}/")[-300:]


def _digest(words: str) -> str:
    return hashlib.blake2b(" ".join(words.split()).encode("utf-8", "replace"), digest_size=4).hexdigest()
