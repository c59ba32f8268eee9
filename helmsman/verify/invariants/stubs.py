"""Functions that are only a name, and comments that put the work off."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from helmsman.records.findings import Finding, Weight
from helmsman.verify.diff import texts_after
from helmsman.verify.invariants.reading.additions import Addition, additions, found_anew
from helmsman.verify.invariants.reading.kinds import is_source, language, serves_tests
from helmsman.verify.invariants.reading.patterns import code, comment, matches, row
from helmsman.verify.invariants.reading.python_code import (
    Function,
    Part,
    body_without_docstring,
    changed_parts,
    former_parts,
    functions,
    in_string,
    last_name,
    parameters,
)
from helmsman.verify.invariants.reading.reporter import Spot, most_important
from helmsman.verify.invariants.scene import Scene
from helmsman.verify.invariants.unfinished import REPORTER
from helmsman.verify.invariants.unfinished.by_text import falsely_typed, for_others, put_off
from helmsman.verify.invariants.unfinished.placeholders import placeholders

_BLOCK, _WARN = Weight.BLOCK, Weight.HINT
_LATER = (
    r"(?:not(?: been)?(?: yet)? implemented|unimplemented|implement(?:ed)? (?:me|later|this)"
    r"|TODO|FIXME|stub(?:bed)?\b|placeholder|(?:still )?to come\b|coming soon|to be (?:written|implemented))"
)
_FOR_OTHERS = re.compile(r"subclass|overrid|abstract|derived|must be implemented|must implement|interface", re.IGNORECASE)

_INSTEAD = "an error in place of a body"
_MARKERS = (
    row(_BLOCK, "todo!", r"\btodo!\s?[(\[{]", "todo!()", "rust"),
    row(_BLOCK, "unimplemented!", r"\bunimplemented!\s?[(\[{]", "unimplemented!()", "rust"),
    row(_BLOCK, "panic", rf"(?i:\bpanic!?\(\s?[\"'][^\"']{{0,60}}{_LATER})", "a panic in place of a body", "rust", "go"),
    row(
        _BLOCK,
        "Error(",
        rf"(?i:\bthrow\s+new\s+\w{{0,40}}Error\(\s?[\"'`][^\"'`]{{0,60}}{_LATER})",
        _INSTEAD,
        "javascript",
    ),
    row(
        _BLOCK,
        "xception(",
        rf"(?i:\bthrow\s+new\s+\\?\w{{0,60}}Exception\(\s?[\"'][^\"']{{0,60}}{_LATER})",
        _INSTEAD,
    ),
    row(
        _BLOCK,
        "NotImplemented",
        r"\bthrow\s+new\s+\\?NotImplemented(?:Exception|Error)\b",
        _INSTEAD,
        "csharp",
        "java",
        "php",
    ),
    row(
        _BLOCK,
        "raise",
        rf"\braise\b[\s(]{{1,3}}(?:[A-Z][\w:]{{0,80}}[\s,(]{{1,3}})?(?i:[\"'][^\"']{{0,60}}{_LATER})",
        _INSTEAD,
        "ruby",
    ),
    row(_WARN, "NotImplemented", r"\braise\s+NotImplementedError\b", _INSTEAD, "ruby"),
    row(_BLOCK, "TODO(", r"^\s*(?:[\w\s.<>:(),?]{0,200}=\s?)?TODO\((?:\"[^\"]{0,200}\")?\)", "TODO()", "java"),
    row(_BLOCK, "fatalError", rf"(?i:\bfatalError\(\s?\"[^\"]{{0,60}}{_LATER})", "fatalError in place of a body", "swift"),
    row(
        _BLOCK,
        "rrors.New",
        rf"(?i:^\s*return\s.{{0,80}}errors\.New\(\"[^\"]{{0,60}}{_LATER})",
        _INSTEAD,
        "go",
    ),
)
_COMMENTS = (
    *(row(_WARN, word, rf"\b{word}\b", f"a {word} comment") for word in ("TODO", "FIXME", "XXX", "HACK")),
    *(
        row(_WARN, word, rf"(?i:[#/*]\s{{0,9}}{word}\b|\b{word} implementation)", "a placeholder comment")
        for word in ("placeholder", "Placeholder")
    ),
    *(
        row(_WARN, word, rf"(?i:\b{word})", "a comment that puts work off")
        for word in ("not implemented", "Not implemented", "for now,")
    ),
)
_ASSIGNED = re.compile(r"\bTODO\(\w[\w.@-]{0,40}\).{0,300}(?:\bissue\b|#[0-9]|\b[A-Z]{2,10}-[0-9]|https?://)")
"""Somebody's work that is written down elsewhere."""
_GIVEN = r" *\(\s{0,80}\w[^)]{0,200}\)"
"""At least one parameter: a body that is nothing without any is a component, a factory or a no-op."""
_METHOD = r"\b(?:public|protected|private|static) (?:[\w<>\[\],.?]{1,60} ){1,6}(\w{1,80}) *\([^)]{0,200}\)"
_NULL = r"\{\s{0,80}return null;\s{0,80}\}"
_NOTHING = r"\{\s{0,80}return(?: null| undefined)?;?\s{0,80}\}"
_EMPTY_BODIES = {
    "javascript": (
        rf"\bfunction +(\w{{1,80}}){_GIVEN}[^{{;\n]{{0,80}}{_NOTHING}",
        rf"\b(?:const|let) +(\w{{1,80}}) *= *(?:async *)?{_GIVEN}[^{{;\n]{{0,40}}=> *{_NOTHING}",
        rf"\bfunction +(\w{{1,80}}){_GIVEN}[^{{;\n]{{0,80}}\{{\s{{0,80}}\}}",
    ),
    "java": (rf"{_METHOD} *{_NULL}",),
    "csharp": (rf"{_METHOD}\s{{0,80}}{_NULL}",),
    "php": (rf"\bfunction +(\w{{1,80}}) *\([^)]{{0,200}}\)[^{{;]{{0,40}}{_NULL}",),
    "ruby": (r"\bdef +([a-z]\w{0,80}[?!]?) *\([^)\n]{1,200}\)\s{1,80}(?:nil\s{1,80})?end\b",),
    "go": (r"\bfunc (?:\([^)]{0,80}\) )?(\w{1,80})\([^)]{0,200}\) *(?!error\b)[*\[\]\w.]{1,60} *\{\s{0,80}return nil\s{0,80}\}",),
}
_EMPTY = {kind: tuple(re.compile(pattern) for pattern in found) for kind, found in _EMPTY_BODIES.items()}

