"""Judge: credentials of the judge alone, kept by Prefect, where it shall not be paid from the agent's account."""

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
        """The variables that asking the judge gets on top of the allow-list."""
        return credentials(self.api_key, self.oauth_token, self.base_url)
