"""Generated lessons of many projects, and queries labelled with the lesson that they are about.

A lesson is about a component of its project, an object there, a trouble with it, a remedy, a tool, and usually a function and an
exception. Frequencies are those of real texts: few projects, components, objects and tools have most of the lessons. A query uses
other words: some are synonyms or missing, what only the lesson knows (the remedy, often the function) is absent, and unrelated
tests fail too. Near misses are common: each project has many lessons about the same component, and all projects share objects,
troubles and tools.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from typing import TypeVar

from helmsman.records.agent import ErrorVector, FailureClass
from helmsman.records.control import Movement
from helmsman.records.decision import Outcome
from helmsman.records.lessons import Episode, Guardrail, Lesson, LessonKind, Subject, Summary, TaskType, Tier

T = TypeVar("T")
NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
PROJECTS = 200
COMPONENTS = 40
"""Components of one project."""
COMMON = 30
"""Components that projects have in common."""
TOOLS = 1_500
FUNCTIONS = 200
"""Tools of one project."""
OWN_PROJECT = 0.8
"""Share of queries about a lesson of the same project; the others are about a component of that name in another project."""
SWAPPED, LEFT_OUT = 0.3, 0.2
"""Shares of a query's words that are replaced by a synonym, and that are missing."""
NAMED = 0.7
"""Shares of lessons that name a function, and an exception."""
KNOWN = 0.5
"""Share of queries that name it too."""
SAID = 3
"""Least number of a lesson's parts that a query names in the same words: "make it work with the storage" identifies none."""