_MAY_BE_STUB = re.compile(
    r"^[ \t]*(?:pass|\.\.\.|return(?:[ \t]+None)?|raise\b.{0,500})[ \t]*(?:#.{0,500})?$"
    r"|[\"'][ \t]*(?:#.{0,500})?\n(?:[ \t]*\n)*(?:[ \t]*(?:def|async|class|@)|\Z)|[\"'][ \t]*\Z"
    r"|\)[^\n:]{0,200}:[ \t]*(?:pass|\.\.\.|return|raise|[\"'])",
    re.MULTILINE,
)
"""A body that is nothing, or a text that ends where the next function begins."""
_NOOP = re.compile(
    r"_?(?:noop|no_op|nop|do_nothing|ignore|null|pytest|upgrade|downgrade)(?:_|[A-Z]|$)|__\w+__$|\w*_(?:noop|dummy)$"
)
_HOOK = re.compile(
    r"_?(?:on|handle|setup|set_up|setUp|teardown|tear_down|tearDown|visit|hook|before|after|pre|post|close|flush|start|stop|reset"
    r"|log_message|callback)(?:_|[A-Z]|$)|\w*_(?:hook|callback|handler)$"
)
_NULL_OBJECT = re.compile(
    r"_?(?:Null|No[A-Z]|Noop|Dummy|Fake|Stub|Mock|Silent|Empty|Base|Abstract)|\w*(?:Base|Interface|Protocol|Mixin|ABC)$"
)
_DESCRIBED = re.compile(r"\b(?:interface|abstract|protocol|base class)\b", re.IGNORECASE)
_SUBCLASS = re.compile(r"class[ \t]+\w+[ \t]*\(([^)\n]{1,300})\)")
_INTERFACES = frozenset({"Protocol", "ABC", "ABCMeta", "Interface", "TypedDict", "NamedTuple", "Enum"})
_DECLARES = frozenset(
    {
        "abstractmethod",
        "abstractproperty",
        "abstractclassmethod",
        "overload",
        "hookspec",
        "singledispatch",
        "singledispatchmethod",
        "group",
        "callback",
    }
)
_OWN = frozenset(
    {"staticmethod", "classmethod", "property", "cache", "lru_cache", "cached_property", "setter", "wraps", "override"}
)


