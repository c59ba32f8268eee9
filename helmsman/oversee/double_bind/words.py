"""Literal tables: verbs with their synonyms, and the small words that orders are built with."""

from collections.abc import Iterator

from helmsman.oversee.drift.words import word_set

_SYNONYMS = (
    "add create introduce insert append install write implement include",
    "change edit modify touch alter update adjust rewrite",
    "remove delete drop erase eliminate",
    "use utilise utilize employ adopt import depend rely",
    "skip disable ignore omit",
    "keep preserve retain maintain",
    "upgrade bump",
    "fix mend repair",
    "refactor restructure",
    "migrate convert port",
    "run execute",
    "mock stub",
    "format reformat",
    "move relocate",
    "document describe",
    "raise increase",
    "lower reduce decrease",
    "check verify validate",
    "read see consult",
    "put place",
    "expose export",
    "log",
    "print",
    "rename",
    "replace",
    "extend",
    "commit",
    "push",
    "merge",
    "rebase",
    "squash",
    "throw",
    "return",
    "catch",
    "swallow",
    "test",
    "ask",
    "call",
    "cache",
    "name",
    "make",
    "ensure",
    "set",
    "support",
    "publish",
    "release",
    "deploy",
    "leave",
    "reuse",
    "open",
    "close",
    "handle",
    "sort",
    "split",
    "prefer",
    "follow",
    "respect",
    "switch",
    "build",
    "generate",
    "define",
    "start",
    "stop",
    "wrap",
    "amend",
    "revert",
    "mark",
    "store",
    "send",
    "show",
    "state",
    "limit",
    "allow",
    "avoid",
    "cover",
    "bring",
    "pull",
    "stay",
    "go",
    "work",
    "begin",
    "finish",
    "stick",
    "treat",
    "annotate",
    "declare",
    "hard-code",
    "hardcode",
    "inline",
    "extract",
    "duplicate",
    "copy",
    "comment",
    "pin",
    "vendor",
    "enable",
    "restrict",
    "register",
    "record",
    "report",
    "note",
    "explain",
    "apply",
    "choose",
    "favour",
    "favor",
    "regenerate",
    "group",
    "link",
    "list",
)
_IRREGULAR = {
    "written": "write", "wrote": "write", "kept": "keep", "left": "leave", "built": "build", "made": "make", "put": "put",
    "thrown": "throw", "caught": "catch", "sent": "send", "shown": "show", "brought": "bring", "chosen": "choose",
    "run": "run", "running": "run", "putting": "put", "setting": "set", "set": "set", "split": "split", "stuck": "stick",
}  # fmt: skip

SYNONYM = {word: group.split()[0] for group in _SYNONYMS for word in group.split()}
"""Of each verb the one that stands for all that mean the same."""


def _forms(verb: str) -> Iterator[str]:
    stem = verb.removesuffix("e")
    soft = verb[:-1] + "i" if verb.endswith("y") else stem
    yield from (f"{soft}ed", f"{stem}ing", f"{verb}ing", f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing")


BENT = {**{form: verb for verb in SYNONYM for form in _forms(verb)}, **_IRREGULAR}
"""Of each participle and gerund its verb."""

CHANGES = word_set("change fix refactor migrate extend format document replace rename move remove upgrade add put")
"""What alters the file that it is done in."""
FORBIDS_ALL = frozenset({"touch"})
"""Verbs that, forbidden, forbid new files in their scope as well; `change` leaves them open."""
TURNS = word_set("migrate rename move change format raise replace refactor")
"""What makes one thing into another: the other one narrows nothing."""
ALONE = word_set("commit push deploy publish release merge rebase amend")
"""What is done without an object."""
COVERS = word_set("change fix refactor migrate extend format replace rename move remove")
"""What is done to all of a kind, and is not done to one that is left as it is."""
NOUNS_TOO = word_set(
    "test build log document comment change release name state record report note list limit support format cache call commit "
    "import export set print merge group link process use update show start stop work store drop"
)
"""Verbs that begin descriptions as often as orders."""
DETERMINERS = word_set("the a an all every each any only new your our its it them this these those both no existing")
EVERY = word_set("all every each")
EMPTY = DETERMINERS | word_set("current project repo repository some more further additional extra very own")
"""Adjectives that narrow nothing."""
ANYTHING = word_set("file code anything everything something nothing folder directory content line stuff it them")
AGENTS = word_set(
    "you we i it agent agents claude everyone nobody code codebase project they this everything changes change work"
)
FILLERS = word_set(
    "please always never ever do not don't dont must should shall have has need needs to be sure make also then finally no-one "
    "remember you we i agent agents claude may can will : and first only strictly absolutely really just forget fail "
    "ought it's its is are avoid without prefer required mustn't shouldn't now"
)
PLACES = word_set("in inside into under within at to on")
AROUND = word_set(
    "for with from but by via using like as per against across over between about through of instead rather than according "
    "so because since that which who whose where when if while before after until during how"
)
ADJUNCTS = word_set("in inside under within for during on at")
"""Prepositions that narrow where an order holds."""
