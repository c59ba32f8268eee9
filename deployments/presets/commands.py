"""`helmsman presets`: its commands and their options. What they do is imported by the command that needs it."""

from pathlib import Path
from typing import Annotated

import typer

from deployments import completing
from deployments.options import HERE, Json
from deployments.start_directory import from_start

presets = typer.Typer(
    help="Hats, words and settings for common kinds of work: look at them, make your own.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Repo = Annotated[
    Path,
    typer.Option("--repo", metavar="DIR", parser=from_start, help="The repository whose own presets count as well."),
]


@presets.command("list")
def list_presets(repo: Repo = HERE, as_json: Json = False) -> None:
    """List the presets by name, the repository's own among them."""
    from deployments.presets.showing import show_list

    show_list(repo, as_json=as_json)


@presets.command()
def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A preset's name, or the path of its file.", autocompletion=completing.presets)
    ],
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Show a preset whole: hats and when they are worn, checks that fit, settings, and what every iteration is told."""
    from deployments.presets.showing import show_one

    show_one(repo, name, as_json=as_json)


@presets.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Small letters, digits and single dashes between them.")],
    copied: Annotated[str, typer.Option("--from", metavar="NAME", help="Begin with a copy of this preset.")] = "",
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Write a preset of your own to `.helmsman/presets/`, to be edited and committed."""
    from deployments.presets.showing import make

    make(repo, name, copied, as_json=as_json)
