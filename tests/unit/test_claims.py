"""What counts as a request to be done."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.verify.claims.reading import LAST_LINES, read_claims

pytestmark = pytest.mark.feature("V9")
PROMISE = "<promise>COMPLETE</promise>"


def asks(text: str, promise: str = PROMISE) -> bool:
    return read_claims(text, promise).wants_to_finish


@pytest.mark.parametrize(
    "text",
    [
        PROMISE,
        f"All tests pass.\n\n{PROMISE}\n",
        f"All tests pass, so {PROMISE}.",
        f"All tests pass.\r\n{PROMISE}\r\n",
        f"**{PROMISE}**",
        f"All tests pass. **{PROMISE}**",
        f"All tests pass.\n`{PROMISE}`",
        f"All tests pass.\n```{PROMISE}```",
        f"```\n{PROMISE}\n```",
        f"I ran this:\n```\npytest\n```\n{PROMISE}",
        f"I ran this:\n  ~~~~sh\n  pytest ~~~\n  ~~~~\n{PROMISE}",
    ],
)
def test_the_promise_asks_wherever_it_is_said(text: str) -> None:
    claims = read_claims(text, PROMISE)
    assert (claims.wants_to_finish, claims.how) == (True, PROMISE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Everything is COMPLETE, I promise.",
        f"I do not say `{PROMISE}` yet: two tests fail.",
        f"I do not say ``{PROMISE}`` yet: two tests fail.",
        f"At the end I shall say:\n```\n{PROMISE}\n```\nbut two tests fail.",
        f"At the end I shall say:\n  ~~~text\n  {PROMISE}\n  ~~~\nbut two tests fail.",
        f"At the end I shall say:\n````\n```\n{PROMISE}\n```\n````\nbut two tests fail.",
        f"A fence that was never closed:\n```\n{PROMISE}",
    ],
)
def test_a_promise_that_is_only_quoted_does_not_ask(text: str) -> None:
    assert not asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "EXIT_SIGNAL: true",
        "exit_signal = TRUE",
        "**EXIT_SIGNAL**: true",
        "- EXIT_SIGNAL: true",
        "---STATUS---\nTASKS: 3\nEXIT_SIGNAL: true\n---END---",
        '{"EXIT_SIGNAL": true}',
        '{"status": "done", "EXIT_SIGNAL": true}',
        '{\n  "EXIT_SIGNAL": "true"\n}',
        '```json\n{"status": "done", "EXIT_SIGNAL": true}\n```',
    ],
)
def test_an_exit_signal_asks_in_a_block_and_in_json(text: str) -> None:
    claims = read_claims(f"Status:\n{text}\n", PROMISE)
    assert (claims.wants_to_finish, claims.how) == (True, "EXIT_SIGNAL")


@pytest.mark.parametrize(
    "text",
    [
        "EXIT_SIGNAL: false",
        '{"EXIT_SIGNAL": false}',
        "EXIT_SIGNAL:",
        "EXIT_SIGNAL: trueish",
        "I shall set EXIT_SIGNAL: true later",
    ],
)
def test_an_exit_signal_that_is_false_or_only_mentioned_does_not_ask(text: str) -> None:
    assert not asks(text)


@given(st.text(alphabet="ab `~*_\n"), st.text(alphabet="ab `~*_\n"))
def test_a_text_without_promise_and_signal_never_asks(before: str, after: str) -> None:
    assert not asks(before + after)


@given(st.text(st.characters(exclude_characters="`~")))
def test_a_promise_on_its_own_line_asks_after_any_text_without_fences(before: str) -> None:
    assert asks(f"{before}\n{PROMISE}")


@pytest.mark.timeout(30)  # a second pass over all of it for each character would take hours
@pytest.mark.parametrize(
    "text",
    ["`" * 10**6, "` " * 500_000, "```x\n" * 200_000, "\n" * 10**6, " " * 10**6, "EXIT_SIGNAL " * 80_000, "{ " * 500_000],
    ids=["ticks", "spans", "fences", "lines", "spaces", "signals", "braces"],
)
def test_a_megabyte_of_noise_is_read_in_linear_time(text: str) -> None:
    assert not asks(text)


@pytest.mark.feature("A5")
def test_where_a_program_prints_more_than_its_agent_s_words_only_the_last_lines_ask() -> None:
    def asks(text: str) -> bool:
        return read_claims(text, PROMISE, only_at_end=True).wants_to_finish

    echoed = f"> end your last message with {PROMISE} on a line of its own.\n" + "> more of the prompt\n\n" * LAST_LINES
    assert read_claims(echoed, PROMISE).wants_to_finish
    assert not asks(echoed)
    assert not asks("EXIT_SIGNAL: true\n" + "a line\n" * LAST_LINES)
    assert asks(f"{echoed}\nDone.\n{PROMISE}\n\ntokens used: 1,234\n")
    assert asks(f"{echoed}\n---RALPH_STATUS---\nEXIT_SIGNAL: true\nRECOMMENDATION: none\n---END_RALPH_STATUS---\n")
