"""When a session gets nowhere: failures in a row, the same failure again, failures that take turns, edits taken back.

Values are folded call by call; what has to be said comes back as advice, once for each occasion. A failure counts as another one
where its class, place or message differs, and as progress where fewer things fail. All counts begin again when a command that
does more than look succeeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from helmsman.guardrails.commands import may_change
from helmsman.guardrails.rules import Advise, Rule, table
from helmsman.guardrails.session import ToolCall, key_of, only_looks
from helmsman.plain import clean
from helmsman.records.agent import FAILURES_IN_ROW, ErrorVector, FailureClass

SAME_FAILURE = 5  # how often the same failure may come back over changes: as often as calls may fail in a row
GUTTER = 3
"""Times the failures in a row at which the agent was told, until a fresh session serves better: it was told three times."""
LONGEST_TOLD = 160  # characters of foreign text in a sentence
TURNS = 4  # failures of which each is followed by the other one
KEPT_FAULTS, KEPT_CONTENTS, KEPT_FILES = 16, 20, 100
_BROKEN = frozenset({FailureClass.BUILD, FailureClass.SYNTAX, FailureClass.TYPES})
"""Failures after which new work stands on nothing."""


@dataclass(frozen=True)
class Trouble:
    """What went wrong so far; its size is bounded."""

    in_row: int = 0  # commands that failed since one succeeded or a change got past the last failure
    edits_in_row: int = 0  # edits that could not be applied since one was
    looks_in_row: int = 0  # looks that failed since one succeeded
    longest: int = 0
    last: ErrorVector | None = None  # the last failure of a command; None after one that succeeded
    fewest: int = 0  # the smallest extent that it was seen with
    same: int = 0  # how often it came back one after the other, each time after something was changed and with no smaller extent
    changed: bool = False  # whether a file was changed since then
    faults: tuple[tuple[str, str], ...] = ()
    """Commands and how they failed, by digest, newest last, since the last success; of one command each once in turn."""
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Digests of the contents that files were seen with, oldest first; by path, the one that was changed last comes last."""

    @property
    def broken(self) -> ErrorVector | None:
        """The failure that stands in the way of all else."""
        return self.last if self.last and self.last.kind in _BROKEN else None


Told = tuple[Trouble, tuple[Advise, ...]]


def succeeded(trouble: Trouble, call: ToolCall) -> Trouble:
    """A call came through. A look and an edit say nothing of the failure that they are about."""
    if call.path:
        return replace(trouble, changed=True, looks_in_row=0, edits_in_row=0)
    if only_looks(call):
        return replace(trouble, looks_in_row=0)
    return Trouble(longest=trouble.longest, versions=trouble.versions)


def failed(trouble: Trouble, call: ToolCall, error: ErrorVector) -> Told:
    """A call failed. The first thing there is to say about it comes back, at each multiple of a limit."""
    if call.path:
        after = _longest(replace(trouble, edits_in_row=trouble.edits_in_row + 1))
        return after, _in_row(after.edits_in_row, error)
    if only_looks(call):
        after = _longest(replace(trouble, looks_in_row=trouble.looks_in_row + (error.kind is not FailureClass.OTHER)))
        return after, _in_row(after.looks_in_row, error) if after != trouble else ()
    before = replace(trouble, changed=trouble.changed or may_change(call.commands("")))
    after = _longest(_command_failed(before, key_of(call, ""), error))
    if after.same > before.same and after.same % SAME_FAILURE == 0:
        return after, _advise("same_failure", error, times=after.same)
    if said := _in_row(after.in_row, error):
        return after, said
    last = after.faults[-1][0] if after.faults else ""
    turns = [failure for command, failure in after.faults if command == last][-TURNS:]
    if after.faults != before.faults and len(turns) == TURNS and turns[:2] == turns[2:]:
        return replace(after, faults=()), _advise("alternating")
    return after, ()


def saw(trouble: Trouble, path: str, content: str) -> Told:
    """A file is about to be changed; `content` is the digest of what it holds, empty where there is no file."""
    known = trouble.versions.get(path, ())
    if known[-1:] == (content,):
        return trouble, ()
    others = [(name, contents) for name, contents in trouble.versions.items() if name != path][1 - KEPT_FILES :]
    *before, left = known or ("",)
    back = content in before and left in before
    versions = dict([*others, (path, (*known, content)[-KEPT_CONTENTS:])])
    return replace(trouble, versions=versions), _advise("reverted", path=path) if back else ()


def gutter(trouble: Trouble) -> str:
    """Why a fresh session serves better; empty where it does not."""
    in_row, most = max(trouble.in_row, trouble.edits_in_row), GUTTER * FAILURES_IN_ROW
    return f"{in_row} tool calls failed one after the other ({most} are allowed)" if in_row >= most else ""


def _key(error: ErrorVector) -> str:
    return f"{error.kind}\n{error.where}\n{error.message}"


def _command_failed(trouble: Trouble, command: str, error: ErrorVector) -> Trouble:
    same = trouble.last is not None and _key(trouble.last) == _key(error)
    fewer = same and error.extent < trouble.fewest
    got_past = trouble.changed and (fewer or not same)
    fault = command, _key(error)
    of_command = [one for one in trouble.faults if one[0] == command]
    known = () if fewer else trouble.faults
    return replace(
        trouble,
        in_row=1 if got_past else trouble.in_row + 1,
        last=error,
        fewest=error.extent if got_past or not same else min(error.extent, trouble.fewest),
        same=trouble.same + trouble.changed if same and not fewer else 1,
        changed=False,
        faults=known if of_command[-1:] == [fault] and known else (*known, fault)[-KEPT_FAULTS:],
    )


def _longest(trouble: Trouble) -> Trouble:
    return replace(trouble, longest=max(trouble.longest, trouble.in_row, trouble.edits_in_row, trouble.looks_in_row))


def _in_row(times: int, error: ErrorVector) -> tuple[Advise, ...]:
    return () if times == 0 or times % FAILURES_IN_ROW else _advise("failures", error, times=times)


def _advise(rule: Rule, error: ErrorVector | None = None, *, times: int = 0, path: str = "") -> tuple[Advise, ...]:
    """In the words of guardrails.toml, with what to do next about this class of failure."""
    told = remedy = ""
    if error:
        where = f" at {clean(error.where[:LONGEST_TOLD])}" if error.where else ""
        told = f"{error.kind}{where}" + (f" ({clean(error.message[:LONGEST_TOLD])})" if error.message else "")
        remedy = table()["remedies"][error.kind]
    words = table()["advice"][rule]
    return (Advise(rule, words.format(times=times, error=told, path=clean(path[:LONGEST_TOLD]), remedy=remedy).rstrip()),)
