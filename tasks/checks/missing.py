"""Find what checks need and a clean checkout lacks: at the loop's start, and if a check passes only elsewhere."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from posixpath import basename

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.verify.commands import missing_program, path_in_repository, simple_commands
from helmsman.verify.findings import join_some
from tasks.checks.run import CheckContext, run_check
from tasks.repository.git import Repository, git
from tasks.repository.objects import entries_in, read_objects
from tasks.repository.setup import INSTALLED, PROPOSED, propose_setup
from tasks.repository.worktree import Worktree

SHOWN = 5  # maximum of paths to name of each kind
OWN = (".helmsman/", ".git/")
ONLY_THERE = "passes only in the agent's folder"

PACKAGE_PATHS = (
    "{name}", "{name}.py", "bin/{name}", ".bin/{name}", "{name}.js",
    "lib/python*/site-packages/{name}", "lib/python*/site-packages/{name}.py",
)  # fmt: skip
"""Paths of a program or package of that name in folders of installed packages."""
LARGEST_LOCK = 32 * 1024 * 1024


def start_error(report: CheckReport, repository: Repository, commit: str) -> OperatorError | None:
    """Error for a check that cannot start in the clean checkout, but could with its packages installed.

    Packages that are neither in the user's checkout nor in a lock file are the loop's own task.
    """
    for result in report.failures if report.clean else ():
        name = missing_program(result)
        # the folders in which it runs, from the root
        folders = dict.fromkeys(path_in_repository(simple, ".") for simple in simple_commands(result.command)) if name else ()
        for folder in folders:
            names = [basename(entry.path) for entry in entries_in(repository.common, commit, *([f"{folder}/"] if folder else []))]
            location = _locate(name, repository, commit, names, folder)
            if location:
                return _not_installed(result, name, location, propose_setup(names, folder))
    return None


def _not_installed(result: CheckResult, name: str, location: str, setup: Sequence[str]) -> OperatorError:
    line = f"setup = {json.dumps(setup or ['COMMAND THAT INSTALLS IT'], ensure_ascii=False)}"
    return OperatorError(
        f"the check `{result.name}` cannot start in a clean checkout, so no verdict is possible: {name} is missing",
        expected="checks that need only committed files and what set-up installs",
        found=f"{(result.tail or result.head).strip()[-500:]} ({location})",
        remedy=(
            f"in helmsman.toml below [workspace], add {line} and start again; or run the checks in the agent's folder:"
            " workspace.clean = false"
        ),
    )


def _locate(name: str, repository: Repository, commit: str, names: Sequence[str], folder: str) -> str:
    """Describe where the missing package is, or which lock file names it, in a folder; empty if none."""
    inside = f"{folder}/" if folder else ""
    # the package of a dotted module or of a file in it, without pattern characters
    module = name if name.startswith("@") or os.sep in name else name.partition(".")[0]
    module = re.sub(r"[*?\[\]]", "", module).strip("/") or "-"
    for place in (f"{inside}{installed}" for installed in INSTALLED if not repository.bare):
        if any(True for pattern in PACKAGE_PATHS for _ in (repository.top / place).glob(pattern.format(name=module))):
            return f"it is in {place}, which is not committed"
    for lock in (file for file in names if file in PROPOSED):
        blob = read_objects(repository.common, [f"{commit}:{inside}{lock}"])[0]
        text = blob[1].decode(errors="replace")[:LARGEST_LOCK] if blob else ""
        if re.search(rf"(?<![\w-]){re.escape(module)}(?![\w-])", text):
            return f"{inside}{lock} lists it, but nothing installs it"
    return ""


def explain_failures(
    check_context: CheckContext, worktree: Path, commit: str, report: CheckReport, config: LoopConfig
) -> CheckReport:
    """Add a remark to each failing check that passes in the worktree, and reset what they change there."""
    in_worktree = replace(check_context, checkout=Worktree(worktree), tag=f"{check_context.tag}/there")
    in_worktree.checkout.prepare(commit)
    results: list[CheckResult] = []
    for index, (result, check) in enumerate(zip(report.results, config.checks, strict=True)):
        passes = not result.passed and run_check(in_worktree, index, check, check.timeout_seconds).passed
        in_worktree.raise_if_cancelled()
        cause = _likely_cause(worktree, check_context.checkout.left_out) if passes else ""
        results.append(result.model_copy(update={"remark": "; ".join(filter(None, (result.remark, cause)))}))
    in_worktree.checkout.require_intact([check.command for check in config.checks])
    in_worktree.checkout.reset()
    return report.model_copy(update={"results": tuple(results)})


def _likely_cause(worktree: Path, left_out: Sequence[str]) -> str:
    """Remark on files in the agent's folder, or programs on PATH, that no commit contains."""
    # without rules to exclude, so that ignored files are listed as well
    listed = git(worktree, "ls-files", "-z", "--others", "--directory", "--no-empty-directory").split("\0")
    causes = (
        ([name for name in listed if name and not name.startswith(OWN)], "no commit contains {}"),
        (left_out, "{}: programs on PATH that are new or changed since the loop began"),
    )
    parts = [
        template.format(join_some([f"`{clean(name)}`" for name in names], most=SHOWN)) for names, template in causes if names
    ]
    return f"{ONLY_THERE}: {'; '.join(parts) or 'settings or files of the home folder, or file times, differ'}"
