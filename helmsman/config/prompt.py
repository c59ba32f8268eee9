"""What the agent is told, and what a model may write of it."""

from pydantic import Field

from helmsman.config.base import Section


class PromptConfig(Section):
    """How much the agent is told."""

    template: str = Field(default="", max_length=500)
    """The repository's own template of the message, a committed file (docs/prompt.md). It is read as it was when the loop began.
    Empty: ours alone."""
    approach: str = Field(default="", max_length=2000)
    """How this loop shall go about it, where others with its goal go other ways (`helmsman parallel`). Empty: as it likes."""
    orientation_tokens: int = Field(default=6000, ge=500)
    """Tokens of orientation (history, failures, memory) at most, as `helmsman.tokens` counts them."""
    history_commits: int = Field(default=10, ge=0, le=200)
    """Commits of the branch that are shown."""
    written: bool = False
    """Have a model write the iteration's focus from objective, state, control and strategy; templates where that fails."""
    model: str = ""
    """Model that writes focus and compaction and looks for contradictions. Empty: the judge's."""
    timeout_seconds: float = Field(default=90, gt=0, le=600)
    """Seconds that each of them may take; then the loop goes on with templates and rules."""
    compact_tokens: int = Field(default=4000, ge=500)
    """Tokens of history and working memory from which they are rewritten in short by a fresh call."""
    compact: bool = False
    """Have a model do that. False: the oldest is cut off."""
    contradictions: bool = False
    """Have a model look for orders that contradict each other, where rules found none and the loop is in trouble (E-I or higher).
    It is asked once until the orders change. What it finds is told; with a loop that goes round it asks for a person."""
