"""The page of commands and options, generated from the running command tree. Typer's tree has no public types, hence Any."""

from collections.abc import Iterator
from typing import Any

import typer.main
from typer.core import TyperGroup, TyperOption

from deployments.cli import app
from tools.reference.markdown import cell, code, page, table

INTRODUCTION = (
    "Every command that looks at a repository takes `--repo DIR`; any folder inside it works too. `--json` prints one JSON "
    "object on standard output and nothing else. [Exit statuses and errors](errors.md) lists the exit statuses."
)


def commands_page() -> str:
    group = typer.main.get_command(app)
    return page("# Commands", INTRODUCTION, *_describe(group, ("helmsman",)))


def _describe(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(command, TyperGroup):
        if len(path) > 1:
            yield f"## {' '.join(path)}\n\n{command.help or ''}"
        for name in sorted(command.commands):
            yield from _describe(command.commands[name], (*path, name))
        return
    yield f"{'#' * len(path)} {' '.join(path)}\n\n{command.help or ''}"
    yield f"```\n{' '.join([*path, *_usage(command)])}\n```"
    rows = [_row(parameter) for parameter in command.params if not parameter.hidden]
    if rows:
        yield table(("argument or option", "meaning", "default"), rows)


def _usage(command: Any) -> list[str]:
    with command.make_context("helmsman", [], resilient_parsing=True) as context:
        return [piece.replace("[[", "[").replace("]]", "]") for piece in command.collect_usage_pieces(context) if piece]


def _row(parameter: Any) -> tuple[str, str, str]:
    return _parameter_names(parameter), cell(parameter.help or ""), _default(parameter.default)


def _parameter_names(parameter: Any) -> str:
    value = "" if getattr(parameter, "is_flag", False) else parameter.metavar or ""
    if isinstance(parameter, TyperOption):
        names = [f"{name} {value}".strip() for name in (*parameter.opts, *parameter.secondary_opts)]
        return ", ".join(map(code, names))
    return code(value or parameter.human_readable_name)


def _default(value: object) -> str:
    return "" if value in (None, "", False, ()) or callable(value) else code(str(value))
