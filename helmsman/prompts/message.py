"""The message of an iteration, by Helmsman's template or by one of the repository that extends it.

A repository's template is untrusted: it is validated node by node before anything is paid for, so that it can only print and
branch, and it runs in Jinja's sandbox.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from jinja2 import Template, TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from helmsman.prompts import settings

BASE = "iteration.md.j2"
_GAP = "\x1e"  # between two blocks
BLOCKS = ("goal", "checks", "picture", "criteria", "rules", "work", "facts", "memory")
"""In order. `rules` is empty, for the repository's own."""
NAMES = frozenset({"goal", "checks", "picture", "criteria", "work", "facts", "memory", "iteration", "branch"})
FILTERS = ("lower", "trim", "upper")  # accept any text and do not lengthen it
LONGEST = 16_000  # characters of a template
_REQUIRED = ("goal", "checks", "work", "facts", "memory")
_CRITERION_ATTRIBUTES, _LOOP_ATTRIBUTES = ("id", "text"), ("index", "first", "last")
_SAMPLE: Mapping[str, object] = {
    **{name: f"<the {name}>" for name in (*_REQUIRED, "picture")},
    "criteria": ({"id": "c1", "text": "<the criterion>"},),
    "iteration": 1,
    "branch": "helmsman/loop",
}
_EMPTY_SAMPLE: Mapping[str, object] = {
    **_SAMPLE,
    **dict.fromkeys(("checks", "picture", "criteria", "work", "facts", "memory"), ""),
}

_Problem = tuple[str, int]  # the cause, and the line
_SAFE_NODES = (nodes.TemplateData, nodes.Output, nodes.If, nodes.And, nodes.Or, nodes.Not, nodes.Concat, nodes.Operand)
"""Nodes that are allowed anywhere in a block and cannot fail."""


def render_message(values: Mapping[str, object], own: str = "") -> list[str]:
    """Render the blocks of a message in the order of BLOCKS, including empty ones.

    `own`: the repository's template, validated by `check_template`.
    """
    text = _template(own).render(**values, gap=_GAP)
    return [block.strip("\n") for block in text.split(_GAP)]


def check_template(text: str) -> None:
    """Raise TemplateSyntaxError if it could fail, do anything but print and branch, or omit a required value."""
    if len(text) > LONGEST:
        raise TemplateSyntaxError(f"it has {len(text):,} characters; {LONGEST:,} at most", 1)
    try:
        first = next(_problems(_environment().parse(text)), None)
    except RecursionError:
        raise TemplateSyntaxError("it is nested too deeply", 1) from None
    except ValueError as error:  # raised by Python for a number with too many digits
        raise TemplateSyntaxError(str(error), 1) from None
    if first:
        raise TemplateSyntaxError(*first)
    for sample in (_SAMPLE, _EMPTY_SAMPLE):
        try:
            text_of_sample = "\n".join(render_message(sample, text))
        except Exception as error:  # noqa: BLE001 - any exception is the template's fault
            raise TemplateSyntaxError(str(error), 1) from None
        if missing := next((name for name in _REQUIRED if str(sample[name]) not in text_of_sample), ""):
            blocks = _environment().parse(text).find_all(nodes.Block)
            line = next((node.lineno for node in blocks if node.name == missing), 1)
            raise TemplateSyntaxError(f"{{{{ {missing} }}}} is no longer printed, so the agent would not see it", line)


def _problems(tree: nodes.Template) -> Iterator[_Problem]:
    first, *others = [node for node in tree.body if not _is_blank(node)] or [nodes.Output([], lineno=1)]
    if not isinstance(first, nodes.Extends) or first.template != nodes.Const(BASE):
        yield (f'expected {{% extends "{BASE}" %}} first', first.lineno)
    for node in others:
        if not isinstance(node, nodes.Block):
            yield ("text outside of a block is never printed", node.lineno)
        elif node.name not in BLOCKS:
            yield (f"there is no block {node.name}; expected one of {', '.join(BLOCKS)}", node.lineno)
        else:
            yield from _problems_in(node.body, NAMES)


def _is_blank(node: nodes.Node) -> bool:
    texts = node.nodes if isinstance(node, nodes.Output) else [node]
    return all(isinstance(text, nodes.TemplateData) and not text.data.strip() for text in texts)


def _problems_in(body: Iterable[nodes.Node], names: frozenset[str]) -> Iterator[_Problem]:
    for node in body:
        allowed = names
        match node:
            case nodes.Name():
                if node.name not in names:
                    yield (f"{node.name} is undefined; expected one of {', '.join(sorted(names))}", node.lineno)
            case nodes.Getattr(node=nodes.Name(name=name_of)):
                attributes = _LOOP_ATTRIBUTES if name_of == "loop" else () if name_of in NAMES else _CRITERION_ATTRIBUTES
                if name_of not in names or node.attr not in attributes:
                    yield (f"{name_of}.{node.attr} is undefined", node.lineno)
                continue
            case nodes.Call(node=nodes.Name(name="super"), args=[], kwargs=[]):
                continue
            case nodes.For(target=nodes.Name(name=own), iter=nodes.Name(name="criteria")) if not {own, "loop"} & names:
                allowed = names | {own, "loop"}  # loops do not nest and do not shadow values
            case _ if not _is_safe(node):
                kind = type(node).__name__
                yield (f"{kind} is not allowed here: a template may only print and use if and else", node.lineno)
                continue
            case _:
                pass
        yield from _problems_in(node.iter_child_nodes(), allowed)


def _is_safe(node: nodes.Node) -> bool:
    """Whether a node can only print and branch, for all values; its children are checked separately."""
    match node:
        case nodes.Filter():
            return node.name in FILTERS and not node.args and not node.kwargs
        case nodes.Compare(ops=[nodes.Operand() as right]):
            return right.op in {"eq", "ne"} or (_is_number(node.expr) and _is_number(right.expr))
        case nodes.CondExpr():
            return node.expr2 is not None
        case nodes.Const():
            return str(node.value).isprintable()
        case _:
            return isinstance(node, _SAFE_NODES)


def _is_number(node: nodes.Node) -> bool:
    match node:
        case nodes.Const(value=int()) | nodes.Name(name="iteration") | nodes.Getattr(node=nodes.Name(name="loop"), attr="index"):
            return True
        case _:
            return False


@lru_cache(maxsize=8)
def _template(own: str) -> Template:
    return _environment().from_string(own or f'{{% extends "{BASE}" %}}')


@lru_cache(maxsize=1)
def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(**settings())
    environment.globals.clear()
    environment.filters = {name: environment.filters[name] for name in FILTERS}
    return environment
