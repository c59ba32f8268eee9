"""Other values for what the assertions of a test expect, and opposite assertions where they compare with no value.

Only expected values change, never inputs: so an honest test fails whatever it tests, and a source that patches the comparison or
reads its answers still gets the inputs for which it does so. Bounds, keys and messages stay as they are.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from helmsman.parsers.literals import descendants, text_of
from helmsman.parsers.opposites import ARGUMENTS, Edit, opposite
from helmsman.parsers.source import Source, Test
from helmsman.parsers.tables import Column, column_of

if TYPE_CHECKING:
    from tree_sitter import Node

_COMPARISONS = frozenset(["comparison_operator", "binary_expression", "binary_operator", "boolean_operator", "binary"])
_EQUALS = frozenset(["==", "===", "in", "is", "!="])
_WHERE_RIGHT, _WHERE_WRONG = frozenset(["==", "===", "in", "is", "and", "&&", "+", "*"]), frozenset(["!=", "||", "+", "*"])
"""Operators between a value and its assertion: where it says what is right, and where it says what is wrong."""
_OPAQUE = frozenset(
    ["subscript", "subscript_expression", "index_expression", "keyword_argument", "lambda", "not_operator", "ternary_expression",
     "conditional_expression", "generator_expression", "list_comprehension", "set_comprehension", "dictionary_comprehension",
     "interpolation", "template_substitution", "slice", "attribute", "member_expression", "field_expression",
     "selector_expression", "method_invocation", "member_access_expression"]
)  # fmt: skip
"""Nodes in which a value is not what a comparison expects."""
_BRANCHES = frozenset(
    ["if_statement", "elif_clause", "else_clause", "except_clause", "catch_clause", "match_statement", "case_clause",
     "switch_statement", "if_expression", "match_expression", "expression_switch_statement"]
)  # fmt: skip
_EQUALITY = re.compile(
    r"(?i)(?!.*(?:not|less|greater|almost|close|refute))(?:assert_?)?(?:\w*equals?|eql?|is|in|same|are_?same|contains?|be|tobe|strictequal"
    r"|tomatchobject|tocontain|tohavelength|isequalto|(?:called|awaited|called_once|awaited_once)_with|any_call|tohavebeencalledwith)"
)
"""Names of assertions that a value makes true, and another one false."""
_CONSTRUCTOR = re.compile(r"_?[A-Z]\w*|vec|date|datetime|timedelta|set|frozenset|tuple|list|array")
"""Names of calls that wrap an expected value: `Some(8)`, `Decimal("3")`. Not where every public function has a capital."""
_CAPITALISED = frozenset(["go", "csharp"])
_CALLS = frozenset(["call_expression", "call", "method_invocation", "invocation_expression"])
_CHAINS = _CALLS | {"member_expression", "attribute", "member_access_expression", "field_access"}
_NOTHING = re.compile(r"(?!)")
_MOCKED = re.compile(r"(?i)with$|any_call")
_GO_FAILS = re.compile(r"(?!(?:assert|require|is)\b)\w+\.(?:Error|Fatal|Fail)")
_NUMBER = re.compile(rb"(0|[1-9][0-9]{0,8})((?:\.[0-9]+)?(?:[iuf][0-9]{1,3})?)")
_STEPS = (1, 4, 2, 9, 3, 14, 6)
"""Differences for successive numbers. None is the sum, difference or double of its neighbours, or `add(1, 2) == 3` would hold."""
QUOTES = frozenset({b"'", b'"', b"`"})


class Change(NamedTuple):
    """Edits after which a test that can fail does fail."""

    edits: tuple[Edit, ...]
    rows: int | None = None  # number of table rows that fail, each a case; None for all cases


def alter_literal(literal: bytes, step: int, *, quoted: bool, lower: bool = False) -> bytes:
    """Return another literal of the same kind; empty to leave it unchanged, for example a hexadecimal number.

    `lower`: a smaller number where possible, as a larger one may not fit its type.
    """
    if number := _NUMBER.fullmatch(literal):
        value = int(number[1])
        return b"%d%s" % (value - step if lower and value > step else value + step, number[2])
    return b"" if not literal.strip() or (literal[:1].isdigit() and not quoted) else literal + b"~" * step


def step_at(place: int) -> int:
    return _STEPS[place % len(_STEPS)]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with these edits; of two that overlap, the first one counts."""
    data, parts, end = text.encode(errors="replace"), list[bytes](), 0
    for edit in sorted(set(edits)):
        if edit.start >= end:
            parts += (data[end : edit.start], edit.new)
            end = edit.end
    return b"".join((*parts, data[end:])).decode(errors="replace")


