"""What a clean checkout lacks that checks need: found at the loop's start, and named where a check passes only elsewhere."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.verify.commands import missing
from tasks.checks.run import CheckContext, run_check
from tasks.repository.git import Repository, git
from tasks.repository.objects import entries_in, read_objects
from tasks.repository.setup import INSTALLED, PROPOSED, proposed
from tasks.repository.worktree import Worktree
from tasks.system.environment import ours

SHOWN = 5
"""Paths of a kind that are named."""
OWN = (".helmsman/", ".git/")
ONLY_THERE = "passes only in the agent's folder"

HOLDS = (
    "{name}", "{name}.py", "bin/{name}", ".bin/{name}", "{name}.js",
    "lib/python*/site-packages/{name}", "lib/python*/site-packages/{name}.py",
)  # fmt: skip
"""Where folders of installed packages keep a program or a package of that name."""
USERS = (".local",)
"""Folders of the home that hold packages which a clean checkout does not look into."""
LARGEST_LOCK = 32 * 1024 * 1024


def cannot_start(report: CheckReport, repository: Repository, commit: str) -> OperatorError | None:
    """What is wrong with a check that cannot start in the clean checkout, and could where what it needs is installed.

    What neither somebody's checkout holds nor a lock file names is the loop's own task.
    """
    for result in report.failures if report.clean else ():
        name = missing(result)
        names = [entry.path for entry in entries_in(repository.common, commit)] if name else []
        where = _found(name, repository, commit, names) if name else ""
        if where:
            line = f"setup = {json.dumps(proposed(names) or ['COMMAND THAT INSTALLS IT'], ensure_ascii=False)}"
            return OperatorError(
                f"the check `{result.name}` cannot start in a clean checkout, so no verdict is possible: {name} is not there",
                expected="checks that run on what is committed and on what set-up installs",
                found=f"{(result.tail or result.head).strip()[-500:]} ({where})",
                remedy=(
                    f"in helmsman.toml below [workspace]: {line}, and begin again; or decide in the agent's folder with"
                    " workspace.clean = false"
                ),
            )
    return None


def _found(name: str, repository: Repository, commit: str, names: Sequence[str]) -> str:
    """Where what is missing lies, or which of the root's files names it, in words; empty for nowhere."""
    # the package of a dotted module or of a file in it; a pattern means nothing here
    module = name if name.startswith("@") or os.sep in name else name.partition(".")[0]
    module = re.sub(r"[*?\[\]]", "", module).strip("/") or "-"
    home = Path(ours().get("HOME", "/"))
    folders = {folder: repository.top / folder for folder in INSTALLED} | {f"~/{folder}": home / folder for folder in USERS}
    for shown, folder in folders.items() if not repository.bare else ():
        if folder.is_dir() and any(True for form in HOLDS for _ in folder.glob(form.format(name=module))):
            return f"{shown} has it, which no commit does"
    for lock in (one for one in names if one in PROPOSED):
        found = read_objects(repository.common, [f"{commit}:{lock}"])[0]
        text = found[1].decode(errors="replace")[:LARGEST_LOCK] if found else ""
        if re.search(rf"(?<![\w-]){re.escape(module)}(?![\w-])", text):
            return f"{lock} names it, and nothing has installed it there"
    return ""


def explained(check_context: CheckContext, worktree: Path, commit: str, report: CheckReport, config: LoopConfig) -> CheckReport:
    """The report, with a remark on each failing check that passes in the worktree. What they change there is put back."""
    there = replace(check_context, checkout=Worktree(worktree), tag=f"{check_context.tag}/there")
    there.checkout.prepare(commit)
    results: list[CheckResult] = []
    for place, (result, check) in enumerate(zip(report.results, config.checks, strict=True)):
        passes = not result.passed and run_check(there, place, check, check.timeout_seconds).passed
        there.raise_if_cancelled()
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
