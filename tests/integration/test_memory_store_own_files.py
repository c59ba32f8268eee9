"""Files of the SQLite store: their modes and location, and erasure of deleted entries."""

import os
import stat
from pathlib import Path

import pytest

from helmsman.errors import TransientError
from tasks.memory import open_store
from tests.integration.memory_stores import NOW, guardrail, lesson

pytestmark = pytest.mark.feature("L6")


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
