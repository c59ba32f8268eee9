"""Checks that fail in the clean checkout and pass in the agent's folder: what only that folder has is said by name."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.plain import clean
from helmsman.records.checks import CheckReport, CheckResult
from tasks.checks.run import CheckContext, run_check
from tasks.repository.git import git
from tasks.repository.worktree import Worktree

SHOWN = 5
"""Paths of a kind that are named."""
OWN = (".helmsman/", ".git/")
ONLY_THERE = "passes only in the agent's folder"


def explained(check_context: CheckContext, worktree: Path, commit: str, report: CheckReport, config: LoopConfig) -> CheckReport:
    """The report, with a remark on each failing check that passes in the worktree. What they change there is put back."""
    there = replace(check_context, checkout=Worktree(worktree), tag=f"{check_context.tag}/there")
    there.checkout.prepare(commit)
    results: list[CheckResult] = []
    for place, (result, check) in enumerate(zip(report.results, config.checks, strict=True)):
        passes = not result.passed and run_check(there, place, check, check.timeout_seconds).passed
        there.heed()
        why = _likely_cause(worktree, check_context.checkout.left_out()) if passes else ""
        results.append(result.model_copy(update={"remark": "; ".join(filter(None, (result.remark, why)))}))
    there.checkout.require_intact([check.command for check in config.checks])
    there.checkout.reset()
    return report.model_copy(update={"results": tuple(results)})


def _likely_cause(worktree: Path, left_out: Sequence[str]) -> str:
    """What lies in the agent's folder, or on PATH, and in no commit."""
    ignored = _listed(worktree, "--ignored", "--exclude-per-directory=.gitignore")
    hidden = [name for name in _listed(worktree, "--exclude-per-directory=.gitignore") if name not in ignored]
    causes = (
        (ignored, "git ignores {}, which exist only there"),
        (hidden, "no committed rule ignores {}, which git was told to pass over (info/exclude, core.excludesFile)"),
        (left_out, "{}: programs on PATH that are new or changed since the loop began"),
    )
    found: list[str] = []
    for names, words in causes:
        if names:
            named = ", ".join(f"`{clean(name)}`" for name in names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
            found.append(words.format(named))
    return f"{ONLY_THERE}: {'; '.join(found) or 'settings or files of the home, or times of files, make the difference'}"


def _listed(worktree: Path, *rules: str) -> list[str]:
    listed = git(worktree, "ls-files", "-z", "--others", "--directory", "--no-empty-directory", *rules).split("\0")
    return [name for name in listed if name and not name.startswith(OWN)]
