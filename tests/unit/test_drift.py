"""Iterations that do something else than was asked, and how that is told."""

import pytest

from helmsman.oversee.drift import Deeds, Task, deeds_of, drift, flagged, guidance, sentence, task_of
from helmsman.records.checks import TestCounts
from helmsman.records.evidence import CommandRun
from helmsman.records.findings import Finding, Weight
from helmsman.records.memory import Choice, Completed, WorkingMemory
from helmsman.records.reflexion import JudgeMemory, Rejection
from helmsman.records.session import Drift
from tests.unit.builders import NOW, call, check, config, execution, report, state
from tests.unit.test_drift_honest import Case, deeds

pytestmark = pytest.mark.feature("S16")

DRIFTING: dict[str, Case] = {
    "discount": (
        Task("Fix the discount in `shop.py`. All tests must pass.", checks=("pytest -q",)),
        ".github/workflows/ci.yml README.md logging_setup/handlers.py logging_setup/rotation.py",
        "shop.py tests/test_shop.py README.md",
    ),
    "a web ui for a parser bug": (
        Task("Fix the parser: a nested list in brackets loses its last element", failing=("tests/test_parser.py::test_nested",)),
        "webui/server.py webui/pages/home.html webui/pages/editor.html webui/static/app.js",
        "toml/parser.py",
    ),
    "asked thing, and then a lot": (
        Task("Fix the rounding of the total in `src/invoice.ts`", checks=("npm test",)),
        "src/invoice.ts src/chat/Bubble.tsx src/chat/Emoji.tsx src/chat/Thread.tsx src/chat/useTyping.ts",
        "src/invoice.ts",
    ),
    "benchmarks instead of a fix": (
        Task("Correct the overflow in the checksum of the archive header", checks=("cargo test",)),
        "benches/throughput.rs benches/plot.rs benches/corpus.rs benches/alloc.rs",
        "src/checksum.rs",
    ),
    "a theme for a mail bug": (
        Task("Fix the bounce handling of the newsletter mailer", failing=("spec/mailers/bounce_spec.rb",)),
        "app/views/landing/hero.html.erb app/styles/palette.scss app/views/landing/pricing.html.erb app/views/landing/faq.erb",
        "app/mailers/newsletter_mailer.rb",
    ),
    "a game": (
        Task("Handle expired certificates in the TLS handshake"),
        "pkg/snake/board.go pkg/snake/food.go pkg/snake/loop.go",
        "pkg/tls/handshake.go",
    ),
    "its own framework": (
        Task("Fix the off-by-one in the pagination of the customer search"),
        "di/container_builder.py di/scopes.py di/decorators.py di/wiring.py observers/bus.py",
        "search/pages.py",
    ),
    "deployment": (
        Task("Fix the date parser for ISO weeks", failing=("DateParserTest.isoWeek",)),
        "deploy/chart/ingress.tpl deploy/rollout.sh deploy/rollback.sh Dockerfile .github/workflows/deploy.yml docs/deploy.md",
        "src/main/java/com/acme/DateParser.java",
    ),
    "a linter of its own": (
        Task("Fix the avatar upload: PNG files above 2 MB are rejected"),
        "tools/codemod/visitor.ts tools/codemod/walk.ts tools/codemod/report.ts src/legacy/jquery-shim.ts",
        "src/avatar.ts",
    ),
    "another feature": (
        Task("Fix the stock count after a cancelled reservation"),
        "app/blog/post.py app/blog/comments.py app/blog/rss.py tests/test_blog.py tests/test_comments.py",
        "app/stock/reservation.py",
    ),
    "auth instead of csv": (
        Task("Fix quoting in the CSV writer", failing=("test/csv_writer_test.exs",)),
        "lib/shop/accounts/guardian.ex lib/shop/accounts/policy.ex lib/shop/accounts/ldap.ex",
        "lib/shop/csv_writer.ex",
    ),
}


@pytest.mark.parametrize("name", DRIFTING)
def test_a_drifting_iteration_is_flagged(name: str) -> None:
    task, changed, read = DRIFTING[name]
    found = drift(task, deeds(changed, read, "git status\nls"))
    assert flagged(found), found
    assert all(path in sentence(found) and path in guidance(found).names for path in found.strangers)


