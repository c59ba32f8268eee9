"""Words of an agent or a repository in documents of ours: one line each, which is no heading, no comment and no marker."""

import re

from helmsman.plain import one_line, shortened

_TAG = re.compile(r"<(?=/?[a-zA-Z!])")
_CODE_FENCE = re.compile(r"`{3,}|~{3,}")


def plain(text: str, longest: int) -> str:
    """One line of at most so many characters; what opens a comment, a tag or a block of code is taken apart."""
    return shortened(one_line(_TAG.sub("< ", _CODE_FENCE.sub("'", text))), longest)


def block_quote(lines: list[str]) -> str:
    """As a quotation: whoever looks for orders passes it over, and no line of it is a heading."""
    return "\n".join(f"> {line}".rstrip() for line in lines)
