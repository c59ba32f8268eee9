"""Values as both databases hold them alike: names that are looked for, moments, and the words that a lesson is found by."""

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from helmsman.memory.words import terms
from helmsman.records.lessons import Lesson, LessonKind, TaskType, Tier

LONGEST_KEY = 200
LONGEST_WORD = 64
LONGEST_QUESTION = 20_000
"""Characters of a question that are looked at: 64 terms are found long before."""
FACET = "#"
"""Begins the words that stand for a lesson's sort: no word of a text begins so."""
_STRANGE = re.compile(r"[^\w\-./:+@]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def key(name: str) -> str:
    """A name as a column holds it. PostgreSQL takes no zero byte and indexes no long text."""
    plain = name.replace("\x00", " ").encode("utf-8", "replace").decode()
    return plain if len(plain) <= LONGEST_KEY else "sha256:" + hashlib.sha256(plain.encode()).hexdigest()


def moment(at: datetime) -> int:
    """Microseconds, which sort as the moments do; a time without a zone is UTC."""
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def asked_words(text: str) -> tuple[str, ...]:
    """The telling words of a text, each as one token for either index, whatever it is made of."""
    return tuple(dict.fromkeys(map(_word, terms(text[:LONGEST_QUESTION]))))


def said_words(lesson: Lesson) -> tuple[str, ...]:
    """What a lesson is found by: the telling words of all that it says. None where it is told no more."""
    texts = () if lesson.retired else (lesson.text, lesson.detail, " ".join(lesson.tests))
    return tuple(dict.fromkeys(word for text in texts for word in asked_words(text)))


def marks(tiers: Iterable[Tier] = tuple(Tier)) -> list[str]:
    """A word is indexed under the mark of its lesson's tier, so that a question looks at no lesson that nobody is told of."""
    return list(dict.fromkeys(tier.value[:1] for tier in tiers))


def facets(lesson: Lesson) -> tuple[str, str, str]:
    """Words that stand for a lesson's kind, for its project, and for both with its type of task."""
    return kind_facet(lesson.kind), project_facet(lesson.project), merging_facet(lesson.kind, lesson.project, lesson.task_type)


def kind_facet(kind: LessonKind) -> str:
    return _fingerprint("kind", kind)


def project_facet(project: str) -> str:
    return _fingerprint("project", key(project))


def merging_facet(kind: LessonKind, project: str, task_type: TaskType) -> str:
    """Lessons that may be merged have it in common."""
    return _fingerprint("merging", kind, task_type, key(project))


def _fingerprint(*names: str) -> str:
    """A project's name may hold anything."""
    return FACET + hashlib.sha256("\x00".join(names).encode()).hexdigest()[:16]


def _word(term: str) -> str:
    return _STRANGE.sub("_", term.encode("utf-8", "replace").decode())[:LONGEST_WORD]
