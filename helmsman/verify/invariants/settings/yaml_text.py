"""The plain part of YAML that settings of tools are written in: maps, lists of texts, numbers and truths."""

import re
from collections.abc import Iterator

_KEY = re.compile(r"(?P<indent> {0,40})(?P<dash>- )?(?P<key>[\w./*\"'@-][^:#\n]{0,200}?)\s?:(?:\s(?P<value>.*))?$")
_ITEM = re.compile(r"(?P<indent> {0,40})- (?P<value>.+)$")
_FLOW = re.compile(r"\[([^\[\]]*)\]")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_MOST = 5000
"""Lines that are read."""
Plain = str | bool | tuple[str, ...] | None


def yaml_settings(text: str) -> dict[str, Plain]:
    """Dotted names and values; what is written in any other way is left out."""
    found = dict[str, Plain]()
    for name, value in _entries(text):
        known = found.get(name)
        if isinstance(value, tuple) and isinstance(known, tuple):
            found[name] = (*known, *value)
        elif name not in found or known is None:
            found[name] = value
    return found


def _entries(text: str) -> Iterator[tuple[str, Plain]]:
    """Each key with its value, and each item of a list as a list of one."""
    above = list[tuple[int, str]]()
    for raw in text.split("\n")[:_MOST]:
        line = _COMMENT.sub("", raw[:500]).rstrip()
        key, item = _KEY.fullmatch(line), _ITEM.fullmatch(line)
        if key is not None:
            indent = len(key["indent"]) + len(key["dash"] or "")
            above = [one for one in above if one[0] < indent]
            above.append((indent, _bare(key["key"])))
            yield _name(above), _value(key["value"] or "")
        elif item is not None:
            above = [one for one in above if one[0] <= len(item["indent"])]
            yield _name(above), (_bare(item["value"]),)


def _name(above: list[tuple[int, str]]) -> str:
    return ".".join(key for _, key in above)[:300]


def _value(text: str) -> Plain:
    flow = _FLOW.fullmatch(text.strip())
    if flow is not None:
        return tuple(bare for one in flow[1].split(",") if (bare := _bare(one)))
    bare = _bare(text)
    return {"true": True, "false": False, "": None}.get(bare, bare)


def _bare(text: str) -> str:
    return text.strip().strip("\"'")
