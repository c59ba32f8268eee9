"""The store on a real PostgreSQL server."""

import secrets
import socket
from urllib.parse import quote

import pytest
from sqlalchemy import text

from helmsman.errors import TransientError
from tasks.memory import open_store
from tests.fakes.postgres import Postgres
from tests.integration.memory_stores import NOW, lesson

pytestmark = pytest.mark.feature("L6")

SECRET = "p:w/ä%20@#?$"
PLAIN = "swordfish"


def error_of(url: str) -> str:
    with pytest.raises(TransientError) as caught, open_store(url, NOW):
        pass
    error = caught.value
    assert error.__cause__ is None, "a traceback would show it"
    assert error.__context__ is None or error.__suppress_context__, "a traceback would show it"
    return f"{error} {error!r}"


@pytest.mark.parametrize("prefix", ["postgresql", "postgres", "postgresql+psycopg"])
def test_any_usual_spelling_of_a_url_opens_the_store(postgres_url: str, prefix: str) -> None:
    url = prefix + postgres_url.removeprefix("postgresql")
    with open_store(url, NOW) as store, store.change() as change:
        change.put_lesson(lesson())
    with open_store(url, NOW) as store:
        assert store.lesson("a") == lesson()
        assert store.stats().place.startswith("postgresql://helmsman:***@127.0.0.1")


@pytest.mark.parametrize("secret", [SECRET, "aä"])
def test_a_wrong_password_is_reported_and_never_shown(postgres: Postgres, secret: str) -> None:
    seen = error_of(f"postgresql://helmsman:{quote(secret, safe='')}@127.0.0.1:{postgres.port}/postgres")
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
def test_an_invalid_url_never_shows_its_password(url: str) -> None:
    seen = error_of(url)
    assert SECRET not in seen
    assert PLAIN not in seen
    assert quote(SECRET) not in seen
    assert quote(SECRET, safe="") not in seen


def test_an_unreachable_server_is_named(postgres_url: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]  # bound, and nobody listens
        assert "a working store at postgresql://helmsman:***@127.0.0.1" in error_of(
            f"postgresql://helmsman:x@127.0.0.1:{port}/memory"
        )


def with_options(url: str, options: str) -> str:
    return f"{url}?options={quote(options)}"


def test_a_writer_sees_earlier_writes_whatever_the_servers_default_isolation(postgres: Postgres, postgres_url: str) -> None:
    name = postgres_url.rpartition("/")[2]
    postgres.sql(name, f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    with open_store(postgres_url, NOW) as store, store.change() as change, change.reading() as connection:
        assert connection.scalar(text("SHOW transaction_isolation")) == "read committed"


def test_options_in_the_url_override_ours(postgres_url: str) -> None:
    with (
        open_store(with_options(postgres_url, "-c work_mem=8MB -c lock_timeout=7s"), NOW) as store,
        store.reading() as connection,
    ):
        asked = {name: connection.scalar(text(f"SHOW {name}")) for name in ("work_mem", "lock_timeout", "statement_timeout")}
    assert asked == {"work_mem": "8MB", "lock_timeout": "7s", "statement_timeout": "1min"}


def test_a_missing_permission_is_reported_in_the_servers_words(postgres: Postgres, postgres_url: str) -> None:
    name, guest = postgres_url.rpartition("/")[2], f"guest_{secrets.token_hex(6)}"
    postgres.sql(name, f"CREATE ROLE {guest} LOGIN PASSWORD '{PLAIN}'")
    told = error_of(postgres_url.replace(f"helmsman:{postgres.password}", f"{guest}:{PLAIN}"))
    assert "permission denied" in told
    assert PLAIN not in told


def test_a_writer_that_waits_too_long_gets_the_reason(postgres_url: str) -> None:
    with (
        open_store(postgres_url, NOW) as first,
        open_store(with_options(postgres_url, "-c lock_timeout=50ms"), NOW) as second,
        first.change(),
        pytest.raises(TransientError, match="lock timeout"),
        second.change(),
    ):
        pass


def test_a_store_shares_a_database_with_other_tables(postgres: Postgres, postgres_url: str) -> None:
    database = postgres_url.rpartition("/")[2]
    postgres.sql(database, "CREATE TABLE lessons (mine int); CREATE TABLE alembic_version (version_num text)")
    with open_store(postgres_url, NOW) as store, store.change() as change:
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


def test_a_store_works_again_after_an_outage_of_its_server(postgres: Postgres, postgres_url: str) -> None:
    with open_store(postgres_url, NOW) as store:
        with store.change() as change:
            change.put_lesson(lesson())
        postgres.stop()
        try:
            with pytest.raises(TransientError, match="the memory store fails"):
                store.lessons()
        finally:
            postgres.start()
        assert store.lesson("a") == lesson()
        with store.change() as change:
            change.put_lesson(lesson("b"))
