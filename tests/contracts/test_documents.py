"""What documents name is there: files, commands with their options, targets of make, keys of the configuration."""

import re
from collections.abc import Iterator
from typing import Any

import typer.main

from deployments.cli import app
from helmsman.config import LoopConfig
from helmsman.config.layers import leaves
from helmsman.oversee.decide import QUESTIONS
from tests.contracts.source import ROOT, listed_files, named

DOCUMENTS = {
    name: path.read_text(encoding="utf-8")
    for path in listed_files()
    if (name := named(path)).endswith(".md")
    and (name in {"README.md", "CONTRIBUTING.md", "SECURITY.md"} or name.startswith(("docs/", "plugin/")))
    and not name.startswith("docs/decisions/")
}
KEYS = leaves(LoopConfig(goal="-"))
RULES = {question.rule for question in QUESTIONS} | {"limits.tokens.untold", "completion.verified"}
"""Named like keys of the sections that they belong to."""
FILES = (".md", ".toml", ".dump")
SECTIONS = {key.split(".")[0] for key in KEYS if "." in key}
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))

CODE = re.compile(r"`([^`\n]+)`|^ {4,}(.+)$|^```\w*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
OURS = re.compile(r"(?<![\w./-])(?:(?:deployments|flows|tasks|blocks|helmsman|tests|bench|tools)/[\w./-]*[\w/])")
COMMAND = re.compile(r"(?:^|[\s(])helmsman ((?:[a-z]+ ?)+)([^\n|;&]*)")
OPTION = re.compile(r"(?<!\S)--[a-z-]+")
KEY = re.compile(r"(?<![\w./-])([a-z_]+)\.([a-z_]+(?:\.[a-z_]+)*)(?![\w/(-])")


def code(text: str) -> Iterator[str]:
    """Pieces of a document that are code, a line at a time."""
    for found in CODE.finditer(text):
        yield from next(filter(None, found.groups()), "").splitlines()


def everywhere() -> Iterator[tuple[str, str]]:
    return ((name, line) for name, text in DOCUMENTS.items() for line in code(text))


def command_of(words: list[str]) -> Any:
    """The command that these words begin with; None where there is none."""
    group: Any = typer.main.get_command(app)
    for word in words:
        group = group.commands.get(word)
        if group is None or not hasattr(group, "commands"):
            return group
    return None


def test_files_that_newcomers_are_sent_to_are_there() -> None:
    sent = [found for found in OURS.findall(DOCUMENTS["CONTRIBUTING.md"]) if not (ROOT / found).exists()]
    assert sent == []


def test_commands_that_documents_name_are_there_with_their_options() -> None:
    wrong: list[str] = []
    for name, line in everywhere():
        for words, rest in COMMAND.findall(line.replace("--entrypoint helmsman worker", "helmsman")):
            command = command_of(words.split())
            known = {option for parameter in getattr(command, "params", ()) for option in parameter.opts} | {
                "--help",
                "--version",
            }
            wrong += [f"{name}: {line}"] * (command is None)
            wrong += [f"{name}: {option} in {line}" for option in re.findall(r"(?<!\S)--[a-z-]+", rest) if option not in known]
    assert wrong == []


def test_targets_of_make_that_documents_name_are_there() -> None:
    asked = [(name, found[1]) for name, line in everywhere() if (found := re.match(r"make ([a-z]+)", line))]
    assert asked
    assert [pair for pair in asked if pair[1] not in TARGETS] == []


def test_keys_of_the_configuration_that_documents_name_are_there() -> None:
    keys = [(name, found[0]) for name, line in everywhere() for found in KEY.finditer(line) if found[1] in SECTIONS]
    assert len(keys) > len(KEYS) / 2
    known = {*KEYS, *RULES, *(key.rpartition(".")[0] for key in KEYS)}
    assert [(name, key) for name, key in keys if key not in known and not key.endswith(FILES)] == []


def test_every_test_that_security_names_is_there() -> None:
    """Fails when a test is renamed and SECURITY.md is not."""
    there = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "security").glob("test_*.py"))
    tests = set(re.findall(r"`(test_\w+)`", DOCUMENTS["SECURITY.md"]))
    files = set(re.findall(r"`(test_\w+\.py)`", DOCUMENTS["SECURITY.md"]))
    assert tests
    assert sorted(name for name in tests if f"def {name}(" not in there) == []
    assert sorted(name for name in files if not (ROOT / "tests" / "security" / name).exists()) == []
    folders = re.findall(r"`(tests/\w+/\w+\.py)`", DOCUMENTS["SECURITY.md"])
    assert [name for name in folders if not (ROOT / name).exists()] == []
