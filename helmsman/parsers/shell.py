"""Static analysis of shell scripts: which commands run, in which folder, with which words, and which files they write.

`sh -c "…"`, `eval`, `$(…)`, `find -exec` and here-documents given to a shell are followed. Parts of a word that the text does
not determine, such as the value of an unknown variable, become the character UNKNOWN. If the grammar cannot parse all of a
script, the part that it can parse counts: a shell also runs what comes before its first error.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from posixpath import join, normpath
from typing import TYPE_CHECKING, NamedTuple

from helmsman.parsers.shell_words import ASSIGNMENT, UNKNOWN, Here, name_of, operands, prepare, script_of, unwrap
from helmsman.plain import word_set

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

HOME = "/~"  # placeholder for an unknown home folder
PARENT = "$PPID"  # placeholder for the process that runs the agent's shell
FORK_BOMB, UNREAD = "fork bomb", "unread script"
"""Placeholder words for a function that runs itself twice, and for a skipped part of a script."""
LONGEST = 20_000  # maximum number of characters read

_COSTLY, _MOST_COSTLY = re.compile(r"[|(\[<]"), 300
"""A few thousand of these characters cost the grammar seconds; text after the maximum is skipped."""
_DEEPEST_SCRIPT, _DEEPEST_NODE = 5, 50
"""Maximum nesting of scripts within scripts, and of nodes in the syntax tree; the rest is skipped."""
_MOST_COMMANDS, _MOST_UPSTREAM = 2000, 20
_LONGEST_VALUE = 200  # maximum characters kept of a variable, so that doubling it stays harmless
_OUTPUT_OPERATORS = word_set("> >> >| &> &>> >& <>")
_EXEC_OPTIONS = word_set("-exec -execdir -ok -okdir")
_KEYWORD_COMMANDS = word_set("declaration_command unset_command test_command")  # commands whose first word is a keyword
_REDIRECTS = word_set("file_redirect herestring_redirect heredoc_redirect")
_EXPANSIONS = word_set("simple_expansion expansion arithmetic_expansion command_substitution process_substitution")
_CONCATENATIONS = word_set("command_name concatenation variable_assignment subscript array")
_GROUPS = word_set("program subshell compound_statement")
_ESCAPED, _ESCAPED_IN_QUOTES = re.compile(r"\\(\n|.)", re.DOTALL), re.compile(r"\\([\n\"\\$`])")
_PRINTS_FOLDER: Mapping[tuple[str, ...], str] = {
    ("pwd",): "",
    ("git", "rev-parse", "--git-dir"): "/.git",
    ("git", "rev-parse", "--git-common-dir"): "/.git",
}
"""Commands that print their working directory, and the suffix they add to it."""
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_FORK_BOMB = re.compile(
    r"(?:^|(?<=[\s(){};|&]))([^\s(){};|&]{1,60})\s{0,9}(?:\(\s{0,9}\))?\s{0,9}\{\s{0,9}\1\s{0,9}\|\s{0,9}\1(?![\w./-])"
)
"""A function that runs itself twice: `:(){ :|:& };:`."""


@dataclass(frozen=True)
class Command:
    """One simple command, without its wrappers."""

    words: tuple[str, ...] = ()
    folder: str | None = ""  # absolute path of its working directory; None if unknown
    writes: tuple[str, ...] = ()  # targets of its output redirections
    stdin: str = ""
    upstream: tuple[str, ...] = ()  # programs whose output it reads: earlier ones of its pipeline, and those in `< <(…)`
    inner: tuple[str, ...] = ()  # programs in the substitutions within its words
    wrappers: tuple[str, ...] = ()
    background: bool = False
    sure: bool = False  # whether it succeeded if the whole script did

    @property
    def program(self) -> str:
        return name_of(self.words[0]) if self.words else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[1:]


_UNREAD_COMMAND = Command(words=(UNREAD,))


@lru_cache(maxsize=32)  # each call is judged once, then folded twice
def commands(script: str, folder: str, home: str = "") -> tuple[Command, ...]:
    """Return the commands in the first LONGEST characters of a script that starts in `folder`."""
    reader = _Reader(folder, home or HOME)
    if len(script) > LONGEST:
        reader.commands.append(_UNREAD_COMMAND)
    reader.script(script[:LONGEST], sure=len(script) <= LONGEST)
    return tuple(replace(command, sure=False) if reader.defines else command for command in reader.commands)


def resolve_word(word: str, folder: str | None, home: str) -> str | None:
    """Return a word as an absolute path without `..`; None if the text does not determine it."""
    if word.startswith("~"):
        word = home + word[1:] if word[1:2] in {"", "/"} else f"/~/{word[1:]}"
    if word.startswith(UNKNOWN) or (folder is None and not word.startswith("/")):
        return None
    return f"/{normpath(join(folder or '/', word)).lstrip('/')}"  # POSIX keeps two leading slashes


@cache
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    grammar: object = tree_sitter_bash.language()
    return Parser(Language(grammar))


_SWAPPED_BYTES = {0x85: 0xFE, 0xA0: 0xFF, 0xFE: 0x85, 0xFF: 0xA0}  # see `_encode`


class _Context(NamedTuple):
    """What a command inherits from the nodes around it."""

    upstream: tuple[str, ...] = ()
    redirects: tuple["Node", ...] = ()
    stdin: str = ""
    background: bool = False
    sure: bool = False
    depth: int = 0


class _Reader:
    """Interpreter state of a script: its folder and its variables."""

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
        """Placeholder words of here-documents that were resolved."""

    def script(self, text: str, *, sure: bool = False) -> None:
        """Read a script with here-documents replaced by words; if one is not used as input, let the grammar parse them."""
        text = text.replace("\0", "")
        start, folder, variables = len(self.commands), self.folder, dict(self.variables)
        self._read(prepare(text, self.bodies), sure=sure)
        if not self.scripts and len(self.found) < len(self.bodies):
            del self.commands[start:]
            self.folder, self.variables = folder, variables
            self._read(text, sure=sure)

    def _read(self, text: str, *, sure: bool) -> None:
        costly = [match.start() for match in islice(_COSTLY.finditer(text), _MOST_COSTLY + 1)]
        is_complete = len(costly) <= _MOST_COSTLY
        root = _parser().parse(_encode(text if is_complete else text[: costly[-1]])).root_node
        if not is_complete:
            self.commands.append(_UNREAD_COMMAND)
        try:
            self._run(root, _Context(sure=sure and is_complete and not root.has_error))
        except RecursionError:
            self.commands.append(_UNREAD_COMMAND)

    # statements -----------------------------------------------------------------------------------------------------

    def _run(self, node: "Node", context: _Context) -> tuple[str, ...]:
        """Record the commands that a node runs, in order; return their programs."""
        if context.depth > _DEEPEST_NODE:
            raise RecursionError
        return _STATEMENTS.get(node.type, _Reader.sequence)(self, node, context._replace(depth=context.depth + 1))

    def sequence(self, node: "Node", context: _Context) -> tuple[str, ...]:
        """Run the statements in order. Redirections apply to all of them; a subshell restores the folder."""
        folder, programs = self.folder, list[str]()
        if context.redirects:
            context, _, writes = self._redirects(context)
            self._command((), context, writes=writes)
        if node.type == "for_statement":
            self.variables.pop(_source_text(node.named_children[0]), None)
        if node.type == "function_definition":
            self.defines = True
            if _FORK_BOMB.search(_source_text(node)):
                self.commands.append(Command(words=(FORK_BOMB,)))
        last = [child for child in node.named_children if child.type != "comment"][-1:]
        for child in node.children:
            if child.child_count:
                behind = child.next_sibling
                background = context.background or (behind is not None and behind.type == "&")
                sure = context.sure and node.type in _GROUPS and child in last
                programs += self._run(child, context._replace(background=background, sure=sure))
        if node.type == "subshell":
            self.folder = folder
        return tuple(programs)

    def pipeline(self, node: "Node", context: _Context) -> tuple[str, ...]:
        """Run a pipeline; redirections around it belong to its last command."""
        programs = tuple[str, ...]()
        for child in node.named_children:
            given = context if child == node.named_children[-1] else context._replace(redirects=(), sure=False)
            programs += self._run(child, given._replace(upstream=(*context.upstream, *programs)[-_MOST_UPSTREAM:]))
        return programs

    def and_or_list(self, node: "Node", context: _Context) -> tuple[str, ...]:
        """Run `a && b > c`, which the grammar parses as `(a && b) > c`."""
        context = context._replace(sure=context.sure and all(child.type != "||" for child in node.children))
        *first, last = node.named_children
        programs = [program for child in first for program in self._run(child, context._replace(redirects=()))]
        return *programs, *self._run(last, context)

    def redirected(self, node: "Node", context: _Context) -> tuple[str, ...]:
        body = None if node.type in _REDIRECTS else node.child_by_field_name("body")
        inner_context = context._replace(redirects=(*context.redirects, *(node.children_by_field_name("redirect") or [node])))
        return self._run(body, inner_context) if body else self.simple(node, inner_context)

    def _redirects(self, context: _Context) -> tuple[_Context, list[str], list[str]]:
        """Return the context with redirected input, the words after the redirections, and the files written."""
        words, writes, stdin, upstream = list[str](), list[str](), context.stdin, context.upstream
        for node in context.redirects:
            start = len(self.commands)
            operator = next((child.type for child in node.children if not child.is_named), "")
            operands_of = [child for child in node.named_children if child.type != "file_descriptor"]
            target, *more = [self._word_text(child, context) for child in operands_of] or [""]
            words += more
            if operator in _OUTPUT_OPERATORS:
                writes.append(target)
            elif operator in {"<", "<<<"}:
                stdin = target if operator == "<<<" else stdin
                if target in self.bodies:  # a here-document, whose substitutions run
                    self.found.add(target)
                    stdin = self.bodies[target].body
                    for script in self.bodies[target].scripts:
                        self._run_nested(script)
                upstream = (*upstream, *(command.program for command in self.commands[start:]))
            elif operator.startswith("<<"):
                stdin = next((_source_text(child) for child in node.named_children if child.type == "heredoc_body"), "")
        return context._replace(redirects=(), stdin=stdin, upstream=upstream), words, writes

    # commands -------------------------------------------------------------------------------------------------------

    def simple(self, node: "Node", context: _Context) -> tuple[str, ...]:
        start, words = len(self.commands), [_source_text(node.children[0])] if node.type in _KEYWORD_COMMANDS else []
        parts = [node] if node.type == "variable_assignment" or node.type in _REDIRECTS else node.named_children
        redirects = tuple(part for part in parts if part.type in _REDIRECTS and part not in context.redirects)
        for part in parts:
            if node.type == "test_command":
                self._run(part, context._replace(redirects=()))
            elif part.type not in _REDIRECTS:
                text, raw = self._word_text(part, context), _source_text(part)
                # An unquoted variable may expand to several words; a quoted tilde is not a home folder.
                loose = "$" in raw and set("'\"\\`(").isdisjoint(raw) and not ASSIGNMENT.match(raw)
                quoted_tilde = text.startswith("~") and raw[0] in "'\"\\"
                words += [f"./{text}"] if quoted_tilde else text.split() if loose else [text]
        for word in words if node.type.startswith(("variable", "declaration")) else ():
            if ASSIGNMENT.match(word):
                name, _, value = word.partition("=")
                known = len(value) <= _LONGEST_VALUE and not name.endswith("+")
                self.variables[name.rstrip("+")] = value if known else UNKNOWN
        inner = tuple(command.program for command in self.commands[start:])
        context, more, writes = self._redirects(context._replace(redirects=(*redirects, *context.redirects)))
        return self._command((*words, *more), context, writes, inner)

    def _command(
        self, words: Iterable[str], context: _Context, writes: Iterable[str] = (), inner: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        if len(self.commands) >= _MOST_COMMANDS:
            return inner
        wrappers, bare = unwrap(words)
        upstream, _, stdin, background, sure, _ = context
        files = tuple(word for word in writes if word != "-" and not word.isdigit())
        command = Command(bare, self.folder, files, stdin, upstream, inner, wrappers, background, sure)
        self.commands.append(command)
        self._follow(command)
        return *inner, command.program

    # words ----------------------------------------------------------------------------------------------------------

    def _word_text(self, node: "Node", context: _Context) -> str:
        raw = _source_text(node)
        if node.type in _EXPANSIONS:
            return self._expand(node, context)
        if node.type in {"raw_string", "ansi_c_string"}:
            return raw[raw.index("'") + 1 : -1]
        if node.type in _CONCATENATIONS:
            return "".join(self._word_text(child, context) for child in node.children)
        escaped = _ESCAPED_IN_QUOTES if node.type == "string" else _ESCAPED
        text, data, at = "", node.text or b"", 0
        for child in node.children:
            if child.type in _EXPANSIONS:
                start, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
                text, at = text + _unescape(data[at:start], escaped) + self._expand(child, context), end
        text += _unescape(data[at:], escaped)
        return text[1:-1] if node.type == "string" else text

    def _expand(self, node: "Node", context: _Context) -> str:
        raw = _source_text(node)
        if match := _VARIABLE.fullmatch(raw):
            name = match[1] or match[2]
            return (self.folder or UNKNOWN) if name == "PWD" else self.variables.get(name, UNKNOWN)
        if context.depth > _DEEPEST_NODE:
            raise RecursionError
        start, folder = len(self.commands), self.folder
        if raw.startswith("`") and "\\" in raw:
            self._run_nested(re.sub(r"\\([`\\$])", r"\1", raw[1:-1]))
        else:
            self.sequence(node, _Context(depth=context.depth + 1))
        self.folder = folder
        words = self.commands[start].words if len(self.commands) == start + 1 else ()
        return f"{folder or UNKNOWN}{_PRINTS_FOLDER[words]}" if words in _PRINTS_FOLDER else UNKNOWN

    def expansion(self, node: "Node", context: _Context) -> tuple[str, ...]:
        """Run an expansion; return its programs."""
        start = len(self.commands)
        self._expand(node, context)
        return tuple(command.program for command in self.commands[start:])

    # what commands do to the script ---------------------------------------------------------------------------------

    def _follow(self, command: Command) -> None:
        """Apply what a command does to the rest of the script, and run scripts within it."""
        if command.program in {"cd", "pushd", "popd"}:
            target = next(operands(command.arguments), self.home if command.program == "cd" else "-")
            folder = self.before if target == "-" else resolve_word(target, self.folder, self.home)
            self.before, self.folder = self.folder, folder
        elif command.program == "find":
            self._run_find_exec(command)
        elif script := script_of(command.words, command.stdin):
            self._run_nested(script, sure=command.sure, stays=command.program == "eval")

    def _run_nested(self, script: str, *, sure: bool = False, stays: bool = False) -> None:
        """Run a nested script; its change of folder persists if it runs in the same shell."""
        if self.scripts < _DEEPEST_SCRIPT:
            folder, self.scripts = self.folder, self.scripts + 1
            self.script(script, sure=sure)
            self.scripts -= 1
            self.folder = self.folder if stays else folder

    def _run_find_exec(self, command: Command) -> None:
        words = command.words
        begins = [number for number, word in enumerate(words) if word in _EXEC_OPTIONS]
        start = next(operands(words[1 : begins[0]]), ".") if begins else "."
        end = 0
        for begin in begins:
            if begin < end:  # a word of the previous one
                continue
            end = next((number for number in range(begin, len(words)) if words[number] in {";", "+"}), len(words))
            wrappers, bare = unwrap([word.replace("{}", f"{start}/{UNKNOWN}") for word in words[begin + 1 : end]])
            inner = replace(command, words=bare, wrappers=wrappers, writes=(), upstream=("find",), sure=False)
            self.commands.append(inner)
            if inner.program != "find":  # follow `find -exec sh -c …`; a find within a find is rare
                self._follow(inner)


_STATEMENTS: Mapping[str, Callable[[_Reader, "Node", _Context], tuple[str, ...]]] = {
    **dict.fromkeys(("command", "variable_assignment", "variable_assignments", *_KEYWORD_COMMANDS), _Reader.simple),
    **dict.fromkeys(_EXPANSIONS, _Reader.expansion),
    **dict.fromkeys(("redirected_statement", *_REDIRECTS), _Reader.redirected),
    "pipeline": _Reader.pipeline,
    "list": _Reader.and_or_list,
}


def _encode(text: str) -> bytes:
    """Encode a script for the grammar, each byte of its UTF-8 as a Latin-1 character.

    The scanner of tree-sitter-bash reads past the end of a C table for larger characters and crashes the process (seen with
    0.25.1 and U+1008B4). Bytes that are white space in Latin-1 swap places with bytes that UTF-8 never uses.
    """
    return text.encode(errors="replace").decode("latin-1").translate(_SWAPPED_BYTES).encode()


def _decode(data: bytes) -> str:
    return data.decode().translate(_SWAPPED_BYTES).encode("latin-1").decode(errors="replace")


def _source_text(node: "Node") -> str:
    return _decode(node.text) if node.text else ""


def _unescape(data: bytes, escaped: re.Pattern[str]) -> str:
    return escaped.sub(lambda match: "" if match[1] == "\n" else match[1], _decode(data))
