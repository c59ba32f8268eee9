"""Foreign text made plain: what a terminal would obey instead of showing it is a space."""


def clean(text: str) -> str:
    """One line that a terminal shows as it is: control characters of foreign text would move the cursor or worse."""
    return text if text.isprintable() else "".join(character if character.isprintable() else " " for character in text)


def clean_lines(text: str) -> str:
    """Foreign text of several lines, each as `clean` makes it."""
    return "\n".join(clean(line) for line in text.expandtabs().splitlines())


def one_line(text: str) -> str:
    """Text of any number of lines on one, with single blanks."""
    return " ".join(clean(text).split())


def prose(text: str) -> str:
    """Text of several lines, without blanks at their ends and blank lines at either end."""
    return "\n".join(line.rstrip() for line in clean_lines(text).splitlines()).strip("\n")
