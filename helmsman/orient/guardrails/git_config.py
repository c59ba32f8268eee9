"""Keys of git's configuration that a command sets or removes, and which of them are nobody's to set during an iteration."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from helmsman.orient.guardrails.words import has_flag, operands, word_set

_KEPT = (
    "core.*", "filter.*", "include.*", "includeif.*", "alias.*", "credential.*", "extensions.*",
    "diff.external", "diff.*.command", "diff.*.textconv", "merge.*.driver", "gpg.program", "gpg.*.program",
    "sequence.editor", "remote.*.uploadpack", "remote.*.receivepack", "url.*.insteadof", "url.*.pushinsteadof",
)  # fmt: skip
"""They name programs, other files of configuration, other addresses, or files that git shall not see. In lower case."""
_VALUED = word_set("-f --file --blob --type --default --value --comment --url")
_READS = word_set("--get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool --list")
_SECTIONS = word_set("--rename-section --remove-section rename-section remove-section")
_SETS = word_set("--add --replace-all --unset --unset-all")


def sets_kept_key(words: Sequence[str]) -> bool:
    """Whether `git config` with these words changes a key that the loop and the operator rely on."""
    names = list(operands(words, _VALUED))
    verb = "".join(names[:1])
    if has_flag(words, "l", _READS) or verb in {"get", "list"}:
        return False
    if has_flag(words, "e", frozenset({"--edit"})) or verb == "edit":
        return True
    if _SECTIONS & {*words}:
        return any(_section(name) in {_section(key) for key in _KEPT} for name in names)
    if verb in {"set", "unset"}:
        return any(map(_is_kept, names[1:2]))
    return (len(names) > 1 or has_flag(words, "", _SETS)) and _is_kept(verb)


def _is_kept(key: str) -> bool:
    return any(fnmatchcase(key.lower(), pattern) for pattern in _KEPT)


def _section(key: str) -> str:
    return key.lower().partition(".")[0]
