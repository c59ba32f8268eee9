"""Languages in which Helmsman calls functions again with inputs near those of their tests."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from importlib import resources
from posixpath import basename, dirname, join, normpath
from typing import TYPE_CHECKING, Any, cast

from helmsman.parsers.literals import Env, Word, text_of
from helmsman.parsers.made_objects import is_prepared
from helmsman.verify.bodies import extract_bodies
from helmsman.verify.call_cases import (
    ANY,
    Calls,
    Case,
    Found,
    Function,
    Language,
    Program,
    Resolve,
    Texts,
    Values,
    defined_functions,
    extract_cases,
)
from helmsman.verify.neighbours import MOST_FUNCTIONS

if TYPE_CHECKING:
    from tree_sitter import Node


def _load_program(name: str) -> str:
    return resources.files("helmsman.verify").joinpath(name).read_text(encoding="utf-8")


def _resolve_imports(found: Found, file: Callable[[str], str], dot: str) -> Resolve:
    """Resolve names by a test's imports: modules, names from them, or attributes. `dot`: between module and submodule."""
    names: dict[str, Function] = {}
    for match in found:
        if "module" in match and (module := file(text_of(match["module"][0]))):
            imported, name = text_of(match["module"][0]), text_of(match["name"][0]) if "name" in match else ""
            names[text_of(match["local"][0]) if "local" in match else name or imported] = Function(module, name)

    def resolve(path: str) -> Function | None:
        head, _, name = path.rpartition(".")
        owner = names.get(head) or (resolve(head) if head.rpartition(".")[2][:1].isupper() else None)
        if path in names or owner is None:
            return names.get(path)
        if owner.name[:1].isupper():  # a class
            return owner._replace(name=f"{owner.name}.{name}")
        if owner.name and not dot:
            return None
        return Function(f"{owner.module}{dot}{owner.name}" if owner.name else owner.module, name)

    return resolve


def _names_in(language: Language, sources: Texts) -> frozenset[str]:
    return frozenset(name for path, text in sources.items() for name in defined_functions(language, path, text))


def _first_program(pattern: "re.Pattern[str]", suffix: str, default: str, commands: Sequence[str]) -> str:
    """Return the first program in the check commands that the pattern matches, with a suffix."""
    return next((f"{match[0]}{suffix}" for command in commands if (match := pattern.search(command))), default)


# --- Python ---------------------------------------------------------------------------------------------------------

_UNCONDITIONAL = frozenset([
    "block", "for_statement", "with_statement", "assert_statement", "comparison_operator", "expression_statement", "call",
    "argument_list", "parenthesized_expression", "not_operator", "await", "assignment",
])  # fmt: skip
"""Nodes that may enclose a call that a test makes unconditionally."""
_RUNNER = re.compile(
    r"(?P<manager>(?:uv|poetry|pipenv|hatch|pdm|rye) run)\b"
    r"|(?P<python>(?:[\w./-]*/)?python[0-9.]*)(?=\s|$)"
    r"|(?P<pytest>(?:[\w./-]*/)?py\.?test)(?=\s|$)"
)


def is_python_source(path: str) -> bool:
    return path.endswith(".py") and basename(path) not in {"setup.py", "conftest.py"}


def _is_unconditional(call: "Node", env: Env) -> bool:
    """Whether a test makes the call in every run, needs no set-up, and all parameters are known, so that none is a fixture."""
    node = call.parent
    while node is not None and node.type in _UNCONDITIONAL:
        items = [item for item in node.named_children[0].named_children if node.type == "with_statement"]
        if not all(text_of(item).startswith("self.subTest") for item in items):
            return False
        node = node.parent
    if node is None or node.type != "function_definition" or not re.match("(?:async )?def test", text_of(node)):
        return False
    params = node.child_by_field_name("parameters")
    names = {name[0] for param in (params.named_children if params else ()) if (name := re.match(r"\w+", text_of(param)))}
    return names - {"self", "cls"} <= env.keys() and not is_prepared(node)


def _python_cases(tests: Texts, sources: Texts, paths: Collection[str]) -> list[Case]:
    names, files = _names_in(PYTHON, sources), {f"/{path}" for path in paths}
    shared = {dirname(path): text for path, text in tests.items() if basename(path) == "conftest.py"}
    texts = {
        path: "\n".join([text, *(one for folder, one in shared.items() if not folder or path.startswith(f"{folder}/"))])
        for path, text in tests.items()
    }
    found = [case for path, text in texts.items() for case in extract_cases(PYTHON, path, text)]
    cases = [case for case in found if case.function.name.partition(".")[0] in names]
    modules = {case.function.module: f"/{case.function.module.replace('.', '/')}" for case in cases}
    ends = {module: (f"{path}.py", f"{path}/__init__.py") for module, path in modules.items()}
    existing = {module for module, end in ends.items() if any(file.endswith(end) for file in files)}
    return [case for case in cases if case.function.module in existing] or _bodies(texts, sources)


