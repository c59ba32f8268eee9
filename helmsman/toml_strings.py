"""Text written as a string of TOML, so that it is read back as it was. The text must be free of lone surrogates."""

import re

_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_QUOTES = re.compile(r'"{2,}|"\Z')


def toml_string(text: str) -> str:
    """A string of TOML; of several lines where the text has several."""
    return _multi_line(text) if "\n" in text else toml_line(text)


def toml_line(text: str) -> str:
    """A string of TOML on one line."""
    return f'"{"".join(map(_escaped, text))}"'


def _multi_line(text: str) -> str:
    """A first line break is not counted. Single quotation marks stay as they are, but never three of them, nor one at the end."""
    lines = ("".join(mark if mark == '"' else _escaped(mark) for mark in line) for line in text.split("\n"))
    body = _QUOTES.sub(lambda found: '\\"' * len(found[0]), "\n".join(lines))
    return f'"""\n{body}"""'


def _escaped(mark: str) -> str:
    """What an editor or a terminal would not show as it is, is written as its number."""
    if mark in _SHORT:
        return _SHORT[mark]
    if mark.isprintable():
        return mark
    return f"\\u{ord(mark):04X}" if ord(mark) <= 0xFFFF else f"\\U{ord(mark):08X}"  # noqa: PLR2004 - four digits
