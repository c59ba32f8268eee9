"""What `helmsman deploy` refuses before it asks any server."""

import pytest

from deployments.deploy import new_pool
from helmsman.errors import OperatorError


@pytest.mark.feature("D1")
@pytest.mark.parametrize("name", ["", " ", "a/b", "100%"])
def test_a_name_that_no_work_pool_can_have_is_refused_in_words(name: str) -> None:
    with pytest.raises(OperatorError, match="--pool is not a valid name for a work pool"):
        new_pool(name)
    assert new_pool("team a").type == "process"
