"""What a Python expression asserts."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from helmsman.verify.cases.kinds import BROAD_ERRORS, KINDS, compact, inverted, negated, snake
from helmsman.verify.cases.model import Kind
from helmsman.verify.cases.python_source import Source, dotted, keyword, last_name, number, truth
from helmsman.verify.cases.words import is_literal


@dataclass(frozen=True)
class Claim:
    """An assertion without its place."""

    kind: Kind
    subject: str = ""
    expected: str = ""
    tolerance: float | None = None
    detail: str = ""


def claims_of(test: ast.expr, source: Source) -> list[Claim]:
    """Read `assert test`; `a and b` makes two."""
    known = truth(test)
    if known is not None:
        return [Claim(Kind.TRIVIAL if known else Kind.CALL, compact(source.of(test)))]
    if isinstance(test, ast.BoolOp):
        several = [claim for value in test.values for claim in claims_of(value, source)]
        return several if isinstance(test.op, ast.And) else [Claim(Kind.EITHER, compact(source.of(test)))]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _negated(test, source)
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        return [_compared(sides[n], operator, sides[n + 1], source) for n, operator in enumerate(test.ops)]
    return [_called(test, source) if isinstance(test, ast.Call) else Claim(Kind.TRUTHY, compact(source.of(test)))]


def _negated(test: ast.UnaryOp, source: Source) -> list[Claim]:
    inner = claims_of(test.operand, source)
    if len(inner) != 1:
        return [Claim(Kind.EITHER, compact(source.of(test)))]
    kind = inverted(inner[0].kind)
    same = kind is inner[0].kind
    return [replace(inner[0], kind=kind, expected=negated(inner[0].expected) if same else inner[0].expected)]


_PREDICATES = {"isclose": Kind.APPROX, "allclose": Kind.APPROX, "isinstance": Kind.TYPE, "issubclass": Kind.TYPE}


def _called(call: ast.Call, source: Source) -> Claim:
    name = last_name(call)
    texts = [compact(source.of(item)) for item in call.args]
    if name in _PREDICATES and len(texts) > 1:
        return Claim(_PREDICATES[name], texts[0], texts[1], tolerance=_tolerance(call) if name != "isinstance" else None)
    if name == "any":
        return Claim(Kind.EITHER, compact(source.of(call)))
    if name == "all" and call.args and isinstance(call.args[0], ast.GeneratorExp | ast.ListComp):
        return claims_of(call.args[0].elt, source)[0]
    return Claim(Kind.TRUTHY, compact(source.of(call)))


_OPERATORS: dict[type[ast.cmpop], Kind] = {
    ast.Eq: Kind.EQUAL,
    ast.NotEq: Kind.NOT_EQUAL,
    ast.Is: Kind.IDENTITY,
    ast.IsNot: Kind.NOT_EQUAL,
    ast.In: Kind.CONTAINS,
    ast.NotIn: Kind.CONTAINS,
}
_AS_OPERATOR: dict[Kind, ast.cmpop] = {Kind.EQUAL: ast.Eq(), Kind.NOT_EQUAL: ast.NotEq(), Kind.IDENTITY: ast.Is()}
_SIGNS: dict[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def _compared(left: ast.expr, operator: ast.cmpop, right: ast.expr, source: Source) -> Claim:
    if isinstance(operator, ast.In | ast.NotIn):
        return _contained(left, operator, right, source)
    if type(operator) in _SIGNS:
        return _ordered(left, _SIGNS[type(operator)], right, source)
    if last_name(left) == "approx" or (is_literal(source.of(left)) and not is_literal(source.of(right))):
        left, right = right, left
    return _equal(_OPERATORS[type(operator)], left, right, source)


def _contained(left: ast.expr, operator: ast.cmpop, right: ast.expr, source: Source) -> Claim:
    """`x in (1, 2)` is about x, `1 in xs` about xs."""
    subject, expected = compact(source.of(right)), compact(source.of(left))
    if isinstance(right, ast.Tuple | ast.List | ast.Set):
        subject, expected = expected, subject
    return Claim(Kind.CONTAINS, subject, f"not {expected}" if isinstance(operator, ast.NotIn) else expected)


def _ordered(left: ast.expr, sign: str, right: ast.expr, source: Source) -> Claim:
    if last_name(left) == "abs" and isinstance(left, ast.Call) and left.args and isinstance(left.args[0], ast.BinOp):
        difference = left.args[0]
        sides = compact(source.of(difference.left)), compact(source.of(difference.right))
        return Claim(Kind.APPROX, *sides, tolerance=number(right))
    subject, expected = compact(source.of(left)), compact(source.of(right))
    if subject.startswith("len(") and (sign, expected) in {(">", "0"), (">=", "1")}:
        return Claim(Kind.TRUTHY, subject[4:-1])
    return Claim(Kind.ORDER, subject, sign + expected)


_SAME_AS_TRUTH = {"True": Kind.TRUTHY, "False": Kind.FALSY, **dict.fromkeys(("0", "[]", "{}", "()", '""', "set()"), Kind.FALSY)}


def _equal(kind: Kind, left: ast.expr, right: ast.expr, source: Source) -> Claim:
    subject, expected = compact(source.of(left)), compact(source.of(right))
    if isinstance(right, ast.Call) and last_name(right) == "approx" and right.args:
        return Claim(Kind.APPROX, subject, compact(source.of(right.args[0])), _tolerance(right))
    if expected in _SAME_AS_TRUTH:
        plain = subject[4:-1] if expected == "0" and subject.startswith("len(") else subject
        same = _SAME_AS_TRUTH[expected]
        return Claim(same if kind in {Kind.EQUAL, Kind.IDENTITY} else inverted(same), plain)
    if expected == "None":
        return Claim(Kind.PRESENT if kind is Kind.NOT_EQUAL else Kind.IDENTITY, subject, expected)
    return Claim(kind, subject, expected)


_DEFAULT_TOLERANCE = {"approx": 1e-6, "isclose": 1e-9, "allclose": 1e-5, "assert_allclose": 1e-7}
"""What the libraries document for a call without a tolerance; of relative and absolute the larger counts."""


def _tolerance(call: ast.Call) -> float | None:
    given = [keyword(call, name) for name in ("rel", "abs", "rtol", "atol", "rel_tol", "abs_tol", "delta")]
    places = keyword(call, "places", "decimal")
    if places is not None:
        digits = number(places)
        return None if digits is None else 10.0 ** -max(min(digits, 300.0), -300.0)
    numbers = [abs(value) for item in given if (value := number(item)) is not None]
    if any(given):
        return max(numbers) if numbers else None
    return _DEFAULT_TOLERANCE.get(last_name(call), 1e-7)


def method_claims(call: ast.Call, source: Source) -> list[Claim]:
    """Read `self.assertEqual(a, b)`, `mock.assert_called_with(a)` and the like; empty where the call asserts nothing."""
    name = last_name(call)
    kind = KINDS.get(snake(name)) if name.lower().startswith("assert") else None
    if name == "fail" and dotted(call) in {"self.fail", "pytest.fail"}:
        return [Claim(Kind.CALL, compact(source.of(call)))]
    if kind is None:
        return [Claim(Kind.CALL, compact(source.of(call)))] if name.lower().startswith("assert") else []
    if kind in {Kind.TRUTHY, Kind.FALSY} and call.args:
        found = claims_of(call.args[0], source)
        return found if kind is Kind.TRUTHY else _falsified(found, source, call)
    return [_by_name(call, kind, source)]


def _falsified(found: list[Claim], source: Source, call: ast.Call) -> list[Claim]:
    if len(found) != 1:
        return [Claim(Kind.EITHER, compact(source.of(call)))]
    if found[0].kind is Kind.CALL:
        return [Claim(Kind.TRIVIAL, found[0].subject)]
    return [replace(found[0], kind=inverted(found[0].kind))]


def _by_name(call: ast.Call, kind: Kind, source: Source) -> Claim:
    texts = [compact(source.of(item)) for item in call.args]
    if kind is Kind.RAISES:
        return raises_claim(call, source)
    if isinstance(call.func, ast.Attribute) and snake(call.func.attr).startswith(
        ("assert_called", "assert_any", "assert_has", "assert_not_called")
    ):
        return Claim(
            kind, compact(source.of(call.func.value)), ",".join(texts + [compact(source.of(k.value)) for k in call.keywords])
        )
    if kind in {Kind.EQUAL, Kind.NOT_EQUAL, Kind.IDENTITY} and len(call.args) > 1:
        return _compared(call.args[0], _AS_OPERATOR[kind], call.args[1], source)
    if kind is Kind.CONTAINS and len(texts) > 1:
        return Claim(kind, texts[1], texts[0] if "not" not in snake(last_name(call)) else f"not {texts[0]}")
    expected = "None" if kind in {Kind.IDENTITY, Kind.PRESENT} else ",".join(texts[1:2])
    return Claim(kind, ",".join(texts[:1]), expected, _tolerance(call) if kind is Kind.APPROX else None)


def raises_claim(call: ast.Call, source: Source) -> Claim:
    """Read `pytest.raises(ValueError, match="x")` and its kin."""
    given = call.args[:1] or [value for value in [keyword(call, "expected_exception")] if value is not None]
    regex = call.args[1] if "regex" in last_name(call).lower() and len(call.args) > 1 else keyword(call, "match")
    detail = compact(source.of(regex)) if regex is not None else ""
    errors = [name for item in given for name in _errors(item)]
    broad = not BROAD_ERRORS.isdisjoint(errors) and detail in {"", '""', '".*"', 'r".*"'}
    return Claim(
        Kind.RAISES_BROAD if broad else Kind.RAISES, "", ",".join(compact(source.of(item)) for item in given), detail=detail
    )


def _errors(node: ast.expr) -> Iterator[str]:
    for item in node.elts if isinstance(node, ast.Tuple) else [node]:
        yield last_name(item)
