"""The lock pins every dependency by hash, and committed files name no registry and no folder of a particular machine."""

import re
import tomllib
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.contracts.source import ROOT, listed_files, modules, named

HASH = re.compile(r"^--hash=sha256:[0-9a-f]{64}$")


def entries() -> list[list[str]]:
    """Requirements of the lock with their options, comments left out: [["name==1.0", "--hash=…", …], …]."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", "\0")
    return [[part.strip() for part in entry.split("\0")] for entry in joined.splitlines() if entry.strip()]


def wanted() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [text for texts in project["optional-dependencies"].values() for text in texts]
    return [Requirement(text) for text in project["dependencies"] + extras]


def pinned() -> dict[str, set[str]]:
    """Versions by name; there are several where a marker tells platforms or Pythons apart."""
    found: dict[str, set[str]] = {}
    for requirement in (Requirement(text) for text, *_ in entries()):
        found.setdefault(canonicalize_name(requirement.name), set()).add(str(requirement.specifier).removeprefix("=="))
    return found


def test_every_requirement_is_pinned_and_has_hashes() -> None:
    assert len(entries()) > len(wanted())
    for text, *hashes in entries():
        assert re.fullmatch(r"==[\w.!+]+", str(Requirement(text).specifier)), text
        assert Requirement(text).url is None, text
        assert hashes, text
        assert all(HASH.match(option) for option in hashes), text


def test_the_lock_names_no_address() -> None:
    assert "//" not in (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_the_lock_is_what_pyproject_asks_for() -> None:
    versions = pinned()
    for requirement in wanted():
        locked = versions[canonicalize_name(requirement.name)]
        assert all(requirement.specifier.contains(one) for one in locked), requirement
        assert version(requirement.name) in locked, f"{requirement}: these tests run with another version"


# Spelled in two halves, so that this file does not name them either.
REGISTRIES = (
    r"pypi\.o" + "rg",
    "python" + r"hosted\.org",
    r"npmjs\.o" + "rg",
    r"npmjs\.c" + "om",
    r"yarnpkg\.c" + "om",
    "artifac" + "tory",
)
OPTIONS = ("--index" + "-url", "--extra-index" + "-url", "--find" + "-links", "--trusted" + "-host")
FOLDERS = ("/ho" + r"me/\w", "/Use" + r"rs/\w", "/ro" + r"ot/", "/wo" + r"rk/\w", r"[A-Z]:\\Use" + r"rs\\")
PLACE = re.compile(rf"{'|'.join(REGISTRIES)}|(?<![\w-])(?:{'|'.join(OPTIONS)})|(?<![\w.-])(?:{'|'.join(FOLDERS)})", re.IGNORECASE)


def places(text: str) -> list[str]:
    return PLACE.findall(text)


def test_no_file_names_a_registry_or_a_folder_of_a_machine() -> None:
    found = {named(path): places(path.read_text(encoding="utf-8", errors="replace")) for path in listed_files()}
    assert len(found) > len(modules("helmsman"))
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "text",
    [
        "https://PyPI.o" + "rg/simple",
        "pip install --index" + "-url=somewhere x",
        "see /ho" + "me/somebody/project",
        'cwd="/wo' + 'rk/project"',
        "/ro" + "ot/.cache",
        r"C:\Use" + r"rs\somebody",
    ],
)
def test_a_place_is_found(text: str) -> None:
    assert places(text)


@pytest.mark.parametrize(
    "text", ["src/ho" + "me/page.html", "./wo" + "rk/tree", "uv --no-emit-index" + "-url", "$HO" + "ME/.claude"]
)
def test_a_relative_path_is_no_place_of_a_machine(text: str) -> None:
    assert places(text) == []
