"""`helmsman demo`: a whole loop that anybody can watch, offline and without an account.

Real are the repository, the agent's command line, the checks, the engine and the loop. Scripted is only the model's side of the
conversation: it lies once, then does half of the work, then finishes.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from deployments.demo_model import ScriptedModel, Turn, bash, by_call, call, edit, environment, read, say
from deployments.run import start
from helmsman.config import WorkspaceConfig
from tasks.places import worktree_of
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import state_ref

LOOP = "demo"
GOAL = "Make slug.py do what its tests say: words joined by dashes, accents removed, no dash at either end."

SOURCE = '''\
"""Turn titles into slugs."""


def slug(title: str) -> str:
    return title.lower().replace(" ", "_")
'''

TESTS = """\
import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_words_are_joined_by_dashes(self):
        self.assertEqual(slug("Hello big World"), "hello-big-world")

    def test_punctuation_is_dropped(self):
        self.assertEqual(slug("What's up, Doc?"), "what-s-up-doc")

    def test_accents_are_removed(self):
        self.assertEqual(slug("Crème brûlée"), "creme-brulee")

    def test_no_dash_at_either_end(self):
        self.assertEqual(slug("  (draft) "), "draft")
"""

HALF = """\
import re


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
"""

WHOLE = """\
import re
import unicodedata


def slug(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
"""

OPENING = """\
A small repository with a failing test suite was made in {folder}
The agent is the real Claude Code CLI; the model behind it is SCRIPTED, on loopback: it answers from a list, nothing is sent
anywhere. It will lie in its first session, do half of the work in its second and finish in its third. Each time it wants to stop
the checks run, and where they fail its stop is blocked, twice at most. Watch what Helmsman believes.
"""


def tell(*, keep: bool) -> int:
    """Run the demo in a temporary folder. Returns the exit status of the loop."""
    console, begun = Console(highlight=False), time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="helmsman-demo-"))
    try:
        with _own_homes(folder):
            root = _repository(folder)
            with ScriptedModel(by_call(_sessions(root))) as model:
                os.environ.update(environment(model.url, folder / "home"))
                console.print(OPENING.format(folder=root), markup=False, soft_wrap=True)
                status = start(root, yes=True, goal=GOAL, check=[f"{_python()} -m unittest -q"], name=LOOP)
            _show_git(console, root)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    farewell = f"Its folder is kept: {folder}" if keep else "Its folder is removed; --keep would keep it."
    console.print(f"\nThe demo took {time.monotonic() - begun:.0f} s. {farewell}", markup=False, soft_wrap=True)
    return status


def _python() -> str:
    return "python3" if shutil.which("python3") else sys.executable


def _sessions(root: Path) -> tuple[tuple[Turn, ...], ...]:
    """What the model does in each of the agent's three sessions."""
    source = worktree_of(open_repository(root), LOOP, WorkspaceConfig()) / "slug.py"
    test, commit = bash(f"{_python()} -m unittest -q"), "git commit -qam"
    half = edit(source, SOURCE[SOURCE.index("def") :], HALF)
    whole = edit(source, HALF, WHOLE)
    lie = say("I have made all the tests pass.\n<promise>COMPLETE</promise>")
    return (
        (call(read(source)), lie, lie, lie),
        (
            call(read(source)),
            call(half),
            call(test),
            call(bash(f'{commit} "Join words by dashes"')),
            say("Words are joined by dashes."),
            say("Accents remain; the next session may do that."),
            say("Accents remain; the next session may do that."),
        ),
        (
            call(read(source)),
            call(whole),
            call(test),
            call(bash(f'{commit} "Remove accents before joining"')),
            say("All four tests pass.\n<promise>COMPLETE</promise>"),
        ),
    )


def _repository(folder: Path) -> Path:
    root = folder / "repository"
    root.mkdir()
    (root / "slug.py").write_text(SOURCE, encoding="utf-8")
    (root / "test_slug.py").write_text(TESTS, encoding="utf-8")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "A slug function and its tests")
    return root


@contextmanager
def _own_homes(folder: Path) -> Generator[None]:
    """Everything that the demo writes stays in its folder; our own environment is as before afterwards."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith(("HELMSMAN_", "PREFECT_", "ANTHROPIC_", "CLAUDE"))]:
        del os.environ[name]
    os.environ.update({"HELMSMAN_HOME": str(folder / "state"), "PREFECT_HOME": str(folder / "prefect")})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _show_git(console: Console, root: Path) -> None:
    for title, command in (
        ("The branch", ("log", "--oneline", "--stat", f"main..helmsman/{LOOP}")),
        (f"The loop's memory, {state_ref(LOOP)}", ("log", "--format=%h %s", "--first-parent", state_ref(LOOP))),
    ):
        console.print(f"\n{title}\n{git(root, *command).rstrip()}", markup=False, soft_wrap=True)
