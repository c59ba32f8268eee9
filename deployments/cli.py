"""`helmsman`: the command line. A table of commands; what one of them does is imported when it is called."""

import gc
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import Signature
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer.core import TyperGroup

from deployments.dialogue import say_first
from deployments.errors import report_misuse, status_of
from deployments.options import OPTIONS, Version
from deployments.start_directory import leave_start_directory
from helmsman.errors import OperatorError

if TYPE_CHECKING:  # typer brings a click of its own, in a private package
    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter


class Command(NamedTuple):
    does: str
    """The function that it calls, `module:name`; what that returns is the exit status."""
    options: str
    """In the order of its help: names of `OPTIONS`, or `PARAMETER=NAME` where the function calls it otherwise."""
    help: str

    @property
    def parameters(self) -> dict[str, str]:
        """Names of `OPTIONS` by the function's parameters."""
        pairs = (word.partition("=") for word in self.options.split())
        return {name: row or name for name, _, row in pairs}


COMMANDS = {
    "run": Command("run:start",
        "goal goal_file repo check no_checks hidden hidden_folder in_place max_iterations max_calls timeout"
        " milestone_every completion_promise merge agent name plan preset config settings yes=yes_to_start detach as_json",
        "Start a new loop and drive it to its end."),
    "resume": Command("run:go_on", "loop repo max_iterations=new_limit settings yes detach accepted=accept_state as_json",
        "Go on with a loop that was interrupted, cancelled or stopped."),
    "chain": Command("group:chain", "file=loops_file goals repo checks=each_check name=chain_name draft settings yes as_json",
        "Drive loops one after the other, each on the work of the one before it. Given again, it goes on where it ended."),
    "parallel": Command("group:parallel",
        "file=loops_file goals approaches best_of repo checks=each_check workers merge plan=group_plan name=group_name"
        " settings yes as_json",
        "Drive loops at the same time, each in a worktree of its own. Given again, it goes on where it ended."),
    "status": Command("show:show_status", "loop=loop_or_latest repo as_json",
        "Show how a loop stands: outcome, reason, checks, cost, branch; or a group, with a line for each of its loops."),
    "watch": Command("watch:watch", "loop=loop_or_latest repo once as_json",
        "Watch a loop from any terminal until it ends: step, tools, checks, progress, cost, questions. Ctrl-C leaves it"
        " alone."),
    "log": Command("show:show_log", "loop iteration=whole_iteration repo as_json",
        "Show what each iteration did, what the checks said and what was decided; with N, one of them in full."),
    "explain": Command("show:show_explanation", "loop iteration=other_iteration repo as_json",
        "Show why the last iteration, or the Nth, was decided as it was: every question, its numbers, what would have"
        " changed it."),
    "prompt": Command("preview:show_prompt", "loop=loop_or_new iteration=sent_iteration judge settings repo as_json",
        "Print what the agent, or the judge, is sent: system text and message, with tokens by part. Nothing is run or"
        " written."),
    "report": Command("show:report", "loop output repo",
        "Write a loop on one page of HTML, with charts and every iteration; it needs nothing but a browser."),
    "list": Command("show:show_list", "repo as_json", "List the repository's loops, the latest first."),
    "cancel": Command("answer:cancel_loop", "loop=loop_or_group repo as_json",
        "Stop a running loop within seconds; its state and work are kept and it can be resumed."),
    "approve": Command("answer:approve", "loop guidance settings by repo as_json",
        "Say yes to what a loop asks; with --guidance the next iteration is told, with --set limits or other keys change."),
    "reject": Command("answer:reject", "loop guidance by repo as_json",
        "Say no to what a loop asks: it works on where that is offered, else it ends."),
    "answer": Command("answer:answer", "loop choice guidance settings by repo as_json",
        "Show what a loop asks and what each choice will do, or answer it with one of them."),
    "config": Command("preview:show_configuration", "key repo config settings changed as_json",
        "Show every configuration value and where it comes from."),
    "init": Command("init:initialise", "goal=goal_option repo yes=yes_to_what_works force=force_files as_json",
        "Find the commands that prove something, try each, and write helmsman.toml and RUBRIC.md."),
    "verify": Command("verify:verify_change",
        "commits repo check hidden hidden_folder goal=judged_goal probes rubric settings junit sarif comment yes as_json",
        "Verify any change without a loop: its checks on both ends, and each end's tests on the other's source."),
    "trust": Command("trust:trust", "repo yes=yes_to_files forget=revoke as_json",
        "Show what a repository asks for that only you may decide, and agree to it; --json alone only shows."),
    "receive": Command("receiver.serving:serve", "repos host port",
        "Listen for signed webhooks: pushed commits and labelled issues start loops."),
    "align": Command("align:align_goal", "goal goal_file repo out yes=yes_to_open as_json",
        "Find out what nobody has said yet, ask it, and write it down before a loop starts."),
    "deploy": Command("deploy:deploy", "pool notify as_json",
        "Bring work pool, deployments and automations onto the configured Prefect server; again after every upgrade."),
    "doctor": Command("doctor:examine", "repo fix as_json", "Look for what is missing on this machine and say how to fix it."),
    "demo": Command("demo:tell", "keep",
        "Watch a whole loop: the real agent CLI and the real engine, steered against a scripted model, offline."),
    "rubric check": Command("rubric:check_rubric", "file=rubric_file repo as_json",
        "Show what is understood of RUBRIC.md, every flaw in it, and which checks and criteria prove little."),
    "memory list": Command("memory:show_list", "project kind task_type retired limit repo=memory_repo as_json",
        "List lessons and guardrails, the ones seen last first."),
    "memory search": Command("memory:show_found", "text kind limit repo=memory_repo as_json",
        "Find lessons by their words, the most fitting first."),
    "memory show": Command("memory:show_one", "name=lesson repo=memory_repo as_json",
        "Show a lesson or a guardrail with everything that speaks for it."),
    "memory stats": Command("memory:show_stats", "repo=memory_repo as_json",
        "Show the memory in numbers: where it is, what is in it, and whether guardrails and levels of learning did any"
        " good."),
    "memory forget": Command("memory:forget", "name=lesson yes=yes_to_forget repo=memory_repo as_json",
        "Remove a lesson or a guardrail for good."),
    "memory export": Command("memory:export_to", "file=target force repo=memory_repo as_json",
        "Write everything into one JSON file, with its version and its SHA-256."),
    "memory import": Command("memory:import_from", "file=exported repo=memory_repo as_json",
        "Merge an exported file in: the newer of two stays, and a file that is not whole changes nothing."),
    "presets list": Command("presets:list_presets", "repo=presets_repo as_json",
        "List the presets by name, the repository's own among them."),
    "presets show": Command("presets:show_preset", "name=preset_or_path repo=presets_repo as_json",
        "Show a preset whole: hats and when they are worn, checks that fit, settings, and what every iteration is told."),
    "presets new": Command("presets:new_preset", "name=new_preset copied repo=presets_repo as_json",
        "Write a preset of your own to `.helmsman/presets/`, to be edited and committed."),
}  # fmt: skip
COMMANDS_OF = {
    "rubric": "Look at RUBRIC.md.",
    "memory": "Look at what loops have learnt; take it elsewhere, or forget it.",
    "presets": "Hats, words and settings for common kinds of work: look at them, make your own.",
}
GROUPS = {
    "Begin": ("doctor", "init", "align", "run", "demo"),
    "Without a loop": ("verify",),
    "Look": ("status", "watch", "list", "log", "explain", "prompt", "report", "config"),
    "Decide": ("approve", "reject", "answer", "resume", "cancel", "trust"),
    "Several loops": ("chain", "parallel"),
    "What loops go by": ("rubric", "presets", "memory"),
    "Serve": ("deploy", "receive"),
}
OTHERS = "Others"
SPACES = 6
"""Around a command's name."""
EXAMPLE = (
    ('helmsman run "Make the parser accept trailing commas" --check "pytest -q"', "start a loop"),
    ("helmsman watch", "see what it does"),
    ("helmsman status", "how it stands, and what comes next"),
)
BORROWED = {
    "--force-max": "give --set completion.force_max=true: go on improving after the work is proven",
    "--hitl-threshold": "give --set judge.rejections=N: rejections in a row before a person is asked",
    "--with-judge": "write criteria under `## Judge criteria` in RUBRIC.md, or set judge.criteria: then there is a judge",
    "--no-controller": "give --set ladder.act=false: the overseer only watches and reports",
    "--auto-intervene": "leave it out: the overseer intervenes by default (ladder.act=true)",
    "--auto-escalate": "leave it out: the overseer escalates by default; --set ladder.patience=N says after how many iterations",
    "--pause-on-critical": "give --set gates.ask=true: what needs a person pauses the run instead of ending it",
    "--base-branch": "give --merge BRANCH: proven work is merged into it",
    "--calls": "give --max-calls N: agent calls an hour",
}
"""Flags that people know from other loops, and what to give instead. Those that mean the same here are options of `run`."""
YOUNG_OBJECTS = 50_000
"""Made before the youngest are looked through: with Python's 700, that took a fifth of a start, for what lives to the end."""


