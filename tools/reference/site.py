"""The hook of mkdocs: pages generated from code and from files outside of docs/, and a navigation with all decisions."""

import re
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # mkdocs runs a hook by its path

from mkdocs.config.defaults import MkDocsConfig  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402
from mkdocs.structure.pages import Page  # noqa: E402

from tools.reference.architecture import architecture_page  # noqa: E402
from tools.reference.commands import commands_page  # noqa: E402
from tools.reference.records import records_page  # noqa: E402
from tools.reference.rules import errors_page, rules_page  # noqa: E402
from tools.reference.settings import settings_page  # noqa: E402
from tools.reference.states import render_state_diagrams  # noqa: E402

GENERATED: Mapping[str, Callable[[], str]] = {
    "architecture.md": architecture_page,
    "reference/commands.md": commands_page,
    "reference/settings.md": settings_page,
    "reference/stored.md": records_page,
    "reference/rules.md": rules_page,
    "reference/errors.md": errors_page,
}
"""Generated pages."""
TOP_LEVEL = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
}
"""Pages from files outside of docs/."""
DECISIONS = "decisions/index.md"
_PAGE_OF = {name: path for path, name in TOP_LEVEL.items()} | {"docs/decisions": DECISIONS}
_LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)\s#]+)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace the decisions' folder in the navigation by its files, and remove entries without a page."""
    existing = {*GENERATED, *TOP_LEVEL, *(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))}
    config.nav = remove_empty_entries(expand_decisions(cast("Any", config).nav or [], ROOT / "docs"), {*existing, DECISIONS})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    files.append(File.generated(config, DECISIONS, content=decisions_page(ROOT / "docs")))
    for path, make in GENERATED.items():
        files.append(File.generated(config, path, content=make()))
    for path, name in TOP_LEVEL.items():
        files.append(File.generated(config, path, content=links_from_docs((ROOT / name).read_text(encoding="utf-8"))))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    return render_state_diagrams(links_from_page(markdown, page.file.src_uri.count("/")))


def expand_decisions(nav: list[Any], docs: Path) -> list[Any]:
    """Replace the entry `decisions/` by one entry for each file in that folder."""
    decision_pages = [DECISIONS, *(f"decisions/{path.name}" for path in _decisions(docs))]
    return [_expand_entry(entry, decision_pages) for entry in nav]


def decisions_page(docs: Path) -> str:
    titles = [(path.name, path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")) for path in _decisions(docs)]
    rows = "\n".join(f"- [{title}]({name})" for name, title in titles)
    return f"# Decisions\n\nEach page describes the question, the findings, the answer, and what would change it.\n\n{rows}\n"


def _decisions(docs: Path) -> list[Path]:
    return sorted((docs / "decisions").glob("*.md"))


def remove_empty_entries(nav: list[Any], existing: Collection[str]) -> list[Any]:
    entries = [_existing_entry(entry, existing) for entry in nav]
    return [entry for entry in entries if entry is not None]


def _existing_entry(entry: Any, existing: Collection[str]) -> Any:
    if not isinstance(entry, dict):
        return entry if entry in existing else None
    ((title, inner),) = cast("dict[str, Any]", entry).items()
    if isinstance(inner, list):
        return {title: remove_empty_entries(cast("list[Any]", inner), existing)}
    return {title: inner} if inner in existing else None


def _expand_entry(entry: Any, decision_pages: list[str]) -> Any:
    if not isinstance(entry, dict):
        return entry
    ((title, inner),) = cast("dict[str, Any]", entry).items()
    if inner == "decisions/":
        return {title: decision_pages}
    return (
        {title: [_expand_entry(child, decision_pages) for child in cast("list[Any]", inner)]}
        if isinstance(inner, list)
        else {title: inner}
    )


def links_from_docs(text: str) -> str:
    """Links of a file at the top, relative to docs/."""
    return _LINK.sub(lambda link: _PAGE_OF.get(link[1].rstrip("/"), link[1].removeprefix("docs/")), text)


def links_from_page(text: str, depth: int) -> str:
    """Links of a page `depth` folders below docs/ to a file at the top, as in the site."""
    up = "../" * depth

    def replace(link: re.Match[str]) -> str:
        target = _PAGE_OF.get(link[1].removeprefix(f"../{up}")) if link[1].startswith(f"../{up}") else None
        return f"{up}{target}" if target else link[1]

    return _LINK.sub(replace, text)
