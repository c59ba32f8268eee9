"""The commands that a shell script runs, as far as its text tells: where, with which words, into which files.

`sh -c "…"`, `eval`, `$(…)`, `find -exec` and here-documents given to a shell are followed. A part of a word that the text does
not tell, the value of an unknown variable for one, is the character UNKNOWN. Of a script that the grammar cannot read as a whole,
what it can read counts: a shell too runs what stands before its first error.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from posixpath import join, normpath
from typing import TYPE_CHECKING, NamedTuple

from helmsman.parsers.shell_words import ASSIGNMENT, UNKNOWN, Here, name_of, operands, prepared, script_of, unwrap
from helmsman.plain import word_set

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

HOME = "/~"  # stands for a home folder that isn't known
PARENT = "$PPID"  # stands for the process that runs the agent's shell
FORK_BOMB, UNREAD = "fork bomb", "unread script"
"""Stand for a function that runs itself twice, and for what was left out of a script."""
LONGEST = 20_000  # characters of a command that are read

_COSTLY, _MOST_COSTLY = re.compile(r"[|(\[<]"), 300
"""Signs of which a few thousand take the grammar seconds; what stands behind so many of them is left out."""
_DEEPEST_SCRIPT, _DEEPEST_NODE = 5, 50
"""Scripts within scripts that are followed; levels of a tree, beyond which the rest is left out."""
_MOST_COMMANDS, _MOST_UPSTREAM = 2000, 20
_LONGEST_VALUE = 200  # characters of a variable that are kept, so that doubling it stays harmless
_INTO = word_set("> >> >| &> &>> >& <>")
_EXEC = word_set("-exec -execdir -ok -okdir")
_NAMED = word_set("declaration_command unset_command test_command")  # commands whose first word is a keyword
_REDIRECTS = word_set("file_redirect herestring_redirect heredoc_redirect")
_EXPANSIONS = word_set("simple_expansion expansion arithmetic_expansion command_substitution process_substitution")
_JOINED = word_set("command_name concatenation variable_assignment subscript array")
_GROUPS = word_set("program subshell compound_statement")
_ESCAPED, _ESCAPED_IN_QUOTES = re.compile(r"\\(\n|.)", re.DOTALL), re.compile(r"\\([\n\"\\$`])")
_PRINTED: Mapping[tuple[str, ...], str] = {
    ("pwd",): "",
    ("git", "rev-parse", "--git-dir"): "/.git",
    ("git", "rev-parse", "--git-common-dir"): "/.git",
}
"""Commands that print where they are run, and what they put behind that."""
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_BOMB = re.compile(
    r"(?:^|(?<=[\s(){};|&]))([^\s(){};|&]{1,60})\s{0,9}(?:\(\s{0,9}\))?\s{0,9}\{\s{0,9}\1\s{0,9}\|\s{0,9}\1(?![\w./-])"
)
"""A function that runs itself twice: `:(){ :|:& };:`."""


@dataclass(frozen=True)
class Command:
    """One simple command, without what it was wrapped in."""

    words: tuple[str, ...] = ()
    folder: str | None = ""  # absolute path of the folder it runs in; None where the text doesn't tell
    writes: tuple[str, ...] = ()  # targets of its redirections
    stdin: str = ""
    upstream: tuple[str, ...] = ()  # programs whose output it reads: those before it in its pipeline, and in `< <(…)`
    inner: tuple[str, ...] = ()  # programs in the substitutions of its words
    wrappers: tuple[str, ...] = ()
    background: bool = False
    sure: bool = False  # whether it ran to a good end where the whole script did

    @property
    def program(self) -> str:
        return name_of(self.words[0]) if self.words else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[1:]


_LEFT_OUT = Command(words=(UNREAD,))


@lru_cache(maxsize=32)  # one call is judged, then folded twice
def commands(script: str, folder: str, home: str = "") -> tuple[Command, ...]:
    """The commands in the first LONGEST characters of a script that starts in `folder`."""
    reader = _Reader(folder, home or HOME)
    if len(script) > LONGEST:
        reader.commands.append(_LEFT_OUT)
    reader.script(script[:LONGEST], sure=len(script) <= LONGEST)
    return tuple(replace(one, sure=False) if reader.defines else one for one in reader.commands)


def placed(word: str, folder: str | None, home: str) -> str | None:
    """A word as an absolute path without `..`; None where the text doesn't tell."""
    if word.startswith("~"):
        word = home + word[1:] if word[1:2] in {"", "/"} else f"/~/{word[1:]}"
    if word.startswith(UNKNOWN) or (folder is None and not word.startswith("/")):
        return None
    return normpath(join(folder or "/", word))


