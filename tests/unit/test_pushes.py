"""What webhooks say of pushes, which of it counts, and what the operator's file allows."""

import json
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from helmsman.errors import OperatorError
from helmsman.parsers.pushes import (
    MOST_BRANCHES,
    OWN_EMAIL,
    AllowedRepo,
    PushMessage,
    Update,
    filter_updates,
    find_allowed,
    is_own_commit,
    matches_branch,
    push_key,
    push_loop_id,
    read_allowed,
    read_forge,
    read_hook,
)
from helmsman.plain import LONGEST_BRANCH, is_branch
from helmsman.records.request import is_loop_id
from helmsman.records.triggers import Ignored, Push, is_commit

pytestmark = pytest.mark.feature("D2")

ZEROS = "0" * 40
COMMIT = "a1" * 20
FACTS = {
    "repository": "owner/name",
    "location": "/srv/name.git",
    "source": "git",
    "delivery": "delivery-1",
    "received_at": datetime(2026, 11, 22, tzinfo=UTC),
}

branch_texts = st.text(st.sampled_from("ab/.-@{}~^:?*[\\ \x00\x1b\x7f\u202e\u00e9lock'\"$`;&|<>"), max_size=12)


def push(branch: str = "main", commit: str = COMMIT, **changes: Any) -> Push:
    return Push.model_validate({**FACTS, "branch": branch, "commit": commit, **changes})


def forge(**changes: Any) -> bytes:
    repository = {"full_name": "owner/name", "html_url": "https://git.example.org/owner/name"}
    return json.dumps({"ref": "refs/heads/main", "before": ZEROS, "after": COMMIT, "repository": repository, **changes}).encode()


# --- names of branches and commits --------------------------------------------------------------------------------


@pytest.mark.feature("X3")
@given(branch_texts)
@settings(max_examples=60)
@example("a.lock")
@example("a.lock/b")
@example("-a")
@example("@")
@example("a@{b")
@example("a/.b")
def test_a_branch_name_is_valid_only_if_git_accepts_it(name: str) -> None:
    if is_branch(name):
        command = ["git", "check-ref-format", "--branch", name]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0
        assert name.isprintable()


@pytest.mark.parametrize("name", ["main", "feature/x", "Größe", "we\"ird$(id)`id`;'&|", "a@b", "l" * LONGEST_BRANCH])
def test_usual_branch_names_are_valid(name: str) -> None:
    assert is_branch(name)


@pytest.mark.feature("X3")
@pytest.mark.parametrize(
    "name",
    ["", "HEAD", "--upload-pack=x", "a b", "a..b", "a\nb", "a:b", "a/", "/a", "a//b", "a\x1b[31m", "l" * 201],
)
def test_ambiguous_branch_names_are_invalid(name: str) -> None:
    assert not is_branch(name)
    with pytest.raises(ValidationError):
        push(branch=name)


@given(st.text("0123456789abcdefABCDEFg-\n ", max_size=70))
@example(COMMIT)
@example("b2" * 32)
@example(COMMIT + "\n")
@example(ZEROS)
def test_a_commit_is_a_whole_id_in_small_letters(text: str) -> None:
    whole = len(text) in {40, 64} and all(sign in "0123456789abcdef" for sign in text) and set(text) != {"0"}
    assert is_commit(text) == whole


# --- patterns -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("branch", "pattern", "matches"),
    [
        ("feature/x/y", "feature/*", False),
        ("v1.2", "v[0-9].*", True),
        ("Main", "main", False),
        ("main", "", False),
    ],
)
def test_a_pattern_names_branches_level_by_level(branch: str, pattern: str, matches: bool) -> None:
    assert matches_branch(branch, ["nobody", pattern]) == matches


levels = st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=5)


@given(levels, st.lists(st.sampled_from(["a", "b", "*", "**", "a*"]), min_size=1, max_size=5))
def test_patterns_match_like_their_reference_definition(names: list[str], pattern: list[str]) -> None:
    def defined(names: list[str], pattern: list[str]) -> bool:
        if not pattern:
            return not names
        if pattern[0] == "**":
            return any(defined(names[taken:], pattern[1:]) for taken in range(len(names) + 1))
        return bool(names) and fnmatchcase(names[0], pattern[0]) and defined(names[1:], pattern[1:])

    assert matches_branch("/".join(names), ["/".join(pattern)]) == defined(names, pattern)


