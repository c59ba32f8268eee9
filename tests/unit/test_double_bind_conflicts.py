"""Orders that contradict each other are found, with their kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.double_bind.conflicts import MOST_CONFLICTS, conflicts
from helmsman.oversee.double_bind.imperatives import imperatives
from helmsman.records.oversight import Conflict, Imperative

pytestmark = pytest.mark.feature("S11")

REAL = [
    ("pattern", "Add type hints to all functions.", "Do not add type hints."),
    ("pattern", "Create a dependency on `redis`.", "Do not introduce dependencies."),
    ("pattern", "You must use the `requests` library.", "Never use the `requests` library."),
    ("pattern", "Delete the test `test_legacy`.", "Tests must not be removed."),
    ("pattern", "All public functions must have docstrings. Add docstrings.", "Docstrings must not be added."),
    ("pattern", "Use mocks for the database.", "Don't use mocks."),
    ("pattern", "Commit `poetry.lock`.", "Never commit `poetry.lock`."),
    ("pattern", "Push to `main` when you are done. Always push.", "## Never\n- push"),
    ("pattern", "Rename the column `user`.", "- Columns must never be renamed."),
    ("pattern", "Keep the `v1` endpoints.", "Remove the `v1` endpoints."),
    ("pattern", "Always log the request body.", "Never log the request body."),
    ("scope", "Change `src/api.py` so that it returns 404.", "Never touch `src/`."),
    ("scope", "Fix the bug in `lib/core/parse.ts`.", "Leave `lib/core/` as it is."),
    ("scope", "Add a field to the class in `app/models.py`.", "`app/models.py` must stay unchanged."),
    ("scope", "Update `tests/test_api.py`.", "Do not modify tests."),
    ("scope", "Rename the public function `connect`.", "The public API must not be changed."),
    ("scope", "Edit `db/migrations/0007_users.py`.", "Do not edit migrations."),
    ("scope", "Update `CHANGELOG.md`.", "Only change files under `src/`."),
    ("scope", "Refactor `src/gen/client.go`.", "Do not edit files in `src/gen/`."),
    ("scope", "Add tests for the parser.", "Do not touch `tests/`."),
    ("scope", "Document the flag in `docs/cli.md`.", "Do not touch files outside `src/`."),
    ("scope", "Bump `requests` in `requirements.txt`.", "Dependencies must not be changed."),
    ("scope", "Remove the job from `.github/workflows/ci.yml`.", "## Off limits\n- `.github/`"),
    ("completeness", "Every module must be migrated to asyncio.", "Leave `src/billing.py` as it is."),
    ("completeness", "Convert all tests to pytest.", "Do not change the integration tests."),
    ("completeness", "Reach 100 % coverage. Raise coverage to 100 %.", "Do not add tests."),
    ("completeness", "Use the `tenacity` library for retries.", "No new dependencies."),
    ("completeness", "Rename every endpoint to the plural.", "Skip the admin endpoint."),
    ("priority", "Run the formatter before committing.", "Commit before running the formatter."),
    ("priority", "Prefer composition over inheritance.", "Prefer inheritance over composition."),
    ("priority", "Performance is the top priority.", "Readability is the most important thing."),
    ("priority", "Use tabs instead of spaces.", "Use spaces instead of tabs."),
]


def between(goal: str, rules: str) -> tuple[Conflict, ...]:
    return conflicts([*imperatives("goal", goal), *imperatives("AGENTS.md", rules)])


@pytest.mark.parametrize(("kind", "goal", "rules"), REAL)
def test_a_contradiction_is_found_with_its_kind(kind: str, goal: str, rules: str) -> None:
    found = between(goal, rules)
    assert [one.kind for one in found] == [kind]
    assert {found[0].first.source, found[0].second.source} == {"goal", "AGENTS.md"}


HELD_OUT = [
    ("Fix the time zone bug in `src/calendar/zones.py`.", "- The `src/calendar/` folder is read-only."),
    ("Update the README.md and the file `config/default.yml`.", "You must not modify `config/*.yml`."),
    ("Move the helper from `lib/a.js` to `lib/b.js`.", "## Do not touch\n\n- `lib/`\n- `bin/`"),
    ("Write integration tests for the payment flow.", "We never write integration tests."),
    ("The service must use a global singleton.", "Global singletons are forbidden."),
    ("Store the API token in the configuration file.", "Never store API tokens in files."),
    ("All components must be converted to TypeScript.", "Do not convert the chart component."),
    ("Add the `lodash` dependency.", "Adding dependencies is not allowed."),
    ("Coverage must reach 100%.", "Don't write new tests."),
    ("Deploy before the tests are run.", "Run the tests before you deploy."),
    ("Speed is the most important goal.", "The top priority is memory usage."),
]
"""Written after the rules. Nine were found at once; of the other three the one with a condition stays unfound."""


@pytest.mark.parametrize(("goal", "rules"), HELD_OUT)
def test_a_contradiction_in_other_words_is_found_as_well(goal: str, rules: str) -> None:
    assert len(between(goal, rules)) == 1


@pytest.mark.parametrize(
    ("goal", "rules"),
    [
        ("Change `src/api.py`.", "Never touch `src/` except `src/api.py`."),
        ("Change `src/api.py`.", "Do not change `src/api.py`, but you may fix bugs in it."),
        ("Change `src/api.py`.", "Never touch `vendor/`. You must update the docs."),
        ("Change `src/api.py`.", "Do not change files other than `src/api.py`."),
        ("Change `src/api.py`.", "Do not change `src/api.py.bak` or `src/api/`."),
        ("Never touch `src/`.", "Never touch `src/`."),
        ("Add a dependency on `redis`.", "Do not add dependencies unless the goal names them."),
        ("Delete the test `test_old`.", "Do not delete tests to make the suite pass."),
        ("Every module must be migrated. Leave `src/old.py` as it is.", "Be careful."),
        ("Every module must be migrated.", "Leave `vendor/six.py` as it is."),
        ("Update `src/api.py` to match `docs/spec.md`.", "Never edit `docs/spec.md`."),
        ("Add `tests/test_new.py`.", "Do not modify tests."),
        ("If a test is wrong, you must change it in `tests/`.", "Never touch `tests/`."),
    ],
)
def test_exceptions_narrower_orders_and_conditions_are_no_contradiction(goal: str, rules: str) -> None:
    assert between(goal, rules) == ()


def test_a_guide_in_a_folder_speaks_of_that_folder_alone() -> None:
    root, nested = imperatives("AGENTS.md", "Use mocks."), imperatives("packages/a/AGENTS.md", "Never use mocks.")
    assert conflicts([*root, *nested]) == ()
    assert len(conflicts([*root, *imperatives("CLAUDE.md", "Never use mocks.")])) == 1


def test_an_order_that_is_advice_on_both_sides_binds_nobody() -> None:
    assert between("You should use mocks.", "Avoid mocks. You should not use mocks.") == ()


def test_the_gravest_come_first_and_no_more_than_five() -> None:
    goal = "\n".join(
        ["- Performance is the top priority.", *(f"- Change `src/m{number}.py`." for number in range(9)), "- Use mocks."]
    )
    found = between(goal, "- Readability is the top priority.\n- Never touch `src/`.\n- Never use mocks.")
    assert [one.kind for one in found] == ["pattern", "scope", "scope", "scope", "scope"]
    assert len(found) == MOST_CONFLICTS


WORDS = st.sampled_from(
    [
        "must",
        "never",
        "do",
        "not",
        "add",
        "change",
        "tests",
        "`src/`",
        "`src/a.py`",
        "all",
        "every",
        "before",
        "only",
        "leave",
        "as",
        "it",
        "is",
        "use",
        "no",
        ",",
        ".",
        ";",
        ":",
        "the",
    ]
)
TEXTS = st.one_of(
    st.text(max_size=200), st.lists(WORDS, max_size=25).map(" ".join), st.lists(WORDS, max_size=25).map("\n- ".join)
)


@given(st.lists(TEXTS, max_size=6))
def test_whatever_stands_there_nothing_raises_and_the_same_is_found_again(texts: list[str]) -> None:
    orders = [order for number, text in enumerate(texts) for order in imperatives(f"{number}.md", text)]
    found = conflicts(orders)
    assert len(found) <= MOST_CONFLICTS
    assert found == conflicts(orders)


@given(st.lists(TEXTS, max_size=6))
def test_no_document_contradicts_its_own_copy_more_than_itself(texts: list[str]) -> None:
    orders = [order for text in texts for order in imperatives("AGENTS.md", text)]
    assert conflicts([*orders, *orders]) == conflicts(orders)


def test_a_thousand_hostile_orders_are_compared_to_the_end() -> None:
    change = [Imperative(source="a", text=f"Change `src/{'a/' * 40}{number}.py`", modality="must") for number in range(500)]
    never = [Imperative(source="b", text=f"Never touch `{'*a' * 6}{number}`", modality="must_not") for number in range(500)]
    assert conflicts([*change, *never]) == ()


@pytest.mark.parametrize(
    ("order", "ban"),
    [
        ("Rename the function `parse`.", "Do not rename all functions."),
        ("Delete the test `test_old`.", "Do not delete all tests."),
        ("You must log the request.", "Do not log every request."),
    ],
)
def test_what_is_forbidden_of_all_of_them_may_be_ordered_of_one(order: str, ban: str) -> None:
    assert conflicts((*imperatives("goal", order), *imperatives("AGENTS.md", ban))) == ()
    assert conflicts((*imperatives("goal", order), *imperatives("AGENTS.md", ban.replace("all ", "").replace("every ", "the "))))
