"""Counting the variety of commits of real repositories."""

from pathlib import Path

import pytest

from helmsman.records.control import Variety
from tasks.checks import scan as measuring
from tasks.checks.scan import measure_variety
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


def test_only_hand_written_sources_of_usual_size_and_number_are_counted(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(top, "large", {"shop/data.py": "x = 1\n" * (measuring.LARGEST_FILE // 6 + 1)})
    assert measure_variety(top, "HEAD") == COUNTS
    monkeypatch.setattr(measuring, "MOST_FILES", 2)
    assert measure_variety(top, "HEAD").files == 2


def test_links_submodules_and_binaries_are_skipped(top: Path) -> None:
    (top / "shop" / "link.py").symlink_to("/etc/passwd")
    (top / "shop" / "binary.py").write_bytes(b"\0\1\2")
    (top / "shop" / "latin.py").write_bytes(b"x = '\xe9'\n")
    commit(top, "change")
    assert measure_variety(top, "HEAD") == COUNTS.model_copy(update={"files": 4, "lines": 6, "public_names": 3})
