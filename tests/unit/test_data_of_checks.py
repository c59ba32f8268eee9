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
