"""Files that a shell command writes, moves or removes, as far as its words tell."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from helmsman.orient.guardrails.git import written_by_git
from helmsman.orient.guardrails.shell import UNKNOWN, Command
from helmsman.orient.guardrails.words import has_flag, operands, word_set
from helmsman.orient.guardrails.wrappers import INTERPRETER

Writes = Callable[[Command], Iterator[str]]

FOLDERS_ONLY = frozenset({"mkdir"})
"""What they make is empty and harms no protected file."""
_FOLDER = word_set("-t --target-directory")


def written(command: Command) -> Iterator[str]:
    """Words that name what is written, relative to the command's folder."""
    yield from command.writes
    if reader := _reader(command.program):
        yield from reader(command)


def _reader(program: str) -> Writes | None:
    return _inline if INTERPRETER.fullmatch(program) else _TABLE.get(program)


def _all(valued: frozenset[str] = frozenset()) -> Writes:
    return lambda command: operands(command.arguments, valued)


def _last(*valued: str, folder: frozenset[str] = frozenset()) -> Writes:
    """One of the options in `folder` names it, else the last of two or more words."""

    def found(command: Command) -> Iterator[str]:
        words = command.arguments
        names = list(operands(words, frozenset(valued) | folder))
        yield from _valued(words, folder) or (names[-1:] if len(names) > 1 else [])

    return found


def _moved(command: Command) -> Iterator[str]:
    """What is moved is gone from where it was."""
    yield from operands(command.arguments, _FOLDER | word_set("-S --suffix"))
    yield from _valued(command.arguments, _FOLDER)


def _linked(command: Command) -> Iterator[str]:
    found = list(operands(command.arguments, _FOLDER))
    yield from found[1:]


def _valued(words: tuple[str, ...], flags: frozenset[str]) -> list[str]:
    pairs = pairwise(words)
    joined = (word.partition("=") for word in words if word.startswith("--"))
    return [
        *(after for flag, after in pairs if flag in flags),
        *(value for name, equals, value in joined if equals and name in flags),
    ]


def _sed(command: Command) -> Iterator[str]:
    """In place only; the first word is the script, unless -e or -f gives it."""
    words = tuple(word for word in command.arguments if word)
    if not has_flag(words, "i", frozenset({"--in-place"})):
        return
    given = any(word in {"-e", "-f", "--expression", "--file"} or word.startswith("--expression=") for word in words)
    found = list(operands(words, word_set("-e -f --expression --file")))
    yield from found if given else found[1:]


def _dd(command: Command) -> Iterator[str]:
    return (word[3:] for word in command.arguments if word.startswith("of="))


def _output(*flags: str) -> Writes:
    """An option that names the output; `-` is the terminal. A cluster such as `-sSo` counts."""
    letters = tuple(flag[1] for flag in flags if len(flag) == len("-o"))

    def found(command: Command) -> Iterator[str]:
        words = command.arguments
        clusters = frozenset(word for word in words if re.fullmatch(r"-[A-Za-z]{1,12}", word) and word.endswith(letters))
        return (word for word in _valued(words, clusters | frozenset(flags)) if word != "-")

    return found


def _find(command: Command) -> Iterator[str]:
    """With `-delete`: what has the name, in the folder that is searched."""
    if "-delete" in command.arguments:
        name = next(iter(_valued(command.arguments, frozenset({"-name", "-iname"}))), UNKNOWN)
        yield f"{next(operands(command.arguments[:1]), '.')}/{name}"


# scripts in a line ----------------------------------------------------------------------------------------------------

_QUOTED = r"""[rbuf]{0,2}(['"`])([^'"`\n]{1,300})\1"""
_BOUND = re.compile(rf"""\b([A-Za-z_]\w{{0,60}})\s{{0,9}}=\s{{0,9}}(?:(?:pathlib\.)?Path\(\s{{0,9}})?{_QUOTED}""")
_FILE = rf"""(?:{_QUOTED}|([A-Za-z_]\w{{0,60}}))"""
_INLINE = (
    re.compile(rf"""\bopen\(\s{{0,9}}{_FILE}\s{{0,9}},\s{{0,9}}(?:mode\s{{0,9}}=\s{{0,9}})?['"][rbt+]{{0,2}}[wax+]"""),
    re.compile(rf"""\bPath\(\s{{0,9}}{_FILE}\s{{0,9}}\)\.(?:write_text|write_bytes|unlink|touch|rename|replace|rmdir)\("""),
    re.compile(
        rf"""\b(?:rmtree|os\.remove|os\.unlink|os\.truncate|File\.write|File\.delete|FileUtils\.rm_rf)\(\s{{0,9}}{_FILE}"""
    ),
    re.compile(rf"""\b(?:writeFile|appendFile|rm|unlink|truncate|createWriteStream|rmdir)(?:Sync|Stream)?\(\s{{0,9}}{_FILE}"""),
    re.compile(
        r"""\bopen\(?\s{0,9}(?:my\s)?\s{0,9}\$?\w{1,40},\s{0,9}(['"])\s{0,9}>{1,2}\s{0,9}(?:['"],\s{0,9}['"])?([^'"\n<>]{1,300})['"]()"""
    ),
)
_METHOD = re.compile(r"\b([A-Za-z_]\w{0,60})\.(?:write_text|write_bytes|unlink)\(")


def _inline(command: Command) -> Iterator[str]:
    """Files that a script given as text opens for writing, by their names or by a variable that was just set."""
    words = command.arguments
    scripts = [after for flag, after in pairwise(words) if flag.startswith("-") and flag[-1:] in "ceEpr"]
    text = "\n".join((*scripts[:5], command.stdin if not [word for word in operands(words) if word != "-"] else ""))
    bound = {match[1]: match[3] for match in _BOUND.finditer(text)}
    for pattern in _INLINE:
        yield from (name for match in pattern.finditer(text) if (name := match[2] or bound.get(match[3] or "", "")))
    yield from (bound[match[1]] for match in _METHOD.finditer(text) if match[1] in bound)


def _perl(command: Command) -> Iterator[str]:
    yield from _inline(command)
    words = command.arguments
    if has_flag(words, "i"):
        scripts = frozenset(word for word in words if re.fullmatch(r"-[a-zA-Z0-9.]{0,12}e", word))
        yield from operands(words, scripts)


_TABLE: Mapping[str, Writes] = {
    "tee": _all(),
    "rm": _all(),
    "rmdir": _all(),
    "unlink": _all(),
    "shred": _all(word_set("-n -s")),
    "truncate": _all(word_set("-s --size -r --reference")),
    "touch": _all(word_set("-d -t -r --date --reference")),
    "mkdir": _all(word_set("-m --mode")),
    "cp": _last("-S", "--suffix", folder=_FOLDER),
    "rsync": _last("-e", "--rsh", "--exclude", "--include"),
    "install": _last("-S", "--suffix", "-m", "--mode", "-o", "-g", folder=_FOLDER),
    "mv": _moved,
    "ln": _linked,
    "sed": _sed,
    "gsed": _sed,
    "dd": _dd,
    "find": _find,
    "curl": _output("-o", "--output"),
    "wget": _output("-O", "--output-document"),
    "sort": _output("-o", "--output"),
    "unzip": _output("-d"),
    "git": written_by_git,
    "node": _inline,
    "bun": _inline,
    "deno": _inline,
    "ruby": _inline,
    "php": _inline,
    "perl": _perl,
}
