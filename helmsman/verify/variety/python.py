"""Python, read as a tree."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from helmsman.records.variety_facts import FileFacts
from helmsman.verify.invariants.reading.python_code import below_open_quotes, last_name, parse
from helmsman.verify.variety.muted import suppressions_in

MOST_IMPORTS = 500
MOST_LONELY = 200
MOST_MENTIONS = 2000
_UNDERSCORED = re.compile(r"(?<!\w)_[a-zA-Z0-9]\w{0,80}")
_LOOKS_UP = re.compile(r"\b(?:globals|vars|locals)\(|sys\.modules|__getattr__")
_TYPING = ("typing", "typing_extensions", "t", "tp")


def python_facts(path: str, text: str) -> FileFacts:
    """A source that cannot be parsed gives only what its lines tell."""
    lines = sum(1 for line in text.split("\n") if line.strip())
    tree = parse(text)
    if tree is None:
        return FileFacts(
            role="source", lines=lines, suppressions=suppressions_in(path, text), mentions=underscored(text), reads_names=True
        )
    seen = _seen(tree)
    defined = Counter(name for name, _ in _defined(tree.body))
    lonely = _lonely(tree, text, defined)
    return FileFacts(
        role="source",
        lines=lines,
        suppressions=suppressions_in(path, text, seen.below_strings & below_open_quotes(text)),
        casts=seen.casts,
        public_names=len(_public(tree, defined)),
        imports=tuple(dict.fromkeys(seen.imports))[:MOST_IMPORTS],
        late=tuple(dict.fromkeys(seen.late))[:MOST_IMPORTS],
        lonely=lonely,
        mentions=underscored(text, frozenset(lonely)),
        reads_names=bool(_LOOKS_UP.search(text)),
    )


def underscored(text: str, without: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The words of a text that begin with an underscore, sorted."""
    return tuple(sorted(set(_UNDERSCORED.findall(text)) - without)[:MOST_MENTIONS])


@dataclass
class _Seen:
    imports: list[str] = field(default_factory=list[str])
    late: list[str] = field(default_factory=list[str])
    casts: int = 0
    below_strings: set[int] = field(default_factory=set[int])
    """Lines of strings but their first."""


def _seen(tree: ast.Module) -> _Seen:
    """One walk, without recursion: a hostile tree is deep."""
    found = _Seen()
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, late = pending.pop()
        (found.late if late else found.imports).extend(_imported(node))
        found.casts += _is_cast(node)
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno and node.end_lineno > node.lineno:
            found.below_strings.update(range(node.lineno + 1, node.end_lineno + 1))
        inner_late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for_types = node.body if isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING" else ()
        pending += [(inner, inner_late or inner in for_types) for inner in ast.iter_child_nodes(node)]
    return found


def _imported(node: ast.AST) -> Iterator[str]:
    """`from a import b` gives `a.b`: whether b is a module or a name in a, only the tree of files tells."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        head = "." * node.level + (node.module or "")
        joint = "." if node.module else ""
        yield from (head if alias.name == "*" else f"{head}{joint}{alias.name}" for alias in node.names)


def _is_cast(node: ast.AST) -> bool:
    """`Any`, `typing.Any`, and calls of `cast` with a type and a value; SQL has a `cast` of its own behind a dot."""
    if isinstance(node, ast.Name):
        return node.id == "Any"
    if isinstance(node, ast.Attribute):
        return node.attr == "Any" and last_name(node.value) in _TYPING
    if not isinstance(node, ast.Call) or len(node.args) != len(("type", "value")):
        return False
    called = node.func
    if isinstance(called, ast.Attribute):
        return called.attr == "cast" and last_name(called.value) in _TYPING
    return isinstance(called, ast.Name) and called.id == "cast"


def _defined(body: list[ast.stmt]) -> Iterator[tuple[str, bool]]:
    """Names that the top of a module defines, and whether a decorator hands them to somebody else."""
    pending = list(reversed(body))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, bool(node.decorator_list)
        elif isinstance(node, ast.Assign):
            yield from ((part.id, False) for target in node.targets for part in _names(target))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, False
        elif isinstance(node, ast.If | ast.Try):
            handlers = [inner for handler in getattr(node, "handlers", []) for inner in handler.body]
            pending += [*node.body, *node.orelse, *handlers]


def _names(target: ast.expr) -> list[ast.Name]:
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return [part for part in parts if isinstance(part, ast.Name)]


def _public(tree: ast.Module, defined: Counter[str]) -> frozenset[str]:
    """What `__all__` lists, else all names at the top without an underscore."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if "__all__" in (part.id for target in targets for part in _names(target)):
                return _listed(node.value)
    return frozenset(name for name in defined if not name.startswith("_"))


def _listed(value: ast.expr) -> frozenset[str]:
    listed = value.elts if isinstance(value, ast.List | ast.Tuple) else []
    return frozenset(item.value for item in listed if isinstance(item, ast.Constant) and isinstance(item.value, str))


def _lonely(tree: ast.Module, text: str, defined: Counter[str]) -> tuple[str, ...]:
    """Private names that stand in the text only where they are defined, strings and comments included."""
    words = Counter(_UNDERSCORED.findall(text))
    handed_on = {name for name, decorated in _defined(tree.body) if decorated}
    private = (name for name in defined if _UNDERSCORED.fullmatch(name) and name not in handed_on)
    return tuple(sorted(name for name in private if words[name] <= defined[name]))[:MOST_LONELY]
