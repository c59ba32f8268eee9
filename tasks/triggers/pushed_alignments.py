"""Alignments and pushes: the file that a pushed commit brings along, and one that is made because a push orders it.

That one is made in a checkout inside the repository's git folder, so that whichever worker has the repository can go on with
it. The checkout holds the commit's configuration and the alignment file; whatever else the commit holds is read from git. What
was written ends up in one commit on a branch that a person can merge.
"""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError, WorldError
from helmsman.layers import merged
from helmsman.pushes import push_loop_id
from helmsman.records.alignment import ALIGNMENT, AlignRequest
from helmsman.records.push import Nothing, Push, PushedAlignment
from tasks.alignment.aligning import Work, aligned_in, made_alone, present
from tasks.lock import holder
from tasks.places import helmsman_folder
from tasks.repository.git import GitError, Repository, git, open_repository, read_ref, succeeds
from tasks.repository.remote import PLAINLY
from tasks.repository.state_ref import PREFIX
from tasks.triggers.pushed_files import IN_A_WORKTREE, lay_out, lay_out_alignment, text_of

# --- what the commit brings along ---------------------------------------------------------------------------------


def agreed(repository: Repository, push: Push, config: LoopConfig) -> LoopConfig:
    """The configuration whose goal holds what the commit's alignment file agrees on; OperatorError while that asks something."""
    with _file_of(repository, push, config.alignment) as folder:
        return aligned_in(folder, config, config.alignment)


@contextmanager
def _file_of(repository: Repository, push: Push, file: str) -> Generator[Path]:
    """A folder with the commit's alignment file, where it has one. What is wrong with that is told as the push's."""
    with tempfile.TemporaryDirectory(prefix="helmsman-") as name:
        try:
            if file:
                lay_out_alignment(repository, push.commit, file, Path(name))
            yield Path(name)
        except OperatorError as error:
            raise OperatorError(
                f"{push.what} starts nothing: {error.problem.replace(f'{name}/', '')}",
                expected=error.expected,
                found=error.found.replace(f"{name}/", ""),
                remedy=f"fix {file} (helmsman align asks what is open), or name another in `alignment`, and push again",
            ) from error


# --- one that is ordered ------------------------------------------------------------------------------------------


def ordered(repository: Repository, push: Push, config: LoopConfig, where: Path) -> PushedAlignment | Nothing:
    """What a push comes to that asks for an alignment. Raises OperatorError where the commit's own file stands in the way."""
    file, name = config.alignment or ALIGNMENT, f"align-{push_loop_id(push)}"
    with _file_of(repository, push, file) as folder:
        there = present(Work(Repository(folder, repository.common, bare=False), config, file, uid="", asks=True))
    if there is not None and not there.due:
        return Nothing(reason=f'{push.what}: {file} leaves nothing open; to start the loop, write mode = "loop" and push that')
    checkout = helmsman_folder(repository.common) / "pushes" / name
    settings = merged(push.settings, {**IN_A_WORKTREE, "goal": config.goal})
    order = PushedAlignment(
        name=name,
        what=push.what,
        location=str(where),
        commit=push.commit,
        request=AlignRequest(repository=str(checkout), out=file, settings=settings),
        remote=config.remote.name if config.remote.push else "",
    )
    if _has_ended(repository, order):
        return Nothing(reason=f"{push.what} was aligned before; {order.branch} has what came of it")
    if holder(_lock(order)) is not None:
        return Nothing(reason=f"{push.what} is being aligned already")
    return order


@contextmanager
def checked_out(order: PushedAlignment) -> Generator[None]:
    """Hold the order and have its checkout while the block runs. It stays for as long as something is written in it alone."""
    repository = open_repository(Path(order.location))
    with made_alone(_lock(order), f"the alignment of {order.what}"):
        if _has_ended(repository, order):
            raise OperatorError(f"{order.what} was aligned by another run meanwhile", remedy=f"look at {order.branch}")
        _require_remote(repository, order)
        try:
            _check_out(repository, order)
            yield
        finally:
            if _has_ended(repository, order) or _written(repository, order) is None:
                _remove_checkout(repository, order)


