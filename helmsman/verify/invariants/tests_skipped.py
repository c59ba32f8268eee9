"""A test is skipped, expected to fail, or left out by a focus on others, and was not before."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from helmsman.records.findings import Finding, Weight
from helmsman.verify.cases.comparison import Comparison, compared
from helmsman.verify.cases.model import Skip, SkipKind
from helmsman.verify.cases.paths import is_test_file
from helmsman.verify.cases.sides import Sides
from helmsman.verify.invariants.reading.reporter import Reporter, Spot, most_important
from helmsman.verify.invariants.scene import Scene

_WEIGHTS = {SkipKind.ALWAYS: Weight.BLOCK, SkipKind.FOCUS: Weight.BLOCK, SkipKind.CONDITION: Weight.HINT}
_MESSAGES = {
    SkipKind.ALWAYS: "{} no longer counts, whatever the code does",
    SkipKind.CONDITION: "{} is left out on some machines",
    SkipKind.FOCUS: "only {} runs, all others are left out",
}
_HONEST = {
    SkipKind.CONDITION: "Keep the condition only if the test cannot run there, and say why in its reason.",
    SkipKind.FOCUS: "Take the focus away so that all tests run.",
}
_REPORTER = Reporter("tests.skipped", "Take the mark away and make the code pass the test.")
_COVERS = {
    SkipKind.ALWAYS: {SkipKind.ALWAYS},
    SkipKind.CONDITION: {SkipKind.ALWAYS, SkipKind.CONDITION},
    SkipKind.FOCUS: {SkipKind.FOCUS},
}
"""Kinds of an earlier skip that make a skip nothing new."""


def tests_skipped(scene: Scene) -> Iterable[Finding]:
    """BLOCK where the test never runs; WARN where it depends on platform, version or installation, and for a new test.

    A test that ran before and now waits for a variable that nothing in sight sets never runs.
    """
    comparison = compared(scene.diff, scene.tests, scene.commands)
    return most_important(_findings(comparison, scene))


def _findings(comparison: Comparison, scene: Scene) -> Iterator[Finding]:
    renamed = {(pair.new.path, pair.new.name): (pair.old.path, pair.old.name) for pair in comparison.pairs}
    before = {(skip_path, skip.holder, skip.kind) for side in comparison.sides for skip_path, skip in _placed(side, old=True)}
    moved = _moved(comparison.sides)
    fresh = {(case.path, case.name) for case in comparison.fresh}
    for side in comparison.sides:
        for path, skip in _placed(side, old=False):
            place = renamed.get((path, skip.holder), (side.file.old_path or path, skip.holder))
            was_there = any((*place, kind) in before for kind in _COVERS[skip.kind])
            if was_there or moved[_text(skip)] > 0:
                moved[_text(skip)] -= not was_there
            else:
                waits = _asks_for_nothing(skip, side, scene) or _asks_in_vain(skip, side, scene)
                seen = replace(skip, kind=SkipKind.ALWAYS) if waits else skip
                yield _finding(path, seen, is_new=(path, skip.holder) in fresh)


_MODULE = re.compile(r"importorskip\(\s*[\"'](\w+)")


def _asks_for_nothing(skip: Skip, side: Sides, scene: Scene) -> bool:
    """Whether tests that ran before wait for a module that nothing in the diff uses, so that they wait for ever."""
    module = _MODULE.search(skip.text)
    if module is None or not side.old.cases:
        return False
    named = re.compile(rf"\b{module[1]}\b")
    return sum(len(named.findall(file.after or "")) for file in scene.diff) <= len(named.findall(skip.text))


_GIVEN = re.compile(
    r"^(?:CI|GITHUB_\w+|DISPLAY|WAYLAND_DISPLAY|HOME|PATH|TERM|LANG|SSH_AUTH_SOCK|CUDA_VISIBLE_DEVICES|JAVA_HOME|ANDROID_\w+"
    r"|(?:os|java|user)\..*)$|(?:_URL|_URI|_HOST|_DSN|_TOKEN|_KEY|_CREDENTIALS|_PORT|_PASSWORD)$"
)
"""What systems set by themselves, and what names something outside that a test may truly need."""
_DOCUMENTS = (".md", ".rst", ".txt", ".adoc")


def _asks_in_vain(skip: Skip, side: Sides, scene: Scene) -> bool:
    """Whether tests that ran before wait for a variable that nobody sets: no check, no other file of the diff."""
    if not skip.asks or not side.old.cases or _GIVEN.search(skip.asks) or _is_known(skip.asks, side, scene):
        return False
    changed = (file for file in scene.diff if file.path != side.file.path and not file.path.endswith(_DOCUMENTS))
    texts = (file.after or "" for file in changed if not is_test_file(file.path, file.after or ""))
    return not any(skip.asks in text for text in (*scene.commands, *texts))


def _is_known(name: str, side: Sides, scene: Scene) -> bool:
    """Whether tests waited for it before."""
    return name in (side.file.before or "") or any(name in text for text in scene.tests.values())


def _placed(side: Sides, *, old: bool) -> Iterator[tuple[str, Skip]]:
    path = side.file.old_path or side.file.path if old else side.file.path
    return ((path, skip) for skip in (side.old if old else side.new).skips)


def _moved(sides: tuple[Sides, ...]) -> Counter[str]:
    """Marks whose holder is not there any more: they may have gone along to another file or name."""
    texts: Counter[str] = Counter()
    for side in sides:
        now = {case.name for case in (*side.new.cases, *side.new.others)}
        texts.update(_text(skip) for skip in side.old.skips if skip.holder not in now and (skip.holder or not side.new.cases))
    return texts


def _text(skip: Skip) -> str:
    return "".join(skip.text.split())


def _finding(path: str, skip: Skip, *, is_new: bool) -> Finding:
    """A test that was never there before takes nothing away by being skipped."""
    weight = Weight.HINT if is_new and skip.kind is SkipKind.ALWAYS else _WEIGHTS[skip.kind]
    message = _MESSAGES[skip.kind].format(skip.holder or "the file")
    return _REPORTER.tell(weight, Spot(path, skip.line, skip.text), message, _HONEST.get(skip.kind, ""))
