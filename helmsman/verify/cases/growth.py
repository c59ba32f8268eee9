"""The words that tests have now and had not: where something went that is no longer where it was."""

from collections.abc import Iterable
from dataclasses import dataclass

from helmsman.verify.cases.model import Assertion, Case
from helmsman.verify.cases.search import Index
from helmsman.verify.cases.sides import Pair
from helmsman.verify.cases.words import Words


@dataclass(frozen=True)
class Growth:
    """The words that tests have now and had not."""

    cases: tuple[Case, ...]
    words: tuple[Words, ...]
    """Of each case what is new in it."""
    index: Index
    literals: frozenset[str]

    @classmethod
    def of(cls, pairs: Iterable[Pair], fresh: Iterable[Case]) -> "Growth":
        grown = [(pair.new, _more(pair)) for pair in pairs] + [(case, case.words) for case in fresh]
        words = tuple(words for _, words in grown)
        literals = frozenset(literal for item in words for literal in item.literals)
        return cls(tuple(case for case, _ in grown), words, Index(words), literals)

    def holds(self, assertion: Assertion) -> bool:
        """Whether some test has its literals anew, and most of its names."""
        wanted = assertion.words
        return bool(wanted.telling) and any(self._holds(n, wanted) for n in self.index.candidates(wanted))

    def _holds(self, position: int, wanted: Words) -> bool:
        gain, case = self.words[position], self.cases[position]
        names = gain.names if not wanted.literals else case.words.names
        named = 2 * len(wanted.names & names) >= len(wanted.names) or case.is_table
        return named and wanted.literals.keys() <= gain.literals.keys()


def _more(pair: Pair) -> Words:
    old, new = pair.old.words, pair.new.words
    return Words(new.names - old.names, new.literals - old.literals)
