"""What every record has in common, and what calls of a model cost."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A fact that was found. Frozen; unknown fields are ignored, so that a newer writer can be read."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class Usage(Record):
    """What one call cost, by the CLI's own account."""

    cost_usd: float = 0.0
    input_tokens: int = 0
    cache_creation_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.cache_creation_tokens + self.cache_read_tokens + self.output_tokens

    def plus(self, other: "Usage") -> "Usage":
        return Usage.model_validate({name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})
