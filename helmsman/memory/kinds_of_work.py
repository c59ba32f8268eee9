"""Sentences in which people ask for each kind of work, as regular expressions: one a line, a line that is set in goes on.

Names in pointed brackets stand for parts that several share.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from helmsman.records.lessons import TaskType


class Rule(NamedTuple):
    task_type: TaskType
    pattern: re.Pattern[str]


def _lines(text: str) -> list[str]:
    return text.strip("\n").replace("\n    ", "").splitlines()


def _whole(pattern: str) -> str:
    return _PART.sub(lambda found: _PARTS[found[1]], pattern)


def _rules() -> Iterator[Rule]:
    for kind, text in _SENTENCES:
        yield Rule(kind, re.compile("|".join(f"(?:{_whole(line)})" for line in _lines(text))))


_PART = re.compile(r"<([A-Z_]+)>")
_PARTS = {
    "FEW": r"(?: [^\s,]+){0,4}?",
    "LANGUAGE": r"(?:rust|go|golang|python|typescript|javascript|java|kotlin|swift|c|cpp|c\+\+|c#|ruby|php|elixir|zig|scala)\b",
    "CONSTRUCT": (
        r"(?:nested|ifs?|loops?|globals?|constants?|magic|numbers|strings|callbacks?|class|classes|functions?"
        r"|conditionals?|inheritance|singletons?|duplicat\w*|switch|copies|booleans?|comprehensions?|recursion"
        r"|early returns)"
    ),
    "PASS": r"(?:pass(?:es|ing)?|green|succeeds?|clean|run through|exits? with 0)\b",
    "PROOF": r"(?:tests?|specs?|checks?|suite|build|ci|pipeline|pytest|jest|tox|clippy|linter)",
    "DOCS": (
        r"(?:readme(?:\.\w+)?|docs?|documentation|docstrings?|changelog|tutorial|guide|handbook|wiki|faq|manual"
        r"|man ?pages?|api reference|typos?|release notes|(?:code|doc|inline) comments|how-?to|architecture\.md"
        r"|docs/\S+|adrs?)\b"
    ),
    "NO_TEST": r"(?! (?:button|runner|framework|mode|account|server|command|page|endpoint|data|environment|harness|double))",
}
"""FEW: a few words between a verb and what it is about."""

_SENTENCES: tuple[tuple[TaskType, str], ...] = (
    (
        TaskType.BUGFIX,
        r"""
^(?:investigate|find|debug|analy[sz]e|track down|locate|reproduce)\b.* and (?:fix|repair|solve|mend)\b
""",
    ),
    (
        TaskType.RESEARCH,
        r"""
^(?:investigate|research|explore|evaluate|compare|analy[sz]e|assess|find out|figure out|study|survey|determine
    |understand|spike|look into|estimate|identify|diagnose|prototype|(?:why|which|what|how|is|are|can|could|does|do
    |should) (?:of |we|it|our|the|there|many|much|do|does|is|are|can|to)\b.*(?:\?|$))
\b(?:recommend one|write a (?:proposal|recommendation|feasibility))\b
""",
    ),
    (
        TaskType.REVIEW,
        r"""
^(?:review|critique|inspect|scrutini[sz]e)\b
^audit (?:the|our|all|this|my|every|src|code)\b
^(?:security|code|design|architecture|accessibility|performance|dependency|full|thorough) (?:audit|review)\b
^(?:go|look|read) (?:through|over|at)\b.*\b(?:commits?|changes|diff|branch|patch|pull request|pr|code)\b
^(?:do|perform|make|conduct|carry out|write|give)<FEW> (?:review|audit)\b(?! (?:log|page|form|trail))
^(?:check|scan|look)\b.* for (?:vulnerabilit|security|problems|bugs|weaknesses|smells|issues)
""",
    ),
    (
        TaskType.TEST_FIX,
        r"""
^(?:make|get|let|have|turn|bring|ensure|see to it)\b.{0,60}\b<PROOF>\b.{0,60}\b<PASS>
^(?:fix|repair|mend|stabili[sz]e|unbreak|heal)<FEW> (?:tests?|test suite|specs?|ci|build|pipeline)\b(?! \w+er\b)
\b(?:tests?|specs?)<FEW> (?:fail|fails|failing|is failing|are (?:failing|red|broken)|break)\b
^(?:all|the|every|our|each|both)?<FEW> ?\b(?:tests?|specs?|checks?|suite)<FEW> (?:must |should |shall )?<PASS>
^(?:pytest|jest|tox|(?:npm|yarn|cargo|go|make|dotnet|mvn|gradle) (?:run )?(?:test|check|lint)
    |\S*test\S*)\b.{0,40}\b<PASS>
