"""A check whose Python has the repository installed as editable tests the operator's checkout, not the work."""

from pathlib import Path

import pytest

from helmsman.config import CheckConfig
from tasks.checks.editable import changed_packages, editable_warnings, package_stamps

pytestmark = pytest.mark.feature("D8")

FINDER = "MAPPING: dict[str, str] = {{'app': '{0}/src/app'}}\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    return folder


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The interpreter of an environment outside of the repository."""
    (tmp_path / "venv/lib/python3.12/site-packages").mkdir(parents=True)
    (tmp_path / "venv/bin").mkdir()
    program = tmp_path / "venv/bin/python"
    program.symlink_to("/usr/bin/env")
    return program


def point(python: Path, name: str, text: str) -> None:
    (python.parents[1] / "lib/python3.12/site-packages" / name).write_text(text)


def warned(top: Path, *commands: str) -> list[str]:
    return list(editable_warnings([CheckConfig(command=command) for command in commands], top))


@pytest.mark.parametrize(
    ("name", "text"), [("_app.pth", "{0}/src\n"), ("__editable___app_finder.py", FINDER), ("a.egg-link", "{0}\n.")]
)
def test_an_editable_install_is_found_in_each_form(top: Path, python: Path, name: str, text: str) -> None:
    check = f"{python} tests/run.py"
    assert warned(top, check) == []
    point(python, name, text.format(f"{top}-2"))
    assert warned(top, check) == []
    point(python, name, text.format(top))
    (warning,) = warned(top, "true", check, check)
    assert warning.startswith(f"`{check}`"[:70])
    assert name in warning
    assert str(top) in warning


def test_programs_of_the_environment_are_found_on_the_path(top: Path, python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point(python, "_app.pth", f"{top}/src")
    python.rename(python.with_name("run-tests"))
    assert warned(top, "run-tests -q") == []
    monkeypatch.setenv("PATH", str(python.parent), prepend=":")
    assert len(warned(top, "run-tests -q")) == 1


def test_nothing_is_said_where_the_work_is_found_first(top: Path, python: Path) -> None:
    point(python, "_app.pth", f"{top}\n")
    assert warned(top, f"{python} -m pytest") == []
    assert len(warned(top, f"{python} tests/run.py")) == 1
    assert warned(top, f"PYTHONPATH=. {python} tests/run.py") == []
    point(python, "_app.pth", f"{top}/src\n")
    assert len(warned(top, f"{python} -m pytest")) == 1
    (top / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["src"]\n')
    assert warned(top, f"{python} -m pytest") == []


@pytest.mark.feature("V18")
def test_what_was_installed_changed_or_removed_outside_of_the_repository_is_listed(top: Path, python: Path) -> None:
    checks, packages = [CheckConfig(command=f"{python} tests/run.py")], python.parents[1] / "lib/python3.12/site-packages"
    for name in ("one-1.0.dist-info", "two-1.0.dist-info", "one", "__pycache__"):
        (packages / name).mkdir()
    for name in ("a.pth", "kept.py", "one-1.0.dist-info/RECORD"):
        (packages / name).write_text("text\n")
    before = package_stamps(checks, top)
    (packages / "one/__pycache__").mkdir()
    (packages / "__pycache__/kept.pyc").write_text("compiled")
    assert changed_packages(before, package_stamps(checks, top)) == ()
    (packages / "a.pth").write_text("import another\n")
    (packages / "one-1.0.dist-info/RECORD").write_text("another text\n")
    (packages / "sitecustomize.py").write_text("")
    (packages / "two-1.0.dist-info").rmdir()
    changed = changed_packages(before, package_stamps(checks, top))
    assert [Path(path).name for path in changed] == ["a.pth", "one-1.0.dist-info", "sitecustomize.py", "two-1.0.dist-info"]
