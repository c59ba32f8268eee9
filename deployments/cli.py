"""`helmsman`: the command line. It reads arguments and prints; everything heavy is imported by the command that needs it."""

import gc
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from deployments.borrowed_flags import in_words, refuse_borrowed
from deployments.complaints import report as report_error
from deployments.complaints import report_misuse, report_unforeseen
from deployments.dialogue import say_first
from deployments.help import GroupedCommands
from deployments.memory.commands import memory
from deployments.options import (
    HERE,
    Agent,
    By,
    Check,
    Choice,
    CompletionPromise,
    ConfigFile,
    Detach,
    GoalFile,
    Guidance,
    Hidden,
    HiddenFolder,
    Json,
    JUnit,
    Loop,
    LoopOrGroup,
    MaxCalls,
    Merge,
    MilestoneEvery,
    Name,
    Notify,
    Plan,
    Pool,
    Preset,
    Probes,
    Range,
    Repo,
    RubricFile,
    Sarif,
    Settings,
    Timeout,
    Version,
    Yes,
)
from deployments.presets.commands import presets
from deployments.rubric_commands import rubric
from deployments.several.commands import chain, parallel
from deployments.show.commands import explain, list_loops, log, prompt, report, show_config, status, watch
from deployments.start_directory import from_start, leave_start_directory
from helmsman.errors import HelmsmanError

