"""Options and arguments of the command line, by commands.toml; and what a shell offers for them after the Tab key.

What is offered is quick and silent: a person waits at a prompt. A shell may evaluate it, and refs and files are named by whoever
made the repository; only plain names are offered.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import typer

from deployments.start_directory import file_from_start, from_start
from helmsman.errors import HelmsmanError
from helmsman.naming import LOOP_ID

REFS = "refs/helmsman/"
BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
ROOT = Path(__file__).parents[1]
CHOICES = "approve", "revise", "accept", "take-over", "stop"
"""Those of `helmsman.records.gates`, which would bring pydantic in."""
PLAIN = bool, int, float, str
TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))

Names = Callable[[Path], Iterable[str]]
Offer = Callable[[typer.Context, str], list[str]]


# --- what a shell offers ------------------------------------------------------------------------------------------


def _offered(names: Names) -> Offer:
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

    groups = repo / git(repo, "rev-parse", "--git-common-dir").strip() / "helmsman" / "groups"
    return [*_loops(repo), *_plain(path.name for path in (groups.iterdir() if groups.is_dir() else ()))]


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
    from helmsman.config.base import fields, section_of
    from helmsman.config.loop import LoopConfig

    for key, field, _ in fields(LoopConfig):
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


# --- options ------------------------------------------------------------------------------------------------------


class Option(NamedTuple):
    """An option, or an argument where it has no flag."""

    spelled: str
    """Its flags and how its value is called: `--yes -y`, `--repo DIR`, `[LOOP]`."""
    help: str
    kind: Any
    """The type of its value, or the function that reads it as a path."""
    default: Any
    """`...`: it must be given."""
    offers: Offer | None = None
    key: str = ""
    """The key of the configuration that it is another word for."""
    limits: Mapping[str, int] = MappingProxyType({})

    def parameter(self, name: str) -> Parameter:
        """As typer reads it from a signature."""
        words = self.spelled.split()
        flags = [word for word in words if word.startswith("-")]
        reads = self.kind in {from_start, file_from_start}
        kind: Any = Path if reads else self.kind
        described: Any = {"metavar": next((word for word in words if word not in flags), None), "help": self.help, **self.limits}
        described |= {"autocompletion": self.offers} if self.offers else {}
        described |= {"parser": self.kind} if reads else {}
        told = typer.Option(*flags, **described) if flags else typer.Argument(**described)
        default = Parameter.empty if self.default is ... else self.default
        annotation = Annotated[kind | None if default is None else kind, told]
        return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"helmsman {version('helmsman')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and end.")]
KINDS: Mapping[str, tuple[Any, Any]] = {
    "text": (str, ""),
    "flag": (bool, False),
    "int": (int, None),
    "float": (float, None),
    "texts": (list[str], None),
    "path": (from_start, None),
    "file": (file_from_start, None),
}
"""Types by their names in the table, each with what an option is where it is not given."""
OFFERS: Mapping[str, Names] = {
    "agents": _agents,
    "branches": lambda repo: [".", *_commits(repo)],
    "choices": lambda _: CHOICES,
    "commits": _commits,
    "groups": _loops_and_groups,
    "keys": _keys,
    "loops": _loops,
    "presets": _presets,
}


def _option(row: Mapping[str, Any]) -> Option:
    kind, default = KINDS[row.get("kind", "text")]
    default = ... if row.get("required") else None if row.get("optional") else row.get("default", default)
    if kind is from_start and isinstance(default, str):
        default = Path(default)
    offers = _offered(OFFERS[row["offers"]]) if "offers" in row else None
    limits = {name: row[name] for name in ("min", "max") if name in row}
    return Option(row["spelled"], row["help"], kind, default, offers, row.get("key", ""), limits)


OPTIONS = {name: _option(row) for name, row in TABLE["options"].items()}
