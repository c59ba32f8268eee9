"""What every record has in common."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A fact that was found. Frozen; unknown fields are ignored, so that a newer writer can be read."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)
