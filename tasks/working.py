"""What the steps do in the loop's worktree: look, have the agent work, check, remember."""

import hashlib
import json
from datetime import datetime

from helmsman.config import CheckConfig
from helmsman.orient.progress import LONGEST_FILE, read, render
from helmsman.records.briefing import Briefing, Orientation
from helmsman.records.checks import CheckReport
from helmsman.records.evidence import Commit, Execution
from helmsman.records.memory import WorkingMemory
from helmsman.records.state import LoopState
from tasks.checks import run_checks
from tasks.claude import CallFolder, call_agent
from tasks.git import commit_and_tree, git
from tasks.workplace import Workplace
from tasks.worktree import settle_work

OWN_FILES = ".gitignore", "progress.md"


def gather(place: Workplace, state: LoopState, now: datetime) -> Orientation:
    """Facts for the prompt, and the working memory laid out for the agent."""
    start, _ = commit_and_tree(place.worktree)
    _lay_out_memory(place, state)
    shown = state.config.prompt.history_commits
    log = git(place.worktree, "log", "-z", "--format=%H %s", f"--max-count={shown}", f"{state.base_commit}..HEAD")
    commits = tuple(Commit(id=line[:40], subject=line[41:241]) for line in log.split("\0") if line)
    return Orientation(started_at=now, start_commit=start, commits=commits)


def execute(
    place: Workplace, state: LoopState, briefing: Briefing, orientation: Orientation, credentials: dict[str, str]
) -> Execution:
    """Have the agent work, then commit what it left and measure what it changed."""
    start = orientation.start_commit
    call = call_agent(place, state, briefing.prompt, start, credentials=credentials, stop=place.folder.cancel.exists)
    change = settle_work(place.repository, place.worktree, state, start)
    packed = CallFolder(place.folder.call(state.due, state.attempt)).packed
    transcript = str(packed.relative_to(place.folder.root)) if packed.exists() else ""
    return Execution(call=call, change=change, transcript=transcript)


def check(place: Workplace, state: LoopState, execution: Execution) -> CheckReport:
    """Run the checks on the tree that the iteration ended with."""
    change = execution.change
    return run_checks(
        place.worktree,
        change.commit,
        change.tree,
        state.config.checks,
        tag=place.tag(state),
        stop=place.folder.cancel.exists,
    )


def checks_fingerprint(checks: tuple[CheckConfig, ...]) -> str:
    """Changes when any check does: a report speaks only for the commands that made it."""
    text = json.dumps([check.model_dump(mode="json") for check in checks], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fold_memory(place: Workplace, state: LoopState) -> WorkingMemory:
    """Read progress.md as the agent left it. A missing file keeps what was known."""
    path = place.worktree / ".helmsman" / "progress.md"
    if not path.is_file():
        return state.memory.model_copy(update={"problems": ("the file was gone; it has been written again",)})
    with path.open(encoding="utf-8", errors="replace") as file:
        return read(file.read(LONGEST_FILE + 1), state.config.goal)


def _lay_out_memory(place: Workplace, state: LoopState) -> None:
    folder = place.worktree / ".helmsman"
    folder.mkdir(exist_ok=True)
    ignore = "".join(f"/{name}\n" for name in OWN_FILES)
    (folder / ".gitignore").write_text(f"# the loop's own files; they are never committed\n{ignore}", encoding="utf-8")
    (folder / "progress.md").write_text(render(state.memory, state.config.goal, state.due), encoding="utf-8")
