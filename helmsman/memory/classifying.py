"""What kind of work does a goal ask for? Read from its first sentences by rules; where they say nothing, from the evidence.

A goal says first what is wanted and then how: the first sentence that any rule knows decides, and within it the first rule.
"""

import re
from collections.abc import Iterator, Sequence

from helmsman.memory.kinds_of_work import RULES
from helmsman.memory.words import terms
from helmsman.records.lessons import TaskType

LONGEST_READ = 4000
LONGEST_SENTENCE = 300
SENTENCES = 8
"""Sentences of a goal that are looked at; what comes later are details."""
_DESCRIBES = 3
"""Telling words from which a sentence describes something."""


def task_type(goal: str, failing: Sequence[str] = (), files: Sequence[str] = ()) -> TaskType:
    """The kind of a goal. `failing`: names of tests that fail; `files`: paths that were changed for it."""
    sentences = tuple(_sentences(goal))
    found = next((kind for kind in map(_by_words, sentences) if kind is not None), None)
    return found or _by_evidence(failing, files) or _by_length(sentences)


def _by_words(sentence: str) -> TaskType | None:
    prefixed = _PREFIX.match(sentence)
    if prefixed:
        return _PREFIXES[prefixed[1]]
    plain = _plain(sentence)
    return next((rule.task_type for rule in RULES if rule.pattern.search(plain)), None)


def _by_evidence(failing: Sequence[str], files: Sequence[str]) -> TaskType | None:
    """Of a goal that names no kind of work."""
    if failing:
        return TaskType.TEST_FIX
    if files and all(_DOCUMENT.search(path) for path in files):
        return TaskType.DOCS
    if files and all(_TEST_FILE.search(path) for path in files):
        return TaskType.TESTS
    return None


def _by_length(sentences: Sequence[str]) -> TaskType:
    """Most goals that say something, and nothing of the above, describe something that is not there yet."""
    return TaskType.FEATURE if any(len(terms(sentence)) >= _DESCRIBES for sentence in sentences) else TaskType.OTHER


def _sentences(goal: str) -> Iterator[str]:
    """The first sentences in small letters, without the marks of Markdown."""
    count = 0
    for line in goal[:LONGEST_READ].casefold().splitlines():
        for sentence in _END.split(_MARKS.sub("", line)):
            short = " ".join(_QUOTES.sub("", sentence).split())[:LONGEST_SENTENCE]
            if short:
                yield short
                count += 1
            if count == SENTENCES:
                return


def _plain(sentence: str) -> str:
    """Without the words that only wrap an order: `please`, `we need to`, `your task is to`."""
    for _ in range(4):
        shorter = _COURTESY.sub("", sentence)
        if shorter == sentence:
            break
        sentence = shorter
    return sentence


_END = re.compile(r"(?<=[.!?;:])\s+")
_MARKS = re.compile(r"^[\s#>*+\-\d.)\[\]]{1,40}")
_QUOTES = re.compile('[`*_"\u201c\u201d]')
_COURTESY = re.compile(
    r"^(?:please|kindly|now|then|so|first|todo:?|task:?|goal:?|objective:?|hi,?|hello,?|can you|could you|would you|let's|let us|"
    r"help me(?: to)?|help us(?: to)?|try to|you (?:should|must|shall|have to|need to|are to)|"
    r"(?:i|we) (?:want|need|would like|'d like) (?:you )?to(?! (?:see|have|be able|know))|we (?:should|must|have to)|"
    r"(?:the|your|our|my) (?:goal|task|job|aim|objective|mission) is to|it is time to|make sure (?:that )?)[\s,]+"
)
_PREFIXES = {
    "fix": TaskType.BUGFIX,
    "bug": TaskType.BUGFIX,
    "bugfix": TaskType.BUGFIX,
    "hotfix": TaskType.BUGFIX,
    "feat": TaskType.FEATURE,
    "feature": TaskType.FEATURE,
    "docs": TaskType.DOCS,
    "doc": TaskType.DOCS,
    "readme": TaskType.DOCS,
    "refactor": TaskType.REFACTOR,
    "cleanup": TaskType.REFACTOR,
    "perf": TaskType.PERFORMANCE,
    "performance": TaskType.PERFORMANCE,
    "test": TaskType.TESTS,
    "tests": TaskType.TESTS,
    "review": TaskType.REVIEW,
    "research": TaskType.RESEARCH,
    "spike": TaskType.RESEARCH,
    "migration": TaskType.MIGRATION,
}
_PREFIX = re.compile(rf"({'|'.join(_PREFIXES)})(?:\([^()]{{1,40}}\))?!?:(?:\s|$)")
_DOCUMENT = re.compile(r"(?i)\.(?:md|mdx|rst|adoc|txt)$|(?:^|/)docs?/")
_TEST_FILE = re.compile(
    r"(?i)(?:^|/)(?:tests?|specs?|__tests__)/|(?:^|/)test_[^/]*$|[._-](?:test|spec)s?\.[a-z]+$|Tests?\.[a-z]+$"
)