\b(?:ci|build|pipeline|test suite) is (?:red|broken|failing)\b
\btest\w* (?:is|are|keeps?) (?:failing|red|broken|flaky)\b
^(?:make|get|turn) (?:everything|it all|it|all|them)(?: all)?(?: \w+)? green\b
^(?:all|every) .{0,30}\b(?:tests?|checks?) (?:are|is) green\b
""",
    ),
    (
        TaskType.DOCS,
        r"""
^(?:document|describe|explain|write up)\b
^(?:update|improve|extend|revise|rewrite|correct)<FEW> \S+\.(?:md|rst|adoc)\b
\b(?:needs?|gets?|lacks?|has no|have no|without|missing|outdated|should have)<FEW> <DOCS>
\b(?:doc comments?|docstrings?|install(?:ation)? instructions|documentation|readme)\b.* (?:is|are|outdated|wrong
    |missing|up to date|incomplete|clear)
^(?:write|update|improve|add|extend|fix|correct|create|translate|expand|revise|complete|polish|proofread|bring
    |rewrite|restructure|reorgani[sz]e|clean up|remove)<FEW>(?: to| in| into| of)?<FEW> <DOCS>(?! (?:page|site
    |generator|search))
""",
    ),
    (
        TaskType.TESTS,
        r"""
^(?:add|write|create|implement|extend|increase|raise|improve|generate|provide|more|build|bring)(?: (?!with\b
    |and\b|that\b|which\b|so\b|for\b|to\b)[^\s,]+){0,4}? (?:tests?|specs?|coverage|test ?cases?|test suite)\b<NO_TEST>
\bcover\b.* (?:with|by) (?:\w+ )?tests?\b
^tests? (?:the|all|every|each|our|that|whether)\b(?!.* (?:pass|fail))
\b(?:no|too few|not enough|lacks?|lacking|missing|without)<FEW> tests?\b
\buntested\b
\b(?:there (?:should|must|shall) be|needs?|should have|deserves?|gets?|want|write)<FEW> (?:tests?|specs?)\b<NO_TEST>
\b(?:raise|increase|bring|lift|get|push|improve|extend)\b.*\bcoverage\b
\bcoverage\b.* (?:to|above|over|at least|is|should)\b
""",
    ),
    (
        TaskType.PERFORMANCE,
        r"""
\b(?:speed(?:s|ing)? up|faster|optimi[sz]e|optimi[sz]ation|n\+1|too slow|slow|quicker)\b
\b(?:reduce|lower|cut|improve|decrease|halve|minimi[sz]e|shrink|increase|double|raise
    |better)\b.{0,40}\b(?:latency|throughput|performance|memory|run ?time|load time|response times?|startup
    |build time|cpu|allocations|footprint|size|time)\b
\b(?:less|fewer|too much) (?:memory|time|cpu|allocations|queries|round ?trips)\b
^profile\b.*\b(?:and|then)\b|\bhot ?spots?\b|\bbottlenecks?\b
\b(?:takes?|took|needs) [\d.,]+ ?(?:s|sec|seconds?|minutes?|min|ms|hours?)\b
\b(?:under|below|within|less than|at most) [\d.,]+ ?(?:ms|s|sec|seconds?|milliseconds|mb|gb)\b
""",
    ),
    (
        TaskType.MIGRATION,
        r"""
^(?:migrate|port|upgrade|bump|transpile|convert|adopt)\b
^(?:switch|move|change|go|transition)\b.* (?:from .* to|over to)\b
^switch to\b
^(?:rewrite|reimplement|re-implement|translate)\b.* (?:in|to|into|using) <LANGUAGE>
^replace (?!.*\b<CONSTRUCT>\b).+ (?:with|by)\b
^update\b.* (?:from|to) (?:version )?v?\d
^update\b.*\b(?:dependenc|packages|libraries|lock ?file)
^(?:drop|end) support (?:for|of)\b
\b(?:get|bring|move|moving|migrating|switching)\b.* (?:off|onto|away from|over to)\b
^(?:make|get)\b.* (?:run|work|compile|build)s? (?:on|with|under) \w+ ?v?\d
^\w+(?:\.\w+)? v?\d[\d.]* (?:support|compatibility|upgrade)\b
^migration (?:of|to|from)\b
^use \S+ instead of\b
""",
    ),
    (
        TaskType.BUGFIX,
        r"""
