"""The agent's worktree as a place to run checks in: during a session, and where `workspace.clean` is off."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from helmsman.errors import OperatorError
from tasks.repository.branch_files import tree_with_entries
from tasks.repository.clean_checkout import CleanCheckout
from tasks.repository.staging import insist
from tasks.repository.worktree import own_git, restore

AHEAD_SECONDS = 3600
"""Caches lie here from the run before. They compare whole seconds for equality, builds for order: both see another file so."""


@dataclass
class Worktree:
    """What is ignored lies there as somebody left it, and so do the settings of its repository."""

    root: Path
    clean: bool = False
    due: tuple[str, ...] = ()  # commands of set-up, for a worktree that was just made
    _commit: str = ""
    _own: Path | None = field(default=None)

    def prepare(self, commit: str, overlay: Sequence[bytes] = ()) -> None:
        restore(self.root, commit)
        self._commit, self._own = commit, own_git(self.root, commit)
        if overlay:
            insist(self.root, "read-tree", "-m", "-u", commit, tree_with_entries(self.root, commit, overlay))
            ahead = time.time() + AHEAD_SECONDS
            for path in (self.root / os.fsdecode(entry.partition(b"\t")[2]) for entry in overlay):
                if os.path.lexists(path):
                    os.utime(path, (ahead, ahead), follow_symlinks=False)

    def reset(self) -> tuple[str, ...]:
        return restore(self.root, self._commit)

    def require_intact(self, commands: Sequence[str]) -> None:
        if self._commit and own_git(self.root, self._commit) != self._own:
            raise OperatorError(
                "a check cut its worktree off from the repository; git would change whatever repository lies above",
                expected="checks that leave .git alone, and so do the tests and scripts that they run",
                found=" | ".join(commands),
                remedy="fix it; the worktree is repaired when the loop is resumed",
            )

    def setup_due(self) -> tuple[str, ...]:
        return self.due

    def setup_done(self) -> None:
        """Set-up ran when the worktree was made."""

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        return dict(variables)

    def left_out(self) -> tuple[str, ...]:
        return ()


Checkout = CleanCheckout | Worktree
"""Files of a commit, and how commands run on them; what each method promises is said at the clean one."""