# --- reading ------------------------------------------------------------------------------------------------------


def test_patterns_match_in_bounded_time() -> None:
    assert not matches_branch("/".join(["a"] * 100), ["/".join(["**", "a"] * 50 + ["b"])])
    assert not matches_branch("a" * 200, ["*a" * 100 + "b"])


def test_a_push_event_of_a_forge_is_read_with_both_names_of_its_repository() -> None:
    update = Update("refs/heads/main", ZEROS, COMMIT)
    assert read_forge(forge()) == PushMessage(("git.example.org/owner/name", "owner/name"), (update,))


@pytest.mark.parametrize("url", ["", "javascript:alert(1)", "https://user:word@evil/owner/name", "/etc"])
def test_an_invalid_url_adds_no_name(url: str) -> None:
    assert read_forge(forge(repository={"full_name": "owner/name", "html_url": url})).names == ("owner/name",)


def test_the_lines_of_the_hook_are_read_whatever_a_ref_is_called() -> None:
    hostile = 'refs/heads/we"ird$(id) \u2028x'
    body = f"name\n{ZEROS} {COMMIT} refs/heads/main\n{COMMIT} {ZEROS} {hostile}\n".encode()
    assert read_hook(body) == PushMessage(("name",), (Update("refs/heads/main", ZEROS, COMMIT), Update(hostile, COMMIT, ZEROS)))


@pytest.mark.parametrize("body", [b"", b"\n", b"name", b"name\n", b"name\nold new", b"name\n\n", b"\xff\xfe"])
def test_an_invalid_hook_message_is_rejected(body: bytes) -> None:
    with pytest.raises(ValueError):
        read_hook(body)


# --- sifting ------------------------------------------------------------------------------------------------------


def filter_one(
    ref: str = "refs/heads/main", before: str = ZEROS, after: str = COMMIT, branches: tuple[str, ...] = ("**",)
) -> Push | Ignored:
    (found,) = filter_updates([Update(ref, before, after)], branches, FACTS)
    return found


def test_a_branch_that_was_moved_is_a_push() -> None:
    assert filter_one() == push()
    assert filter_one(before="b2" * 20) == push(before="b2" * 20)


@pytest.mark.parametrize(
    ("update", "words"),
    [
        ({"ref": "refs/tags/v1"}, "only pushes to branches"),
        ({"ref": "main"}, "only pushes to branches"),
        ({"after": ZEROS}, "deleted"),
        ({"ref": "refs/heads/helmsman/a-loop"}, "Helmsman's own"),
        ({"ref": "refs/heads/a..b"}, "the branch or the commit is invalid"),
        ({"ref": "refs/heads/"}, "the branch or the commit is invalid"),
        ({"after": "HEAD"}, "the branch or the commit is invalid"),
        ({"before": "--exec"}, "the branch or the commit is invalid"),
        ({"ref": "refs/heads/other", "branches": ("main",)}, "the operator does not allow branch other"),
    ],
)
def test_other_updates_are_ignored_with_a_reason(update: Mapping[str, Any], words: str) -> None:
    found = filter_one(**update)
    assert isinstance(found, Ignored)
    assert words in found.reason


def test_more_refs_in_one_push_than_are_looked_at_are_counted() -> None:
    many = filter_updates([Update("refs/heads/main", ZEROS, COMMIT)] * (MOST_BRANCHES + 1), ("**",), FACTS)
    assert many[-1] == Ignored(reason="1 more refs in one push are ignored")


@pytest.mark.feature("X3")
@given(st.text(max_size=80), st.text(max_size=45), st.text(max_size=45))
def test_reasons_contain_no_unchecked_text_of_senders(ref: str, before: str, after: str) -> None:
    (found,) = filter_updates([Update(ref, before, after)], ("main",), FACTS)
    assert isinstance(found, Ignored)
    assert found.reason.isprintable()


# --- one loop for one push ----------------------------------------------------------------------------------------

signs = st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="~^:?*[\\.")
branches = st.text(signs, min_size=1, max_size=40).filter(is_branch)
commits = st.text("0123456789abcdef", min_size=40, max_size=40).filter(is_commit)


