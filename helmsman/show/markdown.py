"""Foreign text inside Markdown: shown as it is, never obeyed."""

import re

from helmsman.texts import clean, clean_lines

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>&~@:$])")


def plain(text: str, longest: int = 500) -> str:
    """Foreign text on one line, with nothing in it that Markdown or HTML would read."""
    shown = clean(text).strip()
    cut = shown if len(shown) <= longest else f"{shown[:longest]}…"
    return _SPECIAL.sub(r"\\\1", cut).replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\\&", "&amp;")


def code(text: str, longest: int = 300) -> str:
    """Foreign text on one line as code; a fence longer than any run of backticks in it."""
    shown = clean(text).strip()[:longest] or " "
    ticks = "`" * (_longest_run(shown) + 1)
    return f"{ticks} {shown} {ticks}" if "`" in shown else f"`{shown}`"


def block(text: str, longest: int = 4000) -> str:
    """Foreign text of several lines as a block of code that it cannot end."""
    shown = clean_lines(text)[-longest:]
    fence = "`" * max(3, _longest_run(shown) + 1)
    return f"{fence}text\n{shown}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
