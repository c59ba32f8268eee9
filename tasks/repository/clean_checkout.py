"""A clean checkout for the checks that decide: the files of a commit, and nothing else that an agent could have written.

Each loop has one in the user's state folder. It is a separate repository with our configuration and index, so that no filter,
attribute, exclude or manipulated file time of the agent's repository applies.

    checkouts/REPOSITORY/store/        objects of all loops
    checkouts/REPOSITORY/LOOP/tree/    the files, with a small .git that uses the store as alternate
                             /home/ /cache/ /tmp/    replace the user's for commands
                             /kept/    copy of the files that set-up created
"""

import json
import os
import secrets
import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from helmsman.errors import OperatorError
from tasks.repository.checkout_environment import Pins, own_variables, programs
from tasks.repository.git import IDENTITY, GitError, Repository
from tasks.repository.hidden import copy_over
from tasks.repository.loop_context import repository_name
from tasks.repository.object_store import ObjectStore
from tasks.repository.objects import Entry, index_info, read_object
from tasks.repository.setup import Products, copy_included, fingerprint, place_included
from tasks.repository.worktree import Worktree
from tasks.system.files import locked, read_json, remove, write_atomic
from tasks.system.paths import state_home

REFERENCES = "heads", "tags", "remotes"  # kinds of references that checks may name; copied when the loop begins
NOT_LOOP_BRANCHES = "^refs/heads/helmsman/*"
PROCESS_PREFIX = "verify-"
GITLINK = b"160000 "
_USER = f"[user]\n\tname = {IDENTITY['GIT_AUTHOR_NAME']}\n\temail = {IDENTITY['GIT_AUTHOR_EMAIL']}\n"
"""Tests create repositories and commit to them."""


