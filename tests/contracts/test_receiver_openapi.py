"""The description of the receiver is true: each way of its table is in it, and nothing else."""

import json

import pytest

from tools.receiver_openapi import FILE, described


@pytest.mark.feature("D2")
def test_the_description_of_the_receiver_is_what_its_table_says() -> None:
    """`python tools/receiver_openapi.py` updates it."""
    assert json.loads(FILE.read_text(encoding="utf-8")) == described()
