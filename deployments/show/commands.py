"""The commands that only look: status, watch, list, log, explain, prompt, report, config."""

from pathlib import Path
from typing import Annotated

import typer

from deployments import completing
from deployments.options import HERE, ConfigFile, Json, Loop, LoopOrLatest, Repo, Settings
from deployments.start_directory import file_from_start


def status(
    loop: LoopOrLatest = None,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Show how a loop stands: outcome, reason, checks, cost, branch; or a group, with a line for each of its loops."""
    from deployments.show.looking import show_status

    show_status(repo, loop, as_json=as_json)


def watch(
    loop: LoopOrLatest = None,
    repo: Repo = HERE,
    once: Annotated[bool, typer.Option("--once", help="Print how it stands at this moment and end.")] = False,
    as_json: Json = False,
) -> None:
    """Watch a loop from any terminal until it ends: step, tools, checks, progress, cost, questions. Ctrl-C leaves it alone."""
    from deployments.show.watching import watch

    raise typer.Exit(watch(repo, loop, once=once, as_json=as_json))


def list_loops(repo: Repo = HERE, as_json: Json = False) -> None:
    """List the repository's loops, the latest first."""
    from deployments.show.looking import show_list

    show_list(repo, as_json=as_json)


def log(
    loop: Loop,
    iteration: Annotated[int | None, typer.Argument(metavar="[N]", help="One iteration in full.")] = None,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Show what each iteration did, what the checks said and what was decided; with N, one of them in full."""
    from deployments.show.looking import show_log

    show_log(repo, loop, iteration, as_json=as_json)


def explain(
    loop: Loop,
    iteration: Annotated[int | None, typer.Argument(metavar="[N]", help="Another iteration than the last.")] = None,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Show why the last iteration, or the Nth, was decided as it was: every question, its numbers, what would have changed it."""
    from deployments.show.looking import show_explanation

    show_explanation(repo, loop, iteration, as_json=as_json)


def report(
    loop: Loop,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            parser=file_from_start,
            help="Where to; - prints it. The loop's own folder if not given.",
        ),
    ] = None,
    repo: Repo = HERE,
) -> None:
    """Write a loop on one page of HTML, with charts and every iteration; it needs nothing but a browser."""
    from deployments.show.report_page import report

    report(repo, loop, output)


def prompt(
    loop: Annotated[
        str | None,
        typer.Argument(
            metavar="[LOOP]", help="The loop; without it, a new one as configured here.", autocompletion=completing.loops
        ),
    ] = None,
    iteration: Annotated[
        int | None, typer.Option("--iteration", metavar="N", min=1, help="As it was sent then; without it, what is sent next.")
    ] = None,
    judge: Annotated[bool, typer.Option("--judge", help="What the judge is sent, not the agent.")] = False,
    settings: Settings = None,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Print what the agent, or the judge, is sent: system text and message, with tokens by part. Nothing is run or written."""
    from deployments.show.prompt import show_prompt

    show_prompt(repo, loop, iteration, tuple(settings or ()), judge=judge, as_json=as_json)


def show_config(
    key: Annotated[str, typer.Argument(metavar="[KEY]", help="One key, or a section as `limits`.")] = "",
    repo: Repo = HERE,
    config: ConfigFile = None,
    settings: Settings = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only what differs from the default.")] = False,
    as_json: Json = False,
) -> None:
    """Show every configuration value and where it comes from."""
    from deployments.show.configuration import show_configuration

    show_configuration(repo, config, tuple(settings or ()), key=key, changed=changed, as_json=as_json)
