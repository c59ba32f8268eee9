"""`helmsman memory`: its commands and their options. What they do is imported by the command that needs it."""

from pathlib import Path
from typing import Annotated

import typer

from deployments.options import HERE, Json
from deployments.start_directory import file_from_start, from_start

memory = typer.Typer(
    help="Look at what loops have learnt; take it elsewhere, or forget it.", no_args_is_help=True, rich_markup_mode=None
)

Repo = Annotated[
    Path,
    typer.Option("--repo", metavar="DIR", parser=from_start, help="The repository whose configuration names the store."),
]
Kind = Annotated[
    str, typer.Option("--kind", metavar="KIND", help="Only strategy, antipattern, convention or, in a list, guardrail.")
]
MOST = 500
"""Lines of one list."""
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=MOST, help="Show N at most.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Of a lesson or a guardrail; `helmsman memory list` shows them.")]
FEW = 50


@memory.command("list")
def list_lessons(
    project: Annotated[
        Path | None,
        typer.Option(
            "--project", metavar="DIR", parser=from_start, help="Only of this repository's project; . is the one you are in."
        ),
    ] = None,
    kind: Kind = "",
    task_type: Annotated[
        str, typer.Option("--type", metavar="TYPE", help="Only lessons of this kind of work: feature, bugfix, refactor…")
    ] = "",
    retired: Annotated[bool, typer.Option("--retired", help="Also those that are told no more.")] = False,
    limit: Limit = FEW,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """List lessons and guardrails, the ones seen last first."""
    from deployments.memory.looking import Wanted, show_list

    show_list(repo, Wanted(project, kind, task_type, retired=retired, limit=limit), as_json=as_json)


@memory.command()
def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words; those that few lessons hold count most.")],
    kind: Kind = "",
    limit: Limit = FEW,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Find lessons by their words, the most fitting first."""
    from deployments.memory.looking import show_found

    show_found(repo, text, kind, limit, as_json=as_json)


@memory.command()
def show(name: Id, repo: Repo = HERE, as_json: Json = False) -> None:
    """Show a lesson or a guardrail with everything that speaks for it."""
    from deployments.memory.looking import show_one

    show_one(repo, name, as_json=as_json)


@memory.command()
def stats(repo: Repo = HERE, as_json: Json = False) -> None:
    """Show the memory in numbers: where it is, what is in it, and whether guardrails and levels of learning did any good."""
    from deployments.memory.looking import show_stats

    show_stats(repo, as_json=as_json)


@memory.command()
def forget(
    name: Id,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Remove a lesson or a guardrail for good."""
    from deployments.memory.forgetting import forget

    forget(repo, name, ask=not yes and not as_json, as_json=as_json)


@memory.command("export")
def export_memory(
    file: Annotated[Path, typer.Argument(metavar="FILE", parser=file_from_start, help="Where to; - prints it.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Write everything into one JSON file, with its version and its SHA-256."""
    from deployments.memory.exchange import export_to

    export_to(repo, file, force=force, as_json=as_json)


@memory.command("import")
def import_memory(
    file: Annotated[Path, typer.Argument(metavar="FILE", parser=from_start, help="A file that `helmsman memory export` wrote.")],
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Merge an exported file in: the newer of two stays, and a file that is not whole changes nothing."""
    from deployments.memory.exchange import import_from

    import_from(repo, file, as_json=as_json)
