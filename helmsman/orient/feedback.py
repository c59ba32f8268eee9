"""JUDGE_FEEDBACK.md and JUDGE_EVOLUTION.md: the judge's memory as files that the agent and a person can read."""

from helmsman.records.proof import JudgeMemory


def feedback_file(memory: JudgeMemory) -> str:
    """All stored rejections, newest last, rendered from the state; edits of the file are not read."""
    text = "# Why the judge rejected the work\n"
    for rejection in memory.feedback:
        again = f"; repeated {rejection.repeated} times" if rejection.repeated else ""
        heading = f"Iteration {rejection.iteration}, {rejection.consecutive} in a row, {rejection.at:%Y-%m-%d %H:%M} UTC{again}"
        text += f"\n## {heading}\n{rejection.reason}\n"
    return text if memory.feedback else f"{text}\nNo rejection yet.\n"


def evolution_file(memory: JudgeMemory) -> str:
    """One principle for each verdict, newest last, for the judge."""
    lines = "".join(f"- {note}\n" for note in memory.notes) or "No verdict yet.\n"
    return f"# What the judge has learnt\n\n{lines}"
