"""Continuous integration that only grew: more versions, newer ones, further steps, and nothing less demanded."""

import re
from collections.abc import Sequence

from helmsman.verify.diff import FileDiff

_LARGEST = 30_000
_LONGEST = 1000
"""Characters and lines of a file that is compared line by line."""
_WEAKENS = re.compile(
    r"continue[-_]on[-_]error|allow[-_]failure|failure|\|\||(?:&&|;|^)\s?(?:true|exit)\b|\bexit 0|set \+e"
    r"|\bif\s?:|\bwhen\s?:|\bunless\b"
    r"|\bonly\s?:|\bexcept\s?:|\brules\s?:|exclude|ignore|skip|deselect|collect-only|maxfail|no-?verify|no-?fail|exit-zero|ADDOPTS"
    r"|\b(?:branches|paths|tags|types|needs|shell|defaults|entrypoint|working-directory|timeout|env|variables)\b[\w-]{0,20}\s?:"
    r"|\b(?:sed|rm|mv|cp|tee|truncate|touch|git|patch)\s|>|^-{1,2}[a-z]|\s-[km]\s|<<|^[&*]",
    re.IGNORECASE,
)
"""By which a step could be left out, fail without effect, or find other files than those that were committed."""
_SETTING = re.compile(r"(-? ?[\w.-]{1,80}): ?(\S.{0,500})")
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
    return not _code(text) or any(_grew(text, now) for now in added)


def _grew(old: str, new: str) -> bool:
    before, after = _SETTING.fullmatch(old), _SETTING.fullmatch(new)
    if before is None or after is None or before[1] != after[1]:
        return False
    lists = _LIST.fullmatch(before[2]), _LIST.fullmatch(after[2])
    if lists[0] and lists[1]:
        return _items(lists[0][1]) <= _items(lists[1][1])
    runs = before[1].removeprefix("- ") in {"run", "script", "command"}
    return not runs and _RELEASE.sub("", before[2]) == _RELEASE.sub("", after[2])


def _items(text: str) -> set[str]:
    return {item.strip(" \"'") for item in text.split(",")}
