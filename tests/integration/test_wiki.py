"""The wiki in real repositories: created, updated, archived once, copied into the worktree."""

import os
import stat
from pathlib import Path

import pytest

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.memory.wiki import BEGIN, CONSTRAINTS, END, INDEX, ITERATIONS, MAP, SPEC, SUMMARY
from helmsman.records.iteration import Choice, WorkingMemory
from helmsman.records.state import LoopState
from tasks.loop.prepare import prepare
from tasks.loop.wiki import copy_wiki, update_wiki, wiki_folder
from tasks.repository.state_ref import replace_state
from tasks.repository.worktree import commit_turn, dirty_paths, remove_worktree
from tests.fakes.repositories import LOOP, NOW, LoopWork, commit, make_repository, record_of, shell, start_loop
from tests.unit.builders import STOP

pytestmark = pytest.mark.feature("L8")
FILES = {
    "AGENTS.md": "Never edit generated files.\n\n- `src/`: all of the source\n",
    "src/parse/__init__.py": '"""Turns text into trees."""\n',
}


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    return start_loop(make_repository(tmp_path / "top", FILES), tmp_path / "tree")


def with_wiki(state: LoopState, **changes: object) -> LoopState:
    config = LoopConfig.model_validate({**state.config.model_dump(), "memory": {"wiki": True}})
    return state.model_copy(update={"config": config, **changes})


def completed(work: LoopWork, *choices: str) -> LoopState:
    """The loop after two iterations, completed by the last one."""
    memory = WorkingMemory(decisions=tuple(Choice(chose=choice) for choice in choices or ("A table",)))
    state = work.state
    for number in (1, 2):
        after = state.model_copy(update={"iteration": number})
        replace_state(work.repository, state, after, f"iteration {number}", record_of(state, number))
        state = after
    return with_wiki(state, memory=memory, ending=STOP)


def wiki(work: LoopWork) -> Path:
    return wiki_folder(work.repository)


def pages_of(work: LoopWork) -> dict[str, bytes]:
    """Pages that are kept up to date."""
    return {name: text for name, text in files_of(wiki(work)).items() if "/" not in name}


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- pages --------------------------------------------------------------------------------------------------------


def test_it_is_next_to_the_loops_and_generated_from_the_project(work: LoopWork) -> None:
    update_wiki(work.context, completed(work))
    assert wiki(work) == work.repository.common / "helmsman" / "wiki"
    pages = pages_of(work)
    assert set(pages) == {INDEX, SPEC, MAP, CONSTRAINTS}
    assert b"> make it work" in pages[SPEC]
    assert b"- `src/parse/` (1 file)\n" in pages[MAP]
    assert b"- `src/` (1 file)\n" in pages[MAP]
    assert b"> - MUST NOT: Never edit generated files. (line 1)" in pages[CONSTRAINTS]


def test_without_the_setting_nothing_is_written(work: LoopWork) -> None:
    state = work.state.model_copy(update={"ending": STOP})
    update_wiki(work.context, state)
    copy_wiki(work.context, state)
    assert not wiki(work).exists()
    assert not (work.path / ".helmsman").exists()


def test_a_persons_edits_stay_and_our_parts_are_regenerated(work: LoopWork) -> None:
    state = completed(work)
    update_wiki(work.context, state)
    page = wiki(work) / MAP
    page.write_text("# Our map\n\nMine.\n" + page.read_text()[page.read_text().index(BEGIN) :] + "\nMine too.\n")
    (wiki(work) / SPEC).write_text("All of it is mine.\n")
    (wiki(work) / "mine.md").write_text("Mine.\n")
    (wiki(work) / CONSTRAINTS).chmod(0o400)
    head = commit(work.path, "more", {"web/package.json": "{}", "AGENTS.md": "Never write tests last.\n"})
    update_wiki(work.context, state.model_copy(update={"head": head}))
    assert (wiki(work) / SPEC).read_text() == "All of it is mine.\n"
    assert page.read_text().startswith("# Our map\n\nMine.\n" + BEGIN)
    assert page.read_text().endswith(END + "\n\nMine too.\n")
    assert "`web/`" in page.read_text()
    assert "tests last" in (wiki(work) / CONSTRAINTS).read_text()


def test_an_unreadable_page_is_reported_and_left(work: LoopWork) -> None:
    state = completed(work)
    update_wiki(work.context, state)
    (wiki(work) / INDEX).write_bytes(b"\xff\n")
    with pytest.raises(OperatorError, match="not UTF-8"):
        update_wiki(work.context, state)
    assert (wiki(work) / INDEX).read_bytes() == b"\xff\n"


def test_no_secret_gets_into_the_wiki(work: LoopWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "s3cr3t-of-the-shop")
    head = commit(work.path, "leak", {"s3cr3t-of-the-shop/README.md": "It is here.\n"})
    state = completed(work, "s3cr3t-of-the-shop as it is").model_copy(update={"head": head})
    update_wiki(work.context, state)
    assert not any(b"s3cr3t" in content for content in files_of(wiki(work)).values())
    assert "[SHOP_TOKEN]" in (wiki(work) / MAP).read_text()


