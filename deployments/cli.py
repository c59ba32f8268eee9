"""`helmsman`: the command line, defined in commands.toml. The code of a command is imported when it is called."""

import gc
import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from inspect import Signature
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer.core import TyperGroup

from deployments.dialogue import say
from deployments.errors import failure, status_of
from deployments.options import OPTIONS, TABLE, Version, parameter
from deployments.start_directory import leave_start_directory

if TYPE_CHECKING:  # typer brings a click of its own, in a private package
    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter


class Command(NamedTuple):
    does: str  # `module:name` of its function, which returns the exit status
    options: str  # in the order of its help: names of `OPTIONS`, or `PARAMETER=NAME` if the parameter has another name
    help: str

    @property
    def parameters(self) -> dict[str, str]:
        """Names of `OPTIONS` by the function's parameters."""
        pairs = (word.partition("=") for word in self.options.split())
        return {name: row or name for name, _, row in pairs}


COMMANDS = {words: Command(**row) for words, row in TABLE["commands"].items()}
SPACES = 6  # columns around a command's name
EXAMPLE = (
    ('helmsman run "Make the parser accept trailing commas" --check "pytest -q"', "start a loop"),
    ("helmsman watch", "watch it work"),
    ("helmsman status", "show its state and the next step"),
)
YOUNG_OBJECTS = 50_000
"""Threshold of the youngest garbage collection: with Python's 700 it took a fifth of the start, for long-lived objects."""


class GroupedCommands(TyperGroup):
    """Commands under the headings of commands.toml."""

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        del ctx
        width = max(map(len, self.commands))
        for title, names in TABLE["headings"].items():
            rows = [
                (f"{name:<{width}}", self.commands[name].get_short_help_str(formatter.width - width - SPACES)) for name in names
            ]
            with formatter.section(title):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        del ctx
        with formatter.section("Example"):
            for command, comment in EXAMPLE:
                formatter.write(f"  # {comment}\n  {command}\n")


app = typer.Typer(
    name="helmsman",
    cls=GroupedCommands,
    help="Steer a coding agent toward a verifiable goal, survive crashes, and say why it stopped.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def common(version: Version = False) -> None:
    pass


def _command_function(row: Command) -> Callable[..., None]:
    """Function with the command's signature, from which typer reads the options."""

    def command(**options: Any) -> None:
        if "detach" in options and sys.stderr.isatty() and not options["as_json"]:
            say("preparing  the loop")  # before a second or two of imports
        module, _, name = row.does.partition(":")
        raise typer.Exit(getattr(import_module(f"deployments.{module}"), name)(**options) or 0)

    parameters = [parameter(name, OPTIONS[option]) for name, option in row.parameters.items()]
    command.__signature__ = Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    return command


GROUPS = {name: typer.Typer(help=told, no_args_is_help=True, rich_markup_mode=None) for name, told in TABLE["families"].items()}
for group_name, group in GROUPS.items():
    app.add_typer(group, name=group_name)
for words, row in COMMANDS.items():
    GROUPS.get(words.rpartition(" ")[0], app).command(words.rpartition(" ")[2], help=row.help)(_command_function(row))


def expand_aliases(arguments: list[str]) -> list[str]:
    """Translate `helmsman help COMMAND` and `helmsman version` to options."""
    first, *others = arguments or [""]
    return {"help": [*others[:1], "--help"], "version": ["--version"]}.get(first, arguments)


def main() -> None:
    """Run a command; report errors as a message, an exit status and, if requested, JSON."""
    gc.set_threshold(YOUNG_OBJECTS)
    try:
        sys.exit(status_of(_run))
    except SystemExit as exit_request:
        # typer has printed usage errors as text; with --json, print them as JSON as well
        format_usage_error = getattr(exit_request.__context__, "format_message", None)
        if format_usage_error and "--json" in sys.argv:
            print(json.dumps(failure("error.operator", format_usage_error())))
        raise
    finally:
        gc.freeze()  # no garbage collection at exit


def _run() -> int:
    try:
        leave_start_directory()
        sys.argv[1:] = expand_aliases(sys.argv[1:])
        app(standalone_mode=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader closed the pipe, which is not an error
    return 0


if __name__ == "__main__":
    main()
