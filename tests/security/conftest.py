"""What the exploits share."""

from collections.abc import Generator

import pytest

from tests.fakes.processes import unique_tag


@pytest.fixture
def tag() -> Generator[str]:
    with unique_tag() as tag:
        yield tag
