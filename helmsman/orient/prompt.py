"""From state and orientation to the briefing: which sections, in which order, under which allowance.

Order: the objective and what proves it first, facts from specific to general, the fixed rules, and the objective again at the
end, where models weigh most.
"""

from collections.abc import Sequence

from helmsman.config import LoopConfig
from helmsman.orient.budget import Foreign, Piece, fit, tokens, whole
from helmsman.orient.phases import CLOSING, INTERRUPTED, INVARIANTS, OBJECTIVE, PHASE_0, PHASES_1_TO_4
from helmsman.records.briefing import Briefing, Orientation
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.evidence import Commit
from helmsman.records.memory import WorkingMemory
from helmsman.records.state import LoopState

Section = tuple[str, str]
Fact = tuple[str, Sequence[Piece]]


def brief(state: LoopState, orientation: Orientation) -> Briefing:
    """The prompt of the iteration that is due."""
    facts = [(name, pieces) for name, pieces in _facts(state, orientation) if pieces]
    fitted = _fit(facts, state.config.prompt.orientation_tokens)
    fixed_before, fixed_after = _before(state.config), _after(state)
    sections = [*fixed_before, *fitted, *fixed_after]
    return Briefing(
        prompt="\n\n".join(text for _, text in sections) + "\n",
        sections=tuple((name, tokens(text)) for name, text in sections),
        trimmed=tuple(name for (name, pieces), (_, text) in zip(facts, fitted, strict=True) if whole(pieces) != text),
    )


def _before(config: LoopConfig) -> list[Section]:
    commands = "\n".join(f"    {check.command}" for check in config.checks) or "    (none was given: nothing will be verified)"
    return [
        ("objective", OBJECTIVE.substitute(goal=config.goal.strip(), checks=commands)),
        ("phase 0", PHASE_0.substitute()),
    ]


def _after(state: LoopState) -> list[Section]:
    return [
        ("phases 1-4", PHASES_1_TO_4.substitute()),
        ("invariants", INVARIANTS.substitute(branch=state.branch)),
        ("closing", CLOSING.substitute(goal=state.config.goal.strip(), promise=state.config.completion.promise)),
    ]


def _facts(state: LoopState, orientation: Orientation) -> list[Fact]:
    """What was found out, most specific first."""
    return [
        ("last checks", _last_checks(state.checks)),
        ("unfinished request", _unfinished_request(state)),
        ("interrupted work", _interrupted(state)),
        ("working memory", _memory_problems(state.memory)),
        ("history", _history(orientation.commits, state)),
    ]


def _fit(facts: Sequence[Fact], allowance: int) -> list[Section]:
    """Give each section, in order of rank, what it needs; of what is left, it may take half, or all that the others leave."""
    fitted: list[Section] = []
    for position, (name, pieces) in enumerate(facts):
        others = sum(tokens(whole(after)) for _, after in facts[position + 1 :])
        last = position == len(facts) - 1
        text = fit(pieces, allowance if last else max(allowance // 2, allowance - others))
        allowance -= tokens(text)
        fitted.append((name, text))
    return fitted


def _last_checks(report: CheckReport | None) -> Sequence[Piece]:
    if report is None or not report.results:
        return ()
    if report.passed:
        return ("# Checks\nAll checks passed when they ran last.",)
    heading = f"# Checks\n{len(report.failures)} of {len(report.results)} checks failed when they ran last:"
    return (heading, *(piece for result in report.failures for piece in _failure(result)))


def _failure(result: CheckResult) -> Sequence[Piece]:
    failing = result.counts.failing if result.counts else ()
    output = "\n[…]\n".join(part for part in (result.head.strip(), result.tail.strip()) if part)
    return (
        f"\n## `{result.command}`: {_how(result)}",
        *(("Failing tests:", Foreign("\n".join(failing))) if failing else ()),
        *(("Output:", Foreign(output)) if output else ("It printed nothing.",)),
    )


def _how(result: CheckResult) -> str:
    if result.error:
        return result.error
    if result.timed_out:
        return f"ended after {result.seconds:.0f} s without an exit code"
    return f"exit code {result.exit_code}"


def _unfinished_request(state: LoopState) -> Sequence[Piece]:
    if "completion.unproven" not in state.notes or state.checks is None or not state.checks.failures:
        return ()
    return ("# A claim that did not hold\nAn earlier iteration asked to be done while checks failed. Ask when they pass.",)


def _interrupted(state: LoopState) -> Sequence[Piece]:
    if not state.salvaged:
        return ()
    last = state.salvaged[-1]
    return ("# Interrupted work\n" + INTERRUPTED.substitute(commit=last.commit[:12], files=last.files),)


def _memory_problems(memory: WorkingMemory) -> Sequence[Piece]:
    if not memory.problems:
        return ()
    return ("# Working memory\n`.helmsman/progress.md` had flaws:\n" + "\n".join(f"- {problem}" for problem in memory.problems),)


def _history(commits: Sequence[Commit], state: LoopState) -> Sequence[Piece]:
    if not commits:
        return ()
    log = "\n".join(f"{commit.id[:10]} {commit.subject}" for commit in commits)
    return (f"# What this loop has done so far\nIteration {state.due} begins. Commits, newest first:", Foreign(log))
