"""A team's store on a real PostgreSQL server."""

import socket
from urllib.parse import quote

import pytest

from helmsman.errors import WorldError
from tasks.memory import opening
from tests.fakes.postgres import Postgres
from tests.integration.memory_stores import NOW, lesson

pytestmark = pytest.mark.feature("L6")

SECRET = "p:w/ä%20@#?$"
PLAIN = "swordfish"


def refused(url: str) -> str:
    with pytest.raises(WorldError) as caught, opening(url, NOW):
        pass
    error = caught.value
    assert error.__cause__ is None, "a traceback would show it"
    assert error.__context__ is None or error.__suppress_context__, "a traceback would show it"
    return f"{error} {error!r}"


@pytest.mark.parametrize("prefix", ["postgresql", "postgres", "postgresql+psycopg"])
def test_any_usual_spelling_of_a_url_opens_the_store(postgres_url: str, prefix: str) -> None:
    url = prefix + postgres_url.removeprefix("postgresql")
    with opening(url, NOW) as store, store.change() as change:
        change.put_lesson(lesson())
    with opening(url, NOW) as store:
        assert store.lesson("a") == lesson()
        assert store.stats().place.startswith("postgresql://helmsman:***@127.0.0.1")


@pytest.mark.parametrize("secret", [SECRET, "aä"])
def test_a_wrong_password_is_told_and_never_shown(postgres: Postgres, secret: str) -> None:
    seen = refused(f"postgresql://helmsman:{quote(secret, safe='')}@127.0.0.1:{postgres.port}/postgres")
    assert "password authentication failed" in seen
    assert secret not in seen
    assert quote(secret, safe="") not in seen


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{SECRET}@host:port/db",
        f"postgresql://u:{SECRET}@[::1/db",
        f"mysql://u:{SECRET}@host/db",
        f"://{SECRET}",
        SECRET,
        f"postgresql://127.0.0.1:1/db?password={quote(SECRET)}",
        f"postgresql://u:one@{SECRET}@127.0.0.1:1/db",
        f"postgresql://u:one@{PLAIN}@127.0.0.1:1/db",
        f"postgresql://u:one@t/{PLAIN}@127.0.0.1:1/db",
        f"postgresql://u:{quote(SECRET, safe='')}@127.0.0.1:1/db?sslmode={quote(SECRET)}",
    ],
)
def test_a_url_that_opens_nothing_never_shows_its_password(url: str) -> None:
    seen = refused(url)
    assert SECRET not in seen
    assert PLAIN not in seen
    assert quote(SECRET) not in seen
    assert quote(SECRET, safe="") not in seen


def test_a_server_that_is_away_is_named(postgres_url: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]  # bound, and nobody listens
        assert "a working store at postgresql://helmsman:***@127.0.0.1" in refused(
            f"postgresql://helmsman:x@127.0.0.1:{port}/memory"
        )


def test_a_store_lives_beside_other_tables_of_its_database(postgres: Postgres, postgres_url: str) -> None:
    database = postgres_url.rpartition("/")[2]
    postgres.sql(database, "CREATE TABLE lessons (mine int); CREATE TABLE alembic_version (version_num text)")
    with opening(postgres_url, NOW) as store, store.change() as change:
        change.put_lesson(lesson())
    tables = postgres.sql(
        database, "SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_tables WHERE schemaname = 'public'"
    )
    assert tables.split() == [
        "alembic_version",
        "helmsman_episodes",
        "helmsman_failures",
        "helmsman_guardrails",
        "helmsman_lessons",
        "helmsman_memory",
        "helmsman_summaries",
        "helmsman_words",
        "lessons",
    ]


def test_words_are_looked_for_in_a_full_text_index(postgres: Postgres, postgres_url: str) -> None:
    with opening(postgres_url, NOW) as store, store.change() as change:
        for number in range(50):
            change.put_lesson(lesson(str(number), f"kiln glaze{number}"))
    asked = "SET enable_seqscan = off; EXPLAIN SELECT number FROM helmsman_lessons WHERE lexemes @@ '''ekiln'''::tsquery"
    assert "helmsman_lesson_words" in postgres.sql(postgres_url.rpartition("/")[2], asked)


def test_a_store_goes_on_after_its_server_was_away(postgres: Postgres, postgres_url: str) -> None:
    with opening(postgres_url, NOW) as store:
        with store.change() as change:
            change.put_lesson(lesson())
        postgres.stop()
        try:
            with pytest.raises(WorldError, match="does not answer"):
                store.lessons()
        finally:
            postgres.start()
        assert store.lesson("a") == lesson()
        with store.change() as change:
            change.put_lesson(lesson("b"))


def test_a_store_of_a_newer_version_is_left_alone(postgres: Postgres, postgres_url: str) -> None:
    with opening(postgres_url, NOW):
        pass
    postgres.sql(postgres_url.rpartition("/")[2], "UPDATE helmsman_memory SET value = '99' WHERE name = 'version'")
    assert "newer version" in refused(postgres_url)