def test_names_with_invalid_utf_8_or_line_breaks_are_harmless(work: LoopWork) -> None:
    (work.path / os.fsdecode(b"\xff")).mkdir()
    (work.path / os.fsdecode(b"\xff") / "README.md").write_text("x")
    head = commit(work.path, "odd", {"a\nb/README.md": "Odd.\n", "-x/README.md": "Dashed.\n", ":(top)/README.md": ""})
    update_wiki(work.context, completed(work).model_copy(update={"head": head}))
    assert "- `-x/` (1 file)\n" in (wiki(work) / MAP).read_text()


# --- archives -----------------------------------------------------------------------------------------------------


def test_a_completed_loop_is_archived_once_with_its_decisions_and_found_in_the_index(work: LoopWork) -> None:
    state = completed(work, "A table", "One file")
    name = f"{LOOP}-{state.uid[:8]}"
    update_wiki(work.context, state)
    pages = files_of(wiki(work))
    assert set(pages) - {INDEX, SPEC, MAP, CONSTRAINTS} == {
        *(f"loops/{name}/{SUMMARY}", f"loops/{name}/{ITERATIONS}", f"decisions/{name}.md"),
    }
    assert stat.S_IMODE((wiki(work) / "loops" / name / SUMMARY).stat().st_mode) == 0o444
    assert b"## Iteration 1\n" in pages[f"loops/{name}/{ITERATIONS}"]
    assert f"[{name}](loops/{name}/{SUMMARY})\n" in pages[INDEX].decode()
    assert f"[{name}](decisions/{name}.md)" in pages[INDEX].decode()
    update_wiki(work.context, state.model_copy(update={"iteration": 7}))
    assert files_of(wiki(work)) == pages


def test_an_archive_is_never_written_again(work: LoopWork) -> None:
    state = completed(work)
    update_wiki(work.context, state)
    (wiki(work) / "loops" / f"{LOOP}-{state.uid[:8]}" / ITERATIONS).unlink()
    before = files_of(wiki(work))
    update_wiki(work.context, state)
    assert files_of(wiki(work)) == before


def test_a_crash_between_archive_and_index_is_recovered_without_the_worktree(work: LoopWork) -> None:
    state = completed(work)
    update_wiki(work.context, state)
    whole = files_of(wiki(work))
    (wiki(work) / INDEX).unlink()
    remove_worktree(work.repository, work.path)
    update_wiki(work.context, state)
    assert files_of(wiki(work)) == whole


def test_a_later_loop_of_the_same_name_has_its_own_archive(work: LoopWork) -> None:
    first = completed(work)
    update_wiki(work.context, first)
    update_wiki(work.context, first.model_copy(update={"uid": "another0uid"}))
    index = (wiki(work) / INDEX).read_text()
    assert f"(loops/{LOOP}-{first.uid[:8]}/{SUMMARY})" in index
    assert f"(loops/{LOOP}-another0/{SUMMARY})" in index


# --- for an agent -------------------------------------------------------------------------------------------------


def test_the_agent_gets_a_read_only_copy_that_is_never_committed(work: LoopWork) -> None:
    state = completed(work)
    prepare(work.context, state, NOW)
    update_wiki(work.context, state)
    copy_wiki(work.context, state)
    laid = work.path / ".helmsman" / "wiki"
    copied = files_of(laid)
    assert copied.pop(".gitignore") == b"*\n"
    assert copied == files_of(wiki(work))
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o444 for path in laid.rglob("*.md"))
    assert dirty_paths(work.path) == ()
    work.sh("add", "--all", ".")
    assert work.sh("status", "--porcelain") == ""
    assert not commit_turn(work.repository, work.path, state, work.start).leftovers_committed
    copy_wiki(work.context, state)
    remove_worktree(work.repository, work.path)
    assert not work.path.exists()


LAID = {
    "a link": "mkdir .helmsman; ln -s {outside} .helmsman/wiki",
    "a link above": "ln -s {outside} .helmsman",
    "read only": "mkdir -p .helmsman/wiki/loops; cd .helmsman/wiki/loops; ln -s {outside} x; chmod 500 .",
}


@pytest.mark.parametrize("deed", LAID)
def test_an_agents_files_in_it_are_replaced_and_nothing_outside_is_touched(work: LoopWork, tmp_path: Path, deed: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious.md").write_text("x")
    state = completed(work)
    update_wiki(work.context, state)
    shell(work.path, LAID[deed].format(outside=tmp_path / "outside"))
    prepare(work.context, state, NOW)
    assert files_of(tmp_path / "outside") == {"precious.md": b"x"}
    laid = work.path / ".helmsman" / "wiki"
    assert not laid.is_symlink()
    assert not laid.parent.is_symlink()
    assert files_of(laid).keys() == {".gitignore", *files_of(wiki(work))}


def test_links_are_not_copied_and_the_copy_is_bounded(work: LoopWork) -> None:
    state = completed(work)
    update_wiki(work.context, state)
    (wiki(work) / "link.md").symlink_to("/etc/hostname")
    for number in range(10):
        (wiki(work) / f"mine-{number}.md").write_text("x" * 200_000)
    prepare(work.context, state, NOW)
    laid = files_of(work.path / ".helmsman" / "wiki")
    assert INDEX in laid
    assert "link.md" not in laid
    assert sum(map(len, laid.values())) <= 1_000_010
