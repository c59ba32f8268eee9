"""Continuous integration that only grew: more versions, newer ones, further steps, and nothing less demanded."""

import re
from collections.abc import Sequence
from itertools import takewhile

from helmsman.verify.diff import FileDiff

_LARGEST = 30_000
_LONGEST = 1000
"""Characters and lines of a file that is compared line by line."""
_WEAKENS = re.compile(
    r"continue[-_]on[-_]error|allow[-_]failure|failure|\|\||(?:&&|;|^)\s?(?:true|exit)\b|\bexit 0|set \+e"
    r"|\bif\s?:|\bwhen\s?:|\bunless\b"
    r"|\bonly\s?:|\bexcept\s?:|\brules\s?:|exclude|ignore|skip|deselect|collect-only|maxfail|no-?verify|no-?fail|exit-zero|ADDOPTS"
    r"|\b(?:branches|paths|tags|types|needs|shell|defaults|entrypoint|working-directory|timeout|env|variables)\b[\w-]{0,20}\s?:"
    r"|\b(?:sed|rm|mv|cp|tee|truncate|touch|git|patch)\s|>|^-{1,2}[a-z]|\s-k\s|\s-m\s(?!pip\s)|<<|^[&*]",
    re.IGNORECASE,
)
"""By which a step could be left out, fail without effect, or find other files than those that were committed."""
_DEMANDS = re.compile(
    r"fail|cov|thresh|(?:^|[_.-])(?:min|max)(?:imum)?(?:$|[_.-])|score|limit|level|percent|ratio", re.IGNORECASE
)
"""A setting whose number is no version but what is demanded."""
_RUNS = frozenset({"run", "script", "command"})
_SETTING = re.compile(r"(-? ?[\w.-]{1,80}): ?(\S.{0,500})")
_MATRIX = re.compile(r"\$\{\{ ?matrix\.([\w-]{1,80}) ?\}\}")
_INSTALLS = re.compile(
    r"(?:sudo )?(?:(?:uv )?pip3?|python3? -m pip|uv|poetry|pdm"
    r"|npm|pnpm|yarn|bun|bundle|composer|go mod|cargo) (?:install|sync|ci|download|fetch)"
    r"(?: [\w./=@:,\"'\[\]~^-]{1,120}){0,12}"
)
"""One command that installs and does nothing else."""
_WITHIN = re.compile(
    r"(?:uv run|poetry run|pdm run|hatch run|pipenv run|bundle exec|npx|xvfb-run(?: -a)?)(?: --[a-z-]{1,30}){0,3} "
)
_LIST = re.compile(r"\[([^\[\]]{0,500})\]")
_RELEASE = re.compile(r"(?<![\w.])v?[0-9]{1,4}(?:\.(?:[0-9]{1,4}|x)){0,3}(?![\w.])|@[0-9a-f]{40}\b")


def only_grows(file: FileDiff) -> bool:
    """Whether each line of the file is still there, grew, or names another version of the same; YAML only."""
    texts = (file.before or "", file.after or "")
    small = all(0 < len(text) < _LARGEST and text.count("\n") < _LONGEST for text in texts)
    if not file.path.endswith((".yml", ".yaml")) or file.status == "R" or not small:
        return False
    added = [line.text.strip() for line in file.added]
    return not any(_WEAKENS.search(_code(text)) for text in added) and all(
        _lives_on(line.text.strip(), added) for line in file.removed
    )


def _code(text: str) -> str:
    return "" if text.startswith("#") else text


def _lives_on(text: str, added: Sequence[str]) -> bool:
    return not _code(text) or any(_grew(text, now) or _became_one_of_several(text, now, added) for now in added)


def _became_one_of_several(old: str, new: str, added: Sequence[str]) -> bool:
    """`runs-on: ubuntu-latest` that is now `${{ matrix.os }}`, with `os: [ubuntu-latest, …]` or a list below `os:`."""
    before, after = _SETTING.fullmatch(old), _SETTING.fullmatch(new)
    if before is None or after is None or before[1] != after[1]:
        return False
    start, matrix, end = _split_at_matrix(after[2])
    value = before[2].strip("\"'")
    if not matrix or not (value.startswith(start) and value.endswith(end)) or len(value) < len(start) + len(end):
        return False
    one = value[len(start) : len(value) - len(end)]
    return one in _listed(matrix, added)


def _split_at_matrix(value: str) -> tuple[str, str, str]:
    """What stands before the only name of the matrix in a value, that name, and what stands after it."""
    bare = value.strip("\"'")
    found = _MATRIX.search(bare)
    return (bare[: found.start()], found[1], bare[found.end() :]) if found else (bare, "", "")


def _listed(name: str, added: Sequence[str]) -> set[str]:
    """Values of a matrix, in brackets or below each other."""
    for number, line in enumerate(added):
        key, colon, rest = line.partition(":")
        if colon and key == name:
            inline = _LIST.fullmatch(rest.strip())
            below = takewhile(lambda text: text.startswith("- "), added[number + 1 :])
            return _items(inline[1]) if inline else {text[2:].strip(" \"'") for text in below}
    return set()


def _grew(old: str, new: str) -> bool:
    before, after = _SETTING.fullmatch(old), _SETTING.fullmatch(new)
    if before is None or after is None or before[1] != after[1]:
        return False
    lists = _LIST.fullmatch(before[2]), _LIST.fullmatch(after[2])
    if lists[0] and lists[1]:
        return _items(lists[0][1]) <= _items(lists[1][1])
    key = before[1].removeprefix("- ")
    if key == "name":
        return True  # nothing is demanded by a title
    if key in _RUNS:
        return _runs_the_same(before[2], after[2])
    return not _DEMANDS.search(key) and _RELEASE.sub("", before[2]) == _RELEASE.sub("", after[2])


def _runs_the_same(old: str, new: str) -> bool:
    """Another way to install, or the same command within an environment."""
    within = _WITHIN.match(new)
    return bool(_INSTALLS.fullmatch(old) and _INSTALLS.fullmatch(new)) or (within is not None and new[within.end() :] == old)


def _items(text: str) -> set[str]:
    return {item.strip(" \"'") for item in text.split(",")}
