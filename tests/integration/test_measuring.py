"""Counting the variety of commits of real repositories."""

from pathlib import Path

import pytest

from helmsman.records.control import Variety
from tasks.checks import scan as measuring
from tasks.checks.scan import measured
from tests.fakes.repositories import commit, make_repository

pytestmark = pytest.mark.feature("S15")

FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": "from shop import price\n\n\ndef total():\n    return price.of(1)  # noqa: X1\n",
    "shop/price.py": "def of(n):\n    return n\n",
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total() == 1\n",
    "web/node_modules/a/index.js": "export const a = 1; // @ts-ignore\n",
    "README.md": "# Shop\n",
}
COUNTS = Variety(files=3, lines=5, suppressions=1, imports=1, public_names=2, tests=1)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "top", FILES)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "loop" / "variety.json"


def test_a_commit_is_counted_over_the_sources_that_somebody_writes(top: Path, cache: Path) -> None:
    assert measured(top, "HEAD", cache).variety == COUNTS


def test_what_did_not_change_is_not_read_again(top: Path, cache: Path) -> None:
    assert measured(top, "HEAD", cache).read == 4
    assert measured(top, "HEAD", cache).read == 0
    commit(top, "change", {"shop/price.py": "def of(n):\n    return n + 0\n\n\ndef more(): ...\n"})
    found = measured(top, "HEAD", cache)
    assert (found.read, found.variety) == (1, COUNTS.model_copy(update={"lines": 6, "public_names": 3}))


@pytest.mark.parametrize("broken", [b"[]", b"\xff\xfe", b'{"reading": 1, "files": {"shop/cart.py": 5}}'])
def test_a_broken_cache_is_read_anew_and_mended(top: Path, cache: Path, broken: bytes) -> None:
    cache.parent.mkdir()
    cache.write_bytes(broken)
    assert measured(top, "HEAD", cache).variety == COUNTS
    assert measured(top, "HEAD", cache).read == 0


def test_what_is_too_large_or_too_much_is_left_out_and_said(top: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(top, "large", {"shop/data.py": "x = 1\n" * (measuring.LARGEST_FILE // 6 + 1)})
    assert (measured(top, "HEAD", cache).left_out, measured(top, "HEAD", cache).variety) == (1, COUNTS)
    monkeypatch.setattr(measuring, "MOST_FILES", 2)
    assert measured(top, "HEAD", cache).left_out == 3


def test_links_submodules_and_what_is_no_text_are_passed_over(top: Path, cache: Path) -> None:
    (top / "shop" / "link.py").symlink_to("/etc/passwd")
    (top / "shop" / "binary.py").write_bytes(b"\0\1\2")
    (top / "shop" / "latin.py").write_bytes(b"x = '\xe9'\n")
    commit(top, "change")
    assert measured(top, "HEAD", cache).variety == COUNTS.model_copy(update={"files": 4, "lines": 6, "public_names": 3})
