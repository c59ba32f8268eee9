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
from tools.reference.chances import ways_of
from tools.reference.commands import commands_page
from tools.reference.rules import rules_page
from tools.reference.settings import settings_page
from tools.reference.site import BESIDE, MADE, from_above, from_docs
from tools.reference.states import without_mermaid

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("site")]  # built once, by one worker
LOOKED_AT = ("index.html", "architecture.html", "control.html", "reference/settings.html", "reference/commands.html")


class Plain(yaml.SafeLoader):
    """Reads mkdocs.yml without what only mkdocs understands."""


def in_nav(entries: Any) -> Iterator[str]:
    for entry in entries:
        inner = next(iter(entry.values())) if isinstance(entry, dict) else entry  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        yield from [inner] if isinstance(inner, str) else in_nav(inner)


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page() -> None:
    entries = set(in_nav(yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Plain)["nav"]))
    docs = [name.removeprefix("docs/") for path in listed_files() if (name := named(path)).startswith("docs/")]
    written = {name for name in docs if name.endswith(".md") and not name.startswith("decisions/")}
    pages = written | {*MADE, *BESIDE, "decisions/"}
    assert pages - entries == set(), "add these to the nav of mkdocs.yml"
    assert entries <= pages


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    variables = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name above
        """Say nothing."""


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_site_is_read_without_asking_anybody_else_and_fits(address: str, width: int, scheme: Any) -> None:
    with browser_page(width=width, scheme=scheme) as (page, heard):
        for name in LOOKED_AT:
            page.goto(f"{address}{name}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            assert page.locator("h1").count() == 1, name
        assert page.goto(f"{address}architecture.html")
        assert page.locator(".picture svg").count() == 4
        assert heard.problems == []
        assert [asked for asked in heard.requests if not asked.startswith(address)] == []


def test_the_site_has_a_search_where_it_is_served_and_claims_none_where_it_is_read_from_a_disk(site: Path, address: str) -> None:
    with browser_page() as (page, _):
        page.goto(f"{address}push.html")
        page.get_by_placeholder("Search").fill("heartbeat")
        page.locator(".md-search-result__item").first.wait_for()
        page.goto((site / "push.html").as_uri())
        assert page.locator(".md-search").count() == page.locator("label[for=__search]").count() == 0
        assert page.locator("h1").is_visible()


def test_the_reference_tells_every_command_key_detector_and_decision() -> None:
    commands, keys, rules = commands_page(), settings_page(), rules_page()
    assert [name for name in COMMANDS if f"## helmsman {name}\n" not in commands] == []
    assert [key for key in leaves(LoopConfig(goal="-")) if f"<code>{key}</code>" not in keys] == []
    assert [one.rule for one in DETECTORS if f"| <code>{one.rule}</code> |" not in rules] == []
    assert all(ways_of(question) for question in QUESTIONS)


def test_links_lead_to_the_same_file_from_the_top_and_from_a_page() -> None:
    assert from_docs("[a](docs/push.md#x) [b](CONTRIBUTING.md) [c](docs/decisions) [d](https://a.b/docs/x)") == (
        "[a](push.md#x) [b](contributing.md) [c](decisions/index.md) [d](https://a.b/docs/x)"
    )
    assert from_above("[a](../README.md) [b](push.md)", 0) == "[a](index.md) [b](push.md)"
    assert from_above("[a](../../SECURITY.md) [b](../push.md)", 1) == "[a](../security.md) [b](../push.md)"


def test_a_state_diagram_is_drawn_with_each_of_its_ways() -> None:
    states = 'state "shut" as shut\n    state "<open>" as wide\n'
    ways = "shut --> wide : somebody knocks\n    wide --> shut : the wind | a draught\n"
    drawn = without_mermaid(f"before\n```mermaid\nstateDiagram-v2\n    {states}    {ways}```\nafter\n")
    assert "mermaid" not in drawn
    assert drawn.count('class="way"') == 2
    assert "&lt;open&gt;" in drawn
    assert r"| 2 | <open> → shut | the wind \| a draught |" in drawn
