"""The configuration page: every key with its type, default and docstring."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from helmsman.config import LoopConfig
from helmsman.config.layers import PREFIX, describe, leaves
from tools.reference.markdown import cell, code, page, table

INTRODUCTION = f"""The first source that sets a key wins: command line (`--set KEY=VALUE` and the options that set a key),
environment, `helmsman.toml` or `[tool.helmsman]` in `pyproject.toml`, the front matter of `RUBRIC.md`, a [preset](../presets.md),
the default below. `helmsman config` shows the values in a repository with their sources.

In a file, `limits.iterations` is `iterations` in the table `[limits]`. In the environment it is `{PREFIX}LIMITS__ITERATIONS`:
capitals, two underscores for each dot. `"none"` removes an optional limit. An unknown key is an error that suggests the closest
known key. A typical file:

```toml
goal_file = "PROMPT.md"
checks = ["make lint", {{ command = "pytest -q", timeout_seconds = 900, report = "report.xml" }}]

[limits]
iterations = 20
cost_usd = 10
wall_clock_hours = "none"

[claude]
model = "opus"
```

Credentials can be kept in a `ClaudeCode` block of Prefect (`prefect block register -m blocks.claude`), named by `claude.block`,
and the judge's in a `Judge` block (`-m blocks.judge`), named by `judge.block`."""


def settings_page() -> str:
    values = leaves(LoopConfig(goal="-"))
    sections = groupby(values, key=lambda key: key.rpartition(".")[0])
    return page("# Configuration", INTRODUCTION, *(part for name, keys in sections for part in _section(name, keys, values)))


def _section(name: str, keys: Iterable[str], values: dict[str, Any]) -> Iterator[str]:
    yield f"## {f'[{name}]' if name else 'At the top'}"
    yield table(("key", "default", "meaning"), [(code(key), _default(key, values[key]), cell(describe(key))) for key in keys])


def _default(key: str, value: Any) -> str:
    if key == "goal":
        return "(required)"
    if value is None:
        return code('"none"')
    if hasattr(value, "model_dump"):
        value = value.model_dump()
    return code(json.dumps(value, default=str, ensure_ascii=False))
