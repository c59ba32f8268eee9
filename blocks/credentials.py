"""The variables by which the agent and the judge find who pays and where to ask."""

from pydantic import SecretStr


def credentials(api_key: SecretStr | None, oauth_token: SecretStr | None, base_url: str) -> dict[str, str]:
    """Those that are set."""
    named = {
        "ANTHROPIC_API_KEY": api_key.get_secret_value() if api_key else "",
        "CLAUDE_CODE_OAUTH_TOKEN": oauth_token.get_secret_value() if oauth_token else "",
        "ANTHROPIC_BASE_URL": base_url,
    }
    return {name: value for name, value in named.items() if value}
