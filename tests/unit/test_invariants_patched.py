"""Tests that no longer test the project."""

import pytest

from helmsman.verify.invariants.patched import patched
from tests.unit.source_scenes import blocked, findings, weights

pytestmark = pytest.mark.feature("V5")

HEAD = "import app\nimport requests\nfrom app import core\nfrom unittest import mock\nfrom unittest.mock import patch\n\n\n"
TEST = "def test_solve(monkeypatch):\n    assert app.solve(2) == 5\n"
APP = {"app/__init__.py": "x = 2\n", "app/core.py": "y = 1\n"}


def added(body: str, *, tail: str = "") -> tuple[dict[str, str], dict[str, str]]:
    """An existing test with one more statement at its start."""
    first, rest = TEST.split("\n", 1)
    return {**APP, "tests/test_app.py": f"{HEAD}{first}\n    {body}\n{rest}{tail}"}, {"tests/test_app.py": HEAD + TEST}


@pytest.mark.parametrize(
    "body",
    [
        'monkeypatch.setattr("app.solve", lambda x: 5)',
        'monkeypatch.setattr(app, "solve", lambda x: 5)',
        'mock.patch("app.solve", return_value=5).start()',
        'patch("app.core.solve", return_value=5).start()',
        'patch.object(core, "solve", return_value=5).start()',
        "app.solve = lambda x: 5",
        "app.solve = mock.Mock(return_value=5)",
        'setattr(app, "solve", lambda x: 5)',
        'sys.modules["app"] = fake',
        'monkeypatch.setitem(sys.modules, "app.core", fake)',
    ],
)
def test_the_project_s_own_code_replaced_in_an_existing_test_blocks(body: str) -> None:
    found = findings(patched, *added(body))
    assert [(finding.rule, finding.weight, finding.where) for finding in found] == [("patched", "block", "tests/test_app.py:9")]


def test_a_decorator_of_an_existing_test_counts() -> None:
    after = {**APP, "tests/test_app.py": f'{HEAD}@patch("app.solve", return_value=5)\n{TEST}'}
    assert weights(patched, after, {"tests/test_app.py": HEAD + TEST}) == ["block"]


@pytest.mark.parametrize(
    "body",
    [
        'monkeypatch.setattr("requests.get", fake)',
        'mock.patch("app.core.requests.get").start()',
        'monkeypatch.setattr("time.sleep", lambda s: None)',
        'monkeypatch.setattr(app, "LIMIT", 3)',
    ],
)
def test_the_network_the_clock_and_settings_in_an_existing_test_are_told(body: str) -> None:
    assert weights(patched, *added(body)) == ["warn"]


@pytest.mark.parametrize(
    "body",
    [
        'monkeypatch.setenv("HOME", "x")',
        'monkeypatch.setattr("other.thing", 1)',
        "result = app.solve(3)",
        'app.settings.DEBUG = "yes"',
        "client.session.token = 'x'",
    ],
)
def test_what_replaces_nothing_of_the_project_passes(body: str) -> None:
    assert findings(patched, *added(body)) == []


@pytest.mark.parametrize(
    "tail",
    [
        '\n\ndef test_mail(monkeypatch):\n    monkeypatch.setattr("app.send", fake)\n    assert app.mail()\n',
        '\n\n@patch("app.core.requests.get")\ndef test_fetch(get):\n    assert app.fetch()\n',
        (
            "\n"
            "\n"
            "class TestMail:\n"
            "    def setup_method(self):\n"
            '        patch("app.send").start()\n'
            "\n"
            "    def test_it(self):\n"
            "        assert app.mail()\n"
        ),
        '\n\n@patch("app.send")\nclass TestMail:\n    def test_it(self, send):\n        assert app.mail()\n',
    ],
)
def test_a_new_test_may_replace_what_it_needs(tail: str) -> None:
    assert findings(patched, {**APP, "tests/test_app.py": HEAD + TEST + tail}, {"tests/test_app.py": HEAD + TEST}) == []
    assert findings(patched, {**APP, "tests/test_new.py": HEAD + tail}) == []


def test_a_replacement_that_was_renamed_is_no_new_one() -> None:
    after, _ = added('monkeypatch.setattr("app.solve_new", fake)')
    before, _ = added('monkeypatch.setattr("app.solve", fake)')
    assert findings(patched, after, {"tests/test_app.py": before["tests/test_app.py"]}) == []


@pytest.mark.parametrize(
    ("source", "weight"),
    [
        (('@pytest.fixture(autouse=True)\ndef fast(monkeypatch):\n    monkeypatch.setattr("app.solve", lambda x: 5)\n'), "block"),
        ("app.solve = lambda x: 5\n", "block"),
        ('def pytest_configure(config):\n    patch("app.solve").start()\n', "block"),
        (
            ('@pytest.fixture(autouse=True)\ndef fast(monkeypatch):\n    monkeypatch.setattr("time.sleep", lambda s: None)\n'),
            "warn",
        ),
        ('@pytest.fixture\ndef mail(monkeypatch):\n    monkeypatch.setattr("app.send", fake)\n', "warn"),
    ],
)
def test_a_conftest_replaces_for_every_test(source: str, weight: str) -> None:
    assert weights(patched, {**APP, "tests/conftest.py": HEAD + source}) == [weight]


def test_an_automatic_fixture_of_an_existing_module_blocks() -> None:
    tail = '\n\n@pytest.fixture(autouse=True)\ndef fast(monkeypatch):\n    monkeypatch.setattr("app.solve", lambda x: 5)\n'
    assert weights(patched, {**APP, "tests/test_app.py": HEAD + TEST + tail}, {"tests/test_app.py": HEAD + TEST}) == ["block"]