@dataclass(frozen=True)
class _Stub:
    path: str
    owner: str
    """Name of its class; empty for a function."""
    function: str
    line: int
    body: str
    """What stands in place of a body."""
    weight: Weight

    @property
    def name(self) -> str:
        return f"{self.owner}.{self.function}" if self.owner else self.function


def stubs(scene: Scene) -> Iterable[Finding]:
    """Rule `stubs`: functions of the project whose body is nothing, and comments that promise one."""
    added = additions(scene.diff)
    return most_important(
        chain(
            _python_stubs(scene),
            *(placeholders(addition) for addition in added),
            *(_in_file(addition, scene) for addition in added if addition.lines),
        )
    )


def _in_file(addition: Addition, scene: Scene) -> Iterator[Finding]:
    if _has_bodies(addition.file.path) and language(addition.file.path) != "python":
        yield from _markers(addition, scene)
        yield from put_off(addition)
        yield from falsely_typed(addition)
        yield from _empty_bodies(addition)
    if language(addition.file.path):
        yield from _comments(addition)


def _has_bodies(path: str) -> bool:
    return is_source(path) and not path.endswith((".pyi", ".d.ts"))


def _python_stubs(scene: Scene) -> Iterator[Finding]:
    files = [file for file in scene.diff if language(file.path) == "python"]
    found = [
        stub
        for file in files
        if _has_bodies(file.path)
        for part in changed_parts(file, _MAY_BE_STUB)
        for stub in _stubs(part, file.path)
    ]
    known = (
        {stub.name for file in files for part in former_parts(file, _MAY_BE_STUB) for stub in _stubs(part, "")}
        if found
        else set[str]()
    )
    owners = frozenset(stub.owner for stub in found if stub.owner)
    bases = _subclassed(scene, owners) if owners else frozenset[str]()
    for stub in found:
        if stub.name not in known and stub.owner not in bases:
            spot = Spot(stub.path, stub.line, f"def {stub.function}: {stub.body}")
            yield REPORTER.tell(stub.weight, spot, f"{stub.name} is a stub: {stub.body}")


def _subclassed(scene: Scene, owners: frozenset[str]) -> frozenset[str]:
    """Names of classes that others derive from: what has no body there is an interface."""
    texts = texts_after(scene.diff, tuple(scene.tests.items()))
    read = [text for path, text in texts.items() if language(path) == "python" and any(owner in text for owner in owners)]
    bases = (base for text in read for found in _SUBCLASS.finditer(text) for base in found[1].split(","))
    return frozenset(base.strip().rpartition(".")[2].partition("[")[0] for base in bases)


def _stubs(part: Part, path: str) -> Iterator[_Stub]:
    for node, owner, plain in functions(part.tree):
        body = _empty_body(node)
        weight = _weight(node, owner, body) if body and not _declared(node, owner, body) else None
        if weight is not None:
            yield _Stub(path, owner.name if owner else "", node.name, part.line(node), body, weight if plain else _WARN)


def _empty_body(node: Function) -> str:
    """What the body is where it is nothing, else an empty text."""
    body = body_without_docstring(node)
    if not body:
        return "only a docstring"
    if len(body) > 1:
        return ""
    statement = body[0]
    if isinstance(statement, ast.Pass):
        return "pass"
    if isinstance(statement, ast.Raise):
        raised = last_name(statement.exc) if statement.exc else ""
        return f"raise {raised}" if raised == "NotImplementedError" or re.search(_LATER, _texts(statement), re.IGNORECASE) else ""
    if isinstance(statement, ast.Return | ast.Expr):
        return _nothing(statement)
    return ""


