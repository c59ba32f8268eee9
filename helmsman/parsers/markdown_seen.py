"""What a forge shows of a text in Markdown: without comments and whatever else is written there and seen by nobody.

Where such a text hides something is settled by a parser: patterns take the `<!--` of a code span for a comment, or the comment
behind an escaped backtick for code. Where in doubt, the text is cut.
"""

import re
import unicodedata

from markdown_it import MarkdownIt
from markdown_it.token import Token

MOST_PARSED = 32_000
"""Characters; of hostile ones these take two seconds, and twice as many four times as long."""
DEEPEST = 100
"""Quotations and lists in each other. What is deeper is not parsed, and cut where it may hide something."""
_HIDDEN = re.compile(r"<!--.*?-->|<\?.*?>|<![A-Za-z\[].*?>", re.DOTALL)
"""What a browser takes for a comment."""
_OPENED = re.compile(r"<[!?]")
_LEAVES = frozenset({"inline", "html_block", "fence", "code_block", "hr", "definition"})
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Categories of characters that nobody sees; some hide whole sentences from whoever sets a label."""
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Other characters that show nothing: what else has Unicode's property Default_Ignorable_Code_Point, and Braille's blank."""


def visible(text: str) -> str:
    """The text without characters that show nothing."""
    kept = (one for one in _BLANK.sub("", text) if one in "\n\t" or unicodedata.category(one) not in _UNSEEN)
    return "".join(kept)


def rendered(text: str) -> str:
    """The Markdown of what is shown. From where a comment is never closed, nothing is."""
    whole = re.sub(r"\r\n?", "\n", text)
    return visible(_without_hidden(whole if len(whole) <= MOST_PARSED else _begun(whole[:MOST_PARSED]))).strip()


def _begun(text: str) -> str:
    """Of a text that was cut: without what may be a comment whose end is gone."""
    *_, last = [0, *(found.start() for found in _OPENED.finditer(text))]
    return text[:last] if last else text


def _without_hidden(text: str) -> str:
    lines: list[str | None] = [*text.split("\n")]
    parser = MarkdownIt("commonmark", {"inline_definitions": True, "maxNesting": DEEPEST}).enable("table")
    place, read = [0, 0], set[int]()
    for token in parser.parse(text):
        place = token.map or place  # a table's cells have none of their own
        if token.type not in _LEAVES:
            continue
        first, last = place
        read.update(range(first, last))
        kept, is_open = _shown(token, _joined(lines[first:last]), text)
        lines[first:last] = [kept, *[None] * (last - first - 1)]
        if is_open:
            return _joined(lines[:last])
    unread = (at for at, line in enumerate(lines) if at not in read and line and _OPENED.search(line))
    return _joined(lines[: next(unread, len(lines))])


def _joined(lines: list[str | None]) -> str:
    return "\n".join(line for line in lines if line is not None)


def _shown(token: Token, source: str, text: str) -> tuple[str, bool]:
    """What is shown of a block, and whether a comment that begins there hides all the rest."""
    if token.type == "definition":
        return _definition(token, text), False
    if token.type == "html_block":
        before, *opened = _OPENED.split(_HIDDEN.sub("", source), maxsplit=1)
        return before, bool(opened)
    for part in token.children or ():
        if part.type == "html_inline" and _OPENED.match(part.content):
            source = source.replace(part.content, "", 1) if part.content in source else _HIDDEN.sub("", source)
    return source, False


def _definition(token: Token, text: str) -> str:
    """Of a link's definition, where it leads to, if there is such a link; else nothing of it is seen."""
    label = str(token.meta["label"])
    used = text.casefold().count(f"[{label}]".casefold()) > 1
    return f"[{label}]: {token.meta['url']}" if used else ""
