"""No secret in what is shown of a record, wherever in it one stands."""

from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.system.secrets import without_secrets
from tests.unit.builders import record, state
from tests.unit.shown import troubled_record, troubled_state

SECRET = "sk-ant-api03-0123456789abcdef"


@pytest.fixture(scope="module", autouse=True)
def known() -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_API_KEY", SECRET)
        yield


@pytest.mark.feature("H5")
def test_a_secret_is_replaced_by_its_name_wherever_it_stands() -> None:
    for shown in (troubled_state(f"the key {SECRET} is here"), troubled_record(f"the key {SECRET} is here")):
        told = without_secrets(shown).model_dump_json(exclude={"config"})  # a loop does not begin with a secret in that
        assert SECRET not in told
        assert "the key [ANTHROPIC_API_KEY] is here" in told


@given(st.integers(8, len(SECRET)), st.booleans())
def test_what_a_cut_has_left_of_a_secret_is_replaced_too(length: int, begins: bool) -> None:
    part = f"the key {SECRET[:length]}" if begins else f"{SECRET[-length:]} was the key"
    told = without_secrets(state(guidance=(part,))).guidance[0]
    assert told in {"the key [ANTHROPIC_API_KEY]", "[ANTHROPIC_API_KEY] was the key"}


def test_a_record_without_secrets_is_left_as_it_is() -> None:
    shown = record()
    assert without_secrets(shown) is shown


def test_what_is_no_secret_is_kept() -> None:
    shown = troubled_state("/srv/anna/work")
    assert without_secrets(shown) == shown
