"""Inputs, strictness and answers of the rules."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter

from helmsman.records.agent import ErrorVector
from helmsman.toml_text import load_bundled

Rule = Literal[
    "nested", "push", "publish", "destructive", "history", "git_internals", "own_state", "protected", "outside", "processes",
    "operator", "remote_script", "repeated", "repeated_look", "other_branch", "clean", "unread", "judging_tests", "broken_build",
    "failures", "same_failure", "alternating", "reverted", "context", "ending",
]  # fmt: skip
"""`steering` stores them in records, and decides `context` and `ending` itself."""


class Level(NamedTuple):
    """How strict the rules are at one level of escalation."""

    same_command: int  # nth identical command without a change that is denied; 3: public loops call it stuck from there
    same_look: int  # nth identical look without a change that gets advice
    advised: frozenset[Rule]  # rules that only advise; all others deny


_ADVISED: frozenset[Rule] = frozenset({"repeated_look", "unread", "broken_build", "other_branch"})
"""Branches and files are distinguished by name only, so leaving a branch is never denied."""
LEVELS = (Level(3, 4, _ADVISED.union(("clean",))), Level(3, 3, _ADVISED), Level(2, 2, _ADVISED))
"""By level of escalation: 0 patch, 1 refactor, 2 redesign."""

OWN_FOLDER = ".helmsman"
AGENTS_FILE, RESEARCH_FILE = "progress.md", "research.md"
"""The files in `.helmsman/` that the agent writes, the second one in an iteration of research."""


@dataclass(frozen=True)
class Rules:
    """State of the loop for the rules. Paths are absolute, globs relative to the worktree."""

    worktree: str
    protected: tuple[str, ...] = ()
    """Globs: `**` for any number of folders; no slash means a name in any folder; a slash at the end everything below."""
    allowed: tuple[str, ...] = ()  # globs of paths that may change although they are protected
    level: int = 0  # 0 to 2; more counts as 2
    start: str = ""  # commit at the start of the session
    branch: str = ""  # the loop's own branch
    nesting: int = 0  # loops that may still be started from this one
    home: str = ""
    temporary: tuple[str, ...] = ()  # folders for temporary files besides the usual ones
    resolve: Callable[[str], str] = str  # follows symbolic links of an absolute path; must not raise
    exists: Callable[[str], bool] = lambda _: False  # whether an absolute path exists; must not raise
    fix: bool = False  # whether the goal is a fix that existing tests judge
    looks_only: bool = False  # whether it is an iteration of research, which writes only its findings
    tests: Callable[[str], bool] = lambda _: False
    """Whether a path relative to the worktree is a test that existed before the loop; must not raise."""
    broken: ErrorVector | None = None  # the last failure of a build that blocks all other work

    @property
    def strictness(self) -> Level:
        return LEVELS[max(0, min(self.level, len(LEVELS) - 1))]


@dataclass(frozen=True)
class Allow:
    """The call may run."""


@dataclass(frozen=True)
class Deny:
    """The call must not run; the reason tells the agent what to do instead."""

    rule: Rule
    reason: str


@dataclass(frozen=True)
class Advise:
    """The call may run; the text is for the agent."""

    rule: Rule
    text: str


Judgement = Allow | Deny | Advise


class Finding(NamedTuple):
    """Finding of a rule, before the level decides between denial and advice."""

    rule: Rule
    text: str


# --- guardrails.toml ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A kind of command that is denied; guardrails.toml says what each part means."""

    rule: Rule
    reason: str
    commands: frozenset[str] = frozenset({""})
    git: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    flags: str = ""
    unless: str = ""
    unless_flags: str = ""
    when: str = ""
    anywhere: bool = False


def table() -> Any:
    return load_bundled("helmsman.guardrails", "guardrails.toml")


@cache
def rows() -> tuple[Row, ...]:
    deny_rows = TypeAdapter(tuple[Row, ...]).validate_python(table()["deny"])
    return tuple(replace(row, reason=row.reason.format(**table()["texts"])) for row in deny_rows)
