"""Patterns of a stuck session: failures in a row, the same failure again, alternating failures, reverted edits.

State is folded call by call; advice is returned once for each occasion. Failures differ if their class, place or message
differs, and fewer failing things count as progress. All counts restart when a command that does more than look succeeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from helmsman.guardrails.commands import may_change
from helmsman.guardrails.rules import Advise, Rule, table
from helmsman.guardrails.session import ToolCall, key_of, only_looks
from helmsman.plain import clean
from helmsman.records.agent import FAILURES_IN_ROW, ErrorVector, FailureClass

SAME_FAILURE = 5  # repetitions of the same failure despite changes; as many as failures in a row
STUCK_AFTER = 3
"""Advice on failures in a row after which a fresh session is better."""
LONGEST_QUOTE = 160  # characters of untrusted text in a sentence
TURNS = 4  # failures of an alternating pattern
KEPT_FAULTS, KEPT_CONTENTS, KEPT_FILES = 16, 20, 100
_BROKEN = frozenset({FailureClass.BUILD, FailureClass.SYNTAX, FailureClass.TYPES})
"""Failures that block all other work."""


@dataclass(frozen=True)
class FailureState:
    """Failures of a session so far, of bounded size."""

    in_row: int = 0  # failed commands since a success, or since a change fixed the last failure
    edits_in_row: int = 0  # failed edits since an applied one
    looks_in_row: int = 0  # failed looks since a successful one
    longest: int = 0
    last: ErrorVector | None = None  # the last failure of a command; None after a success
    fewest: int = 0  # its smallest extent
    same: int = 0  # its repetitions in a row, each after a change and with no smaller extent
    changed: bool = False  # whether a file has changed since then
    faults: tuple[tuple[str, str], ...] = ()
    """Commands and their failures as digests, newest last, since the last success; no failure of a command twice in a row."""
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Digests of the contents of files by path, oldest first; the file that changed last is last."""

    @property
    def broken(self) -> ErrorVector | None:
        """The failure that blocks all other work."""
        return self.last if self.last and self.last.kind in _BROKEN else None


Folded = tuple[FailureState, tuple[Advise, ...]]


def fold_success(state: FailureState, call: ToolCall) -> FailureState:
    """Fold a successful call. A look or an edit does not resolve a failure."""
    if call.path:
        return replace(state, changed=True, looks_in_row=0, edits_in_row=0)
    if only_looks(call):
        return replace(state, looks_in_row=0)
    return FailureState(longest=state.longest, versions=state.versions)


def fold_failure(state: FailureState, call: ToolCall, error: ErrorVector) -> Folded:
    """Fold a failed call. The first applicable advice is returned, at each multiple of a limit."""
    if call.path:
        after = _update_longest(replace(state, edits_in_row=state.edits_in_row + 1))
        return after, _advise_on_row(after.edits_in_row, error)
    if only_looks(call):
        after = _update_longest(replace(state, looks_in_row=state.looks_in_row + (error.kind is not FailureClass.OTHER)))
        return after, _advise_on_row(after.looks_in_row, error) if after != state else ()
    before = replace(state, changed=state.changed or may_change(call.commands("")))
    after = _update_longest(_fold_command_failure(before, key_of(call, ""), error))
    if after.same > before.same and after.same % SAME_FAILURE == 0:
        return after, _advise("same_failure", error, times=after.same)
    if advised := _advise_on_row(after.in_row, error):
        return after, advised
    last = after.faults[-1][0] if after.faults else ""
    latest = [failure for command, failure in after.faults if command == last][-TURNS:]
    if after.faults != before.faults and len(latest) == TURNS and latest[:2] == latest[2:]:
        return replace(after, faults=()), _advise("alternating")
    return after, ()


def fold_edit(state: FailureState, path: str, content: str) -> Folded:
    """Fold an imminent change of a file. `content`: digest of its present content, empty if there is no file."""
    earlier = state.versions.get(path, ())
    if earlier[-1:] == (content,):
        return state, ()
    others = [(name, contents) for name, contents in state.versions.items() if name != path][1 - KEPT_FILES :]
    *before, current = earlier or ("",)
    is_reverted = content in before and current in before
    versions = dict([*others, (path, (*earlier, content)[-KEPT_CONTENTS:])])
    return replace(state, versions=versions), _advise("reverted", path=path) if is_reverted else ()


def stuck_reason(state: FailureState) -> str:
    """Why a fresh session is better; empty if it is not."""
    in_row, most = max(state.in_row, state.edits_in_row), STUCK_AFTER * FAILURES_IN_ROW
    return f"{in_row} tool calls failed one after the other ({most} are allowed)" if in_row >= most else ""


def _failure_key(error: ErrorVector) -> str:
    return f"{error.kind}\n{error.where}\n{error.message}"


def _fold_command_failure(state: FailureState, command: str, error: ErrorVector) -> FailureState:
    is_same = state.last is not None and _failure_key(state.last) == _failure_key(error)
    has_fewer = is_same and error.extent < state.fewest
    is_past_last = state.changed and (has_fewer or not is_same)
    fault = command, _failure_key(error)
    failures_of_command = [fault for fault in state.faults if fault[0] == command]
    faults = () if has_fewer else state.faults
    return replace(
        state,
        in_row=1 if is_past_last else state.in_row + 1,
        last=error,
        fewest=error.extent if is_past_last or not is_same else min(error.extent, state.fewest),
        same=state.same + state.changed if is_same and not has_fewer else 1,
        changed=False,
        faults=faults if failures_of_command[-1:] == [fault] and faults else (*faults, fault)[-KEPT_FAULTS:],
    )


def _update_longest(state: FailureState) -> FailureState:
    return replace(state, longest=max(state.longest, state.in_row, state.edits_in_row, state.looks_in_row))


def _advise_on_row(times: int, error: ErrorVector) -> tuple[Advise, ...]:
    return () if times == 0 or times % FAILURES_IN_ROW else _advise("failures", error, times=times)


def _advise(rule: Rule, error: ErrorVector | None = None, *, times: int = 0, path: str = "") -> tuple[Advise, ...]:
    """Advice in the words of guardrails.toml, with a remedy for this class of failure."""
    description = remedy = ""
    if error:
        where = f" at {clean(error.where[:LONGEST_QUOTE])}" if error.where else ""
        description = f"{error.kind}{where}" + (f" ({clean(error.message[:LONGEST_QUOTE])})" if error.message else "")
        remedy = table()["remedies"][error.kind]
    text = table()["advice"][rule]
    return (Advise(rule, text.format(times=times, error=description, path=clean(path[:LONGEST_QUOTE]), remedy=remedy).rstrip()),)
