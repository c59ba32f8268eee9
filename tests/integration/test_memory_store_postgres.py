"""The memory store on PostgreSQL, and the files of the one on SQLite."""

import os
import secrets
import socket
import stat
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import text

from helmsman.errors import TransientError
from tasks.memory import open_store
from tests.fakes.postgres import Postgres
from tests.integration.memory_stores import NOW, guardrail, lesson

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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "memory.db"


def url(file: Path) -> str:
    return f"sqlite:///{file}"


def fill(url: str) -> None:
    with open_store(url, NOW) as store, store.change() as change:
        change.put_lesson(lesson())


def test_nobody_else_can_read_a_store_or_its_copies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "state"))
    before = os.umask(0)
    try:
        fill("")
        with open_store("", NOW) as store, store.change() as change:
            change.put_lesson(lesson("b"))
            modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in (tmp_path / "state" / "memory").iterdir()}
    finally:
        os.umask(before)
    assert {"memory.db", "memory.db-wal", "memory.db.backup-2026-11-22"} <= modes.keys()
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "state" / "memory").stat().st_mode) == 0o700


def test_wider_modes_are_narrowed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path))
    with open_store("", NOW):
        pass
    (tmp_path / "memory").chmod(0o755)
    (tmp_path / "memory" / "memory.db").chmod(0o644)
    with open_store("", NOW):
        pass
    assert stat.S_IMODE((tmp_path / "memory").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "memory" / "memory.db").stat().st_mode) == 0o600


def test_a_folder_or_a_pipe_in_place_of_the_file_is_an_error(file: Path) -> None:
    file.mkdir(parents=True)
    with pytest.raises(TransientError, match=r"the memory store fails|cannot be"), open_store(url(file), NOW):
        pass
    file.rmdir()
    os.mkfifo(file)
    with pytest.raises(TransientError, match=r"the memory store fails|cannot be"), open_store(url(file), NOW):
        pass


@pytest.mark.parametrize(
    "wrong", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///relative.db", "sqlite:////tmp/a.db?mode=ro"]
)
def test_a_url_without_an_absolute_path_is_refused(wrong: str) -> None:
    with pytest.raises(TransientError, match="is not the URL of a file"), open_store(wrong, NOW):
        pass


def test_a_forgotten_entry_is_erased_from_all_files(file: Path) -> None:
    said = "The swordfish eats every tunafish"
    with open_store(url(file), NOW) as store:
        with store.change() as change:
            change.put_lesson(lesson("gone", said, detail="a pufferfish " * 50, tests=("tests/test_jellyfish.py::test_sting",)))
            change.put_guardrail(guardrail("rail", instruction="Feed the monkfish"))
        for number in range(20):
            with store.change() as change:
                change.put_lesson(lesson(f"n{number}", f"Glaze{number} needs a kiln"))
    with open_store(url(file), NOW) as store, store.change() as change:
        assert change.forget("gone")
        assert change.forget("rail")
    held = {one.name: one.read_bytes() for one in file.parent.iterdir() if ".backup-" not in one.name}
    assert b"kiln" in held["memory.db"]
    fish = (b"swordfish", b"tunafish", b"pufferfish", b"jellyfish", b"monkfish")
    assert not [(name, word) for name, content in held.items() for word in fish if word in content]
