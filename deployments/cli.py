"""`helmsman`: the command line, by commands.toml. What a command does is imported when it is called."""

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
from helmsman.errors import OperatorError

if TYPE_CHECKING:  # typer brings a click of its own, in a private package
    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter


class Command(NamedTuple):
    does: str  # the function that it calls, `module:name`; what that returns is the exit status
    options: str  # in the order of its help: names of `OPTIONS`, or `PARAMETER=NAME` where the function calls it otherwise
    help: str

    @property
    def parameters(self) -> dict[str, str]:
        """Names of `OPTIONS` by the function's parameters."""
        pairs = (word.partition("=") for word in self.options.split())
        return {name: row or name for name, _, row in pairs}


COMMANDS = {words: Command(**row) for words, row in TABLE["commands"].items()}
BORROWED = TABLE["borrowed"]  # flags that people know from other loops, and what to give instead
SPACES = 6  # around a command's name
EXAMPLE = (
    ('helmsman run "Make the parser accept trailing commas" --check "pytest -q"', "start a loop"),
    ("helmsman watch", "watch it work"),
    ("helmsman status", "show its state and the next step"),
)
YOUNG_OBJECTS = 50_000
"""Made before the youngest are looked through: with Python's 700, that took a fifth of a start, for what lives to the end."""


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
            for command, what in EXAMPLE:
                formatter.write(f"  # {what}\n  {command}\n")


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


def _called(row: Command) -> Callable[..., None]:
    """What typer calls. It reads the options from its signature."""

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
    GROUPS.get(words.rpartition(" ")[0], app).command(words.rpartition(" ")[2], help=row.help)(_called(row))


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
        # typer has told people what is wrong with their options; a script is told in the promised shape
        words = getattr(ended.__context__, "format_message", None)
        if words and "--json" in sys.argv:
            print(json.dumps(failure("error.operator", words())))
        raise
    finally:
        gc.freeze()  # nor is anything looked through once more in order to end


def _run() -> int:
    try:
        leave_start_directory()
        flags = sys.argv[1 : sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]  # what follows `--` is no flag
        for flag in (argument.partition("=")[0] for argument in flags):
            if flag in BORROWED:
                raise OperatorError(f"{flag} is not an option of helmsman", remedy=BORROWED[flag])
        sys.argv[1:] = in_words(sys.argv[1:])
        app(standalone_mode=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read us has gone; that is no error
    return 0


if __name__ == "__main__":
    main()
