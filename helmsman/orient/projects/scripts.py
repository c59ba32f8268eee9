"""Where no tool tells how a project is tested: scripts with a usual name, and the steps of its CI."""

import re
from collections.abc import Iterator
from posixpath import splitext

from helmsman.orient.projects.kinds import Candidate, Discovery, Folder, Kind

_STEMS = ("test", "tests", "run_tests", "run-tests", "runtests", "check")
_ENDINGS = ("", ".sh", ".py", ".bash")
_FOLDERS = ("", "scripts/", "script/", "bin/")
SCRIPTS = tuple(f"{folder}{stem}{ending}" for stem in _STEMS for folder in _FOLDERS for ending in _ENDINGS)
"""By path from the root, the most telling first."""
_INTERPRETERS = {".sh": "sh", ".bash": "bash", ".py": "python3"}
_SHEBANG = re.compile(r"#![^\n]{0,100}?\b(bash|sh|zsh|python|node|ruby|perl)\b")

WORKFLOWS = ".github/workflows/"
GITLAB = ".gitlab-ci.yml"
_WORD = r"(?: [\w./=:@,+-]{1,100}){0,12}"
"""Arguments without anything that a shell reads: no quotes, variables, redirections or second commands."""
_STEPS = tuple(
    re.compile(pattern + _WORD)
    for pattern in (
        r"(?:(?:uv|poetry|pdm|pipenv|hatch) run )?(?:python3? -m )?(?:pytest|nose2)",
        r"(?:(?:uv|poetry|pdm|pipenv|hatch) run )?python3? -m unittest",
        r"(?:python3? -m )?(?:tox|nox)",
        r"(?:npm|pnpm|yarn|bun)(?: run)? (?:test|check)(?::\w+)?",
        r"(?:npx|pnpm exec|yarn) (?:jest|vitest|mocha|ava)",
        r"node --test",
        r"(?:make|just|task) (?:test|tests|check|unit)",
        r"(?:cargo|go|dotnet|mix|swift|deno|zig build|stack|cabal|sbt) test",
        r"(?:bundle exec )?(?:rspec|rake (?:test|spec))",
        r"(?:\./)?vendor/bin/(?:phpunit|pest)",
        r"(?:mvn|\./mvnw|gradle|\./gradlew)(?: -[\w-]+)* (?:test|verify|check)",
        r"ctest|prove|bats|meson test",
        r"(?:(?:ba)?sh )?(?:\./)?(?:[\w-]+/)*(?:run[_-]?)?(?:tests?|check)(?:\.sh)?",
    )
)
"""What runs tests, as the line of a step."""
_LONGEST_LINE = 500
_PREFIX = re.compile(r"[ \t]*(?:- )?(?:run|script)?:?[ \t]*")
_NO_COMMAND = frozenset({"test", "tests", "check"})
"""Words that fit the last pattern and are keys or names of jobs rather than commands."""


def scripts(folder: Folder) -> Iterator[Discovery]:
    """The first script that is there, run by what its first line names, else by its ending."""
    found = next((name for name in SCRIPTS if name in folder.texts), "")
    if found:
        yield Candidate(_call(found, folder.text(found)), Kind.TESTS, found)


def _call(path: str, text: str) -> str:
    shebang = _SHEBANG.match(text)
    named = {"python": "python3"}.get(shebang[1], shebang[1]) if shebang else ""
    return f"{named or _INTERPRETERS.get(splitext(path)[1], 'sh')} {path}"


def steps(folder: Folder) -> Iterator[Discovery]:
    """Lines of CI files that are nothing but a call of something that runs tests. The core reads no YAML, and needs none here."""
    files = sorted(name for name in folder.texts if name == GITLAB or is_workflow(name))
    for file in files:
        for line in folder.text(file).splitlines():
            if command := _step(line):
                yield Candidate(command, Kind.TESTS, f"{file}, a step", "CI")


def _step(line: str) -> str:
    said = line[_PREFIX.match(line).end() :].strip() if len(line) <= _LONGEST_LINE else ""  # pyright: ignore[reportOptionalMemberAccess]
    said = said[1:-1] if said[:1] in {"'", '"'} and said[-1:] == said[:1] else said
    if said in _NO_COMMAND or said.endswith(":") or not any(pattern.fullmatch(said) for pattern in _STEPS):
        return ""
    return re.sub(r"\bpython (?=-m )", "python3 ", said)


def is_workflow(path: str) -> bool:
    return path.startswith(WORKFLOWS) and path.endswith((".yml", ".yaml"))


READ = frozenset({GITLAB, *(path.rpartition("/")[2] for path in SCRIPTS)})
