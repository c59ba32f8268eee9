"""Which lines of a text in Markdown stand in a block of code."""

import pytest

from helmsman.parsers.markdown_text import CodeBlocks


def code(text: str) -> str:
    """The lines as letters: those of a block as `c`."""
    blocks = CodeBlocks()
    return "".join("c" if blocks.holds(line) else "." for line in text.split("\n"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\n```\nb\n```\nc", ".ccc."),
        ("```py\na\n```\nb", "ccc."),
        ("```\n~~~\n```\nb", "ccc."),
        ("~~~\n```\n~~~\nb", "ccc."),
        ("````\n```\n````\nb", "ccc."),
        ("```\n````\nb", "cc."),
        ("```\n```py\n```\nb", "ccc."),
        ("```a``` is said\nb", ".."),
        ("``\nb", ".."),
        ("```\na", "cc"),
        ("    ```\nb", ".."),
        ("   ```\nb\n```\r\nc", "ccc."),
    ],
)
def test_a_block_reaches_from_its_fence_to_one_like_it(text: str, found: str) -> None:
    assert code(text) == found
