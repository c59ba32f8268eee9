"""Data files that judge the work, as tests or programs of the checks name them and no source does."""

import re

import pytest

from helmsman.verify.touched import classify_changes


@pytest.mark.feature("V5", "V13")
@pytest.mark.parametrize(
    ("path", "test", "source", "expected"),
    [
        ("cases/code.json", "open('cases/code.json')", "def code(): ...", "data"),
        ("cases/code.json", "for case in Path('cases').iterdir()", "", "data"),
        ("spec.json", "(ROOT / 'spec.json').read_text()", "spec = 1", "data"),
        ("cases/code.json", "", "", "source"),
        ("cases/code.json", "open('cases/code.json')", "json.load(open('cases/code.json'))", "source"),
        ("shop/data/rates.json", "open('shop/data/rates.json')", "(HERE / 'data').iterdir()", "source"),
        ("shop/rates.json", "open('shop/rates.json')", "HERE.glob('*.json')", "source"),
        ("shop/rates.json", "open('shop/rates.json')", "load('rates')", "source"),
        ("page.html", "open('page.html')", "", "source"),
        ("README.md", "open('README.md')", "", "source"),
    ],
)
def test_data_that_tests_name_and_no_source_does_judges_the_work(path: str, test: str, source: str, expected: str) -> None:
    texts = {"tests/test_app.py": test, "app.py": source}

    def find_text(pattern: str) -> list[str]:
        return [name for name, text in texts.items() if re.search(pattern, text)]

    found = classify_changes([path], ["pytest"], lambda _: "{}", lambda _: "[]", find_text=find_text)
    assert next(name for name, paths in found._asdict().items() if paths) == expected


@pytest.mark.feature("V5", "V13")
@pytest.mark.parametrize(
    ("path", "before", "after", "source", "expected"),
    [
        ("shop/testing.py", "def client(): ...", "def client(): return 1", "from shop.testing import client", "source"),
        ("shop/test_report.py", "def read(): ...", "def read(): return 1", "from .test_report import read", "source"),
        ("lib/speed-test.js", "exports.run = 1", "exports.run = 2", "const run = require('../lib/speed-test')", "source"),
        ("api/spec/read.py", "def read(): ...", "def read(): return 1", "from api.spec import read", "source"),
        ("api/spec/__init__.py", "def read(): ...", "def read(): return 1", "from api.spec import read", "source"),
        ("tests/read.py", "def read(): ...", "def read(): return 1", "from shop.read import read", "support"),
        ("shop/testing.py", "", "def client(): return 1", "import shop.testing", "source"),
        ("testing.py", "def same(): ...", "def same(): return True", "from numpy.testing import assert_allclose", "tests"),
        ("test_helper.py", "def same(): ...", "def same(): return True", "def test(): ...", "tests"),
        ("test_report.py", "def test_a(): ...", "def read(): return 1", "import test_report", "tests"),
        ("test_report.py", "def read(): ...", "def read(): ...\n\ndef test_a(): ...", "import test_report", "tests"),
    ],
)
def test_a_file_named_like_a_test_is_source_if_it_has_none_and_a_source_imports_it(
    path: str, before: str, after: str, source: str, expected: str
) -> None:
    texts = {"shop/main.py": source}
    now = {path: after, **({} if before else texts)}

    def find_text(pattern: str) -> list[str]:
        return [name for name, text in texts.items() if before and re.search(pattern, text)]

    start = {path: before, **texts}
    found = classify_changes(now, ["pytest"], lambda name: start.get(name, ""), lambda name: now.get(name, ""), (), find_text)
    assert path in found._asdict()[expected]


@pytest.mark.feature("V5", "V13")
def test_the_work_cannot_make_a_helper_of_the_tests_its_source() -> None:
    before = {"test_helper.py": "def same(): ..."}
    now = {"test_helper.py": "def same(): return True", "app.py": "import test_helper"}
    found = classify_changes(now, ["pytest"], lambda name: before.get(name, ""), lambda name: now.get(name, ""))
    assert found.tests == ("test_helper.py",)
