"""Functions that changed are called again, in the clean checkout, with inputs beside those of their tests."""

import secrets
from collections.abc import Iterable, Sequence

from helmsman.config import CheckConfig
from helmsman.parsers.test_files import is_test_file
from helmsman.verify.call_cases import Case, cases_of, defined, grouped, is_python_source, literals, search_paths
from helmsman.verify.probes import MOST_FUNCTIONS, Answers, Probe, interpreter, looked_up, probes, read_answers, script
from tasks.checking.checks import Room, run_check, set_up
from tasks.checking.trusted_run import Range, changed_since_start
from tasks.repository.diffs import Blob, read_texts, tree_of
from tasks.repository.setup import SetupFailed

MOST_FILES = 300
MOST_RUNS = 5
SECONDS = 60
FILE = ".helmsman-calls.py"


def looked_up_in(room: Room, work: Range) -> tuple[str, ...]:
    """What is to be asked about functions of the work that seem to have answers for their tests alone, a clause each."""
    tree = tree_of(work.repository.common, work.commit)
    changed = [path for path in changed_since_start(work) if is_python_source(path) and not is_test_file(path)]
    sources = _texts(work, tree, changed)
    tests = [blob.path for blob in tree if blob.path.endswith(".py") and is_test_file(blob.path)] if sources else []
    cases = [case for text in _texts(work, tree, tests) for case in cases_of(text)]
    names = frozenset(name for text in sources for name in defined(text))
    asked = probes(grouped(_of_work(cases, names, tree)), [one for text in sources for one in literals(text)])
    paths = search_paths(tests[:MOST_FILES])
    answers = _answers(room, work, work.commit, asked, paths)
    found = [(probe, one) for probe, one in zip(asked, answers, strict=False) if one and looked_up(probe, one)]
    before = _answers(room, work, work.base, [probe for probe, _ in found], paths)
    pairs = zip(found, [*before, *[None] * len(found)], strict=False)
    return tuple(filter(None, (looked_up(probe, one, earlier) for (probe, one), earlier in pairs)))


def _texts(work: Range, tree: Sequence[Blob], paths: Sequence[str]) -> list[str]:
    return [text for _, text in read_texts(work.repository.common, tree, paths[:MOST_FILES]) if text]


def _of_work(cases: Iterable[Case], names: frozenset[str], tree: Sequence[Blob]) -> list[Case]:
    """Those of functions that a changed source defines, in modules of the repository."""
    files = {f"/{blob.path}" for blob in tree}
    modules = {case.function.module: case.function.module.replace(".", "/") for case in cases}
    known = {
        module for module, path in modules.items() if any(one.endswith((f"/{path}.py", f"/{path}/__init__.py")) for one in files)
    }
    return [case for case in cases if case.function.name in names and case.function.module in known]


def _answers(room: Room, work: Range, commit: str, asked: Sequence[Probe], paths: Sequence[str]) -> list[Answers | None]:
    batches = [asked[first : first + MOST_FUNCTIONS] for first in range(0, len(asked), MOST_FUNCTIONS)][:MOST_RUNS]
    found: list[Answers | None] = []
    for batch in batches:
        answers = _run(room, work, commit, batch, paths)
        found += answers if len(answers) == len(batch) else [None] * len(batch)
    return found


def _run(room: Room, work: Range, commit: str, batch: Sequence[Probe], paths: Sequence[str]) -> list[Answers | None]:
    mark, checks = f"{secrets.token_hex(8)} ", work.config.checks
    environment = tuple(dict.fromkeys(name for check in checks for name in check.environment))
    command = f"{interpreter([check.command for check in checks])} {FILE}"
    try:
        room.checkout.prepare(commit)
        set_up(room, work.config)
        (room.root / FILE).unlink(missing_ok=True)
        with (room.root / FILE).open("x", encoding="utf-8") as file:
            file.write(script(batch, paths, mark))
        return read_answers(run_check(room, 0, CheckConfig(command=command, environment=environment), SECONDS), mark)
    except (SetupFailed, OSError):
        return []
    finally:
        room.checkout.reset()
        room.heed()
