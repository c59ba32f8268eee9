"""Fences as a reader of Markdown finds them, independent of the code that writes them."""

import re


def outside_of_fences(text: str) -> list[str]:
    """The lines that no fence encloses. Raises ValueError when a fence is never closed."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        run = re.fullmatch(r"(`{3,})([^`]*)", line)
        if fence:
            closes = run and len(run[1]) >= len(fence) and not run[2].strip()
            fence = "" if closes else fence
        elif run:
            fence = run[1]
        else:
            lines.append(line)
    if fence:
        raise ValueError(fence)
    return lines
