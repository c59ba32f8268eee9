"""What holds of every comparison, whatever the agent, its repository or its operator writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.drift import Deeds, Task, drift, flagged, guidance, sentence
from helmsman.oversee.drift.words import fold, pieces, telling
from helmsman.records.evidence import CommandRun
from helmsman.records.session import Drift

pytestmark = pytest.mark.feature("S16")

GOAL = "Fix the discount of the customer in `shop.py`"
PIECES = ["shop", "discount", "src", "tests", "radio", "antenna", "ui", "..", ".", "", "README.md", "uv.lock", "snake.py", "a\nb"]
SITE = st.sampled_from(["radio/a.py", "radio/tuner.py", "radio/dial.py", "radio/dial/knob.py", "docs/dial.md", "Dockerfile"])
PATHS = SITE | st.lists(st.sampled_from(PIECES), max_size=5).map("/".join) | st.text(st.characters(), max_size=40)
COMMANDS = st.builds(CommandRun, command=PATHS | st.sampled_from(["pytest", "git status", "ls"]), failed=st.booleans())
DEEDS = st.builds(
    Deeds,
    st.lists(PATHS, max_size=12).map(tuple),
    st.lists(PATHS, max_size=12).map(tuple),
    st.lists(COMMANDS, max_size=4).map(tuple),
    st.sampled_from(["", "/", "/nest/tree"]) | st.text(max_size=5),
)
TEXTS = st.lists(st.text(st.characters(), max_size=80) | PATHS, max_size=3).map(tuple)
TASKS = st.builds(Task, st.just(GOAL) | st.text(st.characters()), TEXTS, TEXTS, TEXTS, TEXTS)
FRIENDS = st.sampled_from(["shop.py", "lib/shop.py", "tests/test_shop.py", "radio/discount.py", "discount_antenna.py"])


def holds(found: Drift) -> bool:
    kept = all(path and len(path) <= 160 and path.isprintable() and "`" not in path for path in found.strangers)
    told = len(sentence(found)) < 2000 and len("".join(guidance(found))) < 2500 and "\n" not in sentence(found)
    return 0 <= found.related <= found.deeds and 0 <= found.relevance <= 1 and len(found.strangers) <= 10 and kept and told


@given(TASKS, DEEDS)
def test_whatever_is_compared_the_answer_is_sound_bounded_and_can_be_kept(task: Task, deeds: Deeds) -> None:
    found = drift(task, deeds)
    assert holds(found)
    assert Drift.model_validate_json(found.model_dump_json()) == found


@given(DEEDS, FRIENDS)
def test_a_related_file_more_never_lowers_the_relevance(deeds: Deeds, friend: str) -> None:
    before = drift(Task(GOAL), deeds)
    changed = drift(Task(GOAL), Deeds((*deeds.changed, friend), deeds.read, deeds.commands, deeds.worktree))
    read = drift(Task(GOAL), Deeds(deeds.changed, (*deeds.read, friend), deeds.commands, deeds.worktree))
    assert min(changed.relevance, read.relevance) >= before.relevance
    assert set(changed.strangers) <= set(before.strangers)


@given(DEEDS)
def test_the_order_of_the_deeds_does_not_matter(deeds: Deeds) -> None:
    turned = drift(Task(GOAL), Deeds(deeds.changed[::-1], deeds.read[::-1], deeds.commands[::-1], deeds.worktree))
    found = drift(Task(GOAL), deeds)
    assert (turned.deeds, turned.related, flagged(turned)) == (found.deeds, found.related, flagged(found))


@given(DEEDS)
def test_a_task_without_words_flags_nothing(deeds: Deeds) -> None:
    assert not drift(Task("Fix the build"), deeds).strangers


@given(TEXTS, DEEDS)
def test_naming_the_strangers_in_the_task_makes_them_part_of_it(told: tuple[str, ...], deeds: Deeds) -> None:
    plain = Deeds(("radio/antenna.py", "games/snake.py", "ui/theme.py"), deeds.read, deeds.commands, deeds.worktree)
    reason = "`radio/antenna.py`, games/snake.py and `ui/theme.py` call the discount"
    assert not drift(Task(GOAL, told=(*told, reason)), plain).strangers


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", ".", "..", "../a", "a\nb/c\td.py", "\ud800antenna.py", "`antenna`.py", "\x1b[2Jantenna.py", "\u202eyp.a"),
        *(
            "x" * 10_000,
            "a/" * 5_000,
            "A" * 10_000,
            "../" * 3_000 + "a",
            "." * 10_000,
            "a.b" * 3_000,
            "-" * 10_000,
            "\\" * 10_000,
        ),
    ],
)
def test_a_hostile_path_is_taken_as_any_other(path: str) -> None:
    run = CommandRun(command=path[:300], failed=False)
    assert holds(drift(Task(GOAL), Deeds((path,), (path,), (run,), "/nest")))
    assert holds(drift(Task(path, (path,), (path,), (path,), (path,)), Deeds(("radio/antenna.py", path), (path,), (run,), path)))


def test_two_hundred_files_and_a_long_task_are_compared() -> None:
    changed = tuple(f"radio/part{'abcdefghij'[number % 10]}/antenna{number}.py" for number in range(200))
    found = drift(Task(GOAL, told=("lorem ipsum dolor sit amet " * 800,)), Deeds(changed, changed, (), ""))
    assert (found.deeds, found.related, len(found.strangers)) == (200, 0, 10)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("parser", "parsing"),
        ("queries", "query"),
        ("logger", "logging"),
        ("discounts", "discount"),
        ("validation", "validators"),
        ("cached", "caching"),
        ("orders", "order"),
        ("rounded", "rounding"),
        ("pages", "page"),
        ("serialization", "serializer"),
    ],
)
def test_forms_of_a_word_are_one(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_a_name_is_split_at_its_humps_and_signs() -> None:
    assert pieces("src/HTTPServer_test-caseTwo.v2") == ["src", "http", "server", "test", "case", "two", "v"]
    assert telling("tests/test_shop.py::TestCart::test_total_is_sum") == {"shop", "cart", "testcart", "total", "sum"}
    assert telling("WebSocket") & telling("websocket")
