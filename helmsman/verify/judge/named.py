"""Which unchanged files the judge should see: those that are spoken of, and tests of what was changed."""

import re
from collections.abc import Collection, Iterable

from helmsman.parsers.test_files import is_source, is_test_file

_WORD = re.compile(r"[\w@+-][\w./@+-]*|\.[\w./@+-]+")
_SHORTEST = 3  # letters of a source's name that says something in the name of a test
_GENERATED = re.compile(
    r"(?:^|/)(?:__pycache__|node_modules|\.git|vendor)/|\.(?:py[cod]|class|o|map|lock|snap)$|\.min\.(?:js|css)$"
    r"|(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum)$"
)


def is_product(path: str) -> bool:
    """Whether a program writes it, by its name alone."""
    return bool(_GENERATED.search(path))


def named_files(texts: Iterable[str], paths: Collection[str]) -> list[str]:
    """Paths that texts name: as they are, as a module, or by a file's name that is there once."""
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    found: dict[str, None] = {}
    for word in (word for text in texts for word in _WORD.findall(text)):
        plain = word.rstrip(".").removeprefix("./")
        module = f"{plain.replace('.', '/')}.py"
        if plain in paths:
            found[plain] = None
        elif module in paths and "." in plain:
            found[module] = None
        elif "/" not in plain and "." in plain and len(by_name.get(plain, ())) == 1:
            found[by_name[plain][0]] = None
    return list(found)


def files_testing(changed: Iterable[str], paths: Iterable[str]) -> list[str]:
    """Test files whose name holds the name of a changed source."""
    stems = {stem for path in changed if is_source(path) and len(stem := _stem(path)) >= _SHORTEST}
    return [path for path in paths if is_test_file(path) and any(stem in _stem(path) for stem in stems)]


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0].lower()