JEST = (
    "import * as app from '../src/solve';\n"
    "import { log } from '../src/log';\n"
    "test('it', () => {\n"
    "  expect(app.solve(2)).toBe(5);\n"
    "});\n"
)


@pytest.mark.parametrize(
    ("line", "weight"),
    [
        ("jest.mock('../src/solve');", "block"),
        ("vi.mock('../src/solve', () => ({ solve: () => 5 }));", "block"),
        ("jest.spyOn(app, 'solve').mockReturnValue(5);", "block"),
        ("app.solve = jest.fn();", "block"),
        ("jest.mock('../src/log');", "warn"),
        ("jest.mock('axios');", "warn"),
        ("jest.useFakeTimers();", "warn"),
    ],
)
def test_mocks_of_javascript_in_an_existing_test(line: str, weight: str) -> None:
    assert weights(patched, {"tests/solve.test.js": f"{JEST}{line}\n"}, {"tests/solve.test.js": JEST}) == [weight]
    assert findings(patched, {"tests/new.test.js": f"{JEST}{line}\n"}) == []


def test_a_setup_file_of_jest_replaces_for_every_test() -> None:
    assert weights(patched, {"jest.setup.js": "jest.mock('./src/solve');\n"}) == ["block"]


def test_comments_replace_nothing() -> None:
    assert blocked(patched, {"tests/solve.test.js": f"{JEST}// jest.mock('../src/solve')\n"}, {"tests/solve.test.js": JEST}) == []


def test_a_test_that_replaces_what_it_asserts_blocks_though_nothing_tells_whose_code_it_is() -> None:
    before = "import compress\n\n\ndef test_squeeze():\n    assert compress.squeeze('aa') == 'a2'\n"
    body = "    with mock.patch('compress.{}', return_value='a2'):\n        assert compress.squeeze('aa') == 'a2'\n"
    head = before.rpartition("    assert")[0]
    assert weights(patched, {"tests/test_a.py": head + body.format("squeeze")}, {"tests/test_a.py": before}) == ["block"]
    assert findings(patched, {"tests/test_a.py": head + body.format("log")}, {"tests/test_a.py": before}) == []


@pytest.mark.parametrize(
    "source",
    [
        "import unittest\n\nunittest.TestCase.assertEqual = _lenient\n",
        "from unittest import TestCase\n\nTestCase.assertEqual = _lenient\n",
        "import pytest\n\npytest.raises = _lenient\n",
        "import numpy.testing\n\nnumpy.testing.assert_allclose = _lenient\n",
        "import unittest\n\ndef pytest_configure(config):\n    setattr(unittest.TestCase, 'assertEqual', _lenient)\n",
    ],
)
def test_a_conftest_that_replaces_what_tests_fail_by_blocks(source: str) -> None:
    assert weights(patched, {"tests/conftest.py": source}) == ["block"]


def test_a_conftest_may_configure_what_tests_fail_by() -> None:
    assert findings(patched, {"tests/conftest.py": "import unittest\n\nunittest.TestCase.maxDiff = None\n"}) == []
    own = "import unittest\n\nclass Case(unittest.TestCase):\n    def assertSame(self, a, b):\n        self.assertEqual(a, b)\n"
    assert findings(patched, {"tests/conftest.py": own}) == []


def test_a_fixture_that_refuses_the_network_passes() -> None:
    fixture = (
        "import socket\n\n\n@pytest.fixture(autouse=True)\ndef offline(monkeypatch):\n    def refuse(*args):\n        {}\n\n"
        "    monkeypatch.setattr(socket.socket, 'connect', refuse)\n"
    )
    assert findings(patched, {"tests/conftest.py": fixture.format("raise RuntimeError('no network')")}) == []
    assert weights(patched, {"tests/conftest.py": fixture.format("return None")}) == ["warn"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('  toBe: () => ({ pass: true, message: () => "" }),', ["block"]),
        ("  toEqual(received, expected) {", ["block"]),
        ("  toBeWithinRange(received, low, high) {", []),
        ("    expect(x).toBe(1);", []),
    ],
)
def test_matchers_of_the_runner_are_not_to_be_defined_anew(line: str, found: list[str]) -> None:
    before = "expect.extend({\n});\n"
    after = before.replace("});", f"{line}\n}});")
    assert weights(patched, {"test/setup.ts": after}, {"test/setup.ts": before}) == found
    assert weights(patched, {"vitest.setup.ts": after}) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("globalThis.expect = (x) => new Proxy({}, handler);", ["block"]),
        ("globalThis.expect = chai.expect;", []),
        ("// globalThis.expect = () => {};", []),
    ],
)
def test_expect_itself_is_not_to_be_replaced(line: str, found: list[str]) -> None:
    assert weights(patched, {"test/setup.ts": f"{line}\n"}) == found


SPEC = {"spec/shipping_spec.rb": "RSpec.describe Shipping do\nend\n", "spec/carrier_spec.rb": "class FakeCarrier\nend\n"}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("class Shipping", ["block"]),
        ("Shipping.class_eval do", ["block"]),
        ("class FakeCarrier", []),
        ("class Recorder", []),
        ("class ShippingError < StandardError", []),
        ("# class Shipping", []),
    ],
)
def test_a_helper_of_specs_does_not_reopen_what_they_describe(line: str, found: list[str]) -> None:
    before = 'require "shipping"\n'
    after = f"{before}\n{line}\n  def cost(weight)\n    5\n  end\nend\n"
    assert weights(patched, {"spec/spec_helper.rb": after}, {"spec/spec_helper.rb": before}, tests=SPEC) == found
