"""`helmsman memory` and its store: which store is used, export and import, secrets, slow readers, full disks and long lists."""

import io
import json
import os
import stat
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deployments.memory import export_to, forget
from deployments.start_directory import start_directory
from tasks.memory import guardrails_path, open_store, project_id, write_guardrails
from tasks.repository.git import open_repository
from tests.fakes.command_line import HELMSMAN, RESULT_KEYS, CommandLine, read_object
from tests.fakes.postgres import Postgres
from tests.fakes.repositories import make_repository
from tests.integration.memory_bench import EVIL, FIRST, TESTED, MemoryBench, bench, fill, ids, project
from tests.integration.memory_stores import DAY, NOW, episode, guardrail, lesson, summary

pytestmark = pytest.mark.feature("L6")

__all__ = ["bench", "project"]


# --- export and import --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_export_is_imported_elsewhere_without_loss(bench: MemoryBench, tmp_path: Path) -> None:
    fill(bench.url, FIRST, lesson("gone", retired="useless"), TESTED, episode(1), summary("u1"))
    written = bench.plain("export", "memory.json")
    file = bench.helmsman.folder / "memory.json"
    document = json.loads(file.read_text())
    assert (written["file"], written["sha256"], document["version"]) == (str(file), document["sha256"], 1)
    assert (stat.S_IMODE(file.stat().st_mode), file.stat().st_size) == (0o600, written["bytes"])
    there = MemoryBench(
        CommandLine(bench.helmsman.folder, {**bench.helmsman.variables, "HELMSMAN_HOME": str(tmp_path / "there")})
    )
    told = there.tell("import", "memory.json").output.splitlines()
    assert told[0].split()[:3] == ["lessons", "2", "added,"]
    assert there.plain("list", "--retired") == bench.plain("list", "--retired")
    assert there.plain("import", "memory.json")["episodes"] == {"added": 0, "replaced": 0, "kept": 1}


# --- which store, and whether it works ----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_variable_wins_over_the_configuration_and_that_over_the_file_of_this_user(bench: MemoryBench, project: str) -> None:
    stores = {name: f"sqlite:///{bench.helmsman.folder}/{name}.db" for name in ("variable", "configured", "environment")}
    for name, url in stores.items():
        fill(url, lesson(name, project=project))
    bench.helmsman.operator_sets(f'memory.url = "{stores["configured"]}"\n')
    at = ("list", "--repo", bench.helmsman.repository)
    told = {
        "configured": bench.tell(*at),
        "environment": bench.tell("list", HELMSMAN_MEMORY__URL=stores["environment"]),
        "variable": bench.tell(*at, HELMSMAN_MEMORY_URL=stores["variable"]),
    }
    assert {name: ids(one.output.splitlines()) for name, one in told.items()} == {name: [name] for name in told}


MISTAKES = {
    "a folder that is not there": (("list", "--repo", "nowhere"), ("nowhere", "--repo DIR")),
    "a project that is none": (("list", "--project", "home"), ("not a git repository", "home")),
    "an unknown kind": (("list", "--kind", "rule"), ("--kind", "strategy, antipattern, convention, guardrail", "'rule'")),
    "a type of guardrails": (("list", "--kind", "guardrail", "--type", "docs"), ("no task type", "omit --type")),
    "a blank search": (("search", " "), ("the query is empty", "give a few words")),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_reported_with_the_value_and_the_remedy(what: str, bench: MemoryBench) -> None:
    arguments, words = MISTAKES[what]
    told = bench.tell(*arguments, "--json", code=2)
    assert told.errors.startswith("operator error: ")
    assert not [word for word in words if word not in told.errors]
    assert set(read_object(told.output)) == RESULT_KEYS
    assert not bench.file.exists()


@pytest.mark.slow
@pytest.mark.parametrize("url", ["postgresql://me:sesame@127.0.0.1:1/none", "mysql://me:sesame@here/none"])
def test_a_store_that_cannot_be_opened_says_how_to_do_without_and_never_a_password(url: str, bench: MemoryBench) -> None:
    told = bench.tell("stats", "--json", code=1, HELMSMAN_MEMORY_URL=url)
    assert told.errors.startswith("world error: ")
    assert not [word for word in ("expected:", "found:", "what to do:") if word not in told.errors]
    assert read_object(told.output)["rule"] == "error.world"
    assert "sesame" not in told.errors + told.output


# --- foreign text and readers that go -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.feature("X3")
def test_untrusted_text_is_printed_without_control_characters(bench: MemoryBench) -> None:
    words: dict[str, Any] = {"text": EVIL, "detail": EVIL, "tests": (EVIL,), "sources": (EVIL,), "retired": EVIL}
    rail = {"trigger": EVIL, "instruction": EVIL, "origin": EVIL}
    fill(bench.url, lesson("l1", project=EVIL, **words), lesson("l2", text=EVIL), guardrail("g1", project=EVIL, **rail))
    for looked in (("list", "--retired"), ("search", "good"), ("show", "l1"), ("show", "g1"), ("stats",), ("forget", "g1")):
        told = bench.tell(*looked)
        assert "good" in told.output or looked[0] == "stats"
        assert not {character for character in told.output + told.errors if not character.isprintable()} - {"\n"}


@pytest.mark.slow
@pytest.mark.parametrize("command", [("list",), ("export", "-")], ids=" ".join)
def test_a_closed_pipe_is_not_an_error(command: tuple[str, ...], bench: MemoryBench) -> None:
    fill(bench.url, *(lesson(f"l{number}", "word " * 100) for number in range(400)))
    ours, theirs = os.pipe()
    os.close(ours)
    ended = subprocess.run(
        [HELMSMAN, "memory", *command],
        cwd=bench.helmsman.folder,
        env=bench.helmsman.variables,
        stdout=theirs,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(theirs)
    assert (ended.returncode, ended.stderr) == (0, b"")


SECRET = "hunter2-but-longer"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of the store that the commands open."""
    url = f"sqlite:///{tmp_path / 'memory' / 'memory.db'}"
    monkeypatch.setenv("HELMSMAN_MEMORY_URL", url)
    monkeypatch.chdir(tmp_path)
    return url


@pytest.mark.feature("X3")
def test_a_concurrent_edit_by_a_person_is_kept_without_secrets(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
    make_repository(tmp_path / "repository")
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


def test_forget_reports_damaged_files_that_may_still_contain_the_entry(url: str, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert f"damaged store files that may still contain it: {names}\n" in capsys.readouterr().err


class Reading(io.RawIOBase):
    """Asks something at whatever it is given."""

    def __init__(self, ask: Callable[[], str]) -> None:
        """Nothing was given yet."""
        self._ask, self.answers, self.text = ask, list[str](), ""

    def writable(self) -> bool:
        return True

    def write(self, given: Any, /) -> int:
        self.answers.append(self._ask())
        self.text += bytes(given).decode()
        return len(bytes(given))


def test_while_somebody_reads_an_export_page_by_page_no_transaction_of_the_server_is_open(
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
