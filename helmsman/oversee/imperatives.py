"""Sentences and list items of a Markdown text that order or forbid something, with their lines. English only."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import islice

from helmsman.parsers.markdown_text import MOST_PARSED, Block, blocks, unix_lines
from helmsman.plain import word_set
from helmsman.records.control import Imperative, Modality

_LISTS = tomllib.loads(files("helmsman.oversee").joinpath("instructions.toml").read_text("utf-8"))
WORDS: Mapping[str, frozenset[str]] = {name: word_set(words) for name, words in _LISTS["words"].items()}
MEANING: Mapping[str, str] = {
    word: line.split()[0] for line in (*_LISTS["synonyms"], *_LISTS["others"].split()) for word in line.split()
}
"""Of each verb in its plain form the one that stands for all that mean the same."""


PARTICIPLES: Mapping[str, str] = {
    form: meaning
    for verb, meaning in MEANING.items()
    for stem, past in [(verb.removesuffix("e"), f"{verb[:-1]}i" if verb.endswith("y") else verb.removesuffix("e"))]
    for form in (f"{past}ed", f"{stem}ing", f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing")
} | {form: MEANING[verb] for form, verb in _LISTS["irregular"].items()}
"""Of each participle and gerund the same."""


def singular(word: str) -> str:
    """A noun without the ending of its plural."""
    if word.endswith("ies") and len(word) > len("ties"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > len("its") else word


_PLACEHOLDERS: Mapping[str, str] = {**_LISTS["placeholders"], "VERB": f"(?:{'|'.join(sorted(MEANING))})"}


def _compiled(alternatives: Sequence[str]) -> re.Pattern[str]:
    whole = re.sub("|".join(_PLACEHOLDERS), lambda found: _PLACEHOLDERS[found[0]], "|".join(alternatives))
    return re.compile(whole, re.IGNORECASE)


PATTERNS: Mapping[str, re.Pattern[str]] = {name: _compiled(alternatives) for name, alternatives in _LISTS["patterns"].items()}
RANKS = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _LISTS["ranks"])
_STRENGTH: list[tuple[re.Pattern[str], Modality | None]] = [
    (_compiled(row["patterns"]), row.get("modality")) for row in _LISTS["strength"]
]
MOST_IMPERATIVES = 200
LONGEST_TEXT = 300
_LONGEST_BLOCK = 4000
_LONGEST_HEADING = 60

# --- passages -----------------------------------------------------------------------------------------------------

_UNREAD = re.compile(r"\A---[ \t]*\n.{0,8000}?^---[ \t]*$|^[ \t]*[|>][^\n]*", re.DOTALL | re.MULTILINE)
"""Front matter, tables, quotations."""
_UNDERLINED = re.compile(r"^(?=[^\s#>|-])(.{1,200})\n(?:=+|-{3,})[ \t]*$", re.MULTILINE)
_TASK = re.compile(r"\[[ xX]\][ \t]+")
Ban = tuple[str, Modality]  # what forbids all that is listed below it, and how strongly


def imperatives(source: str, text: str) -> tuple[Imperative, ...]:
    """What a text orders, in its order, 200 at most. Code, quotations, tables and headings order nothing."""
    found = (one for block, ban in _passages(text[:MOST_PARSED]) for one in _instructions(source, block, ban))
    return tuple(islice(found, MOST_IMPERATIVES))


def _passages(text: str) -> Iterator[tuple[Block, Ban | None]]:
    """Paragraphs, and items with the nearest heading, or line that ends with a colon, that forbids them."""
    text = _UNDERLINED.sub(r"# \1\n", _UNREAD.sub(lambda found: "\n" * found[0].count("\n"), unix_lines(text)))
    lines, headings, lead = text.split("\n"), dict[int, str](), ""
    for block in blocks(text):
        if block.kind == "heading":
            headings, lead = {level: words for level, words in headings.items() if level < block.level}, ""
            headings[block.level] = block.text
        elif block.kind == "item":
            led = (lead,) if lead.rstrip(" *_").endswith(":") else ()
            yield block, next(filter(None, map(_ban, (*led, *reversed(headings.values())))), None)
        elif block.kind == "text" and (block.depth or not lines[block.line - 1].startswith(("    ", "\t"))):  # else code
            lead = block.text.rpartition("\n")[2]
            yield block, None


def _ban(heading: str) -> Ban | None:
    words = " ".join(heading.split()).strip(" #*_:")[:_LONGEST_HEADING]
    found = None if PATTERNS["do_and_dont"].search(words) else PATTERNS["forbidding"].search(words)
    return (words, "should_not" if found["softly"] else "must_not") if found else None


def _instructions(source: str, block: Block, ban: Ban | None) -> Iterator[Imperative]:
    for line, sentence in _sentences(block):
        if sentence.rstrip(" *_").endswith(":"):
            continue
        for clause in _clauses(sentence):
            words = clause.strip(" *_")
            how = modality(words)
            if ban and how in {None, "must"} and not _OWN.search(words) and words:
                words, how = f"{ban[0]}: {words}", ban[1]
            if how:
                yield Imperative(source=source, line=line, text=words[:LONGEST_TEXT], modality=how)
            ban = None  # only the beginning of an item is read with its heading


# --- sentences ----------------------------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)[*_)\"']{0,3}\s+(?=[A-Z`*_\"'(\[])")
_OWN = re.compile(r"\b(?:must|always|shall|should|instead)\b", re.IGNORECASE)


def _sentences(block: Block) -> Iterator[tuple[int, str]]:
    """Each with the line that it begins on."""
    text, start = _TASK.sub("", block.text[:_LONGEST_BLOCK], count=1), 0
    for end in (*(found.end() for found in _SENTENCE_END.finditer(hide(text))), len(text)):
        if sentence := " ".join(text[start:end].split()):
            yield block.line + text[:start].count("\n"), sentence
        start = end


def _clauses(sentence: str) -> Iterator[str]:
    """The parts of a sentence that order each by itself. One with an exception stays whole, and so does a list after a `not`."""
    hidden, start = hide(sentence), 0
    for found in () if PATTERNS["exception"].search(hidden) else PATTERNS["clause_end"].finditer(hidden):
        negated = _NEGATED.search(hidden, start, found.start())
        if not negated or not (found[0] == ", " or hidden.startswith("without", found.end())):
            yield sentence[start : found.start()]
            start = found.end()
    yield sentence[start:]


# --- modality -----------------------------------------------------------------------------------------------------

_HIDDEN = re.compile(r'`[^`\n]*`|"[^"\n]{12,}"|“[^”\n]*”')
_NEGATED = re.compile(r"\b(?:never|not|no)\b|n't\b", re.IGNORECASE)
_NOT = re.compile(r"n['’]t\b|(?<=\bdo)nt\b", re.IGNORECASE)  # noqa: RUF001 - as word processors write it
_LABEL = re.compile(r"^(?:\*\*[^*]{1,60}\*\*|[A-Z][\w /-]{0,30}:)[ :.-]*")
_FIRST = re.compile(r"(?:(?:please|also|then|finally|first|next|and|only),? )*([a-z][\w-]*)", re.IGNORECASE)


def modality(clause: str) -> Modality | None:
    """How strongly a clause orders or forbids; None where it does neither."""
    words = _main_part(_NOT.sub(" not", hide(clause)))
    bare = _LABEL.sub("", words)
    if not bare.strip() or clause.rstrip().endswith("?"):
        return None
    for pattern, how in _STRENGTH:
        if pattern.search(words) or pattern.search(bare):
            return how
    first = _FIRST.match(bare.strip(" *_"))
    orders = (
        first
        and first[1].lower() in MEANING
        and (first[1].lower() not in WORDS["nouns"] or not PATTERNS["describes"].search(bare))
    )
    return "must" if orders else None


def hide(text: str) -> str:
    """Names in back-ticks and longer quotations become as many x, so that nothing in them is read as a word."""
    return _HIDDEN.sub(lambda found: "`" + "x" * (len(found[0]) - 2) + "`", text)


def _main_part(words: str) -> str:
    """A clause without what is subordinate: in a function that must not raise, nothing is forbidden to us."""
    words = words.strip(" *_")
    if PATTERNS["opening"].match(words):
        _, comma, rest = words.partition(", ")
        return _main_part(rest) if comma else ""
    subordinate = PATTERNS["subordinate"].search(words)
    return words[: subordinate.start()] if subordinate else words
