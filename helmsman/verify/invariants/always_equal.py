"""Objects that equal everything."""

import ast
import re
from collections.abc import Iterable, Iterator

from helmsman.records.findings import Finding, Weight
from helmsman.verify.invariants.equality.early_exits import early_exits
from helmsman.verify.invariants.equality.same_key import compares_classes, compares_constants, compares_nothing
from helmsman.verify.invariants.equality.same_key_by_text import same_for_all
from helmsman.verify.invariants.equality.truths import always, ignores_other, truth
from helmsman.verify.invariants.reading.additions import Addition, additions, found_anew, line_at
from helmsman.verify.invariants.reading.kinds import language
from helmsman.verify.invariants.reading.python_code import Part, changed_parts, former_parts, last_name
from helmsman.verify.invariants.reading.reporter import Reporter, Spot, most_important
from helmsman.verify.invariants.scene import Scene

_REPORTER = Reporter("always_equal", "Compare what the objects hold.")
_BLOCK, _WARN = Weight.BLOCK, Weight.HINT

_COMPARISONS = {
    "__eq__": (True, _BLOCK),
    "__ne__": (False, _BLOCK),
    "__contains__": (True, _WARN),
    "__lt__": (True, _WARN),
    "__le__": (True, _WARN),
    "__gt__": (True, _WARN),
    "__ge__": (True, _WARN),
    "__bool__": (True, _WARN),
}
"""What a method must not always return; infinities, wildcards and sentinels are honest."""
_RESULTS = {True: "always returns True", False: "always returns False"}

_TRUTHS = re.compile(r"\breturn\b|\blambda\b")
_MAY_DECIDE = re.compile(rf"{_TRUTHS.pattern}|\b(?:compare|eq|cmp) *= *False\b")
_DECIDES = re.compile(rf"\b(?:{'|'.join(_COMPARISONS)})\b|\b(?:compare|eq|cmp) *= *False\b")

_HOLDS = r"(?:true|\(?([$@\w.]{1,80}(?:->\w{1,80})?) *={2,3} *\1(?![\w.(-])\)?|\w{1,80} +instanceof +Object\b)"
"""True, something compared with itself, or what every object is."""
_NAMED_EQUAL = r"\b(?:equals|isEqual|asymmetricMatch)"
_MAY_HOLD = re.compile(r"\btrue\b|={2,3}|\binstanceof\b")
_MAY_ORDER = re.compile(r"[Cc]ompare|[Cc]mp|<=>|[Hh]ash|valueOf|\breturn 0")
_LARGEST = 300_000
_EQUAL = {
    "java": (
        rf"\bboolean +equals *\([^)]{{0,200}}\)\s{{0,200}}\{{\s{{0,200}}return +{_HOLDS} *;\s{{0,200}}\}}",
        r"\bfun +equals *\([^)]{0,200}\)[^{=\n]{0,40}(?:= *true\b|\{\s{0,200}return +true\s{0,200}\})",
    ),
    "csharp": (
        r"\bbool +(?:Equals|operator *==) *\([^)]{0,200}\)\s{0,200}(?:=> *true *;|\{\s{0,200}return +true *;\s{0,200}\})",
    ),
    "javascript": (
        rf"{_NAMED_EQUAL} *\([^)]{{0,200}}\)[^{{\n]{{0,40}}\{{\s{{0,200}}return +{_HOLDS} *;?\s{{0,200}}\}}",
        rf"{_NAMED_EQUAL} *[:=] *\([^)]{{0,200}}\) *=> *true\b",
    ),
    "ruby": (rf"\bdef +(?:==|eql\?|equal\?|===) *\(?[^)\n]{{0,80}}\)?[\s;]{{1,200}}(?:return +)?{_HOLDS}[\s;]{{1,200}}end\b",),
    "rust": (rf"\bfn +eq *\([^)]{{0,200}}\) *-> *bool\s{{0,200}}\{{\s{{0,200}}(?:return +)?{_HOLDS} *;?\s{{0,200}}\}}",),
    "go": (rf"\) *Equals? *\([^)]{{0,200}}\) *bool *\{{\s{{0,200}}return +{_HOLDS}\s{{0,200}}\}}",),
    "php": (rf"\bfunction +equals *\([^)]{{0,200}}\)[^{{]{{0,40}}\{{\s{{0,200}}return +{_HOLDS} *;\s{{0,200}}\}}",),
    "swift": (r"\bfunc +== *\([^)]{0,200}\) *-> *Bool\s{0,200}\{\s{0,200}(?:return +)?true\s{0,200}\}",),
    "c": (r"\bbool +operator *== *\([^)]{0,200}\)[^{;\n]{0,40}\{\s{0,200}return +true *;\s{0,200}\}",),
}
_EQUALS = {kind: tuple(re.compile(pattern) for pattern in found) for kind, found in _EQUAL.items()}


