"""What failed in an iteration, and where the failures of one class point."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from helmsman.records.lessons import Episode
from helmsman.records.moments import Movement
from helmsman.records.session import FailureClass

AGAIN = 2
"""Iterations that have to name one place until it counts as named again and again."""
LONGEST_PLACE = 120
_LINE = re.compile(r"(?::\d{1,9}){1,2}\Z|\(\d{1,9}(?:,\d{1,9})?\)\Z")
_NAME = re.compile(r"(?=[^\W\d])[\w.@+-]+(?:/[\w.@+-]+)*(?:::[\w.@+-]+){0,4}|\.[\w-][\w./@+-]*")
"""A test, file, module or command without a blank: of what else stands there nobody knows whose words they are."""
_CODE = re.compile(
    r".+\.(?:py|pyi|js|jsx|ts|tsx|mjs|cjs|go|rs|java|kt|scala|rb|php|c|h|cc|cpp|hpp|cs|swift|vue|ex|exs|lua|sh|sql|html|css)"
)


class Place(NamedTuple):
    """What failures have in common, cleaned and bounded."""

    name: str = ""
    """Test, file, module or command; empty where they have nothing in common."""

    @property
    def file(self) -> str:
        """The name without the test inside of the file."""
        return self.name.partition("::")[0]

    @property
    def in_code(self) -> bool:
        """Whether it is a file that somebody can change, and no host or program."""
        return "::" in self.name or _CODE.fullmatch(self.file) is not None


NOWHERE = Place()


def failed(episode: Episode) -> frozenset[FailureClass]:
    """Classes that its checks failed with; none where nothing is known. What failed inside the session only is no failure."""
    known = episode.checked and episode.movement is not Movement.WAITED
    return frozenset(error.kind for error in episode.errors) if known else frozenset()


def near(kind: FailureClass, episode: Episode) -> bool:
    """Whether the class was anywhere near: before it, in its checks, or inside the session."""
    errors = (*episode.errors, *episode.troubles)
    return kind in episode.subject.failures or any(error.kind is kind for error in errors)


def in_vain(kind: FailureClass, episode: Episode) -> bool:
    """Whether a check failed so and the work did not get on: from one failing test to the next is progress."""
    return kind in failed(episode) and episode.movement is not Movement.FORWARD


def common(kind: FailureClass, episodes: Sequence[Episode]) -> Place:
    """The test, else the file, that most of these iterations name as the place of such a failure, and two at least."""
    named = [_places(kind, episode) for episode in episodes]
    tests = [place.name for places in named for place in places]
    files = [file for places in named for file in {place.file for place in places}]
    return Place(_again(tests, len(named)) or _again(files, len(named)))


def _again(names: Sequence[str], of: int) -> str:
    """The most frequent, where it is frequent enough; of equals the first, so that the same failures name the same place."""
    counts = Counter(names)
    name = min(counts, key=lambda one: (-counts[one], one), default="")
    return name if counts[name] >= AGAIN and 2 * counts[name] > of else ""


def _places(kind: FailureClass, episode: Episode) -> frozenset[Place]:
    found = (_place(error.where, episode.files) for error in episode.errors if error.kind is kind)
    return frozenset(place for place in found if place.name)


def _place(where: str, files: Sequence[str]) -> Place:
    """Without its line, which every edit moves, and without what stands above the project on this machine."""
    word = _LINE.sub("", next(iter(where.split()), "")).removeprefix("./")
    if word.startswith("/"):
        word = next((file for file in files if word.endswith(f"/{file}")), word.rpartition("/")[2])
    found = _NAME.match(word)
    name = found[0].rstrip(".:-+@") if found else ""
    return Place(name) if 0 < len(name) <= LONGEST_PLACE else NOWHERE
