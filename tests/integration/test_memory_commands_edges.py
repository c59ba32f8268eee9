"""Functions of `helmsman memory` with secrets, slow readers, damaged files and long lists."""

import io
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deployments.memory import export_to, forget
from deployments.start_directory import start_directory
from tasks.memory import guardrails_path, open_store, project_id, write_guardrails
from tasks.repository.git import open_repository
from tests.fakes.postgres import Postgres
from tests.fakes.repositories import make_repository
from tests.integration.memory_bench import FIRST, TESTED, fill
from tests.integration.memory_stores import DAY, NOW, guardrail

pytestmark = pytest.mark.feature("L6")

SECRET = "hunter2-but-longer"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """URL of the store that the commands open."""
    url = f"sqlite:///{tmp_path / 'memory' / 'memory.db'}"
    monkeypatch.setenv("HELMSMAN_MEMORY_URL", url)
    monkeypatch.chdir(tmp_path)
    return url


@pytest.mark.feature("X3")
def test_a_persons_edits_are_stored_without_secrets(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
    make_repository(tmp_path / "repository", {})
    repository = open_repository(tmp_path / "repository")
    project = project_id(repository)
    gone = TESTED.model_copy(update={"project": project})
    fill(url, gone, guardrail("g2", project=project, instruction="Ask first"))
    with open_store(url, NOW) as store:
        write_guardrails(repository, store, project, NOW)
        file = guardrails_path(repository)
        file.write_text(file.read_text().replace("Ask first", f"Ask with {SECRET} first"))
        write_guardrails(repository, store, project, NOW)
        kept = next(one for one in store.guardrails(project) if one.id != gone.id)
    assert kept.edited
    assert kept.instruction.startswith("Ask with ")
    assert SECRET not in kept.model_dump_json()


def test_forget_names_damaged_files_that_may_still_contain_the_entry(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(url.removeprefix("sqlite:///"))
    for day in (0, 1):
        fill(url, FIRST)
        file.write_bytes(b"\0" * 5000)
        with open_store(url, NOW + day * DAY):
            pass
    fill(url, FIRST)
    file.with_name("memory.db.damaged-20261122T100000-wal").write_bytes(b"of the first")
    forget(start_directory(), "s1", yes=True, as_json=False)
    names = "memory.db.damaged-20261123T100000, memory.db.damaged-20261122T100000"
    assert f"damaged files of the store that may hold it still, beside it: {names}\n" in capsys.readouterr().err


class Reading(io.RawIOBase):
    """Calls a function at each write."""

    def __init__(self, ask: Callable[[], str]) -> None:
        """Nothing was given yet."""
        self._ask, self.answers, self.text = ask, list[str](), ""

    def writable(self) -> bool:
        return True

    def write(self, given: Any, /) -> int:
        self.answers.append(self._ask())
        self.text += bytes(given).decode()
        return len(bytes(given))


def test_a_slow_reader_of_an_export_keeps_no_transaction_open(
    postgres: Postgres, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(postgres_url, FIRST)
    monkeypatch.setenv("HELMSMAN_MEMORY_URL", postgres_url)
    monkeypatch.chdir(tmp_path)
    name = postgres_url.rpartition("/")[2]
    open_ones = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND state LIKE 'idle in transaction%'"
    reading = Reading(lambda: postgres.sql("postgres", open_ones))
    with closing(io.TextIOWrapper(io.BufferedWriter(reading, 16))) as output, monkeypatch.context() as here:
        here.setattr("sys.stdout", output)
        export_to(start_directory(), Path("-"), force=False, as_json=False)
    assert '"sha256":' in reading.text
    assert set(reading.answers) == {"0"}
