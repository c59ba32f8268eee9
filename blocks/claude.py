"""ClaudeCode: credentials and environment of the agent, stored by Prefect."""

from typing import ClassVar

from prefect.blocks.core import Block
from pydantic import Field, SecretStr


def credentials(api_key: SecretStr | None, oauth_token: SecretStr | None, base_url: str) -> dict[str, str]:
    """Credential and endpoint variables of agent and judge, without empty ones."""
    variables = {
        "ANTHROPIC_API_KEY": api_key.get_secret_value() if api_key else "",
        "CLAUDE_CODE_OAUTH_TOKEN": oauth_token.get_secret_value() if oauth_token else "",
        "ANTHROPIC_BASE_URL": base_url,
    }
    return {name: value for name, value in variables.items() if value}


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
        """Variables of the agent's process besides the allow-list."""
        further = {name: secret.get_secret_value() for name, secret in self.variables.items()}
        everything = credentials(self.api_key, self.oauth_token, self.base_url) | further
        return {name: value for name, value in everything.items() if value}
