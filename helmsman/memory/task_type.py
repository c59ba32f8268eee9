"""What kind of work a loop does: by its preset, else by the verb and the object that its goal begins with."""

import re

from helmsman.records.lessons import TaskType

LONGEST_READ = 2_000
SENTENCES, LONGEST_SENTENCE = 8, 300

_PRESETS = {
    "cleanup": "refactor",
    "coverage": "tests",
    "dependencies": "migration",
    "security": "bugfix",
    "test-fix": "test_fix",
    "types": "refactor",
}
"""The others are named as their kind of work."""
_TESTS = r"\b(?:tests?|specs|suite|ci|build|pipeline|pytest|checks?|everything)\b"
_DOCS = r"\b(?:readme\S*|docs?|documentation|docstrings?|changelog|tutorial|manual|api reference|\S+\.(?:md|rst))\b"
_MAKE = r"(?:add|implement|introduce|write|create|build|develop)\b"
_KINDS = (
    ("research", r"^(?:research|explore|evaluate|compare|analy[sz]e|assess|find out|determine|investigate)\b(?!.* and fix)"),
    ("review", r"^(?:review|audit|inspect|critique)\b|\b(?:code review|security audit)\b"),
    ("tests", r"^(?:add|write|create|extend|increase|raise|improve|cover)\b.*\btests?\b(?!.* pass)|\bcoverage\b"),
    ("test_fix", rf"^(?:fix|repair)\b.*{_TESTS}|^(?!{_MAKE}).*{_TESTS}.*\b(?:pass(?:es)?|green|succeeds?|fail(?:s|ing)?|red)\b"),
    ("docs", rf"^(?:document|describe|explain|docs)\b|^(?:write|update|improve|add|extend|fix|create|translate)\b.*{_DOCS}"),
    ("performance", r"^(?:optimi[sz]e|perf)\b|\b(?:speed up|faster|slow|performance|latency|throughput|memory usage)\b"),
    ("migration", r"^(?:migrate|port|upgrade|bump|convert|switch|migration)\b|^(?:move|update)\b.* from .* to\b"),
    ("bugfix", r"^(?:fix|repair|resolve|solve|debug|correct|prevent|bug|bugfix|hotfix|stop|(?:investigate|find)\b.* and fix)\b"),
    ("refactor", r"^(?:refactor|restructure|clean ?up|tidy|simplify|extract|split|rename|remove|delete|replace)\b"),
    ("refactor", r"^(?:move|unify|reorgani[sz]e|consolidate|decouple|get rid of)\b|\btype hints|without changing behaviou?r"),
    ("feature", rf"^{_MAKE}|^(?:support|allow|let|enable|provide|show|extend|send|expose|set up|make it possible|feat)\b"),
    ("bugfix", r"\b(?:crash\w*|bugs?|broken|wrong(?:ly)?|incorrectly|fails?|throws|raises|\w{3,30}error|\w{3,30}exception)\b"),
)
"""The most telling first: of one sentence the first that fits decides."""
_RULES = tuple((TaskType(kind), re.compile(pattern)) for kind, pattern in _KINDS)
_FILLER = re.compile(r"^(?:(?:please|now|can|could|we|you|i|the|your|our|task|goal|is|want|need|must|should|have|to)\b\W*)+")
_SENTENCE_END = re.compile(r"\n|(?<=[.!?;:])\s")


def task_type(goal: str, failing: tuple[str, ...] = (), preset: str = "") -> TaskType:
    """The kind of a goal; `other` where nothing tells. `failing`: tests that fail before any work."""
    named = _PRESETS.get(preset, preset)
    if named in set(TaskType):
        return TaskType(named)
    sentences = [line.strip("#>*+-` \t") for line in _SENTENCE_END.split(goal[:LONGEST_READ].casefold())]
    for sentence in [line for line in sentences if line][:SENTENCES]:
        order = _FILLER.sub("", sentence)
        found = next((kind for kind, pattern in _RULES if pattern.search(order)), None)
        if found:
            return found
    return TaskType.TEST_FIX if failing else TaskType.OTHER
