"""What is put to the judge, one question about one committed tree, and what of it fits: what is not shown is told as such.

All of it but the goal is data of the repository.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from helmsman.parsers.test_files import is_test_file, is_test_support, language_of
from helmsman.records.checks import CheckResult, Finding
from helmsman.records.proof import PastVerdict
from helmsman.tokens import tokens, trim
from helmsman.verify.diff import FileDiff, lines_of
from helmsman.verify.judge.fence import fence, label, name_list, visible

NOTES = 40  # lines of its own notes that the judge is shown, the last ones
EARLIER = 12  # earlier verdicts that it is shown
PATHS = 200  # names of files that it is shown
CHANGED = "changed files that are NOT shown"
_NOTE = 300
_LINE = 2000  # a longer line is minified or data
_WORTHWHILE = 100  # tokens; less of a file tells nothing
_NO_ROOM = "[left out: there is no room]"
_FENCE = 60  # tokens of the two marks, of the words around a label and of the note on a cut

Source = tuple[str, str | None]  # a file by its path, whole, at the judged commit; None for what is no text
Shelf = Callable[[Sequence[str]], Sequence[Source]]
"""Files of the judged commit by their paths; those that are not there are left out."""


@dataclass(frozen=True)
class JudgeQuestion:
    """Never the agent's reasoning, its transcript, its commit messages or its claims, but for one that is asked about."""

    goal: str
    outputs: tuple[CheckResult, ...] = ()
    proving: tuple[str, ...] = ()  # tests that fail on the source of the start
    sources: tuple[Source, ...] = ()  # changed files
    deleted: tuple[str, ...] = ()  # paths that are gone
    commits: str = ""  # from which commit to which the diff goes, as a range
    diff: tuple[FileDiff, ...] = ()  # changed files on both sides, without those that are generated
    generated: tuple[str, ...] = ()  # paths of changed files that are binary, or that a program wrote
    named: tuple[Source, ...] = ()  # unchanged files that a criterion or a check names, or that test what was changed
    paths: tuple[str, ...] = ()  # all files of the repository
    blocked_by: str = ""  # what the agent says stands in its way, where that is what is asked about
    findings: tuple[Finding, ...] = ()
    earlier: tuple[PastVerdict, ...] = ()  # oldest first
    notes: tuple[str, ...] = ()  # lines of the judge's own notes on earlier verdicts, oldest first


@dataclass(frozen=True)
class View:
    """Blocks of text for the request, and what can be cited from them."""

    text: str
    lines: Mapping[str, int]  # by the name under which a file is shown: how many of its lines are
    gone: frozenset[str] = frozenset()  # names of deleted files

    def plus(self, other: "View") -> "View":
        """What can be cited of both, under the text of this one."""
        return View(self.text, {**self.lines, **other.lines}, self.gone | other.gone)


def view_sources(sources: Iterable[Source], deleted: Sequence[str], allowance: int, hidden_as: str = CHANGED) -> View:
    """Files whole as long as they fit into so many tokens, the one that does not fit in part, the others by name."""
    blocks: list[str] = []
    lines: dict[str, int] = {}
    hidden: list[str] = []
    for path, text in sorted(sources, key=_rank):
        if text is None:
            hidden.append(f"{path} (no text)")
        elif excerpt := _excerpt(path, text, allowance - _FENCE - tokens(label(path))):
            block, lines[label(path)] = excerpt
            blocks.append(block)
            allowance -= tokens(block)
        else:
            hidden.append(f"{path} ({len(text):,} characters, no room)")
    blocks.append(name_list(hidden_as, hidden))
    blocks.append(name_list("files that were deleted", deleted))
    text = "\n\n".join(block for block in blocks if block)
    return View(text or "(no file was changed)", lines, frozenset(label(path) for path in deleted))


