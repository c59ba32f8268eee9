"""Bodies that are only a comment, and bases of classes, in languages that are read by their text."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator

from helmsman.records.findings import Finding
from helmsman.verify.diff import texts_after
from helmsman.verify.invariants.reading.additions import Addition, found_anew, split
from helmsman.verify.invariants.reading.kinds import language
from helmsman.verify.invariants.reading.reporter import Spot
from helmsman.verify.invariants.scene import Scene
from helmsman.verify.invariants.unfinished import REPORTER

_PROMISE = re.compile(
    r"\b(?:TODO|FIXME)\b"
    r"|(?i:not (?:yet )?implemented|unimplemented|implement (?:me|this|later)|\bplaceholder\b"
    r"|\bstub(?:bed)?\b|to be (?:written|implemented|filled in|replaced)"
    r"|for now\b|will be (?:plugged|wired|filled|added|replaced|written)|fill(?:ed)? in later)"
)
_SLASHED = r"(?://[^\n]{0,300}\n|/\*[^*]{0,600}\*/)\s{0,80}"
_TYPE = r"[\w.]{1,60}(?:<[^<>;{}\n]{0,60}>)?(?:\[\])?"
_NOTHING = (
    r"(?:null|undefined|nil|None|false|-?[01](?:\.0)?|\"\"|''|``|\{\}|\[\]|\(\)|Default::default\(\)|String::new\(\)|Vec::new\(\)|vec!\[\]"
    r"|(?:Optional|List|Map|Set|Collections|Stream)\.(?:empty|of|emptyList|emptyMap|emptySet)\(\)"
    rf"|(?:new\s)?{_TYPE}(?:\{{\}}|\(\))|\[\][\w.*]{{1,60}}\{{\}})"
)
"""What is returned for want of a result."""
_CAST = rf"(?:\s(?:as|satisfies)\s(?!const\b){_TYPE}){{1,2}}"
_RETURNED = rf"(?:return(?:\s{_NOTHING}(?:{_CAST}|!)?(?:,\s?{_NOTHING}){{0,3}})?;?\s{{0,80}}|{_NOTHING}\s{{1,80}})"
_BODY = rf"\{{\s{{0,80}}((?:{_SLASHED}){{1,6}}){_RETURNED}?\}}"
_FALSE_BODY = rf"(\{{\s{{0,80}}return\s(?:<{_TYPE}>\s?)?\(?(?:\{{\}}|\[\]|null|undefined){_CAST}\)?;?\s{{0,80}}\}})"
"""An empty object under the name of the type that is asked for."""
_KEYWORD = r"(?!(?:if|for|while|switch|catch|else|return|function|with|do|try)\b)"
_PUT_OFF = {
    "javascript": (
        rf"\bfunction\s{{1,9}}(\w{{1,80}})\s?\([^)]{{0,200}}\)[^{{;\n]{{0,80}}{_BODY}",
        rf"\b(\w{{1,80}})\s?[=:]\s?(?:async\s?)?\([^)]{{0,200}}\)[^{{;\n]{{0,60}}=>\s?{_BODY}",
        rf"^\s{{0,40}}(?:(?:public|private|protected|static|async|override)\s){{0,4}}{_KEYWORD}(\w{{1,80}})\([^)]{{0,200}}\)[^{{;\n]{{0,80}}{_BODY}",
    ),
    "java": (rf"\b{_KEYWORD}(\w{{1,80}})\s?\([^)]{{0,200}}\)[^{{;\n]{{0,80}}{_BODY}",),
    "go": (rf"\bfunc (?:\([^)]{{0,80}}\) )?(\w{{1,80}})\([^)]{{0,200}}\)[^{{\n]{{0,80}}{_BODY}",),
    "rust": (rf"\bfn (\w{{1,80}})[^{{;]{{0,200}}{_BODY}",),
    "php": (rf"\bfunction (\w{{1,80}})\s?\([^)]{{0,200}}\)[^{{;]{{0,60}}{_BODY}",),
    "ruby": (
        (
            r"^[ \t]{0,40}def (?:self\.)?(\w{1,80}[?!]?)[^\n]{0,200}\n"
            r"((?:[ \t]{0,40}#[^\n]{0,300}\n){1,6})(?:[ \t]{0,40}nil\n)?[ \t]{0,40}end\b"
        ),
    ),
}
_PUT_OFF["csharp"] = _PUT_OFF["java"]
_PUT_OFF["swift"] = (rf"\bfunc (\w{{1,80}})[^{{;]{{0,200}}{_BODY}",)
_FINDERS = {kind: tuple(re.compile(one, re.MULTILINE) for one in patterns) for kind, patterns in _PUT_OFF.items()}
_SOME = r"\(\s{0,80}\w[^)]{0,200}\)"
_FALSE_FINDERS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        rf"\bfunction\s{{1,9}}(\w{{1,80}})\s?{_SOME}[^{{;\n]{{0,80}}{_FALSE_BODY}",
        rf"\b(\w{{1,80}})\s?=\s?(?:async\s?)?{_SOME}[^{{;\n]{{0,60}}=>\s?{_FALSE_BODY}",
        rf"^\s{{0,40}}(?:(?:public|private|protected|static|async|override)\s){{0,4}}{_KEYWORD}(\w{{1,80}}){_SOME}[^{{;\n]{{0,80}}{_FALSE_BODY}",
    )
)
_CLASS = re.compile(r"^[ \t]{0,40}(?:class|module) +(?:\w{1,80}::){0,5}(\w{1,80})")
_DERIVES = re.compile(r"\bclass +[\w:]{1,200} *< *(?:\w{1,80}::){0,5}(\w{1,80})|\binclude +(?:\w{1,80}::){0,5}(\w{1,80})")
_LARGEST = 300_000


def put_off(addition: Addition) -> Iterator[Finding]:
    """Functions whose whole body is a comment that promises one."""
    path = addition.file.path
    if not _PROMISE.search(addition.text) or len(addition.file.after or "") > _LARGEST:
        return
    for line, found in found_anew(addition.file, _FINDERS.get(language(path), ()), 1):
        if _PROMISE.search(found[2]):
            yield REPORTER.block(Spot(path, line, found[0]), f"{found[1]} is a stub: its body is a promise")


def falsely_typed(addition: Addition) -> Iterator[Finding]:
    """Functions of something whose whole body is `return {} as Report`."""
    path = addition.file.path
    if language(path) != "javascript" or " as " not in addition.text or len(addition.file.after or "") > _LARGEST:
        return
    for line, found in found_anew(addition.file, _FALSE_FINDERS, 1):
        yield REPORTER.block(Spot(path, line, found[0]), f"{found[1]} is a stub: it returns nothing as a type")


def for_others(addition: Addition, scene: Scene) -> Callable[[int], bool]:
    """Whether a line of a file stands in a class or module of Ruby that others build on; for no other language."""
    if language(addition.file.path) != "ruby" or "raise" not in addition.text:
        return lambda _: False
    bases = _bases(scene)
    lines = enumerate(split(addition.file.after), 1)
    owners = [(number, found[1]) for number, line in lines if (found := _CLASS.match(line))]

    def is_for_others(number: int) -> bool:
        index = bisect_left(owners, (number, "")) - 1
        return index >= 0 and owners[index][1] in bases

    return is_for_others


def _bases(scene: Scene) -> frozenset[str]:
    texts = texts_after(scene.diff, tuple(scene.tests.items()))
    read = (text for path, text in texts.items() if language(path) == "ruby" and len(text) < _LARGEST)
    return frozenset(name for text in read for groups in _DERIVES.findall(text) for name in groups if name)
