"""Instructions in documents: which sentences order something, and which contradict each other."""

import pytest

from helmsman.oversee.conflicts import MOST_CONFLICTS, find_conflicts
from helmsman.oversee.imperatives import LONGEST_TEXT, MOST_IMPERATIVES, read_imperatives
from helmsman.records.control import Conflict, Imperative
from tests.unit.honest_projects import PROJECTS, orders_of


def instructions_of(text: str) -> list[tuple[int, str, str]]:
    return [(order.line, order.modality, order.text) for order in read_imperatives("AGENTS.md", text)]


@pytest.mark.feature("S11")
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


@pytest.mark.feature("S11")
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


@pytest.mark.feature("S11")
def test_items_under_a_heading_that_forbids_are_forbidden_until_the_next_heading() -> None:
    text = "## Do not\n- add mocks\n- Never sleep\n- You must say why\n### More\n- rename files\n## Do\n- add tests\n"
    assert instructions_of(text) == [
        (2, "must_not", "Do not: add mocks"),
        (3, "must_not", "Never sleep"),
        (4, "must", "You must say why"),
        (6, "must_not", "Do not: rename files"),
        (8, "must", "add tests"),
    ]


@pytest.mark.feature("S11")
def test_a_sentence_with_two_orders_is_two() -> None:
    assert instructions_of("Never edit `dist/`; change `src/`.") == [
        (1, "must_not", "Never edit `dist/`"),
        (1, "must", "change `src/`."),
    ]
    assert instructions_of("Use fixtures and never use mocks.") == [
        (1, "must", "Use fixtures"),
        (1, "must_not", "never use mocks."),
    ]


@pytest.mark.feature("S11")
def test_a_sentence_with_a_condition_or_an_exception_is_whole() -> None:
    whole = "Never edit `dist/`; change it except in tests."
    assert instructions_of(whole) == [(1, "must_not", whole)]
    assert instructions_of("Fix the bug without changing the API.") == [(1, "must", "Fix the bug without changing the API.")]


@pytest.mark.feature("S11")
@pytest.mark.parametrize(
    "piece", ["leave ", "Never a. ", "- Never x\n", "**", "keep a as ", "if , ", "Do not:\n", "# a\n", "X. `", "<!--"]
)
def test_a_long_hostile_text_is_read_to_its_bounds(piece: str) -> None:
    found = read_imperatives("x", piece * 50_000)
    assert len(found) <= MOST_IMPERATIVES
    assert all(len(order.text) <= LONGEST_TEXT for order in found)


def between(goal: str, rules: str) -> tuple[Conflict, ...]:
    return find_conflicts([*read_imperatives("goal", goal), *read_imperatives("AGENTS.md", rules)])


@pytest.mark.feature("S11")
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


@pytest.mark.feature("S11")
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


@pytest.mark.feature("S11")
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


@pytest.mark.feature("S11")
@pytest.mark.parametrize("project", PROJECTS, ids=range(len(PROJECTS)))
def test_an_honest_project_has_no_contradiction(project: str) -> None:
    assert len(orders_of(project)) > 0
    assert [f"{one.kind}: {one.first.text} | {one.second.text}" for one in find_conflicts(orders_of(project))] == []


@pytest.mark.feature("S11")
def test_the_gravest_come_first_and_no_more_than_five() -> None:
    goal = "\n".join(["- Use tabs instead of spaces.", *(f"- Change `src/m{number}.py`." for number in range(9)), "- Use mocks."])
    found = between(goal, "- Use spaces instead of tabs.\n- Never touch `src/`.\n- Never use mocks.")
    assert [one.kind for one in found] == ["pattern", "scope", "scope", "scope", "scope"]
    assert len(found) == MOST_CONFLICTS


@pytest.mark.feature("S11")
def test_a_thousand_hostile_instructions_are_compared_to_the_end() -> None:
    change = [Imperative(source="a", text=f"Change `src/{'a/' * 40}{number}.py`", modality="must") for number in range(500)]
    never = [Imperative(source="b", text=f"Never touch `{'*a' * 40}{number}`", modality="must_not") for number in range(500)]
    assert find_conflicts([*change, *never]) == ()
