"""Generated lessons of many projects, and queries labelled with the lesson that they are about.

A lesson is about a component of its project, an object there, a problem with it, a remedy, a tool, and usually a function and an
exception. Frequencies are those of real texts: few projects, components, objects and tools have most of the lessons. A query uses
other words: some are synonyms or missing, what only the lesson knows (the remedy, often the function) is absent, and unrelated
tests fail too. Near misses are common: each project has many lessons about the same component, and all projects share objects,
problems and tools.
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
TOOLS = 1_500
FUNCTIONS = 200
"""Tools of one project."""
SAME_PROJECT_RATE = 0.8
"""Share of queries about a lesson of the same project; the others are about a component of that name in another project."""
SYNONYM_RATE, OMITTED_RATE = 0.3, 0.2
"""Shares of a query's words that are replaced by a synonym, and that are missing."""
IDENTIFIER_RATE = 0.7
"""Shares of lessons that name a function, and an exception."""
KNOWN_RATE = 0.5
"""Share of queries that name it too."""
MIN_SHARED_PARTS = 3
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
PROBLEMS = (
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
    "Fix the {component}: the {object} with {tool} is {problem}",
    "The {object} of {component} must not be {problem} any more when {tool} is in use",
    "Make {tool} work with the {component} where the {object} gets {problem}",
    "In {component} we see a {problem} {object} since {tool} was updated, please get the checks green",
)
TEXTS = (
    "When the {object} of {component} is {problem} under {tool}, {remedy}.",
    "In {component}, {remedy}: otherwise the {object} is {problem} with {tool}.",
    "For a {problem} {object} in {component} with {tool}, {remedy} and run the checks again.",
    "The {object} in {component} becomes {problem} as soon as {tool} is involved; {remedy}.",
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
_STARTS = (*"bcdfgklmnprstvz", "br", "cr", "dr", "fl", "gr", "pl", "st", "tr")
_MIDDLES = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_ENDS = ("x", "n", "r", "l", "sk", "nt", "ro")


@dataclass(frozen=True)
class Topic:
    """Topic of a lesson, in parts."""

    project: int
    component: str
    object: tuple[str, ...]
    problem: tuple[str, ...]
    remedy: str
    tool: str
    function: str
    exception: str


@dataclass(frozen=True)
class Query:
    """A query, and the lessons of which one has to be among the first."""

    subject: Subject
    source: str
    """Id of the lesson that the query was made from."""
    expected: frozenset[str]


class Cases:
    """Lessons and queries, deterministic for a seed."""

    def __init__(self, lessons: int, seed: int) -> None:
        """Generate names, and the topic of each lesson."""
        self._rng = random.Random(seed)
        self._tools = [self._name(3) for _ in range(TOOLS)]
        self._components = [self._project_components() for _ in range(PROJECTS)]
        self._functions = [[self._function() for _ in range(FUNCTIONS)] for _ in range(PROJECTS)]
        self.lessons: list[Lesson] = []
        self._topics: list[Topic] = []
        for number in range(lessons):
            self._topics.append(self._random_topic())
            self.lessons.append(self._lesson(number, self._topics[-1]))

    def queries(self, count: int) -> Iterator[Query]:
        """Queries about lessons that the querying project may get."""
        ids_by_topic: dict[tuple[str, tuple[str, ...], tuple[str, ...], str], set[str]] = {}
        for lesson, topic in zip(self.lessons, self._topics, strict=True):
            ids_by_topic.setdefault((topic.component, topic.object, topic.problem, topic.tool), set()).add(lesson.id)
        for _ in range(count):
            number, project = self._lesson_and_project(is_same_project=self._rng.random() < SAME_PROJECT_RATE)
            lesson, topic = self.lessons[number], self._topics[number]
            right = frozenset(ids_by_topic[topic.component, topic.object, topic.problem, topic.tool])
            yield Query(self._subject(project, lesson, topic), lesson.id, right)

    def _lesson_and_project(self, *, is_same_project: bool) -> tuple[int, int]:
        """A lesson, and a project to which it is relevant."""
        while True:
            number = self._rng.randrange(len(self.lessons))
            lesson, topic = self.lessons[number], self._topics[number]
            project = topic.project if is_same_project else self._rng.randrange(PROJECTS)
            is_relevant = is_same_project or (lesson.kind is LessonKind.STRATEGY and topic.component in self._components[project])
            if (
                lesson.kind is not LessonKind.ANTIPATTERN
                and lesson.tier is Tier.SEMANTIC
                and is_relevant
                and is_same_project == (project == topic.project)
            ):
                return number, project

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
            project, iterations = number % PROJECTS, 1 + int(self._rng.expovariate(0.2))
            topic = self._topics[number % len(self._topics)]
            started = NOW - timedelta(days=self._rng.randrange(1, 400))
            yield Summary(
                uid=f"loop{number}",
                loop=f"loop-{number}",
                subject=self._subject(project, self.lessons[number % len(self.lessons)], topic),
                outcome=Outcome.COMPLETED if self._rng.random() < 0.75 else Outcome.STOPPED,
                rule="completion.verified",
                iterations=iterations,
                seconds=iterations * 240.0,
                cost_usd=iterations * 0.3,
                started_at=started,
                ended_at=started + timedelta(minutes=4 * iterations),
            )

    def episodes(self, number: int) -> Iterator[Episode]:
        """Stored iterations of loops of ten iterations."""
        for index in range(number):
            place = self._rng.randrange(len(self._topics))
            topic, subject = (
                self._topics[place],
                self._subject(self._topics[place].project, self.lessons[place], self._topics[place]),
            )
            where = f"tests/test_{topic.component}.py::test_{topic.object[0]}"
            error = ErrorVector(
                kind=self._rng.choice(CLASSES), where=where, message=f"AssertionError: {topic.problem[0]} result" * 3
            )
            yield Episode(
                uid=f"of-iterations-{index // 10}",
                loop=f"loop-{index // 10}",
                iteration=1 + index % 10,
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
                approach=f"Fix {topic.component}; {topic.remedy}",
                files=tuple(f"src/{topic.component}/part_{part}.py" for part in range(8)),
            )

    def _name(self, syllables: int) -> str:
        return "".join(self._rng.choice(_STARTS) + self._rng.choice(_MIDDLES) for _ in range(syllables)) + self._rng.choice(_ENDS)

    def _project_components(self) -> list[str]:
        shared = self._rng.sample(COMMON_COMPONENTS, COMPONENTS // 2)
        components = [
            *shared,
            *(f"{self._rng.choice(COMMON_COMPONENTS)}_{self._name(2)}" for _ in range(COMPONENTS - len(shared))),
        ]
        self._rng.shuffle(components)
        return components

    def _function(self) -> str:
        return f"{self._rng.choice(VERBS)}_{self._rng.choice(OBJECTS)[0]}_{self._name(1)}"

    def _zipf_choice(self, items: Sequence[T]) -> T:
        """Choose one by Zipf's law: the second half as often as the first, the third a third as often."""
        return self._rng.choices(items, cum_weights=_ranks(len(items)))[0]

    def _random_topic(self) -> Topic:
        project = self._zipf_choice(range(PROJECTS))
        return Topic(
            project=project,
            component=self._zipf_choice(self._components[project]),
            object=self._zipf_choice(OBJECTS),
            problem=self._zipf_choice(PROBLEMS),
            remedy=self._zipf_choice(REMEDIES),
            tool=self._zipf_choice(self._tools),
            function=self._zipf_choice(self._functions[project]) if self._rng.random() < IDENTIFIER_RATE else "",
            exception=self._zipf_choice(EXCEPTIONS) if self._rng.random() < IDENTIFIER_RATE else "",
        )

    def _lesson(self, number: int, topic: Topic) -> Lesson:
        text = self._rng.choice(TEXTS).format(
            component=topic.component, object=topic.object[0], problem=topic.problem[0], tool=topic.tool, remedy=topic.remedy
        )
        text += f" Seen in {topic.function}." if topic.function else ""
        text += f" It shows as {topic.exception}." if topic.exception else ""
        uses = self._rng.randrange(2, 12)
        created = NOW - timedelta(days=self._rng.randrange(0, 300))
        is_semantic = self._rng.random() < 0.8
        return Lesson(
            id=f"lesson{number}",
            kind=self._rng.choice(KINDS),
            tier=Tier.SEMANTIC if is_semantic else Tier.EPISODIC,
            project=name_of(topic.project),
            task_type=self._rng.choice(TYPES),
            text=text,
            failure=self._rng.choice(CLASSES),
            tests=(_test(topic),) if self._rng.random() < 0.5 else (),
            confidence=round(self._rng.uniform(0.7, 1), 2),
            uses=uses,
            successes=self._rng.randrange(-(-uses * 7 // 10), uses + 1),
            observed=uses,
            sources=(f"loop{number % 997}",),
            created_at=created,
            updated_at=created,
        )

    def _subject(self, project: int, lesson: Lesson, topic: Topic) -> Subject:
        type_fits, class_fits, test_fits = (self._rng.random() < share for share in (0.85, 0.8, 0.5))
        tests = (_test(topic, self._rng.choice(OBJECTS)[0]), *((_test(topic),) if test_fits else ()))
        goal = self._goal(topic)
        while _shared_parts(topic, f"{goal} {tests}") < MIN_SHARED_PARTS:
            goal = self._goal(topic)
        return Subject(
            project=name_of(project),
            task_type=lesson.task_type if type_fits else self._rng.choice(TYPES),
            text=goal,
            failures=(lesson.failure,) if class_fits and lesson.failure else (),
            tests=tests,
        )

    def _goal(self, topic: Topic) -> str:
        goal = self._rng.choice(GOALS).format(
            component=topic.component,
            object=self._word_or_synonym(topic.object),
            problem=self._word_or_synonym(topic.problem),
            tool=topic.tool,
        )
        goal += f", see {topic.function}" if topic.function and self._rng.random() < KNOWN_RATE else ""
        goal += f"; we get a {topic.exception}" if topic.exception and self._rng.random() < KNOWN_RATE else ""
        return " ".join(word for word in goal.split() if self._rng.random() >= OMITTED_RATE)

    def _word_or_synonym(self, synonyms: Sequence[str]) -> str:
        return self._rng.choice(synonyms[1:]) if self._rng.random() < SYNONYM_RATE else synonyms[0]


@cache
def _ranks(size: int) -> list[float]:
    return list(accumulate(1 / rank for rank in range(1, size + 1)))


def name_of(project: int) -> str:
    return f"project-{project:03}"


def _test(topic: Topic, object_name: str = "") -> str:
    """A test of the component: of the lesson's topic, or of another object."""
    suffix = object_name or f"{topic.object[0]}_{topic.problem[0].replace(' ', '_')}"
    return f"tests/test_{topic.component}.py::test_{suffix}"


def _shared_parts(topic: Topic, query: str) -> int:
    """Number of the lesson's parts that a query names in the lesson's own words."""
    parts = (topic.component, topic.object[0], topic.problem[0], topic.tool, topic.function, topic.exception)
    return sum(bool(part) and part in query for part in parts)
