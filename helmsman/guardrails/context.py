"""Limits of the agent's context, and when they end its session."""

from collections.abc import Mapping

from helmsman.records.agent import ContextUse

_SMALL, _LARGE = 200_000, 1_000_000
WINDOWS: tuple[tuple[str, int], ...] = (
    ("[1m]", _LARGE),  # the CLI's suffix for the large window
    ("opus-5", _LARGE),  # modelUsage of CLI 2.1.330
    ("haiku-5", _LARGE),  # modelUsage of CLI 2.1.330
    ("opus-4", _SMALL),
    ("sonnet-4", _SMALL),  # modelUsage of CLI 2.1.330, by sonnet-4-5
    ("haiku-4", _SMALL),
    ("claude-3", _SMALL),
    ("claude-2", _SMALL),
)
"""Tokens of a window by a part of the model's name; the first match applies. The smaller one if plans differ."""
UNKNOWN_WINDOW = _LARGE  # of a model that is not listed, an alias for the newest of a family included: the CLI assumes the same


WARN_AT, ROTATE_AT = 0.6, 0.8
"""Shares of the window at which the agent is told to write down what it knows, and at which its session ends, as in public
loops.
"""
NOISE_AT = 0.7  # share of errors and repetition in tool output at which the session ends at `WARN_AT` already
NOISE_TOKENS = 20_000  # tokens of tool output below which noise does not count


def known_window(model: str, reported: Mapping[str, int], configured: int | None) -> int:
    """Tokens of a model's window: as configured, else as reported by the CLI, else by the model's name."""
    by_name = next((window for part, window in WINDOWS if part in model.lower()), UNKNOWN_WINDOW)
    return configured or reported.get(model, 0) or by_name


def filled_share(tokens: int, window: int) -> float:
    """Share of the window that is full; 0 if its size is unknown."""
    return tokens / window if window > 0 else 0.0


def rotation_reason(use: ContextUse) -> str:
    """Why the session should end, "" if it should continue, by the window of `use`."""
    share, reasons = filled_share(use.tokens, use.window), list[str]()
    if share >= ROTATE_AT:
        reasons.append(f"{_fullness(use)} (limit {_percent(ROTATE_AT)})")
    if share >= WARN_AT and use.heard >= NOISE_TOKENS and use.noise_share >= NOISE_AT:
        part = f"{use.noise * 100 // use.heard} % of the {use.heard:,} tokens of tool output"
        reasons.append(f"{part} are errors or repetition (limit {_percent(NOISE_AT)})")
    return " and ".join(reasons)


def context_advice(use: ContextUse) -> str:
    """Advice to the agent about its context, "" if there is none."""
    if reason := rotation_reason(use):
        return closing_message(reason)
    if filled_share(use.tokens, use.window) < WARN_AT:
        return ""
    return f"T{_fullness(use)[1:]}. {_WRITE_DOWN} At {_percent(ROTATE_AT)} this session ends; {_NEXT}"


def closing_message(why: str) -> str:
    """Message to an agent whose session ends for that reason."""
    return f"{why[0].upper()}{why[1:]}. {_SAVE}"


_NEXT = "the next one begins with progress.md and the commits."
_SAVE = (
    "Save now: update your notes in .helmsman/progress.md and commit what works. "
    f"This session ends after the next few tool calls; {_NEXT}"
)
_WRITE_DOWN = (
    "Write what you know into .helmsman/progress.md now: decisions, what failed, what is next. Commit what works. "
    "From now on read only the parts of files that you need."
)


def _fullness(use: ContextUse) -> str:
    return f"the context is {use.tokens * 100 // use.window} % full ({use.window:,} tokens)"


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"
