"""A script is read as the shell reads it, and one with broken syntax as far as the grammar reads it."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.parsers.shell import UNREAD, Command, commands
from helmsman.parsers.shell_words import UNKNOWN

pytestmark = pytest.mark.feature("A2")

TREE = "/nest/dev/parser"
PUSH = ("git", "push")
PIECES = """
git push rm -rf cd .. / ~ $HOME $( ) ` ' " \\ ; && | > << EOF find -exec {} sh -c eval X= $X kill -9 { } ( é *
"""
SHELLISH = st.lists(st.sampled_from([*PIECES.split(), "\n", "\x00", "�", "  ", "\ue001"]), max_size=40).map("".join) | st.text(
    max_size=200
)


def words(script: str) -> list[tuple[str, ...]]:
    return [command.words for command in commands(script, TREE) if command.words]


def only(script: str) -> Command:
    return commands(script, TREE)[-1]


FOUND = r"""
git push
ls; git push
true || git push
! git push
for i in 1 2; do git push; done
f() { git push; }; f
(git push)
{ git push; }
((cd src); git push)
g\it pu'sh'
sh -c 'git push'
bash -euo pipefail -c 'git push'
bash -c -e 'git push'
bash -c "sh -c 'git push'"
bash <<< 'git push'
eval 'git push'
echo `git push`
echo "$(echo "$(git push)")"
echo "${X:-$(git push)}" $((1 + $(git push)))
diff <(git push) a
env A=1 git push
A=1 B=2 git push
time nohup timeout -k 5 60 nice -n 5 git push
time -p { git push; }
coproc git push
echo origin | xargs -n 1 git push
find . -name x -exec git push ;
find . -exec grep -l x {} \; -exec git push \;
V='git push'; $V
[[ a > $(git push) ]]
[ "$a" \> "$b" ] && git push
echo `echo \`git push\``
"""
HERE_DOCUMENTS = (
    "ls\ngit push",
    "git \\\n push",
    "bash -s -- a <<EOF\ngit push\nEOF",
    "bash <<'EOF'\ngit push\nEOF",
    "cat <<EOF\ntext\nEOF\ngit push",
    "cat <<E; git push\nEcho\nE",
    "cat <<A <<-B && git push\na\nA\n\tb\n\tB",
    "cat <<EOF\n$(git push)\nEOF",
    "cat <<EOF\n`git push`\nEOF",
    "# <<EOF\ngit push\nEOF",
    "bash <<EOF\ngit push\nEOF <<'EOF'\nx\nEOF",
)
BROKEN = r"""
git push )
git push && (
ls ) ; (cd x; git push)
if git push
echo "$(git push)" )
bash <<< 'git push' )
V='git push'; $V )
find . -exec git push \; )
sh -c 'git push )'
"""


@pytest.mark.parametrize(
    "scripts", [FOUND.strip().split("\n"), HERE_DOCUMENTS, BROKEN.strip().split("\n")], ids=["whole", "here-documents", "broken"]
)
def test_commands_are_found_in_every_construct(scripts: list[str]) -> None:
    assert [script for script in scripts if not any(one[:2] == PUSH for one in words(script))] == []


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a b;c", [("a", "b"), ("c",)]),
        ("a 'b;c' \"d&&e\" f\\;g", [("a", "b;c", "d&&e", "f;g")]),
        ("a # b; c\nd", [("a",), ("d",)]),
        ("a '' $'x\\n' *.{b,c}", [("a", "", "x\\n", "*.{b,c}")]),
        ("cat <<'A' <<-B\n$(x)\nA\n\ty\n\tB\nz", [("cat",), ("z",)]),
        ("X=1; a $X ${X} $Y '$X'", [("a", "1", "1", UNKNOWN, "$X")]),
        ("a $((1 + (2)))b", [("a", f"{UNKNOWN}b")]),
        ("a 2>&1 >b 3<c d", [("a", "d")]),
        ("sed /^$/d a", [("sed", "/^_/d", "a")]),
        ('echo "x <<EOF"\ny', [("echo", "x <<EOF"), ("y",)]),
    ],
)  # fmt: skip
def test_a_script_is_read_as_the_shell_reads_it(script: str, expected: list[tuple[str, ...]]) -> None:
    assert words(script) == expected


@pytest.mark.parametrize(
    ("script", "folder", "writes"),
    [
        ("cd a && b > c", f"{TREE}/a", ("c",)),
        ("(cd a); b > c 2>> d", TREE, ("c", "d")),
        ("cd a; cd -; b >| c", TREE, ("c",)),
        ("cd && b &> c", "/~", ("c",)),
        ("cd $X; b <> c 2>&1", None, ("c",)),
        ("[[ a > b ]] > c", TREE, ("c",)),
        ("time [[ ']]' > c ]]", TREE, ()),
        ("A=1 [[ a > c", TREE, ("c",)),
        ('cd src && b > "$PWD/c"', f"{TREE}/src", (f"{TREE}/src/c",)),
        ('b > "$(git rev-parse --git-dir)/c"', TREE, (f"{TREE}/.git/c",)),
        ("cat <<E > c\nx\nE", TREE, ("c",)),
    ],
)  # fmt: skip
def test_where_a_command_runs_and_writes_is_known(script: str, folder: str | None, writes: tuple[str, ...]) -> None:
    assert (only(script).folder, only(script).writes) == (folder, writes)


def test_what_a_command_reads_is_known() -> None:
    assert only("a | (b; c)").upstream == only("a | { b; c; }").upstream == ("a",)
    assert only("c < <(a)").upstream == only("c <<< $(a)").upstream == ("a",)
    assert only("c <<E\nx\nE").stdin == "x"


SURE = ("a", "x; a", "x && a", "x | a", "(x && a)", "bash -c a", "{ a; }", "a > b # c")
UNSURE = ("x || a", "a | x", "! a", "if x; then a; fi", "x() { y; }; a", "a )", "x &&& a", "a; x")


@pytest.mark.parametrize(("scripts", "sure"), [(SURE, True), (UNSURE, False)], ids=["sure", "unsure"])
def test_a_command_surely_ran_where_the_end_of_the_script_depends_on_it(scripts: tuple[str, ...], sure: bool) -> None:
    found = {script: [one.sure for one in commands(script, TREE) if one.words == ("a",)] for script in scripts}
    assert found == {script: [sure] for script in scripts}


def test_a_partly_read_script_says_so_and_is_not_sure() -> None:
    for script in ("a | " * 301 + "b", "(" * 60 + "a" + ")" * 60, f"a{' ' * 20_000}; b"):
        assert (UNREAD,) in words(script)
        assert not [one for one in commands(script, TREE) if one.sure]
    assert (UNREAD,) not in words("a | " * 300 + "b")


SLOW = {
    "$(": 9000, "`": 19999, "(": 20000, "'": 19999, '"$(': 6000, "<<A\n": 5000, "sh -c ": 3000, "eval ": 4000, "env ": 5000,
    "find . -exec ": 1500, "\\`": 9000, "${": 9000, "a|": 9000, "git commit;": 1800, "a && ": 4000, "x=$x$x ": 2500, "a=(": 6000,
    "a>": 9999,
}  # fmt: skip


def test_slow_scripts_are_parsed_in_bounded_time() -> None:
    assert all(isinstance(commands(text * times, TREE), tuple) for text, times in SLOW.items())
    doubling = words("X=aaaaaaaaaa;" + "X=$X$X;" * 2000 + "echo $X")
    assert sum(len(word) for command in doubling for word in command) < 1000


@pytest.mark.feature("X4")
@pytest.mark.parametrize(
    "wide", ["\U0010ffff", "\U001008b4", "\U000e0067", "😀", "\u3000", "\u0085", "\u00a0", "é", "þÿ", "\uffff"]
)
def test_a_character_beyond_ascii_is_part_of_a_word(wide: str) -> None:
    assert words(f"rm a{wide}b '{wide}' \"$HOME/{wide}\"")[-1][1:3] == (f"a{wide}b", wide)


@pytest.mark.feature("X4")
def test_characters_of_the_last_planes_do_not_end_the_process() -> None:
    """In a process of its own: where the grammar read beyond the end of a table, it depends on what lies there."""
    program = """
from helmsman.parsers.shell import commands
for point in range(0x30000, 0x110000, 499):
    commands("!{" + chr(point), "/")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@given(SHELLISH)
def test_no_script_makes_it_raise_and_text_in_single_quotes_is_data(text: str) -> None:
    commands(text, TREE)
    quoted = text.replace("'", "").replace("\0", "")
    assert [command.program for command in commands(f"echo '{quoted}'", TREE)] == ["echo"]


@given(SHELLISH)
def test_a_here_document_in_quotes_is_data(text: str) -> None:
    body = text.replace("EOF", "")
    assert [command.program for command in commands(f"cat <<'EOF'\n{body}\nEOF", TREE)] == ["cat"]


@given(st.text())
def test_a_command_is_found_behind_any_plain_comment(text: str) -> None:
    comment = text.replace("\n", "")
    assert PUSH in words(f"ls # {comment}\ngit push")
