"""The message of an iteration: by our template, or by one of the repository that extends it.

What a repository writes is data: it is checked before anything is paid for, node by node, so that it can do nothing but print and
choose, and it runs in Jinja's sandbox.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from jinja2 import Template, TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from helmsman.prompts import GAP, settings

BASE = "iteration.md.j2"
BLOCKS = ("goal", "checks", "picture", "criteria", "rules", "work", "facts", "memory")
"""In their order. `rules` is empty: there is room for the repository's own."""
NAMES = frozenset({"goal", "checks", "picture", "criteria", "work", "facts", "memory", "iteration", "branch"})
FILTERS = ("lower", "trim", "upper")
"""Those that take any text and make nothing longer of it."""
LONGEST = 16_000
"""Characters of a template."""
_HAS_TO_SAY = ("goal", "checks", "work", "facts", "memory")
_OF_CRITERION, _OF_LOOP = ("id", "text"), ("index", "first", "last")
_SAMPLE: Mapping[str, object] = {
    **{name: f"<the {name}>" for name in (*_HAS_TO_SAY, "picture")},
    "criteria": ({"id": "c1", "text": "<the criterion>"},),
    "iteration": 1,
    "branch": "helmsman/loop",
}
_BARE: Mapping[str, object] = {**_SAMPLE, "checks": "", "picture": "", "criteria": (), "work": "", "facts": "", "memory": ""}

_PLAIN = (nodes.TemplateData, nodes.Output, nodes.If, nodes.And, nodes.Or, nodes.Not, nodes.Concat, nodes.Operand)
"""What may stand anywhere in a block, and cannot fail."""
_EQUAL = ("eq", "ne")


class TemplateProblem(ValueError):  # noqa: N818 - what was found, as in Fenced
    """Why a template cannot be used, and where."""

    def __init__(self, line: int, cause: str) -> None:
        """Keep both apart."""
        self.line, self.cause = line, cause
        super().__init__(f"line {line}: {cause}")


def render_message(values: Mapping[str, object], own: str = "") -> list[str]:
    """The blocks of a message that say anything, by name of BLOCKS; empty ones stay, as empty texts.

    `own`: the repository's template, which `check_template` has found well.
    """
    text = _template(own).render(**values, gap=GAP)
    return [block.strip("\n") for block in text.split(GAP)]


def check_template(text: str) -> None:
    """Raises TemplateProblem where it could fail, do anything but print and choose, or leave out what has to be said."""
    if len(text) > LONGEST:
        raise TemplateProblem(1, f"it has {len(text):,} characters; {LONGEST:,} at most")
    if GAP in text:
        raise TemplateProblem(text.count("\n", 0, text.index(GAP)) + 1, "a control character")
    try:
        problems = _problems(_environment().parse(text))
        first = next(problems, None)
    except TemplateSyntaxError as error:
        raise TemplateProblem(error.lineno, error.message or "it cannot be read") from None
    except RecursionError:
        raise TemplateProblem(1, "it is nested too deeply") from None
    except ValueError as error:  # Python's, of a number with too many digits
        raise TemplateProblem(1, str(error)) from None
    if first:
        raise first
    _try(text)


def _try(text: str) -> None:
    for sample in (_SAMPLE, _BARE):
        try:
            said = "\n".join(render_message(sample, text))
        except Exception as error:  # noqa: BLE001 - whatever a template raises, it is the template's
            raise TemplateProblem(_line_of(error), str(error)) from None
        missing = [name for name in _HAS_TO_SAY if str(sample[name]) not in said]
        if missing:
            block = _block_line(text, missing[0])
            raise TemplateProblem(block, f"{{{{ {missing[0]} }}}} is not printed any more, so the agent would not be told of it")


