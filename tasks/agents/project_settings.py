"""A project's Claude Code settings: read from the loop's first commit, and kept from redirecting the CLI."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from helmsman.config import LoopConfig
from helmsman.config.owners import Setting, TrustRequest, as_json
from tasks.repository.git import Repository
from tasks.repository.objects import LINK, entry_at, read_objects
from tasks.system.files import read_within
from tasks.system.trust import consent_of, require_agreement

FILES = {"project": ".claude/settings.json", "local": ".claude/settings.local.json"}
"""Files by their name in `claude.setting_sources`. `.mcp.json` is not read: the CLI gets --strict-mcp-config."""
LARGEST = 1 << 20

PROXIES = "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"
PROVIDERS = tuple(
    f"CLAUDE_CODE_USE_{name}"
    for name in ("BEDROCK", "VERTEX", "FOUNDRY", "MANTLE", "GATEWAY", "ANTHROPIC_AWS", "ANTHROPIC_GOOGLE_CLOUD")
)
"""Each makes the CLI use another provider, at the address in a variable of that provider."""
ADDRESSES = (
    "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_FOUNDRY_BASE_URL", "ANTHROPIC_FOUNDRY_RESOURCE",
    "ANTHROPIC_BEDROCK_MANTLE_BASE_URL", "ANTHROPIC_AWS_BASE_URL", "ANTHROPIC_GOOGLE_CLOUD_BASE_URL",
)  # fmt: skip
"""Passed where the operator sets them; an empty one would not mean the default."""
ANTHROPIC = "https://api.anthropic.com"
"""The CLI's default URL; passed explicitly, because a project's file would override an unset one."""

HARMLESS = frozenset({
    "$schema", "model", "language", "outputStyle", "includeCoAuthoredBy", "attribution", "cleanupPeriodDays", "respectGitignore",
    "spinnerTipsEnabled", "spinnerVerbs", "alwaysThinkingEnabled", "effortLevel", "companyAnnouncements", "plansDirectory",
})  # fmt: skip
"""Keys that run nothing, permit nothing and redirect nothing. All other keys need consent: the CLI adds new ones."""


def require_project_settings(repository: Repository, commit: str, config: LoopConfig) -> None:
    """Raise ConsentMissing where the project's Claude Code settings need consent that is missing."""
    require_agreement(project_settings(repository, commit, config), consent_of(repository.consent_key))


def project_settings(repository: Repository, commit: str, config: LoopConfig) -> list[TrustRequest]:
    """Requests of the settings files that the CLI reads: those of the commit, and of the checkout where it works in place."""
    if config.agent.kind != "claude":
        return []
    files = [FILES[source] for source in config.claude.setting_sources if source in FILES]
    entries = (entry_at(repository.common, commit, path) for path in (".claude", *files))
    links = [entry.path for entry in entries if entry is not None and entry.mode == LINK]
    link_setting = (Setting("content", as_json("a link, which leads to whatever lies there")),)
    objects = zip(files, read_objects(repository.common, [f"{commit}:{file}" for file in files]), strict=True)
    texts = [(file, found[1]) for file, found in objects if found is not None and file not in links]
    if config.workspace.in_place or "local" in config.claude.setting_sources:
        texts += [(file, text) for file in files if (text := read_within(repository.top, file, LARGEST)) is not None]
    read = (_parse_request(file, text.decode("utf-8-sig", "replace")) for file, text in texts)
    return list(dict.fromkeys((*(TrustRequest(path, link_setting) for path in links), *read)))


def names_key_program(top: Path) -> bool:
    """Whether the project's settings name a program that prints the API key. Only a call of the agent may run it."""
    return b"apiKeyHelper" in (read_within(top, FILES["project"], LARGEST) or b"")


def pinned_variables(environment: Mapping[str, str], config: LoopConfig) -> dict[str, str]:
    """Variables for `--settings`, which override a project's: the operator's provider, addresses and proxies.

    A proxy with a password is left out, because any user can read a command line; a sandbox has its own proxy.
    """
    if "user" in config.claude.setting_sources:  # the operator's own file may set it
        base = {name: value for name in ("ANTHROPIC_BASE_URL",) if (value := environment.get(name))}
    else:
        base = {"ANTHROPIC_BASE_URL": environment.get("ANTHROPIC_BASE_URL") or ANTHROPIC}
        base |= {name: environment.get(name, "") for name in PROVIDERS}
    base |= {name: environment[name] for name in ADDRESSES if name in environment}
    proxies = {name: environment.get(name, "") for name in PROXIES} if config.sandbox.kind != "bubblewrap" else {}
    return {name: value for name, value in {**base, **proxies}.items() if "@" not in value}


def _parse_request(file: str, text: str) -> TrustRequest:
    """The request of a settings file, key by key; for one that is not a JSON object, its whole text."""
    try:
        settings: Any = json.loads(text)
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        return TrustRequest(file, (Setting("content", as_json(text)),))
    table = cast("dict[str, Any]", settings)
    return TrustRequest(file, tuple(Setting(key, as_json(value)) for key, value in sorted(table.items()) if key not in HARMLESS))
