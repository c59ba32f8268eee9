"""The size of a session's context and the share of noise in it, and when a full or noisy context ends the session."""

from itertools import count
from typing import Any

import pytest

from helmsman.guardrails.context import context_advice, known_window, rotation_reason
from helmsman.parsers.claude_usage import ContextReader
from helmsman.records.agent import Compaction, ContextUse
from helmsman.tokens import tokens
from tests.fakes.recordings import FOLDER, events, replay

pytestmark = pytest.mark.feature("S9")

Event = dict[str, Any]
A, B = "/nest/dev/a.py", "/nest/dev/b.py"
LONG = "line of a file\n" * 40
TOKENS = tokens(LONG)
NUMBERS = count()
COMPACTED = {
    "type": "system",
    "subtype": "compact_boundary",
    "compact_metadata": {
        "trigger": "auto",
        "pre_tokens": 120258,
        "post_tokens": 4951,
        "cumulative_dropped_tokens": 115307,
        "duration_ms": 33,
    },
}
"""As the real CLI 2.1.330 wrote it, without its ids."""


def assistant_event(parent: str | None = None, model: str = "claude-opus-5-5", content: Any = (), **usage: int) -> Event:
    message = {"model": model, "content": list(content), "usage": usage}
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent}


def ran(tool: str, given: dict[str, Any], answer: Any = LONG, failed: bool = False, parent: str | None = None) -> list[Event]:
    """A tool call and its result."""
    identity = f"toolu_{next(NUMBERS)}"
    call = {"type": "tool_use", "id": identity, "name": tool, "input": given}
    result = {"type": "tool_result", "tool_use_id": identity, "content": answer, "is_error": failed}
    return [
        assistant_event(parent, content=[call]),
        {"type": "user", "message": {"content": [result]}, "parent_tool_use_id": parent},
    ]


def bash(command: str, answer: Any = "", failed: bool = False) -> list[Event]:
    return ran("Bash", {"command": command}, answer, failed)


def read(path: str, answer: Any = LONG, failed: bool = False, **part: Any) -> list[Event]:
    return ran("Read", {"file_path": path, **part}, answer, failed)


def edit(path: str) -> list[Event]:
    return ran("Edit", {"file_path": path}, "changed")


def use_of(*streams: list[Event]) -> ContextUse:
    reader = ContextReader()
    for event in (event for stream in streams for event in stream):
        reader.feed(event)
    return reader.use(1_000_000)


def noise_of(*streams: list[Event]) -> int:
    return use_of(*streams).noise


# size -----------------------------------------------------------------------------------------------------------------


def test_the_size_is_what_the_last_message_was_given_and_the_peak_the_most() -> None:
    full = assistant_event(input_tokens=5, cache_creation_input_tokens=20, cache_read_input_tokens=300, output_tokens=9)
    use = use_of([full, assistant_event(input_tokens=7)])
    assert (use.tokens, use.peak, use.window) == (7, 325, 1_000_000)


def test_subagents_and_what_the_cli_says_itself_fill_nothing() -> None:
    aside = [assistant_event(parent="toolu_a", input_tokens=900), assistant_event(model="<synthetic>", input_tokens=0)]
    assert use_of([assistant_event(input_tokens=7)], aside).tokens == 7


# what tools answered --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "counted"),
    [
        ("abcd efgh", "abcd efgh"),
        ([{"type": "text", "text": "abcd "}, {"type": "text", "text": "efgh"}], "abcd efgh"),
        ([{"type": "image", "source": {"data": "x" * 4000}}, {"type": "text", "text": "abcd"}], "abcd"),
        (None, ""),
        ([7, None, {"text": 7}, "loose"], ""),
    ],
)
def test_an_answer_is_counted_by_its_text(content: Any, counted: str) -> None:
    assert use_of(bash("ls", content)).heard == tokens(counted)


# noise ----------------------------------------------------------------------------------------------------------------


def test_output_that_was_there_before_is_noise_the_second_time() -> None:
    use = use_of(bash("cat log", LONG), bash("ls"), bash("cat ./log", [{"type": "text", "text": LONG}]))
    assert (use.heard, use.noise) == (2 * TOKENS, TOKENS)


def test_error_output_is_noise_once_where_it_is_repeated() -> None:
    failing = bash("make", LONG, failed=True)
    use = use_of(failing, failing, read(A, LONG.upper(), failed=True), read(A, LONG.upper(), failed=True))
    assert use.noise == use.heard == 4 * TOKENS


# what only looks like noise -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "work",
    [
        [bash("pytest a", LONG), bash("pytest b", LONG.replace("line", "test"))],
        [bash("pytest", LONG + "1 failed"), edit(A), bash("pytest", LONG + "2 passed")],
        [read(A), edit(A), read(A, LONG.upper())],
        [read(A), read(B, LONG.upper())],
    ],
    ids=[
        "other commands",
        "the same command after an edit",
        "read after Edit",
        "two files",
    ],
)
def test_honest_work_is_no_noise(work: list[list[Event]]) -> None:
    assert noise_of(*work) == 0


