"""Objects that an agent cannot forge: our own repository, filled by `git fetch`, in which git runs with our configuration.

`git fetch` computes the name of each object from its content, so a manipulated object is missing under its name.
Loops of one repository share a store: its history is copied once.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from helmsman.errors import OperatorError
from tasks.repository.git import GitError, Repository, git, git_bytes
from tasks.system.faults import MACHINE_MESSAGES
from tasks.system.files import remove

NEUTRAL = (
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.untrackedCache=false",
    "protocol.file.allow=always",  # the source is a folder
)
_CONFIG = "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = {bare}\n{format}"
_FETCH = (
    "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--no-recurse-submodules", "--update-shallow",
)  # fmt: skip


@dataclass(frozen=True)
class ObjectStore:
    """A bare repository that the checkouts next to it use as alternate."""

    folder: Path
    loop: str  # references of other loops do not change

    @property
    def objects(self) -> Path:
        return self.folder / "objects"

    @property
    def shallow(self) -> Path:
        return self.folder / "shallow"

    def make(self, repository: Repository) -> None:
        """Create the repository unless it exists."""
        if (self.folder / "HEAD").exists():
            return
        form = git(repository.common, "rev-parse", "--show-object-format").strip()
        git(self.folder.parent, "init", "--quiet", "--bare", "--template=", f"--object-format={form}", str(self.folder))

    def ref(self, name: str) -> str:
        """Full name of a reference of the loop."""
        return f"refs/loops/{self.loop}/{name}"

    def holds(self, name: str, commit: str) -> bool:
        """Whether the reference points to the commit."""
        try:
            return (self.folder / self.ref(name)).read_text().strip() == commit
        except OSError:
            return False

    def forget(self) -> None:
        """Delete the loop's references, so that git may prune objects that only they reach."""
        listed = self.git("for-each-ref", "--format=delete %(refname)", f"refs/loops/{self.loop}/")
        self.git("update-ref", "--stdin", stdin=listed)

    def fetch(self, source: Path, *refspecs: str) -> None:
        """Fetch objects. Raises OperatorError if some are missing under the names that refer to them."""
        try:
            self.git(*_FETCH, str(source), *refspecs)
        except GitError as error:
            if error.code < 0 or any(message in error.stderr for message in MACHINE_MESSAGES):
                raise
            raise OperatorError(
                "the commit cannot be copied into a clean checkout",
                expected="a repository with every object of the commit, each with the content of its id",
                found=error.stderr,
                remedy=f"read the output of `git -C {source} fsck`; nothing of this commit was verified",
            ) from error

    def git(self, *arguments: str, tree: Path | None = None, index: Path | None = None, stdin: bytes | None = None) -> bytes:
        """Run git in the store, on these files and this index. No configuration of user, machine or agent applies."""
        # rewritten, as commands in a checkout could write here without a sandbox
        safe_directories = "[safe]\n\tdirectory = *\n"  # the source may belong to another user that git is configured to trust
        for name, text in (("config", self.config(bare=True)), ("own.config", safe_directories)):
            path = self.folder / name
            if not path.is_file() or path.read_text() != text:
                path.write_text(text)
        for name in ("info", "hooks"):
            remove(self.folder / name)
        (self.objects / "info" / "alternates").unlink(missing_ok=True)
        settings = [part for setting in NEUTRAL for part in ("-c", setting)]
        env = {
            "GIT_DIR": str(self.folder),
            "GIT_CONFIG_GLOBAL": str(self.folder / "own.config"),
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            **({"GIT_WORK_TREE": str(tree), "GIT_INDEX_FILE": str(index)} if tree else {}),
        }
        return git_bytes(tree or self.folder, *settings, *arguments, env=env, stdin=stdin)

    def config(self, *, bare: bool) -> str:
        """Complete git configuration of this store, or of a repository with it as alternate."""
        sha256 = "objectformat = sha256" in (self.folder / "config").read_text(errors="replace").lower()
        form = "[extensions]\n\tobjectFormat = sha256\n" if sha256 else ""
        return _CONFIG.format(version=int(sha256), bare=str(bare).lower(), format=form)
