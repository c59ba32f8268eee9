"""The diff as the judge sees it: hunks with their surroundings, the suspicious and the large ones first, within an allowance."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from helmsman.parsers.test_files import is_test_file
from helmsman.tokens import tokens
from helmsman.verify.changed_lines import Part
from helmsman.verify.diff import FileDiff
from helmsman.verify.judge.fence import fence, label, visible

DIFF_TOKENS = 8_000  # of the diff; what is new is shown with the files
_CONTEXT = 3
_LINE = 300  # characters
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
        cut = f"{line[:_LINE]} [line cut: it has {len(line):,} characters]" if len(line) > _LINE else line
        yield sign + visible(cut)
    if len(marked) > _LONGEST:
        yield f"[hunk cut after {_LONGEST} of {len(marked):,} lines]"
