"""A real browser without a screen, for what people look at."""

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from playwright.sync_api import Page, sync_playwright

from tests.fakes.requirements import need

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = ("--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync")
"""Flags that stop the browser's own requests."""
PATIENCE = 30_000
"""Milliseconds that the browser may take for one thing, on a busy machine as well."""


@dataclass(frozen=True)
class PageLog:
    """Console problems and requests of a page."""

    problems: list[str] = field(default_factory=list[str])
    """Warnings and errors of its console, and what broke in it."""
    requests: list[str] = field(default_factory=list[str])
    """Addresses, those of data in the page itself left out."""


@contextmanager
def browser_page(
    *, scheme: Literal["light", "dark"] = "light", width: int = 1280, height: int = 900
) -> Generator[tuple[Page, PageLog]]:
    """An empty page in a new browser, and its log. Skips the test without a browser."""
    need("browser")
    with tempfile.TemporaryDirectory(prefix="helmsman-browser-") as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(),
            args=[*QUIET, *sandbox_flags()],
            env={"HOME": home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
        )
        try:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.set_default_timeout(PATIENCE)
            yield page, _record(page)
        finally:
            browser.close()


def find_browser() -> str | None:
    """Where it is installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def sandbox_flags() -> list[str]:
    """Its sandbox refuses to work for root."""
    return ["--no-sandbox"] if os.geteuid() == 0 else []


def _record(page: Page) -> PageLog:
    heard = PageLog()
    page.on("console", lambda said: heard.problems.append(said.text) if said.type in {"warning", "error"} else None)
    page.on("pageerror", lambda error: heard.problems.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith("data:") else heard.requests.append(asked.url))
    return heard
