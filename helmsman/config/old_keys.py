"""Keys that are gone, each with what to do instead."""

from collections.abc import Mapping
from typing import Any, cast

_FIXED = "its default now holds for every loop"
_SENSITIVITY = "detect.sensitivity says how soon detectors speak: low, normal or high"
_STOPS = "an agent that says it is done is sent back twice; set steering.stop_seconds = 0 to let it end"
_ALIKE: tuple[tuple[str, str, str], ...] = (
    ("control", "window deadband decay integral_limit exploration focused aggressive volatility error smoothing", _FIXED),
    ("control", "exploring", _FIXED),
    ("detect", "stuck_iterations sign_changes falls same_error denials empty_sessions plateau", _SENSITIVITY),
    ("context", "warn_at rotate_at noise_at noise_tokens", _FIXED),
    ("ladder", "redesign_clean refactor_clean", _FIXED),
    ("limits", "warn_at alarm_at many_iterations", _FIXED),
    ("usage_limit", "unknown_wait_minutes longest_wait_hours warn_at", _FIXED),
    ("retry", "longest_delay_seconds jitter", _FIXED),
    ("memory", "lessons antipatterns min_confidence min_success guardrail_after backups tokens guardrails", _FIXED),
    ("judge", "source_tokens output_tokens answer_tokens", _FIXED),
    ("prompt", "history_commits compact_tokens orientation_tokens timeout_seconds", _FIXED),
    ("merge", "tries wait_minutes", _FIXED),
    ("claude", "stop_grace_seconds session_hours", _FIXED),
    ("tracker", "poll_seconds from_rung", _FIXED),
    ("research", "tries", _FIXED),
    ("detect", "stuck_gain relevance output_decline remembered", _FIXED),
)
"""Keys of one section of which the same became."""
OLD_KEYS: Mapping[str, str] = {
    **{f"{section}.{name}": became for section, names, became in _ALIKE for name in names.split()},
    "gates.asked_of": "it changed nothing; tracker.allowed_users says who may answer in a tracker",
    "flaky.largest_failing_set": _FIXED,
    "completion.ask_limit": _FIXED,
    "steering.failures_in_row": _FIXED,
    "pain.budget": _FIXED,
    **{f"pain.{name}": f'set pain.off = ["{name}"] instead' for name in ("all_tests", "secrets", "destructive")},
    **dict.fromkeys(("steering.stop_no_progress", "steering.stop_blocks"), _STOPS),
    "claude.append_system_prompt": "CLAUDE.md, prompt.approach and prompt.template say what the agent is told",
    "claude.fallback_model": "an overloaded model is asked again (retry.attempts), and the loop waits for it",
    "claude.max_turns": "claude.timeout_minutes and claude.max_cost_usd say how long one call may go on",
    "prompt.contradictions": "rules look for orders that contradict each other, and no model is asked for more",
    "invariants.off": "what a text shows is a hint and blocks nothing; invariants.allow excepts paths from what does",
    "breaker.half_open_after": "lack of progress leads up the ladder without a pause; ladder.patience says how soon",
    "hats.use": "a preset's hats are its own; write a preset without those that shall not be worn",
    "judge.reset_strategy": "a loop that merges (merge.into) tries another approach, unless gates.merge has a person asked",
    "ladder.rollback": "ladder.act = false has the loop only watch; work that is taken back stays on a ref",
    "memory.handoff": 'what a completed loop leaves to know goes to its alignment file; alignment = "" names none',
    "prompt.compact": "prompt.written has a model write the past in short as well",
    "prompt.model": "the judge's model (judge.model) writes focus and compaction",
    "usage_limit.pause_at_weekly": "usage_limit.pause_at holds for the weekly windows as well",
    "on_push.mode": "a push starts the loop; what is open before it is asked by helmsman align, and pushed with the commit",
}


def without_old_keys(values: Any) -> Any:
    """A configuration that an older version stored, without the keys that are gone. What is no table is left as it is."""
    if not isinstance(values, Mapping):
        return values
    kept = dict(cast("Mapping[str, Any]", values))
    for key in OLD_KEYS:
        section, _, name = key.rpartition(".")
        table = kept.get(section)
        if isinstance(table, Mapping):
            kept[section] = {field: value for field, value in cast("Mapping[str, Any]", table).items() if field != name}
    return {key: value for key, value in kept.items() if value != {}}  # a section may be gone as a whole
