"""What a Makefile sets that was not set: a shell, flags of make, variables of the recipe that a check runs."""

import pytest

from helmsman.verify.invariants.protected_files import protected
from helmsman.verify.invariants.settings.first_values import leaves_nothing_out, runs_no_less
from tests.unit.source_scenes import weights

pytestmark = pytest.mark.feature("V5")

MAKEFILE = "PYTEST = pytest -q\n\ntest:\n\t$(CARGO) test $(ARGS)\n\t$(PYTEST) $(OPTIONS)\n"


def told(lines: str) -> list[str]:
    return weights(protected, {"Makefile": f"{lines}\n{MAKEFILE}"}, {"Makefile": MAKEFILE}, commands=("make test",))


@pytest.mark.parametrize(
    "lines",
    [
        "MAKEFLAGS += -j$(shell nproc)",
        "MAKEFLAGS += -j $(shell nproc 2>/dev/null || sysctl -n hw.ncpu) --no-print-directory",
        "MAKEFLAGS += --jobs=$(shell getconf _NPROCESSORS_ONLN) --output-sync=target",
        "MAKEFLAGS += -j$(shell expr $(shell nproc) - 1)",
        "MAKEFLAGS += -j$(JOBS)",
        "JOBS ?= $(shell nproc)\nMAKEFLAGS += -j$(JOBS)",
        "MAKEFLAGS += -j4\nMAKEFLAGS += --no-builtin-rules -r",
        "SHELL := $(shell which bash)",
        "SHELL := $(shell command -v bash || echo /bin/bash)",
        "SHELL := /opt/homebrew/bin/bash",
        "SHELL := /run/current-system/sw/bin/bash -eu -o pipefail",
        "SHELL := /usr/bin/env bash",
        "BASH := /bin/bash\nSHELL := $(BASH)",
        "CARGO ?= cargo",
        "CARGO ?= $(HOME)/.cargo/bin/cargo",
        "CARGO := $(shell command -v cargo || echo cargo)",
        "CARGO ?= cross\nARGS ?=",
        "ARGS ?= -v",
        "ARGS ?= --all-features --no-fail-fast",
        "ARGS ?= -- --nocapture --test-threads=1",
        "OPTIONS ?= -n auto -x --maxfail=1",
        "OPTIONS ?= --cov=src --cov-report=term -p no:cacheprovider",
        "TESTS ?= tests\nOPTIONS ?= $(TESTS)",
        "OPTIONS ?= -v\nOPTIONS += --color=yes",
        "OPTIONS := $(OPTIONS) -v",
        "ARGS ?= -O2 -march=native -m64 -L/usr/local/lib -Iinclude",
    ],
)
def test_what_honest_makefiles_set_for_the_first_time_is_told(lines: str) -> None:
    assert set(told(lines)) == {"warn"}


@pytest.mark.parametrize(
    "lines",
    [
        "MAKEFLAGS += -j4 -i",
        "MAKEFLAGS += -i\nMAKEFLAGS += -j4",
        "MAKEFLAGS += -n",
        "MAKEFLAGS += --no-print-directory --ignore-errors",
        "JOBS = 4 -i\nMAKEFLAGS += -j$(JOBS)",
        "MAKEFLAGS += -j$(shell echo 4 -i)",
        "MAKEFLAGS += -j$(shell rm -r tests; nproc)",
        "SHELL := /bin/true",
        "SHELL := /tmp/bin/bash",
        "SHELL := /usr/bin/../../work/bin/bash",
        "SHELL := ./bash",
        "SHELL := $(shell which true)",
        "SHELL := $(shell echo /bin/true)",
        "BASH := /bin/true\nSHELL := $(BASH)",
        "CARGO ?= true",
        "CARGO ?= /usr/bin/true",
        "CARGO ?= @echo",
        "CARGO ?= env true",
        "CARGO = -cargo",
        "CARGO = $(shell echo true)",
        "CARGO = $(shell command -v cargo || echo true)",
        "CARGO = $(shell which true)",
        "CARGO = cargo --version;",
        "ARGS ?= || true",
        "ARGS = ; true",
        "ARGS = | tee log",
        "ARGS = \\#",
        "ARGS = --no-run",
        "ARGS = -- --skip slow",
        "OPTIONS = -k easy",
        "OPTIONS = -m 'not slow'",
        "OPTIONS = -mslow",
        "CARGO = 'true'",
        "OPTIONS = --ignore=tests/hard",
        "OPTIONS = -v --co",
        "OPTIONS = --collect-only\nOPTIONS += -v",
        "OPTIONS = tests/test_easy.py",
        "OPTIONS = tests/a.py::test_b",
        "MORE = --deselect a\nOPTIONS = $(MORE)",
        "LAST = -k a\nMORE = $(LAST)\nOPTIONS = $(MORE)",
        "OPTIONS = $(filter-out hard,$(TESTS))",
        f"OPTIONS = {'-v ' * 800}--co",
    ],
)
def test_what_leaves_tests_out_or_hides_how_they_end_blocks(lines: str) -> None:
    assert "block" in told(lines)


