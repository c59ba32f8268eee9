"""The tutorial in docs/, done by somebody who types what stands there: align, run, judge, merge."""

import pytest

from tests.fakes.prefect_server import PrefectServer
from tests.fakes.tutorial import PAGES, reading, steps

pytestmark = pytest.mark.timeout(400)


@pytest.mark.slow
@pytest.mark.feature("M1", "M3", "M4", "O1", "V1", "V2", "V7", "A4", "H4", "S18")
def test_each_command_prints_the_output_of_the_tutorial(prefect_server: PrefectServer) -> None:
    with reading(prefect_server.url) as reader:
        for step in (step for page in PAGES for step in steps(page.read_text(encoding="utf-8"))):
            printed = reader.perform(step)
            assert step.is_true(printed), f"`python -m tests.fakes.tutorial` writes it anew: {step.command}\n{printed}"