class Expectations:
    """The assertions of a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._assertions = source.nodes("assertion")
        self._spans = frozenset((node.start_byte, node.end_byte) for node in self._assertions)
        self._constructor = _NOTHING if source.language in _CAPITALISED else _CONSTRUCTOR

    @cached_property
    def _literals(self) -> Sequence["Node"]:
        return self.source.nodes("literal")

    def change_of(self, test: Test) -> Change | None:
        """Return the change of a test; None if nothing in it is known to decide."""
        changes = [change for node in self._in_test(test) if (change := self._change_of_assertion(node))]
        if not changes:
            return None
        rows = [change.rows for change in changes]
        fewest = None if None in rows else max(row for row in rows if row is not None)
        return Change(tuple(edit for change in changes for edit in change.edits), fewest)

    def _in_test(self, test: Test) -> Iterator["Node"]:
        """Yield assertions that a test always reaches: its own, and those of the functions of its file that it calls."""
        of_tests = [range(one.line, one.last + 1) for one in self.source.tests]
        text = "\n".join(self.source.text.split("\n")[test.line - 1 : test.last])
        for node in self._assertions:
            line = node.start_point.row + 1
            if test.line <= line <= test.last:
                helper = None
            elif any(line in lines for lines in of_tests):
                continue
            else:
                helper = _enclosing_function(node)
                if not helper or not re.search(rf"(?<!\w){re.escape(helper)}\(", text):
                    continue
            if not _is_conditional(node):
                yield node

    def _change_of_assertion(self, node: "Node") -> Change | None:
        unit = _unit_of(node)
        literals = [one for one in self._within(unit) if self._is_expected(one, unit)]
        if edits := self._with_other_literals(_of_one_side(literals, unit)):
            return Change(edits)
        for side in self._sides(unit):
            if (column := column_of(side, unit)) and (edits := self._edits_of_column(column)):
                return Change(edits, column.known_rows)
        if _GO_FAILS.match(text_of(node)) and not _is_condition(unit):
            return None
        edits = tuple(opposite(node, unit, is_condition=_is_condition(unit)))
        return Change(edits) if edits else None

    def _within(self, outer: "Node") -> list["Node"]:
        return [node for node in self._literals if outer.start_byte <= node.start_byte < outer.end_byte]

    def _with_other_literals(self, nodes: Iterable["Node"]) -> tuple[Edit, ...]:
        data, edits = self.source.text.encode(errors="replace"), list[Edit]()
        for node in nodes:
            old, quoted = data[node.start_byte : node.end_byte], data[node.start_byte - 1 : node.start_byte] in QUOTES
            if new := alter_literal(old, step_at(len(edits)), quoted=quoted, lower=True):
                edits.append(Edit(node.start_byte, node.end_byte, new))
        return tuple(edits)

    def _edits_of_column(self, column: Column) -> tuple[Edit, ...]:
        """Return edits that give each row the next other row's value, or other literals if all rows have the same."""
        texts = [text_of(node) for node in column.values]
        if len(set(texts)) > 1:
            following = [next(text for text in (*texts[at:], *texts[:at]) if text != old) for at, old in enumerate(texts)]
            pairs = zip(column.values, following, strict=True)
            return tuple(Edit(node.start_byte, node.end_byte, new.encode()) for node, new in pairs)
        edits = list[Edit]()
        for node in column.values:
            if flipped := _FLIPPED.get(text_of(node)):
                edits.append(Edit(node.start_byte, node.end_byte, flipped))
            else:
                edits += self._with_other_literals(one for one in self._within(node) if _is_plain(one, node))
        return tuple(edits)

    def _is_expected(self, node: "Node", unit: "Node") -> bool:
        """Whether an assertion requires equality with this value, or that something contains it."""
        compared, is_condition = False, _is_condition(unit)
        while node != unit and (parent := node.parent) is not None:
            if parent.type in ARGUMENTS or (parent.type == "token_tree" and not _is_group(parent)):
                if self._is_assertion(parent):
                    return compared or _is_compared_argument(node, parent)
                if not self._constructor.fullmatch(_called_name(parent)) or parent.parent is None:
                    return False
                node = parent if parent.type == "token_tree" else parent.parent
                continue
            if _hides(node, parent, _WHERE_WRONG if is_condition else _WHERE_RIGHT):
                return False
            compared = compared or _compares(parent)
            node = parent
        return compared

    def _is_assertion(self, arguments: "Node") -> bool:
        """Whether these are the arguments of an assertion, or of what follows it: `expect(…).toBe(…)`."""
        call = arguments.parent
        if call is None or (call.start_byte, call.end_byte) in self._spans:
            return call is not None
        before = (call.start_byte <= start and end <= arguments.start_byte for start, end in self._spans)
        return call.type in _CALLS and any(before)

    def _sides(self, unit: "Node") -> Iterator["Node"]:
        """Yield the names that an assertion compares with, the last one first: rather what is expected than what is found."""
        kinds = ("identifier", "attribute", "member_expression", "selector_expression", "subscript", "subscript_expression")
        found = [node for node in descendants(unit, *kinds) if node.parent and node.parent.type not in kinds]
        for node in sorted(found, key=lambda node: -node.start_byte):
            direct = node.parent is not None and (node.parent.type in _COMPARISONS or node.parent.type in ARGUMENTS)
            if direct and self._is_expected(node, unit):
                yield node