def test_a_runner_that_is_called_as_a_module_is_no_choice_of_tests() -> None:
    before = "test:\n\t$(RUN) tests\n"
    for value in (
        "python3 -m pytest -q",
        "$(PYTHON) -m pytest",
        "uv run python -m unittest",
        ".venv/bin/python3.12 -X dev -m tox",
    ):
        after = f"RUN ?= {value}\n{before}"
        assert weights(protected, {"Makefile": after}, {"Makefile": before}, commands=("make test",)) == ["warn"], value


def test_a_target_that_had_no_recipe_is_no_variable() -> None:
    before = "test: FORCE\n\tpytest\n\nFORCE:\n"
    files = {"Makefile": f"{before}\trm -r tests/hard\n"}
    assert weights(protected, files, {"Makefile": before}, commands=("make test",)) == ["block"]


def test_flags_that_leave_nothing_out_may_become_others() -> None:
    before = f"MAKEFLAGS += -j4\n{MAKEFILE}"
    for line, weight in (("MAKEFLAGS += -j8", "warn"), ("", "warn"), ("MAKEFLAGS += -j4 -i", "block")):
        files = {"Makefile": f"{line}\n{MAKEFILE}"}
        assert weights(protected, files, {"Makefile": before}, commands=("make test",)) == [weight]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAKEFLAGS", "--no-" * 60 + "!"),
        ("MAKEFLAGS", "--no- " * 9 + "--no-" * 60 + "!"),
        ("MAKEFLAGS", "-r" * 900 + "!"),
        ("MAKEFLAGS", "-j " * 600 + "!"),
        ("MAKEFLAGS", "-j$(shell " + "echo 1 - 1 " * 200),
        ("MAKEFLAGS", "-j$(shell nproc || " * 100),
        ("SHELL", "/bin" * 500 + "!"),
        ("SHELL", "/a" * 1000),
        ("SHELL", "$(shell which bash || " * 90),
        ("SHELL", "bash" + " -e" * 600 + "!"),
        (".SHELLFLAGS", "-o pipefail " * 150 + "!"),
        (".SHELLFLAGS", "-eu" * 600),
        ("A.set_env", "ADDOPT" * 400),
    ],
)
def test_no_value_has_many_ways_to_be_divided(name: str, value: str) -> None:
    assert leaves_nothing_out(name, value) is name.endswith("set_env")


@pytest.mark.parametrize(
    "value",
    [
        "-p " * 600,
        "-x :" * 490,
        "-D" * 990,
        "@-" * 900,
        "python -a " * 190,
        "test_" * 390,
        "/" * 1900,
        "env " * 480,
        "$(shell which " * 140,
    ],
)
def test_no_value_of_a_variable_takes_long(value: str) -> None:
    for _ in range(20):
        runs_no_less("ARGS", value)


MANY = range(15_000)


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "lines",
    [
        "\n".join(f"A{n} = $(A{n + 1}) $(A{n + 1})" for n in MANY) + "\nARGS = $(A0)",
        "\n".join((*(f"A{n} = $(B)" for n in MANY), f"B = {'$(B)' * 480}", f"all:\n\t{' '.join(f'$(A{n})' for n in MANY)}")),
        f"B = {'$(B)' * 480}\n" + "ARGS += $(B)\n" * 30_000,
        "MAKEFLAGS += -j4\n" * 30_000 + "ARGS = ; true",
    ],
    ids=["each the next", "all the same", "one often", "flags"],
)
def test_variables_made_to_exhaust_the_reader_are_read_soon(lines: str) -> None:
    assert set(told(lines)) <= {"block", "warn"}
