"""A process whose reader has gone away."""

import os
import subprocess
import sys

import pytest

from tests.fakes.processes import ROOT

DRIVER = """
import logging, sys
from prefect.logging.handlers import PrefectConsoleHandler
from tasks.system.environment import survive_broken_pipe
survive_broken_pipe()
log = logging.getLogger("driver")
log.addHandler(PrefectConsoleHandler(stream=getattr(sys, sys.argv[1])))
for _ in range(3):
    log.warning("something happens")
sys.exit(7)
"""


@pytest.mark.feature("E3", "D3")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_driver_whose_output_nobody_reads_any_more_goes_on_to_its_own_end(stream: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", DRIVER, stream]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command,
        cwd="/",
        env=environment,
        stdout=writer if stream == "stdout" else subprocess.DEVNULL,
        stderr=writer if stream == "stderr" else subprocess.DEVNULL,
    ) as driver:
        os.close(writer)
    assert driver.returncode == 7