_SETS_VARIABLE = re.compile(r"\benviron(?:\[[^\]\n]*\]\s*=(?!=)|\.(?:setdefault|update)\()|\bputenv\(")
"""As a conftest.py names a database for tests, which a test that runs outside of the runner would not use."""


def _bodies(tests: Texts, sources: Texts) -> list[Case]:
    """Return the cases of the most common functions that tests of changed modules were made into."""
    modules = {part for path in sources for part in path.removesuffix(".py").split("/")}
    about = {path: text for path, text in tests.items() if modules & {*re.findall(r"\w+", text)}}
    alone = ((path, text) for path, text in about.items() if not (PYTHON.prepares.search(text) or _SETS_VARIABLE.search(text)))
    cases = [case for path, text in alone for case in extract_bodies(path, text)]
    most = dict(Counter(case.function for case in cases).most_common(MOST_FUNCTIONS))
    return [case for case in cases if case.function in most]


def _python_interpreter(commands: Sequence[str]) -> str:
    """Return the Python interpreter that the checks use, as shell words."""
    match = next(filter(None, map(_RUNNER.search, commands)), None)
    if match is None:
        return "$(for one in venv/bin/python .venv/bin/python; do [ -x $one ] && echo $one && exit; done; echo python3)"
    return {
        "manager": f"{match['manager']} python",
        "python": match["python"],
        "pytest": f"$(sed -n '1s/^#!//p' \"$(command -v {match['pytest']})\")",
    }[match.lastgroup or ""]


def _plain(values: Values) -> tuple[Any, ...]:
    return (values.args, values.kwargs, tuple(values.made))


def _python_program(batch: Sequence[Calls], tests: Texts, mark: str) -> Program:
    """Return the program; it can import from the root, then the folders above the tests, each with its `src`."""
    parts = [path.split("/") for path in tests]
    folders = sorted({"/".join(one[:depth]) for one in parts for depth in range(len(one))}, key=lambda one: (len(one), one))
    paths = [path for folder in folders for path in (folder or ".", f"{folder}/src".lstrip("/"))]
    requests = [
        (*one.function, [(_plain(case.values), case.expected) for case in one.own], [*map(_plain, one.near)]) for one in batch
    ]
    texts = {calls.function.module: tests[calls.function.module] for calls in batch if calls.function.body}
    bodies = f"texts = {texts!r}\n{_load_program('python_bodies.py.txt')}" if texts else ""
    text = f"{bodies}mark = {mark!r}\npaths = {paths!r}\nasked = {requests!r}\n{_load_program('python_calls.py.txt')}"
    return Program(".helmsman-calls.py", {".helmsman-calls.py": text})


def _resolve_python(found: Found, _path: str, _paths: Collection[str]) -> Resolve:
    return _resolve_imports(found, str, ".")


PYTHON = Language(
    name="Python",
    query="python_calls",
    tests=(".py",),
    is_source=is_python_source,
    resolve=_resolve_python,
    cases=_python_cases,
    interpreter=_python_interpreter,
    program=_python_program,
    prepares=re.compile("autouse|usefixtures"),
    possible=_is_unconditional,
    compared_only=True,
    consumers=frozenset({"list", "asyncio.run", "await"}),
    further=("conftest.py",),
)

# --- JavaScript -----------------------------------------------------------------------------------------------------

_SUFFIXES = ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"
"""Files that node runs without a build; those of TypeScript since 22.18, if they need no more than their types removed."""
_ENDS = ("", *_SUFFIXES, *(f"/index{suffix}" for suffix in _SUFFIXES))
_RUNNERS = re.compile(r"[\"']|(?:x?(?:test|it|describe)|suite|context|specify|beforeEach)\b")
_ASSERTING = re.compile(r"(?:assert|expect|equal|strictEqual|deepEqual|deepStrictEqual|t)\b")
_HARMLESS = frozenset([
    "import_statement", "export_statement", "function_declaration", "class_declaration", "for_in_statement", "comment",
    "empty_statement",
])  # fmt: skip


def _is_javascript(path: str) -> bool:
    return path.endswith(_SUFFIXES) and ".config." not in path and not path.endswith((".d.ts", ".d.mts", ".d.cts"))


