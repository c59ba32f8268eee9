"""Tracker: the token for an issue tracker, stored by Prefect."""

from typing import ClassVar

from prefect.blocks.core import Block
from pydantic import Field, SecretStr


class Tracker(Block):
    """Credentials of an issue tracker. Name the block in `tracker.block`."""

    _block_type_name: ClassVar[str | None] = "Helmsman Tracker"
    _block_type_slug: ClassVar[str | None] = "helmsman-tracker"
    _description: ClassVar[str | None] = "Token for the issue tracker that shows when a loop needs a person."

    token: SecretStr = Field(description="May read and write issues and labels of the one repository; it needs no more.")

    def environment(self) -> dict[str, str]:
        """The token as the variable that is used without a block."""
        return {"HELMSMAN_TRACKER_TOKEN": self.token.get_secret_value()}