class GroupedCommands(TyperGroup):
    """Commands under headings; one that no group names is under the last."""

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        shown = {
            name: command for name in self.list_commands(ctx) if (command := self.get_command(ctx, name)) and not command.hidden
        }
        named = {name for names in GROUPS.values() for name in names}
        groups = {**GROUPS, OTHERS: tuple(name for name in shown if name not in named)}
        width = max(map(len, shown), default=0)
        for title, names in groups.items():
            rows = [
                (f"{name:<{width}}", shown[name].get_short_help_str(formatter.width - width - SPACES))
                for name in names
                if name in shown
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        del ctx
        with formatter.section("Example"):
            for command, what in EXAMPLE:
                formatter.write(f"  # {what}\n  {command}\n")


app = typer.Typer(
    name="helmsman",
    cls=GroupedCommands,
    help="Steer a coding agent toward a goal that can be verified; survive crashes; say why it stopped.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def common(version: Version = False) -> None:
    pass


def _called(row: Command) -> Callable[..., None]:
    """What typer calls. It reads the options from its signature."""

    def command(**options: Any) -> None:
        if "detach" in options:
            say_first("preparing  the loop", as_json=options["as_json"])
        module, _, name = row.does.partition(":")
        raise typer.Exit(getattr(import_module(f"deployments.{module}"), name)(**options) or 0)

    parameters = [OPTIONS[option].parameter(name) for name, option in row.parameters.items()]
    command.__signature__ = Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    return command


def _add_commands() -> None:
    groups = {name: typer.Typer(help=told, no_args_is_help=True, rich_markup_mode=None) for name, told in COMMANDS_OF.items()}
    for name, group in groups.items():
        app.add_typer(group, name=name)
    for words, row in COMMANDS.items():
        group, _, name = words.rpartition(" ")
        groups.get(group, app).command(name, help=row.help)(_called(row))


_add_commands()


def refuse_borrowed(arguments: Sequence[str]) -> None:
    """Raise OperatorError for the first flag that has another name here; what follows `--` is no flag."""
    flags = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for flag in (argument.partition("=")[0] for argument in flags):
        if flag in BORROWED:
            raise OperatorError(f"{flag} is not an option of helmsman", remedy=BORROWED[flag])


def in_words(arguments: list[str]) -> list[str]:
    """`helmsman help COMMAND` and `helmsman version` say what the options of that name do."""
    first, *others = arguments or [""]
    return {"help": [*others[:1], "--help"], "version": ["--version"]}.get(first, arguments)


def main() -> None:
    """Run a command; turn our errors into a message, an exit status and, where asked for, JSON."""
    gc.set_threshold(YOUNG_OBJECTS)
    try:
        sys.exit(status_of(_run))
    except SystemExit as ended:
        report_misuse(ended)
        raise
    finally:
        gc.freeze()  # nor is anything looked through once more in order to end


def _run() -> int:
    try:
        leave_start_directory()
        refuse_borrowed(sys.argv[1:])
        sys.argv[1:] = in_words(sys.argv[1:])
        app(standalone_mode=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read us has gone; that is no error
    return 0


if __name__ == "__main__":
    main()
