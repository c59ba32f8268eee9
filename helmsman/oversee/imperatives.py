"""Sentences and list items of a Markdown text that order or forbid something, with their lines. English only."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from helmsman.plain import word_set
from helmsman.records.oversight import Imperative, Modality

_SYNONYMS = """\
add create introduce insert append install write implement include
change edit modify alter update adjust rewrite
remove delete drop erase eliminate
use utilise utilize employ adopt import
skip disable ignore omit
keep preserve retain maintain
upgrade bump
fix mend repair
migrate convert port
run execute
format reformat
document describe
raise increase
lower reduce decrease
check verify validate
touch
""".splitlines()
"""One meaning a line, under its first word."""
_OTHERS = """\
allow amend annotate apply ask avoid begin bring build cache call catch choose close comment commit copy cover declare define
deploy duplicate enable ensure explain export expose extend extract favor favour finish follow generate go group handle inline
limit link list log make mark merge mock move name note open pin place prefer print publish pull push put read rebase record
refactor regenerate register relocate release rename replace report respect restrict return reuse revert send set show sort
split squash start state stay stick stop store stub support swallow switch test throw treat wrap work leave"""
_IRREGULAR = {
    "written": "write", "kept": "keep", "left": "leave", "built": "build", "made": "make", "thrown": "throw", "caught": "catch",
    "sent": "send", "shown": "show", "brought": "bring", "chosen": "choose", "put": "put", "set": "set", "read": "read",
}  # fmt: skip

MEANING = {word: line.split()[0] for line in (*_SYNONYMS, *_OTHERS.split()) for word in line.split()}
"""Of each verb in its plain form the one that stands for all that mean the same."""


def _inflected(verb: str) -> Iterator[str]:
    stem = verb.removesuffix("e")
    past = f"{verb[:-1]}i" if verb.endswith("y") else stem
    yield from (f"{past}ed", f"{stem}ing", f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing")


PARTICIPLES = {form: meaning for verb, meaning in MEANING.items() for form in _inflected(verb)} | {
    form: MEANING[verb] for form, verb in _IRREGULAR.items()
}
"""Of each participle and gerund the same."""


def singular(word: str) -> str:
    """A noun without the ending of its plural."""
    if word.endswith("ies") and len(word) > len("ties"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > len("its") else word


MOST_IMPERATIVES = 200
LONGEST_TEXT = 300
LONGEST_INPUT = 200_000
"""Characters of a text that are read."""
_LONGEST_BLOCK = 4000
_LONGEST_HEADING = 60

# --- blocks -------------------------------------------------------------------------------------------------------

_UNREAD = re.compile(
    r"\A---[ \t]*\n.{0,8000}?^---[ \t]*$"  # front matter
    r"|^ {0,12}(`{3,20}|~{3,20}).*?(?:^ {0,12}\1[`~ ]*$|\Z)"  # fenced code
    r"|^[ \t]*<!--.*?(?:-->[^\n]*|\Z)",
    re.DOTALL | re.MULTILINE,
)
_UNDERLINED = re.compile(r"^(?=[^\s#>|])(.{1,200})\n(?:=+|-{3,})[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_ITEM = re.compile(r"[ \t]{0,12}(?:[-*+]|[0-9]{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)")
_NO_PROSE = re.compile(r"[ \t]*(?:$|\||>|-{3,}|={3,}|</?[a-zA-Z!]|\[[^\]]{1,99}\]:)")
_FORBIDDING: tuple[tuple[re.Pattern[str], Modality | None], ...] = (
    (re.compile(r"\bdo(?:'?s)? (?:and|&|/) don'?ts?\b", re.IGNORECASE), None),
    (
        re.compile(
            r"\b(?:do not|don'?ts?|never|must not|mustn't|out of scope|non-?goals?|forbidden|prohibited|off[- ]limits|not allowed"
            r"|not to do|anti-?patterns?|hands off)\b(?! forget)",
            re.IGNORECASE,
        ),
        "must_not",
    ),
    (re.compile(r"\bavoid\b|\bshould not\b", re.IGNORECASE), "should_not"),
)


@dataclass
class _Block:
    """A paragraph or a list item, with the headings above it."""

    line: int
    text: str
    item: bool
    above: tuple[str, ...]


def _blocks(text: str) -> Iterator[_Block]:
    text = _UNREAD.sub(lambda found: "\n" * found[0].count("\n"), text)
    text = _UNDERLINED.sub(r"# \1\n", text)
    block: _Block | None = None
    headings: dict[int, str] = {}
    lead = ""
    for number, line in enumerate([*text.split("\n"), ""], 1):
        heading, item = _HEADING.match(line), _ITEM.match(line)
        apart = heading or item or _NO_PROSE.match(line)
        if block and not apart:
            block.text += f"\n{line.strip()}" if len(block.text) < _LONGEST_BLOCK else ""
            continue
        if block:
            yield block
            lead = lead if block.item else block.text.rpartition("\n")[2]
        block = None
        if heading:
            headings, lead = {level: words for level, words in headings.items() if level < len(heading[1])}, ""
            headings[len(heading[1])] = heading[2]
        elif item or (not apart and not line.startswith(("    ", "\t"))):
            led = (lead,) if lead.rstrip(" *_").endswith(":") else ()
            words = (item[1] if item else line).strip()[:_LONGEST_BLOCK]
            block = _Block(number, words, bool(item), (*led, *reversed(headings.values())))


# --- sentences ----------------------------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"(?<=[.!?])[*_)\"']{0,3}\s+(?=[A-Z`*_\"'(\[])")
_SHORTENED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx)\.[*_)\"']{0,3}$", re.IGNORECASE)
_VERB = "|".join(sorted(MEANING))
_CLAUSE_END = re.compile(
    r"; | [—–] | - |,? but (?!also|may|can|you (?:may|can))"  # noqa: RUF001 - dashes of word processors
    r"|,? and (?=(?:never|do not|don't|always|you must|must not|leave|keep)\b)"
    rf"|, (?=(?:instead |always |please )?(?:{_VERB})\b)| (?=without \w+ing\b)",
    re.IGNORECASE,
)
EXCEPTION = re.compile(
    r"\b(?:except|exceptions?|unless|but (?:you )?(?:may|can)|other than|apart from|aside from|only if|only when|excluding"
    r"|besides|save for|if (?:necessary|needed|required)|where (?:possible|needed|necessary)|as needed|not counting"
    r"|when(?:ever)? (?:possible|needed|necessary))\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:must|always|shall|should|instead)\b", re.IGNORECASE)


def imperatives(source: str, text: str) -> tuple[Imperative, ...]:
    """What a text orders, in its order, 200 at most. Code, quotations, tables and headings order nothing."""
    found: list[Imperative] = []
    for block in _blocks(text[:LONGEST_INPUT]):
        for line, words, how in _instructions(block):
            found.append(Imperative(source=source, line=line, text=words[:LONGEST_TEXT], modality=how))
            if len(found) == MOST_IMPERATIVES:
                return tuple(found)
    return tuple(found)


def _instructions(block: _Block) -> Iterator[tuple[int, str, Modality]]:
    heading, forbids = _forbidding(block.above) if block.item else ("", None)
    for line, sentence in _sentences(block):
        if sentence.rstrip(" *_").endswith(":"):
            continue
        for clause in _clauses(sentence):
            words = clause.strip(" *_")
            how = modality(words)
            if forbids and how in {None, "must"} and not _OWN.search(words) and words:
                yield line, f"{heading}: {words}", forbids
            elif how:
                yield line, words, how
            forbids = None  # only the beginning of an item is read with its heading


def _forbidding(above: tuple[str, ...]) -> tuple[str, Modality | None]:
    """The nearest heading, or line that ends with a colon, that forbids what is listed below it."""
    for words in above:
        plain = " ".join(words.split()).strip(" #*_:")[:_LONGEST_HEADING]
        for pattern, how in _FORBIDDING:
            if pattern.search(plain):
                return plain, how
    return "", None


def _sentences(block: _Block) -> Iterator[tuple[int, str]]:
    """Each with the line that it begins on."""
    start = 0
    ends = [found.end() for found in _SENTENCE_END.finditer(block.text) if _is_end(block.text, found.start())]
    for end in [*ends, len(block.text)]:
        if sentence := " ".join(block.text[start:end].split()):
            yield block.line + block.text[:start].count("\n"), sentence
        start = end


def _is_end(text: str, at: int) -> bool:
    return not _SHORTENED.search(text[max(0, at - 12) : at]) and text.count("`", 0, at) % 2 == 0


def _clauses(sentence: str) -> Iterator[str]:
    """The parts of a sentence that order each by itself. One with an exception stays whole, and so does a list after a `not`."""
    hidden = hide(sentence)
    if EXCEPTION.search(sentence):
        yield sentence
        return
    start = 0
    for found in _CLAUSE_END.finditer(hidden):
        before = hidden[start : found.start()]
        if _NEGATED.search(before) and (found[0] == ", " or hidden[found.end() :].startswith("without")):
            continue
        yield sentence[start : found.start()]
        start = found.end()
    yield sentence[start:]


# --- modality -----------------------------------------------------------------------------------------------------

_HIDDEN = re.compile(r'`[^`\n]*`|"[^"\n]{12,}"|“[^”\n]*”')
_NEGATED = re.compile(r"\b(?:never|not|no)\b|n't\b", re.IGNORECASE)
_NOT = re.compile(r"n['’]t\b|(?<=\bdo)nt\b", re.IGNORECASE)  # noqa: RUF001 - as word processors write it
_OPENING = re.compile(r"(?:if|when|whenever|where|while|once|before|after|for|in|on|with|during)\b", re.IGNORECASE)
_SUBORDINATE = re.compile(
    r"\b(?:that|which|who|whose|why|how|because|since|so that|where|when|whenever|if|as long as|while)\b", re.IGNORECASE
)
_LABEL = re.compile(r"^(?:\*\*[^*]{1,60}\*\*|[A-Z][\w /-]{0,30}:)[ :.-]*")
_START = r"(?:^|[,:(] *|\b(?:you|we|please|and|or|then|agents?|to) )"
_PERMITS = (
    r"\b(?:need not|not need(?:ed)?|not (?:need|have) to|no need|not (?:required|necessary|mandatory)|optional(?:ly)?"
    r"|feel free|not (?:worry|hesitate|mind)|not necessarily|must have been|should be fine)\b"
)
_REMINDS = r"\b(?:not|never)(?: ever)? (?:forget|fail|neglect|only|just|merely|miss)\b(?! for now)"
_FORBIDS = (
    r"\b(?:must|shall)(?: not| never)\b|\bmay not be\b|\b(?:you|we|agents?|they) may not\b"
    r"|\b(?:is|are|be) (?:strictly )?(?:forbidden|prohibited|off[- ]limits|read[- ]only|frozen|out of scope"
    r"|not (?:allowed|permitted)|never allowed)\b|^(?:forbidden|prohibited|off[- ]limits|out of scope)\b"
    rf"|{_START}(?:do not|never)\b|\bnever (?:ever )?(?:be \w+ed|{_VERB})\b"
    r"|\b(?:leave|keep)\b.{1,200}\b(?:as (?:it|they|is)\b|as[- ]is\b|unchanged|untouched|alone\b|intact\b|unmodified)"
    r"|\b(?:stays?|remains?) (?:as (?:it|they)|as[- ]is|unchanged|untouched|intact|unmodified)"
    r"|^without \w+ing\b|^no (?!(?:matter|longer|need|one|idea|problem|exception)\b)"
)
_DEMANDS = (
    r"\b(?:must|shall|has to|have to|needs? to|required to)\b|\b(?:is|are) (?:required|mandatory)\b"
    rf"|{_START}always\b|\b(?:takes?|has) (?:precedence|priority) over\b|\bis more important than\b"
)
_PATTERNS: tuple[tuple[str, Modality | None], ...] = (
    (_PERMITS, None),
    (_REMINDS, "must"),
    (_FORBIDS, "must_not"),
    (rf"\bshould(?: not| never)\b|{_START}avoid\b|\bought not\b", "should_not"),
    (_DEMANDS, "must"),
    (rf"\bshould\b|{_START}prefer\b|^ideally\b|\b(?:is|are) (?:preferred|recommended)\b", "should"),
)
_MODALITIES: list[tuple[re.Pattern[str], Modality | None]] = [(re.compile(one, re.IGNORECASE), how) for one, how in _PATTERNS]
"""The first that matches says how."""
_FIRST = re.compile(r"(?:(?:please|also|then|finally|first|next|and|only),? )*([a-z][\w-]*)", re.IGNORECASE)
_DESCRIBES = re.compile(
    r"\b(?:is|are|was|were|has|have|can|will|may|lives?|goes?|gets?|stands?|belongs?|uses|means)\b|: ", re.IGNORECASE
)
_NOUNS = word_set(
    "test build log document comment change release name state record report note list limit support format cache call commit "
    "import export set print merge group link process use update show start stop work store drop"
)
"""Verbs that begin descriptions as often as instructions."""


def modality(clause: str) -> Modality | None:
    """How strongly a clause orders or forbids; None where it does neither."""
    words = _main_part(_NOT.sub(" not", hide(clause)))
    bare = _LABEL.sub("", words)
    if not bare.strip() or clause.rstrip().endswith("?"):
        return None
    for pattern, how in _MODALITIES:
        if pattern.search(words) or pattern.search(bare):
            return how
    first = _FIRST.match(bare.strip(" *_"))
    orders = first and first[1].lower() in MEANING and (first[1].lower() not in _NOUNS or not _DESCRIBES.search(bare))
    return "must" if orders else None


def hide(text: str) -> str:
    """Names in back-ticks and longer quotations become as many x, so that nothing in them is read as a word."""
    return _HIDDEN.sub(lambda found: "`" + "x" * (len(found[0]) - 2) + "`", text)


def _main_part(words: str) -> str:
    """A clause without what is subordinate: in a function that must not raise, nothing is forbidden to us."""
    words = words.strip(" *_")
    if _OPENING.match(words):
        _, comma, rest = words.partition(", ")
        return _main_part(rest) if comma else ""
    subordinate = _SUBORDINATE.search(words)
    return words[: subordinate.start()] if subordinate else words
