"""When a session gets nowhere: failures in a row, the same failure again, approaches that alternate, edits taken back.

Values are folded call by call; what has to be said comes back as advice, once for each occasion. A failure counts as another one
where its class, place or message differs, and as progress where fewer things fail. All counts begin again when a command that
does more than look succeeds.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from helmsman.orient.guardrails.looks import may_change
from helmsman.orient.guardrails.rules import Advise, Rule
from helmsman.orient.guardrails.tool_calls import ToolCall, key_of, only_looks
from helmsman.records.session import ErrorVector, FailureClass

SAME_FAILURE = 5
"""How often the same failure may come back over changes: as often as calls may fail in a row."""
GUTTER = 3
"""Times the failures in a row at which the agent was told, until a fresh session serves better: it was told three times."""
KEPT_MOVES = 4
KEPT_FAULTS = 16
KEPT_CONTENTS = 20
KEPT_FILES = 100
BROKEN = frozenset({FailureClass.BUILD, FailureClass.SYNTAX, FailureClass.TYPES})
"""Failures after which new work stands on nothing."""


class Versions(NamedTuple):
    """Digests of the contents that a file was seen with, oldest first."""

    path: str
    contents: tuple[str, ...]


class Fault(NamedTuple):
    """A command and how it failed, by digest."""

    command: str
    failure: str


@dataclass(frozen=True)
class Trouble:
    """What went wrong so far; its size is bounded."""

    in_row: int = 0
    """Commands that failed since one succeeded or a change got past the last failure."""
    edits_in_row: int = 0
    """Edits that could not be applied since one was."""
    looks_in_row: int = 0
    """Looks that failed since one succeeded."""
    longest: int = 0
    last: ErrorVector | None = None
    """The last failure of a command; None after one that succeeded."""
    fewest: int = 0
    """The smallest extent that it was seen with."""
    same: int = 0
    """How often it came back one after the other, each time after something was changed and with no smaller extent."""
    changed: bool = False
    """Whether a file was changed since then."""
    moves: tuple[str, ...] = ()
    """Commands that failed since the last change, newest last."""
    faults: tuple[Fault, ...] = ()
    """Failures since the last success, newest last, of one command each once until another comes."""
    versions: tuple[Versions, ...] = ()

    @property
    def broken(self) -> ErrorVector | None:
        """The failure that stands in the way of all else."""
        return self.last if self.last and self.last.kind in BROKEN else None


Told = tuple[Trouble, tuple[Advise, ...]]


def succeeded(trouble: Trouble, call: ToolCall) -> Trouble:
    """A call came through. A look and an edit say nothing of the failure that they are about."""
    if call.path:
        return replace(trouble, changed=True, moves=(), looks_in_row=0, edits_in_row=0)
    if only_looks(call):
        return replace(trouble, looks_in_row=0)
    return Trouble(longest=trouble.longest, versions=trouble.versions)


def failed(trouble: Trouble, call: ToolCall, error: ErrorVector, limit: int) -> Told:
    """A call failed. The first thing there is to say about it comes back, at each multiple of a limit."""
    if call.path:
        after = _longest(replace(trouble, edits_in_row=trouble.edits_in_row + 1))
        return after, _in_row(after.edits_in_row, error, limit)
    if only_looks(call):
        after = _longest(replace(trouble, looks_in_row=trouble.looks_in_row + (error.kind is not FailureClass.OTHER)))
        return after, _in_row(after.looks_in_row, error, limit) if after != trouble else ()
    before = replace(trouble, changed=trouble.changed or may_change(call.commands("")))
    after = _longest(_command_failed(before, key_of(call, ""), error))
    return _said(before, after, error, limit)


def saw(trouble: Trouble, path: str, content: str) -> Told:
    """A file is about to be changed; `content` is the digest of what it holds, empty where there is no file."""
    known = next((one for one in trouble.versions if one.path == path), Versions(path, ()))
    if known.contents[-1:] == (content,):
        return trouble, ()
    versions = Versions(path, (*known.contents, content)[-KEPT_CONTENTS:])
    others = tuple(one for one in trouble.versions if one.path != path)
    after = replace(trouble, versions=(*others, versions)[-KEPT_FILES:])
    *before, left = known.contents or ("",)
    back = content in before and left in before
    return after, _reverted(path) if back else ()


def gutter(trouble: Trouble, limit: int) -> str:
    """Why a fresh session serves better; empty where it does not."""
    in_row = max(trouble.in_row, trouble.edits_in_row)
    if in_row < GUTTER * limit:
        return ""
    return f"{in_row} tool calls failed one after the other ({GUTTER * limit} are allowed)"


def _key(error: ErrorVector) -> str:
    return f"{error.kind}\n{error.where}\n{error.message}"


def _command_failed(trouble: Trouble, command: str, error: ErrorVector) -> Trouble:
    same = trouble.last is not None and _key(trouble.last) == _key(error)
    fewer = same and error.extent < trouble.fewest
    got_past = trouble.changed and (fewer or not same)
    fault = Fault(command, _key(error))
    of_command = [one for one in trouble.faults if one.command == command]
    known = () if fewer else trouble.faults
    return replace(
        trouble,
        in_row=1 if got_past else trouble.in_row + 1,
        last=error,
        fewest=error.extent if got_past or not same else min(error.extent, trouble.fewest),
        same=trouble.same + trouble.changed if same and not fewer else 1,
        changed=False,
        moves=(*(() if trouble.changed else trouble.moves), command)[-KEPT_MOVES:],
        faults=known if of_command[-1:] == [fault] and known else (*known, fault)[-KEPT_FAULTS:],
    )


def _longest(trouble: Trouble) -> Trouble:
    return replace(trouble, longest=max(trouble.longest, trouble.in_row, trouble.edits_in_row, trouble.looks_in_row))


def _said(before: Trouble, after: Trouble, error: ErrorVector, limit: int) -> Told:
    if after.same > before.same and after.same % SAME_FAILURE == 0:
        return after, _same_again(after.same, error)
    if said := _in_row(after.in_row, error, limit):
        return after, said
    if _takes_turns(after.moves):
        return replace(after, moves=()), _advise(Rule.ALTERNATING, _MOVES)
    last = after.faults[-1].command if after.faults else ""
    if after.faults != before.faults and _takes_turns(tuple(one.failure for one in after.faults if one.command == last)[-4:]):
        return replace(after, faults=()), _advise(Rule.ALTERNATING, _FAULTS)
    return after, ()


def _takes_turns(kept: tuple[str, ...]) -> bool:
    match kept:
        case (a, b, c, d):
            return a == c and b == d and a != b
        case _:
            return False


def _advise(rule: Rule, text: str) -> tuple[Advise, ...]:
    return (Advise(rule, text),)


_MOVES = (
    "Two commands that fail are run in turns and nothing is changed in between, so both will fail again. Change what one of them"
    " complains of, or look at what it needs to run."
)
_FAULTS = (
    "Two failures take turns: what fixes one brings back the other. Look at both together and write down in one sentence what"
    " they have in common before the next change."
)


def _in_row(times: int, error: ErrorVector, limit: int) -> tuple[Advise, ...]:
    if times == 0 or times % limit:
        return ()
    text = (
        f"{times} tool calls of one kind have failed one after the other, the last one as {_told(error)}. Stop and look: read the"
        f" whole message of the first failure and the code that it points at, say in one sentence what causes it, then make the"
        f" smallest change that tests this. {REMEDIES[error.kind]}"
    )
    return _advise(Rule.FAILURES, text)


def _same_again(times: int, error: ErrorVector) -> tuple[Advise, ...]:
    text = (
        f"The same failure has come back {times} times over changes: {_told(error)}. Its cause may be somewhere else. Show that"
        f" the code which you change is the code that runs. {REMEDIES[error.kind]}"
    )
    return _advise(Rule.SAME_FAILURE, text)


def _reverted(path: str) -> tuple[Advise, ...]:
    text = (
        f"`{_name(path)}` goes back and forth between two contents: two approaches take turns. Write down in"
        " .helmsman/progress.md why each of them fails, then choose a third one."
    )
    return _advise(Rule.REVERTED, text)


REMEDIES: dict[FailureClass, str] = {
    FailureClass.TEST: "Run one failing test alone and compare what it expects with what it gets.",
    FailureClass.BUILD: "Fix only the first error of the build; those behind it often follow from it.",
    FailureClass.TYPES: "Take the first error and look up the types that it names.",
    FailureClass.LINT: "Run the linter on one file and fix what it names, or use its own fixer.",
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
