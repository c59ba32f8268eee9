"""Options and arguments that several commands have, with the same words of help everywhere."""

from pathlib import Path
from typing import Annotated

import typer

from deployments import completing
from deployments.start_directory import file_from_start, from_start

Repo = Annotated[
    Path,
    typer.Option("--repo", metavar="DIR", parser=from_start, help="The repository; any folder inside it will do."),
]
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
    Path | None,
    typer.Option("--config", metavar="FILE", parser=from_start, help="A TOML file that wins over the repository's own."),
]
Guidance = Annotated[str, typer.Option("--guidance", metavar="TEXT", help="What the next iteration is told, in your words.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; the repository's own commands may run here.")]
Detach = Annotated[bool, typer.Option("--detach", help="Leave it to a process of its own, and return once it is under way.")]
GoalFile = Annotated[
    Path | None,
    typer.Option("--goal-file", metavar="FILE", parser=file_from_start, help="Read the goal from a file; - is standard input."),
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
Check = Annotated[list[str] | None, typer.Option("--check", metavar="CMD", help="A command that proves it; repeatable.")]
Hidden = Annotated[
    list[str] | None, typer.Option("--hidden", metavar="CMD", help="A check that the agent never sees; repeatable.")
]
HiddenFolder = Annotated[
    Path | None,
    typer.Option(
        "--hidden-folder", metavar="DIR", parser=from_start, help="Files outside of the repository that hidden checks run on."
    ),
]
Probes = Annotated[
    int, typer.Option("--probes", metavar="N", min=0, max=20, help="Have a model write so many further cases, from --goal.")
]
Name = Annotated[str, typer.Option("--name", metavar="LOOP", help="Id of the new loop; made from the goal if not given.")]
MaxCalls = Annotated[int | None, typer.Option("--max-calls", metavar="N", help="Agent calls in an hour at most.")]
Timeout = Annotated[float | None, typer.Option("--timeout", metavar="MINUTES", help="The longest agent call.")]
MilestoneEvery = Annotated[
    int | None, typer.Option("--milestone-every", metavar="N", help="Have a person review every N iterations.")
]
CompletionPromise = Annotated[
    str | None, typer.Option("--completion-promise", metavar="TEXT", help="What the agent says to ask to be done.")
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
Range = Annotated[
    str,
    typer.Argument(
        metavar="[BASE..HEAD]",
        help="Which commits; the merge base with the upstream or default branch to HEAD if not given.",
        autocompletion=completing.commits,
    ),
]
RubricFile = Annotated[
    Path | None,
    typer.Option("--rubric", metavar="FILE", parser=from_start, help="Have a judge answer its criteria (docs/rubric.md)."),
]
JUnit = Annotated[Path | None, typer.Option("--junit", metavar="FILE", parser=from_start, help="Write the cases as JUnit XML.")]
Sarif = Annotated[
    Path | None, typer.Option("--sarif", metavar="FILE", parser=from_start, help="Write hints and reasons as SARIF.")
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
Pool = Annotated[str, typer.Option("--pool", metavar="NAME", help="The work pool; made if missing.")]
Notify = Annotated[
    str, typer.Option("--notify", metavar="TYPE/NAME", help="Block to notify when a loop asks a person: slack-webhook/ops.")
]
