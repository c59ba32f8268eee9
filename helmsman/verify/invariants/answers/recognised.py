"""Tested inputs that source tells by their marks: a length with a first letter, a digest, a sum of letters."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from helmsman.verify.invariants.answers.examples import Example
from helmsman.verify.invariants.answers.literals import RESULT, literal, parsed, spelt
from helmsman.verify.invariants.answers.mappings import Pair

_QUOTED = r"[\"'`]([^\"'`\n]{1,60})[\"'`]"
_IS = r"\s?={2,3}\s?"
_BRANCH = re.compile(
    rf"\b(?:if|elif|elsif)\b([^{{}}\n]{{6,300}}?)(?:\{{|:|\bthen\b|(?=\n))\s{{0,80}}(?:return\b\s?)?\(?({RESULT})\)?\s?(?:;|\}}|\bend\b|\n|$)"
)
_POSTFIX = re.compile(rf"\breturn\s{{1,9}}({RESULT})\s{{1,9}}if\s([^\n]{{6,300}})")
_AND = re.compile(r"&&|\band\b")
_NAME = r"\w[\w.]{0,60}"
_LENGTH = re.compile(rf"(?:\blen\(\s?{_NAME}\s?\)|{_NAME}?\.(?:length|size|len|count|Length|Count)(?:\(\))?){_IS}(\d{{1,6}})\b")
_FIRST = re.compile(rf"\.(?:starts?_?[wW]ith\??|StartsWith|hasPrefix)[( ]\s?{_QUOTED}|\bHasPrefix\(\s?{_NAME}\s?,\s?{_QUOTED}")
_LAST = re.compile(rf"\.(?:ends?_?[wW]ith\??|EndsWith|hasSuffix)[( ]\s?{_QUOTED}|\bHasSuffix\(\s?{_NAME}\s?,\s?{_QUOTED}")
_WITHIN = re.compile(
    rf"\.(?:includes|contains|include\?|Contains)[( ]\s?{_QUOTED}|{_QUOTED}\s+in\s+{_NAME}|\bContains\(\s?{_NAME}\s?,\s?{_QUOTED}"
)
_AT = re.compile(
    rf"(?:\[|\.(?:charAt|at|get|CharAt|nth|codePointAt|charCodeAt)\(\s?)(-?\d{{1,4}})(?:\]|\s?\))(?:\.unwrap\(\))?{_IS}(?:b?{_QUOTED}|(-?\d{{1,9}}))"
)
_DIGEST = re.compile(
    r"(?:\bhash(?:Code|lib)?\b|digest|crc_?32|adler32|\bmd5\b|\bsha\d{1,3}\b|checksum|\bsum\(\s?(?:map\(ord|ord\())"
    rf"[^=\n]{{0,160}}{_IS}(?:[\"'][0-9a-fA-F]{{6,128}}[\"']|-?(?:0x[0-9a-fA-F]{{2,16}}|\d{{2,20}}))",
    re.IGNORECASE,
)
_HASHES = re.compile(
    r"\b(?:hashlib|hexdigest|createHash|MessageDigest|Digest|crc32|adler32|hash_hmac|md5|sha1|sha256|blake2\w?|xxhash|hash)\b"
)
_KEY = re.compile(r"[\"'][0-9a-f]{8,128}[\"']|-?[0-9]{5,20}")
_PLAIN = frozenset({"0", "1", "-1", '""', "''", "None", "null", "nil", "True", "False", "true", "false", "L()", "T()", "D()"})
_MARKS = 2
_LONGEST = 300_000


class Recognised(NamedTuple):
    position: int
    output: str
    text: str
    """The condition."""


def recognised(text: str) -> Iterator[Recognised]:
    """Branches that end in a literal and look at marks of what was given."""
    if len(text) > _LONGEST:
        return
    for found in _BRANCH.finditer(text):
        if _is_marked(found[1]):
            yield Recognised(found.start(), found[2], found[1])
    for found in _POSTFIX.finditer(text):
        if _is_marked(found[2]):
            yield Recognised(found.start(), found[1], found[2])


def _is_marked(condition: str) -> bool:
    return bool(_DIGEST.search(condition)) or (bool(_LENGTH.search(condition)) and len(_AND.split(condition)) >= _MARKS)


def is_tested(one: Recognised, examples: Iterable[Example]) -> bool:
    """Whether a test expects this for an input with these marks."""
    output = _either(one.output)
    fitting = (example for example in examples if _either(example.output) == output)
    return output not in _PLAIN and any(_fits(one.text, example.inputs) for example in fitting)


def is_computed(output: str) -> bool:
    """A number, or a text that is not only words: a category is named in letters."""
    return output[:1] not in {'"', "'"} or bool(re.search(r"[0-9]", output))


def by_digest(pairs: Sequence[Pair], text: str, examples: Iterable[Example]) -> list[str]:
    """Outputs that tests expect, of a table whose keys are digests, in a file that hashes."""
    keyed = bool(pairs) and all(
        len(inputs) == 1 and _KEY.fullmatch(inputs[0]) and re.search(r"\d", inputs[0]) for inputs, _ in pairs
    )
    if not keyed or not _HASHES.search(text):
        return []
    expected = {_either(example.output) for example in examples}
    return [output for _, output in pairs if _either(output) in expected and output not in _PLAIN]


def _either(value: str) -> str:
    """One spelling for the quotes and the numbers of all languages."""
    tree = parsed(value)
    given = literal(tree) if tree is not None else None
    return given or spelt(value)


def _fits(condition: str, inputs: tuple[str, ...]) -> bool:
    digest = bool(_DIGEST.search(condition))
    return any(all(_holds(part, _items(value), value) for part in _AND.split(condition)) for value in inputs) or digest


def _items(value: str) -> list[str]:
    """Letters of a text, members of a list."""
    if value[:1] in {'"', "'"}:
        return list(value[1:-1])
    return [one.strip("\"'") for one in value[2:-1].split(", ")] if value[:2] in {"L(", "T("} else list(value)


def _holds(part: str, items: list[str], value: str) -> bool:
    text = value.strip("\"'")
    if length := _LENGTH.search(part):
        return len(items) == int(length[1])
    for finder, test in ((_FIRST, text.startswith), (_LAST, text.endswith), (_WITHIN, text.__contains__)):
        if found := finder.search(part):
            return test(next(group for group in found.groups() if group))
    if at := _AT.search(part):
        index = int(at[1])
        return -len(items) <= index < len(items) and items[index] in {at[2], at[3]}
    return False
