"""Tests say what they need: it is skipped by name where a machine lacks it, and fails where it is required."""

import pytest

from tests.fakes import requirements
from tests.fakes.requirements import REQUIRED, need


def probed(name: str) -> str:
    """As `missing`, but nothing is remembered from test to test."""
    return requirements.PROBES[name]()


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has one program, and lacks another."""
    monkeypatch.setattr(requirements, "PROBES", {"there": lambda: "", "not there": lambda: "it does not start"})
    monkeypatch.delenv(REQUIRED, raising=False)
    monkeypatch.setattr(requirements, "missing", probed)


def test_a_test_is_skipped_by_the_name_of_what_is_missing() -> None:
    need("there")
    with pytest.raises(pytest.skip.Exception, match="needs not there: it does not start"):
        need("there", "not there")


@pytest.mark.parametrize("required", ["all", "there, not there"])
def test_a_required_test_fails_instead_of_being_skipped(monkeypatch: pytest.MonkeyPatch, required: str) -> None:
    monkeypatch.setenv(REQUIRED, required)
    with pytest.raises(pytest.fail.Exception, match=f"needs not there: it does not start .required by {REQUIRED}"):
        need("not there")
