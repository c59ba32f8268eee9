"""What is put to the judge, one question about one committed tree, and what of it fits: what is not shown is told as such.

All of it but the goal is data of the repository.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from helmsman.parsers.test_files import is_source, is_test_file, is_test_support, language_of
from helmsman.records.checks import CheckResult, Finding
from helmsman.records.proof import PastVerdict
from helmsman.tokens import tokens, trim
from helmsman.verify.diff import FileDiff, Part, lines_of
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


def view_sources(sources: Iterable[Source], deleted: Sequence[str], allowance: int, hidden_as: str = CHANGED) -> str:
    """Files whole as long as they fit into so many tokens, the one that does not fit in part, the others by name."""
    blocks: list[str] = []
    hidden: list[str] = []
    for path, text in sorted(sources, key=_rank):
        if text is None:
            hidden.append(f"{path} (no text)")
        elif block := _excerpt(path, text, allowance - _FENCE - tokens(label(path))):
            blocks.append(block)
            allowance -= tokens(block)
        else:
            hidden.append(f"{path} ({len(text):,} characters, no room)")
    blocks.append(name_list(hidden_as, hidden))
    blocks.append(name_list("files that were deleted", deleted))
    return "\n\n".join(block for block in blocks if block) or "(no file was changed)"


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


def _excerpt(path: str, text: str, room: int) -> str:
    """The file with its lines numbered, or as many of them as fit; empty where too few do."""
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
        return fence(f"file {label(path)}", "\n".join(kept) or "[the file is empty]")
    note = f"[file cut after {len(kept):,} of {len(every):,} lines]"
    return fence(f"beginning of the file {label(path)}", "\n".join((*kept, note))) if worthwhile and kept else ""


# --- the diff: hunks with their surroundings, the suspicious and the large ones first -------------------------------------

DIFF_TOKENS = 8_000  # of the diff; what is new is shown with the files
_CONTEXT = 3
_HUNK_LINE = 300  # characters
_LONGEST = 120  # lines of one hunk


@dataclass(frozen=True)
class Hunk:
    """Lines that changed together."""

    path: str
    place: int  # which one of its file it is
    heading: str
    lines: tuple[str, ...]
    changed: int
    suspicious: bool


def view_diff(diff: Sequence[FileDiff], commits: str, suspects: Collection[str], allowance: int) -> str:
    """The hunks of files that were there before, as many as fit into so many tokens; empty where there are none.

    `suspects` are paths whose hunks come first, with those that take lines from tests.
    """
    every = (hunk for file in diff for hunk in hunks(file, suspects))
    ranked = sorted(every, key=lambda one: (not one.suspicious, -one.changed, one.path, one.place))
    chosen, left_out = dict[str, list[Hunk]](), list[str]()
    for hunk in ranked:
        size = tokens("\n".join((hunk.heading, *hunk.lines, "")))
        if size <= allowance:
            chosen.setdefault(hunk.path, []).append(hunk)
            allowance -= size
        else:
            left_out.append(hunk.path)
    lines: list[str] = []
    for path, held in chosen.items():
        lines += [f"--- a/{label(path)}", f"+++ b/{label(path)}"]
        lines += [line for hunk in sorted(held, key=lambda hunk: hunk.place) for line in (hunk.heading, *hunk.lines)]
    if left_out:
        where = ", ".join(label(path) for path in list(dict.fromkeys(left_out))[:10])
        lines.append(f"[{len(left_out)} more hunks are left out, in {where}]")
    return fence(f"diff {label(commits)}".rstrip(), "\n".join(lines)) if lines else ""


def hunks(file: FileDiff, suspects: Collection[str]) -> Iterator[Hunk]:
    """Those of one file; none of a file that is new, or that is no text."""
    if file.before is None:
        return
    for place, parts in enumerate(_near(file.parts)):
        first, last = max(0, parts[0][0] - _CONTEXT), min(len(file.old), parts[-1][1] + _CONTEXT)
        removed, added = sum(b - a for a, b, _, _ in parts), sum(d - c for _, _, c, d in parts)
        now = first + parts[0][2] - parts[0][0]
        yield Hunk(
            path=file.path,
            place=place,
            heading=f"@@ -{first + 1},{last - first} +{now + 1},{last - first - removed + added} @@",
            lines=tuple(_shown(file, parts, first, last)),
            changed=removed + added,
            suspicious=file.path in suspects or (removed > 0 and is_test_file(file.old_path or file.path)),
        )


def _near(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Parts whose surroundings meet are one."""
    found: list[Part] = []
    for part in parts:
        if found and part[0] - found[-1][1] > 2 * _CONTEXT:
            yield found
            found = []
        found.append(part)
    if found:
        yield found


def _shown(file: FileDiff, parts: Sequence[Part], first: int, last: int) -> Iterator[str]:
    """Both sides in one, each line behind its sign, removed ones before those that take their place."""
    marked, at = list[tuple[str, str]](), first
    for a, b, c, d in parts:
        marked += [(" ", line) for line in file.old[at:a]]
        marked += [("-", line) for line in file.old[a:b]]
        marked += [("+", line) for line in file.new[c:d]]
        at = b
    marked += [(" ", line) for line in file.old[at:last]]
    for sign, line in marked[:_LONGEST]:
        cut = f"{line[:_HUNK_LINE]} [line cut: it has {len(line):,} characters]" if len(line) > _HUNK_LINE else line
        yield sign + visible(cut)
    if len(marked) > _LONGEST:
        yield f"[hunk cut after {_LONGEST} of {len(marked):,} lines]"


# --- unchanged files that it should see: those that are spoken of, and tests of what was changed ----------------------------

_WORD = re.compile(r"[\w@+-][\w./@+-]*|\.[\w./@+-]+")
_SHORTEST = 3  # letters of a source's name that says something in the name of a test
_GENERATED = re.compile(
    r"(?:^|/)(?:__pycache__|node_modules|\.git|vendor)/|\.(?:py[cod]|class|o|map|lock|snap)$|\.min\.(?:js|css)$"
    r"|(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum)$"
)


def is_product(path: str) -> bool:
    """Whether a program writes it, by its name alone."""
    return bool(_GENERATED.search(path))


def named_files(texts: Iterable[str], paths: Collection[str]) -> list[str]:
    """Paths that texts name: as they are, as a module, or by a file's name that is there once."""
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    found: dict[str, None] = {}
    for word in (word for text in texts for word in _WORD.findall(text)):
        plain = word.rstrip(".").removeprefix("./")
        module = f"{plain.replace('.', '/')}.py"
        if plain in paths:
            found[plain] = None
        elif module in paths and "." in plain:
            found[module] = None
        elif "/" not in plain and "." in plain and len(by_name.get(plain, ())) == 1:
            found[by_name[plain][0]] = None
    return list(found)


def files_testing(changed: Iterable[str], paths: Iterable[str]) -> list[str]:
    """Test files whose name holds the name of a changed source."""
    stems = {stem for path in changed if is_source(path) and len(stem := _stem(path)) >= _SHORTEST}
    return [path for path in paths if is_test_file(path) and any(stem in _stem(path) for stem in stems)]


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0].lower()
