"""What the audit says of checks and criteria."""

from collections.abc import Sequence
from typing import Any

import pytest

from helmsman.config import CheckConfig, CriterionConfig
from helmsman.parsers.rubric import RubricItem
from helmsman.records.checks import CheckReport
from helmsman.verify.redundancy import LEAST_REPORTS, Agreement, Uncovered, audit, kinds
from tests.unit.builders import check

pytestmark = pytest.mark.feature("V11")
A, B = CheckConfig(command="a"), CheckConfig(command="b")


def reports(*verdicts: Sequence[bool | None], names: str = "ab") -> list[CheckReport]:
    """One report for each tuple of verdicts, each on a tree of its own; None: that check did not run."""
    return [
        CheckReport(
            tree=str(number),
            results=tuple(
                check(passed=passed, name=name, command=name)
                for name, passed in zip(names, verdict, strict=True)
                if passed is not None
            ),
        )
        for number, verdict in enumerate(verdicts)
    ]


PASSED, FAILED = (True, True), (False, False)


def test_agreeing_checks_are_reported_with_counts() -> None:
    found = audit([], [A, B], reports(*[PASSED] * 8, *[FAILED] * 4))
    assert found.agreeing == (Agreement(("a", "b"), 12, 4),)
    assert found.reports == 12


def test_agreement_needs_enough_reports_a_failure_and_no_exception() -> None:
    cases = {
        "too few": [PASSED] * (LEAST_REPORTS - 2) + [FAILED],
        "no failure": [PASSED] * 20,
        "one difference": [PASSED] * 20 + [FAILED] * 20 + [(True, False)],
        "seldom together": [PASSED] * 5 + [FAILED] * 4 + [(True, None), (None, False)] * 20,
    }
    for case, verdicts in cases.items():
        assert audit([], [A, B], reports(*verdicts)).agreeing == (), case


def test_criteria_without_checks_are_reported() -> None:
    proofs: tuple[dict[str, Any], ...] = ({}, {"checks": ("types",)}, {"tests": ("t",)}, {"weight": 2})
    criteria = [
        RubricItem(number, CriterionConfig.model_validate({"id": f"c{number}", "text": "a", **proof}))
        for number, proof in enumerate(proofs, 1)
    ]
    assert audit(criteria, [A], []).unproven == ("c1", "c4")


# --- classes of failure -------------------------------------------------------------------------------------------


def test_commands_are_classified_by_their_words() -> None:
    for command, expected in [
        ("pytest -q", "tests"),
        ("npm test", "tests"),
        ("make -s test", "tests"),
        ("node --test", "tests"),
        ("ruff check src tests", "lint"),
        ("npm run lint", "lint"),
        ("mypy src test", "types"),
        ("npm run build && npm run typecheck", "build types"),
        ("cargo test --all", "tests types build"),
        ("go vet ./...", "lint types build"),
        ("make check", ""),
        ("test -d build", ""),
        ("", ""),
    ]:
        assert kinds(command) == set(expected.split())


def test_uncovered_classes_are_reported_with_earlier_failures() -> None:
    past = [
        CheckReport(tree=str(n), results=(check(passed=n > 2, name="mypy", command="mypy ."), check(passed=False)))
        for n in range(5)
    ]
    found = audit([], [CheckConfig(command="pytest"), CheckConfig(command="make check", name="all")], past)
    assert found.uncovered == (Uncovered("lint", 0), Uncovered("types", 3), Uncovered("build", 0))
    assert found.opaque == ("all",)
