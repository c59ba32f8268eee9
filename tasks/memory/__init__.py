"""Memory that outlives a loop: a SQLite file of the user, or a PostgreSQL server of a team.

`from tasks.memory import open_store` is cheap: the database library is imported when a store is opened.
"""

import re
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from helmsman.errors import OperatorError, TransientError
from helmsman.memory.estimates import NEWEST, estimate
from helmsman.memory.learned_guardrails import MOST_GUARDRAILS
from helmsman.memory.recall import MEMORY_TOKENS, SearchHit, guardrails_cost, reminders
from helmsman.records.lessons import Guardrail, LessonKind, Recalled, Subject, Tier
from tasks.memory.guardrails_file import guardrails_path, sync_edits, write_guardrails
from tasks.repository.git import Repository, git, succeeds
from tasks.system.environment import own_environment
from tasks.system.paths import state_home

if TYPE_CHECKING:
    from tasks.memory.reads import Reads
    from tasks.memory.store import Change, Store
else:  # these import the database library
    Change = Reads = Store = object

__all__ = [
    "Change",
    "Reads",
    "Store",
    "guardrails_path",
    "memory_url",
    "open_for_reading",
    "open_store",
    "project_id",
    "recall",
    "sync_edits",
    "write_guardrails",
]

URL = "HELMSMAN_MEMORY_URL"  # takes precedence over memory.url, and may contain a password
FILE = "sqlite:///"
LENGTH = 16  # characters of the id: enough to be unique
SEARCHED = 30  # lessons to search by words: of all projects, and as many of this one
EXTRA = 5  # lessons of a kind to consider regardless of words
GOAL = 1_000  # characters of a goal to search for before the names of its tests; the rest follows them
TESTS = 8

_WORD = re.compile(r"\w+")
_PARTS = "test tests spec specs src lib py js jsx ts tsx mjs go rs rb java kt php cs"
_INSIGNIFICANT = frozenset(_PARTS.split())  # insignificant parts of test names


@contextmanager
def open_store(url: str, now: datetime) -> Generator[Store]:
    """Open a store for the block; an empty URL is the user's own file. Raises TransientError if that fails."""
    if _is_server(url):
        from tasks.memory.postgres import PostgresServer  # imports the database library

        store = PostgresServer(url)
    else:
        from tasks.memory.sqlite import open_file

        store = open_file(_file_of(url), now, ours=not url)
    with closing(store):
        store.migrate()
        yield store


@contextmanager
def open_for_reading(url: str) -> Generator[Reads | None]:
    """Open the store of a URL read-only; None if there is none of this version. Raises TransientError.

    Does not create, repair or migrate it.
    """
    store = None
    if _is_server(url):
        from tasks.memory.postgres import PostgresServer

        store = PostgresServer(url)
    elif (file := _file_of(url)).is_file():
        from tasks.memory.sqlite import SqliteFile

        store = SqliteFile(file, read_only=True)
    with closing(store) if store else nullcontext():
        yield store if store and store.is_of_this_version() else None


def memory_url(configured: str) -> str:
    """URL of the memory, from the environment or the configuration; empty: the user's own file."""
    return own_environment().get(URL) or configured


def _is_server(url: str) -> bool:
    return bool(url) and not url.startswith("sqlite:")


def _file_of(url: str) -> Path:
    """File of a SQLite URL. Raises TransientError if it is invalid."""
    if not url:
        return state_home() / "memory" / "memory.db"
    file = Path(url.removeprefix(FILE)).expanduser()
    if not url.startswith(FILE) or not file.is_absolute() or "?" in url or "\x00" in url:
        raise TransientError(
            "memory.url is not the URL of a file",
            expected="four slashes and an absolute path, as in sqlite:////folder/memory.db",
            found=repr(url)[:200],
            remedy="correct HELMSMAN_MEMORY_URL, or memory.url",
        )
    return file


@lru_cache(maxsize=64)
def project_id(repository: Repository) -> str:
    """Prefix of the root commit's id; the smallest of several. A shallow clone is a separate project.

    Considers only branches and HEAD: states of loops and stashes have their own root commits. HEAD of a bare repository may
    name a missing branch, while its worktrees have others. Raises OperatorError if there is no commit.
    """
    common = repository.common
    work = ("HEAD",) if succeeds(common, "rev-parse", "--verify", "--quiet", "HEAD^{commit}") else ("--branches", "--remotes")
    roots = git(common, "rev-list", "--max-parents=0", *work).split()
    if not roots:
        raise OperatorError("the repository has no commit to identify the project by", found=str(common), remedy="make a commit")
    return min(roots)[:LENGTH]


def recall(store: Reads, subject: Subject, now: datetime, allowance: int = MEMORY_TOKENS) -> Recalled:
    """Recall memory for the prompt, within the token allowance. Raises TransientError if the store fails."""
    # guardrails within the allowance: a person's first, then those for current failures, then the newest
    ranked = sorted(store.guardrails(subject.project), key=lambda item: item.created_at, reverse=True)
    ranked.sort(key=lambda item: (item.by != "person", item.failure not in subject.failures))
    guardrails: list[Guardrail] = []
    for item in ranked:
        if len(guardrails) < MOST_GUARDRAILS and guardrails_cost([*guardrails, item]) <= allowance:
            guardrails.append(item)
    tokens_left = allowance - guardrails_cost(guardrails)
    return Recalled(
        subject=subject,
        guardrails=tuple(guardrails),
        reminders=reminders(_search_lessons(store, subject), subject, now, tokens_left) if tokens_left > 0 else (),
        estimate=estimate(store.summaries(subject.task_type, subject.project, limit=NEWEST), subject),
    )


def _search_lessons(store: Reads, subject: Subject) -> Iterator[SearchHit]:
    """Lessons by words, and those that may apply to the project regardless of words."""
    project, tier = subject.project, Tier.SEMANTIC
    yield from store.search(search_text(subject), tier=tier, limit=SEARCHED, project=project)
    further = store.lessons(project, LessonKind.CONVENTION, subject.task_type, tier, limit=EXTRA)
    if subject.failures:
        further += store.lessons(project, LessonKind.ANTIPATTERN, tier=tier, limit=EXTRA)
    yield from (SearchHit(lesson, 0.0, 0) for lesson in further)


def search_text(subject: Subject) -> str:
    """Text to search for. The number of words is limited, so those of the tests are not last."""
    names = [word for test in subject.tests[:TESTS] for word in _WORD.findall(test.replace("_", " "))]
    significant = [word for word in names if word.casefold() not in _INSIGNIFICANT]
    return " ".join([subject.text[:GOAL], *significant, subject.text[GOAL:]])
