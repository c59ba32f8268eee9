"""Proposals for AGENTS.md in real repositories: a patch that git applies, and a commit once a person has agreed."""

from pathlib import Path

import pytest

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.memory.agents_md import SECTION
from helmsman.parsers.pushes import is_own_commit
from helmsman.records.state import LoopState
from tasks.loop.handoff import PATCH, commit_lines, write_proposal
from tests.fakes.repositories import BRANCH, LoopWork, commit, make_repository, sh, shell, start_loop
from tests.unit.builders import STOP
from tests.unit.test_agents_md import SUBJECTS, convention

pytestmark = pytest.mark.feature("L9")
RULES = "# Rules\n\nBe brief.\n"
LESSONS = [convention(SUBJECTS[0])]
AFTER = f"{RULES}\n{SECTION}\n\n- {SUBJECTS[0]}\n"


def start(tmp_path: Path, files: dict[str, str] | None = None) -> LoopWork:
    return start_loop(make_repository(tmp_path / "top", files or {"AGENTS.md": RULES}), tmp_path / "tree")


def completed(work: LoopWork, mode: str = "patch") -> LoopState:
    head = commit(work.path, "the work", {"app.py": "2\n"})
    config = LoopConfig.model_validate({**work.state.config.model_dump(), "memory": {"agents_md": mode}})
    return work.state.model_copy(update={"head": head, "verified": head, "config": config, "ending": STOP})


def patch_of(work: LoopWork) -> Path:
    return work.context.folder.root / PATCH


def applied(work: LoopWork, state: LoopState, tmp_path: Path) -> Path:
    """A clone at the loop's head with the patch applied."""
    clone = tmp_path / "clone"
    sh(tmp_path, "clone", "--quiet", "--branch", BRANCH, str(work.repository.top), str(clone))
    sh(clone, "reset", "--quiet", "--hard", state.head)
    sh(clone, "apply", "--index", str(patch_of(work)))
    return clone


# --- the patch ----------------------------------------------------------------------------------------------------


def test_it_is_a_patch_that_git_applies_and_that_changes_nothing_else(tmp_path: Path) -> None:
    work = start(tmp_path)
    state = completed(work)
    assert write_proposal(work.context, state, LESSONS, ()) == (SUBJECTS[0],)
    clone = applied(work, state, tmp_path)
    assert (clone / "AGENTS.md").read_text() == AFTER
    assert sh(clone, "status", "--porcelain") == "M  AGENTS.md"
    assert work.sh("rev-parse", BRANCH) == state.head
    assert work.sh("status", "--porcelain") == ""


@pytest.mark.parametrize(
    "present",
    ["no newline at the end", "a\r\nb\r\n", f"x\n\n{SECTION}\n\n- one\n\n## After\n", "\ufeffé\u2028ü\n"],
)
def test_the_patch_applies_to_any_file_and_keeps_its_content(tmp_path: Path, present: str) -> None:
    work = start(tmp_path, {"app.py": "1\n"})
    (work.path / "AGENTS.md").write_bytes(present.encode())
    (work.path / ".gitattributes").write_text("AGENTS.md binary -diff\n")
    sh(work.path, "config", "diff.noprefix", "true")
    state = completed(work)
    write_proposal(work.context, state, LESSONS, ())
    sh(work.path, "config", "--unset", "diff.noprefix")
    after = (applied(work, state, tmp_path) / "AGENTS.md").read_bytes().decode()
    assert f"- {SUBJECTS[0]}" in after
    assert all(line in after.split("\n") for line in present.split("\n") if line)


def test_without_new_lines_there_is_no_patch_and_an_earlier_one_is_removed(tmp_path: Path) -> None:
    work = start(tmp_path, {"AGENTS.md": AFTER})
    state = completed(work)
    assert write_proposal(work.context, state, LESSONS, ()) == ()
    assert not patch_of(work).exists()
    write_proposal(work.context, state, [convention(SUBJECTS[1])], ())
    assert patch_of(work).exists()
    assert write_proposal(work.context, state, LESSONS, ()) == ()
    assert not patch_of(work).exists()


def test_no_proposal_is_written_when_the_setting_is_off(tmp_path: Path) -> None:
    work = start(tmp_path)
    state = completed(work, "off")
    assert write_proposal(work.context, state, LESSONS, ()) == ()
    assert not patch_of(work).exists()


@pytest.mark.parametrize(
    "rules", [RULES, RULES.replace("brief", "brief\f"), "# Rules\u2028\n"], ids=["lines", "a page", "Unicode"]
)
def test_no_secret_is_proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: str) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "s3cr3t-of-the-shop")
    work = start(tmp_path, {"AGENTS.md": rules})
    key = "AKIA" + "Q3ZK7LM2WX9TRB4V"  # of the form of a key's id, and nobody's
    lessons = [convention("Log in with s3cr3t-of-the-shop first."), convention(f"Set the key to {key} for uploads."), *LESSONS]
    assert write_proposal(work.context, completed(work), lessons, ()) == (SUBJECTS[0],)
    assert key not in patch_of(work).read_text()


@pytest.mark.parametrize("deed", ["ln -sf /etc/hostname", "cp /bin/true", "head -c 2000000 /dev/zero | tr '\\0' x >"])
def test_anything_but_plain_text_is_left_and_the_reason_reported(tmp_path: Path, deed: str) -> None:
    work = start(tmp_path)
    shell(work.path, f"{deed} AGENTS.md")
    with pytest.raises(OperatorError, match=r"AGENTS\.md"):
        write_proposal(work.context, completed(work), LESSONS, ())
    assert not patch_of(work).exists()


# --- the commit ---------------------------------------------------------------------------------------------------


def agreed(work: LoopWork, state: LoopState) -> LoopState:
    """The state with the proposal, as the loop's end writes it before a person is asked."""
    return state.model_copy(update={"proposed": write_proposal(work.context, state, LESSONS, ())})


def test_after_consent_it_is_one_commit_and_a_repetition_changes_nothing(tmp_path: Path) -> None:
    work = start(tmp_path)
    state = agreed(work, completed(work, "commit"))
    assert work.sh("rev-parse", BRANCH) == state.head
    patch_of(work).write_text(patch_of(work).read_text().replace("Keep SQL", "Delete the tests"))  # which anybody could do
    done = commit_lines(work.context, state)
    assert done == work.sh("rev-parse", BRANCH) == commit_lines(work.context, state)
    assert work.sh("rev-parse", f"{BRANCH}^") == state.head
    assert work.at("AGENTS.md") + "\n" == AFTER == (work.path / "AGENTS.md").read_text()
    assert is_own_commit(work.sh("log", "-1", "--format=%ae", BRANCH), "", "")
    assert work.sh("status", "--porcelain") == ""


def test_a_file_that_is_no_longer_plain_text_stays_unchanged(tmp_path: Path) -> None:
    work = start(tmp_path)
    state = agreed(work, completed(work, "commit"))
    (work.path / "AGENTS.md").write_bytes(b"a\xffb\n")
    later = commit(work.path, "binary", {"b": "b"})
    with pytest.raises(OperatorError, match=r"AGENTS\.md cannot be read"):
        commit_lines(work.context, state)
    assert work.sh("rev-parse", BRANCH) == later
