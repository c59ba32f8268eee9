"""Stand-ins for the very thing that a test is about: a stubbed method whose result the test asserts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from helmsman.records.findings import Finding, Weight
from helmsman.verify.invariants.doubles import REPORTER
from helmsman.verify.invariants.reading.additions import Addition
from helmsman.verify.invariants.reading.kinds import is_test, language
from helmsman.verify.invariants.reading.patterns import code
from helmsman.verify.invariants.reading.reporter import Spot

_N = r"[\w$@]{1,60}"
_KOTLIN_AND_JAVA = (
    rf"\b(?:when|given|`when`|whenever)\(\s?({_N})\.({_N})\(",
    rf"\bdo(?:Return|Answer)\([^\n]{{0,200}}\)\.when\(\s?({_N})\s?\)\.({_N})\(",
    rf"\bevery\s?\{{\s?({_N})\.({_N})\([^\n]{{0,200}}\}}\s?(?:returns|answers)\b",
)
_STUBBED = {
    "java": _KOTLIN_AND_JAVA,
    "csharp": (
        rf"\b({_N})\.Setup\(\s?{_N}\s?=>\s?{_N}\.({_N})\b[^\n]{{0,200}}\.Returns",
        rf"\b({_N})\.({_N})\([^\n]{{0,80}}\)\.Returns(?:ForAnyArgs)?\(",
    ),
    "ruby": (
        rf"\ballow(?:_any_instance_of)?\(\s?([\w:@.]{{1,60}})\s?\)\.to\s?receive\(\s?:({_N}[?!]?)\s?\)(?![^\n]{{0,200}}and_call_(?:original|through))",
        rf"\bexpect_any_instance_of\(\s?([\w:@.]{{1,60}})\s?\)\.to\s?receive\(\s?:({_N}[?!]?)\s?\)[^\n]{{0,200}}and_return",
        rf"\b([\w:@]{{1,60}})(?:\.any_instance)?\.(?:stubs|stub_any_instance|stub)[\s(]\s?:({_N}[?!]?)",
    ),
    "javascript": (
        rf"\b(?:jest|vi)\.spyOn\(\s?({_N}(?:\.prototype)?)\s?,\s?[\"'`]({_N})[\"'`]\s?\)\.mock(?:Return|Resolved|Rejected|Implementation)",
        rf"\bsinon\.(?:stub|replace)\(\s?({_N}(?:\.prototype)?)\s?,\s?[\"'`]({_N})[\"'`](?!\s?\)\.callThrough)",
        rf"^\s*({_N}(?:\.prototype)?)\.({_N})\s?=\s?(?:(?:jest|vi)\.fn|async\s?\(|\(|function\b|{_N}\s?=>)",
        rf"\bObject\.(?:assign|defineProperty)\(\s?({_N}(?:\.prototype)?)\s?,\s?[{{\"'`]\s?({_N})\b",
    ),
    "php": (rf"\$({_N})->(?:expects\([^\n]{{0,80}}\)->)?method\(\s?[\"']({_N})[\"']\s?\)",),
}
_FINDERS = {kind: tuple(re.compile(one) for one in patterns) for kind, patterns in _STUBBED.items()}
_DOUBLES = {
    "java": (
        rf"\b(?:mock|spy|mockk|spyk|mockStatic|mockConstruction)(?:\(\s?(?:new\s)?({_N})(?:\.class|::class\b|\()|<({_N})>)"
        rf"|@(?:Mock|Spy|MockK|SpyK|MockBean|MockitoBean)\b\s{{0,9}}(?:private\s)?(?:lateinit\s)?(?:var\s{_N}\s?:\s?)?({_N})\b"
    ),
    "csharp": rf"\bnew\sMock<({_N})>|\bSubstitute\.For(?:PartsOf)?<({_N})>|\bA\.Fake<({_N})>",
    "ruby": (
        r"\b(?:instance_double|double|class_double|object_double|stub_const)[\s(]"
        r"\s?[\"']?([A-Z]\w{0,60})|\ballow_any_instance_of\(\s?(?:\w{1,60}::){0,4}([A-Z]\w{0,60})"
    ),
    "php": rf"\b(?:createMock|createStub|createPartialMock|getMockBuilder|prophesize|mock)\(\s?\\?(?:{_N}\\){{0,5}}({_N})::class",
}
_CLASSES = {kind: re.compile(pattern) for kind, pattern in _DOUBLES.items()}
_ASSERTS = re.compile(r"\b(?:assert|expect|should|is_expected|verify|must_equal|Should)\w{0,40}|\bAssert\.|->assert")
_RETURNS = re.compile(
    r"\b(?:thenReturn|thenAnswer|doReturn|willReturn|returns|answers|Returns|and_return|receive|method\(|stubs)\b|\bmock(?:Return|Resolved|Implementation)"
)
_STEM = re.compile(r"(?:[._-]?(?:tests?|spec|IT|TestCase|Tests|Test|Spec))?\.[a-z]{1,6}$", re.IGNORECASE)
_LARGEST = 300_000


@dataclass(frozen=True)
class _Stub:
    owner: str
    method: str
    number: int
    text: str


def patched_subject(addition: Addition) -> Iterator[Finding]:
    """What an existing test asserts, stubbed; and a double of the class that the whole file is named after."""
    path, after, kind = addition.file.path, addition.file.after or "", language(addition.file.path)
    if addition.file.before is None or not is_test(path) or kind not in _FINDERS or len(after) > _LARGEST:
        return
    stubs = [stub for line in addition.lines for stub in _stubs(line.number, code(line.text[:1000], kind), kind)]
    asserted = _asserted(after, kind) if stubs else ""
    for stub in stubs:
        if re.search(rf"(?<![\w$]){_receiver(stub.owner, kind)}(?:\.|->|&\.|\?\.){re.escape(stub.method)}(?![\w?!])", asserted):
            message = f"{stub.owner}.{stub.method}, whose result is asserted, is replaced in {path.rpartition('/')[2]}"
            yield REPORTER.block(Spot(path, stub.number, stub.text), message)
    yield from _doubles(addition, kind)


def _stubs(number: int, text: str, kind: str) -> Iterator[_Stub]:
    for finder in _FINDERS[kind]:
        for found in finder.finditer(text):
            yield _Stub(found[1].removesuffix(".prototype"), found[2], number, text)


def _receiver(owner: str, kind: str) -> str:
    """The object itself; of a class any object, and of a mock of C# also what it wraps."""
    if owner[:1].isupper():
        return r"[\w$@.:()\[\]\"', ]{1,80}"
    return re.escape(owner.removeprefix("@")) + (r"(?:\.Object)?" if kind == "csharp" else "")


def _asserted(text: str, kind: str) -> str:
    """Lines that assert, without those that stub."""
    lines = (code(line[:1000], kind) for line in text.split("\n"))
    return "\n".join(line for line in lines if _ASSERTS.search(line) and not _STUBBING.search(line))


_STUBBING = re.compile(r"\bto\s?receive\b|\bthenReturn\b|\.mock(?:Return|Resolved|Implementation)|\bverify\(")


def _doubles(addition: Addition, kind: str) -> Iterator[Finding]:
    path, finder = addition.file.path, _CLASSES.get(kind)
    stem = _STEM.sub("", path.rpartition("/")[2]).replace("_", "").casefold()
    if finder is None or not _RETURNS.search(addition.text):
        return
    for line in addition.lines:
        found = finder.search(code(line.text[:1000], kind))
        name = next((group for group in found.groups() if group), "") if found else ""
        if name and name.casefold() == stem:
            real = kind == "ruby" or "spy" in line.text.casefold()
            weight = Weight.HINT if real else Weight.BLOCK
            yield REPORTER.tell(
                weight, Spot(path, line.number, line.text), f"{name}, which is tested, is replaced in its own test"
            )
