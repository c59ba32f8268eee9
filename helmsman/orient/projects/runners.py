"""Files in which a project names its own commands: make, just, task, npm and its like, composer, rake, poe, deno."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile

from helmsman.orient.projects.kinds import Candidate, Discovery, Folder, Kind, Passed, read_json, read_toml, table, usual_names

AUTOCHECKS = ".claude/autochecks.sh"
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
"""In make's own order."""
JUSTFILES = ("justfile", "Justfile", ".justfile")
TASKFILES = ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml")
RAKEFILES = ("Rakefile", "rakefile", "Rakefile.rb")

Source = Callable[[Folder], Iterator[Discovery]]


def _first(folder: Folder, names: Iterable[str]) -> str:
    return next((name for name in names if name in folder.texts), "")


def _called(found: Iterable[str], where: str, call: str, tool: str = "") -> Iterator[Candidate]:
    for kind, name in usual_names(found):
        yield Candidate(f"{call} {name}", kind, f"{where} {name}", tool)


# --- runners for any language -------------------------------------------------------------------------------------


def autochecks(folder: Folder) -> Iterator[Discovery]:
    if AUTOCHECKS in folder.names:
        yield Candidate(f"sh {AUTOCHECKS}", Kind.TESTS, AUTOCHECKS)


def make(folder: Folder) -> Iterator[Discovery]:
    file = _first(folder, MAKEFILES)
    yield from _called(_targets(folder.text(file)), f"{file}, target", "make")


def _targets(text: str) -> Iterator[str]:
    for line in text.splitlines():
        head, colon, rest = line.partition(":")
        if colon and not line.startswith(("\t", " ", "#", ".")) and "=" not in head and not rest.startswith(("=", ":=", "::=")):
            yield from head.split()


_RECIPE = re.compile(r"@?([A-Za-z_][\w-]{0,60})(?: [^:\n]{0,200})?:(?!=)")


def just(folder: Folder) -> Iterator[Discovery]:
    file = _first(folder, JUSTFILES)
    recipes = (match[1] for line in folder.text(file).splitlines() if (match := _RECIPE.match(line)))
    yield from _called(recipes, f"{file}, recipe", "just")


_TASK = re.compile(r"( {1,8})[\"']?([\w:-]{1,60})[\"']?:")


def task(folder: Folder) -> Iterator[Discovery]:
    """The keys right below `tasks:`; the core reads no YAML."""
    file = _first(folder, TASKFILES)
    below = f"\n{folder.text(file)}".partition("\ntasks:")[2].splitlines()[1:]
    inside = takewhile(lambda line: not line.strip() or line[0] in " \t#", below)
    keys = [match for line in inside if (match := _TASK.match(line))]
    names = [match[2] for match in keys if match[1] == keys[0][1]]
    yield from _called(names, f"{file}, task", "task")


# --- runners of one language --------------------------------------------------------------------------------------

_LOCKS = {
    "pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun", "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}  # fmt: skip
_EXECUTE = {"npm": "npx --no-install", "pnpm": "pnpm exec", "yarn": "yarn exec", "bun": "bunx --no-install"}
"""How each runs what is installed and downloads nothing."""
_WATCHES = re.compile(r"--watch(?:All)?(?!=false|\w)")
_PLACEHOLDER = "no test specified"


def node(folder: Folder) -> Iterator[Discovery]:
    """Scripts of package.json, by the manager whose lock file is there; what has no script, by its own settings."""
    if "package.json" not in folder.texts:
        return
    said = read_json(folder.text("package.json"))
    if said is None:
        yield Passed("package.json", "it is no JSON")
        return
    manager = _manager(folder, said)
    found = list(_scripts(table(said.get("scripts")), manager))
    yield from found
    kinds = {one.kind for one in found if isinstance(one, Candidate)}
    yield from (one for one in _unnamed(folder, _EXECUTE[manager]) if one.kind not in kinds)


def _manager(folder: Folder, said: Mapping[str, object]) -> str:
    by_lock = next((manager for lock, manager in _LOCKS.items() if lock in folder.names), "")
    named = str(said.get("packageManager", "")).partition("@")[0]
    return by_lock or (named if named in _EXECUTE else "npm")


def _scripts(scripts: Mapping[str, object], manager: str) -> Iterator[Discovery]:
    doubts = {name: _doubt(str(script)) for name, script in scripts.items()}
    for kind, name in usual_names(name for name, doubt in doubts.items() if not doubt):
        call = f"{manager} test" if (manager, name) == ("npm", "test") else f"{manager} run {name}"
        yield Candidate(call, kind, f"package.json, script {name}", "node")
    for _, name in usual_names(name for name, doubt in doubts.items() if doubt):
        yield Passed(f"package.json, script {name}", doubts[name])


def _doubt(script: str) -> str:
    if _PLACEHOLDER in script:
        return "it is the placeholder, which always fails"
    return "it watches files and never ends" if _WATCHES.search(script) else ""


def _unnamed(folder: Folder, execute: str) -> Iterator[Candidate]:
    linted = next((name for name in sorted(folder.names) if name.startswith(("eslint.config.", ".eslintrc"))), "")
    if linted:
        yield Candidate(f"{execute} eslint .", Kind.LINT, "eslint's settings", "node")
    if "tsconfig.json" in folder.names:
        yield Candidate(f"{execute} tsc --noEmit", Kind.TYPES, "tsconfig.json", "node")


def deno(folder: Folder) -> Iterator[Discovery]:
    file = _first(folder, ("deno.json", "deno.jsonc"))
    if not file:
        return
    tasks = table((read_json(folder.text(file)) or {}).get("tasks"))
    yield from _called(tasks, f"{file}, task", "deno task", "deno")
    yield Candidate("deno test", Kind.TESTS, file, "deno")
    yield Candidate("deno lint", Kind.LINT, file, "deno")


def composer(folder: Folder) -> Iterator[Discovery]:
    if "composer.json" not in folder.texts:
        return
    said = read_json(folder.text("composer.json"))
    if said is None:
        yield Passed("composer.json", "it is no JSON")
        return
    yield from _called(table(said.get("scripts")), "composer.json, script", "composer run-script", "php")


_RAKE_TASK = re.compile(
    r"""^[ \t]*(?:task|(?:\w+::)*TestTask\.new|(?:\w+::)*RakeTask\.new)[ (]+:?["']?(\w{1,60})""", re.MULTILINE
)


def rake(folder: Folder) -> Iterator[Discovery]:
    file = _first(folder, RAKEFILES)
    call = "bundle exec rake" if "Gemfile" in folder.names else "rake"
    yield from _called(_RAKE_TASK.findall(folder.text(file)), f"{file}, task", call, "ruby")


def poe(folder: Folder) -> Iterator[Discovery]:
    """Tasks that pyproject.toml holds for poe and for pdm."""
    tool = table((read_toml(folder.text("pyproject.toml")) or {}).get("tool"))
    tasks, scripts = table(table(tool.get("poe")).get("tasks")), table(table(tool.get("pdm")).get("scripts"))
    yield from _called(tasks, "pyproject.toml, poe task", "poe", "python")
    yield from _called(scripts, "pyproject.toml, pdm script", "pdm run", "python")


OWN: tuple[Source, ...] = (autochecks, make, just, task, node, deno, composer, rake, poe)
READ = frozenset(
    {*MAKEFILES, *JUSTFILES, *TASKFILES, *RAKEFILES, "package.json", "deno.json", "deno.jsonc", "composer.json", "pyproject.toml"}
)
"""Files whose text is looked at here."""
