"""A clean checkout: the files of a commit and nothing else that an agent could have written, for what decides.

It lies in the user's state folder, one for each loop, and is a repository of its own: with a configuration and an index of ours,
so that no filter, attribute, exclude or trick with file times of the agent's repository applies.

    checkouts/REPOSITORY/store/        objects of all loops
    checkouts/REPOSITORY/LOOP/tree/    the files, with a small .git that borrows from the store
                             /home/ /cache/ /tmp/    what commands get instead of the user's
                             /kept/    a copy of what set-up made
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
from typing import Any

import psutil

from helmsman.errors import OperatorError
from tasks.repository.checkout_environment import Pins, own_variables, programs
from tasks.repository.git import IDENTITY, GitError, Repository
from tasks.repository.hidden import lay_over
from tasks.repository.loop_context import repository_name
from tasks.repository.object_store import ObjectStore
from tasks.repository.objects import read_object
from tasks.repository.setup import Products, copy_included, fingerprint, lay_included
from tasks.repository.worktree import Worktree
from tasks.system.files import locked, remove, write_atomic
from tasks.system.paths import state_home

REFERENCES = "heads", "tags", "remotes"  # kinds of references that checks may want to name; as they were when the loop began
LOOPS_OWN = "^refs/heads/helmsman/*"
OF_A_PROCESS = "verify-"
GITLINK = b"160000 "
_USER = f"[user]\n\tname = {IDENTITY['GIT_AUTHOR_NAME']}\n\temail = {IDENTITY['GIT_AUTHOR_EMAIL']}\n"
"""Tests make repositories and commit in them."""


@dataclass
class CleanCheckout:
    """Of one loop. One process at a time works in it; those of other loops may use the store meanwhile."""

    repository: Repository
    worktree: Path  # the agent's folder; submodules are copied from there
    folder: Path
    uid: str  # of the loop: what another one of the same name left is not used
    branch: str
    base: str  # commit that the loop began with
    setup: tuple[str, ...] = ()  # its commands, each a line for `sh`, run in the root, one after the other
    clean: bool = True  # nothing lies there that the agent could have written beside its commits
    laid: Path | None = None  # folder of a hidden check, whose files are laid over those of the commit
    _left_out: tuple[str, ...] = ()

    @property
    def root(self) -> Path:
        return self.folder / "tree"

    @property
    def store(self) -> ObjectStore:
        return ObjectStore(self.folder.parent / "store", self.folder.name)

    @property
    def own_folders(self) -> tuple[Path, ...]:
        """What a command may write to beside the tree."""
        return tuple(self.folder / name for name in ("home", "cache", "tmp"))

    @property
    def _products(self) -> Products:
        return Products(self.folder)

    def begin(self) -> None:
        """Make it, unless it is there: what is true from now on of PATH, of included files and of what the repository borrows."""
        if self._facts().get("uid") == self.uid:
            return
        remove(self.folder)
        for path in (self.root, *self.own_folders):
            path.mkdir(mode=0o700, parents=True)
        with locked(self.folder.parent / "lock"):  # two loops that begin at once make one store
            self.store.make(self.repository)
        names = [f"+refs/{kind}/*:{self.store.ref(kind)}/*" for kind in REFERENCES]
        self.store.fetch(self.repository.common, *names, LOOPS_OWN, f"+{self.base}:{self.store.ref('base')}")
        copy_included(self.repository, self.base, self.folder / "included")
        own, mine = f"refs/loops/{self.folder.name}/", b" refs/heads/" + os.fsencode(self.branch)
        kinds = (f"{own}{kind}/" for kind in REFERENCES)
        listed = self.store.git("for-each-ref", "--format=%(objectname) %(refname)", *kinds).replace(own.encode(), b"refs/")
        lines = sorted(listed.splitlines(), key=lambda line: line.partition(b" ")[2])
        packed = b"".join(line + b"\n" for line in lines if not line.endswith(mine))
        (self.folder / "packed-refs").write_bytes(b"# pack-refs with: sorted \n" + packed)
        pins: Pins = {}
        programs(os.environ, self.folder, self._inside(), pins)
        self._note(uid=self.uid, alternates=self._alternates(), pins=pins)

    def prepare(self, commit: str, overlay: Sequence[bytes] = ()) -> None:
        """Lay the commit out, with the entries of `overlay` instead of its own, as `git update-index --index-info` reads them.

        Raises OperatorError where objects are not what their names say, or come from where they did not at the start.
        """
        self.begin()
        if self._alternates() != self._facts()["alternates"]:
            raise OperatorError(
                "the repository borrows objects from a place that is new since the start, so nothing in it can be verified",
                expected="objects/info/alternates as at the start",
                found=str(self.repository.common / "objects" / "info" / "alternates"),
                remedy="find out who changed it; if that was you, start a new loop on the branch",
            )
        if not self.store.holds("tip", commit):
            self.store.fetch(self.repository.common, f"+{commit}:{self.store.ref('tip')}")
        self._lay_out(self._with(commit, overlay) if overlay else commit)

    def reset(self) -> tuple[str, ...]:
        """Back to what was laid out last; returns the paths that were not so, as far as that matters to anybody."""
        self._lay_out((self.folder / "commit").read_text())
        self._lay_over()
        return ()

    def require_intact(self, commands: Sequence[str]) -> None:
        """Whatever was done to it, it is laid out anew."""

    def setup_due(self) -> tuple[str, ...]:
        """Commands that have to run before anything else does."""
        return () if self._products.made_by() == (self.folder / "wanted").read_text() else self.setup

    def setup_done(self) -> None:
        wanted = (self.folder / "wanted").read_text()
        if self._products.made_by() != wanted:
            self._products.keep(wanted, self._untracked())
        self._lay_over()

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """The environment of a command there, made of what was picked of the user's for it."""
        facts = self._facts()
        pins: Pins = facts["pins"]
        known = len(pins)
        path, self._left_out = programs(os.environ, self.folder, self._inside(), pins)
        if len(pins) != known:
            self._note(**facts)
        return {**variables, **own_variables(os.environ, self.folder), "PATH": path}

    def left_out(self) -> tuple[str, ...]:
        """Programs that were kept off PATH, as they are new or changed since the loop began."""
        return self._left_out

    def _lay_over(self) -> None:
        if self.laid is not None:
            lay_over(self.laid, self.root)

    def _lay_out(self, commit: str) -> None:
        remove(self.root / ".git")
        self.root.mkdir(exist_ok=True)
        self._check_out(self.root, self.folder / "index", commit, "")
        remove(self.folder / "tmp")
        (self.folder / "tmp").mkdir(mode=0o700)
        (self.folder / "commit").write_text(commit)
        # remove what set-up did not make; all, where set-up has to run again
        untracked = self._untracked()
        tree = self.store.git("ls-tree", "-r", "-z", commit) if self.setup else b""
        wanted = fingerprint(self.setup, tree, self.folder / "included")
        (self.folder / "wanted").write_text(wanted)
        if self._products.made_by() == wanted:
            self._products.restore(untracked)
        else:
            self._products.forget(untracked)
            (self.folder / "home" / ".gitconfig").write_text(_USER)
            lay_included(self.folder / "included", self.root)
        self._make_git(commit)

    def _check_out(self, tree: Path, index: Path, commit: str, number: str) -> None:
        """Files as the commit has them, by an index that knows which of them have been touched since; submodules too.

        Files of those come from where the agent's folder has them. One that is not checked out there stays empty here as well.
        """
        index.with_name(f"{index.name}.lock").unlink(missing_ok=True)
        try:
            self.store.git("read-tree", "--reset", "-u", commit, tree=tree, index=index)
        except GitError:  # an index that was damaged, or a folder that was made read-only
            index.unlink(missing_ok=True)
            remove(tree)
            tree.mkdir()
            self.store.git("read-tree", "--reset", "-u", commit, tree=tree, index=index)
        if not (tree / ".gitmodules").is_file():  # only a tree that declares some is asked
            return
        listed = self.store.git("ls-files", "-z", "--stage", tree=tree, index=index).split(b"\0")
        links = (line.partition(b"\t") for line in listed if line.startswith(GITLINK))
        for position, (head, _, name) in enumerate(links):
            path, inner, below = tree / os.fsdecode(name), head.split()[1].decode(), f"{number}.{position}"
            source, own = self.worktree / path.relative_to(self.root), self.folder / f"index{below}"
            if (source / ".git").exists():
                self.store.fetch(source, f"+{inner}:{self.store.ref('submodule')}/{below.removeprefix('.')}")
                own.unlink(missing_ok=True)
                remove(path)
                path.mkdir()
                self._check_out(path, own, inner, below)

    def _untracked(self) -> list[str]:
        listed = self.store.git("ls-files", "-z", "--others", "--directory", tree=self.root, index=self.folder / "index")
        return [f"tree/{os.fsdecode(name)}" for name in listed.split(b"\0") if name]

    def _with(self, commit: str, overlay: Sequence[bytes]) -> str:
        """A commit that has those entries instead of the commit's own."""
        (self.folder / "overlay").unlink(missing_ok=True)
        git = partial(self.store.git, tree=self.root, index=self.folder / "overlay")
        gone_first = sorted(overlay, key=lambda entry: not entry.startswith(b"0 "))  # a folder may stand where a file was
        git("read-tree", commit)
        # files that are in no commit, as one that was put together of two
        names = [entry.split()[1].decode() for entry in overlay if entry.startswith(b"100")]
        listed = self.store.git("cat-file", "--batch-check", stdin="\n".join(names).encode()).decode().splitlines()
        for name in (name for name, said in zip(names, listed, strict=True) if said.endswith(" missing")):
            self.store.git("hash-object", "-w", "--stdin", stdin=read_object(self.repository.common, name))
        given = b"".join(entry + b"\0" for entry in gone_first)
        git("update-index", "-z", "--replace", "--index-info", stdin=given)
        tree = git("write-tree").decode().strip()
        return git("commit-tree", tree, "-p", commit, "-m", "overlay").decode().strip()

    def _make_git(self, commit: str) -> None:
        """A repository for commands that ask git: written anew each time, as the last ones may have changed it."""
        own, branch = self.root / ".git", f"refs/heads/{self.branch}"
        for name in ("objects/info", os.path.dirname(branch), "info", "hooks"):  # noqa: PTH120 - a reference is no path
            (own / name).mkdir(parents=True, exist_ok=True)
        (own / "config").write_text(self.store.config(bare=False))
        (own / "HEAD").write_text(f"ref: {branch}\n")
        (own / branch).write_text(f"{commit}\n")
        objects = os.fsencode(self.store.objects.absolute())
        for plain, quoted in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n")):
            objects = objects.replace(plain, quoted)
        (own / "objects" / "info" / "alternates").write_bytes(b'"%s"\n' % objects)
        for source, name in ((self.folder / "packed-refs", "packed-refs"), (self.store.shallow, "shallow")):
            if source.exists():
                shutil.copyfile(source, own / name)
        shutil.copyfile(self.folder / "index", own / "index")

    def _alternates(self) -> str:
        """What the repository borrows from."""
        try:
            return (self.repository.common / "objects" / "info" / "alternates").read_text(errors="surrogateescape")
        except FileNotFoundError:
            return ""

    def _facts(self) -> dict[str, Any]:
        try:
            return dict(json.loads((self.folder / "facts.json").read_text()))
        except (OSError, ValueError, TypeError):
            return {}

    def _note(self, **facts: object) -> None:
        write_atomic(self.folder / "facts.json", json.dumps(facts))

    def _inside(self) -> Mapping[Path, Path]:
        """Folders of the agent's, and what takes their place on PATH."""
        top = {} if self.repository.bare else {self.repository.top: self.root}
        return {self.worktree: self.root, **top, self.repository.common: Path(), state_home(): Path()}


def checkout_folder(repository: Repository, loop: str) -> Path:
    """Where the clean checkout of a loop lies."""
    return _checkouts(repository) / loop


def own_checkout(repository: Repository) -> Path:
    """Where a clean checkout of this process lies."""
    return _checkouts(repository) / f"{OF_A_PROCESS}{os.getpid()}-{secrets.token_hex(4)}"


@contextmanager
def clean_checkout_of(repository: Repository, base: str) -> Generator[CleanCheckout]:
    """A clean checkout that belongs to no loop, but to this process alone, gone at the end."""
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
    """Where clean checkouts lie, whether there still are such loops or not. Those of processes that live are left out."""
    found = sorted(facts.parent for facts in _checkouts(repository).glob("*/facts.json"))
    living = {f"{OF_A_PROCESS}{pid}" for pid in psutil.pids()}
    return [folder for folder in found if folder.name.rpartition("-")[0] not in living]


def _checkouts(repository: Repository) -> Path:
    return state_home() / "checkouts" / repository_name(repository)


Checkout = CleanCheckout | Worktree
"""Files of a commit, and how commands run on them; what each method promises is said at the clean one."""
