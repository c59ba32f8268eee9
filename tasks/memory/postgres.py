"""Store on a PostgreSQL server, for a team."""

from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import URL, Connection, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError

from helmsman.errors import TransientError
from helmsman.plain import clean
from tasks.memory.store import Store, reporting_faults

DRIVER = "postgresql+psycopg"
KNOWN = ("postgresql", "postgres", DRIVER)
WRITERS = 0x48454C4D  # advisory lock for all writers of a database: they read, merge and write lessons in one step
SETTINGS = {
    "connect_timeout": 5,  # an unreachable server must not block a loop
    "application_name": "helmsman memory",
    "keepalives_idle": 30,
    "client_encoding": "UTF8",
    "options": "-c statement_timeout=60s -c lock_timeout=30s -c idle_in_transaction_session_timeout=60s",
}
_SIZE = text(
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
    "WHERE c.relkind = 'r' AND c.relname LIKE 'helmsman\\_%' AND pg_table_is_visible(c.oid)"
)


class PostgresServer(Store):
    """Store in the database of a URL."""

    def __init__(self, url: str) -> None:
        """Configure the engine; connects on first use. Raises TransientError for an invalid URL."""
        parsed = _parse_url(url)
        self._secret = str(parsed.password or parsed.query.get("password") or "")
        shown = parsed.set(drivername="postgresql", query={})  # without password, and options, which may contain one
        self.place = clean(shown.render_as_string(hide_password=True))
        settings = {name: value for name, value in SETTINGS.items() if name not in parsed.query}
        theirs = parsed.normalized_query.get("options", ())
        settings["options"] = " ".join((str(SETTINGS["options"]), *theirs))  # the last of duplicates applies
        pool = {"pool_size": 1, "max_overflow": 4, "pool_pre_ping": True}
        with reporting_faults(
            self.place, self._secret
        ):  # a writer sees the changes of the previous one, whatever the server's default is
            self._engine = create_engine(parsed, connect_args=settings, isolation_level="READ COMMITTED", **pool)
        self._autocommit = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._read_only = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @contextmanager
    def reading(self) -> Generator[Connection]:
        with reporting_faults(self.place, self._secret), self._autocommit.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Generator[Connection]:
        with reporting_faults(self.place, self._secret), self._read_only.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection]:
        with reporting_faults(self.place, self._secret), self._engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:writers)"), {"writers": WRITERS})
            yield connection

    def files(self) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
        with self.reading() as connection:
            return int(connection.scalar(_SIZE) or 0), (), ()


def _parse_url(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # their messages may contain the password
        parsed = None
    # "@": the rest of an unquoted password
    if parsed is None or parsed.drivername not in KNOWN or "@" in f"{parsed.host}{parsed.database}":
        raise TransientError(
            "memory.url is not the URL of a store",
            expected="postgresql://user@host/database, sqlite:////folder/memory.db, or nothing",
            found=f"a URL of {clean(parsed.drivername)}" if parsed else "something that is not a URL",
            remedy="correct HELMSMAN_MEMORY_URL, or memory.url, and write @ : / ? # in a password as %40 %3A %2F %3F %23",
        )
    return parsed.set(drivername=DRIVER)
