"""The report as people see it: opened from a file in a real browser."""

import socket
from pathlib import Path

import pytest
from playwright.sync_api import Page

from helmsman.render.report import html_report as page_of
from tests.fakes.browser import PageLog, browser_page
from tests.unit.full_records import full_record, full_state, overwritten

pytestmark = [pytest.mark.timeout(300), pytest.mark.feature("H4")]  # the first test of a worker also starts the engine

REF = "refs/helmsman/mend-it/state"
BREAKING_OUT = (
    "</style></title></pre>\"'><script>document.title='taken'</script><img src=https://evil.invalid/x onerror=alert(1)>"
)
OWN_WORDS = "Iterations, newest first"


def keep(folder: Path, html: str) -> str:
    """The address of a file with this page."""
    (folder / "report.html").write_text(html, encoding="utf-8")
    return (folder / "report.html").as_uri()


def full_page() -> str:
    return page_of(full_state(), [full_record(iteration=number, attempt=1) for number in range(1, 8)], REF)


def charts(page: Page) -> dict[str, tuple[float, float]]:
    """Titles of the charts that can be seen, with their size."""
    found = page.locator("svg.chart").all()
    boxes = {chart.get_attribute("aria-label") or "": chart.bounding_box() for chart in found if chart.is_visible()}
    return {title: (box["width"], box["height"]) for title, box in boxes.items() if box}


def overflow(page: Page) -> int:
    """Pixels that one would have to scroll sideways."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def cut_off(page: Page) -> list[str]:
    """Titles of the charts that do not fit into their frame; the picture of a plan may be wider, and is scrolled."""
    found = page.locator(".charts:not(.plan) figure").all()
    return [one.inner_text() for one in found if one.evaluate("one => one.scrollWidth > one.clientWidth")]


def assert_quiet(heard: PageLog, address: str) -> None:
    assert heard.problems == []
    assert heard.requests == [address]


@pytest.mark.slow
def test_charts_are_large_enough_to_be_read_and_nothing_has_to_be_scrolled_sideways(tmp_path: Path) -> None:
    address = keep(tmp_path, full_page())
    for width in (1280, 700, 390):
        with browser_page(width=width) as (page, heard):
            page.goto(address)
            page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
            assert overflow(page) == 0
            assert all(wide >= 320 and high >= 50 for wide, high in charts(page).values())
            assert len(charts(page)) == 6
            assert cut_off(page) == []
            assert_quiet(heard, address)


@pytest.mark.feature("X3")
def test_foreign_text_does_nothing_in_a_browser(tmp_path: Path) -> None:
    html = page_of(overwritten(full_state(), BREAKING_OUT), [overwritten(full_record(), BREAKING_OUT)], BREAKING_OUT)
    address = keep(tmp_path, html)
    with browser_page() as (page, heard):
        page.goto(address)
        assert_quiet(heard, address)
        assert page.title().startswith(BREAKING_OUT)
        assert page.locator("script, img, iframe").count() == 0
        assert page.get_by_text(OWN_WORDS).is_visible()
        assert page.locator("h1").inner_text() == BREAKING_OUT


@pytest.mark.feature("X3")
def test_even_markup_that_broke_out_could_do_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere, browser_page() as (page, heard):
        image = f"<img id=spy src=http://127.0.0.1:{elsewhere.getsockname()[1]}/x onerror=\"document.title='taken'\">"
        broken = full_page().replace("<main>", f"<script>document.title='taken'</script>{image}<main style='color: red'>")
        page.goto(keep(tmp_path, broken))
        assert page.locator("#spy").count() == 1  # it did break out
        assert page.title() != "taken"
        assert page.locator("main").evaluate("one => getComputedStyle(one).color") != "rgb(255, 0, 0)"
        assert len([said for said in heard.problems if "Content Security Policy" in said]) >= 3
        elsewhere.setblocking(False)
        with pytest.raises(BlockingIOError):
            elsewhere.accept()  # nobody came
