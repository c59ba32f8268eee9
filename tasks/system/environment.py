"""What the agent and the checks may see of our environment: an allow-list, never everything."""

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

BASIC = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "TZ", "TMPDIR", "COLUMNS",
    "*_proxy", "*_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
)  # fmt: skip

AGENT = ("ANTHROPIC_*", "CLAUDE_*", "AWS_BEARER_TOKEN_BEDROCK", "API_TIMEOUT_MS", "IS_SANDBOX", "DISABLE_*")

OF_PYTHON = "PYTHON*", "LD_*", "DYLD_*", "VIRTUAL_ENV"
"""What a process of our own needs to start; everything else can be told to it where nobody reads along."""

OF_A_SESSION = (
    "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PID", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE",
    "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_EFFORT",
    "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA",
)  # fmt: skip
"""Most tell a session about itself, and some let others speak to it; a loop started from inside one must not hand them on."""
NEVER = (*OF_A_SESSION, "HELMSMAN_STATE_KEY")
"""Whatever patterns an operator names. The last signs what the agent must not write; only our own drivers have it."""

USUAL = {
    # Else the CLI puts git's status before the message: it changes with every commit, so that the provider's cache ends there,
    # and our message names branch and commits by itself. The CLI's own words on commits and its trailer go as well.
    "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
}
"""Where the operator says nothing else."""
FIXED = {
    "DISABLE_AUTOUPDATER": "1",  # the CLI must not change between two iterations
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # they outlive the turn and overwrite its result
}


def agent_environment(source: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Variables for the agent: the basic ones, its own, and those that the operator names."""
    return USUAL | _pick(source, (*BASIC, *AGENT, *names)) | FIXED


def other_environment(source: Mapping[str, str], own: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """Variables for an agent other than Claude Code: the basic ones, its own, and those that the operator names."""
    return _pick(source, (*BASIC, *own, *names))


def check_environment(source: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Variables for a check: the basic ones and those that the operator names; no credentials of the agent."""
    return _pick(source, (*BASIC, *names)) | {"CI": source.get("CI", "1"), "GIT_NO_REPLACE_OBJECTS": "1"}


def ours() -> Mapping[str, str]:
    return os.environ


def _pick(source: Mapping[str, str], patterns: Iterable[str]) -> dict[str, str]:
    wanted = tuple(patterns)
    return {
        name: value
        for name, value in source.items()
        if name not in NEVER and any(fnmatchcase(name, pattern) for pattern in wanted)
    }
