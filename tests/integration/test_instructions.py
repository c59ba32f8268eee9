"""Reading the orders that a loop is under from its worktree."""

import os
from pathlib import Path

import pytest

from tasks.loop.oversee import LARGEST_FILE, MOST_FILES, read_instructions
from tests.unit.builders import config

pytestmark = pytest.mark.feature("S11")


def write(folder: Path, name: str, text: str | bytes = "Never push.\n") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def sources(folder: Path, goal: str = "It works.") -> list[str]:
    return list(dict.fromkeys(order.source for order in read_instructions(folder, config(goal))))


def test_orders_come_from_goal_criteria_rubric_guides_guard_rails_specifications_and_named_documents(tmp_path: Path) -> None:
    for name in ("RUBRIC.md", "AGENTS.md", "CLAUDE.md", ".helmsman/guardrails.md", "specs/b.md", "specs/a.md", "docs/plan.md"):
        write(tmp_path, name)
    write(tmp_path, "docs/other.md")
    of = config("Implement docs/plan.md.", judge={"criteria": [{"id": "c1", "text": "Every route must answer."}]})
    assert [(order.source, order.line) for order in read_instructions(tmp_path, of)] == [
        ("goal", 1),
        ("criteria c1", 1),
        *((name, 1) for name in ("RUBRIC.md", "AGENTS.md", "CLAUDE.md", ".helmsman/guardrails.md", "docs/plan.md")),
        *((name, 1) for name in ("specs/a.md", "specs/b.md")),
    ]


def test_links_that_leave_the_worktree_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "outside/AGENTS.md")
    write(tmp_path, "inside/real.md")
    (tmp_path / "inside/AGENTS.md").symlink_to("../outside/AGENTS.md")
    (tmp_path / "inside/CLAUDE.md").symlink_to("real.md")
    (tmp_path / "inside/RUBRIC.md").symlink_to("RUBRIC.md")
    (tmp_path / "inside/specs").symlink_to("../outside")
    (tmp_path / "inside/sub").symlink_to("../outside")
    assert sources(tmp_path / "inside", "It is as ../outside/AGENTS.md says.") == ["CLAUDE.md"]


def test_one_file_under_two_names_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, "AGENTS.md")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    assert sources(tmp_path) == ["AGENTS.md"]


def test_broken_text_pipes_and_folders_are_no_trouble(tmp_path: Path) -> None:
    write(tmp_path, "AGENTS.md", b"\xff\xfe Never push.\n- Never pull.\n\x00")
    os.mkfifo(tmp_path / "RUBRIC.md")
    (tmp_path / "CLAUDE.md").mkdir()
    assert sources(tmp_path) == ["AGENTS.md"]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    write(tmp_path, "AGENTS.md", b"\xef\xbb\xbfNever push.\n")
    assert [order.text for order in read_instructions(tmp_path, config("It works."))] == ["Never push."]


def test_files_and_their_sizes_are_bounded(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 20):
        write(tmp_path, f"specs/{number:03}.md")
    write(tmp_path, "AGENTS.md", "x" * LARGEST_FILE + "\n\nNever push.\n")
    found = sources(tmp_path)
    assert len(found) == MOST_FILES - 1
    assert "AGENTS.md" not in found
