"""The address that the post-receive hook is configured with: people copy it with and without a slash at its end."""

import os
from pathlib import Path

import pytest

from tasks.triggers.deliveries import Deliveries
from tests.fakes.pushing import Served, install_hook, listed, listening, served_repository
from tests.integration.test_push_senders import SHELLS, under

pytestmark = [pytest.mark.slow, pytest.mark.feature("D2")]


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return served_repository(tmp_path / "served", {"a": "b"})


@pytest.mark.parametrize("slashes", ["", "//"])
def test_a_push_arrives_however_many_slashes_end_the_address(slashes: str, served: Served, tmp_path: Path) -> None:
    home = tmp_path / "state"
    own = {"PATH": os.environ["PATH"], "HELMSMAN_HOME": str(home), "PREFECT_API_URL": "http://127.0.0.1:9/api"}
    with listening(tmp_path, listed(tmp_path, {"project": str(served.bare)}), own) as receiver:
        for shell in SHELLS:
            install_hook(served, f"{receiver.url}{slashes}")
            under(shell, served)
            served.commit(f"under {shell}")
            served.push(f"HEAD:refs/heads/{shell}")
            assert served.hook_is_done()
    assert not (served.bare / "helmsman-push.log").exists()
    assert [push.branch for push in Deliveries(home / "receiver" / "deliveries.sqlite").waiting()] == SHELLS
