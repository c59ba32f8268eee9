"""The words that instructions are written with. English only."""

from collections.abc import Iterator

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