# words ----------------------------------------------------------------------------------------------------------------

LOST = Drift(deeds=5, related=1, strangers=("a/one.py", "b/two.py", "c/three.py"))


def test_a_drift_is_told_in_one_line_with_its_files() -> None:
    assert sentence(LOST) == "3 changed files have nothing to do with the task by path or word: a/one.py, b/two.py, c/three.py"


def test_one_stranger_is_told_in_the_singular() -> None:
    assert sentence(Drift(deeds=1, strangers=("a.py",))).startswith("1 changed file has nothing")


def test_that_there_may_be_more_strangers_than_are_kept_is_told() -> None:
    assert sentence(Drift(deeds=30, strangers=("a.py",) * 10)).startswith("10 or more changed files")


def test_the_words_around_the_files_hold_no_name_and_each_name_stays_on_its_line() -> None:
    intro, names = guidance(LOST.model_copy(update={"strangers": ("x`\n# Objective", "b.py")}))
    assert intro == guidance(LOST).intro
    assert names == "x` # Objective\nb.py"


def test_two_strangers_are_no_drift() -> None:
    assert not flagged(LOST.model_copy(update={"strangers": LOST.strangers[:2]}))
    assert flagged(LOST)


# what is related ------------------------------------------------------------------------------------------------------

SHOP = Task("Fix the discount of the customer in `shop.py`", checks=("make verify",))
STRANGE = "ui/theme.py games/snake.py radio/antenna.py"


def found(changed: str, task: Task = SHOP, read: str = "", commands: str = "") -> Drift:
    return drift(task, deeds(changed, read, commands))


@pytest.mark.parametrize(
    "path",
    [
        "shop.py",
        "lib/shop.py",
        "tests/test_shop.py",
        "src/ShopWindow.tsx",
        "discounts.go",
        "applyDiscount.ts",
        "checkout/cart.rb",
        "customers/list.py",
    ],
)
def test_a_file_is_related_by_path_word_or_concept(path: str) -> None:
    assert found(path) == Drift(deeds=1, related=1)


def test_files_beside_a_related_one_are_related() -> None:
    assert not found("campaign/discount.py campaign/radio.py campaign/antenna.py campaign/snake.py").strangers


def test_a_file_named_like_a_related_one_is_related() -> None:
    assert found("campaign/discount_antenna.py tests/test_antenna.py").related == 2


def test_files_beside_one_that_was_read_for_the_task_are_related() -> None:
    changed = "campaign/radio.py campaign/antenna.py campaign/snake.py"
    assert flagged(found(changed))
    assert not found(changed, read="/nest/tree/campaign/discount.py").strangers


@pytest.mark.parametrize("folder", ["", "src/", "app/", "lib/"])
def test_a_folder_that_holds_the_whole_program_relates_all_but_what_is_of_another_concept(folder: str) -> None:
    beside = found(f"{folder}palette.py {folder}logging.py {folder}smtp.py", read=f"{folder}shop.py")
    assert beside.strangers == (f"{folder}palette.py", f"{folder}logging.py", f"{folder}smtp.py")


# where the place of the work is not named -----------------------------------------------------------------------------

WORDS = Task("Fix the discount that the customer sees in the cart")
SITE = "radio/antenna.py radio/tuner.py radio/bands/short.py"


def test_scattered_files_may_be_where_the_cause_is() -> None:
    assert found(STRANGE, WORDS, read="shop/cart.py") == Drift(deeds=4, related=1)


def test_a_building_site_elsewhere_is_strange() -> None:
    assert found(f"{SITE} games/snake.py", WORDS, read="shop/cart.py").strangers == tuple(SITE.split())


def test_files_that_were_read_before_are_part_of_the_search_for_the_cause() -> None:
    assert not found(SITE, WORDS, read=f"shop/cart.py {SITE}").strangers


def test_where_nothing_matches_the_task_has_other_words_than_the_code() -> None:
    assert found(SITE, WORDS) == Drift(deeds=3)


