"""Functions that changed are called again, in the clean checkout, with inputs beside those of their tests."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from helmsman.parsers.test_files import is_test_file, only_text_tells
from helmsman.verify.call_cases import Calls, Language, grouped, literals
from helmsman.verify.called_languages import CALLED
from helmsman.verify.neighbours import MOST_FUNCTIONS, Answers, calls_beside, looked_up, read_answers
from tasks.checks.run import CheckContext, laid, run_command
from tasks.checks.trusted_run import Range, changed_since_start
from tasks.repository.diffs import Blob, read_texts, tree_of
from tasks.repository.setup import SetupFailed

MOST_FILES = 300
MOST_RUNS = 5
SECONDS = 60


def looked_up_in(check_context: CheckContext, work: Range) -> tuple[str, ...]:
    """What is to be asked about functions of the work that seem to have answers for their tests alone, a clause each."""
    tree, changed = tree_of(work.repository.common, work.commit), [*changed_since_start(work)]
    return tuple(clause for language in CALLED for clause in _looked_up(check_context, work, language, tree, changed))


def _looked_up(
    check_context: CheckContext, work: Range, language: Language, tree: Sequence[Blob], changed: Sequence[str]
) -> Iterator[str]:
    sources = _texts(work, tree, [path for path in changed if language.is_source(path) and not _may_test(path)])
    paths = [blob.path for blob in tree]
    candidates = [path for path in paths if path.endswith(language.tests) and _may_test(path)] if sources else []
    tests = _texts(work, tree, [*language.further, *candidates])
    held = [one for path, text in sources.items() for one in literals(language, path, text)]
    asked = calls_beside(grouped(language.cases(tests, sources, frozenset(paths))), held)
    answers = _answers(check_context, work, work.commit, language, asked, [*tests])
    found = [(calls, one) for calls, one in zip(asked, answers, strict=False) if one and looked_up(calls, one)]
    before = _answers(check_context, work, work.base, language, [calls for calls, _ in found], [*tests])
    for (calls, now), earlier in zip(found, [*before, *[None] * len(found)], strict=False):
        if clause := looked_up(calls, now, earlier, language.written):
            yield clause


def _may_test(path: str) -> bool:
    return is_test_file(path) or only_text_tells(path)


def _texts(work: Range, tree: Sequence[Blob], paths: Sequence[str]) -> Mapping[str, str]:
    return {path: text for path, text in read_texts(work.repository.common, tree, paths[:MOST_FILES]) if text}


def _answers(
    check_context: CheckContext, work: Range, commit: str, language: Language, asked: Sequence[Calls], tests: Sequence[str]
) -> list[Answers | None]:
    command = f"{language.interpreter([check.command for check in work.config.checks])} {language.file}"
    found: list[Answers | None] = []
    for first in range(0, min(len(asked), MOST_FUNCTIONS * MOST_RUNS), MOST_FUNCTIONS):
        batch = asked[first : first + MOST_FUNCTIONS]
        mark, answers = f"{secrets.token_hex(8)} ", list[Answers | None]()
        script = language.script(batch, tests, mark)
        with suppress(SetupFailed, OSError), laid(check_context, commit, work.config, language.file, script):
            answers = read_answers(run_command(check_context, command, work.config, SECONDS), mark)
        found += answers if len(answers) == len(batch) else [None] * len(batch)
    return found
