"""Options and arguments that several commands have, with the same words of help everywhere."""

from pathlib import Path
from typing import Annotated

import typer

from deployments import completing

Repo = Annotated[Path, typer.Option("--repo", metavar="DIR", help="The repository; any folder inside it will do.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output and nothing else.")]
Loop = Annotated[
    str, typer.Argument(metavar="LOOP", help="The loop's id; `helmsman list` shows them.", autocompletion=completing.loops)
]
LoopOrLatest = Annotated[
    str | None,
    typer.Argument(metavar="[LOOP]", help="The loop; one that runs, else the latest.", autocompletion=completing.loops),
]
LoopOrGroup = Annotated[
    str, typer.Argument(metavar="LOOP", help="The loop's id, or that of a group.", autocompletion=completing.groups)
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any configuration key; repeatable.", autocompletion=completing.keys),
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="A TOML file that wins over the repository's own.")
]
Guidance = Annotated[str, typer.Option("--guidance", metavar="TEXT", help="What the next iteration is told, in your words.")]
Detach = Annotated[bool, typer.Option("--detach", help="Leave it to a process of its own, and return once it is under way.")]
GoalFile = Annotated[
    Path | None, typer.Option("--goal-file", metavar="FILE", help="Read the goal from a file; - is standard input.")
]
Merge = Annotated[
    str,
    typer.Option(
        "--merge",
        metavar="BRANCH",
        help="Merge proven work into this branch; . is the one checked out.",
        autocompletion=completing.branches,
    ),
]
Agent = Annotated[
    str,
    typer.Option(
        "--agent",
        metavar="NAME",
        help="Which agent works: claude, codex, gemini and others (docs/agents.md).",
        autocompletion=completing.agents,
    ),
]
Plan = Annotated[
    str, typer.Option("--plan", metavar="FILE", help="A list of work in the repository, done item by item (docs/plans.md).")
]
Preset = Annotated[
    str,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Hats, words and settings for a kind of work: `helmsman presets list`.",
        autocompletion=completing.presets,
    ),
]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who answers, for the record; your user name if not given.")]
Choice = Annotated[
    str | None,
    typer.Argument(
        metavar="[CHOICE]",
        help="approve, revise, accept, take-over or stop; without it: what is asked.",
        autocompletion=completing.choices,
    ),
]


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"helmsman {version('helmsman')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version and end.")]
HERE = Path()
"""The repository where none is named."""