OBJECTS = (
    ("cache", "memo", "stored results"), ("session", "login state"), ("query", "statement", "select"),
    ("migration", "schema change"), ("fixture", "test data"), ("timeout", "deadline", "time limit"),
    ("retry", "second attempt"), ("lock", "mutex"), ("queue", "backlog"), ("index", "lookup table"), ("parser", "reader"),
    ("serialiser", "encoder"), ("header", "preamble"), ("cookie", "browser token"), ("webhook", "callback"),
    ("scheduler", "cron job"), ("template", "layout"), ("upload", "attachment"), ("export", "dump"), ("import", "ingest"),
    ("config", "settings"), ("logger", "log output"), ("metric", "counter"), ("route", "endpoint", "url"),
    ("form", "input mask"), ("validator", "input check"), ("transaction", "commit block"), ("thread", "worker"),
    ("socket", "connection"), ("stream", "pipe"), ("snapshot", "golden file"), ("mock", "stub", "double"),
    ("permission", "access right"), ("currency", "money amount"), ("timezone", "utc offset"), ("locale", "language setting"),
    ("pagination", "page cursor"), ("checksum", "hash"), ("certificate", "tls key"), ("dependency", "package"),
)  # fmt: skip
TROUBLES = (
    ("stale", "outdated"), ("flaky", "unstable", "intermittent"), ("duplicate", "doubled"), ("missing", "absent"),
    ("slow", "sluggish"), ("deadlocked", "hanging"), ("truncated", "cut off"), ("leaking", "never released"),
    ("unordered", "in random order"), ("unescaped", "injected"), ("rounded wrongly", "imprecise"), ("overflowing", "too large"),
    ("rejected", "refused"), ("unclosed", "left open"), ("circular", "recursive"), ("shadowed", "hidden by another"),
    ("empty", "blank"), ("misparsed", "read wrongly"), ("racing", "concurrent"), ("expired", "too old"),
)  # fmt: skip
REMEDIES = (
    "reset it in the teardown", "build it once per module", "pass the clock in", "sort before comparing",
    "hold it in a context manager", "pin the version in the lock file", "read the whole file first",
    "split the change into two commits", "batch the writes", "add a bounded backoff", "compare by value",
    "close it in a finally block", "make it idempotent", "check for none first", "escape it at the edge",
    "use decimals throughout", "move it out of the loop", "declare it in the manifest", "regenerate it from the source",
    "write the failing test first", "load it lazily", "give each test its own folder", "ask the service for its limits",
    "use the public entry point",
)  # fmt: skip
COMMON_COMPONENTS = (
    "auth", "billing", "search", "orders", "users", "reports", "payments", "inventory", "notifications", "admin", "api", "cli",
    "catalogue", "checkout", "profile", "dashboard", "gateway", "ledger", "mailer", "messaging", "audit", "tenants", "pricing",
    "shipping", "storage", "sync", "analytics", "editor", "uploader", "planner",
)  # fmt: skip
GOALS = (
    "Mend the {component}: the {object} with {tool} is {trouble}",
    "The {object} of {component} must not be {trouble} any more when {tool} is in use",
    "Make {tool} work with the {component} where the {object} gets {trouble}",
    "In {component} we see a {trouble} {object} since {tool} was updated, please get the checks green",
)
TEXTS = (
    "When the {object} of {component} is {trouble} under {tool}, {remedy}.",
    "In {component}, {remedy}: otherwise the {object} is {trouble} with {tool}.",
    "For a {trouble} {object} in {component} with {tool}, {remedy} and run the checks again.",
    "The {object} in {component} becomes {trouble} as soon as {tool} is involved; {remedy}.",
)
EXCEPTIONS = (
    "KeyError", "TypeError", "ValueError", "TimeoutError", "ConnectionResetError", "IntegrityError", "OperationalError",
    "UnicodeDecodeError", "AttributeError", "RecursionError", "PermissionError", "FileNotFoundError", "BrokenPipeError",
    "DoesNotExist", "StaleElementReference", "SSLError", "MemoryError", "NotImplementedError", "ZeroDivisionError",
    "IndexError", "AssertionError", "ValidationError", "TransactionAborted", "TooManyRequests", "BadGateway",
    "CircularDependency", "UnboundLocalError", "OverflowError", "DecodeError",
)  # fmt: skip
VERBS = (
    "parse", "render", "load", "save", "fetch", "send", "build", "check", "merge", "split", "format", "open", "close", "sign",
    "charge", "refund", "total", "rotate", "flush", "resolve", "schedule", "cancel", "publish", "consume", "map", "filter",
    "group", "rank",
)  # fmt: skip
CLASSES = (
    FailureClass.TEST,
    FailureClass.TYPES,
    FailureClass.EXCEPTION,
    FailureClass.TIMEOUT,
    FailureClass.LINT,
    FailureClass.BUILD,
)
TYPES = (TaskType.BUGFIX, TaskType.FEATURE, TaskType.TEST_FIX, TaskType.REFACTOR, TaskType.MIGRATION, TaskType.PERFORMANCE)
KINDS = (LessonKind.STRATEGY,) * 7 + (LessonKind.ANTIPATTERN,) * 2 + (LessonKind.CONVENTION,)
_STARTS = (
    "b",
    "c",
    "d",
    "f",
    "g",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "t",
    "v",
    "z",
    "br",
    "cr",
    "dr",
    "fl",
    "gr",
    "pl",
    "st",
    "tr",
)
_MIDDLES = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_ENDS = ("x", "n", "r", "l", "sk", "nt", "ro")


@dataclass(frozen=True)
class About:
    """Subject of a lesson, in parts that can be worded."""

    project: int
    component: str
    object: tuple[str, ...]
    trouble: tuple[str, ...]
    remedy: str
    tool: str
    function: str
    exception: str


@dataclass(frozen=True)
class Asked:
    """A query, and the lessons of which one has to be among the first."""

    subject: Subject
    about: str
    """Id of the lesson that it was made from."""
    right: frozenset[str]


