"""Options and arguments of the command line, by commands.toml; and what a shell offers for loops and keys after the Tab key.

What is offered is quick and silent: a person waits at a prompt. A shell may evaluate it, and refs are named by whoever made the
repository; only plain names are offered.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from deployments.start_directory import file_from_start, from_start
from helmsman.errors import HelmsmanError
from helmsman.naming import LOOP_ID

TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))
Offer = Callable[[typer.Context, str], list[str]]


def _offered(names: Callable[[Path], Iterable[str]]) -> Offer:
    """Names that begin like what was typed, of the repository that was named before. Nothing where it is none."""

    def offer(context: typer.Context, incomplete: str) -> list[str]:
        try:
            found = list(names(from_start(context.params.get("repo") or "")))
        except (HelmsmanError, OSError, ValueError):
            return []
        return sorted({name for name in found if name.startswith(incomplete)})

    return offer


def _loops(repo: Path) -> list[str]:
    from tasks.repository.git import git

    refs = git(repo, "for-each-ref", "--format=%(refname)", "refs/helmsman/*/state").splitlines()
    return [name for ref in refs if re.fullmatch(LOOP_ID, name := ref.split("/")[2])]


def _keys(_repo: Path) -> Iterable[str]:
    """`KEY=`, and with its default for an example: of two, a shell completes what they share and sets no space after it."""
    from helmsman.config.base import fields, section_of
    from helmsman.config.loop import LoopConfig

    for key, field, _ in fields(LoopConfig):
        if section_of(field) is None:
            default = field.get_default(call_default_factory=True)
            examples = ("true", "false") if isinstance(default, bool) else (str(default),)
            yield f"{key}="
            yield from (f"{key}={one}" for one in examples if re.fullmatch(r"[\w.-]+", one) and default is not None)


OFFERS = {"keys": _offered(_keys), "loops": _offered(_loops)}


OPTIONS: Mapping[str, Mapping[str, Any]] = TABLE["options"]
KINDS: Mapping[str, tuple[Any, Any]] = {
    "text": (str, ""),
    "flag": (bool, False),
    "int": (int, None),
    "float": (float, None),
    "texts": (list[str], None),
    "path": (from_start, None),
    "file": (file_from_start, None),
}
"""Types by their names in the table, or what reads a path; each with what an option is where it is not given."""


def default_of(row: Mapping[str, Any]) -> Any:
    """What an option is where it is not given; `...`: it must be."""
    kind, default = KINDS[row.get("kind", "text")]
    default = ... if row.get("required") else None if row.get("optional") else row.get("default", default)
    return Path(default) if kind is from_start and isinstance(default, str) else default


def parameter(name: str, row: Mapping[str, Any]) -> Parameter:
    """An option, or an argument where it has no flag, as typer reads it from a signature."""
    words, kind, default = row["spelled"].split(), KINDS[row.get("kind", "text")][0], default_of(row)
    flags = [word for word in words if word.startswith("-")]
    described: dict[str, Any] = {key: row[key] for key in ("help", "min", "max") if key in row}
    described["metavar"] = next((word for word in words if word not in flags), None)
    if "offers" in row:
        described["autocompletion"] = OFFERS[row["offers"]]
    if kind in {from_start, file_from_start}:
        described["parser"], kind = kind, Path
    told = typer.Option(*flags, **described) if flags else typer.Argument(**described)
    annotation = Annotated[kind | None if default is None else kind, told]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=Parameter.empty if default is ... else default, annotation=annotation)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"helmsman {version('helmsman')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and exit.")]
