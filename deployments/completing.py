"""What a shell offers after the Tab key: loops, groups, presets, agents, branches, keys of the configuration.

Quick and silent: a person waits at a prompt. A shell may evaluate what it is offered, and refs and files are named by whoever
made the repository; only plain names are offered.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

from deployments.start_directory import from_start
from helmsman.errors import HelmsmanError
from helmsman.naming import LOOP_ID

REFS = "refs/helmsman/"
BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
ROOT = Path(__file__).parents[1]
CHOICES = "approve", "revise", "accept", "take-over", "stop"
"""Those of `helmsman.records.gates`, which would bring pydantic in."""
PLAIN = bool, int, float, str

Names = Callable[[Path], Iterable[str]]


def _offered(names: Names) -> Callable[[typer.Context, str], list[str]]:
    """Names that begin like what was typed, of the repository that was named before. Nothing where it is none."""

    def offer(context: typer.Context, incomplete: str) -> list[str]:
        try:
            found = list(names(from_start(context.params.get("repo") or "")))
        except (HelmsmanError, OSError, ValueError):
            return []
        return sorted({name for name in found if name.startswith(incomplete)})

    return offer


def _loops(repo: Path) -> list[str]:
    return _plain(ref.removeprefix(REFS).removesuffix("/state") for ref in _refs(repo, f"{REFS}*/state"))


def _loops_and_groups(repo: Path) -> list[str]:
    from tasks.repository.git import git

    common = repo / git(repo, "rev-parse", "--git-common-dir").strip()
    groups = common / "helmsman" / "groups"
    return [*_loops(repo), *_plain(path.name for path in (groups.iterdir() if groups.is_dir() else ()))]


def _branches(repo: Path) -> list[str]:
    return [".", *_commits(repo)]


def _commits(repo: Path) -> list[str]:
    names = (ref.removeprefix("refs/heads/") for ref in _refs(repo, "refs/heads"))
    return [name for name in names if BRANCH.fullmatch(name)]


def _presets(repo: Path) -> list[str]:
    places = ROOT / "tasks" / "hats" / "presets", repo / ".helmsman" / "presets"
    return _plain(path.stem for place in places for path in place.glob("*.md"))


def _agents(repo: Path) -> list[str]:
    places = ROOT / "tasks" / "agents" / "presets", repo / ".helmsman" / "agents"
    return ["claude", *_plain(path.stem for place in places for path in place.glob("*.toml"))]


def _keys(_repo: Path) -> Iterable[str]:
    """`KEY=`, and with its default for an example: of two, a shell completes what they share and sets no space after it."""
    from helmsman.config.loop import LoopConfig
    from helmsman.config.tree import fields, section_of

    for key, field in fields(LoopConfig):
        if section_of(field) is None:
            yield f"{key}="
            yield from (f"{key}={example}" for example in _examples(field.get_default(call_default_factory=True)))


def _examples(value: Any) -> tuple[str, ...]:
    if isinstance(value, bool):
        return ("true", "false")
    return (str(value),) if isinstance(value, PLAIN) and re.fullmatch(r"[\w.-]+", str(value)) else ()


def _refs(repo: Path, pattern: str) -> list[str]:
    from tasks.repository.git import git

    return git(repo, "for-each-ref", "--format=%(refname)", pattern).splitlines()


def _plain(names: Iterable[str]) -> list[str]:
    return [name for name in names if re.fullmatch(LOOP_ID, name)]


loops, groups = _offered(_loops), _offered(_loops_and_groups)
branches, commits = _offered(_branches), _offered(_commits)
presets, agents, keys = _offered(_presets), _offered(_agents), _offered(_keys)
choices = _offered(lambda _repo: CHOICES)
