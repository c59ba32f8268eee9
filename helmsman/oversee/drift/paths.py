"""Paths of files: relative to the worktree, their words, and which of them only support other work."""

import re
from itertools import combinations

from helmsman.oversee.drift.words import VAGUE, WordSet, telling, word_set

_LONGEST = 600
"""Characters of a path that are read, from its end."""
_DEEPEST = 12
SHOWN = 160


def relative(path: str, worktree: str) -> str:
    """A path inside the worktree; empty where it lies elsewhere or names nothing."""
    root = f"{worktree.rstrip('/')}/"
    inside = path.removeprefix(root) if len(root) > 1 else path
    inside = inside.removeprefix("./")
    outside = inside.startswith(("/", "~")) or ".." in inside.split("/")
    return "" if outside else inside


def parts(path: str) -> tuple[str, ...]:
    """Folders and name of its end, in small letters."""
    whole = [part for part in path[-_LONGEST:].replace("\\", "/").lower().split("/") if part not in {"", "."}]
    return tuple(whole[-_DEEPEST:])


def runs(path: str) -> frozenset[str]:
    """All ways of naming it, a folder above it included: `src`, `src/shop`, `shop`, `shop.py` and so on."""
    of = parts(path)
    ways = {"/".join(of[start:end]) for start, end in combinations(range(len(of) + 1), 2)}
    return frozenset(ways | {of[-1].partition(".")[0]} if of else ways)


def words(path: str) -> WordSet:
    """The words of a path that tell what it is about."""
    return telling(path[-_LONGEST:])


def stem(path: str) -> WordSet:
    """The words of a file's name that are neither vague nor the mark of a test."""
    return telling(path[-_LONGEST:].replace("\\", "/").rpartition("/")[2].rpartition(".")[0]) - VAGUE


def folder(path: str) -> str:
    """The folder that it lies in; empty where that holds a whole program."""
    place = path.rpartition("/")[0]
    return place if words(place) - VAGUE else ""


def above(path: str) -> tuple[str, ...]:
    """All folders above it, the root included, in small letters."""
    of = parts(path)
    return tuple("/".join(of[:depth]) for depth in range(len(of)))


def shown(path: str) -> str:
    """On one line, printable, without backticks, and of bounded length."""
    short = path if len(path) <= SHOWN else f"…{path[1 - SHOWN :]}"
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in short.replace("`", "'"))


_SUPPORT_ENDINGS = (
    ".lock .sum .mod .toml .yaml .yml .json .jsonc .ini .cfg .conf .properties .env .gradle .xml .csproj .sln .snap .svg .png "
    ".jpg .jpeg .gif .ico .webp .woff .woff2 .pdf .csv .tsv .log .map .pyi .d.ts .pb.go _pb2.py .g.dart .generated.ts .min.js "
    ".min.css .diff .patch .ambr .approved.txt .golden .in .out .po .pot .resx .arb .gitkeep .tmp .bak"
)
_DOCUMENT_ENDINGS = ".md .mdx .rst .adoc .txt .org"
_ENDS = tuple(_SUPPORT_ENDINGS.split())
_DOCUMENTS = tuple(_DOCUMENT_ENDINGS.split())
_SUPPORT_NAMES = word_set(
    "__init__.py __main__.py py.typed makefile justfile rakefile gemfile podfile procfile codeowners license notice authors "
    "setup.py conftest.py build.rs manage.py mod.rs lib.rs main.rs main.go index.ts index.js index.html package.json go.work "
    "mix.exs"
)
_CONFIG = re.compile(r"\.?[a-z-]+\.(?:config|conf|rc|setup)\.[a-z]{2,4}|\..*|.*rc|\.?env\..*|requirements.*\.txt")
_SUPPORT_FOLDERS = word_set(
    ".helmsman .claude .git .idea .vscode .cargo .husky node_modules vendor third_party __snapshots__ snapshots testdata "
    "fixtures __fixtures__ golden goldens generated gen __generated__ migrations dist build target out coverage locales locale "
    "i18n translations assets static public changes .changeset changelog.d newsfragments cassettes"
)
_READ = tuple(ending for ending in _DOCUMENTS if ending != ".txt")
"""Those of documents alone; requirements.txt and CMakeLists.txt are none."""
_DOCUMENT_FOLDERS = word_set("docs doc documentation man")
_SIDE_FOLDERS = word_set(".github .gitlab .circleci .buildkite")
_SIDE_NAMES = re.compile(r"(?:docker|container)file.*|(?:docker-)?compose.*\.ya?ml|jenkinsfile|\.gitlab-ci\.yml|\.travis\.yml")


def is_document(path: str) -> bool:
    """Whether it is there to be read by people."""
    *above, name = parts(path) or ("",)
    read = name.endswith(_READ) or not _DOCUMENT_FOLDERS.isdisjoint(above)
    return read and _SUPPORT_FOLDERS.isdisjoint(above)


def is_side_work(path: str) -> bool:
    """Documents, pipelines and containers: they go with a change, or are work of their own."""
    *above, name = parts(path) or ("",)
    return (
        name.endswith(_DOCUMENTS)
        or bool(_SIDE_NAMES.fullmatch(name))
        or not _DOCUMENT_FOLDERS.isdisjoint(above)
        or not _SIDE_FOLDERS.isdisjoint(above)
    ) and _SUPPORT_FOLDERS.isdisjoint(above)


def is_support(path: str) -> bool:
    """Whether any change may bring it along, so that it neither has to do with a task nor stands against it."""
    *above, name = parts(path) or ("",)
    named = name in _SUPPORT_NAMES or name.endswith((*_ENDS, *_DOCUMENTS)) or bool(_CONFIG.fullmatch(name))
    return named or is_side_work(path) or not _SUPPORT_FOLDERS.isdisjoint(above)