def always_equal(scene: Scene) -> Iterable[Finding]:
    """Rule `always_equal`: comparisons that always hold, assertions that do nothing, exits with 0 where a test would run."""
    return most_important(finding for addition in additions(scene.diff) for finding in _in_file(addition))


def _in_file(addition: Addition) -> Iterator[Finding]:
    if language(addition.file.path) == "python":
        yield from _in_python(addition)
    else:
        yield from _by_text(addition)
    yield from early_exits(addition)


_OF_CLASS = (
    (compares_nothing, "leaves every field out of the comparison"),
    (compares_constants, "compares what is the same for every object"),
    (compares_classes, "looks at the class alone"),
)
_Constant = tuple[str, str, str]
"""Class, method and what is wrong with it."""


def _in_python(addition: Addition) -> Iterator[Finding]:
    if not _MAY_DECIDE.search(addition.text) or not _DECIDES.search(addition.file.after or ""):
        return
    found = {key: part.line(node) for part in changed_parts(addition.file, _DECIDES) for key, node in _constants(part)}
    known = {key for part in former_parts(addition.file, _DECIDES) for key, _ in _constants(part)} if found else set[_Constant]()
    for (owner, name, what), line in found.items():
        if (owner, name, what) not in known:
            yield _REPORTER.tell(_COMPARISONS[name][1], Spot(addition.file.path, line, name), f"{owner}.{name} {what}")


def _constants(part: Part) -> Iterator[tuple[_Constant, ast.stmt]]:
    """Comparisons that always have the one result that they must not always have, or that do not compare."""
    for owner in (node for node in ast.walk(part.tree) if isinstance(node, ast.ClassDef)):
        for node in owner.body:
            for name, what in _always(node):
                yield (owner.name, name, what), node
        for decides, what in _OF_CLASS:
            if decides(owner):
                yield (owner.name, "__eq__", what), owner


def _always(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """`def __eq__(self, other): return True` and `__eq__ = lambda self, other: True`."""
    if isinstance(node, ast.FunctionDef) and node.name in _COMPARISONS:
        result = always(node)
        if result is not None and result is _COMPARISONS[node.name][0]:
            yield node.name, _RESULTS[result]
        elif node.name in {"__eq__", "__ne__"} and ignores_other(node):
            yield node.name, "ignores what it compares with"
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
        names = [name for target in node.targets if (name := last_name(target)) in _COMPARISONS]
        result = truth(node.value.body)
        yield from ((name, _RESULTS[result]) for name in names if result is not None and result is _COMPARISONS[name][0])


def _by_text(addition: Addition) -> Iterator[Finding]:
    path = addition.file.path
    finders = _EQUALS.get(language(path), ()) if _MAY_HOLD.search(addition.text) else ()
    for line, found in found_anew(addition.file, finders):
        yield _REPORTER.block(Spot(path, line, found[0]), "an object says that it equals every other")
    yield from _same_for_all(addition)


def _same_for_all(addition: Addition) -> Iterator[Finding]:
    kind, after = language(addition.file.path), addition.file.after or ""
    if not _MAY_ORDER.search(addition.text) or len(after) > _LARGEST:
        return
    known = {found[0] for found in same_for_all(kind, (addition.file.before or "")[:_LARGEST])}
    for found in same_for_all(kind, after):
        if found[0] not in known:
            spot = Spot(addition.file.path, line_at(after, found.start()), found[0])
            yield _REPORTER.block(spot, "an equality rests on what is the same for every object")