def _nothing(statement: ast.Return | ast.Expr) -> str:
    value = statement.value
    if isinstance(statement, ast.Expr):
        return "..." if isinstance(value, ast.Constant) and value.value is ... else ""
    return "return None" if value is None or (isinstance(value, ast.Constant) and value.value is None) else ""


def _declared(node: Function, owner: ast.ClassDef | None, body: str) -> bool:
    """Whether it is honest to have no body: an interface, a hook, a null object, a command group."""
    decorators = {last_name(decorator) for decorator in node.decorator_list}
    if decorators & _DECLARES or _NOOP.match(node.name):
        return True
    if owner is None:
        given = parameters(node)
        return bool(given) and all(name.startswith("*") for name in given) and not body.startswith("raise")
    names = {last_name(base) for base in owner.bases} | {last_name(word.value) for word in owner.keywords}
    hook = bool(_HOOK.match(node.name)) and not body.startswith("raise")
    return hook or bool(names & _INTERFACES) or bool(_NULL_OBJECT.match(owner.name))


def _weight(node: Function, owner: ast.ClassDef | None, body: str) -> Weight | None:
    raised = _texts(node) if body.startswith("raise") else ""
    if raised and _FOR_OTHERS.search(raised):
        return None
    refused = bool(raised) and not re.search(_LATER, raised, re.IGNORECASE)
    decorated = any(last_name(decorator) not in _OWN for decorator in node.decorator_list)
    overriding = (
        owner is not None and any(last_name(base) != "object" for base in owner.bases) and body != "raise NotImplementedError"
    )
    described = owner is not None and bool(_DESCRIBED.search(ast.get_docstring(owner, clean=False) or ""))
    unused = bool(parameters(node)) and all(name.lstrip("*").startswith("_") for name in parameters(node))
    return _WARN if refused or decorated or overriding or described or unused else _BLOCK


def _texts(node: ast.stmt) -> str:
    """What the error says, with the docstring of the function."""
    return " ".join(one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str))


def _markers(addition: Addition, scene: Scene) -> Iterator[Finding]:
    path = addition.file.path
    is_for_others = for_others(addition, scene)
    for match in matches(addition, _MARKERS, code):
        text = match.line.text
        if not _FOR_OTHERS.search(text) and not is_for_others(match.line.number):
            message = f"a stub, {match.pattern.what}: {' '.join(text.split())[:80]}"
            yield REPORTER.tell(match.pattern.weight, Spot(path, match.line.number, text), message)


def _empty_bodies(addition: Addition) -> Iterator[Finding]:
    """Bodies that are only null are honest where an interface wants one, so most are only told."""
    after, kind = addition.file.after or "", language(addition.file.path)
    for line, found in found_anew(addition.file, _EMPTY.get(kind, ()), 1):
        if _NOOP.match(found[1]) or _HOOK.match(found[1]):
            continue
        overriding = "@Override" in after[max(0, found.start() - 80) : found.start()]
        weight = _BLOCK if "return null" in found[0] and kind != "csharp" and not overriding else _WARN
        yield REPORTER.tell(weight, Spot(addition.file.path, line, found[0]), f"{found[1]} is a stub: its body is nothing")


def _comments(addition: Addition) -> Iterator[Finding]:
    path, kind = addition.file.path, language(addition.file.path)
    honest = "Do it now, or say in the progress notes what is left."
    for match in matches(addition, _COMMENTS, comment):
        text, number = match.line.text, match.line.number
        if _ASSIGNED.search(comment(text, kind)):
            continue
        if kind != "python" or serves_tests(path) or not in_string(addition.file.after or "", number):
            yield REPORTER.hint(Spot(path, number, text), f"{match.pattern.what}: {' '.join(text.split())[:80]}", honest)
