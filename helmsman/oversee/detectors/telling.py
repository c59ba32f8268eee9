"""What a detector says: the rule, the numbers, and what the next iteration is told to do about it."""

from helmsman.records.verdict import Severity, Signal


def redirect(rule: str, message: str, instruction: str, *, value: float, threshold: float) -> Signal:
    """It has to be done in another way."""
    return _signal(Severity.REDIRECT, rule, message, instruction, value, threshold)


def warning(rule: str, message: str, instruction: str, *, value: float, threshold: float) -> Signal:
    """It is to be minded."""
    return _signal(Severity.WARN, rule, message, instruction, value, threshold)


def _signal(severity: Severity, rule: str, message: str, instruction: str, value: float, threshold: float) -> Signal:
    return Signal(rule=rule, severity=severity, message=message, value=value, threshold=threshold, instruction=instruction)