def _javascript_file(paths: Collection[str], test: str, specifier: str) -> str:
    """Return the file that a relative import refers to; empty if there is none."""
    base = normpath(join(dirname(test), specifier)) if specifier.startswith(".") else ""
    candidates = [*(f"{base}{end}" for end in _ENDS), re.sub(r"\.([mc]?)js$", r".\1ts", base)]  # TypeScript may import by output
    return next((path for path in candidates if base and path in paths and _is_javascript(path)), "")


def _is_harmless_in_javascript(statement: "Node", _function: Function) -> bool | None:
    if statement.type in {"lexical_declaration", "variable_declaration"}:
        return None
    if statement.type != "expression_statement":
        return statement.type in _HARMLESS
    source = text_of(statement)
    return True if _RUNNERS.match(source) else None if _ASSERTING.match(source) else False


def _javascript_cases(tests: Texts, sources: Texts, paths: Collection[str]) -> list[Case]:
    names = _names_in(JAVASCRIPT, sources)
    cases = (case for path, text in tests.items() for case in extract_cases(JAVASCRIPT, path, text, paths))
    return [case for case in cases if case.function.name in names or case.function.module in sources]


def _encode_word(value: object) -> str:
    return value.value if isinstance(value, Word) else "ANY"


def _javascript_program(batch: Sequence[Calls], _tests: Texts, mark: str) -> Program:
    requests: list[Mapping[str, Any]] = []
    for calls in batch:
        own = [[case.args, case.made.first, case.expected] for case in calls.own]
        near = [[args, made.first] for args, _, made in calls.near]
        requests.append({**calls.function._asdict(), "own": own, "near": near})
    asked = json.dumps(json.dumps(requests, default=lambda word: {mark: _encode_word(word)}))
    text = f"const mark = {json.dumps(mark)};\nconst asked = {asked};\n{_load_program('javascript_calls.mjs')}"
    return Program(".helmsman-calls.mjs", {".helmsman-calls.mjs": text})


def _resolve_javascript(found: Found, path: str, paths: Collection[str]) -> Resolve:
    return _resolve_imports(found, partial(_javascript_file, paths, path), "")


JAVASCRIPT = Language(
    name="JavaScript, TypeScript",
    query="javascript_calls",
    tests=(*_SUFFIXES, ".jsx", ".tsx"),
    is_source=_is_javascript,
    resolve=_resolve_javascript,
    cases=_javascript_cases,
    interpreter=partial(_first_program, re.compile(r"(?:[\w./-]*/)?node(?=\s)"), "", "node"),
    program=_javascript_program,
    prepares=re.compile(
        r"\b(?:before|beforeAll|setup)\s*\(|\b(?:jest|vi|sinon|td|mock)\.(?!fn\b|config)"
        r"|\bprocess\.env\b|\buseFakeTimers\b"
        r"|\bbeforeEach\s*\((?!\(\) => \{\s*\w+ = new [\w.]+\([^()]*\);?\s*\}\))"  # but for an object that is made again
    ),
    harmless=_is_harmless_in_javascript,
    written=partial(json.dumps, ensure_ascii=False, separators=(",", ":"), default=_encode_word),
)

# --- Go -------------------------------------------------------------------------------------------------------------

_MODULE = re.compile(r"(?m)^module\s+(\S+)")
_PACKAGE = re.compile(r"(?m)^package\s+(\w+?)(?:_test)?\s*$")
_GO_BUILTIN = frozenset([
    "append", "bool", "byte", "cap", "copy", "delete", "float64", "int", "int64", "len", "make", "max", "min", "new", "panic",
    "print", "println", "rune", "string",
])  # fmt: skip
_GO_ASSERTION = re.compile(
    r"(?:t|b|tb|assert|require|is|cmp)\.|\w+\.(?:(?:Not)?(?:Equal|Nil|Empty|Contains)|(?:No)?Error|True|False|Len)\("
)
_GO_HARMLESS = frozenset([
    "package_clause", "import_declaration", "function_declaration", "method_declaration", "type_declaration", "comment",
])  # fmt: skip


def _resolve_go(found: Found, _path: str, _paths: Collection[str]) -> Resolve:
    """Resolve functions of the package that a test belongs to, with or without the package name."""
    package = next((text_of(match["package"][0]) for match in found if "package" in match), "").removesuffix("_test")

    def resolve(path: str) -> Function | None:
        head, _, name = path.rpartition(".")
        return Function("", name) if head in {"", package} and name not in _GO_BUILTIN else None

    return resolve


def _is_harmless_in_go(statement: "Node", _function: Function) -> bool | None:
    if statement.type == "expression_statement":
        return _GO_ASSERTION.match(text_of(statement)) is not None
    return statement.type in _GO_HARMLESS or None


