"""The block that keeps the judge's own credentials."""

import pytest
from pydantic import SecretStr

from blocks.judge import Judge

pytestmark = pytest.mark.feature("V7")


def test_a_block_gives_the_variables_that_are_set_in_it_and_no_others() -> None:
    block = Judge(api_key=SecretStr("sk-ant-hidden"), base_url="https://gateway.test")
    assert block.environment() == {"ANTHROPIC_API_KEY": "sk-ant-hidden", "ANTHROPIC_BASE_URL": "https://gateway.test"}
    assert Judge(oauth_token=SecretStr("hidden-token")).environment() == {"CLAUDE_CODE_OAUTH_TOKEN": "hidden-token"}


def test_a_block_does_not_show_its_secrets() -> None:
    block = Judge(api_key=SecretStr("sk-ant-hidden"), oauth_token=SecretStr("hidden-token"))
    assert "hidden" not in repr(block) + str(block)