def _problems(tree: nodes.Template) -> Iterator[TemplateProblem]:
    first, *others = [node for node in tree.body if not _is_blank(node)] or [nodes.Output([], lineno=1)]
    if not isinstance(first, nodes.Extends) or first.template != nodes.Const(BASE):
        yield TemplateProblem(first.lineno, f'expected {{% extends "{BASE}" %}} first')
    for node in others:
        if not isinstance(node, nodes.Block):
            yield TemplateProblem(_line(node), "text outside of a block is never printed")
        elif node.name not in BLOCKS:
            yield TemplateProblem(node.lineno, f"there is no block {node.name}; expected one of {', '.join(BLOCKS)}")
        else:
            yield from _within(node.body, NAMES)


def _within(body: Sequence[nodes.Node], names: frozenset[str]) -> Iterator[TemplateProblem]:
    for node in body:
        match node:
            case nodes.Name():
                if node.name not in names:
                    yield TemplateProblem(node.lineno, f"{node.name} is undefined; expected one of {', '.join(sorted(names))}")
            case nodes.For(target=nodes.Name() as target, iter=nodes.Name(name="criteria")) if _is_new(target.name, names):
                rest = [*node.body, *node.else_, *([node.test] if node.test else [])]
                yield from _within(rest, names | {target.name, "loop"})
            case nodes.Getattr(node=nodes.Name() as of):
                known = _OF_LOOP if of.name == "loop" else () if of.name in NAMES else _OF_CRITERION
                if of.name not in names or node.attr not in known:
                    yield TemplateProblem(node.lineno, f"{of.name}.{node.attr} is undefined")
            case _ if not _is_safe(node):
                what = type(node).__name__
                yield TemplateProblem(node.lineno, f"{what} is not allowed here: a template prints, and chooses by if and else")
            case _ if not isinstance(node, nodes.Call):
                yield from _within([*node.iter_child_nodes()], names)
            case _:
                pass


def _is_new(name: str, names: frozenset[str]) -> bool:
    """Whether a loop may be begun with this name: loops do not nest, and hide no value."""
    return "loop" not in names and name not in {*names, "loop"}


def _is_safe(node: nodes.Node) -> bool:
    """Whether it can only print and choose, whatever the values are, as far as it is not up to what is in it."""
    match node:
        case nodes.Filter():
            return node.name in FILTERS and not node.args and not node.kwargs
        case nodes.Compare(ops=[nodes.Operand() as to]):
            return to.op in _EQUAL or (_is_number(node.expr) and _is_number(to.expr))
        case nodes.CondExpr():
            return node.expr2 is not None
        case nodes.Const():
            return str(node.value).isprintable()
        case nodes.Call():
            return isinstance(node.node, nodes.Name) and node.node.name == "super" and not node.args and not node.kwargs
        case _:
            return isinstance(node, _PLAIN)


def _is_number(node: nodes.Node) -> bool:
    match node:
        case nodes.Const():
            return isinstance(node.value, int)
        case nodes.Getattr(node=nodes.Name(name="loop"), attr="index") | nodes.Name(name="iteration"):
            return True
        case _:
            return False


def _is_blank(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Output) and all(
        isinstance(one, nodes.TemplateData) and not one.data.strip() for one in node.nodes
    )


def _line(node: nodes.Node) -> int:
    """Of the first word of a text."""
    data = node.nodes[0].data if isinstance(node, nodes.Output) and isinstance(node.nodes[0], nodes.TemplateData) else ""
    return node.lineno + data[: len(data) - len(data.lstrip())].count("\n")


def _line_of(error: BaseException) -> int:
    """Where in a template it was raised."""
    line, trace = 1, error.__traceback__
    while trace:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == "<template>" else line
        trace = trace.tb_next
    return line


def _block_line(text: str, name: str) -> int:
    found = (node for node in _environment().parse(text).find_all(nodes.Block) if node.name == name)
    return next((node.lineno for node in found), 1)


@lru_cache(maxsize=8)
def _template(own: str) -> Template:
    return _environment().from_string(own or f'{{% extends "{BASE}" %}}')


@lru_cache(maxsize=1)
def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(**settings())
    environment.globals.clear()
    environment.filters = {name: environment.filters[name] for name in FILTERS}
    return environment
