"""Options and arguments of the command line, defined in commands.toml, and shell completion of loops and keys.

Completion is fast and silent, since a person waits at a prompt. A shell may evaluate completions, and a repository's refs are
untrusted, so only plain names are offered.
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
from helmsman.plain import LOOP_ID

TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))
Offer = Callable[[typer.Context, str], list[str]]


def _completion(names: Callable[[Path], Iterable[str]]) -> Offer:
    """Completion of names in the repository given by `--repo`; empty if there is none."""

    def offer(context: typer.Context, incomplete: str) -> list[str]:
        try:
            candidates = list(names(from_start(context.params.get("repo") or "")))
        except (HelmsmanError, OSError, ValueError):
            return []
        return sorted({name for name in candidates if name.startswith(incomplete)})

    return offer


def _loop_names(repo: Path) -> list[str]:
    from tasks.repository.git import git

    refs = git(repo, "for-each-ref", "--format=%(refname)", "refs/helmsman/*/state").splitlines()
    return [name for ref in refs if re.fullmatch(LOOP_ID, name := ref.split("/")[2])]


def _key_candidates(_repo: Path) -> Iterable[str]:
    """`KEY=` and `KEY=DEFAULT`: with two candidates a shell completes the common prefix without a space."""
    from helmsman.config.base import fields, section_of
    from helmsman.config.loop import LoopConfig

    for key, field, _ in fields(LoopConfig):
        if section_of(field) is None:
            default = field.get_default(call_default_factory=True)
            examples = ("true", "false") if isinstance(default, bool) else (str(default),)
            yield f"{key}="
            yield from (f"{key}={example}" for example in examples if re.fullmatch(r"[\w.-]+", example) and default is not None)


OFFERS = {"keys": _completion(_key_candidates), "loops": _completion(_loop_names)}


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
"""Types, or parsers of paths, by their names in the table, each with the default of an option."""


def default_of(row: Mapping[str, Any]) -> Any:
    """Default of an option; `...` if it is required."""
    kind, default = KINDS[row.get("kind", "text")]
    default = ... if row.get("required") else None if row.get("optional") else row.get("default", default)
    return Path(default) if kind is from_start and isinstance(default, str) else default


def parameter(name: str, row: Mapping[str, Any]) -> Parameter:
    """Signature parameter from which typer builds an option, or an argument if it has no flag."""
    tokens, kind, default = row["spelled"].split(), KINDS[row.get("kind", "text")][0], default_of(row)
    flags = [word for word in tokens if word.startswith("-")]
    settings: dict[str, Any] = {key: row[key] for key in ("help", "min", "max") if key in row}
    settings["metavar"] = next((word for word in tokens if word not in flags), None)
    if "offers" in row:
        settings["autocompletion"] = OFFERS[row["offers"]]
    if kind in {from_start, file_from_start}:
        settings["parser"], kind = kind, Path
    declaration = typer.Option(*flags, **settings) if flags else typer.Argument(**settings)
    annotation = Annotated[kind | None if default is None else kind, declaration]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=Parameter.empty if default is ... else default, annotation=annotation)


def _show_version(is_requested: bool) -> None:
    if is_requested:
        from importlib.metadata import version

        print(f"helmsman {version('helmsman')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and exit.")]