_FLIPPED = {"True": b"False", "False": b"True", "true": b"false", "false": b"true", "None": b"'~'", "null": b"'~'"}


_ROWS = frozenset(["list", "tuple", "set", "dictionary", "array", "object", "literal_value"])
_OVER_ROWS = re.compile(r"(?:enumerate|zip|sorted|items|entries|forEach|map|filter)$")


def may_be_expected(node: "Node", text: str) -> bool:
    """Whether a literal of a program without assertions may say what is right: one compared, in a row, or given to a function of
    the program. A path, a message or a counter does not.
    """
    may = False
    while (parent := node.parent) is not None and not parent.type.endswith(("statement", "block", "declaration")):
        if parent.type in _CALLS and node.type in ARGUMENTS:
            called = _called_name(node)
            own = re.search(rf"\b(?:def|function|func|fn|const|let|var) {re.escape(called)}\b", text) if called else None
            if not (own or _OVER_ROWS.search(called)):
                return False
            may = may or own is not None
        may = may or parent.type in _ROWS or (parent.type in _COMPARISONS and _operator(parent) in _EQUALS | {"!=="})
        node = parent
    return may


def _unit_of(node: "Node") -> "Node":
    """Return the whole assertion: `expect(f(1)).toBe(3)`, and in Go the condition before `t.Error`."""
    unit = node
    while (parent := unit.parent) is not None and parent.type in _CHAINS and parent.start_byte == unit.start_byte:
        unit = parent
    return _go_condition(node) or unit


_ON_THE_WAY = frozenset(["expression_statement", "statement_list", "block", "if_statement"])


def _go_condition(node: "Node") -> "Node | None":
    """Return the condition under which `t.Error` and the like are called; None for other assertions."""
    if not _GO_FAILS.match(text_of(node)):
        return None
    while (parent := node.parent) is not None and parent.type in _ON_THE_WAY:
        condition = parent.child_by_field_name("condition")
        if condition is not None:
            return condition if node == parent.child_by_field_name("consequence") else None
        node = parent
    return None


