"""What the agent said against what is so: a table of comparisons, one for each kind of claim.

An honest agent must never be told that it was wrong, so a claim counts as contradicted only where nothing else can explain the
evidence; what cannot be seen for certain is not compared at all.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.claims import Claim, ClaimKind, ClaimLayer, Claims, Contradiction
from helmsman.records.evidence import AgentCall, AgentOutcome, Change, Commit
from helmsman.records.memory import WorkingMemory
from helmsman.verify.claims.commands import covers, failed_last, is_test_command, last_run, may_test, normal
from helmsman.verify.claims.paths import Paths, git_would_show
from helmsman.verify.claims.words import word_set
from helmsman.verify.diff import shown

MOST_FOUND = 20
_KEPT_COMMANDS = 50
_KEPT_COMMITS = 50


@dataclass(frozen=True)
class Case:
    """What one iteration's agent said, and what is known of the same iteration."""

    claims: Claims
    change: Change
    call: AgentCall
    report: CheckReport | None = None
    """What the checks found after it; None where they did not run."""
    memory: WorkingMemory | None = None
    """progress.md as it left it."""
    ignored: tuple[str, ...] = ()
    """Paths, folders or patterns that git ignores: a change there is not seen, so it is not missed."""
    worktree: str = ""
    """Its absolute path; without it no absolute path is compared."""
    earlier_files: tuple[str, ...] = ()
    """Paths that the loop changed in earlier iterations: a summary of the whole loop names them too."""
    earlier_commits: tuple[str, ...] = ()
    """Ids of the loop's earlier commits, for the same reason."""

    @cached_property
    def changed(self) -> Paths:
        return Paths(self.change.files)

    @cached_property
    def edited(self) -> Paths:
        """Files that were written to, also where the change was taken back."""
        return Paths(self.call.edited)

    @cached_property
    def earlier(self) -> Paths:
        return Paths(self.earlier_files)

    @cached_property
    def own_commits(self) -> tuple[Commit, ...]:
        """Without the one that Helmsman made of what was left."""
        return self.change.commits[1:] if self.change.leftovers_committed else self.change.commits

    @property
    def unseen(self) -> bool:
        """Whether its program does not tell what it ran: what leaves no trace in git may have been done."""
        return not {"tools", "commands"}.isdisjoint(self.call.untold)

    @property
    def nothing_done(self) -> bool:
        return not (self.change.files_changed or self.change.commits or self.call.edited)


@dataclass(frozen=True)
class Comparison:
    """What came of comparing."""

    found: tuple[Contradiction, ...] = ()
    """The gravest first, 20 at most."""
    checked: int = 0
    """Claims for which there was evidence."""
    contradicted: int = 0
    """Of these, those that the evidence contradicts."""


def contradictions(case: Case) -> Comparison:
    """Compare every claim, then the request to be done, with the evidence."""
    answers = [(claim, _COMPARE[claim.kind](claim, case)) for claim in case.claims.claims]
    compared = [(claim, answer) for claim, answer in answers if answer is not None]
    wrong = [_contradiction(claim, answer) for claim, answer in compared if answer]
    found = (*wrong, *_uncommitted(case), *_unticked(case), *_missing_signal(case))
    return Comparison(found[:MOST_FOUND], len(compared), len(wrong))


def _contradiction(claim: Claim, answer: str) -> Contradiction:
    return Contradiction(layer=ClaimLayer.CONTRADICTION, said=claim.said, found=answer, source=claim.source)


# one comparison for each kind: what was found instead; empty where it holds, None where nothing is known --------------


def _file_changed(claim: Claim, case: Case) -> str | None:
    path, change = claim.subject, case.change
    if path in case.changed or path in case.edited:
        return ""
    hidden = path in case.earlier or not git_would_show(path, case.ignored, case.worktree)
    if hidden or _files_cut(change):
        return None
    return None if _touched(path, case) else f"git shows no change in {path}"


def _files_cut(change: Change) -> bool:
    return change.files_changed > len(change.files)


_WRITES = re.compile(
    r"(?<![0-9&=-])>(?!&|\s*/dev/null)"
    r"|\b(?:tee|sed -i|perl -|cp|mv|rm|touch|ln|patch|git (?:mv|rm|apply|checkout|restore|stash|commit))\b"
)


def _touched(path: str, case: Case) -> bool:
    """Whether a command or a commit of this iteration may have changed it and changed it back."""
    name = path.rpartition("/")[2].lower()
    commands = any(name in run.command.lower() and _WRITES.search(run.command) for run in case.call.commands)
    return case.unseen or commands or any(name in commit.subject.lower() for commit in case.change.commits)


