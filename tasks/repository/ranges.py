"""Resolve `BASE..HEAD` of the command line to two commits. Input never reaches git as an option."""

import shlex
from contextlib import suppress

from helmsman.errors import OperatorError
from helmsman.plain import clean
from tasks.repository.git import GitError, Repository, git

DEFAULT_BRANCHES = "refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master", "main", "master"
"""Bases to try for work without an upstream, in order."""
LONGEST = 1000


def commits_of(repository: Repository, text: str = "") -> tuple[str, str]:
    """Full ids of base and head: `A..B`, `A...B` (from their merge base), `A` (to HEAD); empty: from the merge base with
    upstream or default branch.

    Raises OperatorError.
    """
    if not text:
        names = "HEAD@{upstream}", *DEFAULT_BRANCHES
        base = next((found for name in names if (found := _find_commit(repository, name))), "")
        if not base:
            raise OperatorError(
                "the base of the change is unknown",
                expected="a branch with an upstream, or one named main or master",
                found=str(repository.top),
                remedy="name both ends: helmsman verify BASE..HEAD",
            )
        text = f"{base}..."
    from_merge_base = "..." in text
    base, dots, head = text.partition("..." if from_merge_base else "..")
    base, head = _require_commit(repository, base or "HEAD"), _require_commit(repository, (head if dots else "") or "HEAD")
    return (_merge_base(repository, base, head) if from_merge_base else base), head


def _find_commit(repository: Repository, name: str) -> str:
    """The commit's id; empty if there is none of that name."""
    with suppress(GitError):
        return git(repository.top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()
    return ""


def _require_commit(repository: Repository, name: str) -> str:
    is_valid = len(name) <= LONGEST and not name.startswith("-") and "\0" not in name and name.isprintable()
    if is_valid and (found := _find_commit(repository, name)):
        return found
    raise OperatorError(
        "a commit of the range is not in this repository",
        expected="BASE..HEAD, both branches, tags or ids of commits",
        found=clean(name)[:80],
        remedy=_shallow_remedy(repository) or "name another one, or fetch it first",
    )


def _shallow_remedy(repository: Repository) -> str:
    is_shallow = git(repository.top, "rev-parse", "--is-shallow-repository").strip() == "true"
    git_here = f"git -C {shlex.quote(str(repository.top))}"
    return f"this clone is shallow; {git_here} fetch --unshallow (in CI: check out with the whole history)" if is_shallow else ""


def _merge_base(repository: Repository, base: str, head: str) -> str:
    try:
        return git(repository.top, "merge-base", base, head).strip()
    except GitError as error:
        if error.code != 1:
            raise
        raise OperatorError(
            "the ends of the range have no common ancestor",
            expected="two commits of one history",
            found=f"{base[:12]} and {head[:12]}",
            remedy=_shallow_remedy(repository) or "name another base, or give it with two dots: BASE..HEAD",
        ) from error
