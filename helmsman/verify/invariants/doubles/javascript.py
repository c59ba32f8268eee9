"""Replacements in tests of JavaScript and TypeScript."""

import re
from collections.abc import Iterator

from helmsman.records.findings import Finding, Weight
from helmsman.verify.invariants.doubles import REPORTER
from helmsman.verify.invariants.reading.additions import Addition
from helmsman.verify.invariants.reading.kinds import is_test, serves_tests
from helmsman.verify.invariants.reading.patterns import code
from helmsman.verify.invariants.reading.reporter import Spot

_SETUP = re.compile(
    r"(?:^|/)(?:(?:jest|vitest|test)[.-]?(?:setup|init)[\w.-]*|setup[-.]?(?:tests?|jest|vitest)[\w.-]*)\.[cm]?[jt]sx?$",
    re.IGNORECASE,
)
_MOCK = re.compile(r"\b(?:jest|vi|vitest)\.(?:mock|doMock|unstable_mockModule|setMock)\(\s?[\"'`]([^\"'`]{1,200})[\"'`]")
_BOUND = re.compile(
    r"(?:import\s{1,9}(?:\*\s{1,9}as\s{1,9})?(\w{1,80})\s{1,9}from\s{1,9}|(?:const|let|var)\s{1,9}(\w{1,80})\s?=\s?require\(\s?)[\"'](\.[^\"']{0,200})[\"']"
)
_SPY = re.compile(r"\b(?:jest|vi)\.spyOn\(\s?(\w{1,80})\s?,.{0,200}\.mock(?:Return|Resolved|Rejected|Implementation)")
_SET = re.compile(r"^\s*(\w{1,80})\.\w{1,80}\s?=\s?(?:(?:jest|vi)\.fn|(?:async\s?)?\(|function\b)")
_EXTENDS = re.compile(r"\bexpect\.extend\(|\bchai\.use\(|\bAssertion\.(?:overwrite|add)(?:Method|Property)\(")
_BUILT_IN = (
    r"to(?:Be(?:Null|Undefined|Defined|Truthy|Falsy|NaN|CloseTo|InstanceOf|(?:Greater|Less)Than(?:OrEqual)?)?|Equal|StrictEqual"
    r"|Match(?:Object|Snapshot|InlineSnapshot)?|Contain(?:Equal)?|Have(?:Length|Property|BeenCalled(?:Times|With)?|Returned(?:With)?)"
    r"|Throw(?:Error)?)"
)
_MATCHER = re.compile(
    rf"(?:^|[{{,(])\s{{0,40}}(?:async\s{{1,9}})?[\"']?{_BUILT_IN}[\"']?\s?(?::\s?(?:async\s?)?(?:\(|function\b|\w{{1,40}}\s?=>)|\([\w\s,:.]{{0,200}}\)\s?(?::[^{{]{{0,80}})?\{{)"
)
"""A matcher of the runner itself, as it is defined."""
_GLOBAL = re.compile(
    r"\b(?:globalThis|global|window)\.(?:expect|assert)\s?=\s?(?:\(|function\b|async\b|new\s{1,9}Proxy|\{)|\bexpect\.prototype\.\w{1,80}\s?="
    r"|\bassert\.\w{1,40}\s?=\s?(?:\(|function\b)|\bdefineProperty\(\s?(?:globalThis|global|window),\s?[\"'](?:expect|assert)\b"
)
_CLOCK = re.compile(
    r"\b(?:jest|vi|sinon)\.useFakeTimers\(|\b(?:jest|vi)\.setSystemTime\(|\bglobal(?:This)?\.(?:fetch|Date)\s?=|\bnock\("
)
_NETWORK = re.compile(r"(?:node:)?(?:axios|node-fetch|https?|got|undici|superagent|net|dns|ky|cross-fetch)")
_SUFFIXES = re.compile(r"(?:[._-](?:test|tests|spec|e2e))?\.[cm]?[jt]sx?$")


def patched_javascript(addition: Addition) -> Iterator[Finding]:
    """A mock of jest and vitest holds for the whole file, so that it counts wherever it was added to one that was there."""
    path, after = addition.file.path, addition.file.after or ""
    setup = bool(_SETUP.search(path))
    if setup or serves_tests(path):
        yield from _assertions(addition)
    if not setup and (addition.file.before is None or not is_test(path)):
        return
    bound = {name or other: module for name, other, module in _BOUND.findall(after)}
    for line in addition.lines:
        text = code(line.text[:2000], "javascript")
        weight, what = _judged(text, _stem(path), bound, setup=setup)
        if weight is not None:
            yield REPORTER.tell(weight, Spot(path, line.number, line.text), f"{what} is replaced in {path.rpartition('/')[2]}")


def _assertions(addition: Addition) -> Iterator[Finding]:
    """The matchers that every test knows, given another meaning, and `expect` itself."""
    path, extends = addition.file.path, _EXTENDS.search(addition.file.after or "")
    for line in addition.lines:
        text = code(line.text[:2000], "javascript")
        if _GLOBAL.search(text) or (extends and _MATCHER.search(text)):
            yield REPORTER.block(
                Spot(path, line.number, line.text), f"what tests fail by is replaced in {path.rpartition('/')[2]}"
            )


def _judged(text: str, tested: str, bound: dict[str, str], *, setup: bool) -> tuple[Weight | None, str]:
    if mock := _MOCK.search(text):
        return _of_module(mock[1], tested, setup=setup), mock[1]
    if replaced := _SPY.search(text) or _SET.search(text):
        module = bound.get(replaced[1], "")
        return (_of_module(module, tested, setup=setup), f"{replaced[1]} of {module}") if module else (None, "")
    return (Weight.HINT, "the network or the clock") if _CLOCK.search(text) else (None, "")


def _of_module(module: str, tested: str, *, setup: bool) -> Weight | None:
    if module.startswith((".", "@/", "~/")):
        return Weight.BLOCK if setup or _stem(module) == tested else Weight.HINT
    return Weight.HINT if _NETWORK.fullmatch(module) else None


def _stem(path: str) -> str:
    """`solve` of `../src/solve` and of `tests/solve.test.ts`."""
    return _SUFFIXES.sub("", path.rpartition("/")[2])
