"""Drift: iterations whose changes are unrelated to the task."""

import pytest

from helmsman.oversee.drift import Task, describe_drift, is_off_task, measure_drift
from helmsman.records.agent import Drift, Execution
from tests.unit.builders import call, execution

pytestmark = pytest.mark.feature("S16")
TREE = "/nest/tree"
Case = tuple[Task, str, str]
"""A task, and the files that were changed and read."""


def goal(text: str, *failing: str) -> Task:
    return Task((text, *failing), ("pytest -q",))


def execution_of(changed: str, read: str = "") -> Execution:
    done = execution(call(looked=tuple(read.split())))
    return done.model_copy(update={"change": done.change.model_copy(update={"files": tuple(changed.split())})})


def drift_of(task: Task, changed: str, read: str = "") -> Drift:
    return measure_drift(task, execution_of(changed, read), TREE)


SHOP = goal("Fix the discount of the customer in `shop.py`")
STRANGE = "ui/theme.py games/snake.py radio/antenna.py"

# --- what is worth a word -----------------------------------------------------------------------------------------

HONEST: dict[str, Case] = {
    "tax by country": (
        goal("Customers in Norway pay 25 percent VAT"),
        "src/vat/norway.ts src/vat/index.ts src/checkout/address.ts test/vat.test.ts",
        "src/vat/index.ts",
    ),
    "symptom and cause have different words": (
        goal("Fix the login redirect loop after sessions expire", "src/auth/login.spec.ts > login > redirects once"),
        "src/auth/middleware.ts src/auth/cookies.ts src/auth/guard.ts",
        "src/auth/login.ts",
    ),
    "no file is named and none met": (goal("Make the tests pass"), "src/tree.ts src/patch.ts src/queue.ts", "package.json"),
    "the cause was read first": (
        goal("`reports/annual.py` prints negative zero for empty departments"),
        "numbers/decimal.py numbers/rounding.py numbers/text.py",
        "reports/annual.py numbers/decimal.py numbers/rounding.py numbers/text.py",
    ),
    "named file and its new helpers": (
        goal("Remove the quadratic loop from src/match/pairs.rs"),
        "src/match/pairs.rs src/kdtree/node.rs src/kdtree/build.rs src/kdtree/query.rs benches/pairs.rs",
        "src/match/pairs.rs",
    ),
    "only support": (
        goal("Fix the payment webhook: retries must be idempotent"),
        "package.json package-lock.json .npmrc tsconfig.json .helmsman/progress.md tests/fixtures/a.py vendor/six.py",
        "webhook/payment.py",
    ),
    "chinese": (goal("修复购物车的折扣计算错误"), "src/pricing.ts src/basket.ts src/vat.ts", ""),
    "two odd files": (goal("Fix the timezone shift in the calendar export"), "app/holiday.py geo/zone.py", "app/calendar.py"),
    "first step in a new package": (
        goal("Orders are sent to the warehouse over AMQP instead of by mail"),
        "broker/connection.py broker/publish.py broker/confirm.py",
        "orders/dispatch.py",
    ),
}
DRIFTING: dict[str, Case] = {
    "badges": (
        goal("Fix the crash on empty barcodes in `scan/barcode.py`"),
        "gamify/badges.py gamify/streaks.py gamify/leaderboard.py",
        "",
    ),
    "storybook": (
        goal("The currency converter uses yesterday's rates"),
        "stories/Button.stories.tsx stories/Card.stories.tsx stories/Modal.stories.tsx",
        "src/converter/rates.ts",
    ),
    "a web ui": (
        goal("A nested list loses its last element", "tests/test_parser.py::test_nested"),
        "webui/server.py webui/pages/home.html webui/pages/editor.html",
        "",
    ),
    "a game": (goal("Handle expired certificates in the TLS handshake"), STRANGE, "/nest/tree/pkg/tls/handshake.go"),
    "did it and added a forum": (
        goal("Fix the spelling of ordinals in `text/ordinals.rb`"),
        "text/ordinals.rb forum/topic.rb forum/reply.rb forum/vote.rb",
        "",
    ),
}


def test_of_honest_iterations_one_is_flagged_and_of_drifting_ones_all_that_left_the_task_alone() -> None:
    raised = [{name for name, case in cases.items() if is_off_task(drift_of(*case))} for cases in (HONEST, DRIFTING)]
    assert raised == [{"first step in a new package"}, DRIFTING.keys() - {"did it and added a forum"}]


# --- what is related ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["shop.py", "lib/shop.py", "tests/test_shop.py", "src/ShopWindow.tsx", "discounts.go", "applyDiscount.ts", "other.py"],
)
def test_a_file_is_related_by_path_word_or_folder(path: str) -> None:
    assert drift_of(SHOP, path) == Drift(deeds=1, related=1)


def test_an_item_a_finding_or_a_test_that_names_the_files_makes_them_part_of_the_task() -> None:
    assert is_off_task(drift_of(SHOP, STRANGE))
    for task in (
        Task((*SHOP.texts, "The theme of the snake and its antenna")),
        Task((*SHOP.texts, "`ui/theme.py`, games/snake.py and radio/antenna.py call it")),
        Task((*SHOP.texts, "radio/test_antenna.py::test_a", "games/test_snake.py::test_b", "ui/test_theme.py::test_c")),
    ):
        assert not is_off_task(drift_of(task, STRANGE))


# --- whatever is written ------------------------------------------------------------------------------------------

HOSTILE = ["x" * 10_000, "a/" * 5_000 + "b.py", "../" * 3_000 + "a", "." * 10_000, "a.b" * 3_000, "\\" * 10_000, "\x1b[2J.py"]


def is_expected(seen: Drift) -> bool:
    kept = all(path and len(path) <= 160 and path.isprintable() and "`" not in path for path in seen.strangers)
    sound = (
        0 <= seen.related <= seen.deeds
        and len(seen.strangers) <= 10
        and Drift.model_validate_json(seen.model_dump_json()) == seen
    )
    return kept and sound and len(describe_drift(seen)) < 2000 and "\n" not in describe_drift(seen)


@pytest.mark.parametrize("path", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_path_is_taken_as_any_other(path: str) -> None:
    assert is_expected(drift_of(SHOP, path, path))
    assert is_expected(drift_of(Task((path,) * 4, (path,)), f"radio/antenna.py {path}", path))