def _is_condition(unit: "Node") -> bool:
    """Whether the unit is a condition under which the test fails."""
    return unit.parent is not None and unit.parent.child_by_field_name("condition") == unit


def _is_conditional(node: "Node") -> bool:
    """Whether a test may not reach an assertion."""
    node = _unit_of(node)
    node = node.parent if node.parent and node.parent.type == "if_statement" else node
    while (parent := node.parent) is not None and "function_d" not in parent.type and parent.type != "function_item":
        if parent.type in _BRANCHES:
            return True
        node = parent
    return False


def _enclosing_function(node: "Node") -> str:
    outer = node.parent
    while outer is not None and outer.type not in {"function_definition", "function_declaration", "function_item"}:
        outer = outer.parent
    return text_of(outer.child_by_field_name("name")) if outer else ""


def _operator(node: "Node") -> str:
    between = [text_of(child) for child in node.children if not child.is_named]
    return " ".join(between) if between else ""


def _is_key(node: "Node", parent: "Node") -> bool:
    return parent.type in {"pair", "keyed_element"} and node == parent.named_children[0]


def _hides(node: "Node", parent: "Node", operators: Collection[str]) -> bool:
    """Whether a value is not what is expected, because of what is around it."""
    if parent.type in _COMPARISONS:
        operator, is_first = _operator(parent), node == parent.named_children[0]
        return operator not in operators or (operator == "in" and not is_first)
    is_message = parent.type == "assert_statement" and node != parent.named_children[0]
    is_negated = parent.type == "unary_expression" and text_of(parent).startswith("!")
    return parent.type in _OPAQUE or _is_key(node, parent) or is_message or is_negated


def _is_group(tree: "Node") -> bool:
    """Whether tokens of a Rust macro are in plain brackets, not arguments of a call, a macro or an index."""
    before = tree.prev_sibling
    return (
        tree.parent is not None
        and tree.parent.type == "token_tree"
        and (before is None or before.type not in {"identifier", "token_tree", "!", ">"})
    )


def _called_name(arguments: "Node") -> str:
    before = arguments.prev_sibling
    if before is not None and before.type == "!":
        before = before.prev_sibling
    words = re.findall(r"\w+", text_of(before)) if before is not None else []
    return words[-1] if words else ""


def _is_compared_argument(node: "Node", arguments: "Node") -> bool:
    """Whether an argument is one of the two that an assertion compares, not its message."""
    name, words = _called_name(arguments), [child for child in arguments.named_children if child.type != "comment"]
    if not _EQUALITY.fullmatch(name) or re.search(r"\.not\b", text_of(arguments.prev_sibling)):
        return False
    first = 1 if text_of(words[0]) in {"t", "s.T()"} else 0
    place = sum(child.type == "," and child.start_byte < node.start_byte for child in arguments.children) - first
    if name.endswith("In"):
        return place == 0  # not in what contains it
    return place in ({len(words) - first - 1} if "ontain" in name else {0, 1}) or _MOCKED.search(name) is not None


def _is_plain(node: "Node", outer: "Node") -> bool:
    """Whether a literal is a plain part of a value: in no call, and no key."""
    while (parent := node.parent) is not None and node != outer:
        if parent.type in ARGUMENTS or parent.type in _OPAQUE or _is_key(node, parent):
            return False
        node = parent
    return True


def _of_one_side(literals: Sequence["Node"], unit: "Node") -> list["Node"]:
    """Return the literals without those on the left of a comparison that has some on its right as well."""
    chosen: list[Node] = []
    for node in literals:
        comparison = node
        while comparison != unit and comparison.parent is not None and not _compares(comparison):
            comparison = comparison.parent
        middle = comparison.named_children[0].end_byte if _compares(comparison) else 0
        if node.start_byte >= middle or not any(middle <= other.start_byte < comparison.end_byte for other in literals):
            chosen.append(node)
    return chosen


def _compares(node: "Node") -> bool:
    return node.type in _COMPARISONS and _operator(node) in _EQUALS