# compaction -----------------------------------------------------------------------------------------------------------


def test_a_compaction_is_kept_with_its_sizes() -> None:
    use = use_of([assistant_event(input_tokens=120_258), COMPACTED])
    assert use.compactions == (Compaction(trigger="auto", before=120_258, after=4_951),)
    assert (use.tokens, use.peak) == (4_951, 120_258)


def test_after_a_compaction_what_was_heard_begins_again() -> None:
    before = [*bash("make", LONG, failed=True), *read(A)]
    use = use_of(before, [COMPACTED], read(A))
    assert (use.heard, use.noise) == (TOKENS, 0)
    assert noise_of(before, [COMPACTED], read(A), read(A)) == TOKENS


# real recordings ------------------------------------------------------------------------------------------------------


def test_a_recording_of_the_real_cli_is_read_alike_by_the_call_and_by_its_context() -> None:
    for name in (path.stem for path in FOLDER.glob("*.jsonl")):
        context = replay(name).context
        assert context == use_of(events(name)).model_copy(update={"window": context.window})
        assert 0 <= context.noise <= context.heard <= sum(len(str(event)) for event in events(name))
        # What filled the context was told with the first message that the model gave.
        assert (context.peak > 0) is any(_by_the_model(event) for event in events(name))


def _by_the_model(event: Event) -> bool:
    return event["type"] == "assistant" and event["message"]["model"] != "<synthetic>"


def test_the_noise_of_a_recording_is_its_tool_errors() -> None:
    expected = {
        "success": (61, 0),
        "subagent": (148, 0),
        "failing_tool": (4, 4),
        "permission_denied": (314, 314),
        "sigterm": (6, 4),
    }
    read = {name: replay(name).context for name in expected}
    assert {name: (context.heard, context.noise) for name, context in read.items()} == expected


# bounds --------------------------------------------------------------------------------------------------------------


def test_of_many_compactions_and_texts_the_newest_are_kept() -> None:
    boundaries = [{**COMPACTED, "compact_metadata": {"pre_tokens": number}} for number in range(30)]
    assert [one.before for one in use_of(boundaries).compactions] == list(range(10, 30))
    texts = [bash("x", f"{number} {LONG}") for number in range(600)]
    assert noise_of(*texts, texts[0]) == 0
    assert noise_of(*texts, texts[599]) > 0
    assert noise_of(*texts[:400], texts[0], *texts[400:], texts[0]) > 2 * TOKENS


WINDOW = 200_000


def of_size(tokens: int, window: int = WINDOW) -> ContextUse:
    return ContextUse(tokens=tokens, peak=tokens, window=window)


def noisy(noise: int, heard: int) -> ContextUse:
    return ContextUse(tokens=125_000, window=WINDOW, heard=heard, noise=noise)


NOISE = "tokens of tool output are errors or repetition (limit 70 %)"


def test_the_window_is_configured_else_reported_else_by_name() -> None:
    told = {"claude-opus-4-8": 1_000_000, "claude-sonnet-4-5": 0}
    assert known_window("claude-opus-4-8", told, None) == 1_000_000
    assert known_window("claude-opus-4-8-20260501", told, None) == 200_000
    assert known_window("claude-sonnet-4-5", told, None) == 200_000
    assert known_window("claude-opus-4-8", told, 64_000) == 64_000


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (of_size(159_999), ""),
        (of_size(170_500), "the context is 85 % full (200,000 tokens) (limit 80 %)"),
        (noisy(14_000, 20_000), f"70 % of the 20,000 {NOISE}"),
        (noisy(13_999, 20_000), ""),
        (noisy(19_999, 19_999), ""),
        (noisy(75_999, 100_000), f"75 % of the 100,000 {NOISE}"),
        (
            ContextUse(tokens=160_000, window=WINDOW, heard=50_000, noise=50_000),
            f"the context is 80 % full (200,000 tokens) (limit 80 %) and 100 % of the 50,000 {NOISE}",
        ),
        (ContextUse(tokens=30_000, window=1_000_000, heard=25_000, noise=25_000), ""),
        (of_size(10**9, 0), ""),
    ],
)
def test_a_full_or_noisy_context_ends_the_session_and_the_reason_names_the_numbers(use: ContextUse, reason: str) -> None:
    """The nearest legitimate look-alike: ten rounds of a red test suite early in a session."""
    assert rotation_reason(use) == reason


def test_advice_asks_for_notes_and_then_to_save() -> None:
    assert context_advice(of_size(119_999)) == ""
    warned = context_advice(of_size(126_000))
    assert warned.startswith("The context is 63 % full (200,000 tokens). Write what you know into .helmsman/progress.md now:")
    assert "At 80 % this session ends" in warned
    for use in (of_size(170_000), noisy(80_000, 100_000)):
        assert rotation_reason(use)[1:] in context_advice(use)
        assert "Save now" in context_advice(use)