app = typer.Typer(
    name="helmsman",
    cls=GroupedCommands,
    help="Steer a coding agent toward a goal that can be verified; survive crashes; say why it stopped.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(rubric, name="rubric")
app.add_typer(memory, name="memory")
app.add_typer(presets, name="presets")

YOUNG_OBJECTS = 50_000
"""Made before the youngest are looked through: with Python's 700, that took a fifth of a start, for what lives to the end."""


@app.callback()
def common(version: Version = False) -> None:
    pass


@app.command()
def run(
    goal: Annotated[str | None, typer.Argument(metavar="[GOAL]", help="What shall be true at the end.")] = None,
    goal_file: GoalFile = None,
    repo: Repo = HERE,
    check: Check = None,
    no_checks: Annotated[bool, typer.Option("--no-checks", help="Run no check at all; nothing is verified then.")] = False,
    hidden: Hidden = None,
    hidden_folder: HiddenFolder = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Work on the current branch instead of in a worktree.")] = False,
    max_iterations: Annotated[int | None, typer.Option("--max-iterations", metavar="N", help="Stop after N iterations.")] = None,
    max_calls: MaxCalls = None,
    timeout: Timeout = None,
    milestone_every: MilestoneEvery = None,
    completion_promise: CompletionPromise = None,
    merge: Merge = "",
    agent: Agent = "",
    name: Name = "",
    plan: Plan = "",
    preset: Preset = "",
    config: ConfigFile = None,
    settings: Settings = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before the agent starts.")] = False,
    detach: Detach = False,
    as_json: Json = False,
) -> None:
    """Start a new loop and drive it to its end."""
    say_first("preparing  the loop", as_json=as_json)
    from deployments.running import start
    from deployments.wishes import KEYS, Wishes

    wishes = Wishes(
        goal=goal,
        goal_file=goal_file,
        checks=tuple(check or ()),
        no_checks=no_checks,
        hidden=tuple(hidden or ()),
        hidden_folder=hidden_folder,
        in_place=in_place,
        keys=dict(zip(KEYS, (max_iterations, max_calls, timeout, milestone_every, completion_promise), strict=True)),
        merge=merge,
        agent=agent,
        name=name,
        config=config,
        settings=tuple(settings or ()),
        plan=plan,
        preset=preset,
    )
    raise typer.Exit(start(repo, wishes, yes=yes, as_json=as_json, detach=detach))


@app.command()
def resume(
    loop: Loop,
    repo: Repo = HERE,
    max_iterations: Annotated[int | None, typer.Option("--max-iterations", metavar="N", help="A new limit.")] = None,
    settings: Settings = None,
    yes: Yes = False,
    detach: Detach = False,
    accept_state: Annotated[
        str, typer.Option(metavar="COMMIT", help="Sign the loop's state at that commit, which could not be verified.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Go on with a loop that was interrupted, cancelled or stopped."""
    say_first("preparing  the loop", as_json=as_json)
    from deployments.running import go_on

    assignments = (*(settings or ()), *([f"limits.iterations={max_iterations}"] if max_iterations is not None else ()))
    raise typer.Exit(go_on(repo, loop, assignments, accepted=accept_state, yes=yes, as_json=as_json, detach=detach))


app.command()(chain)
app.command()(parallel)


for look in (status, watch, log, explain, prompt, report):
    app.command()(look)
app.command("list")(list_loops)


@app.command()
def cancel(loop: LoopOrGroup, repo: Repo = HERE, as_json: Json = False) -> None:
    """Stop a running loop within seconds; its state and work are kept and it can be resumed."""
    from deployments.cancelling import cancel_loop

    raise typer.Exit(cancel_loop(repo, loop, as_json=as_json))


@app.command()
def approve(
    loop: Loop,
    guidance: Guidance = "",
    settings: Settings = None,
    by: By = "",
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Say yes to what a loop asks; with --guidance the next iteration is told, with --set limits or other keys change."""
    from deployments.answering import answer_loop

    told = answer_loop(repo, loop, "approve", guidance=guidance, settings=tuple(settings or ()), by=by, as_json=as_json)
    raise typer.Exit(told)


@app.command()
def reject(loop: Loop, guidance: Guidance = "", by: By = "", repo: Repo = HERE, as_json: Json = False) -> None:
    """Say no to what a loop asks: it works on where that is offered, else it ends."""
    from deployments.answering import answer_loop, rejection

    choice = rejection(repo, loop)
    raise typer.Exit(answer_loop(repo, loop, choice, guidance=guidance, settings=(), by=by, as_json=as_json))


@app.command()
def answer(
    loop: Loop,
    choice: Choice = None,
    guidance: Guidance = "",
    settings: Settings = None,
    by: By = "",
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Show what a loop asks and what each choice will do, or answer it with one of them."""
    from deployments.answering import answer_loop

    told = answer_loop(repo, loop, choice, guidance=guidance, settings=tuple(settings or ()), by=by, as_json=as_json)
    raise typer.Exit(told)


app.command("config")(show_config)


@app.command()
def init(
    goal: Annotated[str | None, typer.Option("--goal", metavar="TEXT", help="What shall be true at the end.")] = None,
    repo: Repo = HERE,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask: take the commands that work.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a helmsman.toml or RUBRIC.md that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Find the commands that prove something, try each, and write helmsman.toml and RUBRIC.md."""
    from deployments.init.initialising import initialise

    raise typer.Exit(initialise(repo, goal, yes=yes, force=force, as_json=as_json))


@app.command()
def verify(
    commits: Range = "",
    repo: Repo = HERE,
    check: Check = None,
    hidden: Hidden = None,
    hidden_folder: HiddenFolder = None,
    goal: Annotated[str, typer.Option("--goal", metavar="TEXT", help="Have a judge say whether the change reaches it.")] = "",
    rubric_file: RubricFile = None,
    probes: Probes = 0,
    settings: Settings = None,
    junit: JUnit = None,
    sarif: Sarif = None,
    comment: Annotated[bool, typer.Option("--comment", help="Keep one comment on the pull request of this CI job.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Verify any change without a loop: its checks on both ends, and each end's tests on the other's source."""
    from deployments.verify import Asked, verify_change

    asked = Asked(
        range=commits,
        checks=tuple(check or ()),
        goal=goal,
        rubric=rubric_file,
        settings=tuple(settings or ()),
        junit=junit,
        sarif=sarif,
        comment=comment,
        hidden=tuple(hidden or ()),
        hidden_folder=hidden_folder,
        probes=probes,
    )
    raise typer.Exit(verify_change(repo, asked, yes=yes, as_json=as_json))


@app.command()
def trust(
    repo: Repo = HERE,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Agree to exactly what its files ask for now.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take back all that was agreed to.")] = False,
    as_json: Json = False,
) -> None:
    """Show what a repository asks for that only you may decide, and agree to it; --json alone only shows."""
    from deployments.trust import trust

    raise typer.Exit(trust(repo, yes=yes, forget=revoke, as_json=as_json))


@app.command()
def receive(
    repos: Annotated[
        Path,
        typer.Option(
            "--repos", metavar="FILE", parser=from_start, help="Which repositories may start loops; docs/push.md shows one."
        ),
    ],
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="0: a free one, which is printed.")] = 8747,
) -> None:
    """Listen for signed webhooks: pushed commits and labelled issues start loops."""
    from deployments.receiver.serving import serve

    serve(repos, host, port)


@app.command()
def align(
    goal: Annotated[str | None, typer.Argument(metavar="[GOAL]", help="What shall be true at the end.")] = None,
    goal_file: GoalFile = None,
    repo: Repo = HERE,
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The file, from the repository's top.")] = "ALIGNMENT.md",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask: leave questions open in the file.")] = False,
    as_json: Json = False,
) -> None:
    """Find out what nobody has said yet, ask it, and write it down before a loop starts."""
    from deployments.align.aligning import align_goal

    raise typer.Exit(align_goal(repo, goal, goal_file, out, yes=yes, as_json=as_json))


@app.command()
def deploy(pool: Pool = "helmsman", notify: Notify = "", as_json: Json = False) -> None:
    """Bring work pool, deployments and automations onto the configured Prefect server; again after every upgrade."""
    from deployments.deploy import deploy

    raise typer.Exit(deploy(pool, as_json=as_json, notify=notify))


@app.command()
def doctor(
    repo: Repo = HERE,
    fix: Annotated[bool, typer.Option("--fix", help="Fix what can be fixed safely, and say what was done.")] = False,
    as_json: Json = False,
) -> None:
    """Look for what is missing on this machine and say how to fix it."""
    from deployments.doctor.examinations import examine

    raise typer.Exit(examine(repo, fix=fix, as_json=as_json))


@app.command()
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the demo's folder to look around in.")] = False,
) -> None:
    """Watch a whole loop: the real agent CLI and the real engine, steered against a scripted model, offline."""
    from deployments.demo import tell

    raise typer.Exit(tell(keep=keep))


def main() -> None:
    """Run a command; turn our errors into a message, an exit status and, where asked for, JSON."""
    gc.set_threshold(YOUNG_OBJECTS)
    try:
        leave_start_directory()
        refuse_borrowed(sys.argv[1:])
        sys.argv[1:] = in_words(sys.argv[1:])
        app(standalone_mode=True)
    except HelmsmanError as error:
        sys.exit(report_error(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except SystemExit as ended:
        report_misuse(ended)
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read us has gone; that is no error
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 - the last place where it can be told in the promised shape
        sys.exit(report_unforeseen(error))
    finally:
        gc.freeze()  # nor is anything looked through once more in order to end


if __name__ == "__main__":
    main()
