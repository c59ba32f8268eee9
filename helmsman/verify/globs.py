"""Glob patterns over paths of a repository, with `**` for any number of folders."""

import re
from collections.abc import Iterable
from functools import lru_cache

_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_MEANING = {"**/": r"(?:.*/)?", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    """A pattern without a slash means a name in any folder; one that ends with a slash means everything below.

    `/` or `./` at its beginning is the root of the repository.
    """
    return any(_compiled(pattern).fullmatch(path) for pattern in patterns)


@lru_cache(maxsize=1000)
def _compiled(pattern: str) -> re.Pattern[str]:
    rooted = pattern[1:] if pattern.startswith("./") else pattern
    below = f"{rooted}**" if rooted.endswith("/") else rooted
    anywhere = below if "/" in rooted.rstrip("/") else f"**/{below}"
    parts = _TOKENS.findall(anywhere.removeprefix("/"))
    return re.compile("".join(_MEANING.get(part) or re.escape(part) for part in parts), re.DOTALL)