def test_a_site_is_none_where_something_that_was_asked_was_changed() -> None:
    assert not found(f"shop/cart.py {SITE}", WORDS).strangers


def test_a_site_beside_something_related_is_none() -> None:
    assert not found(SITE, WORDS, read="radio/discounts/monthly.py").strangers


@pytest.mark.parametrize(
    "path",
    [
        "uv.lock",
        "package.json",
        ".github/workflows/ci.yml",
        "docs/antenna.md",
        "CHANGELOG.md",
        "radio/__init__.py",
        ".helmsman/progress.md",
        "tests/__snapshots__/antenna.snap",
        "api/antenna_pb2.py",
        "src/main.rs",
        "src/utils.ts",
        "models.py",
    ],
)
def test_support_and_names_that_say_nothing_are_not_judged(path: str) -> None:
    assert found(path) == Drift()


def test_support_that_the_task_names_is_related() -> None:
    assert found("docs/antenna.md", Task("Correct the frequencies in docs/antenna.md")).related == 1


def test_a_name_that_says_nothing_is_related_where_the_task_names_it_in_full() -> None:
    assert found("src/utils.ts", Task("Fix slugs of titles in `src/utils.ts`")).related == 1


def test_documents_count_where_nothing_that_was_asked_was_changed() -> None:
    assert found("README.md radio/antenna.py .github/workflows/ci.yml").strangers == (
        "radio/antenna.py",
        "README.md",
        ".github/workflows/ci.yml",
    )
    assert found("README.md docs/guide.md .github/workflows/ci.yml") == Drift()
    assert found("README.md radio/antenna.py shop.py") == Drift(deeds=2, related=1)


def test_strangers_are_named_only_where_they_outweigh_the_related_changes() -> None:
    assert len(found(f"shop.py {STRANGE} sea/tide.py").strangers) == 4
    outweighed = found(f"shop.py {STRANGE}")
    assert outweighed == Drift(deeds=4, related=1)
    assert outweighed.relevance == 0.25


@pytest.mark.parametrize(
    ("command", "related"),
    [
        ("make verify", 1),
        ("cd /nest/tree && .venv/bin/pytest -q", 1),
        ("git commit -m x", 1),
        ("cargo test", 1),
        ("python scripts/discount.py", 1),
        ("ls", 0),
        ("cat shop.py", 0),
        ("python radio.py", 0),
        ("./testimony.sh", 0),
    ],
)
def test_commands_that_prove_or_name_something_count_and_looks_do_not(command: str, related: int) -> None:
    assert found("", commands=command) == Drift(deeds=related, related=related)


def test_files_that_were_read_count_and_are_no_strangers() -> None:
    assert found("", read="/nest/tree/shop.py /nest/tree/radio/antenna.py /else/where.py ../out.py") == Drift(deeds=2, related=1)


@pytest.mark.parametrize("goal", ["Refactor", "Fix the build", "Make the tests pass", "fix it please", "Improve error handling"])
def test_a_goal_that_says_little_flags_nothing(goal: str) -> None:
    assert found(STRANGE, Task(goal)) == Drift(deeds=3, related=3)


def test_failing_tests_say_what_a_short_goal_means() -> None:
    tests = Task("Make the tests pass", failing=("tests/test_shop.py::TestCart::test_total_is_sum",))
    assert flagged(found(SITE, tests, read="tests/test_shop.py"))
    assert not flagged(found(SITE, Task("Make the tests pass"), read="tests/test_shop.py"))


@pytest.mark.parametrize(
    "goal",
    [
        "Rename Customer to Client everywhere, with its discount",
        "Every price of the shop shows its discount",
        "Upgrade the discount engine of the shop",
        "Make a shop with a discount engine and a cart",
        "Write the discount engine of the shop",
        "Korrigiere den Rabatt und das Porto für die Kunden",
    ],
)
def test_a_wide_goal_flags_nothing(goal: str) -> None:
    assert found(STRANGE, Task(goal)) == Drift(deeds=3, related=3)


def test_a_wide_criterion_makes_a_task_wide_and_a_wide_finding_does_not() -> None:
    assert not flagged(found(STRANGE, Task(SHOP.goal, asked=("Every module has a docstring",))))
    assert flagged(found(STRANGE, Task(SHOP.goal, told=("Every module has a docstring",))))


