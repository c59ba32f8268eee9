"""The judge's view of one committed tree: a question and its excerpts within token limits, with omissions marked.

All of it except the goal is data from the repository.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from helmsman.parsers.source import is_source, is_test_file, is_test_support, language_of
from helmsman.records.checks import CheckResult, Finding
from helmsman.records.proof import PastVerdict
from helmsman.tokens import tokens, trim
from helmsman.verify.diff import FileDiff, Part, lines_of

NOTES = 40  # maximum lines of its own notes to show, the last ones
EARLIER = 12  # maximum number of earlier verdicts to show
PATHS = 200  # maximum number of file names to show
CHANGED = "changed files that are NOT shown"
_NOTE = 300
_LINE = 2000  # longer lines are minified or data
_WORTHWHILE = 100  # minimum tokens for an excerpt
_NO_ROOM = "[left out: no room]"
_FENCE = 60  # tokens for the two marks, the words around a label and the note on a cut

Source = tuple[str, str | None]  # path and full text of a file at the judged commit; None for binary files
ReadFiles = Callable[[Sequence[str]], Sequence[Source]]
"""Reads files of the judged commit by path; missing ones are left out."""
_MARK = 16
_LABEL = 200


@dataclass(frozen=True)
class JudgeQuestion:
    """Input of the judge. Never the agent's reasoning, transcript, commit messages or claims, except for a claim in question."""

    goal: str
    outputs: tuple[CheckResult, ...] = ()
    proving: tuple[str, ...] = ()  # tests that fail on the start's source
    sources: tuple[Source, ...] = ()  # changed files
    deleted: tuple[str, ...] = ()  # paths of deleted files
    commits: str = ""  # commit range of the diff
    diff: tuple[FileDiff, ...] = ()  # changed files on both sides, without generated ones
    generated: tuple[str, ...] = ()  # paths of changed files that are binary or generated
    named: tuple[Source, ...] = ()  # unchanged files that a criterion or check names, or that test changed files
    paths: tuple[str, ...] = ()  # all files of the repository
    blocked_by: str = ""  # the agent's reason for being blocked, if that is the question
    findings: tuple[Finding, ...] = ()
    earlier: tuple[PastVerdict, ...] = ()  # oldest first
    notes: tuple[str, ...] = ()  # lines of the judge's own notes on earlier verdicts, oldest first


