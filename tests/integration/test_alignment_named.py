"""`helmsman approve`, `reject` and `answer` where an alignment is meant: no yes answers its questions, and what does is told."""

import shlex

import pytest

from helmsman.records.alignment import ALIGNMENT, Alignment, Asked, Specification
from tasks.loop.alignment_file import align_name, read_alignment, write_alignment
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
    for file, name in ((ALIGNMENT, ALIGNMENT), (ALIGNMENT, align_name(ALIGNMENT)), (ELSEWHERE, ELSEWHERE)):
        write_alignment(helmsman.repository / file, ASKING)
        told = said(helmsman, name, *way)
        assert told.exit_code == 2
        assert told.errors.startswith(f"operator error: {file} is an alignment")
        command = ["helmsman", "align", *(["--out", file] if file != ALIGNMENT else []), "--repo", str(helmsman.repository)]
        assert f"{shlex.join(command)} asks them one by one" in told.errors
        assert read_alignment(helmsman.repository / file) == ASKING


@pytest.mark.feature("X3")
@pytest.mark.parametrize("name", ["nix", "../repository/ALIGNMENT.md", "/etc/passwd", "align-nix", "a\x1b[2J", "README"])
def test_any_other_name_is_that_of_no_loop(helmsman: CommandLine, name: str) -> None:
    write_alignment(helmsman.repository / ALIGNMENT, ASKING)
    (helmsman.repository / "README").mkdir()
    told = said(helmsman, name, "approve")
    assert told.exit_code == 2
    assert "there is no loop" in told.errors
    assert "\x1b" not in told.errors
