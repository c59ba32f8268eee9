"""Tool calls as the agent's hook reports them, a session's memory of earlier calls, and the answers."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from posixpath import normpath
from typing import Any, NamedTuple, cast

from helmsman.guardrails.commands import findings, is_look, may_change, written_paths
from helmsman.guardrails.git import branches_made, commits_after, git_of
from helmsman.guardrails.paths import display, locate, write_finding
from helmsman.guardrails.rules import Advise, Allow, Deny, Finding, Judgement, Rules, table
from helmsman.parsers.agent_actions import WRITERS
from helmsman.parsers.shell import Command, commands
from helmsman.plain import word_set

KEPT_CALLS, KEPT_BRANCHES = 200, 50
_LONGEST_ARGUMENTS = 20_000
_LOOKS = frozenset({"Read", "Grep", "Glob", "LS"})
_EDITS_LOOKED_AT = 100
_REMOVERS = word_set("rm unlink shred truncate sed gsed perl")
"""Programs that remove content. Others may only add to a file or restore it; the diff shows that later."""
_PLACE = re.compile(r"\.\w{1,10}:\d")
_MISSING = re.compile(
    r"(?i)undefined|undeclared|not declared|cannot find|can't find|not found|no such|unresolved|missing|does not exist|not exist"
    r"|unknown|E0583|TS2307|TS2304"
)
_LONGEST_GOAL = 4000
_ENDS = (";", "&& true", "&&true", "; true", "|| true", "||true")


@dataclass(frozen=True)
class ToolCall:
    """Input of the hook; the values of the arguments come from the agent and may have any type."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cwd: str = ""

    @property
    def command(self) -> str:
        return self._text("command") if self.tool == "Bash" else ""

    @property
    def path(self) -> str:
        """The file that a tool writes; empty if it writes none."""
        return self._text(WRITERS[self.tool]) or self._text("file_path") if self.tool in WRITERS else ""

    def folder(self, otherwise: str) -> str:
        """Working directory of the call."""
        return self.cwd if self.cwd.startswith("/") else otherwise

    def commands(self, worktree: str, home: str = "") -> tuple[Command, ...]:
        return commands(self.command, self.folder(worktree), home) if self.command else ()

    def _text(self, name: str) -> str:
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""


class SeenCall(NamedTuple):
    """A call by the digest of its normal form, since the last change."""

    key: str
    times: int  # with the same outcome, as far as known
    failed: bool = False
    outcome: str = ""  # digest of its last output; empty if unknown


@dataclass(frozen=True)
class Session:
    """State of a session, of bounded size."""

    worktree: str = ""
    seen: tuple[SeenCall, ...] = ()  # newest last, KEPT_CALLS at most
    commits: int = 0  # commits of this session that are still on the branch, according to its commands
    branches: tuple[str, ...] = ()  # branches made in this session
    background: bool = False  # whether anything was started in the background

    def earlier_calls(self, call: ToolCall) -> SeenCall:
        """The earlier calls like this one since the last change."""
        key = key_of(call, self.worktree)
        return next((seen for seen in self.seen if seen.key == key), SeenCall(key, 0))


def evaluate(call: ToolCall, session: Session, rules: Rules) -> Judgement:
    """Return the first denial, else the first advice. Pass the session before this call, then fold the call into it.

    This is a guard rail for a well-meaning agent, not a sandbox: whatever the text of a call does not show is allowed.
    """
    current, script = replace(session, worktree=session.worktree or rules.worktree), call.commands(rules.worktree, rules.home)
    found = [*findings(script, rules, current.commits, current.branches, background=current.background)]
    places = [(call.path, call.folder(rules.worktree), False)] if call.path else []
    for command in script:
        folder = git_of(command, rules.home).folder
        places += [(word, folder, command.program == "mkdir") for word in written_paths(command)]
    for word, folder, empty in places:
        if finding := write_finding(word, folder, rules, folders_only=empty):
            found.append(finding)
    found += [*work_findings(call, script, rules), *(_repetition_findings(call, current, rules) if is_counted(call) else ())]
    for finding in found:
        if finding.rule not in rules.strictness.advised:
            return Deny(finding.rule, finding.text)
    return Advise(found[0].rule, found[0].text) if found else Allow()


def _repetition_findings(call: ToolCall, session: Session, rules: Rules) -> Iterator[Finding]:
    """Findings on a call that is repeated without a change in between."""
    earlier, strictness = session.earlier_calls(call), rules.strictness
    if only_looks(call, session.worktree):
        if earlier.times + 1 >= strictness.same_look:
            yield Finding("repeated_look", f"You already looked at this {earlier.times} times, and nothing has changed since.")
    elif earlier.times + 1 >= strictness.same_command:
        times = {1: "once", 2: "twice"}.get(earlier.times, f"{earlier.times} times")
        outcome = "and it failed; it will fail again" if earlier.failed else "and its result will be the same"
        yield Finding(
            "repeated",
            f"The same command ran {times} with no file change in between, {outcome}. Read its last output, change"
            " the code or the command, or look at one failing part alone.",
        )


