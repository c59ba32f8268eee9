"""The base class of all records, and the answer and usage of a model call."""

from pydantic import BaseModel, ConfigDict

from helmsman.plain import short_line


class Record(BaseModel):
    """A recorded fact. Frozen; unknown fields are ignored, so that records of newer versions can be read."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class Usage(Record):
    """Usage of one call, as reported by the CLI."""

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


_BROKEN_OFF = {
    "end_turn": "",
    "tool_use": "",
    "refusal": "the model declined to answer",
    "max_tokens": "the answer reached its maximum length",
    "model_context_window_exceeded": "the answer was cut off: the model's context is full",
    "pause_turn": "the model paused before completing its answer",
    "structured_output_retry_exhausted": "the model repeatedly answered in an invalid form",
    "late": "the model did not answer in time",
}


class Reply(Record):
    """A model's answer to one question, not parsed yet."""

    text: str
    """What should be one JSON object."""
    stop: str
    """Why the model stopped, as the API names it; `late` where it did not answer in time."""
    usage: Usage = Usage()

    @property
    def broken_off(self) -> str:
        """Why the answer is incomplete, as a clause; empty if it is complete."""
        return _BROKEN_OFF.get(self.stop, f"the model stopped for an unknown reason: {short_line(self.stop, 60)}")
