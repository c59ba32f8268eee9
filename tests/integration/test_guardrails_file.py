"""guardrails.md on a real disk: no edit is overwritten, and anything but a regular file is left unchanged."""

from collections.abc import Callable
from pathlib import Path

import pytest

from helmsman.memory.guardrails_page import render
from helmsman.records.lessons import Guardrail
from tasks.memory import guardrails_path, open_store, write_guardrails
from tasks.memory.guardrails_file import ReadFile, read_edits, write
from tasks.repository.git import git, open_repository
from tests.fakes.repositories import shell
from tests.unit.builders import NOW
from tests.unit.guardrail_cases import LINT, PROJECT, guardrail

pytestmark = [pytest.mark.feature("L5"), pytest.mark.feature("H7")]

ONE = guardrail(trigger="When a test fails", instruction="Read it first.")
TWO = guardrail(id="g0000000b", failure=LINT, instruction="Run the formatter.")
KNOWN = (ONE, TWO)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "git" / "helmsman" / "guardrails.md"


@pytest.fixture
def written(path: Path) -> Path:
    """The file with both guardrails."""
    assert write(path, render(KNOWN), seen(path))
    return path


def seen(path: Path, known: tuple[Guardrail, ...] = KNOWN) -> ReadFile:
    return read_edits(path, known, PROJECT, NOW)


def others(path: Path) -> list[str]:
    """Other files in its folder after another read."""
    seen(path)
    return sorted(entry.name for entry in path.parent.iterdir() if entry.name != path.name)


def test_it_is_in_the_common_folder_of_all_worktrees_and_never_committed(tmp_path: Path) -> None:
    main, tree = tmp_path / "main", tmp_path / "tree"
    git(tmp_path, "init", "-q", str(main))
    git(main, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "start")
    git(main, "worktree", "add", "-q", str(tree))
    place = guardrails_path(open_repository(tree))
    assert place == guardrails_path(open_repository(main))
    write(place, render(KNOWN), seen(place))
    assert place.is_file()
    assert git(main, "status", "--porcelain") == git(tree, "status", "--porcelain") == ""


def test_a_missing_file_has_no_edits_and_is_created_with_its_folder(path: Path) -> None:
    found = seen(path)
    assert found == ReadFile()
    assert not path.parent.exists()
    assert write(path, render(KNOWN), found)
    assert path.read_text(encoding="utf-8") == render(KNOWN)
    assert others(path) == []


def in_place(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("## Mine\n\nMind the gap.\n")


def by_rename(path: Path) -> None:
    other = path.with_name("edited")
    other.write_text(render(KNOWN) + "## Mine\n\nMind the gap.\n", encoding="utf-8")
    other.replace(path)


@pytest.mark.parametrize("save", [in_place, by_rename, Path.unlink])
def test_an_edit_between_reading_and_writing_is_not_overwritten(written: Path, save: Callable[[Path], None]) -> None:
    before = seen(written)
    save(written)
    text = written.read_text(encoding="utf-8") if written.exists() else None
    with pytest.raises(OSError, match="it changed after it was read"):
        write(written, render((ONE,)), before)
    assert (written.read_text(encoding="utf-8") if written.exists() else None) == text
    assert others(written) == []


def test_a_file_created_between_is_not_overwritten(path: Path) -> None:
    before = seen(path)
    path.parent.mkdir(parents=True)
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(OSError, match="it changed after it was read"):
        write(path, render(KNOWN), before)
    assert path.read_text(encoding="utf-8") == "mine"


A_LINK = "printf theirs > elsewhere.md; ln -s elsewhere.md guardrails.md"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (A_LINK, "is a link"),
        ("mkfifo guardrails.md", "something else than a file"),
        ("printf '\\377\\376# Guardrails' > guardrails.md", "can't decode byte 0xff"),
        ("(echo '# Guardrails'; head -c 200000 /dev/zero | tr '\\0' x) > guardrails.md", "it is longer than 200,000 characters"),
    ],
)
def test_anything_but_our_file_is_left_unchanged_with_a_warning(path: Path, make: str, why: str) -> None:
    path.parent.mkdir(parents=True)
    shell(path.parent, make)
    before = (path.lstat().st_ino, path.lstat().st_size)
    if why.startswith("it is longer"):
        assert seen(path).edits.broken
        assert why in seen(path).edits.problems[0]
    else:
        with pytest.raises((OSError, UnicodeDecodeError), match=why):
            seen(path)
    assert (path.lstat().st_ino, path.lstat().st_size) == before


def test_a_link_created_after_reading_is_not_followed(written: Path) -> None:
    before = seen(written)
    written.unlink()
    shell(written.parent, A_LINK)
    with pytest.raises(OSError, match="it is a link"):
        write(written, render((ONE,)), before)
    assert written.with_name("elsewhere.md").read_text(encoding="utf-8") == "theirs"


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path, path: Path) -> None:
    path.parent.parent.mkdir(parents=True)
    (tmp_path / "other").mkdir()
    path.parent.symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="is a link"):
        seen(path)
    with pytest.raises(OSError, match="is a link"):
        write(path, render(KNOWN), ReadFile())
    assert not list((tmp_path / "other").iterdir())


def test_line_endings_and_bom_of_other_systems_are_read(written: Path) -> None:
    text = written.read_text(encoding="utf-8").replace("Read it first.", "Read it twice.").replace("\n", "\r\n")
    written.write_bytes(b"\xef\xbb\xbf" + text.encode())
    found = seen(written)
    assert [one.instruction for one in found.edits.changed] == ["Read it twice."]
    assert write(written, render(found.edits.guardrails), found)


def test_a_file_with_an_invalid_edit_is_written_once_it_is_fixed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "main")
    git(tmp_path / "main", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "start")
    repository = open_repository(tmp_path / "main")
    file = guardrails_path(repository)
    with open_store(f"sqlite:///{tmp_path / 'memory.db'}", NOW) as store:
        with store.change() as change:
            change.put_guardrail(ONE)
        write_guardrails(repository, store, PROJECT, NOW)
        broken = file.read_text().replace("Read it first.", "Read it twice.") + "## Mine\n"
        file.write_text(broken)
        with store.change() as change:
            change.put_guardrail(TWO)
        write_guardrails(repository, store, PROJECT, NOW)
        assert file.read_text() == broken
        assert [one.instruction for one in store.guardrails(PROJECT)] == ["Read it twice.", "Run the formatter."]
        file.write_text(f"{broken}\nMind the gap.\n")
        write_guardrails(repository, store, PROJECT, NOW)
        (mine,) = (one for one in store.guardrails(PROJECT) if one.by == "person")
        assert [line for line in file.read_text().splitlines() if line.startswith("## ")] == [
            "## When a test fails <!-- g:0000000a -->",
            f"## Mine <!-- g:{mine.id[1:]} -->",
            "## Always <!-- g:0000000b -->",
        ]


def test_problems_are_reported_with_their_line(written: Path) -> None:
    in_place(written)
    written.write_text(written.read_text(encoding="utf-8").replace("Mind the gap.", ""), encoding="utf-8")
    (problem,) = seen(written).edits.problems
    assert problem.startswith("line ")
    assert "there is no text below it" in problem
