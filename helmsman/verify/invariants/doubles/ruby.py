"""Classes of the project that tests of Ruby reopen or replace."""

import re
from collections.abc import Iterator

from helmsman.records.findings import Finding
from helmsman.verify.invariants.doubles import REPORTER
from helmsman.verify.invariants.reading.additions import Addition
from helmsman.verify.invariants.reading.kinds import serves_tests
from helmsman.verify.invariants.reading.patterns import code
from helmsman.verify.invariants.reading.reporter import Spot
from helmsman.verify.invariants.scene import Scene

_NAME = r"((?:[A-Z]\w{0,80}::){0,5}[A-Z]\w{0,80})"
_REOPENS = re.compile(
    rf"^\s{{0,40}}(?:class {_NAME}\s{{0,9}}(?:;.{{0,200}})?$|{_NAME}\.(?:class_eval|class_exec|prepend|define_method)\b"
    rf"|class << {_NAME}\s{{0,9}}$|def {_NAME}\.\w)"
)
_HELPER = re.compile(r"(?:^|/)(?:[^/]{1,80}_helper\.rb|support/[^\n]{1,200}\.rb)$")
_DESCRIBES = re.compile(rf"\b(?:describe\(? ?{_NAME}|class {_NAME}Test\b)")
_DEFINES = re.compile(r"^\s{0,40}(?:def|attr_|alias|define_method|prepend|include|remove_method|undef)\b", re.MULTILINE)
_LARGEST = 200_000


def patched_ruby(addition: Addition, scene: Scene) -> Iterator[Finding]:
    """A class that tests describe and that lives outside of them, opened anew by a helper or by a test that was there."""
    path = addition.file.path
    if not serves_tests(path) or not (_HELPER.search(path) or addition.file.before is not None):
        return
    opened = [(line, name) for line in addition.lines for name in _reopened(code(line.text[:500], "ruby"))]
    if opened and _DEFINES.search(addition.text):
        tested = _tested(scene)
        for line, name in opened:
            if name.rpartition("::")[2] in tested:
                spot = Spot(path, line.number, line.text)
                yield REPORTER.block(spot, f"{name}, the project's own code, is replaced in {path.rpartition('/')[2]}")


def _reopened(text: str) -> Iterator[str]:
    found = _REOPENS.match(text)
    yield from (name for name in (found.groups() if found else ()) if name)


def _tested(scene: Scene) -> frozenset[str]:
    """Names, without their modules, of classes that have a file of the project, or that a test describes."""
    changed = [(file.path, text) for file in scene.diff if (text := file.after)]
    tests = (text for path, text in (*changed, *scene.tests.items()) if path.endswith(".rb") and len(text) < _LARGEST)
    described = {name for text in tests for groups in _DESCRIBES.findall(text) for name in groups if name}
    own = {path for path in (*scene.paths, *(path for path, _ in changed)) if path.endswith(".rb") and not serves_tests(path)}
    files = {path.rpartition("/")[2].removesuffix(".rb") for path in own}
    names = {name.rpartition("::")[2] for name in described} | {_camel(file) for file in files}
    return frozenset(names) - _made_for_tests(scene)


def _made_for_tests(scene: Scene) -> frozenset[str]:
    """Classes that only files of tests define: fakes, which may be described as well."""
    helpers = (text for file in scene.diff if serves_tests(file.path) and (text := file.before))
    texts = (*helpers, *scene.tests.values())
    return frozenset(name.rpartition("::")[2] for text in texts if len(text) < _LARGEST for name in _CLASS.findall(text))


_CLASS = re.compile(rf"^\s{{0,40}}class {_NAME}", re.MULTILINE)


def _camel(file: str) -> str:
    return "".join(word.capitalize() for word in file.split("_"))