def view_sources(sources: Iterable[Source], deleted: Sequence[str], allowance: int, hidden_as: str = CHANGED) -> str:
    """Render files in full while they fit into the allowance of tokens, the next one in part, the others by name."""
    blocks: list[str] = []
    hidden: list[str] = []
    for path, text in sorted(sources, key=_display_order):
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
    """Render the checks' output in equal shares of the allowance of tokens, passing on unused shares, with their tests."""
    blocks: list[str] = []
    for at, output in enumerate(outputs):
        gap = "\n[… part of the output is missing …]\n" if output.tail else ""
        printed = f"{output.head}{gap}{output.tail}" or "[no output]"
        text = trim(escape_invisible(printed), allowance // (len(outputs) - at)) or _NO_ROOM
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
    """Render findings, one line each, with the text before and now; empty if there are none."""
    lines: list[str] = []
    for finding in findings:
        sides = (f" [{word}: {side}]" for word, side in (("before", finding.before), ("now", finding.after)) if side)
        lines.append(f"{finding.rule} at {finding.where}: {finding.message}{''.join(sides)}")
    return _fence_lines("findings", lines)


def view_earlier(earlier: Sequence[PastVerdict], criteria: Collection[str]) -> str:
    """Render the last verdicts on these criteria, newest first; empty if there are none."""
    shown = [verdict for verdict in earlier if verdict.criterion in criteria][::-1][:EARLIER]
    lines = [f"iteration {past.iteration}, {past.commit[:10]}: [{past.criterion}] {past.given}, {past.reason}" for past in shown]
    return _fence_lines("your earlier verdicts, newest first", lines)


def view_paths(paths: Sequence[str], changed: Collection[str]) -> str:
    """Render the repository's files, changed ones first and marked; empty if unknown."""
    ranked = sorted(paths, key=lambda path: (path not in changed, path))
    marked = [f"{path} *" if path in changed else path for path in ranked]
    return name_list("files of the repository, changed ones marked *", marked, PATHS)


def view_notes(notes: Sequence[str]) -> str:
    """Render the last lines of the judge's own notes; empty if there are none."""
    return _fence_lines("your own notes on earlier verdicts", [line[:_NOTE] for line in notes[-NOTES:]])


def _fence_lines(title: str, lines: Sequence[str]) -> str:
    return fence(title, "\n".join(escape_invisible(line).replace("\n", " ") for line in lines)) if lines else ""


def _display_order(source: Source) -> tuple[int, int, str]:
    """Sort source first, then tests, then other files; within each by size."""
    path, text = source
    tests = is_test_file(path) or (is_test_support(path) and bool(language_of(path)))
    return 1 if tests else 0 if language_of(path) else 2, len(text or ""), path


def _excerpt(path: str, text: str, room: int) -> str:
    """Render a file with numbered lines, as many as fit; empty if too few do."""
    every, shown_lines = lines_of(text), list[str]()
    has_room = room >= _WORTHWHILE
    for number, line in enumerate(every, 1):
        note = f" [line cut: it has {len(line):,} characters]" if len(line) > _LINE else ""
        shown = f"{number}\t{escape_invisible(line[:_LINE])}{note}"
        room -= tokens(f"{shown}\n")
        if room < 0:
            break
        shown_lines.append(shown)
    if len(shown_lines) == len(every) and room >= 0:
        return fence(f"file {label(path)}", "\n".join(shown_lines) or "[the file is empty]")
    note = f"[file cut after {len(shown_lines):,} of {len(every):,} lines]"
    return fence(f"beginning of the file {label(path)}", "\n".join((*shown_lines, note))) if has_room and shown_lines else ""


# --- the diff: hunks with their context, the suspicious and the large ones first ------------------------------------------

DIFF_TOKENS = 8_000  # for the diff; new files are shown in full
_CONTEXT = 3
_HUNK_LINE = 300  # characters
_LONGEST = 120  # maximum lines of one hunk


@dataclass(frozen=True)
class Hunk:
    """Adjacent changed lines."""

    path: str
    place: int  # its number within the file
    heading: str
    lines: tuple[str, ...]
    changed: int
    suspicious: bool


def view_diff(diff: Sequence[FileDiff], commits: str, suspects: Collection[str], allowance: int) -> str:
    """Render hunks of files that existed before, as many as fit into the allowance of tokens; empty if there are none.

    `suspects` are paths whose hunks come first, along with those that remove lines from tests.
    """
    every = (hunk for file in diff for hunk in hunks(file, suspects))
    ranked = sorted(every, key=lambda hunk: (not hunk.suspicious, -hunk.changed, hunk.path, hunk.place))
    chosen, left_out = dict[str, list[Hunk]](), list[str]()
    for hunk in ranked:
        size = tokens("\n".join((hunk.heading, *hunk.lines, "")))
        if size <= allowance:
            chosen.setdefault(hunk.path, []).append(hunk)
            allowance -= size
        else:
            left_out.append(hunk.path)
    lines: list[str] = []
    for path, file_hunks in chosen.items():
        lines += [f"--- a/{label(path)}", f"+++ b/{label(path)}"]
        lines += [line for hunk in sorted(file_hunks, key=lambda hunk: hunk.place) for line in (hunk.heading, *hunk.lines)]
    if left_out:
        where = ", ".join(label(path) for path in list(dict.fromkeys(left_out))[:10])
        lines.append(f"[{len(left_out)} more hunks are left out, in {where}]")
    return fence(f"diff {label(commits)}".rstrip(), "\n".join(lines)) if lines else ""


def hunks(file: FileDiff, suspects: Collection[str]) -> Iterator[Hunk]:
    """Yield the hunks of one file; none of a new or binary file."""
    if file.before is None:
        return
    groups: list[list[Part]] = []  # parts whose context overlaps
    for part in file.parts:
        if groups and part[0] - groups[-1][-1][1] <= 2 * _CONTEXT:
            groups[-1].append(part)
        else:
            groups.append([part])
    for place, parts in enumerate(groups):
        first, last = max(0, parts[0][0] - _CONTEXT), min(len(file.old), parts[-1][1] + _CONTEXT)
        removed, added = sum(b - a for a, b, _, _ in parts), sum(d - c for _, _, c, d in parts)
        now = first + parts[0][2] - parts[0][0]
        yield Hunk(
            path=file.path,
            place=place,
            heading=f"@@ -{first + 1},{last - first} +{now + 1},{last - first - removed + added} @@",
            lines=tuple(_hunk_lines(file, parts, first, last)),
            changed=removed + added,
            suspicious=file.path in suspects or (removed > 0 and is_test_file(file.old_path or file.path)),
        )


def _hunk_lines(file: FileDiff, parts: Sequence[Part], first: int, last: int) -> Iterator[str]:
    """Yield the lines of a unified diff, removed lines before their replacements."""
    marked, at = list[tuple[str, str]](), first
    for a, b, c, d in parts:
        marked += [(" ", line) for line in file.old[at:a]]
        marked += [("-", line) for line in file.old[a:b]]
        marked += [("+", line) for line in file.new[c:d]]
        at = b
    marked += [(" ", line) for line in file.old[at:last]]
    for sign, line in marked[:_LONGEST]:
        cut = f"{line[:_HUNK_LINE]} [line cut: it has {len(line):,} characters]" if len(line) > _HUNK_LINE else line
        yield sign + escape_invisible(cut)
    if len(marked) > _LONGEST:
        yield f"[hunk cut after {_LONGEST} of {len(marked):,} lines]"


# --- unchanged files to show: those that are mentioned, and tests of changed files ------------------------------------------

_WORD = re.compile(r"[\w@+-][\w./@+-]*|\.[\w./@+-]+")
_SHORTEST = 3  # minimum length of a source's name to look for in test names
_GENERATED = re.compile(
    r"(?:^|/)(?:__pycache__|node_modules|\.git|vendor)/|\.(?:py[cod]|class|o|map|lock|snap)$|\.min\.(?:js|css)$"
    r"|(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum)$"
)


def has_generated_name(path: str) -> bool:
    """Whether a file is generated, by its name alone."""
    return bool(_GENERATED.search(path))


def mentioned_files(texts: Iterable[str], paths: Collection[str]) -> list[str]:
    """Return the paths that texts mention: verbatim, as a module, or by a unique file name."""
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    mentioned: dict[str, None] = {}
    for word in (word for text in texts for word in _WORD.findall(text)):
        plain = word.rstrip(".").removeprefix("./")
        module = f"{plain.replace('.', '/')}.py"
        if plain in paths:
            mentioned[plain] = None
        elif module in paths and "." in plain:
            mentioned[module] = None
        elif "/" not in plain and "." in plain and len(by_name.get(plain, ())) == 1:
            mentioned[by_name[plain][0]] = None
    return list(mentioned)


def tests_for(changed: Iterable[str], paths: Iterable[str]) -> list[str]:
    """Return test files whose name contains the name of a changed source."""
    stems = {stem for path in changed if is_source(path) and len(stem := _stem(path)) >= _SHORTEST}
    return [path for path in paths if is_test_file(path) and any(stem in _stem(path) for stem in stems)]


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0].lower()


