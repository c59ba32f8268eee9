"""What a project's settings of Claude Code change beyond words and looks: environment, hooks, permissions, helpers, servers."""

import json
from typing import Any, cast

from helmsman.config.owners import Requested, Setting, as_json

HARMLESS = frozenset({
    "$schema", "model", "language", "outputStyle", "includeCoAuthoredBy", "attribution", "cleanupPeriodDays", "respectGitignore",
    "spinnerTipsEnabled", "spinnerVerbs", "alwaysThinkingEnabled", "effortLevel", "companyAnnouncements", "plansDirectory",
})  # fmt: skip
"""Keys that run nothing, permit nothing and lead nowhere. What is not named here needs consent: the CLI learns new keys."""


def asked_by_settings(file: str, text: str) -> Requested:
    """What a settings file asks for, key by key; of one that is no JSON object the whole text, however the CLI reads that."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return Requested(file, (Setting("content", as_json(text)),))
    table = cast("dict[str, Any]", found)
    return Requested(file, tuple(Setting(key, as_json(value)) for key, value in sorted(table.items()) if key not in HARMLESS))
