"""Whether a verdict can be had at all: checks that want in a clean checkout what git ignores are found at the loop's start."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from helmsman.errors import OperatorError
from helmsman.records.checks import CheckReport
from helmsman.verify.commands import missing
from tasks.repository.git import Repository
from tasks.repository.objects import read_objects, root_entries
from tasks.repository.setup import INSTALLED, PROPOSED, proposed
from tasks.system.environment import ours

HOLDS = (
    "{name}", "{name}.py", "bin/{name}", ".bin/{name}", "{name}.js",
    "lib/python*/site-packages/{name}", "lib/python*/site-packages/{name}.py",
)  # fmt: skip
"""Where folders of installed packages keep a program or a package of that name."""
USERS = (".local",)
"""Folders of the home that hold packages which a clean checkout does not look into."""
LARGEST_LOCK = 32 * 1024 * 1024


def require_ready(report: CheckReport, repository: Repository, commit: str) -> None:
    """Raise OperatorError for a check that cannot start in the clean checkout, and could where what it needs is installed.

    What neither somebody's checkout holds nor a lock file names is the loop's own task.
    """
    for result in report.failures if report.clean else ():
        name = missing(result)
        names = [entry.path for entry in root_entries(repository.common, commit)] if name else []
        where = _found(name, repository, commit, names) if name else ""
        if where:
            line = f"setup = {json.dumps(proposed(names) or ['COMMAND THAT INSTALLS IT'], ensure_ascii=False)}"
            raise OperatorError(
                f"the check `{result.name}` cannot start in a clean checkout, so no verdict could ever be had:"
                f" {name} is not there",
                expected="checks that run on what is committed and on what set-up installs",
                found=f"{(result.tail or result.head).strip()[-500:]} ({where})",
                remedy=(
                    f"in helmsman.toml below [workspace]: {line}, and begin again; or decide in the agent's folder with"
                    " workspace.clean = false"
                ),
            )


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
