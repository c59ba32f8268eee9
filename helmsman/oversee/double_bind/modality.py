"""Whether a clause orders something, and how strongly. Negations of negations are read as what they mean."""

import re
from collections.abc import Iterator

from helmsman.oversee.double_bind.words import NOUNS_TOO, SYNONYM
from helmsman.records.oversight import Modality

_VERB = "|".join(sorted(map(re.escape, SYNONYM), key=len, reverse=True))
_HIDDEN = re.compile(r'`[^`\n]*`|"[^"\n]{12,}"|“[^”\n]*”')
EXCEPTION = re.compile(
    r"\b(?:except|exceptions?|unless|but (?:you )?(?:may|can)|other than|apart from|aside from|only if|only when|excluding"
    r"|save for|if (?:necessary|needed|required)|where (?:possible|needed|necessary)|as needed|when(?:ever)? (?:possible"
    r"|needed|necessary)"
    r"|besides|not counting|outside of an?)\b",
    re.IGNORECASE,
)
NO_EXCEPTION = re.compile(r"\b(?:no|without(?: any)?) exceptions?\b", re.IGNORECASE)
_PERMITS = re.compile(
    r"\b(?:need not|needn't|not need(?:ed)?|not (?:need|have) to|no need|not (?:required|necessary|mandatory)|optional(?:ly)?"
    r"|not (?:worry|hesitate|mind)|feel free|not necessarily|must have been|should be fine)\b",
    re.IGNORECASE,
)
_AFFIRMS = re.compile(
    r"\b(?:not|never)(?: ever)? (?:forget|fail|neglect|only|just|merely|miss)\b(?! for now)|\bcannot (?:forget|skip)\b",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"\b(?:that|which|who|whose|why|how|because|since|so that|where|when|whenever|if|as long as|while)\b", re.IGNORECASE
)
_OPENING = re.compile(r"(?:if|when|whenever|where|while|once|before|after|for|in|on|with|during)\b", re.IGNORECASE)
_START = r"(?:^|[,:(] *|\b(?:you|we|please|and|or|then|agents?|to) )"
_MUST_NOT = re.compile(
    r"\b(?:must|shall)(?: not|n't| never)\b|\b(?:is|are|be) (?:strictly |expressly )?(?:forbidden|prohibited"
    r"|off[- ]limits|read[- ]only"
    r"|frozen|out of scope|not allowed|not permitted|never allowed)\b|^(?:forbidden|prohibited|off[- ]limits|out of scope)\b"
    rf"|\bmay not be\b|\b(?:you|we|agents?|they) may not\b|{_START}(?:do not|don't|dont)\b"
    rf"|^never\b|\bnever (?:ever )?(?:be \w+ed|{_VERB})\b|{_START}never\b"
    r"|\b(?:leave|keep)\b.{1,200}\b(?:as (?:it|they|is)\b|as[- ]is\b|unchanged|untouched|alone\b|intact\b|unmodified)"
    r"|\b(?:stays?|remains?) (?:as (?:it|they)|as[- ]is|unchanged|untouched|intact|unmodified)"
    rf"|^(?:and )?without (?:\w+ly )?(?:any )?(?:changing|touching|modifying|altering|editing|adding|introducing|removing"
    rf"|deleting|renaming|using|breaking)"
    r"|^no (?!(?:matter|longer|need|one|idea|problem|exception)\b)",
    re.IGNORECASE,
)
_SHOULD_NOT = re.compile(rf"\bshould(?: not|n't| never)\b|^(?:please )?avoid\b|{_START}avoid\b|\bought not\b", re.IGNORECASE)
TOP = re.compile(
    r"\b(?:is|are|comes|has|have|takes|as) (?:always )?(?:the |our |your )?(?:(?:top|highest|first|number one"
    r"|absolute) priority"
    r"|most important(?: (?:thing|goal|rule|criterion|requirement|quality))?)(?=[ .,;:]*(?:$|here|of all|in this))"
    r"|^(?:the |our |your )?(?:(?:top|highest|first|number one) priority|most important (?:thing|goal|rule|criterion"
    r"|requirement|quality))(?: is\b|:)"
    r"|\bbefore anything else\b|\babove (?:all|everything)(?: else)?\b|\b(?:takes?|has) (?:precedence"
    r"|priority) over (?:everything|anything|all)\b"
    r"|\bcomes? (?:first|before everything)\b",
    re.IGNORECASE,
)
_MUST = re.compile(
    rf"\b(?:must|shall|has to|have to|needs? to|required to)\b|\b(?:is|are) (?:required|mandatory)\b"
    rf"|^(?:please )?always\b|{_START}always\b"
    r"|\b(?:takes?|has) (?:precedence|priority) over\b|\bis more important than\b",
    re.IGNORECASE,
)
_SHOULD = re.compile(rf"\bshould\b|^prefer\b|{_START}prefer\b|^ideally\b|\b(?:is|are) (?:preferred|recommended)\b", re.IGNORECASE)
_LABEL = re.compile(r"^(?:\*\*[^*]{1,60}\*\*|[A-Z][\w /-]{0,30}:)[ :.-]*")
_FIRST = re.compile(r"^(?:please |also |then |finally |first,? |next,? |and |only )*([A-Za-z][\w-]*)(?: +(\S+))?", re.IGNORECASE)
_CUT = re.compile(
    r"; | [—–] | - |,? but (?!also|may|can|you may|you can)|,? and (?=(?:never|do not|don't|always"  # noqa: RUF001
    r"|you must|must not|leave|keep)\b)"
    r"| (?=without (?:\w+ly )?(?:changing|touching|modifying|altering|editing|adding|introducing|removing|deleting"
    r"|renaming)\b)",
    re.IGNORECASE,
)
_NEXT_ORDER = re.compile(rf", (?=(?:instead |always |please )?(?:{_VERB})\b)", re.IGNORECASE)
_ORS = re.compile(r"\b(?:or|nor)\b", re.IGNORECASE)
_BACKED = re.compile(r"\b(?:never|not)\b|n't\b", re.IGNORECASE)