def keep(order: PushedAlignment) -> str:
    """Put what was written on a branch, and have the order ended. Returns the branch; empty where nothing was written.

    The branch goes to the remote first, and a commit that is made anew is the same one: whoever died in between is repeated.
    """
    repository = open_repository(Path(order.location))
    text = _written(repository, order)
    commit = order.commit if text is None else _committed(order, text)
    if order.remote and text is not None:
        _send(repository, order, commit)
    refs = [_mark(order), *([f"refs/heads/{order.branch}"] if text is not None else [])]
    git(repository.common, "update-ref", "--stdin", stdin="".join(f"create {ref} {commit}\n" for ref in refs).encode())
    return order.branch if text is not None else ""


def _lock(order: PushedAlignment) -> Path:
    return Path(f"{order.request.repository}.lock")


def _mark(order: PushedAlignment) -> str:
    """The branch may be merged and deleted; this stays."""
    return f"{PREFIX}{order.name}/alignment"


def _has_ended(repository: Repository, order: PushedAlignment) -> bool:
    return read_ref(repository.common, _mark(order)) is not None


# --- its checkout -------------------------------------------------------------------------------------------------


def _check_out(repository: Repository, order: PushedAlignment) -> None:
    """Made, or gone on with: an alignment file that was written there stays."""
    top = Path(order.request.repository)
    if not (top / ".git").is_file():
        shutil.rmtree(top, ignore_errors=True)
        how = ("--quiet", "--force", "--force", "--detach", "--no-checkout")  # forced: a git that was killed has left its half
        git(repository.common, "worktree", "add", *how, str(top), order.commit)
    lay_out(repository, order.commit, top)
    if not (top / order.request.out).exists():
        lay_out_alignment(repository, order.commit, order.request.out, top)


def _remove_checkout(repository: Repository, order: PushedAlignment) -> None:
    succeeds(repository.common, "worktree", "remove", "--force", "--force", order.request.repository)


def _written(repository: Repository, order: PushedAlignment) -> bytes | None:
    """The text of the alignment file; None where it says nothing that the commit does not say."""
    path = Path(order.request.repository, order.request.out)
    text = path.read_bytes() if path.is_file() else None
    return None if text == text_of(repository, order.commit, order.request.out) else text


# --- its branch ---------------------------------------------------------------------------------------------------


def _committed(order: PushedAlignment, text: bytes) -> str:
    """One commit on top of the pushed one, dated by the file. Its index is not the checkout's, which holds few of the files."""
    top, file = Path(order.request.repository), order.request.out
    moment = f"{int((top / file).stat().st_mtime)} +0000"
    with tempfile.TemporaryDirectory(prefix="helmsman-") as folder:
        dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        ours = partial(git, top, env={"GIT_INDEX_FILE": f"{folder}/index", **dates})
        blob = ours("hash-object", "-w", "--stdin", stdin=text).strip()
        ours("read-tree", order.commit)
        ours("update-index", "--add", "--cacheinfo", f"100644,{blob},{file}")
        tree = ours("write-tree").strip()
        message = f"helmsman: alignment for {order.commit[:12]}\n\nIt was ordered by the push of {order.what}."
        return ours("commit-tree", tree, "-p", order.commit, "-m", message).strip()


def _require_remote(repository: Repository, order: PushedAlignment) -> None:
    """One that the operator has set up: a pushed commit may name it, and not say where it lies. Looked for before it costs."""
    if order.remote and not succeeds(repository.common, "remote", "get-url", "--", order.remote):
        raise OperatorError(
            f"there is no remote {order.remote!r} to push the alignment to",
            remedy="add it with git remote add, name another with remote.name, or leave remote.push out",
        )


def _send(repository: Repository, order: PushedAlignment, commit: str) -> None:
    try:
        git(repository.common, "push", *PLAINLY, "--", order.remote, f"{commit}:refs/heads/{order.branch}")
    except GitError as error:
        remedy = "once it takes pushes, run this again: what is agreed on is kept"
        raise WorldError(
            f"{order.branch} could not be pushed to remote {order.remote}", found=error.stderr, remedy=remedy
        ) from error
