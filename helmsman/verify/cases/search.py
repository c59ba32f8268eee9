"""Finds texts that share words with another, without comparing all with all."""

from collections import Counter
from collections.abc import Sequence

from helmsman.verify.cases.words import Words

MOST_CANDIDATES = 12
"""Texts that are looked at more closely for one."""
COMMON = 60
"""A word that more texts have tells little about any of them."""


class Index:
    """Numbers of texts by their words."""

    def __init__(self, texts: Sequence[Words]) -> None:
        """All texts are given at once; a number is a place among them."""
        self._places: dict[str, list[int]] = {}
        for number, words in enumerate(texts):
            for word in words.telling:
                self._places.setdefault(word, []).append(number)

    def candidates(self, words: Words) -> list[int]:
        """Numbers of the texts that share most words with this one, best first."""
        found = [self._places[word] for word in words.telling if word in self._places]
        rare = [places for places in found if len(places) <= COMMON] or [places[:COMMON] for places in found]
        votes = Counter(number for places in rare for number in places)
        return [number for number, _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))[:MOST_CANDIDATES]]
