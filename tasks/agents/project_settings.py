"""A project's settings of Claude Code: read from the commit that a loop begins with, and kept from leading the CLI elsewhere."""

import json
from collections.abc import Mapping
from typing import Any, cast

from helmsman.config import LoopConfig
from helmsman.config.owners import Requested, Setting, as_json
from tasks.repository.git import Repository
from tasks.repository.objects import LINK, entry_at, read_objects
from tasks.system.files import read_within
from tasks.system.trust import consent_of, require_agreed

FILES = {"project": ".claude/settings.json", "local": ".claude/settings.local.json"}
"""By the name that `claude.setting_sources` has for them. `.mcp.json` is not read: the CLI gets --strict-mcp-config."""
LARGEST = 1 << 20

PROXIES = "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"
ANTHROPIC = "https://api.anthropic.com"
"""Where the CLI speaks to by default; said aloud, because a project's file would take the place of what nobody said."""

HARMLESS = frozenset({
    "$schema", "model", "language", "outputStyle", "includeCoAuthoredBy", "attribution", "cleanupPeriodDays", "respectGitignore",
    "spinnerTipsEnabled", "spinnerVerbs", "alwaysThinkingEnabled", "effortLevel", "companyAnnouncements", "plansDirectory",
})  # fmt: skip
"""Keys that run nothing, permit nothing and lead nowhere. What is not named here needs consent: the CLI learns new keys."""


def require_project_settings(repository: Repository, commit: str, config: LoopConfig) -> None:
    """Raise NotAgreed where the project's settings of Claude Code change what nobody agreed to."""
    require_agreed(project_settings(repository, commit, config), consent_of(repository.common))


def project_settings(repository: Repository, commit: str, config: LoopConfig) -> list[Requested]:
    """What the settings files ask for that a loop's CLI reads: of the commit, and of the checkout where it works in place."""
    if config.agent.kind != "claude":
        return []
    files = [FILES[source] for source in config.claude.setting_sources if source in FILES]
    entries = (entry_at(repository.common, commit, path) for path in (".claude", *files))
    links = [entry.path for entry in entries if entry is not None and entry.mode == LINK]
    a_link = (Setting("content", as_json("a link, which leads to whatever lies there")),)
    held = zip(files, read_objects(repository.common, [f"{commit}:{file}" for file in files]), strict=True)
    texts = [(file, one[1]) for file, one in held if one is not None and file not in links]
    if config.workspace.in_place or "local" in config.claude.setting_sources:
        texts += [(file, text) for file in files if (text := read_within(repository.top, file, LARGEST)) is not None]
    read = (_asked_by(file, text.decode("utf-8-sig", "replace")) for file, text in texts)
    return list(dict.fromkeys((*(Requested(path, a_link) for path in links), *read)))


def pinned(environment: Mapping[str, str], config: LoopConfig) -> dict[str, str]:
    """Variables for `--settings`, which outrank a project's: where the CLI speaks to, as the operator has it.

    A proxy with a password is left out, because everybody may read a command line; inside of a sandbox the box has its own.
    """
    if "user" in config.claude.setting_sources:  # the operator's own file may name it
        base = {name: value for name in ("ANTHROPIC_BASE_URL",) if (value := environment.get(name))}
    else:
        base = {"ANTHROPIC_BASE_URL": environment.get("ANTHROPIC_BASE_URL") or ANTHROPIC}
    proxies = {name: environment.get(name, "") for name in PROXIES} if config.sandbox.kind != "bubblewrap" else {}
    return {name: value for name, value in {**base, **proxies}.items() if "@" not in value}


def _asked_by(file: str, text: str) -> Requested:
    """What a settings file asks for, key by key; of one that is not a JSON object the whole text, however the CLI reads that."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return Requested(file, (Setting("content", as_json(text)),))
    table = cast("dict[str, Any]", found)
    return Requested(file, tuple(Setting(key, as_json(value)) for key, value in sorted(table.items()) if key not in HARMLESS))
