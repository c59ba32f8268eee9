"""The page of the configuration: every key with its type, its default and the docstring beside it."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from helmsman.config import LoopConfig
from helmsman.config.layers import PREFIX, describe, leaves
from tools.reference.markdown import cell, code, page, table

INTRODUCTION = f"""A key has one value, and the first of these that names it wins: command line (`--set KEY=VALUE` and the options
that stand for a key), environment, `helmsman.toml` or `[tool.helmsman]` in `pyproject.toml`, the front matter of `RUBRIC.md`, a
[preset](../presets.md), the default below. `helmsman config` shows what it comes to in a repository, and which of them said so.

In a file, `limits.iterations` is `iterations` in the table `[limits]`. In the environment it is `{PREFIX}LIMITS__ITERATIONS`:
capitals, two underscores for each dot. Where a limit may be absent, `"none"` says so. A key that is not known is an error that
names the one that was probably meant. The usual file:

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

Credentials may be kept in a `ClaudeCode` block of Prefect (`prefect block register -m blocks.claude`), named by `claude.block`,
and the judge's own in a `Judge` block (`-m blocks.judge`), named by `judge.block`."""


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