@dataclass
class CleanCheckout:
    """The clean checkout of one loop. One process at a time uses it; other loops may use the store meanwhile."""

    repository: Repository
    worktree: Path  # the agent's folder; submodules are copied from there
    folder: Path
    uid: str  # of the loop: files left by another loop of the same name are not used
    branch: str
    base: str  # commit that the loop started from
    setup: tuple[str, ...] = ()  # commands, each a line for `sh`, run in the root in order
    clean: bool = True  # contains nothing that the agent could have written except its commits
    laid: Path | None = None  # folder of a hidden check, whose files are copied over those of the commit
    left_out: tuple[str, ...] = ()  # programs removed from PATH because they are new or changed since the loop began

    @property
    def root(self) -> Path:
        return self.folder / "tree"

    @property
    def store(self) -> ObjectStore:
        return ObjectStore(self.folder.parent / "store", self.folder.name)

    @property
    def own_folders(self) -> tuple[Path, ...]:
        """Folders that a command may write to besides the tree."""
        return tuple(self.folder / name for name in ("home", "cache", "tmp"))

    @property
    def _products(self) -> Products:
        return Products(self.folder)

    def begin(self) -> None:
        """Create it unless it exists, and record PATH, the included files and the repository's alternates."""
        if read_json(self._facts).get("uid") == self.uid:
            return
        remove(self.folder)
        for path in (self.root, *self.own_folders):
            path.mkdir(mode=0o700, parents=True)
        with locked(self.folder.parent / "lock"):  # two loops that begin at once share one store
            self.store.make(self.repository)
        names = [f"+refs/{kind}/*:{self.store.ref(kind)}/*" for kind in REFERENCES]
        self.store.fetch(self.repository.common, *names, NOT_LOOP_BRANCHES, f"+{self.base}:{self.store.ref('base')}")
        copy_included(self.repository, self.base, self.folder / "included")
        prefix, own_branch = f"refs/loops/{self.folder.name}/", b" refs/heads/" + os.fsencode(self.branch)
        kinds = (f"{prefix}{kind}/" for kind in REFERENCES)
        listed = self.store.git("for-each-ref", "--format=%(objectname) %(refname)", *kinds).replace(prefix.encode(), b"refs/")
        lines = sorted(listed.splitlines(), key=lambda line: line.partition(b" ")[2])
        packed = b"".join(line + b"\n" for line in lines if not line.endswith(own_branch))
        (self.folder / "packed-refs").write_bytes(b"# pack-refs with: sorted \n" + packed)
        pins: Pins = {}
        programs(os.environ, self.folder, self._replaced_folders(), pins)
        write_atomic(self._facts, json.dumps({"uid": self.uid, "alternates": self._read_alternates(), "pins": pins}))

    def prepare(self, commit: str, overlay: Sequence[Entry] = ()) -> None:
        """Check out the commit, with the entries of `overlay` in place of its own.

        Raises OperatorError if an object does not match its name, or the repository's alternates have changed since the start.
        """
        self.begin()
        if self._read_alternates() != read_json(self._facts)["alternates"]:
            raise OperatorError(
                "the repository borrows objects from another place than at the start, so nothing in it can be verified",
                expected="objects/info/alternates as at the start",
                found=str(self.repository.common / "objects" / "info" / "alternates"),
                remedy="find out who changed it; if that was you, start a new loop on the branch",
            )
        if not self.store.holds("tip", commit):
            self.store.fetch(self.repository.common, f"+{commit}:{self.store.ref('tip')}")
        self._check_out_all(self._commit_overlay(commit, overlay) if overlay else commit)

    def reset(self) -> tuple[str, ...]:
        """Check out the last prepared commit again. Returns an empty tuple: nobody needs the changed paths."""
        self._check_out_all((self.folder / "commit").read_text())
        self._copy_hidden_files()
        return ()

    def require_intact(self, commands: Sequence[str]) -> None:
        """Do nothing: `prepare` and `reset` check out again whatever the current state."""

    @property
    def setup_due(self) -> tuple[str, ...]:
        """Set-up commands that must run before anything else."""
        return () if self._products.stored_fingerprint() == (self.folder / "wanted").read_text() else self.setup

    def setup_done(self) -> None:
        expected = (self.folder / "wanted").read_text()
        if self._products.stored_fingerprint() != expected:
            self._products.keep(expected, self._list_untracked())
            # what set-up changed in the commit's files would be lost on the next checkout, so it never counts
            self._check_out(self.root, self.folder / "index", (self.folder / "commit").read_text(), "")
        self._copy_hidden_files()

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Environment of a command in the checkout, with the selected variables of the user's."""
        facts = read_json(self._facts)
        pins: Pins = facts["pins"]
        pinned_before = len(pins)
        path, self.left_out = programs(os.environ, self.folder, self._replaced_folders(), pins)
        if len(pins) != pinned_before:
            write_atomic(self._facts, json.dumps(facts))
        return {**variables, **own_variables(os.environ, self.folder), "PATH": path}

    def _copy_hidden_files(self) -> None:
        if self.laid is not None:
            copy_over(self.laid, self.root)

    def _check_out_all(self, commit: str) -> None:
        remove(self.root / ".git")
        self.root.mkdir(exist_ok=True)
        self._check_out(self.root, self.folder / "index", commit, "")
        remove(self.folder / "tmp")
        (self.folder / "tmp").mkdir(mode=0o700)
        (self.folder / "commit").write_text(commit)
        # remove what set-up did not create, or everything if set-up must run again
        untracked = self._list_untracked()
        tree = self.store.git("ls-tree", "-r", "-z", commit) if self.setup else b""
        expected = fingerprint(self.setup, tree, self.folder / "included", self.root)
        (self.folder / "wanted").write_text(expected)
        if self._products.stored_fingerprint() == expected:
            self._products.restore(untracked)
        else:
            self._products.forget(untracked)
            (self.folder / "home" / ".gitconfig").write_text(_USER)
            place_included(self.folder / "included", self.root)
        self._create_git_folder(commit)

    def _check_out(self, tree: Path, index: Path, commit: str, number: str) -> None:
        """Check out a commit with an index that knows which files were touched since; submodules too.

        Submodules are fetched from the agent's folder. One that is not checked out there stays empty here.
        """
        index.with_name(f"{index.name}.lock").unlink(missing_ok=True)
        try:
            self.store.git("read-tree", "--reset", "-u", commit, tree=tree, index=index)
        except GitError:  # a damaged index, or a read-only folder
            index.unlink(missing_ok=True)
            remove(tree)
            tree.mkdir()
            self.store.git("read-tree", "--reset", "-u", commit, tree=tree, index=index)
        if not (tree / ".gitmodules").is_file():  # without it there are no submodules
            return
        listed = self.store.git("ls-files", "-z", "--stage", tree=tree, index=index).split(b"\0")
        links = (line.partition(b"\t") for line in listed if line.startswith(GITLINK))
        for position, (head, _, name) in enumerate(links):
            path, inner_commit, suffix = tree / os.fsdecode(name), head.split()[1].decode(), f"{number}.{position}"
            source, inner_index = self.worktree / path.relative_to(self.root), self.folder / f"index{suffix}"
            if (source / ".git").exists():
                self.store.fetch(source, f"+{inner_commit}:{self.store.ref('submodule')}/{suffix.removeprefix('.')}")
                inner_index.unlink(missing_ok=True)
                remove(path)
                path.mkdir()
                self._check_out(path, inner_index, inner_commit, suffix)

    def _list_untracked(self) -> list[str]:
        listed = self.store.git("ls-files", "-z", "--others", "--directory", tree=self.root, index=self.folder / "index")
        return [f"tree/{os.fsdecode(name)}" for name in listed.split(b"\0") if name]

    def _commit_overlay(self, commit: str, overlay: Sequence[Entry]) -> str:
        """Create a commit with those entries in place of its own."""
        (self.folder / "overlay").unlink(missing_ok=True)
        git = partial(self.store.git, tree=self.root, index=self.folder / "overlay")
        git("read-tree", commit)
        # files that are in no commit, such as one merged from two
        names = [entry.id for entry in overlay if entry.mode.startswith("100")]
        listed = self.store.git("cat-file", "--batch-check", stdin="\n".join(names).encode()).decode().splitlines()
        for name in (name for name, answer in zip(names, listed, strict=True) if answer.endswith(" missing")):
            self.store.git("hash-object", "-w", "--stdin", stdin=read_object(self.repository.common, name))
        git("update-index", "-z", "--replace", "--index-info", stdin=index_info(overlay))
        tree = git("write-tree").decode().strip()
        return git("commit-tree", tree, "-p", commit, "-m", "overlay").decode().strip()

    def _create_git_folder(self, commit: str) -> None:
        """Create the repository for commands that run git: rewritten each time, as earlier commands may have changed it."""
        git_folder, branch = self.root / ".git", f"refs/heads/{self.branch}"
        for name in ("objects/info", os.path.dirname(branch), "info", "hooks"):  # noqa: PTH120 - a reference is no path
            (git_folder / name).mkdir(parents=True, exist_ok=True)
        (git_folder / "config").write_text(self.store.config(bare=False))
        (git_folder / "HEAD").write_text(f"ref: {branch}\n")
        (git_folder / branch).write_text(f"{commit}\n")
        objects = os.fsencode(self.store.objects.absolute())
        for plain, quoted in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n")):
            objects = objects.replace(plain, quoted)
        (git_folder / "objects" / "info" / "alternates").write_bytes(b'"%s"\n' % objects)
        for source, name in ((self.folder / "packed-refs", "packed-refs"), (self.store.shallow, "shallow")):
            if source.exists():
                shutil.copyfile(source, git_folder / name)
        shutil.copyfile(self.folder / "index", git_folder / "index")

    def _read_alternates(self) -> str:
        """Content of the repository's alternates file."""
        try:
            return (self.repository.common / "objects" / "info" / "alternates").read_text(errors="surrogateescape")
        except FileNotFoundError:
            return ""

    @property
    def _facts(self) -> Path:
        return self.folder / "facts.json"

    def _replaced_folders(self) -> Mapping[Path, Path]:
        """Map the agent's folders to their replacements on PATH."""
        top = {} if self.repository.bare else {self.repository.top: self.root}
        return {self.worktree: self.root, **top, self.repository.common: Path(), state_home(): Path()}


