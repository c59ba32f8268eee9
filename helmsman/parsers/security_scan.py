"""Parser for reports of security scanners: bandit's JSON or SARIF."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from posixpath import normpath
from typing import Any, get_args

from helmsman.parsers.loose import at, count, items, mapping, text
from helmsman.records.checks import MOST_WEAKNESSES, Scan, ScanSeverity, Weakness

_MOST_READ = 20_000  # maximum findings of one scan to read
_SCORE = re.compile(r"\d{1,2}(?:\.\d{1,4})?")
_SEVERITY_BY_SCORE: Sequence[tuple[float, ScanSeverity]] = ((7.0, "high"), (4.0, "medium"), (0.0, "low"))
"""CVSS scores; SARIF's `security-severity` is such a score."""
_NUMBERED = re.compile(r"(\d+) ?(.*)")
_LEVELS: Mapping[str, ScanSeverity] = {"error": "high", "warning": "medium", "note": "low", "none": "low"}
_NAMES: Mapping[str, ScanSeverity] = {"HIGH": "high", "MEDIUM": "medium", "LOW": "low"}
_ORDER = get_args(ScanSeverity)


def read_scan(output: str, worktree: str, commit: str = "") -> Scan:
    """Parse bandit's JSON or SARIF; keep the 200 most severe findings.

    Scanners may print a progress bar first: the report begins with the first line that starts with a brace.
    """
    report, start = mapping(None), 0 if output.startswith("{") else output.find("\n{") + 1
    with suppress(ValueError, RecursionError):
        report = mapping(json.JSONDecoder().raw_decode(output, start)[0])
    if "runs" not in report and "results" not in report:
        return Scan(commit=commit, error="the scan printed neither bandit's JSON nor SARIF")
    weaknesses = _read_sarif(report, worktree) if "runs" in report else _read_bandit(report, worktree)
    ranked = sorted(islice(weaknesses, _MOST_READ), key=lambda weakness: _ORDER.index(weakness.severity))
    return Scan(commit=commit, findings=tuple(ranked[:MOST_WEAKNESSES]), left_out=max(len(ranked) - MOST_WEAKNESSES, 0))


def _read_bandit(report: Mapping[str, Any], worktree: str) -> Iterator[Weakness]:
    for result in map(mapping, items(report.get("results"))):
        line, code = count(result.get("line_number")), text(result.get("code"), 10_000)
        # The code includes neighbouring lines with their numbers, which change for other reasons.
        lines = (_NUMBERED.match(numbered) for numbered in code.splitlines())
        yield Weakness(
            rule="/".join(filter(None, (text(result.get("test_id"), 40), text(result.get("test_name"), 59)))),
            path=_relative_path(text(result.get("filename"), 4096), worktree),
            line=line,
            severity=_NAMES.get(text(result.get("issue_severity")), "low"),
            digest=_digest(next((match[2] for match in lines if match and match[1] == str(line)), code)),
        )


def _read_sarif(report: Mapping[str, Any], worktree: str) -> Iterator[Weakness]:
    for run in map(mapping, items(report.get("runs"))):
        rules = [mapping(rule) for rule in items(at(run, "tool.driver.rules"))]
        rules_by_id = {text(rule.get("id"), 100): rule for rule in rules}
        for result in map(mapping, items(run.get("results"))):
            # Skip suppressed results, unless the suppression is still under review or was rejected.
            statuses = {text(mapping(suppression).get("status")) for suppression in items(result.get("suppressions"))}
            if statuses and not statuses & {"underReview", "rejected"}:
                continue
            name, place = text(result.get("ruleId"), 100), result.get("ruleIndex")
            # The index may be -1, or refer to an extension's rules, so the name takes precedence; `B602/1` belongs to rule B602.
            indexed = rules[count(place)] if count(place) == place and count(place) < len(rules) else mapping(None)
            rule = (rules_by_id.get(name) or rules_by_id.get(name.rpartition("/")[0], {})) if name else indexed
            location = at(result, "locations.0.physicalLocation")
            words = text(at(location, "region.snippet.text"), 10_000) or text(at(result, "message.text"), 1000)
            yield Weakness(
                rule=name or text(rule.get("id"), 100),
                path=_relative_path(text(at(location, "artifactLocation.uri"), 4096), worktree),
                line=count(at(location, "region.startLine")),
                severity=_severity(result, rule),
                digest=_digest(words),
            )


def _severity(result: Mapping[str, Any], rule: Mapping[str, Any]) -> ScanSeverity:
    """Return the severity, by score if there is one: many tools set the level by their confidence."""
    for part in (result, rule):
        if score := _SCORE.fullmatch(str(at(part, "properties.security-severity"))):
            return next(severity for least, severity in _SEVERITY_BY_SCORE if float(score[0]) >= least)
    own = text(result.get("level")) or text(at(rule, "defaultConfiguration.level"))
    return _NAMES.get(text(at(result, "properties.issue_severity")).upper()) or _LEVELS.get(own, "medium")


def _relative_path(name: str, worktree: str) -> str:
    plain = normpath(name.removeprefix("file://")) if name else ""
    return plain.removeprefix(f"{normpath(worktree)}/")[-300:]


def _digest(words: str) -> str:
    return hashlib.blake2b(" ".join(words.split()).encode("utf-8", "replace"), digest_size=4).hexdigest()
