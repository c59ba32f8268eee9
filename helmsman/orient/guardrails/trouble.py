"""When a session gets nowhere: failures in a row, the same failure again, approaches that alternate, edits taken back.

Values are folded call by call; what has to be said comes back as advice, once for each occasion. All counts begin again when
a command that does more than look succeeds.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from helmsman.orient.guardrails.looks import is_look
from helmsman.orient.guardrails.rules import Advise, Rule
from helmsman.orient.guardrails.tool_calls import ToolCall, key_of
from helmsman.records.session import ErrorVector, FailureClass

SAME_FAILURE = 5
"""How often the same failure may come back over changes: as often as calls may fail in a row."""
GUTTER = 3
"""Times the failures in a row at which the agent was told, until a fresh session serves better: it was told three times."""
RETURNS = 2
"""Times that a file comes back to an earlier content. Once is an undo, twice is A/B/A/B."""
KEPT_MOVES = 4
KEPT_CONTENTS = 20
KEPT_FILES = 100
BROKEN = frozenset({FailureClass.BUILD, FailureClass.SYNTAX, FailureClass.TYPES})
"""Failures after which new work stands on nothing."""


class Versions(NamedTuple):
    """Digests of the contents that a file had, oldest first, and how often it came back to one of them."""

    path: str
    contents: tuple[str, ...]
    returns: int = 0


@dataclass(frozen=True)
class Trouble:
    """What went wrong so far; its size is bounded."""

    in_row: int = 0
    """Commands and edits that failed since a command succeeded or a change got past the last failure."""
    looks_in_row: int = 0
    """Looks that failed since one succeeded."""
    longest: int = 0
    last: ErrorVector | None = None
    """The last failure of a command; None after one that succeeded."""
    same: int = 0
    """How often it came back one after the other, each time after something was changed."""
    changed: bool = False
    """Whether a file was changed since then."""
    moves: tuple[str, ...] = ()
    """Commands that failed since the last change, newest last."""
    faults: tuple[str, ...] = ()
    """Failures since the last success, newest last, each once until another comes."""
    versions: tuple[Versions, ...] = ()

    @property
    def broken(self) -> ErrorVector | None:
        """The failure that stands in the way of all else."""
        return self.last if self.last and self.last.kind in BROKEN else None


def succeeded(trouble: Trouble, call: ToolCall) -> Trouble:
    """A call came through. A look and an edit say nothing of the failure that they are about."""
    if call.path:
        return replace(trouble, changed=True, moves=(), looks_in_row=0)
    if _looks(call):
        return replace(trouble, looks_in_row=0)
    return Trouble(longest=trouble.longest, versions=trouble.versions)


def failed(trouble: Trouble, call: ToolCall, error: ErrorVector, limit: int) -> tuple[Trouble, tuple[Advise, ...]]:
    """A call failed. The first thing there is to say about it comes back, at each multiple of a limit."""
    if _looks(call):
        after = _longest(replace(trouble, looks_in_row=trouble.looks_in_row + (error.kind is not FailureClass.OTHER)))
        return after, _in_row(after.looks_in_row, error, limit) if after != trouble else ()
    if call.path:
        after = _longest(replace(trouble, in_row=trouble.in_row + 1))
        return after, _in_row(after.in_row, error, limit)
    after = _longest(_command_failed(trouble, call, error))
    return after, (*_same_again(after), *_in_row(after.in_row, error, limit), *_alternating(after))[:1]


def _command_failed(trouble: Trouble, call: ToolCall, error: ErrorVector) -> Trouble:
    same = trouble.last is not None and _key(trouble.last) == _key(error)
    got_past = trouble.changed and not same
    fault = _key(error)
    return replace(
        trouble,
        in_row=1 if got_past else trouble.in_row + 1,
        last=error,
        same=trouble.same + trouble.changed if same else 1,
        changed=False,
        moves=(*trouble.moves, key_of(call, ""))[-KEPT_MOVES:],
        faults=trouble.faults if trouble.faults[-1:] == (fault,) else (*trouble.faults, fault)[-KEPT_MOVES:],
    )


def _longest(trouble: Trouble) -> Trouble:
    return replace(trouble, longest=max(trouble.longest, trouble.in_row, trouble.looks_in_row))


def wrote(trouble: Trouble, path: str, before: str, after: str) -> tuple[Trouble, tuple[Advise, ...]]:
    """A file was changed from one content to another, both by digest, empty where there was no file."""
    known = next((one for one in trouble.versions if one.path == path), Versions(path, ()))
    contents = known.contents if known.contents[-1:] == (before,) else (*known.contents, before)
    returns = known.returns + (after in contents[:-1])
    versions = Versions(path, (*contents, after)[-KEPT_CONTENTS:], returns)
    others = tuple(one for one in trouble.versions if one.path != path)
    changed = replace(trouble, versions=(*others, versions)[-KEPT_FILES:])
    return changed, _reverted(versions) if after in contents[:-1] else ()


def gutter(trouble: Trouble, limit: int) -> str:
    """Why a fresh session serves better; empty where it does not."""
    if trouble.in_row < GUTTER * limit:
        return ""
    about = f", the last one of class {trouble.last.kind}" if trouble.last else ""
    return f"{trouble.in_row} tool calls failed one after the other ({GUTTER * limit} are allowed){about}"


def _looks(call: ToolCall) -> bool:
    return not call.path and (not call.command or is_look(call.commands("")))


def _key(error: ErrorVector) -> str:
    return f"{error.kind}\n{error.where}\n{error.message}"


def _in_row(times: int, error: ErrorVector, limit: int) -> tuple[Advise, ...]:
    if times % limit:
        return ()
    return (
        Advise(
            Rule.FAILURES,
            f"{times} tool calls have failed one after the other, the last one as {_told(error)}. Stop and look: read the"
            f" whole message of the first failure and the code that it points at, say in one sentence what causes it, then make"
            f" the smallest change that tests this. {REMEDIES[error.kind]}",
        ),
    )


def _same_again(trouble: Trouble) -> tuple[Advise, ...]:
    if trouble.last is None or trouble.same % SAME_FAILURE:
        return ()
    return (
        Advise(
            Rule.SAME_FAILURE,
            f"The same failure has come back {trouble.same} times whatever was changed: {_told(trouble.last)}. Its cause is"
            f" somewhere else. Show that the code which you change is the code that runs. {REMEDIES[trouble.last.kind]}",
        ),
    )


def _alternating(trouble: Trouble) -> tuple[Advise, ...]:
    """A/B/A/B, of commands while nothing changes, or of failures while things do."""
    what = "commands that fail" if _takes_turns(trouble.moves) else "failures" if _takes_turns(trouble.faults) else ""
    if not what:
        return ()
    return (
        Advise(
            Rule.ALTERNATING,
            f"Two {what} take turns: what mends the one brings the other. Look at both together and write down in one sentence"
            " what they have in common before the next change.",
        ),
    )


def _takes_turns(kept: tuple[str, ...]) -> bool:
    match kept:
        case (a, b, c, d):
            return a == c and b == d and a != b
        case _:
            return False


def _reverted(versions: Versions) -> tuple[Advise, ...]:
    if versions.returns % RETURNS:
        return ()
    return (
        Advise(
            Rule.REVERTED,
            f"`{_name(versions.path)}` is back at a content that it had before, for the {versions.returns}. time: two approaches"
            " take turns. Write down in .helmsman/progress.md why each of them fails, then choose a third one.",
        ),
    )


REMEDIES: dict[FailureClass, str] = {
    FailureClass.TEST: "Run one failing test alone and compare what it expects with what it gets.",
    FailureClass.BUILD: "Mend the first error of the build only; those behind it often follow from it.",
    FailureClass.TYPES: "Take the first error and look up the types that it names.",
    FailureClass.LINT: "Run the linter on one file and mend what it names, or use its own fixer.",
    FailureClass.SYNTAX: "Read the lines around the place that is named, brackets and indentation first.",
    FailureClass.MISSING_MODULE: "Look how this project installs what it needs and from which folder its own commands run.",
    FailureClass.MISSING_FILE: "List the folder first and use the path as it is there.",
    FailureClass.MISSING_COMMAND: "Look which tools are installed (`command -v`) and which the project's own scripts use.",
    FailureClass.USAGE: "Read the program's `--help` for the version that is installed.",
    FailureClass.EDIT: "Read the file again and copy the lines to replace exactly as they are now.",
    FailureClass.PERMISSION: "Work inside the working tree; what needs more rights is not part of this work.",
    FailureClass.NETWORK: "There may be no network here: use what is installed or in the repository.",
    FailureClass.TIMEOUT: "Run a smaller part, or find what waits for something that never comes.",
    FailureClass.RESOURCES: "Run a smaller part; nothing in the code can be told from a process that was killed.",
    FailureClass.GIT: "Look at `git status` first; commit or put aside what is there.",
    FailureClass.EXCEPTION: "Read the last frame in the project's own code and the values it had.",
    FailureClass.OTHER: "Make the command tell more: one step at a time, verbose, without a pipe behind it.",
}
"""What to do next, by class."""


def _told(error: ErrorVector) -> str:
    where = f" at {_name(error.where)}" if error.where else ""
    return f"{error.kind}{where}" + (f" ({_name(error.message)})" if error.message else "")


def _name(text: str) -> str:
    """Foreign text in a sentence: printable and bounded."""
    return "".join(char if char.isprintable() else " " for char in text[:160])
