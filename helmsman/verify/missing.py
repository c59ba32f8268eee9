"""What a check says that cannot start: the name of the program or package that it looked for and did not find."""

import re

from helmsman.records.checks import CheckResult

NOT_STARTED = frozenset({126, 127})  # exit codes of `sh` for a program that cannot be executed, or is not there
_NAME = r"([A-Za-z0-9@_.][\w./@+-]*)"
_QUOTE = "[\u2018\u2019'\"]?"
SAYS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        rf"^(?:\S*sh|env): (?:\d+: |line \d+: )?{_QUOTE}{_NAME}{_QUOTE}: (?:command )?not found",
        rf"^(?:\S*sh|env): (?:\d+: |line \d+: )?{_QUOTE}{_NAME}{_QUOTE}: No such file or directory",
        rf"No module named ['\"]?{_NAME}",
        rf"Cannot find (?:module|package) ['\"]{_NAME}['\"]",
        rf"Could not find gem ['\"]{_NAME}",
        rf"Could not find {_NAME}-[\d.]+ in (?:any of the sources|locally installed gems)",
        r"Failed to open stream.*?(vendor/autoload\.php)|(vendor/autoload\.php).*No such file",
    )
)
"""How shells, Python, Node, Bundler and PHP say so."""


def missing(result: CheckResult) -> str:
    """What a failed check did not find, as it names it; empty where it says nothing like that."""
    if result.passed or result.timed_out:
        return ""
    output = f"{result.head}\n{result.tail}"
    found = next((match for pattern in SAYS if (match := pattern.search(output))), None)
    if found is not None:
        return next(filter(None, found.groups()), "")
    return result.command.split(maxsplit=1)[0] if result.exit_code in NOT_STARTED else ""