_SHORT_NOT = re.compile(r"n['’]t\b|(?<=\bdo)nt\b", re.IGNORECASE)  # noqa: RUF001 - as word processors write it


def hide(text: str) -> str:
    """Names in back-ticks and longer quotations become as many x, so that nothing in them is read as a word."""
    return _HIDDEN.sub(lambda found: "`" + "x" * (len(found[0]) - 2) + "`", text)


def clauses(sentence: str) -> Iterator[str]:
    """The parts of a sentence that order each by itself. A sentence with an exception stays whole."""
    if EXCEPTION.search(sentence):
        yield sentence
        return
    for part in _rejoined(_cut(sentence, _CUT)):
        listed = _ORS.search(hide(part)) or not _BACKED.search(hide(part)[:60])
        yield from [part] if listed else _cut(part, _NEXT_ORDER)


def _rejoined(parts: Iterator[str]) -> Iterator[str]:
    """What may not be done without something else is one order."""
    before = next(parts, "")
    for part in parts:
        if part.lower().startswith("without") and _BACKED.search(hide(before)):
            before += f" {part}"
        else:
            yield before
            before = part
    yield before


def modality(clause: str) -> Modality | None:
    """How strongly a clause orders or forbids; None where it does neither. Its own words, whatever stands around it."""
    words = main_part(_SHORT_NOT.sub(" not", hide(clause)))
    bare = _LABEL.sub("", words)
    if not bare.strip() or clause.rstrip().endswith("?") or _PERMITS.search(words):
        return None
    if _AFFIRMS.search(words):
        return "must"
    for pattern, found in _ORDER:
        if pattern.search(words) or pattern.search(bare):
            return found
    return "must" if imperative(bare) else None


_ORDER: tuple[tuple[re.Pattern[str], Modality], ...] = (
    (_MUST_NOT, "must_not"),
    (_SHOULD_NOT, "should_not"),
    (TOP, "must"),
    (_MUST, "must"),
    (_SHOULD, "should"),
)


def main_part(words: str) -> str:
    """A clause without what is subordinate: in a function that must not raise, nothing is forbidden to us."""
    words = words.strip().lstrip("*_ ")
    if _OPENING.match(words):
        _, comma, rest = words.partition(", ")
        return main_part(rest) if comma else ""
    subordinate = _SUBORDINATE.search(words)
    return words[: subordinate.start()] if subordinate else words


def imperative(words: str) -> bool:
    """Whether words begin with a verb that orders."""
    first = _FIRST.match(words.strip().lstrip("*_ "))
    if first is None or first[1].lower() not in SYNONYM:
        return False
    return first[1].lower() not in NOUNS_TOO or not _DESCRIBES.search(words)


_DESCRIBES = re.compile(
    r"\b(?:is|are|was|were|has|have|can|will|may|lives?|goes?|go|gets?|stands?|belongs?|uses|means)\b|: ", re.IGNORECASE
)


def _cut(text: str, at: re.Pattern[str]) -> Iterator[str]:
    """Cut where the pattern matches outside of names and quotations."""
    start = 0
    for found in at.finditer(hide(text)):
        yield text[start : found.start()]
        start = found.end()
    yield text[start:]
