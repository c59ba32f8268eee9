"""JUDGE_FEEDBACK.md and JUDGE_EVOLUTION.md: the judge's memory as files that the agent and a person can read."""

from helmsman.records.proof import JudgeMemory


def feedback_file(memory: JudgeMemory) -> str:
    """Every rejection that is kept, newest last. It is rendered from the state; what is written into it is not read."""
    text = "# Why the judge rejected the work\n"
    for one in memory.feedback:
        again = f"; repeated {one.repeated} times" if one.repeated else ""
        text += f"\n## Iteration {one.iteration}, {one.consecutive} in a row, {one.at:%Y-%m-%d %H:%M} UTC{again}\n{one.reason}\n"
    return text if memory.feedback else f"{text}\nNo rejection yet.\n"


def evolution_file(memory: JudgeMemory) -> str:
    """One principle for each verdict, newest last; the judge gets them back."""
    lines = "".join(f"- {note}\n" for note in memory.notes) or "No verdict yet.\n"
    return f"# What the judge has learnt\n\n{lines}"