def checkout_folder(repository: Repository, loop: str) -> Path:
    """Folder of a loop's clean checkout."""
    return _checkouts_folder(repository) / loop


def own_checkout(repository: Repository) -> Path:
    """Folder for a clean checkout of this process."""
    return _checkouts_folder(repository) / f"{PROCESS_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"


@contextmanager
def clean_checkout_of(repository: Repository, base: str) -> Generator[CleanCheckout]:
    """A temporary clean checkout of this process, without a loop."""
    folder = own_checkout(repository)
    folder.parent.mkdir(parents=True, exist_ok=True)
    checkout = CleanCheckout(repository, repository.top, folder, uid=folder.name, branch=folder.name, base=base)
    try:
        yield checkout
    finally:
        remove(folder)
        if checkout.store.folder.exists():
            checkout.store.forget()


def loop_checkouts(repository: Repository) -> list[Path]:
    """Folders of clean checkouts, even if their loops are gone. Excludes those of running processes."""
    folders = sorted(facts.parent for facts in _checkouts_folder(repository).glob("*/facts.json"))
    running = {f"{PROCESS_PREFIX}{pid}" for pid in psutil.pids()}
    return [folder for folder in folders if folder.name.rpartition("-")[0] not in running]


def _checkouts_folder(repository: Repository) -> Path:
    return state_home() / "checkouts" / repository_name(repository)


Checkout = CleanCheckout | Worktree
"""Files of a commit, and how commands run on them; `CleanCheckout` documents the methods."""