^(?:fix|repair|resolve|solve|debug|correct|stop|prevent|mend|patch|hotfix|address|eliminate|avoid)\b
\bwithout crash
""",
    ),
    (
        TaskType.REFACTOR,
        r"""
\b(?:behaviou?r (?:stays|remains|is unchanged|the same)|same behaviou?r|without changing (?:what|behaviou?r))
""",
    ),
    (
        TaskType.REFACTOR,
        r"""
^(?:refactor|restructure|reorgani[sz]e|clean ?up|tidy|simplify|extract|split|rename|decouple|deduplicate
    |consolidate|unify|modulari[sz]e|inline|untangle|disentangle|modernise|modernize|get rid of|break up|separate)\b
^move\b.* (?:out of|into|to|from)\b
^(?:remove|delete|drop)\b(?!.* (?:button|page|endpoint|option) )
^reduce\b.* (?:complexity|duplication|coupling|nesting)
^(?:add|introduce|use|complete)\b.* type (?:hints|annotations)
^replace\b
^(?:pull|take|lift|factor)\b.* out\b
^(?:break|cut|tear|divide)\b.* (?:into|up|apart)\b
^(?:turn|transform|restyle|rewrite|reshape)\b.*\b(?:into|as|using|so that it)\b
^(?:make)\b.* (?:less (?:tangled|complex|coupled)|simpler|more (?:readable|modular|maintainable|testable
    |consistent)|easier to (?:read|test|maintain|change|follow|understand)|cleaner|tidier)\b
\b(?:code quality|technical debt|tech debt|readability|maintainability|spaghetti|god (?:class|object))\b
""",
    ),
    (
        TaskType.OTHER,
        r"""
^(?:release|publish|merge|deploy|tag|rebase|cherry-pick|push|commit|revert|squash|ship)\b(?! (?:an?|events?
    |messages?) )
""",
    ),
    (
        TaskType.FEATURE,
        r"""
^(?:add|implement|create|build|introduce|support|allow|let|enable|provide|write|develop|extend|send|show|display
    |offer|expose|integrate|generate|design|scaffold|render|include|accept|store|log|export|import|print
    |make it possible)\b
""",
    ),
    (
        TaskType.BUGFIX,
        r"""
\b(?:fix|repair|bug|bugs|crash|crashes|crashed|broken|wrong|wrongly|incorrect|incorrectly|regression|deadlock
    |hangs?|hanging|leaks?|race condition|injection|vulnerabilit\w+|misbehaves?|corrupts?|stack ?trace|traceback
    |blank screen)\b
\b(?:doesn't|don't|isn't|aren't|won't|no longer|can't|does not|cannot|must not happen|off-by-one|off by one
    |out of range)\b
\b(?:chokes?|flickers?|freezes?|gets stuck|ignores?|loses?|lost|truncate[sd]|garbled|duplicated?|stale|segfaults?
    |panics?|overflows?|misses|skips|even though|although|dies|blows up|still|stays|any ?more|off by)\b
\b(?:fails?|failed|raises?|throws?|error \d+|\d{3} error|errors? when|returns? [45]\d\d|\w+error|\w+exception)\b
\btwice\b
""",
    ),
    (
        TaskType.FEATURE,
        r"""
\b(?:users?|customers?|people|admins?|visitors|one) (?:can|may|could|should|shall|are able)\b
\b(?:i|we) (?:want|need|would like)\b
\bshould (?:be able|accept|support|offer|have|show|allow|return|print|provide)\b
^(?:enhance|set up|complete|finish|hook|put|bring back|make|connect|wire|equip|turn|augment|continue|improve
    |update|change|teach|give|use|ask|notify|warn|remember|retry|cache|schedule|validate|limit|handle|publish (?:an
    |events?)|register|let)\b
\b(?:gets?|has|have|needs?|there (?:is|shall be|should be)) (?:a|an)\b
\b(?:new|additional) (?:feature|command|page|endpoint|option|screen|button|view)\b
""",
    ),
)
"""The most telling first: of one sentence the first that fits decides."""

RULES: tuple[Rule, ...] = tuple(_rules())
