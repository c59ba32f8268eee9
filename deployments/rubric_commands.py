"""`helmsman rubric`: the commands; what they do is in rubric.py, imported by whoever is run."""

from pathlib import Path
from typing import Annotated

import typer

from deployments.options import HERE, Json, Repo
from deployments.start_directory import from_start

rubric = typer.Typer(help="Look at RUBRIC.md.", no_args_is_help=True, rich_markup_mode=None)


@rubric.command("check")
def check_rubric(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", parser=from_start, help="Another file than the repository's RUBRIC.md."),
    ] = None,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Show what is understood of RUBRIC.md, every flaw in it, and which checks and criteria prove little."""
    from deployments.rubric import check_rubric

    raise typer.Exit(check_rubric(repo, file, as_json=as_json))
