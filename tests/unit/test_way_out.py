"""How a message ends that does not ask to be done: blocked with its reason, or with work that remains."""

import pytest

from helmsman.verify.claims.reading import read_claims

PROMISE = "<promise>COMPLETE</promise>"
BLOCK = "---RALPH_STATUS---\nSTATUS: {}\nEXIT_SIGNAL: false\nRECOMMENDATION: Ask Ada.\n---END_RALPH_STATUS---"


@pytest.mark.feature("V17")
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("BLOCKED: two checks contradict each other.", "two checks contradict each other."),
        (
            "I looked.\n\n**BLOCKED:** the terminal has to be connected,\nwhich I cannot do.\n\nBye.",
            "the terminal has to be connected, which I cannot do.",
        ),
        ("IMPOSSIBLE: no such port.", "no such port."),
        ("> BLOCKED: a\n" + BLOCK.format("IN_PROGRESS"), "a"),
        (BLOCK.format("BLOCKED"), "Ask Ada."),
        ("STATUS: BLOCKED\nEXIT_SIGNAL: false", "it does not say why"),
        ("BLOCKED: first.\nCONTINUE: it went on.", ""),
        ("BLOCKED: none", ""),
        ("```\nBLOCKED: quoted\n```", ""),
        ("I was blocked: a test failed.", ""),
        (f"BLOCKED: x\n{PROMISE}", ""),
        ("", ""),
    ],
)
def test_an_agent_is_blocked_by_its_last_word_and_says_why(said: str, reason: str) -> None:
    assert read_claims(said, PROMISE).blocked == reason


@pytest.mark.feature("A4")
@pytest.mark.parametrize(
    ("said", "goes_on"),
    [
        ("CONTINUE: the lexer is next.", True),
        (BLOCK.format("IN_PROGRESS"), True),
        (BLOCK.format("COMPLETE"), False),
        ("BLOCKED: x", False),
        (f"CONTINUE: later\n{PROMISE}", False),
        ("The lexer is next.", False),
    ],
)
def test_an_agent_says_that_work_remains(said: str, goes_on: bool) -> None:
    assert read_claims(said, PROMISE).goes_on is goes_on


@pytest.mark.feature("V17")
def test_a_long_reason_is_cut() -> None:
    assert len(read_claims(f"BLOCKED: {'x' * 10_000}", PROMISE).blocked) == 300