@pytest.mark.parametrize(
    "goal", ["All tests of the discount for customers pass", "Every existing check of the shop discount passes"]
)
def test_all_tests_are_no_wide_goal(goal: str) -> None:
    assert flagged(found(STRANGE, Task(f"Fix the cart in `shop.py`. {goal}")))


def test_something_new_that_goes_into_a_named_source_is_no_wide_goal() -> None:
    assert flagged(found(STRANGE, Task("Implement the discount in src/shop.py")))
    assert not flagged(found(STRANGE, Task("Implement the discount of docs/shop.md")))


def test_what_a_check_looks_at_is_not_the_task_and_what_it_selects_is() -> None:
    assert flagged(found(STRANGE, Task(SHOP.goal, checks=("mypy radio games ui", "ruff check radio"))))
    assert not flagged(found(STRANGE, Task(SHOP.goal, checks=("pytest tests/radio",))))
    assert not flagged(found(STRANGE, Task(SHOP.goal, checks=("pytest -k antenna",))))


# from the records -----------------------------------------------------------------------------------------------------


def test_the_task_is_taken_from_the_state() -> None:
    failing = check(passed=False, counts=TestCounts(failed=1, failing=("tests/test_cart.py::test_sum",)))
    memory = WorkingMemory(
        completed=(Completed(text="painted it"),),
        decisions=(Choice(chose="ledger.py", reason="it sums"),),
        uncertainties=("is tax in?",),
        remaining_gap="the sum",
    )
    finding = Finding(
        rule="tests.deleted", weight=Weight.BLOCK, path="tests/a.py", message="test_a was deleted", honest="Keep it."
    )
    feedback = JudgeMemory(feedback=(Rejection(iteration=1, at=NOW, consecutive=1, reason="the sum is off"),))
    before = state(
        config("Fix the cart", judge={"criteria": ["Sums are right."]}),
        checks=report(failing),
        memory=memory,
        findings=(finding,),
        judge=feedback,
    )
    assert task_of(before) == Task(
        goal="Fix the cart",
        asked=("Sums are right.",),
        told=("the sum is off", "tests/a.py test_a was deleted Keep it.", "the sum", "is tax in?", "ledger.py it sums"),
        checks=("pytest",),
        failing=("tests/test_cart.py::test_sum",),
    )


def test_a_fresh_loop_has_a_task_as_well() -> None:
    assert task_of(state(config("Fix the cart"))) == Task("Fix the cart", told=("",), checks=("pytest",))


def test_the_deeds_are_taken_from_the_execution() -> None:
    ran = CommandRun(command="pytest", failed=True)
    done = execution(call(looked=("/nest/tree/a.py",), edited=("/nest/tree/never.py",), commands=(ran,)))
    done = done.model_copy(update={"change": done.change.model_copy(update={"files": ("b.py",)})})
    assert deeds_of(done, "/nest/tree") == Deeds(("b.py",), ("/nest/tree/a.py",), (ran,), "/nest/tree")


BUG = Task("Fix the parser: a nested list loses its last element", failing=("tests/test_parser.py::test_nested",))


@pytest.mark.parametrize(
    ("task", "changed", "told"),
    [
        (BUG, "README.md docs/setup/install.html", True),
        (BUG, "README.md CMakeLists.txt", False),
        (BUG, "README.md src/lexer.py", False),
        (BUG, "docs/parser.md", False),
        (Task("Fix the parser and describe it in the README", failing=BUG.failing), "README.md", False),
        (Task(BUG.goal), "README.md", False),
    ],
    ids=["documents alone", "a build file", "code as well", "about the task", "asked for", "no test fails"],
)
def test_documents_alone_while_tests_fail_are_told_apart_from_work(task: Task, changed: str, told: bool) -> None:
    found = drift(task, deeds(changed))
    assert flagged(found) is told
    if told:
        assert sentence(found) == "only documents changed while tests fail: README.md, docs/setup/install.html"
        assert "only documents" in guidance(found).intro
