"""Make the README's picture of a run: `helmsman demo | python tools/picture.py docs/demo.svg`."""

import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from deployments.show.lines import style_of

LONGEST = 118


def main() -> None:
    """Read a run's plain output and draw it as a terminal."""
    with Path("/dev/null").open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=LONGEST + 2, file=nowhere)
        for line in sys.stdin.read().splitlines():
            style = "bold green" if line.startswith("outcome") else style_of(line)
            console.print(Text(line if len(line) <= LONGEST else line[: LONGEST - 1] + "…", style=style))
        picture = console.export_svg(title="helmsman demo")
    without_remote_fonts = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    Path(sys.argv[1]).write_text(without_remote_fonts, encoding="utf-8")


if __name__ == "__main__":
    main()
