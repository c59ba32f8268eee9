"""What `helmsman --help` shows: commands in groups by what somebody wants, and an example."""

from typing import TYPE_CHECKING

from typer.core import TyperGroup

if TYPE_CHECKING:  # typer brings a click of its own, in a private package
    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter

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
