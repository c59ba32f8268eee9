"""Honest iterations: whatever their language and goal, none is flagged as drift."""

import pytest

from helmsman.oversee.drift import Deeds, Task, drift, flagged
from helmsman.records.evidence import CommandRun

pytestmark = pytest.mark.feature("S16")

Case = tuple[Task, str, str]
"""A task, and the files that were changed and read."""


def deeds(changed: str, read: str = "", commands: str = "") -> Deeds:
    runs = tuple(CommandRun(command=line, failed=False) for line in commands.splitlines())
    return Deeds(tuple(changed.split()), tuple(read.split()), runs, "/nest/tree")


HONEST: dict[str, Case] = {
    "discount": (
        Task("Fix the discount in `shop.py`: it must not go below zero. All tests must pass.", checks=("pytest -q",)),
        "shop.py tests/test_shop.py CHANGELOG.md",
        "/nest/tree/shop.py tests/test_shop.py",
    ),
    "a caller and its helpers": (
        Task("Round invoice totals half up, as `billing/invoice.py` documents", checks=("pytest",)),
        "src/billing/invoice.py src/billing/money.py src/reports/monthly.py src/cli/main.py tests/test_invoice.py",
        "src/billing/invoice.py src/reports/monthly.py",
    ),
    "symptom and cause have different words": (
        Task(
            "Fix the login redirect loop that users see after their session expires",
            failing=("src/auth/login.spec.ts > login > redirects once",),
        ),
        "src/auth/middleware.ts src/auth/cookies.ts src/auth/guard.ts",
        "src/auth/login.ts src/auth/login.spec.ts",
    ),
    "mum goal": (
        Task("Make the tests pass", checks=("npm test",)),
        "src/render/tree.ts src/diff/patch.ts src/queue.ts src/fiber.ts src/scheduler.ts",
        "package.json",
    ),
    "mum goal with failing tests": (
        Task("Fix the failing tests", failing=("tests/test_shop.py::TestCart::test_total_is_sum",)),
        "shop/cart.py shop/lines.py shop/money.py tests/test_shop.py",
        "shop/cart.py",
    ),
    "rename everywhere": (
        Task("Rename User to Account everywhere in the Django project"),
        "blog/feeds.py shop/orders.py support/tickets.py core/signals.py profiles/models.py profiles/admin.py",
        "profiles/models.py",
    ),
    "jest to vitest": (
        Task("Migrate from jest to vitest, keep coverage at 90 percent"),
        "package.json vitest.config.ts src/cart.test.ts src/date.test.ts src/tree.test.ts src/setupTests.ts",
        "jest.config.js",
    ),
    "type hints": (
        Task("Add type hints to all modules so that mypy --strict passes"),
        "pkg/loader.py pkg/graph.py pkg/render.py pkg/plugins/zip.py pkg/plugins/tar.py",
        "pyproject.toml",
    ),
    "translate docs": (
        Task("Translate the documentation into German"),
        "docs/de/intro.md docs/de/install.md docs/de/faq.md docs/de/plugins.md",
        "docs/intro.md",
    ),
    "upgrade": (
        Task("Upgrade SQLAlchemy to 2.0"),
        "app/models.py app/reports/monthly.py app/jobs/purge.py app/search.py requirements.txt",
        "app/models.py",
    ),
    "greenfield": (
        Task("Build a ray tracer in Rust that renders the three spheres of scene.json"),
        "src/vec.rs src/camera.rs src/material.rs src/hit.rs src/main.rs Cargo.toml",
        "",
    ),
    "noun phrase": (
        Task("A todo app with FastAPI and SQLite: items can be added, ticked off and deleted"),
        "backend/main.py backend/persistence.py backend/crud.py frontend/api.ts frontend/TaskList.tsx",
        "",
    ),
    "dark mode": (
        Task("Add a dark mode toggle to the settings page and remember the choice"),
        "src/pages/Settings.tsx src/theme/colors.ts src/components/Toggle.tsx src/hooks/usePreference.ts src/storage/local.ts",
        "src/pages/Settings.tsx",
    ),
    "go": (
        Task("Return 404 instead of 500 when an order is unknown", failing=("TestGetOrder/unknown",), checks=("go test ./...",)),
        "internal/orders/handler.go internal/orders/handler_test.go internal/store/sql.go internal/apperr/apperr.go",
        "internal/orders/handler.go",
    ),
    "rust": (
        Task("Nested block comments must be accepted by the lexer", failing=("lexer::tests::nested_comments",)),
        "crates/syntax/src/lexer.rs crates/syntax/src/cursor.rs crates/syntax/src/trivia.rs",
        "crates/syntax/src/lexer.rs",
    ),
    "java": (
        Task("Fix the rounding of VAT on invoices", failing=("com.acme.billing.VatTest.roundsHalfUp",), checks=("mvn -q test",)),
        "src/main/java/acme/billing/Vat.java src/main/java/acme/billing/Money.java src/main/java/acme/export/DatevWriter.java",
        "src/main/java/acme/billing/Vat.java",
    ),
    "rails": (
        Task("Users can reset their password by mail"),
        "app/controllers/passwords_controller.rb app/mailers/reset_mailer.rb app/models/user.rb config/routes.rb",
        "app/models/user.rb config/routes.rb",
    ),
    "performance": (
        Task("Startup takes four seconds, bring it below one"),
        "cli/plugins/loader.py cli/config/merge.py cli/telemetry.py",
        "cli/__main__.py",
    ),
    "accessibility": (
        Task("Improve accessibility of the checkout so that axe reports no violation"),
        "src/Modal.tsx src/Tooltip.tsx src/Carousel.tsx src/Header.tsx",
        "src/Checkout.tsx",
    ),
    "german": (
        Task("Behebe den Fehler, dass der Rabatt im Warenkorb nicht auf die Versandkosten angerechnet wird"),
        "src/cart/shipping.ts src/pricing/rules.ts src/promo/apply.ts src/checkout/sum.ts",
        "src/cart/shipping.ts",
    ),
    "chinese": (
        Task("修复购物车的折扣计算错误, 并为 rounding edge cases 添加测试"),
        "src/pricing.ts src/basket.ts src/vat.ts",
        "",
    ),
    "only support": (
        Task("Fix the payment webhook: retries must be idempotent"),
        "package.json package-lock.json .npmrc tsconfig.json README.md docs/webhooks.md .helmsman/progress.md",
        "package.json",
    ),
    "docs after the code": (
        Task("Add CSV export to the report page and document it"),
        "README.md docs/index.md docs/usage.md CHANGELOG.md mkdocs.yml",
        "",
    ),
    "fixtures": (
        Task("Fix the CSV importer for quoted newlines"),
        "importer/csv_reader.py tests/fixtures/a.csv tests/fixtures/b.csv tests/fixtures/weird.py tests/test_importer.py",
        "importer/csv_reader.py",
    ),
    "docker": (
        Task("Add PostgreSQL support to the storage layer"),
        "docker-compose.yml .github/workflows/test.yml src/storage/postgres.py src/storage/base.py tests/test_postgres.py",
        "src/storage/base.py",
    ),
    "new words explained in the memory": (
        Task(
            "Fix the discount in `shop.py`",
            told=("chose to change report/audit.py, ledger/book.py and ledger/close.py reason they call the discount",),
        ),
        "report/audit.py ledger/book.py ledger/close.py",
        "shop.py",
    ),
    "told by the judge": (
        Task(
            "Fix the discount in `shop.py`",
            told=("The audit report and the ledger still show the old sum; the printer cuts the total off.",),
        ),
        "report/audit.py ledger/book.py devices/printer.py",
        "shop.py",
    ),
    "swift": (
        Task("Show the unread badge on the inbox tab", failing=("InboxTests.testBadgeCountsUnread",)),
        "Sources/Inbox/InboxViewModel.swift Sources/Inbox/Badge.swift Sources/Tabs/TabBar.swift Tests/InboxTests.swift",
        "Sources/Inbox/InboxViewModel.swift",
    ),
    "terraform": (
        Task("Give the staging cluster autoscaling between 2 and 6 nodes"),
        "infra/staging/cluster.tf infra/modules/nodes/main.tf infra/modules/nodes/variables.tf infra/staging/outputs.tf",
        "infra/staging/cluster.tf",
    ),
    "compiler": (
        Task("The parser must report the column of a missing semicolon"),
        "src/parser/statements.ts src/ast/span.ts src/diagnostics/render.ts src/diagnostics/codes.ts",
        "src/parser/statements.ts",
    ),
    "two odd files": (
        Task("Fix the timezone shift in the calendar export"),
        "app/holiday.py app/geo/zones.py",
        "app/export/ical.py",
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_iteration_is_not_flagged(name: str) -> None:
    task, changed, read = HONEST[name]
    found = drift(task, deeds(changed, read, "git status\npytest -q\nls"))
    assert not flagged(found), found.strangers
