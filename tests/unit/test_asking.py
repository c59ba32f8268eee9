"""What a person reads who is asked: names from outside are shown as they are, and are nothing but words."""

import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmsman.plain import short_line
from helmsman.records.gates import Gate, GateKind
from helmsman.render.gate import evidence, form_text
from tests.unit.builders import NOW, state
from tests.unit.rendered import Reading, read

pytestmark = pytest.mark.feature("H1", "X3")

BASE = "b" * 40
PIECES = [*"`|<>$();&'\"#!_-.{}%=,/", "``", "```", "</code>", "<script>", "<br>", "&lt;", "](x)", "**", "--", "$(id)", "ab", "é"]
BRANCHES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join)
"""Whatever git allows in a name, and somewhat more."""


def asked(branch: str, worktree: str = "/srv/tree") -> Reading:
    """The form of a gate of a loop on that branch, as it is read."""
    seen = evidence(state(branch=branch), worktree)
    return read(form_text(Gate(key="merge-1", kind=GateKind.MERGE, question="Now?", asked_at=NOW), seen))


def look(found: Reading) -> str:
    (line,) = [one for one in found.paragraphs if one.startswith("Look: ")]
    return line


@given(BRANCHES)
@example("`touch${IFS}pwned`")
@example("``` # no heading")
@example("a|b|c")
@example("x<img/src=x/onerror=alert(1)>")
@example("</code><script>alert(1)</script>")
@example("$(id);'&\"")
@example("`|`<br>``")
def test_a_branch_of_any_name_is_shown_in_full_and_is_no_markup(branch: str) -> None:
    found, plain = asked(branch), asked("helmsman/mend-it")
    assert found.strangers == found.tables == []
    assert found.headings == plain.headings
    assert len(found.paragraphs) == len(plain.paragraphs)
    assert look(found) == f"Look: git log {shlex.quote(f'{BASE[:10]}..{short_line(branch)}')}, worktree /srv/tree"


@given(BRANCHES)
@example("a;touch pwned")
@example("`touch${IFS}pwned`")
@example("a|touch${IFS}pwned")
@example("it's$(id)")
def test_what_is_shown_can_be_copied_into_a_shell(branch: str) -> None:
    command = look(asked(branch)).removeprefix("Look: ").removesuffix(", worktree /srv/tree")
    assert shlex.split(command) == ["git", "log", f"{BASE[:10]}..{short_line(branch)}"]
