"""Instructions in documents: which sentences order something, and which contradict each other."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmsman.config import DetectConfig
from helmsman.oversee.conflicts import MOST_CONFLICTS, find_conflicts
from helmsman.oversee.detectors import detect
from helmsman.oversee.diagnosis import diagnose, double_bind_alert, find_double_bind
from helmsman.oversee.imperatives import LONGEST_TEXT, MOST_IMPERATIVES, read_imperatives
from helmsman.oversee.ladder import LONGEST_REASON
from helmsman.records.agent import AgentOutcome
from helmsman.records.control import Conflict, Diagnosis, Imperative, IterationSummary, Movement
from helmsman.records.decision import Severity
from tests.unit.builders import NOW
from tests.unit.histories import FORWARD, SIDEWAYS, STILL, Step, green, history, red, step, still, waited
from tests.unit.honest_projects import PROJECTS, orders_of

pytestmark = pytest.mark.feature("S11")


def instructions_of(text: str) -> list[tuple[int, str, str]]:
    return [(order.line, order.modality, order.text) for order in read_imperatives("AGENTS.md", text)]


@pytest.mark.parametrize(
    ("modality", "sentences"),
    [
        ("must", ["You must run the tests.", "Always run the tests.", "A review is required.", "The parser has to be fast."]),
        ("must", ["- Run the tests.", "- [ ] Run the tests.", "3. **Tests:** run them all. ", "- Please add tests."]),
        ("must", ["Use mocks in tests.", "Do not forget to run the tests.", "You must not only test but also document."]),
        ("must", ["Add a function that must not raise.", "Explain why you never push."]),
        ("must_not", ["You must not push.", "Never push.", "Do not push.", "Don\u2019t push.", "You may not push."]),
        ("must_not", ["Pushing is forbidden.", "- No new dependencies.", "If the build fails, do not push."]),
        ("must_not", ["Leave `src/` as it is.", "Leave the tests unchanged.", "`src/` is read-only."]),
        ("should", ["You should add tests.", "Prefer small functions."]),
        ("should_not", ["You should not use mocks.", "Avoid mocks."]),
    ],
)
def test_a_sentence_orders_or_forbids(modality: str, sentences: list[str]) -> None:
    assert [[how for _, how, _ in instructions_of(text)] for text in sentences] == [[modality]] * len(sentences)


def test_sentences_without_an_instruction_are_skipped() -> None:
    cases = {
        "statements": ["The parser is fast.", "Should we add tests?", "Test files are in `tests/`.", ""],
        "permissions": ["You don't have to add tests.", "There is no need to push.", "Do not hesitate to ask."],
        "headings and quotations": ["# You must push", "You must push\n=============", "> You must push.", "| You must | push |"],
        "comments": ["<!-- You must push. -->", "<!--\nYou must push.\n-->", "---\nrule: must push\n---"],
        "code": ["```\nYou must push.\n```", "~~~md\nNever push.\n```\nNever push.\n~~~", "    rm -rf must not"],
        "quoted words": ["The button says `you must push` and “never push here”."],
    }
    for case, texts in cases.items():
        assert [instructions_of(text) for text in texts] == [[]] * len(texts), case


def test_items_under_a_heading_that_forbids_are_forbidden_until_the_next_heading() -> None:
    text = "## Do not\n- add mocks\n- Never sleep\n- You must say why\n### More\n- rename files\n## Do\n- add tests\n"
    assert instructions_of(text) == [
        (2, "must_not", "Do not: add mocks"),
        (3, "must_not", "Never sleep"),
        (4, "must", "You must say why"),
        (6, "must_not", "Do not: rename files"),
        (8, "must", "add tests"),
    ]


def test_a_sentence_with_two_orders_is_two() -> None:
    assert instructions_of("Never edit `dist/`; change `src/`.") == [
        (1, "must_not", "Never edit `dist/`"),
        (1, "must", "change `src/`."),
    ]
    assert instructions_of("Use fixtures and never use mocks.") == [
        (1, "must", "Use fixtures"),
        (1, "must_not", "never use mocks."),
    ]


def test_a_sentence_with_a_condition_or_an_exception_is_whole() -> None:
    whole = "Never edit `dist/`; change it except in tests."
    assert instructions_of(whole) == [(1, "must_not", whole)]
    assert instructions_of("Fix the bug without changing the API.") == [(1, "must", "Fix the bug without changing the API.")]


@pytest.mark.parametrize(
    "piece", ["leave ", "Never a. ", "- Never x\n", "**", "keep a as ", "if , ", "Do not:\n", "# a\n", "X. `", "<!--"]
)
def test_a_long_hostile_text_is_read_to_its_bounds(piece: str) -> None:
    found = read_imperatives("x", piece * 50_000)
    assert len(found) <= MOST_IMPERATIVES
    assert all(len(order.text) <= LONGEST_TEXT for order in found)


def between(goal: str, rules: str) -> tuple[Conflict, ...]:
    return find_conflicts([*read_imperatives("goal", goal), *read_imperatives("AGENTS.md", rules)])


@pytest.mark.parametrize(
    ("kind", "goal", "rules"),
    [
        ("pattern", "Create a dependency on `redis`.", "Do not introduce dependencies."),
        ("pattern", "Delete the test `test_legacy`.", "Tests must not be removed."),
        ("pattern", "Push to `main` when you are done. Always push.", "## Never\n- push"),
        ("pattern", "Keep the `v1` endpoints.", "Remove the `v1` endpoints."),
        ("pattern", "The service must use a global singleton.", "Global singletons are forbidden."),
        ("scope", "Change `src/api.py` so that it returns 404.", "Never touch `src/`."),
        ("scope", "Add a field to the class in `app/models.py`.", "`app/models.py` must stay unchanged."),
        ("scope", "Update `tests/test_api.py`.", "Do not modify tests."),
        ("completeness", "All components must be converted to TypeScript.", "Do not convert the chart component."),
        ("priority", "Run the formatter before committing.", "Commit before running the formatter."),
        ("priority", "Prefer composition over inheritance.", "Prefer inheritance over composition."),
    ],
)
def test_a_contradiction_is_found_with_its_kind(kind: str, goal: str, rules: str) -> None:
    found = between(goal, rules)
    assert [one.kind for one in found] == [kind]
    assert {found[0].first.source, found[0].second.source} == {"goal", "AGENTS.md"}


@pytest.mark.parametrize(
    ("goal", "rules"),
    [
        ("Move the helper to `lib/b.js`.", "## Off limits\n\n- `lib/`\n- `bin/`"),
        ("Update the README.md and the file `config/default.yml`.", "You must not modify `config/*.yml`."),
        ("Rename every endpoint to the plural.", "Skip the admin endpoint."),
        ("Use tabs instead of spaces.", "Use spaces instead of tabs."),
        ("Deploy before running the tests.", "Run the tests before you deploy."),
    ],
)
def test_a_contradiction_in_other_words_is_found_as_well(goal: str, rules: str) -> None:
    assert len(between(goal, rules)) == 1


@pytest.mark.parametrize(
    ("goal", "rules"),
    [
        ("Change `src/api.py`.", "Never touch `src/` except `src/api.py`."),
        ("Change `src/api.py`.", "Do not change files other than `src/api.py`."),
        ("Change `src/api.py`.", "Do not touch files outside of `src/`. Only change files under `docs/`."),
        ("Change the parser to make `tests/test_api.py` pass.", "Never touch `tests/`."),
        ("Change `src/api.py`.", "Do not change `src/api.py.bak` or `src/api/`."),
        ("If a test is wrong, you must change it in `tests/`.", "Never touch `tests/`."),
        ("Delete the test `test_old`.", "Do not delete tests to make the suite pass."),
        ("Delete the test `test_old`.", "Do not delete all tests."),
        ("Add tests and update the docs.", "Do not add docs."),
        ("Use fixtures.", "Never use mocks: use fixtures."),
        ("Format all code.", "Do not format generated code."),
        ("Update `src/api.py` to match `docs/spec.md`.", "Never edit `docs/spec.md`."),
        ("Add `tests/test_new.py`.", "Do not modify tests."),
        ("Be careful.", "Every module must be migrated. Do not migrate the old module. Use mocks in tests. Do not use mocks."),
    ],
)
def test_exceptions_narrower_instructions_and_conditions_are_no_contradiction(goal: str, rules: str) -> None:
    assert between(goal, rules) == ()


@pytest.mark.parametrize("project", PROJECTS, ids=range(len(PROJECTS)))
def test_an_honest_project_has_no_contradiction(project: str) -> None:
    assert len(orders_of(project)) > 0
    assert [f"{one.kind}: {one.first.text} | {one.second.text}" for one in find_conflicts(orders_of(project))] == []


def test_the_gravest_come_first_and_no_more_than_five() -> None:
    goal = "\n".join(["- Use tabs instead of spaces.", *(f"- Change `src/m{number}.py`." for number in range(9)), "- Use mocks."])
    found = between(goal, "- Use spaces instead of tabs.\n- Never touch `src/`.\n- Never use mocks.")
    assert [one.kind for one in found] == ["pattern", "scope", "scope", "scope", "scope"]
    assert len(found) == MOST_CONFLICTS


def test_a_thousand_hostile_instructions_are_compared_to_the_end() -> None:
    change = [Imperative(source="a", text=f"Change `src/{'a/' * 40}{number}.py`", modality="must") for number in range(500)]
    never = [Imperative(source="b", text=f"Never touch `{'*a' * 40}{number}`", modality="must_not") for number in range(500)]
    assert find_conflicts([*change, *never]) == ()


GOAL = read_imperatives("goal", "Change `src/api.py` so that it returns 404.")
SRC = find_conflicts([*GOAL, *read_imperatives("AGENTS.md", "# Rules\n\n- Never touch `src/`.")])
MOCKS = find_conflicts([*read_imperatives("goal", "Use mocks."), *read_imperatives("CLAUDE.md", "Never use mocks.")])


def summary(movement: Movement = Movement.STILL, **fields: object) -> IterationSummary:
    given = {"iteration": 1, "at": NOW, "outcome": AgentOutcome.FINISHED, "movement": movement, "completion": 0.5}
    return IterationSummary.model_validate({**given, "tree": "t", "failing": ("pytest",), **fields})


def alternating(*sets: Sequence[str], **fields: object) -> list[IterationSummary]:
    return [summary(Movement.SIDEWAYS, failing=tuple(names), tree=f"tree {at}", **fields) for at, names in enumerate(sets)]


def test_a_contradiction_about_a_file_that_the_loop_cannot_get_past_is_a_double_bind() -> None:
    assert find_double_bind(SRC, [summary(files=("src/api.py",))] * 3) == ("double_bind", SRC)


@pytest.mark.parametrize(
    "history",
    [
        [],
        [summary(files=("src/api.py",))] * 2,
        [summary(files=("src/api.py",)), summary(Movement.FORWARD, files=("src/api.py",)), summary(files=("src/api.py",))],
        [summary(Movement.SIDEWAYS, files=("src/api.py",), green=True, failing=(), tree=f"{at}") for at in range(9)],
        [summary(Movement.SIDEWAYS, files=("src/api.py",), checked=False, failing=(), tree=f"{at}") for at in range(9)],
        [summary(Movement.WAITED, files=("src/api.py",))] * 9,
    ],
    ids=["first", "two", "getting on", "small green tasks", "nothing is checked", "waiting"],
)
def test_progress_and_waits_get_no_diagnosis(history: list[IterationSummary]) -> None:
    assert find_double_bind(SRC, history) == ("none", SRC)


TESTS = (("t.py::test_a",), ("t.py::test_b",)) * 2


def test_failures_that_alternate_without_a_contradiction_are_forgetfulness() -> None:
    assert find_double_bind((), alternating(*TESTS)) == ("amnesiac", ())


def test_failures_that_alternate_with_a_contradiction_are_a_double_bind() -> None:
    assert find_double_bind(MOCKS, alternating(*TESTS))[0] == "double_bind"


def test_trees_that_alternate_are_forgetfulness() -> None:
    assert find_double_bind((), [summary(tree=tree) for tree in "abab"])[0] == "amnesiac"
    assert find_double_bind((), [summary(tree=tree) for tree in "abcd"])[0] == "none"
    assert find_double_bind((), [summary(tree="") for _ in "abab"])[0] == "none"


def test_a_double_bind_asks_a_person_with_both_sentences_and_their_places_and_leaves_the_ways_out_to_the_decision() -> None:
    signal = double_bind_alert("double_bind", SRC)
    assert signal is not None
    assert (signal.rule, signal.severity) == ("double_bind", Severity.PAUSE)
    for part in ("“Never touch `src/`.” (AGENTS.md:3)", "(goal:1)", "src/api.py", "a person has to choose"):
        assert part in signal.message
    assert "helmsman resume" not in signal.message


@given(st.text(max_size=300), st.text(max_size=200), st.integers(0, 10**6), st.sampled_from(["goal", "", "AGENTS.md"]))
@example("x" * 300, "p" * 200, 10**6, "")
@example("word " * 60, "p" * 200, 0, "goal")
def test_a_double_bind_is_told_whole_in_what_the_ladder_keeps_of_a_reason(text: str, place: str, line: int, start: str) -> None:
    one = Imperative(source=start or place, line=line, text=text, modality="must")
    found = Conflict(kind="scope", first=one, second=one.model_copy(update={"source": place}), about=text[:200])
    signal = double_bind_alert("double_bind", [found] * 5)
    assert signal is not None
    assert len(f"{signal.rule}: {signal.message}") <= LONGEST_REASON
    assert signal.message.endswith("a person has to choose")


def test_forgetfulness_redirects_to_the_notes() -> None:
    signal = double_bind_alert("amnesiac", ())
    assert signal is not None
    assert (signal.rule, signal.severity) == ("amnesiac", Severity.REDIRECT)
    assert "your notes" in signal.instruction
    assert len(signal.instruction) <= 500


def test_no_more_than_five_are_kept_those_that_matter_first() -> None:
    many: tuple[Conflict, ...] = (*MOCKS, *MOCKS, *MOCKS, *MOCKS, *MOCKS, *SRC)
    _, found = find_double_bind(many, [summary(files=("src/api.py",))] * 3)
    assert len(found) == 5
    assert found[0] == SRC[0]


A, B = red(SIDEWAYS, "test_a"), red(SIDEWAYS, "test_b")


def diagnosis_of(*steps: Step) -> Diagnosis:
    lived = history(*steps)
    return diagnose(lived, detect(lived, DetectConfig())[0])


@pytest.mark.feature("S5")
@pytest.mark.parametrize(
    "steps",
    [[green()] * 3, [A, *[green()] * 5, waited()], [step(FORWARD)] * 3],
    ids=["the same event, a new tree each time", "red before", "better each time"],
)
def test_a_stable_cycle_with_progress_is_productive(steps: list[Step]) -> None:
    assert diagnosis_of(*steps) == "productive"


@pytest.mark.feature("S5")
def test_a_stable_cycle_without_progress_is_stuck() -> None:
    cases = {
        "no change": [still()] * 4,
        "the same failure": [step(FORWARD), *[A] * 4],
        "empty sessions": [green(FORWARD), *[still(green=True, tool_calls=0)] * 2],
    }
    for case, steps in cases.items():
        assert diagnosis_of(*steps) == "stuck", case


@pytest.mark.feature("S5")
def test_returning_failures_are_amnesiac() -> None:
    cases = {
        "two failures in turn": [A, B, A, B],
        "a failure that was mended": [A, green(STILL), A, green(STILL)],
        "two trees in turn": [step(tree=name) for name in "abab"],
        "one failure again and again": [A, B, A, red(SIDEWAYS, "test_c"), A],
        "one failure traded for another and back": [red(FORWARD, "test_a"), B, A],
    }
    for case, steps in cases.items():
        assert diagnosis_of(*steps) == "amnesiac", case


@pytest.mark.feature("S5")
def test_what_came_back_long_ago_is_not_held_against_what_is_done_now() -> None:
    past = [A, green(), A, green(), A]
    assert diagnosis_of(*past, *[green()] * 3) == "productive"
    assert diagnosis_of(*past, *[still(green=True, completion=0.9)] * 4) == "stuck"


@pytest.mark.feature("S5")
@pytest.mark.parametrize("steps", [[], [A], [A, B], [A, green(), A, green()], [A, A, green()], [waited()] * 5])
def test_short_histories_get_no_diagnosis(steps: list[Step]) -> None:
    assert diagnosis_of(*steps) == "none"
