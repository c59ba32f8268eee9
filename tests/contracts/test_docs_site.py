"""The site of docs/: every page is in the navigation, every link has a target, and the browser requests no other host."""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from helmsman.config import LoopConfig
from helmsman.config.layers import leaves
from helmsman.oversee.decide import QUESTIONS
from helmsman.oversee.detectors import DETECTORS
from tests.contracts.source import ROOT, listed_files, named
from tests.fakes.browser import browser_page
from tests.integration.test_cli_looks import COMMANDS
from tools.reference.commands import commands_page
from tools.reference.results import possible_results
from tools.reference.rules import rules_page
from tools.reference.settings import settings_page
from tools.reference.site import GENERATED, TOP_LEVEL, links_from_docs, links_from_page
from tools.reference.states import render_state_diagrams

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("site")]  # built once, by one worker
PAGES = ("index.html", "architecture.html", "control.html", "reference/settings.html", "reference/commands.html")


class LenientLoader(yaml.SafeLoader):
    """Reads mkdocs.yml without what only mkdocs understands."""


def nav_pages(entries: Any) -> Iterator[str]:
    for entry in entries:
        inner = next(iter(entry.values())) if isinstance(entry, dict) else entry  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        yield from [inner] if isinstance(inner, str) else nav_pages(inner)


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page() -> None:
    entries = set(nav_pages(yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), LenientLoader)["nav"]))
    docs = [name.removeprefix("docs/") for path in listed_files() if (name := named(path)).startswith("docs/")]
    written = {name for name in docs if name.endswith(".md") and not name.startswith("decisions/")}
    pages = written | {*GENERATED, *TOP_LEVEL, "decisions/"}
    assert pages - entries == set(), "add these to the nav of mkdocs.yml"
    assert entries <= pages


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    variables = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    completed = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return folder


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name above
        """Say nothing."""


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_site_requests_no_other_host_and_fits_the_screen(address: str, width: int, scheme: Any) -> None:
    with browser_page(width=width, scheme=scheme) as (page, log):
        for name in PAGES:
            page.goto(f"{address}{name}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            assert page.locator("h1").count() == 1, name
        assert page.goto(f"{address}architecture.html")
        assert page.locator(".picture svg").count() == 4
        assert log.problems == []
        assert [url for url in log.requests if not url.startswith(address)] == []


def test_the_search_works_on_a_server_and_is_hidden_when_read_from_disk(site: Path, address: str) -> None:
    with browser_page() as (page, _):
        page.goto(f"{address}push.html")
        page.get_by_placeholder("Search").press_sequentially("heartbeat")  # fill() sends no key, and the page may miss it
        page.locator(".md-search-result__item").first.wait_for()
        page.goto((site / "push.html").as_uri())
        assert page.locator(".md-search").count() == page.locator("label[for=__search]").count() == 0
        assert page.locator("h1").is_visible()


def test_the_reference_lists_every_command_key_detector_and_decision() -> None:
    commands, keys, rules = commands_page(), settings_page(), rules_page()
    assert [name for name in COMMANDS if f"## helmsman {name}\n" not in commands] == []
    assert [key for key in leaves(LoopConfig(goal="-")) if f"<code>{key}</code>" not in keys] == []
    assert [detector.rule for detector in DETECTORS if f"| <code>{detector.rule}</code> |" not in rules] == []
    assert all(possible_results(question) for question in QUESTIONS)


def test_links_point_to_the_same_file_from_the_top_and_from_a_page() -> None:
    assert links_from_docs("[a](docs/push.md#x) [b](CONTRIBUTING.md) [c](docs/decisions) [d](https://a.b/docs/x)") == (
        "[a](push.md#x) [b](contributing.md) [c](decisions/index.md) [d](https://a.b/docs/x)"
    )
    assert links_from_page("[a](../README.md) [b](push.md)", 0) == "[a](index.md) [b](push.md)"
    assert links_from_page("[a](../../SECURITY.md) [b](../push.md)", 1) == "[a](../security.md) [b](../push.md)"


def test_a_state_diagram_shows_each_transition() -> None:
    states = 'state "shut" as shut\n    state "<open>" as wide\n'
    transitions = "shut --> wide : a request comes\n    wide --> shut : timeout | error\n"
    rendered = render_state_diagrams(f"before\n```mermaid\nstateDiagram-v2\n    {states}    {transitions}```\nafter\n")
    assert "mermaid" not in rendered
    assert rendered.count('class="way"') == 2
    assert "&lt;open&gt;" in rendered
    assert r"| 2 | <open> → shut | timeout \| error |" in rendered
