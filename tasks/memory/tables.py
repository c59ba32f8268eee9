"""Tables for queries, and the statements that create them.

Not Alembic: checking the version would import it at every opening (a fifth of a second), its version table is one more name in a
database that may also be Prefect's, and a few ordered statements need no revision graph: versions are linear, each step is one
transaction, and a released step never changes.
"""

from sqlalchemy import Connection, TableClause, column, inspect, select, table

from helmsman.errors import TransientError


def _table(name: str, columns: str) -> TableClause:
    return table(f"helmsman_{name}", *map(column, columns.split()))


versions = _table("memory", "name value")  # facts about the store itself
lessons = _table("lessons", "number id kind tier project task_type retired updated_at words body")
"""`words`: the indexed words of the lesson."""
words = _table("words", "word tier lessons")
"""Number of lessons of a tier that contain a word. The empty word counts all searchable lessons."""
guardrails = _table("guardrails", "id project retired created_at body")
episodes = _table("episodes", "number uid iteration attempt project checked body")
failures = _table("failures", "project kind episode")  # checked iterations with a class of failure
summaries = _table("summaries", "number uid project task_type ended_at body")

SQLITE = {
    "number": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "big": "INTEGER",
    "lexemes": "",
    "word_index": """CREATE VIRTUAL TABLE helmsman_lesson_words USING fts5(
        words, content='helmsman_lessons', content_rowid='number', detail=none, columnsize=0,
        tokenize="ascii tokenchars '#_-./:+@'")""",
}
POSTGRES = {
    "number": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "big": "BIGINT",
    "lexemes": ", lexemes TSVECTOR NOT NULL DEFAULT ''",
    "word_index": "CREATE INDEX helmsman_lesson_words ON helmsman_lessons USING gin (lexemes)",
}
STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE helmsman_lessons (number {number}, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, tier TEXT NOT NULL,
        project TEXT NOT NULL, task_type TEXT NOT NULL, retired BOOLEAN NOT NULL, updated_at {big} NOT NULL,
        words TEXT NOT NULL, body TEXT NOT NULL{lexemes})""",
        "CREATE INDEX helmsman_lessons_project ON helmsman_lessons (project, updated_at)",
        "CREATE INDEX helmsman_lessons_kind ON helmsman_lessons (project, kind, tier, updated_at)",
        "CREATE INDEX helmsman_lessons_age ON helmsman_lessons (updated_at)",
        "{word_index}",
        """CREATE TABLE helmsman_words (word TEXT NOT NULL, tier TEXT NOT NULL, lessons INTEGER NOT NULL,
        PRIMARY KEY (word, tier))""",
        """CREATE TABLE helmsman_guardrails (id TEXT PRIMARY KEY, project TEXT NOT NULL, retired BOOLEAN NOT NULL,
        created_at {big} NOT NULL, body TEXT NOT NULL)""",
        "CREATE INDEX helmsman_guardrails_project ON helmsman_guardrails (project, created_at)",
        """CREATE TABLE helmsman_episodes (number {number}, uid TEXT NOT NULL, iteration INTEGER NOT NULL,
        attempt INTEGER NOT NULL, project TEXT NOT NULL, checked BOOLEAN NOT NULL, body TEXT NOT NULL,
        UNIQUE (uid, iteration, attempt))""",
        "CREATE INDEX helmsman_episodes_project ON helmsman_episodes (project, number, checked)",
        """CREATE TABLE helmsman_failures (project TEXT NOT NULL, kind TEXT NOT NULL, episode {big} NOT NULL,
        PRIMARY KEY (project, kind, episode))""",
        "CREATE INDEX helmsman_failures_episode ON helmsman_failures (episode)",
        """CREATE TABLE helmsman_summaries (number {number}, uid TEXT NOT NULL UNIQUE, project TEXT NOT NULL,
        task_type TEXT NOT NULL, ended_at {big} NOT NULL, body TEXT NOT NULL)""",
        "CREATE INDEX helmsman_summaries_age ON helmsman_summaries (ended_at)",
        "CREATE INDEX helmsman_summaries_project ON helmsman_summaries (project, ended_at)",
    ),
    (),
)
"""One entry for each version, the first from nothing to version 1."""
VERSION = len(STEPS)
WORDS_CHANGED = 2  # stemming changed in this version: lessons of older ones must be indexed again


def take_steps(connection: Connection) -> bool:
    """Migrate the tables to this version, inside a write transaction. Returns whether lessons must be indexed again."""
    version = checked_version(connection)
    if version == 0:
        connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS helmsman_memory (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
    dialect = SQLITE if connection.dialect.name == "sqlite" else POSTGRES
    for step in STEPS[version:]:
        for statement in step:
            connection.exec_driver_sql(statement.format_map(dialect))
    if version < VERSION:
        connection.execute(versions.delete().where(versions.c.name == "version"))
        connection.execute(versions.insert().values(name="version", value=str(VERSION)))
    return 0 < version < WORDS_CHANGED


def checked_version(connection: Connection) -> int:
    """Version of the tables, 0 for none. Raises TransientError for a newer version, which this program would damage."""
    if not inspect(connection).has_table(versions.name):
        return 0
    version = int(connection.scalar(select(versions.c.value).where(versions.c.name == "version")) or 0)
    if version > VERSION:
        raise TransientError(
            "the memory store was written by a newer version of this program",
            expected=f"tables of version {VERSION} at most",
            found=f"version {version}",
            remedy="update this program, or use another store (memory.url)",
        )
    return version
