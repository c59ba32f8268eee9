"""Hats: which personas an iteration may be made by."""

from pydantic import Field

from helmsman.config.base import Section


class HatsConfig(Section):
    """The hats of the chosen preset. Without a preset there are none."""

    use: bool = True
    """Put the hat on that the situation calls for. False: of a preset, its words and its settings alone."""
    models: dict[str, str] = Field(default_factory=dict[str, str])
    """Models by hat, for example `{ reviewer = "opus" }`; they win over what the hat's own file says."""
