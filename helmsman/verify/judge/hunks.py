"""The diff as the judge sees it: hunks with their surroundings, the suspicious and the large ones first, within an allowance."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from helmsman.parsers.test_files import is_test_file
from helmsman.tokens import tokens
from helmsman.verify.diff import FileDiff, lines_of
from helmsman.verify.judge.fence import fence, label, visible

DIFF_TOKENS = 8_000
"""Of the diff; what is new is shown with the files."""
_CONTEXT = 3
_LINE = 300  # characters
_LONGEST = 120  # lines of one hunk

Marked = tuple[str, str]
"""A sign (`-`, `+`, space) and a line."""


@dataclass(frozen=True)
class Hunk:
    """Lines that changed together."""

    path: str
    place: int
    """Which one of its file it is."""
    heading: str
    lines: tuple[str, ...]
    changed: int
    suspicious: bool

    @property
    def size(self) -> int:
        """In tokens."""
        return tokens("\n".join((self.heading, *self.lines, "")))


def view_diff(diff: Sequence[FileDiff], commits: str, suspects: Collection[str], allowance: int) -> str:
    """The hunks of files that were there before, as many as fit into so many tokens; empty where there are none.

    `suspects` are paths whose hunks come first, with those that take lines from tests.
    """
    ranked = sorted((hunk for file in diff for hunk in hunks(file, suspects)), key=_rank)
    if not ranked:
        return ""
    chosen, left_out = _fitting(ranked, allowance)
    files = list(dict.fromkeys(hunk.path for hunk in chosen))
    lines = [line for path in files for line in _of_file(path, chosen)]
    if left_out:
        where = ", ".join(label(path) for path in list(dict.fromkeys(hunk.path for hunk in left_out))[:10])
        lines.append(f"[{len(left_out)} more hunks are left out, in {where}]")
    return fence(f"diff {label(commits)}".rstrip(), "\n".join(lines))


def hunks(file: FileDiff, suspects: Collection[str]) -> Iterator[Hunk]:
    """Those of one file; none of a file that is new, or that is no text."""
    if file.before is None:
        return
    marked = list(_marked(file))
    for place, (first, last) in enumerate(_spans(marked)):
        part = marked[first:last]
        removed, added = (sum(sign == one for sign, _ in part) for one in "-+")
        start = 1 + sum(sign != "+" for sign, _ in marked[:first])
        now = 1 + sum(sign != "-" for sign, _ in marked[:first])
        yield Hunk(
            path=file.path,
            place=place,
            heading=f"@@ -{start},{len(part) - added} +{now},{len(part) - removed} @@",
            lines=tuple(_shown(part)),
            changed=removed + added,
            suspicious=file.path in suspects or (removed > 0 and is_test_file(file.old_path or file.path)),
        )


def _marked(file: FileDiff) -> Iterator[Marked]:
    """Both sides in one, removed lines before those that take their place."""
    removed, added = {line.number for line in file.removed}, {line.number for line in file.added}
    old, new = lines_of(file.before), lines_of(file.after)
    at, now = 1, 1
    while at <= len(old) or now <= len(new):
        if at in removed:
            yield "-", old[at - 1]
            at += 1
        elif now in added:
            yield "+", new[now - 1]
            now += 1
        else:
            yield " ", old[at - 1]
            at, now = at + 1, now + 1


def _spans(marked: Sequence[Marked]) -> Iterator[tuple[int, int]]:
    """From where to where hunks go, with lines around them; near ones are one."""
    begun = ended = -1
    for place, (sign, _) in enumerate(marked):
        if sign == " ":
            continue
        if begun >= 0 and place - _CONTEXT > ended + _CONTEXT:
            yield begun, ended + _CONTEXT
            begun = -1
        begun = max(0, place - _CONTEXT) if begun < 0 else begun
        ended = place + 1
    if begun >= 0:
        yield begun, min(len(marked), ended + _CONTEXT)


def _shown(part: Sequence[Marked]) -> Iterator[str]:
    for sign, line in part[:_LONGEST]:
        cut = f"{line[:_LINE]} [line cut: it has {len(line):,} characters]" if len(line) > _LINE else line
        yield sign + visible(cut)
    if len(part) > _LONGEST:
        yield f"[hunk cut after {_LONGEST} of {len(part):,} lines]"


def _rank(hunk: Hunk) -> tuple[bool, int, str, int]:
    return not hunk.suspicious, -hunk.changed, hunk.path, hunk.place


def _fitting(ranked: Sequence[Hunk], allowance: int) -> tuple[list[Hunk], list[Hunk]]:
    chosen: list[Hunk] = []
    left_out: list[Hunk] = []
    for hunk in ranked:
        size = hunk.size
        fits = size <= allowance
        allowance -= size if fits else 0
        (chosen if fits else left_out).append(hunk)
    return chosen, left_out


def _of_file(path: str, chosen: Sequence[Hunk]) -> Iterator[str]:
    name = label(path)
    yield f"--- a/{name}"
    yield f"+++ b/{name}"
    for hunk in sorted((hunk for hunk in chosen if hunk.path == path), key=lambda hunk: hunk.place):
        yield hunk.heading
        yield from hunk.lines
