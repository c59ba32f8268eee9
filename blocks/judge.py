"""Judge: separate credentials of the judge, stored by Prefect, to bill it to another account than the agent."""

from typing import ClassVar

from prefect.blocks.core import Block
from pydantic import Field, SecretStr

from blocks.claude import credentials


class Judge(Block):
    """Credentials of the judge: for the Messages API, or for the CLI on a subscription."""

    _block_type_name: ClassVar[str | None] = "Helmsman Judge"
    _block_type_slug: ClassVar[str | None] = "helmsman-judge"
    _description: ClassVar[str | None] = "Credentials of the independent model that judges a loop's work."

    api_key: SecretStr | None = Field(default=None, description="ANTHROPIC_API_KEY: it judges by the Messages API.")
    oauth_token: SecretStr | None = Field(default=None, description="CLAUDE_CODE_OAUTH_TOKEN: it judges by the CLI.")
    base_url: str = Field(default="", description="ANTHROPIC_BASE_URL, where requests go through a gateway.")

    def environment(self) -> dict[str, str]:
        """Variables of a judge call besides the allow-list."""
        return credentials(self.api_key, self.oauth_token, self.base_url)
