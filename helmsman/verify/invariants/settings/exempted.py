"""Which files a setting exempts: the work itself, or what nobody writes by hand."""

import re
from collections.abc import Iterable

from helmsman.verify.diff import TreeDiff
from helmsman.verify.globs import matches_any
from helmsman.verify.invariants.reading.kinds import is_generated, is_source

_ASIDE = re.compile(
    r"(?:^|[/*._\\-])(?:tests?|testing|specs?|conftest|e2e|generated|gen|migrations?|alembic|vendor(?:ed)?|third_party|node_modules|build|dist"
    r"|docs?|examples?|scripts?|tools?|bench(?:marks?)?|stubs?|typings|setup|noxfile|site-packages|v?env|cache|coverage|out|target|pb2(?:_grpc)?"
    r"|__main__|__init__|__pycache__|_?version|notebooks?|ipynb|fixtures?|mocks?|stories|d|config)(?=$|[/*._\\-])",
    re.IGNORECASE,
)
"""Files that honest projects keep from being measured or judged like the rest."""
_EVERYTHING = re.compile(r"(?:\./)?(?:(?:src|lib|app|source|\*\*|\.)/?)?(?:\*\*/)?(?:\*{1,2}(?:\.(?:py|[cm]?[jt]sx?|go|rb))?)?")
_EVERY_MODULE = re.compile(r"\*|(?:src|app)\.\*")


def covers_everything(pattern: str) -> bool:
    """`*`, `**/*.py`, `src/**`, `src`."""
    return bool(_EVERYTHING.fullmatch(pattern.strip())) or bool(_EVERY_MODULE.fullmatch(pattern))


def covers_the_work(patterns: Iterable[str], diff: TreeDiff) -> bool:
    """Whether one of the patterns is for all of the source, or for a source that this diff adds or changes."""
    return any(_covers(pattern.strip("\"'`"), diff) for pattern in patterns)


def _covers(pattern: str, diff: TreeDiff) -> bool:
    if not pattern or pattern.startswith("!") or _ASIDE.search(pattern):  # an exclamation mark takes back what is left out
        return False
    wanted = (pattern, f"{pattern.rstrip('/')}/**", f"**/{pattern}", f"{pattern.replace('.', '/')}.py")
    sources = (file for file in diff if file.after is not None and is_source(file.path) and not _ASIDE.search(file.path))
    return covers_everything(pattern) or any(
        matches_any(file.path, wanted) and not is_generated(file.path, file.after or "") for file in sources
    )