def record_call(session: Session, call: ToolCall) -> Session:
    """The session after a call was judged, before it runs or when it is denied."""
    script = call.commands(session.worktree)
    all_branches = tuple(dict.fromkeys((*session.branches, *branches_made(script))))
    starts_background = any(command.background or not {"setsid", "nohup"}.isdisjoint(command.wrappers) for command in script)
    starts_background |= call.tool == "Bash" and call.arguments.get("run_in_background") is True
    counted = _update_call(session, call, lambda earlier: earlier._replace(times=earlier.times + 1))
    return replace(counted, branches=all_branches[-KEPT_BRANCHES:], background=session.background or starts_background)


def record_result(session: Session, call: ToolCall, failed: bool, changed: bool, outcome: str = "") -> Session:
    """The session after a call has run. `changed`: a tool that changes files has succeeded since; all counts restart.

    A command that may have changed something makes every other command new, but not its own repetition. A command with
    another `outcome` than before, by digest, is not a repetition.
    """
    script = call.commands(session.worktree)
    commits = commits_after(session.commits, script, session.worktree, failed=failed)
    if changed or (call.path and not failed):
        return replace(session, seen=(), commits=commits)

    def with_outcome(earlier: SeenCall) -> SeenCall:
        is_different = bool(outcome and earlier.outcome) and outcome != earlier.outcome
        return earlier._replace(times=1 if is_different else earlier.times, failed=failed, outcome=outcome or earlier.outcome)

    updated = _update_call(session, call, with_outcome)
    remaining = (updated.earlier_calls(call),) if may_change(script) else updated.seen
    return replace(updated, seen=remaining, commits=commits)


def _update_call(session: Session, call: ToolCall, change: Callable[[SeenCall], SeenCall]) -> Session:
    if not is_counted(call):
        return session
    earlier = session.earlier_calls(call)
    others = tuple(seen for seen in session.seen if seen.key != earlier.key)
    return replace(session, seen=(*others, change(earlier))[-KEPT_CALLS:])


def is_counted(call: ToolCall) -> bool:
    """Whether its repetitions are counted: commands and looks into files."""
    return bool(call.command.strip()) or call.tool in _LOOKS


def only_looks(call: ToolCall, worktree: str = "") -> bool:
    """Whether a call changes nothing."""
    return not call.command or is_look(call.commands(worktree))


def key_of(call: ToolCall, worktree: str) -> str:
    """Digest of a call and its folder, independent of spacing and notation of paths."""
    folder, top = call.folder(worktree), normpath(worktree) if worktree else ""
    folder, text = normpath(folder).removeprefix(top) if worktree else folder, " ".join(call.command.split())
    if text and worktree.strip("/"):
        text = text.removeprefix(f"cd {top} && ").replace(f"{top}/", "")
    while end := next((end for end in _ENDS if text.endswith(end)), ""):
        text = text[: -len(end)].rstrip()
    if not call.command:
        with suppress(TypeError, ValueError, RecursionError):
            text = json.dumps(call.arguments, sort_keys=True, default=str)[:_LONGEST_ARGUMENTS]
    digest_input = f"{call.tool}\n{folder}\n{text}"
    return sha256(digest_input.encode("utf-8", "backslashreplace")).hexdigest()[:32]


# --- rules about the work itself: tests that judge a fix stay unchanged, and a broken build is fixed before new work


def is_fix(goal: str) -> bool:
    """Whether the goal is only a fix that existing tests judge; False in doubt."""
    text = goal[:_LONGEST_GOAL]
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), text)
    fix, other_work, test_too, of_tests = (re.compile(form, re.IGNORECASE) for form in table()["goals"].values())
    return bool(fix.match(first)) and not other_work.search(test_too.sub("", text)) and not of_tests.search(text)


def work_findings(call: ToolCall, script: Sequence[Command], rules: Rules) -> Iterator[Finding]:
    """Findings on a call in the context of the goal and the build."""
    for path in _paths_losing_content(call, script, rules) if rules.fix else ():
        if rules.tests(path):
            yield Finding(
                "judging_tests",
                f"{display(path)} judges this fix: keep its assertions and change the code. You may add tests; if a test"
                " is wrong, end with BLOCKED and show where.",
            )
    failure = rules.broken
    if call.tool != "Write" or failure is None or not _PLACE.search(failure.where) or _MISSING.search(failure.message):
        return  # the new file may be what is missing
    if any(not rules.exists(f"{rules.worktree}/{path}") for path in _paths_inside(call.path, call.folder(rules.worktree), rules)):
        text = (
            f"The build is broken ({failure.kind} at {display(failure.where)}). Fix that first: nothing else can be tested now."
        )
        yield Finding("broken_build", text)


def _paths_losing_content(call: ToolCall, script: Sequence[Command], rules: Rules) -> Iterator[str]:
    """Files inside the worktree that lose content.

    Content that a complete rewrite of a file omits shows in the diff later.
    """
    several = call.arguments.get("edits")
    edits = cast("list[Any]", several)[:_EDITS_LOOKED_AT] if isinstance(several, list) else [call.arguments]
    for edit in edits if call.path else ():
        match edit:
            case {"old_string": str(old), "new_string": str(new)} if old.strip() not in new:
                yield from _paths_inside(call.path, call.folder(rules.worktree), rules)
            case _:
                pass
    for command in script:
        git = git_of(command, rules.home)
        if command.program in _REMOVERS or git.verb == "rm":
            for word in written_paths(command):
                yield from _paths_inside(word, git.folder, rules)


def _paths_inside(word: str, folder: str | None, rules: Rules) -> Iterator[str]:
    place = locate(word, folder, rules)
    if place is not None and place.kind == "inside":
        yield place.path
