"""JUDGE_FEEDBACK.md and JUDGE_EVOLUTION.md: the judge's memory as files that the agent and a person can read."""

from helmsman.records.proof import JudgeMemory, Rejection


def feedback_file(memory: JudgeMemory) -> str:
    """Every rejection that is kept, newest last. It is rendered from the state; what is written into it is not read."""
    entries = "\n".join(_entry(rejection) for rejection in memory.feedback) or "No rejection yet.\n"
    return f"# Why the judge rejected the work\n\n{entries}"


def evolution_file(memory: JudgeMemory) -> str:
    """One principle for each verdict, newest last; the judge gets them back."""
    lines = "".join(f"- {note}\n" for note in memory.notes) or "No verdict yet.\n"
    return f"# What the judge has learnt\n\n{lines}"


def _entry(rejection: Rejection) -> str:
    again = f"; repeated {rejection.repeated} times" if rejection.repeated else ""
    heading = f"## Iteration {rejection.iteration}, {rejection.consecutive} in a row, {rejection.at:%Y-%m-%d %H:%M} UTC{again}"
    return f"{heading}\n{rejection.reason}\n"
