"""Committed files name no registry and no folder of a particular machine."""

import re

import pytest

from tests.contracts.source import listed_files, modules, named

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