@cache
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    grammar: object = tree_sitter_bash.language()
    return Parser(Language(grammar))


_SWAPPED = {0x85: 0xFE, 0xA0: 0xFF, 0xFE: 0x85, 0xFF: 0xA0}  # see `_encoded`


class _Around(NamedTuple):
    """What a command gets from what it stands in."""

    upstream: tuple[str, ...] = ()
    redirects: tuple["Node", ...] = ()
    stdin: str = ""
    background: bool = False
    sure: bool = False
    depth: int = 0


class _Reader:
    """Where a script stands: its folder and its variables."""

    def __init__(self, folder: str, home: str) -> None:
        self.folder: str | None = folder
        self.before: str | None = folder
        self.home = home
        self.variables = {"HOME": home, "TMPDIR": "/tmp", "PPID": PARENT}  # noqa: S108 - a name to compare with, nothing is made there
        self.commands: list[Command] = []
        self.defines = False
        self.scripts = 0
        self.bodies: dict[str, Here] = {}
        self.found: set[str] = set()
        """The words for here-documents, and those that were read as what they are."""

    def script(self, text: str, *, sure: bool = False) -> None:
        """Here-documents are words where that leaves each of them one that is read from, else the grammar's own."""
        text = text.replace("\0", "")
        start, folder, variables = len(self.commands), self.folder, dict(self.variables)
        self._read(prepared(text, self.bodies), sure=sure)
        if not self.scripts and len(self.found) < len(self.bodies):
            del self.commands[start:]
            self.folder, self.variables = folder, variables
            self._read(text, sure=sure)

    def _read(self, text: str, *, sure: bool) -> None:
        signs = [found.start() for found in islice(_COSTLY.finditer(text), _MOST_COSTLY + 1)]
        whole = len(signs) <= _MOST_COSTLY
        root = _parser().parse(_encoded(text if whole else text[: signs[-1]])).root_node
        if not whole:
            self.commands.append(_LEFT_OUT)
        try:
            self._run(root, _Around(sure=sure and whole and not root.has_error))
        except RecursionError:
            self.commands.append(_LEFT_OUT)

    # statements -----------------------------------------------------------------------------------------------------

    def _run(self, node: "Node", around: _Around) -> tuple[str, ...]:
        """All that a node runs, in order; give the programs."""
        if around.depth > _DEEPEST_NODE:
            raise RecursionError
        return _STATEMENTS.get(node.type, _Reader.sequence)(self, node, around._replace(depth=around.depth + 1))

    def sequence(self, node: "Node", around: _Around) -> tuple[str, ...]:
        """One statement after the other. Redirections are for the whole; a subshell gives the folder back."""
        folder, programs = self.folder, list[str]()
        if around.redirects:
            around, _, writes = self._redirects(around)
            self._command((), around, writes=writes)
        if node.type == "for_statement":
            self.variables.pop(_raw(node.named_children[0]), None)
        if node.type == "function_definition":
            self.defines = True
            if _BOMB.search(_raw(node)):
                self.commands.append(Command(words=(FORK_BOMB,)))
        last = [child for child in node.named_children if child.type != "comment"][-1:]
        for child in node.children:
            if child.child_count:
                behind = child.next_sibling
                background = around.background or (behind is not None and behind.type == "&")
                sure = around.sure and node.type in _GROUPS and child in last
                programs += self._run(child, around._replace(background=background, sure=sure))
        if node.type == "subshell":
            self.folder = folder
        return tuple(programs)

    def pipeline(self, node: "Node", around: _Around) -> tuple[str, ...]:
        """Redirections around the whole belong to the last."""
        programs = tuple[str, ...]()
        for one in node.named_children:
            given = around if one == node.named_children[-1] else around._replace(redirects=(), sure=False)
            programs += self._run(one, given._replace(upstream=(*around.upstream, *programs)[-_MOST_UPSTREAM:]))
        return programs

    def both(self, node: "Node", around: _Around) -> tuple[str, ...]:
        """`a && b > c`, which the grammar takes for `(a && b) > c`."""
        around = around._replace(sure=around.sure and all(child.type != "||" for child in node.children))
        *first, last = node.named_children
        programs = [program for one in first for program in self._run(one, around._replace(redirects=()))]
        return *programs, *self._run(last, around)

    def redirected(self, node: "Node", around: _Around) -> tuple[str, ...]:
        body = None if node.type in _REDIRECTS else node.child_by_field_name("body")
        given = around._replace(redirects=(*around.redirects, *(node.children_by_field_name("redirect") or [node])))
        return self._run(body, given) if body else self.simple(node, given)

    def _redirects(self, around: _Around) -> tuple[_Around, list[str], list[str]]:
        """What a command gets by redirections: input, words that stand behind them, what it writes to."""
        words, writes, stdin, upstream = list[str](), list[str](), around.stdin, around.upstream
        for node in around.redirects:
            start = len(self.commands)
            operator = next((child.type for child in node.children if not child.is_named), "")
            named = [child for child in node.named_children if child.type != "file_descriptor"]
            target, *more = [self._text(child, around) for child in named] or [""]
            words += more
            if operator in _INTO:
                writes.append(target)
            elif operator in {"<", "<<<"}:
                stdin = target if operator == "<<<" else stdin
                if target in self.bodies:  # a here-document, whose substitutions are run
                    self.found.add(target)
                    stdin = self.bodies[target].body
                    for script in self.bodies[target].scripts:
                        self._aside(script)
                upstream = (*upstream, *(one.program for one in self.commands[start:]))
            elif operator.startswith("<<"):
                stdin = next((_raw(child) for child in node.named_children if child.type == "heredoc_body"), "")
        return around._replace(redirects=(), stdin=stdin, upstream=upstream), words, writes

    # commands -------------------------------------------------------------------------------------------------------

    def simple(self, node: "Node", around: _Around) -> tuple[str, ...]:
        start, words = len(self.commands), [_raw(node.children[0])] if node.type in _NAMED else []
        parts = [node] if node.type == "variable_assignment" or node.type in _REDIRECTS else node.named_children
        redirects = tuple(part for part in parts if part.type in _REDIRECTS and part not in around.redirects)
        for part in parts:
            if node.type == "test_command":
                self._run(part, around._replace(redirects=()))
            elif part.type not in _REDIRECTS:
                text, raw = self._text(part, around), _raw(part)
                # A variable outside of quotes may be several words, a tilde in them is no home.
                loose = "$" in raw and set("'\"\\`(").isdisjoint(raw) and not ASSIGNMENT.match(raw)
                quoted_tilde = text.startswith("~") and raw[0] in "'\"\\"
                words += [f"./{text}"] if quoted_tilde else text.split() if loose else [text]
        for word in words if node.type.startswith(("variable", "declaration")) else ():
            if ASSIGNMENT.match(word):
                name, _, value = word.partition("=")
                known = len(value) <= _LONGEST_VALUE and not name.endswith("+")
                self.variables[name.rstrip("+")] = value if known else UNKNOWN
        inner = tuple(one.program for one in self.commands[start:])
        around, more, writes = self._redirects(around._replace(redirects=(*redirects, *around.redirects)))
        return self._command((*words, *more), around, writes, inner)

    def _command(
        self, words: Iterable[str], around: _Around, writes: Iterable[str] = (), inner: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        if len(self.commands) >= _MOST_COMMANDS:
            return inner
        wrappers, bare = unwrap(words)
        upstream, _, stdin, background, sure, _ = around
        files = tuple(word for word in writes if word != "-" and not word.isdigit())
        command = Command(bare, self.folder, files, stdin, upstream, inner, wrappers, background, sure)
        self.commands.append(command)
        self._follow(command)
        return *inner, command.program

    # words ----------------------------------------------------------------------------------------------------------

    def _text(self, node: "Node", around: _Around) -> str:
        raw = _raw(node)
        if node.type in _EXPANSIONS:
            return self._value(node, around)
        if node.type in {"raw_string", "ansi_c_string"}:
            return raw[raw.index("'") + 1 : -1]
        if node.type in _JOINED:
            return "".join(self._text(child, around) for child in node.children)
        escaped = _ESCAPED_IN_QUOTES if node.type == "string" else _ESCAPED
        text, data, at = "", node.text or b"", 0
        for child in node.children:
            if child.type in _EXPANSIONS:
                start, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
                text, at = text + _plain(data[at:start], escaped) + self._value(child, around), end
        text += _plain(data[at:], escaped)
        return text[1:-1] if node.type == "string" else text

    def _value(self, node: "Node", around: _Around) -> str:
        raw = _raw(node)
        if match := _VARIABLE.fullmatch(raw):
            name = match[1] or match[2]
            return (self.folder or UNKNOWN) if name == "PWD" else self.variables.get(name, UNKNOWN)
        if around.depth > _DEEPEST_NODE:
            raise RecursionError
        start, folder = len(self.commands), self.folder
        if raw.startswith("`") and "\\" in raw:
            self._aside(re.sub(r"\\([`\\$])", r"\1", raw[1:-1]))
        else:
            self.sequence(node, _Around(depth=around.depth + 1))
        self.folder = folder
        words = self.commands[start].words if len(self.commands) == start + 1 else ()
        return f"{folder or UNKNOWN}{_PRINTED[words]}" if words in _PRINTED else UNKNOWN

    def expansion(self, node: "Node", around: _Around) -> tuple[str, ...]:
        """Give the programs in it."""
        start = len(self.commands)
        self._value(node, around)
        return tuple(one.program for one in self.commands[start:])

    # what commands do to the script ---------------------------------------------------------------------------------

    def _follow(self, command: Command) -> None:
        """What a command does to the scripts after it and within it."""
        if command.program in {"cd", "pushd", "popd"}:
            there = next(operands(command.arguments), self.home if command.program == "cd" else "-")
            folder = self.before if there == "-" else placed(there, self.folder, self.home)
            self.before, self.folder = self.folder, folder
        elif command.program == "find":
            self._found(command)
        elif script := script_of(command.words, command.stdin):
            self._aside(script, sure=command.sure, stays=command.program == "eval")

    def _aside(self, script: str, *, sure: bool = False, stays: bool = False) -> None:
        """A script within this one; its changes of the folder stay where it runs in the same shell."""
        if self.scripts < _DEEPEST_SCRIPT:
            folder, self.scripts = self.folder, self.scripts + 1
            self.script(script, sure=sure)
            self.scripts -= 1
            self.folder = self.folder if stays else folder

    def _found(self, command: Command) -> None:
        words = command.words
        begins = [number for number, word in enumerate(words) if word in _EXEC]
        start = next(operands(words[1 : begins[0]]), ".") if begins else "."
        end = 0
        for begin in begins:
            if begin < end:  # a word of the one before
                continue
            end = next((number for number in range(begin, len(words)) if words[number] in {";", "+"}), len(words))
            wrappers, bare = unwrap([word.replace("{}", f"{start}/{UNKNOWN}") for word in words[begin + 1 : end]])
            inner = replace(command, words=bare, wrappers=wrappers, writes=(), upstream=("find",), sure=False)
            self.commands.append(inner)
            if inner.program != "find":  # `find -exec sh -c …`; a find within a find is nobody's habit
                self._follow(inner)


_STATEMENTS: Mapping[str, Callable[[_Reader, "Node", _Around], tuple[str, ...]]] = {
    **dict.fromkeys(("command", "variable_assignment", "variable_assignments", *_NAMED), _Reader.simple),
    **dict.fromkeys(_EXPANSIONS, _Reader.expansion),
    **dict.fromkeys(("redirected_statement", *_REDIRECTS), _Reader.redirected),
    "pipeline": _Reader.pipeline,
    "list": _Reader.both,
}


def _encoded(text: str) -> bytes:
    """A script for the grammar, with each byte of its UTF-8 as a character of Latin-1.

    The scanner of tree-sitter-bash looks larger characters up behind the end of a C table, and the process dies of it (seen with
    0.25.1 and U+1008B4). Bytes that are white space in Latin-1 change places with bytes that UTF-8 never has.
    """
    return text.encode(errors="replace").decode("latin-1").translate(_SWAPPED).encode()


def _decoded(data: bytes) -> str:
    return data.decode().translate(_SWAPPED).encode("latin-1").decode(errors="replace")


def _raw(node: "Node") -> str:
    return _decoded(node.text) if node.text else ""


def _plain(data: bytes, escaped: re.Pattern[str]) -> str:
    return escaped.sub(lambda match: "" if match[1] == "\n" else match[1], _decoded(data))