def escape_invisible(text: str) -> str:
    """Escape every invisible or misleading character, except newlines and tabs."""
    plain = text.replace("\r\n", "\n")
    if plain.replace("\n", "").replace("\t", "").isprintable():
        return plain
    return "".join(letter if letter.isprintable() or letter in "\n\t" else _escape(letter) for letter in plain)


def label(name: str) -> str:
    """Return a name on one line, without backticks; of a name longer than 200 characters the end."""
    short = name if len(name) <= _LABEL else f"…{name[1 - _LABEL :]}"
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in short.replace("`", "'"))


def fence(title: str, text: str) -> str:
    """Wrap text between two lines with the same mark. The mark is derived from the text, which therefore cannot contain it.

    The title is trusted, except for labels in it.
    """
    body, salt = escape_invisible(text), 0
    while (mark := sha256(f"{salt}\n{title}\n{body}".encode()).hexdigest()[:_MARK]) in body:
        salt += 1
    return f"<<<{mark} {title}\n{body}\n>>>{mark}"


def name_list(heading: str, names: Sequence[str], most: int = 100) -> str:
    """Return a fenced list of names, counting those after the first `most`; empty if there are none."""
    if not names:
        return ""
    lines = [label(name) for name in names[:most]]
    if len(names) > most:
        lines.append(f"[and {len(names) - most:,} more]")
    return fence(heading, "\n".join(lines))


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
