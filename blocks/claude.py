"""ClaudeCode: what an operator configures once for the agent, with its secrets kept by Prefect."""

from typing import ClassVar

from prefect.blocks.core import Block
from pydantic import Field, SecretStr

from blocks.credentials import credentials


class ClaudeCode(Block):
    """Credentials and environment of the Claude Code command line. Name the block in `claude.block`."""

    _block_type_name: ClassVar[str | None] = "Claude Code"
    _block_type_slug: ClassVar[str | None] = "helmsman-claude-code"
    _description: ClassVar[str | None] = "Credentials and environment of the Claude Code command line, for Helmsman's loops."

    api_key: SecretStr | None = Field(default=None, description="ANTHROPIC_API_KEY, where the agent is paid by use.")
    oauth_token: SecretStr | None = Field(default=None, description="CLAUDE_CODE_OAUTH_TOKEN, where it runs on a subscription.")
    base_url: str = Field(default="", description="ANTHROPIC_BASE_URL, where requests go through a gateway.")
    variables: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr], description="Further environment variables.")

    def environment(self) -> dict[str, str]:
        """The variables that the agent's process gets on top of the allow-list."""
        further = {name: secret.get_secret_value() for name, secret in self.variables.items()}
        everything = credentials(self.api_key, self.oauth_token, self.base_url) | further
        return {name: value for name, value in everything.items() if value}
