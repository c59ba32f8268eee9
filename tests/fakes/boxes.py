"""Where tests get a real bubblewrap from."""

import os
import shutil

import pytest

BOXED = {"HELMSMAN_SANDBOX__KIND": "bubblewrap"}
"""Environment of a command whose loops have their agent in a box."""

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None and os.environ.get("TEST_SANDBOX") != "required",
    reason="bubblewrap is not on this machine: apt-get install bubblewrap",
)
"""Skipped where it is not installed, never in CI."""