class Cases:
    """Lessons and queries, deterministic for a seed."""

    def __init__(self, lessons: int, seed: int) -> None:
        """Invent names, and the subject of each lesson."""
        self._chance = random.Random(seed)
        self._tools = [self._name(3) for _ in range(TOOLS)]
        self._components = [self._own_components() for _ in range(PROJECTS)]
        self._functions = [[self._function() for _ in range(FUNCTIONS)] for _ in range(PROJECTS)]
        self.lessons: list[Lesson] = []
        self._about: list[About] = []
        for number in range(lessons):
            self._about.append(self._invent())
            self.lessons.append(self._lesson(number, self._about[-1]))

    def asked(self, queries: int) -> Iterator[Asked]:
        """Queries about lessons that the asking project may get."""
        same: dict[tuple[str, tuple[str, ...], tuple[str, ...], str], set[str]] = {}
        for lesson, about in zip(self.lessons, self._about, strict=True):
            same.setdefault((about.component, about.object, about.trouble, about.tool), set()).add(lesson.id)
        for _ in range(queries):
            number, asker = self._pair(own=self._chance.random() < OWN_PROJECT)
            lesson, about = self.lessons[number], self._about[number]
            right = frozenset(same[about.component, about.object, about.trouble, about.tool])
            yield Asked(self._subject(asker, lesson, about), lesson.id, right)

    def _pair(self, *, own: bool) -> tuple[int, int]:
        """A lesson, and a project that may get it and needs it."""
        while True:
            number = self._chance.randrange(len(self.lessons))
            lesson, about = self.lessons[number], self._about[number]
            asker = about.project if own else self._chance.randrange(PROJECTS)
            fits = own or (lesson.kind is LessonKind.STRATEGY and about.component in self._components[asker])
            if (
                lesson.kind is not LessonKind.ANTIPATTERN
                and lesson.tier is Tier.SEMANTIC
                and fits
                and own == (asker == about.project)
            ):
                return number, asker

    def guardrails(self) -> Iterator[Guardrail]:
        for project in range(PROJECTS):
            for number, failure in enumerate(CLASSES):
                instruction = f"Run the {failure} checks of {self._components[project][number]} before each commit."
                yield Guardrail(
                    id=f"g{project}-{number}", project=name_of(project), failure=failure, instruction=instruction, created_at=NOW
                )

    def summaries(self, each: int) -> Iterator[Summary]:
        """Summaries of a number of loops of each project."""
        for number in range(PROJECTS * each):
            project, took = number % PROJECTS, 1 + int(self._chance.expovariate(0.2))
            about = self._about[number % len(self._about)]
            started = NOW - timedelta(days=self._chance.randrange(1, 400))
            yield Summary(
                uid=f"loop{number}",
                loop=f"loop-{number}",
                subject=self._subject(project, self.lessons[number % len(self.lessons)], about),
                outcome=Outcome.COMPLETED if self._chance.random() < 0.75 else Outcome.STOPPED,
                rule="completion.verified",
                iterations=took,
                seconds=took * 240.0,
                cost_usd=took * 0.3,
                started_at=started,
                ended_at=started + timedelta(minutes=4 * took),
            )

    def episodes(self, number: int) -> Iterator[Episode]:
        """Stored iterations of loops of ten iterations."""
        for one in range(number):
            at = self._chance.randrange(len(self._about))
            about, subject = self._about[at], self._subject(self._about[at].project, self.lessons[at], self._about[at])
            where = f"tests/test_{about.component}.py::test_{about.object[0]}"
            error = ErrorVector(
                kind=self._chance.choice(CLASSES), where=where, message=f"AssertionError: {about.trouble[0]} result" * 3
            )
            yield Episode(
                uid=f"of-iterations-{one // 10}",
                loop=f"loop-{one // 10}",
                iteration=1 + one % 10,
                attempt=1,
                subject=subject,
                at=NOW,
                seconds=240,
                cost_usd=0.3,
                movement=Movement.FORWARD,
                checked=True,
                green=False,
                completion=0.5,
                errors=(error,) * 3,
                approach=f"Mend {about.component}; {about.remedy}",
                files=tuple(f"src/{about.component}/part_{part}.py" for part in range(8)),
            )

    def _name(self, syllables: int) -> str:
        return "".join(
            self._chance.choice(_STARTS) + self._chance.choice(_MIDDLES) for _ in range(syllables)
        ) + self._chance.choice(_ENDS)

    def _own_components(self) -> list[str]:
        common = self._chance.sample(COMMON_COMPONENTS, COMPONENTS // 2)
        mixed = [*common, *(f"{self._chance.choice(COMMON_COMPONENTS)}_{self._name(2)}" for _ in range(COMPONENTS - len(common)))]
        self._chance.shuffle(mixed)
        return mixed

    def _function(self) -> str:
        return f"{self._chance.choice(VERBS)}_{self._chance.choice(OBJECTS)[0]}_{self._name(1)}"

    def _often(self, things: Sequence[T]) -> T:
        """Choose one by Zipf's law: the second half as often as the first, the third a third as often."""
        return self._chance.choices(things, cum_weights=_ranks(len(things)))[0]

    def _invent(self) -> About:
        project = self._often(range(PROJECTS))
        return About(
            project=project,
            component=self._often(self._components[project]),
            object=self._often(OBJECTS),
            trouble=self._often(TROUBLES),
            remedy=self._often(REMEDIES),
            tool=self._often(self._tools),
            function=self._often(self._functions[project]) if self._chance.random() < NAMED else "",
            exception=self._often(EXCEPTIONS) if self._chance.random() < NAMED else "",
        )

    def _lesson(self, number: int, about: About) -> Lesson:
        text = self._chance.choice(TEXTS).format(
            component=about.component, object=about.object[0], trouble=about.trouble[0], tool=about.tool, remedy=about.remedy
        )
        text += f" Seen in {about.function}." if about.function else ""
        text += f" It shows as {about.exception}." if about.exception else ""
        uses = self._chance.randrange(2, 12)
        seen = NOW - timedelta(days=self._chance.randrange(0, 300))
        semantic = self._chance.random() < 0.8
        return Lesson(
            id=f"lesson{number}",
            kind=self._chance.choice(KINDS),
            tier=Tier.SEMANTIC if semantic else Tier.EPISODIC,
            project=name_of(about.project),
            task_type=self._chance.choice(TYPES),
            text=text,
            failure=self._chance.choice(CLASSES),
            tests=(_test(about),) if self._chance.random() < 0.5 else (),
            confidence=round(self._chance.uniform(0.7, 1), 2),
            uses=uses,
            successes=self._chance.randrange(-(-uses * 7 // 10), uses + 1),
            observed=uses,
            sources=(f"loop{number % 997}",),
            created_at=seen,
            updated_at=seen,
        )

    def _subject(self, asker: int, lesson: Lesson, about: About) -> Subject:
        type_fits, class_fits, test_fits = (self._chance.random() < share for share in (0.85, 0.8, 0.5))
        tests = (_test(about, self._chance.choice(OBJECTS)[0]), *((_test(about),) if test_fits else ()))
        goal = self._goal(about)
        while _said(about, f"{goal} {tests}") < SAID:
            goal = self._goal(about)
        return Subject(
            project=name_of(asker),
            task_type=lesson.task_type if type_fits else self._chance.choice(TYPES),
            text=goal,
            failures=(lesson.failure,) if class_fits and lesson.failure else (),
            tests=tests,
        )

    def _goal(self, about: About) -> str:
        goal = self._chance.choice(GOALS).format(
            component=about.component, object=self._worded(about.object), trouble=self._worded(about.trouble), tool=about.tool
        )
        goal += f", see {about.function}" if about.function and self._chance.random() < KNOWN else ""
        goal += f"; we get a {about.exception}" if about.exception and self._chance.random() < KNOWN else ""
        return " ".join(word for word in goal.split() if self._chance.random() >= LEFT_OUT)

    def _worded(self, synonyms: Sequence[str]) -> str:
        return self._chance.choice(synonyms[1:]) if self._chance.random() < SWAPPED else synonyms[0]


@cache
def _ranks(size: int) -> list[float]:
    return list(accumulate(1 / rank for rank in range(1, size + 1)))


def name_of(project: int) -> str:
    return f"project-{project:03}"


def _test(about: About, thing: str = "") -> str:
    """A test of the component: of the lesson's subject, or of another thing there."""
    what = thing or f"{about.object[0]}_{about.trouble[0].replace(' ', '_')}"
    return f"tests/test_{about.component}.py::test_{what}"


def _said(about: About, query: str) -> int:
    """Number of the lesson's parts that a query names in the lesson's own words."""
    parts = (about.component, about.object[0], about.trouble[0], about.tool, about.function, about.exception)
    return sum(bool(part) and part in query for part in parts)
