"""The process in which drivers are killed that merge: each after another git command that changes something.

merge_process.py FOLDER SCENARIO FIRST STEP    prints as JSON what each of them left, and what the next driver made of it
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helmsman.errors import HelmsmanError
from tests.fakes.proven_loops import BranchSampler, ProvenLoop, make_proven_loop, repository
from tests.fakes.repositories import commit, sh

CHANGE = "rebase|checkout|reset|clean|update-ref|symbolic-ref|fast-import|merge|commit-tree|write-tree|add|commit"
SHIM = """\
#!/bin/sh
# Becomes git; after the n-th command that changes something it kills who started it.
real={real}
case " $* " in *" merge --quit "*|*" merge-base "*) exec $real "$@";; esac
for word in "$@"; do case "$word" in {change}) changes=1;; esac; done
[ -n "$changes" ] || exec $real "$@"
echo >> {calls}
$real "$@"
code=$?
[ "$(wc -l < {calls})" -ne {number} ] || kill -9 $PPID
exit $code
"""
MOST = 60


def make_landing(folder: Path, scenario: str) -> ProvenLoop:
    landing = make_proven_loop(repository(folder / "top"), folder, {"items/mine": "mine\n", "app.py": "ONE\ntwo\nthree\n"})
    theirs = {"rebased": {"app.py": "ONE\ntwo\nthree\n", "other.py": "1\n"}, "conflict": {"app.py": "(one)\ntwo\nthree\n"}}
    commit(landing.top, "theirs", theirs.get(scenario, {"items/theirs": "theirs\n"}))
    return landing


def killed_after(number: int, action: Callable[[], object], folder: Path, change: str = CHANGE) -> bool:
    """Do it in a process of its own that dies after so many git commands. False: it came to its end before."""
    shim = folder / "bin"
    shim.mkdir()
    words = {"real": shutil.which("git"), "calls": folder / "calls", "number": number, "change": change}
    (shim / "git").write_text(SHIM.format(**words))
    (shim / "git").chmod(0o755)
    child = os.fork()
    if child == 0:
        os.environ["PATH"] = f"{shim}:{os.environ['PATH']}"
        tempfile.tempdir = str(shim)  # whoever is killed removes nothing
        action()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def outcome_of(landing: ProvenLoop, sampler: BranchSampler) -> dict[str, Any]:
    """How everything stands once the next driver has gone on."""
    try:
        state = landing.resume()
    except HelmsmanError as error:
        return {"error": str(error)}
    merges = sh(landing.top, "log", "--first-parent", "--merges", "--format=%s", "main").splitlines()
    tree = landing.context.worktree
    return {
        "merged": state.merged is not None,
        "trouble": state.merging.trouble.kind if state.merging.trouble else "",
        "failed": state.merging.failed,
        "merges": len(merges),
        "branch": landing.at(state.branch) == state.head,
        "worktree": sh(tree, "rev-parse", "HEAD") == state.head,
        "clean": not sh(tree, "status", "--porcelain") and not sh(landing.top, "status", "--porcelain"),
        "unverified": sampler.failing(),
    }


def main() -> None:
    home, scenario, first, step = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    found: list[dict[str, Any]] = []
    for number in range(first, MOST, step):
        folder = home / str(number)
        landing = make_landing(folder, scenario)
        with BranchSampler(landing.top) as sampler:
            if not killed_after(number, landing.land, folder):
                break
            found.append(outcome_of(landing, sampler))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
