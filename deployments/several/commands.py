"""`helmsman chain` and `helmsman parallel`: several loops, one after the other or at the same time."""

from pathlib import Path
from typing import Annotated

import typer

from deployments.options import HERE, Json, Merge, Repo, Settings, Yes
from deployments.start_directory import from_start

File = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", parser=from_start, help="A TOML file with [[loops]], each with a goal."),
]


def chain(
    file: File = None,
    goal: Annotated[list[str] | None, typer.Option("--goal", metavar="TEXT", help="Goal of a loop; repeatable.")] = None,
    repo: Repo = HERE,
    check: Annotated[
        list[str] | None, typer.Option("--check", metavar="CMD", help="Proves each loop that names no check; repeatable.")
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="CHAIN", help="Its id; its loops are CHAIN-1, CHAIN-2…")] = "",
    draft: Annotated[bool, typer.Option("--draft", help="Print a first split of the goal, and start nothing.")] = False,
    settings: Settings = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Drive loops one after the other, each on the work of the one before it. Given again, it goes on where it ended."""
    from deployments.several.chaining import Said, chain
    from deployments.several.chaining import draft as print_draft

    said = Said(file=file, goals=tuple(goal or ()), checks=tuple(check or ()), name=name, settings=tuple(settings or ()))
    if draft:
        print_draft(repo, said)
        return
    raise typer.Exit(chain(repo, said, yes=yes, as_json=as_json))


def parallel(
    file: File = None,
    goal: Annotated[list[str] | None, typer.Option("--goal", metavar="TEXT", help="Goal of a loop; repeatable.")] = None,
    approach: Annotated[
        list[str] | None, typer.Option("--approach", metavar="TEXT", help="One loop goes about the goal like this; repeatable.")
    ] = None,
    best_of: Annotated[int, typer.Option("--best-of", metavar="N", min=0, help="N loops with one goal; the best is kept.")] = 0,
    repo: Repo = HERE,
    check: Annotated[
        list[str] | None, typer.Option("--check", metavar="CMD", help="Proves each loop that names no check; repeatable.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=1, max=32, help="Loops at the same time; 4.")
    ] = None,
    merge: Merge = "",
    plan: Annotated[
        str, typer.Option("--plan", metavar="FILE", help="A loop for each open item of this plan, in the order that it needs.")
    ] = "",
    name: Annotated[str, typer.Option("--name", metavar="GROUP", help="Its id; its loops are GROUP-1, GROUP-2…")] = "",
    settings: Settings = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Drive loops at the same time, each in a worktree of its own. Given again, it goes on where it ended."""
    from deployments.several.paralleling import Said, parallel

    said = Said(
        file=file,
        goals=tuple(goal or ()),
        approaches=tuple(approach or ()),
        best_of=best_of,
        checks=tuple(check or ()),
        workers=workers,
        merge=merge,
        plan=plan,
        name=name,
        settings=tuple(settings or ()),
    )
    raise typer.Exit(parallel(repo, said, yes=yes, as_json=as_json))
