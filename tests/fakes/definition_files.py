"""Files of presets and hats with the values of a record."""

import tomlkit

from helmsman.records.hats import Hat, PresetSheet


def definition_text(record: Hat | PresetSheet) -> str:
    body = "prompt" if isinstance(record, Hat) else "guidance"
    values = record.model_dump(mode="json", exclude_defaults=True, exclude={body})
    return f"+++\n{tomlkit.dumps(values)}+++\n\n{getattr(record, body)}\n"
