"""From state and orientation to the briefing: which sections, in which order, under which allowance.

Order: the objective and what proves it first, facts from specific to general, the fixed rules, and the objective again at the
end, where models weigh most.
"""

from collections.abc import Sequence

from helmsman.config import LoopConfig
from helmsman.orient.budget import fence, tokens, trim
from helmsman.orient.phases import CLOSING, INTERRUPTED, INVARIANTS, OBJECTIVE, PHASE_0, PHASES_1_TO_4
from helmsman.records.briefing import Briefing, Orientation
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.evidence import Commit
from helmsman.records.memory import WorkingMemory
from helmsman.records.state import LoopState

Section = tuple[str, str]


def brief(state: LoopState, orientation: Orientation) -> Briefing:
    """The prompt of the iteration that is due."""
    facts = [(name, text) for name, text in _facts(state, orientation) if text]
    fitted = _fit(facts, state.config.prompt.orientation_tokens)
    fixed_before, fixed_after = _before(state.config), _after(state)
    sections = [*fixed_before, *fitted, *fixed_after]
    return Briefing(
        prompt="\n\n".join(text for _, text in sections) + "\n",
        sections=tuple((name, tokens(text)) for name, text in sections),
        trimmed=tuple(name for (name, text), (_, cut) in zip(facts, fitted, strict=True) if text != cut),
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


def _facts(state: LoopState, orientation: Orientation) -> list[Section]:
    """What was found out, most specific first."""
    return [
        ("last checks", _last_checks(state.checks)),
        ("unfinished request", _unfinished_request(state)),
        ("interrupted work", _interrupted(state)),
        ("working memory", _memory_problems(state.memory)),
        ("history", _history(orientation.commits, state)),
    ]


def _fit(facts: Sequence[Section], allowance: int) -> list[Section]:
    """Give each section, in order of rank, what it needs, but never more than half of what is left."""
    fitted: list[Section] = []
    for position, (name, text) in enumerate(facts):
        last = position == len(facts) - 1
        share = allowance if last else max(allowance // 2, allowance - sum(tokens(other) for _, other in facts[position + 1 :]))
        cut = trim(text, share)
        allowance -= tokens(cut)
        fitted.append((name, cut))
    return fitted


def _last_checks(report: CheckReport | None) -> str:
    if report is None:
        return ""
    if report.passed:
        return "# Checks\nAll checks passed on the tree that you find."
    lines = [f"# Checks\n{len(report.failures)} of {len(report.results)} checks failed on the tree that you find:"]
    return "\n\n".join([*lines, *(_failure(result) for result in report.failures)])


def _failure(result: CheckResult) -> str:
    failing = result.counts.failing if result.counts else ()
    names = fence("\n".join(failing)) if failing else ""
    output = "\n[…]\n".join(part for part in (result.head.strip(), result.tail.strip()) if part)
    parts = (
        f"## `{result.command}`: {_how(result)}",
        f"Failing tests:\n{names}" if names else "",
        f"Output:\n{fence(output)}" if output else "It printed nothing.",
    )
    return "\n".join(part for part in parts if part)


def _how(result: CheckResult) -> str:
    if result.error:
        return result.error
    if result.timed_out:
        return f"ended after {result.seconds:.0f} s without an exit code"
    return f"exit code {result.exit_code}"


def _unfinished_request(state: LoopState) -> str:
    if "completion.unproven" not in state.notes or state.checks is None or state.checks.passed:
        return ""
    return "# A claim that did not hold\nAn earlier iteration asked to be done while the checks above failed. Ask when they pass."


def _interrupted(state: LoopState) -> str:
    if not state.salvaged:
        return ""
    last = state.salvaged[-1]
    return "# Interrupted work\n" + INTERRUPTED.substitute(commit=last.commit[:12], files=last.files)


def _memory_problems(memory: WorkingMemory) -> str:
    if not memory.problems:
        return ""
    return "# Working memory\n`.helmsman/progress.md` had flaws:\n" + "\n".join(f"- {problem}" for problem in memory.problems)


def _history(commits: Sequence[Commit], state: LoopState) -> str:
    if not commits:
        return ""
    log = "\n".join(f"{commit.id[:10]} {commit.subject}" for commit in commits)
    return f"# What this loop has done so far\nIteration {state.due} begins. Commits, newest first:\n{fence(log)}"
