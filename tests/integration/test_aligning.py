"""Aligning in real repositories: what is read of them, how a model is asked, what becomes of the file, when a loop may start."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deployments.align import align_goal
from helmsman.config.layers import Layer
from helmsman.errors import Cancelled, OperatorError
from helmsman.parsers.alignment_file import render
from helmsman.records.alignment import ALIGNMENT, Alignment, AlignmentQuestion, AlignRequest
from tasks.alignment.aligning import Work, attempt_id, configure_alignment, current_alignment, replace_alignment
from tasks.alignment.run import UnansweredError, final_state
from tasks.checks.project import LONGEST_TEXT, MOST_NAMES, gather_facts
from tasks.loop.alignment_file import (
    align_folder,
    align_name,
    goal_layer,
    read_alignment,
    refuse_open_questions,
    with_alignment,
    write_alignment,
)
from tasks.repository.git import Repository, open_repository
from tests.fakes.repositories import commit, make_repository, sh, write
from tests.unit.builders import config
from tests.unit.test_alignment import GOAL

pytestmark = [pytest.mark.feature("M1"), pytest.mark.usefixtures("home")]
KEY = "sk-ant-a-secret-of-the-test"
OPEN = Alignment(
    goal=GOAL,
    deliverables=("a CSV export",),
    questions=(AlignmentQuestion(question="Which separator?"),),
)
DONE = OPEN.model_copy(update={"questions": (), "answered": (AlignmentQuestion(question="Which separator?", answer=";"),)})


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repository(
        tmp_path / "repository", {"README.md": "# A tool\n", "Makefile": "test:\n\ttrue\n", "src/a.py": "A = 1\n"}
    )


def opened(top: Path) -> Repository:
    return open_repository(top)


def work(top: Path, goal: str = GOAL, file: str = ALIGNMENT) -> Work:
    return Work(opened(top), config(goal), file, uid="u1", asks=False)


# --- what is read of a repository ---------------------------------------------------------------------------------


def test_the_last_commit_is_read_two_levels_deep_with_its_readme_its_commands_and_its_commits(top: Path) -> None:
    last = commit(top, "more", {"src/deep/er.py": "", "AGENTS.md": "Be brief.\n", "CLAUDE.md": "See AGENTS.md.\n"})
    write(top, {"uncommitted.py": ""})
    facts = gather_facts(opened(top), config(checks=("tox",), judge={"criteria": [{"id": "c1", "text": "It is fast."}]}))
    assert facts.commit == last
    assert facts.files == ("AGENTS.md", "CLAUDE.md", "Makefile", "README.md", "src/", "src/a.py", "src/deep/")
    assert (facts.left_out, facts.readme, facts.guides) == (0, "# A tool", "Be brief.\n\nSee AGENTS.md.")
    assert list(facts.commands) == ["make test"]
    assert facts.commits == ("more", "start")
    assert (facts.checks, facts.criteria) == (("tox",), ("It is fast.",))


def test_hostile_names_texts_and_sizes_are_bounded_and_made_harmless(top: Path) -> None:
    (top / "README.md").unlink()
    (top / "README.md").symlink_to("/etc/hostname")
    odd = {
        "-x/a": "",
        "--output=pwned/a": "",
        ":(top)b/a": "",
        "a\nb": "",
        "a\x1b[2Jb": "",
        "AGENTS.md": "word \x1b[2J " * 100_000,
    }
    many = {f"many/{n:04d}": "" for n in range(MOST_NAMES)}
    (top / os.fsdecode(b"\xff.py")).write_text("")
    commit(top, "hostile\x1b[2J", {**odd, **many})
    facts = gather_facts(opened(top), config())
    assert (len(facts.files), facts.left_out > 0, facts.readme) == (MOST_NAMES, True, "")
    assert all(name.isprintable() for name in (*facts.files, *facts.commits))
    assert len(facts.guides) <= LONGEST_TEXT
    assert not (top / "pwned").exists()


def test_a_secret_in_the_repository_is_not_shown_to_a_model(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    commit(top, f"use {KEY}", {"README.md": f"key = {KEY}\n", KEY: ""})
    assert KEY not in gather_facts(opened(top), config()).model_dump_json()


# --- asking a model -----------------------------------------------------------------------------------------------


# --- the file -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("private_umask")
def test_the_file_is_written_atomically_and_read_back(top: Path) -> None:
    assert replace_alignment(work(top, file="docs/plan/A.md"), OPEN, over=None) is None
    assert read_alignment(top / "docs/plan/A.md") == OPEN
    assert [path.name for path in (top / "docs/plan").iterdir()] == ["A.md"]
    assert (top / "docs/plan/A.md").stat().st_mode & 0o777 == 0o644


def test_a_concurrent_edit_is_backed_up_and_our_own_text_is_not(top: Path) -> None:
    replace_alignment(work(top), OPEN, over=None)
    assert replace_alignment(work(top), DONE, over=OPEN) is None
    edited = render(DONE).replace("a CSV export", "a TSV export")
    (top / ALIGNMENT).write_text(edited)
    kept = replace_alignment(work(top), DONE, over=DONE)
    assert kept is not None
    assert kept.read_text() == edited
    assert kept.is_relative_to(opened(top).common)
    assert sh(top, "status", "--porcelain") == f"?? {ALIGNMENT}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"# Plans\n", "is no alignment"),
        (b"# Alignment\n## Spec\n", "cannot be read"),
        (b"# Alignment\n\xff", "is not UTF-8"),
        (render(OPEN).replace("Export", "Import").encode(), "is about another goal"),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_left_as_it_is(top: Path, text: bytes, why: str) -> None:
    (top / ALIGNMENT).write_bytes(text)
    with pytest.raises(OperatorError, match=why):
        current_alignment(work(top))
    assert (top / ALIGNMENT).read_bytes() == text


def test_links_pipes_and_folders_are_no_alignment_files(top: Path, tmp_path: Path) -> None:
    write_alignment(tmp_path / "outside.md", OPEN)
    (top / "link.md").symlink_to(tmp_path / "outside.md")
    (top / "away").symlink_to(tmp_path)
    os.mkfifo(top / "pipe.md")
    (top / "round").symlink_to("round")
    for name in ("link.md", "away/outside.md", "pipe.md", "src", "round/x.md"):
        with pytest.raises(OperatorError, match=r"leads out of its repository|something else|cannot be read"):
            current_alignment(work(top, file=name))


@pytest.mark.parametrize("why", [Cancelled("enough"), UnansweredError("stopped by a person"), KeyboardInterrupt()])
def test_cancelling_while_the_file_is_written_is_no_error(top: Path, why: BaseException) -> None:
    write(top, {ALIGNMENT: "half a line that is no alig"})
    assert final_state(work(top), why).name in {"Cancelled", "Stopped"}
    with pytest.raises(OperatorError, match="is no alignment"):
        final_state(work(top))


def test_an_interrupted_attempt_resumes_under_its_id_and_another_goal_gets_a_new_one(top: Path) -> None:
    folder = align_folder(opened(top), ALIGNMENT)
    first = attempt_id(folder, GOAL)
    assert attempt_id(folder, "Export the\nrows as CSV") == first
    assert attempt_id(folder, "Something else") != first
    folder.attempt.write_text("[]")
    assert attempt_id(folder, GOAL) != first


def test_names_in_the_engine_differ_where_files_do() -> None:
    assert align_name("a-b.md") != align_name("a.b.md")
    assert align_name(ALIGNMENT).startswith("align-alignment-md-")


def test_a_goal_that_is_said_wins_over_the_files_and_the_files_over_the_configured(top: Path) -> None:
    write(top, {"helmsman.toml": 'goal = "configured"\n'})
    request = AlignRequest(repository=str(top))
    assert configure_alignment(request).goal == "configured"
    write_alignment(top / ALIGNMENT, OPEN)
    assert configure_alignment(request).goal == GOAL
    assert configure_alignment(request.model_copy(update={"goal": "said"})).goal == "said"
    write(top, {"goal.md": "x" * 50_001, "helmsman.toml": 'goal_file = "goal.md"\n'})
    with pytest.raises(OperatorError, match="too long for an alignment"):
        configure_alignment(AlignRequest(repository=str(top), out="another.md"))


# --- a loop that starts -------------------------------------------------------------------------------------------


def test_a_loop_does_not_start_while_a_question_is_open_and_lists_the_options(top: Path) -> None:
    write_alignment(top / ALIGNMENT, OPEN)
    with pytest.raises(OperatorError) as told:
        with_alignment(opened(top), config(GOAL))
    for part in (str(top / ALIGNMENT), "1 question ", "Which separator?", "helmsman align", "--set alignment="):
        assert part in str(told.value)


@pytest.mark.parametrize("text", [None, "# Alignment of our wheels\n"])
def test_a_repository_without_an_alignment_starts_loops_as_ever(top: Path, text: str | None) -> None:
    if text:
        (top / ALIGNMENT).write_text(text)
    assert with_alignment(opened(top), config(GOAL)) == config(GOAL)
    assert goal_layer(top, [Layer("a file", {})]) == []


@pytest.mark.parametrize(
    ("file", "why"),
    [("missing.md", "does not exist"), ("../x.md", "leads out of its"), ("README.md", "is no alignment")],
)
def test_a_file_that_was_named_has_to_be_one(top: Path, file: str, why: str) -> None:
    with pytest.raises(OperatorError, match=why):
        refuse_open_questions(opened(top), file)


def test_a_loop_without_a_goal_takes_it_from_the_file(top: Path) -> None:
    write_alignment(top / "A.md", DONE)
    assert goal_layer(top, [Layer("command line", {"alignment": "A.md"})]) == [Layer("A.md", {"goal": GOAL})]
    assert goal_layer(top, [Layer("command line", {"alignment": "A.md"}), Layer("a file", {"goal": "x"})]) == []


def test_a_bare_repository_has_no_alignment(top: Path, tmp_path: Path) -> None:
    sh(tmp_path, "clone", "--quiet", "--bare", str(top), "bare.git")
    assert refuse_open_questions(opened(tmp_path / "bare.git"), ALIGNMENT) is None


# --- the command, as far as it needs no engine --------------------------------------------------------------------


def command(top: Path, goal: str | None = None, out: str = ALIGNMENT, goal_file: Path | None = None) -> int:
    return align_goal(top, goal, goal_file, out, yes=True, as_json=True)


def test_questions_that_are_open_end_the_command_with_what_to_do(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_alignment(top / ALIGNMENT, OPEN)
    assert command(top) == 4
    told = json.loads(capsys.readouterr().out)
    assert (told["outcome"], told["questions"], told["goal"]) == ("questions", ["Which separator?"], GOAL)
    assert align_goal(top, None, None, ALIGNMENT, yes=True, as_json=False) == 4
    shown = capsys.readouterr().out
    assert "open       1 question" in shown
    assert "answer in ALIGNMENT.md, each question ticked with its answer below it, then: helmsman align --repo" in shown


def test_an_alignment_that_leaves_nothing_open_is_left_as_it_is(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_alignment(top / "A.md", DONE)
    before = (top / "A.md").read_bytes()
    assert align_goal(top, GOAL, None, "A.md", yes=True, as_json=False) == 0
    assert "helmsman run --set alignment=A.md" in capsys.readouterr().out
    assert (top / "A.md").read_bytes() == before


def test_invalid_input_is_rejected_before_the_engine_starts(top: Path, tmp_path: Path) -> None:
    sh(tmp_path, "clone", "--quiet", "--bare", str(top), "bare.git")
    (tmp_path / "goal.md").write_text("")
    empty, wrong = tmp_path / "goal.md", dict[str, Callable[[], object]]()
    wrong["goal: missing"] = lambda: command(top)
    wrong["the goal is empty"] = lambda: command(top, " ")
    wrong["the goal cannot be used"] = lambda: command(top, "x" * 50_001)
    wrong["--out cannot be used"] = lambda: command(top, "a", "../x.md")
    wrong["sets both goal and goal_file"] = lambda: command(top, "a", goal_file=empty)
    wrong["is empty"] = lambda: command(top, goal_file=empty)
    wrong["a bare repository"] = lambda: command(tmp_path / "bare.git", "a")
    for why, attempt in wrong.items():
        with pytest.raises(OperatorError, match=why):
            attempt()