def _go_cases(tests: Texts, sources: Texts, paths: Collection[str]) -> list[Case]:
    """Return the cases of functions; their module is the folder of their package."""
    if _MODULE.search(tests.get("go.mod", "")) is None:
        return []
    names = {(dirname(path), name) for path, text in sources.items() for name in defined_functions(GO, path, text)}
    own = {path: text for path, text in tests.items() if path in paths and path.endswith("_test.go")}
    tables = dict[str, str]()  # by folder: the texts of files that only have tables for the tests of others
    for path, text in own.items():
        if "func Test" not in text:
            tables[dirname(path)] = f"{tables.get(dirname(path), '')}{text}\n"
    with_tables = ((path, f"{tables.get(dirname(path), '')}{text}") for path, text in own.items())
    cases = ((dirname(path), case) for path, text in with_tables for case in extract_cases(GO, path, text))
    found = [case._replace(function=case.function._replace(module=folder)) for folder, case in cases]
    return [case for case in found if case.function[:2] in names]


def _go_literal(value: Any) -> str:
    return "nil" if value is None else json.dumps(value, ensure_ascii=False)


def _go_expression(value: Any) -> str:
    """Format a value as an expression of Go without its type; the program converts it to that of the parameter."""
    if isinstance(value, list):
        return f"list{{{', '.join(map(_go_expression, cast('list[Any]', value)))}}}"
    if isinstance(value, dict):
        pairs = (f"{_go_expression(key)}: {_go_expression(one)}" for key, one in cast("dict[Any, Any]", value).items())
        return f"table{{{', '.join(pairs)}}}"
    return _go_literal(value)


def _go_program(batch: Sequence[Calls], tests: Texts, mark: str) -> Program:
    """Return a package that makes the calls, and a file in each package of the functions, which may be private, to register them.

    The program to run is that of the functions themselves or, if they are in libraries, one that imports these.
    """
    (module, *_) = _MODULE.findall(tests["go.mod"])
    named = {dirname(path): match[1] for path, text in tests.items() if (match := _PACKAGE.search(text))}
    folders = dict.fromkeys(calls.function.module for calls in batch)
    entry = next((folder for folder in folders if named[folder] == "main"), "helmsman-calls/run")
    libraries = [f'import _ "{join(module, folder).rstrip("/")}"' for folder in folders if named[folder] != "main"]
    files = {"helmsman-calls/calls.go": _go_questions(batch, mark)}
    for folder in {**folders, entry: None}:
        register = [
            f"helmsman.Register({at}, {one.function.name})" for at, one in enumerate(batch) if one.function.module == folder
        ]
        lines = [f"package {named.get(folder, 'main')}", f'import helmsman "{module}/helmsman-calls"']
        lines += [*libraries, "func main() {}"] if folder not in folders else libraries if folder == entry else []
        lines += ["func init() {", *register, *(["helmsman.Answer()"] if folder == entry else []), "}"]
        files[join(folder, "zz_helmsman_calls.go")] = "\n".join(lines) + "\n"  # its init runs last
    return Program(f"./{entry}", files)


def _go_call(values: Values, expected: Any) -> str:
    is_any = expected is ANY
    answer = _go_expression(None if is_any else expected)
    return f"{{{_go_expression([*values.args])}, {values.made.first}, {answer}, {json.dumps(is_any)}}}, "


def _go_questions(batch: Sequence[Calls], mark: str) -> str:
    lines: list[str] = []
    for calls in batch:
        own = (_go_call(case.values, case.expected) for case in calls.own)
        near = (_go_call(values, ANY) for values in calls.near)
        lines.append(f'\t{{[]call{{{"".join(own)}}}, []call{{{"".join(near)}}}, "{calls.function.method}"}},\n')
    return _load_program("go_calls.go.txt").replace("// QUESTIONS\n", "".join(lines)).replace('"MARK"', json.dumps(mark))


def _is_go(path: str) -> bool:
    return path.endswith(".go") and not path.endswith("_test.go")


GO = Language(
    name="Go",
    query="go_calls",
    tests=("_test.go",),
    is_source=_is_go,
    resolve=_resolve_go,
    cases=_go_cases,
    interpreter=partial(_first_program, re.compile(r"(?:[\w./-]*/)?\bgo(?=\s)"), " run", "go run"),
    program=_go_program,
    prepares=re.compile(r"\bTestMain\b|\bt\.Setenv\b|\bt\.Chdir\b|\bfunc init\("),
    harmless=_is_harmless_in_go,
    written=_go_literal,
    further=("go.mod",),
)
CALLED = (PYTHON, JAVASCRIPT, GO)
NAMES = f"{', '.join(language.name for language in CALLED[:-1])} and {CALLED[-1].name}"