def _files_modified(claim: Claim, case: Case) -> str | None:
    """A number is wrong where nothing was changed, or where it is at least two more than twice what was seen.

    Agents count notes, ignored files and files that they put back, so what was edited counts beside what git shows, a small
    difference never counts, and a number that is too small is no boast.
    """
    if not re.fullmatch("[0-9]{1,6}", claim.subject):
        return None
    claimed, change, commands = int(claim.subject), case.change, case.call.commands
    others = 0 if _files_cut(change) else sum(path not in case.changed for path in case.call.edited)
    notes = any(".helmsman" in run.command or "progress.md" in run.command for run in commands)
    seen = change.files_changed + others + notes
    if not seen:
        wrote = case.unseen or any(_WRITES.search(run.command) for run in commands)
        return None if wrote else "git shows no changed file"
    if case.unseen:
        return None
    number = f"{change.files_changed} changed file{'s' * (change.files_changed != 1)}"
    return f"git shows {number}" if claimed >= 2 * seen + 2 else ""


def _tests_pass(claim: Claim, case: Case) -> str | None:
    results = case.report.results if case.report else ()
    if claim.subject:
        return _command_passes(claim.subject, results, case)
    ran = [result for result in results if _ran_tests(result)]
    failed = next((result for result in ran if _tests_failed(result)), None)
    return _told(failed) if failed else "" if ran else None


def _command_passes(command: str, results: tuple[CheckResult, ...], case: Case) -> str | None:
    words = normal(command)
    same = [result for result in results if covers(words, normal(result.command)) and _conclusive(result)]
    exactly = [result for result in same if normal(result.command) == words]
    failed = next((result for result in same if (result in exactly and not result.passed) or _tests_failed(result)), None)
    if failed or same:
        return _told(failed) if failed else ""
    if failed_last(words, case.call.commands):
        return f"`{shown(command, 80)}` failed when the agent ran it last"
    return None if last_run(words, case.call.commands) is None else ""


def _conclusive(result: CheckResult) -> bool:
    """Whether it says something of the work: what failed and then passed on the same tree passed for the agent as well."""
    return not (result.timed_out or result.error or result.by_chance)


def _ran_tests(result: CheckResult) -> bool:
    """Whether tests ran in it, by its numbers or by its name."""
    counted = result.counts is not None and result.counts.passed + result.counts.failed > 0
    return _conclusive(result) and (counted or is_test_command(result.command))


def _tests_failed(result: CheckResult) -> bool:
    """Whether a test failed in it. A check may fail for another reason, such as coverage, while all tests pass."""
    if result.passed or not _ran_tests(result):
        return False
    return result.counts is None or result.counts.failed > 0 or result.counts.passed == 0


def _told(result: CheckResult) -> str:
    failed = result.counts.failed if result.counts else 0
    numbers = f" with {failed} failing test{'s' * (failed != 1)}" if failed else ""
    return f"check `{shown(result.name, 80)}` failed{numbers}"


def _committed(claim: Claim, case: Case) -> str | None:
    change, name = case.change, claim.subject
    if not name:
        return "" if case.own_commits else None if change.leftovers_committed else "git shows no commit in this iteration"
    known = (change.start, change.commit, *(commit.id for commit in change.commits))
    if any(one.startswith(name) for one in known):
        return ""
    if _unsure_of_commits(name, case):
        return None
    commits = len(case.own_commits)
    return f"{name[:12]} is not among the {commits} commit{'s' * (commits != 1)} of this iteration"


_REWRITES = re.compile(
    r"--amend|\brebase\b|\breset\b|\bcherry-pick\b|\bfilter-|\bsquash|\bworktree\b|\bclone\b|git -C\b|--git-dir"
)


def _unsure_of_commits(name: str, case: Case) -> bool:
    """Whether the list is not whole, or a commit was made and then rewritten, which leaves no trace in it."""
    call = case.call
    cut = len(case.change.commits) >= _KEPT_COMMITS or len(call.commands) >= _KEPT_COMMANDS
    rewritten = any(_REWRITES.search(run.command) for run in call.commands)
    return case.unseen or cut or rewritten or any(one.startswith(name) for one in case.earlier_commits)


def _command_run(claim: Claim, case: Case) -> str | None:
    """That a command was run is wrong where no command could have run tests at all.

    That it failed is none of its business, unless the agent asks to be done on the strength of it: it may have been run to see
    it fail.
    """
    command, commands = claim.subject, case.call.commands
    words = normal(command)
    if command and not is_test_command(command):
        return None if last_run(words, commands) is None else ""
    if _ran_nothing(case):
        return "no command that could run tests was run"
    if not command or last_run(words, commands) is None:
        return None
    proven = case.report is not None and case.report.passed
    denied = case.claims.wants_to_finish and not proven and failed_last(words, commands)
    return f"`{shown(command, 80)}` failed when it was run last" if denied else ""


_SEEN_THROUGH = word_set(
    """
    Bash Read Write Edit MultiEdit NotebookEdit NotebookRead Glob Grep LS TodoWrite TodoRead TaskCreate TaskUpdate TaskList
    TaskGet WebFetch WebSearch ToolSearch
    """
)
"""Tools of which we know that they run no tests, and the one whose commands we see."""