@given(branches, branches, commits, commits)
@example("feature/a-b", "feature/a/b", COMMIT, COMMIT)
def test_pushes_share_a_valid_loop_id_only_for_the_same_branch_and_commit(one: str, other: str, first: str, second: str) -> None:
    assert is_loop_id(push_loop_id(push(one, first)))
    same = (one, first[:12]) == (other, second[:12])
    assert (push_loop_id(push(one, first)) == push_loop_id(push(other, second))) == same


def test_a_push_key_depends_only_on_location_branch_and_commit() -> None:
    known = push_key(push())
    assert push_key(push(delivery="delivery-2", source="github", before="b2" * 20, repository="Owner/Name")) == known
    assert (
        len({known, push_key(push(branch="other")), push_key(push(commit="b2" * 20)), push_key(push(location="/srv/b.git"))}) == 4
    )


@pytest.mark.parametrize(
    ("author", "committer", "message", "ours"),
    [
        ("p@example.org", "p@example.org", "Mend it", False),
        (OWN_EMAIL, "p@example.org", "Mend it", True),
        ("p@example.org", OWN_EMAIL, "Mend it", True),
        ("p@example.org", "p@example.org", "Squashed\n\nHelmsman-Loop: mend-it\n", True),
        ("p@example.org", "p@example.org", "Speak of Helmsman-Loop: in the docs", False),
    ],
)
def test_helmsman_s_own_commits_are_known_by_their_makers_and_their_trailer(
    author: str, committer: str, message: str, ours: bool
) -> None:
    assert is_own_commit(author, committer, message) == ours


# --- the operator's file ------------------------------------------------------------------------------------------


def test_a_repository_is_a_place_or_a_table_with_branches() -> None:
    table = {"repositories": {"a": "/srv/a.git", "b": {"at": "https://git.example.org/b.git", "branches": ["main"]}}}
    assert read_allowed(table, "FILE") == {
        "a": AllowedRepo(at="/srv/a.git"),
        "b": AllowedRepo(at="https://git.example.org/b.git", branches=("main",)),
    }


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "repositories: Field required"),
        ({"repositories": {}}, "repositories: Dictionary should have at least 1"),
        ({"repositories": "a"}, "repositories: Input should be"),
        ({"repositories": {"a": "srv/a.git"}}, "repositories.a.at: .*expected an absolute path"),
        ({"repositories": {"a": {"at": "/a", "brances": []}}}, "repositories.a.brances: unknown key; did you mean branches"),
        ({"repositories": {"a": "ext::sh -c id"}}, "repositories.a.at: "),
        ({"repositories": {"a": {"branches": ["main"]}}}, "repositories.a.at: Field required"),
        ({"repositories": {"a": "/a"}, "secret": "x"}, "secret: unknown key"),
    ],
)
def test_an_invalid_file_is_an_error_with_its_place(table: dict[str, Any], words: str) -> None:
    with pytest.raises(OperatorError) as caught:
        read_allowed(table, "FILE")
    assert re.search(words, caught.value.found)


def test_wrong_configuration_of_a_repository_is_an_error_with_every_key() -> None:
    wrong = {"remote": {"pussh": True}, "limits": {"iterations": 0}}
    with pytest.raises(OperatorError) as caught:
        read_allowed({"repositories": {"a": {"at": "/a", "set": wrong}}}, "FILE")
    assert caught.value.problem.splitlines()[1:] == [
        "  remote.pussh (set of 'a' in FILE): unknown key; did you mean remote.push?",
        "  limits.iterations (set of 'a' in FILE): expected at least 1, found 0",
    ]


def test_the_first_listed_name_counts_and_capitals_do_not() -> None:
    allowed = {"Owner/Name": AllowedRepo(at="/a"), "git.example.org/owner/name": AllowedRepo(at="/b")}
    assert find_allowed(allowed, ("git.example.org/owner/name", "owner/name")) == (
        "git.example.org/owner/name",
        AllowedRepo(at="/b"),
    )
    assert find_allowed(allowed, ("github.com/owner/name", "OWNER/name")) == ("Owner/Name", AllowedRepo(at="/a"))
    assert find_allowed(allowed, ("somebody/else",)) is None
