"""Instructions in a Markdown text: sentences and list items that order or forbid something, with their lines. English only."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from itertools import islice

from helmsman.parsers.markdown_text import MOST_PARSED, Block, blocks, unix_lines
from helmsman.plain import word_set
from helmsman.records.control import Imperative, Modality

_ENDING = re.compile(r"(?<=..)(?:ies|ied|ing|es|ed|s|e|y)$")


def stem(word: str) -> str:
    """Strip plural, past and gerund endings: `committing`, `commits` and `commit` have one stem."""
    while (bare := _ENDING.sub("", word)) != word:
        word = bare
    return word[:-1] if word[-1:] == word[-2:-1] else word


_LISTS = tomllib.loads(files("helmsman.oversee").joinpath("instructions.toml").read_text("utf-8"))
WORDS: Mapping[str, frozenset[str]] = {name: word_set(words) for name, words in _LISTS["words"].items()}
_VERBS = {word: line.split()[0] for line in (*_LISTS["verbs"], *_LISTS["others"].split()) for word in line.split()}
MEANING: Mapping[str, str] = {stem(verb): meaning for verb, meaning in _VERBS.items()}
"""Representative of each verb's synonyms, by the verb's stem."""


def _compile(alternatives: list[str]) -> re.Pattern[str]:
    start = r"(?:^|[,:(] *|\b(?:you|we|please|and|or|then|agents?|to) )"
    pattern = "|".join(alternatives).replace("START", start).replace("VERB", f"(?:{'|'.join(_VERBS)})")
    return re.compile(pattern, re.IGNORECASE)


PATTERNS: Mapping[str, re.Pattern[str]] = {name: _compile(alternatives) for name, alternatives in _LISTS["patterns"].items()}
_STRENGTH: list[tuple[re.Pattern[str], Modality | None]] = [
    (_compile(row["patterns"]), row.get("modality")) for row in _LISTS["strength"]
]
REPHRASINGS = [(_compile([pattern]), plainly) for pattern, plainly in _LISTS["plainer"]]
"""Patterns for sentences without a leading verb, and their replacements with one."""
MOST_IMPERATIVES = 200
LONGEST_TEXT = 300
_LONGEST_BLOCK = 4000
_LONGEST_HEADING = 60
_PARAGRAPH = 7  # a line that ends with a colon introduces the list below it, like a heading of the lowest level

_UNREAD = re.compile(r"\A---[ \t]*\n.{0,8000}?^---[ \t]*$|^[ \t]*[|>][^\n]*", re.DOTALL | re.MULTILINE)
"""Front matter, tables, quotations."""
_UNDERLINED = re.compile(r"^(?=[^\s#>|-])(.{1,200})\n(?:=+|-{3,})[ \t]*$", re.MULTILINE)
_TASK = re.compile(r"\[[ xX]\][ \t]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)[*_)\"']{0,3}\s+(?=[A-Z`*_\"'(\[])")
_HIDDEN = re.compile(r'`[^`\n]*`|"[^"\n]{12,}"|“[^”\n]*”')
_OWN = re.compile(r"\b(?:must|always|shall|should|instead)\b", re.IGNORECASE)
_NOT = re.compile(r"n['’]t\b|(?<=\bdo)nt\b", re.IGNORECASE)  # noqa: RUF001 - as word processors write it
_LABEL = re.compile(r"^(?:\*\*[^*]{1,60}\*\*|[A-Z][\w /-]{0,30}:)[ :.-]*")
_FIRST = re.compile(r"[ *_]*(?:(?:please|also|then|finally|first|next|and|only),? )*([a-z][\w-]*)", re.IGNORECASE)
Ban = tuple[str, Modality]  # a text that forbids everything listed below it, and how strongly


def read_imperatives(source: str, text: str) -> tuple[Imperative, ...]:
    """Instructions of a text in order, 200 at most. Code, quotations, tables and headings contain none."""
    instructions = (
        instruction for block, ban in _passages(text[:MOST_PARSED]) for instruction in _instructions(source, block, ban)
    )
    return tuple(islice(instructions, MOST_IMPERATIVES))


def _passages(text: str) -> Iterator[tuple[Block, Ban | None]]:
    """Paragraphs, and items with the nearest heading or line ending with a colon that forbids them."""
    text = _UNDERLINED.sub(r"# \1\n", _UNREAD.sub(lambda found: "\n" * found[0].count("\n"), unix_lines(text)))
    lines, above = text.split("\n"), dict[int, str]()
    for block in blocks(text):
        if block.kind == "item":
            yield block, next(filter(None, map(_parse_ban, reversed(above.values()))), None)
        elif block.kind in {"heading", "text"}:
            level, last_line = block.level or _PARAGRAPH, block.text.rpartition("\n")[2].rstrip(" *_")
            above = {above_level: line for above_level, line in above.items() if above_level < level}
            if block.level or last_line.endswith(":"):
                above[level] = last_line
            if not block.level and (block.depth or not lines[block.line - 1].startswith(("    ", "\t"))):  # otherwise it is code
                yield block, None


def _parse_ban(heading: str) -> Ban | None:
    title = " ".join(heading.split()).strip(" #*_:")[:_LONGEST_HEADING]
    match = PATTERNS["forbidding"].search(title)
    return (title, "should_not" if match["softly"] else "must_not") if match else None


def _instructions(source: str, block: Block, ban: Ban | None) -> Iterator[Imperative]:
    text, start = _TASK.sub("", block.text[:_LONGEST_BLOCK], count=1), 0
    for end in (*(match.end() for match in _SENTENCE_END.finditer(mask_quoted(text))), len(text)):
        line, sentence = block.line + text[:start].count("\n"), " ".join(text[start:end].split()).strip(" *_")
        start = end
        for clause in _clauses(sentence) if not sentence.endswith(":") else ():
            words, strength = clause, modality(clause)
            if ban and strength in {None, "must"} and not _OWN.search(clause) and clause:
                words, strength = f"{ban[0]}: {clause}", ban[1]
            if strength:
                yield Imperative(source=source, line=line, text=words[:LONGEST_TEXT], modality=strength)
            ban = None  # the heading applies only to the start of an item


def _clauses(sentence: str) -> Iterator[str]:
    """Clauses of a sentence that are separate instructions. A sentence with a condition or an exception is not split."""
    hidden, start = mask_quoted(sentence), 0
    for match in () if PATTERNS["condition"].search(hidden) else PATTERNS["clause_end"].finditer(hidden):
        yield sentence[start : match.start()].strip(" *_")
        start = match.end()
    yield sentence[start:].strip(" *_")


def modality(clause: str) -> Modality | None:
    """How strongly a clause orders or forbids; None if it does neither."""
    main_clause = PATTERNS["subordinate"].split(_NOT.sub(" not", mask_quoted(clause)), maxsplit=1)[0]
    bare = _LABEL.sub("", main_clause)
    if not bare.strip() or clause.endswith("?"):
        return None
    for pattern, strength in _STRENGTH:
        if pattern.search(main_clause) or pattern.search(bare):
            return strength
    first = _FIRST.match(bare)
    return "must" if first and first[1].lower() in _VERBS and not PATTERNS["describes"].search(bare) else None


def mask_quoted(text: str) -> str:
    """Replace names in backticks and longer quotations with x, so that their content is not parsed."""
    return _HIDDEN.sub(lambda found: "`" + "x" * (len(found[0]) - 2) + "`", text)
