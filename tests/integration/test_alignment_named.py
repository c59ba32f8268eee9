"""`helmsman approve`, `reject` and `answer` where an alignment is meant: no yes answers its questions, and what does is told."""

import shlex

import pytest

from helmsman.records.alignment import ALIGNMENT, Alignment, Asked, Specification
from tasks.alignment.aligning import align_folder, align_name
from tasks.alignment.files import read_alignment, write_alignment
from tasks.lock import drive_alone
from tasks.repository.git import open_repository
from tests.fakes.bench import Ended
from tests.fakes.command_line import CommandLine

pytestmark = pytest.mark.feature("M1")
QUESTION = "Which separator?"
ASKING = Alignment(specification=Specification(goal="export the rows")).with_questions([Asked(question=QUESTION)])
ELSEWHERE = "notes/it's.md"
WAYS = (("approve",), ("approve", "--guidance", "a tab"), ("reject",), ("answer",), ("answer", "approve"))


def said(helmsman: CommandLine, name: str, *way: str) -> Ended:
    command, *rest = way
    return helmsman.run(command, name, *rest, "--repo", "repository")


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_whoever_answers_an_alignment_as_a_loop_is_told_the_command_that_does(
    helmsman: CommandLine, way: tuple[str, ...]
) -> None:
    for file in (ALIGNMENT, ELSEWHERE):
        write_alignment(helmsman.repository / file, ASKING)
        for name in (file, align_name(file)):
            told = said(helmsman, name, *way)
            assert told.exit_code == 2
            assert told.errors.startswith(f"operator error: {file} is an alignment")
            assert f"found: {QUESTION}" in told.errors
            command = ["helmsman", "align", *(["--out", file] if file != ALIGNMENT else []), "--repo", str(helmsman.repository)]
            assert f"{shlex.join(command)} asks them one by one" in told.errors
        assert read_alignment(helmsman.repository / file) == ASKING


def test_while_a_process_waits_for_the_answers_the_file_and_the_form_are_named_instead(helmsman: CommandLine) -> None:
    write_alignment(helmsman.repository / ALIGNMENT, ASKING)
    with drive_alone(align_folder(open_repository(helmsman.repository), ALIGNMENT).lock, ALIGNMENT):
        told = said(helmsman, align_name(ALIGNMENT), "approve")
    assert told.exit_code == 2
    assert "helmsman align" not in told.errors
    assert f"answer in {ALIGNMENT}" in told.errors
    assert f"the form of {align_name(ALIGNMENT)} in the Prefect UI" in told.errors


@pytest.mark.feature("X3")
@pytest.mark.parametrize(
    "name", ["nix", "../repository/ALIGNMENT.md", "/etc/passwd", ".git/config", "align-nix", "", "a\x1b[2J", "README"]
)
def test_any_other_name_is_that_of_no_loop(helmsman: CommandLine, name: str) -> None:
    write_alignment(helmsman.repository / ALIGNMENT, ASKING)
    (helmsman.repository / "README").mkdir()
    told = said(helmsman, name, "approve")
    assert told.exit_code == 2
    assert "there is no loop" in told.errors
    assert "\x1b" not in told.errors
