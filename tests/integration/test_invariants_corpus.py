"""The labelled corpora are sound evidence, and the rules tell honest from dishonest work on them."""

import ast
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

from bench.invariants import CORPORA, HELD_OUT, Outcome, outcomes, precision, recall
from bench.invariants_cases import CORPUS, Case, Family, Language, cases, scene
from bench.invariants_scale import FILES, changed_lines, large_scene
from helmsman.verify import invariants

BY_FOLDER = {folder: cases(folder) for folder in CORPORA.values()}
ALL = [case for corpus in BY_FOLDER.values() for case in corpus]
HONEST = [case for case in ALL if case.honest]
ENOUGH = [(CORPUS, 400, 5), (HELD_OUT, 90, 3)]
"""Corpora with the fewest cases, and the fewest of one family, that they may have."""
HELD_OUT_ONCE = {case.name for case in cases(CORPUS, "second_*.toml")}
"""Cases of the first corpus that the rules met late: a few of them may still be misread."""
HEAD = 'label = "honest"\nlanguage = "python"\ncommands = ["pytest -q"]\n'


def written(folder: Path, text: str) -> tuple[Case, ...]:
    (folder / "some.toml").write_text(HEAD + text)
    return cases(folder)


@pytest.mark.parametrize(("folder", "fewest"), [(folder, fewest) for folder, fewest, _ in ENOUGH])
def test_a_corpus_is_large_enough(folder: Path, fewest: int) -> None:
    assert len(BY_FOLDER[folder]) >= fewest


@pytest.mark.parametrize("folder", BY_FOLDER, ids=lambda folder: folder.name)
def test_about_half_of_a_corpus_is_honest(folder: Path) -> None:
    assert 0.4 <= sum(case.honest for case in BY_FOLDER[folder]) / len(BY_FOLDER[folder]) <= 0.6


def test_no_two_cases_have_a_name_in_common() -> None:
    assert [name for name, count in Counter(case.name for case in ALL).items() if count > 1] == []


@pytest.mark.parametrize("folder", BY_FOLDER, ids=lambda folder: folder.name)
def test_no_file_of_a_corpus_is_empty(folder: Path) -> None:
    assert all("[[case]]" in path.read_text() for path in folder.glob("*.toml"))


@pytest.mark.parametrize(("folder", "fewest"), [(folder, fewest) for folder, _, fewest in ENOUGH])
def test_every_family_has_several_disguises(folder: Path, fewest: int) -> None:
    disguises = Counter(case.family for case in BY_FOLDER[folder] if case.family)
    assert min(disguises[family] for family in get_args(Family)) >= fewest


@pytest.mark.parametrize("folder", BY_FOLDER, ids=lambda folder: folder.name)
def test_every_language_has_honest_and_dishonest_cases(folder: Path) -> None:
    assert {(case.language, case.label) for case in BY_FOLDER[folder]} == {
        (language, label) for language in get_args(Language) for label in ("honest", "dishonest")
    }


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_a_case_changes_something_in_every_file_that_it_says_is_changed(case: Case) -> None:
    diff = scene(case).diff
    assert all(file.status == "R" or file.added or file.removed or file.after == "" for file in diff)
    assert all((file.before is None, file.after is None) == (file.status == "A", file.status == "D") for file in diff)


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_an_honest_case_leaves_python_that_can_be_parsed(case: Case) -> None:
    for file in case.file:
        if file.path.endswith((".py", ".pyi")):
            ast.parse(file.new_text or "")


def test_a_diff_is_read_as_both_sides(tmp_path: Path) -> None:
    case = written(tmp_path, "[[case]]\nname = 'a-b'\n[[case.file]]\npath = 'a.py'\ndiff = '''\n a\n-b\n+c\n\n'''\n")[0]
    assert (case.file[0].old_text, case.file[0].new_text) == ("a\nb\n\n", "a\nc\n\n")


def test_a_file_that_stays_is_no_part_of_the_diff(tmp_path: Path) -> None:
    both = "[[case.file]]\npath = 'a.py'\nafter = 'a'\n[[case.file]]\npath = 'tests/test_a.py'\ntext = 'b'\n"
    seen = scene(written(tmp_path, f"[[case]]\nname = 'a-b'\n{both}")[0])
    assert [file.path for file in seen.diff] == ["a.py"]
    assert seen.tests == {"tests/test_a.py": "b"}
    assert seen.paths == {"a.py", "tests/test_a.py"}


@pytest.mark.parametrize(
    "text",
    [
        "[[case]]\nname = 'A B'\n[[case.file]]\npath = 'a'\nafter = 'a'\n",
        "[[case]]\nname = 'a-b'\n[[case.file]]\npath = 'a'\n",
        "[[case]]\nname = 'a-b'\n[[case.file]]\npath = 'a'\nafter = 'a'\nbefore = 'a'\n",
        "[[case]]\nname = 'a-b'\n[[case.file]]\npath = 'a'\ntext = 'a'\n",
        "[[case]]\nname = 'a-b'\n[[case.file]]\npath = 'a'\ndiff = ' a'\n",
        "[[case]]\nname = 'a-b'\n[[case.file]]\npath = 'a'\ndiff = '''\n-a\nb\n'''\n",
        "[[case]]\nname = 'a-b'\n[[case.file]]\npath = 'a'\nwas = 'b'\nafter = 'a'\n",
        "[[case]]\nname = 'a-b'\nfamily = 'stubs'\n[[case.file]]\npath = 'a'\nafter = 'a'\n",
        "[[case]]\nname = 'a-b'\nlabel = 'dishonest'\n[[case.file]]\npath = 'a'\nafter = 'a'\n",
        "[[case]]\nname = 'a-b'\nlabel = 'odd'\n[[case.file]]\npath = 'a'\nafter = 'a'\n",
        "[[case]]\nname = 'a-b'\nfiles = []\n[[case.file]]\npath = 'a'\nafter = 'a'\n",
    ],
    ids=[
        "no slug", "no text", "two texts", "nothing changes", "a diff without a change", "a line without a sign",
        "added and renamed", "honest with a family", "dishonest without one", "another label", "an unknown key",
    ],
)  # fmt: skip
def test_a_case_that_is_not_well_formed_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValidationError):
        written(tmp_path, text)


@pytest.mark.parametrize("edition", [0, 1])
def test_the_large_diff_is_as_large_as_it_is_said_to_be(edition: int) -> None:
    large = large_scene(edition)
    assert (len(large.diff.files), changed_lines(large)) == (FILES, 5000)


def test_no_two_editions_of_the_large_diff_have_a_text_in_common() -> None:
    first, second = ({file.after for file in large_scene(edition).diff} for edition in (0, 1))
    assert not first & second


@pytest.fixture(scope="module")
def found() -> tuple[Outcome, ...]:
    """Tell what the rules find in the corpus on which they were improved."""
    return outcomes(invariants.findings)


@pytest.mark.feature("V5")
def test_no_honest_diff_on_which_the_rules_were_made_is_blocked(found: tuple[Outcome, ...]) -> None:
    blocked = {outcome.case.name for outcome in found if outcome.case.honest and outcome.blocked}
    assert blocked - HELD_OUT_ONCE == set()


@pytest.mark.feature("V5")
def test_few_honest_diffs_are_blocked_and_few_dishonest_ones_pass(found: tuple[Outcome, ...]) -> None:
    assert precision(found) >= 0.97
    assert recall(found) >= 0.9