def view_outputs(outputs: Sequence[CheckResult], proving: Sequence[str], allowance: int) -> str:
    """What each check printed, in equal shares of so many tokens, unused shares passed on; and what is known of its tests."""
    blocks: list[str] = []
    for at, output in enumerate(outputs):
        gap = "\n[… some of the output was not kept …]\n" if output.tail else ""
        printed = f"{output.head}{gap}{output.tail}" or "[nothing was printed]"
        text = trim(visible(printed), allowance // (len(outputs) - at)) or _NO_ROOM
        allowance -= tokens(text)
        blocks.append(fence(f"output of the check {label(output.name)}, which {'passed' if output.passed else 'FAILED'}", text))
        counts = output.counts
        tests = [f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"] if counts else []
        tests += [f"{name}: failed" for name in counts.failing] if counts else []
        tests += [
            *(f"{name}: ran" for name in output.ran),
            *(f"{name}: fails without the work, passes with it" for name in proving),
        ]
        blocks += [name_list(f"tests of the check {label(output.name)}", tests)] if tests else []
    return "\n\n".join(blocks) or "(no check was run)"


def view_findings(findings: Sequence[Finding]) -> str:
    """A line each, with what stood there and what stands there now; empty where there are none."""
    lines: list[str] = []
    for one in findings:
        sides = (f" [{word}: {side}]" for word, side in (("before", one.before), ("now", one.after)) if side)
        lines.append(f"{one.rule} at {one.where}: {one.message}{''.join(sides)}")
    return _lines("findings", lines)


def view_earlier(earlier: Sequence[PastVerdict], criteria: Collection[str]) -> str:
    """The last verdicts on these criteria, newest first; empty where there are none."""
    told = [one for one in earlier if one.criterion in criteria][::-1][:EARLIER]
    lines = [f"iteration {one.iteration}, {one.commit[:10]}: [{one.criterion}] {one.given}, {one.reason}" for one in told]
    return _lines("your earlier verdicts, newest first", lines)


def view_paths(paths: Sequence[str], changed: Collection[str]) -> str:
    """The repository's files, changed ones first and marked; empty where they are not known."""
    ranked = sorted(paths, key=lambda path: (path not in changed, path))
    marked = [f"{path} *" if path in changed else path for path in ranked]
    return name_list("files of the repository, changed ones marked *", marked, PATHS)


def view_notes(notes: Sequence[str]) -> str:
    """The last lines of the judge's own notes; empty where there are none."""
    return _lines("your own notes on earlier verdicts", [line[:_NOTE] for line in notes[-NOTES:]])


def _lines(title: str, lines: Sequence[str]) -> str:
    return fence(title, "\n".join(visible(line).replace("\n", " ") for line in lines)) if lines else ""


def _rank(source: Source) -> tuple[int, int, str]:
    """What does the work first, then what tests it, then the rest; in each the small before the huge."""
    path, text = source
    tests = is_test_file(path) or (is_test_support(path) and bool(language_of(path)))
    return 1 if tests else 0 if language_of(path) else 2, len(text or ""), path


def _excerpt(path: str, text: str, room: int) -> tuple[str, int] | None:
    """The file with its lines numbered, or as many of them as fit, and how many; None where too few do."""
    every, kept = lines_of(text), list[str]()
    worthwhile = room >= _WORTHWHILE
    for number, line in enumerate(every, 1):
        note = f" [line cut: it has {len(line):,} characters]" if len(line) > _LINE else ""
        shown = f"{number}\t{visible(line[:_LINE])}{note}"
        room -= tokens(f"{shown}\n")
        if room < 0:
            break
        kept.append(shown)
    if len(kept) == len(every) and room >= 0:
        return fence(f"file {label(path)}", "\n".join(kept) or "[the file is empty]"), len(every)
    note = f"[file cut after {len(kept):,} of {len(every):,} lines]"
    cut = fence(f"beginning of the file {label(path)}", "\n".join((*kept, note)))
    return (cut, len(kept)) if worthwhile and kept else None