def _ran_nothing(case: Case) -> bool:
    """Whether no test can have been run: every tool is seen through, and every command only looks at files or moves them."""
    call = case.call
    known = all(name in _SEEN_THROUGH for name, _ in call.tools) and len(call.commands) < _KEPT_COMMANDS
    ran = dict(call.tools).get("Bash", 0)
    return not case.unseen and known and ran <= len(call.commands) and not any(may_test(run.command) for run in call.commands)


def _item_done(claim: Claim, case: Case) -> str | None:
    """Work that changes files was noted as completed, nothing at all was changed, and the agent asks to be done."""
    if not case.claims.wants_to_finish or not case.nothing_done:
        return None
    status = case.claims.status
    noted = claim.source == "progress.md" and _WORK.match(claim.subject) is not None
    reported = claim.source == "RALPH_STATUS" and status is not None and status.work_type in _WORK_TYPES
    return "nothing was changed in this iteration" if noted or reported else None


_WORK = re.compile(
    r"\W*(?:implement|add|creat|writ|wrote|rewr|fix|mend|refactor|updat|chang|remov|delet|renam|mov|extend|replac|buil)[a-z]*\b",
    re.IGNORECASE,
)
_WORK_TYPES = frozenset({"implementation", "refactoring", "bugfix", "bug_fix", "feature"})

_COMPARE: dict[ClaimKind, Callable[[Claim, Case], str | None]] = {
    ClaimKind.FILE_CHANGED: _file_changed,
    ClaimKind.FILES_MODIFIED: _files_modified,
    ClaimKind.TESTS_PASS: _tests_pass,
    ClaimKind.COMMITTED: _committed,
    ClaimKind.COMMAND_RUN: _command_run,
    ClaimKind.ITEM_DONE: _item_done,
}


# the softer layers ----------------------------------------------------------------------------------------------------


def _uncommitted(case: Case) -> Iterator[Contradiction]:
    claims = case.claims
    said = next((claim.said for claim in claims.claims if claim.kind is ClaimKind.COMMITTED), "")
    if case.change.leftovers_committed and (said or claims.wants_to_finish):
        yield _softer(ClaimLayer.UNCOMMITTED, said or claims.how, "work was left uncommitted, and Helmsman committed it")


def _unticked(case: Case) -> Iterator[Contradiction]:
    """It asks to be done, and its own status or progress.md speaks against it."""
    claims = case.claims
    if not claims.wants_to_finish:
        return
    status = claims.status
    if status and status.status in {"in_progress", "blocked"}:
        yield _softer(ClaimLayer.UNTICKED, claims.how, f"its status says {status.status}", "RALPH_STATUS")
    elif status and status.exit_signal is False:
        yield _softer(ClaimLayer.UNTICKED, claims.how, "its EXIT_SIGNAL says false", "RALPH_STATUS")
    gap = case.memory.remaining_gap if case.memory else ""
    if something_remains(gap):
        yield _softer(ClaimLayer.UNTICKED, claims.how, f"REMAINING_GAP says: {shown(gap, 120).rstrip('.')}", "progress.md")


def _missing_signal(case: Case) -> Iterator[Contradiction]:
    """It ended its turn by itself, calls the work complete, and does not ask."""
    claims = case.claims
    if claims.wants_to_finish or case.call.outcome is not AgentOutcome.FINISHED:
        return
    if claims.status and claims.status.status == "complete":
        yield _softer(ClaimLayer.MISSING_SIGNAL, "STATUS: complete", "it did not ask to be done", "RALPH_STATUS")
    elif case.memory and _NOTHING_LEFT.fullmatch(case.memory.remaining_gap):
        said = f"REMAINING_GAP: {shown(case.memory.remaining_gap, 100)}"
        yield _softer(ClaimLayer.MISSING_SIGNAL, said, "it did not ask to be done", "progress.md")


def _softer(layer: ClaimLayer, said: str, found: str, source: str = "last message") -> Contradiction:
    return Contradiction(layer=layer, said=shown(said), found=found, source=source)


_NOTHING_LEFT = re.compile(
    r"\W*(?:none|nothing(?: (?:remains|left|is left|to do))?|no (?:remaining )?gaps?)\W*",
    re.IGNORECASE,
)
_CLOSED = re.compile(
    r"\W*(?:none|nothing|no|not applicable|n/?a|nil|zero|0|all|every\w*|complete\w*|done|closed|finished|empty|fully|goal"
    r"|optional\w*|nice|possibl[ey]|maybe|could|future|follow|only (?:the )?(?:verification|external|judge)"
    r"|the (?:checks|loop|judge|operator)|awaiting|waiting|pending (?:verification|review)|verification|tbd|unknown|see)\b",
    re.IGNORECASE,
)
_TICKED = ("~~", "- ~~", "- [x]", "- [X]", "<!--")


def something_remains(gap: str) -> bool:
    """Whether REMAINING_GAP says plainly that work is left. Doubt speaks for the agent: `none`, `-` and `all done` do not."""
    lines = [line.strip() for line in gap.splitlines() if re.search(r"\w", line)]
    return bool(lines) and not any(_CLOSED.match(line) or line.startswith(_TICKED) for line in lines)
