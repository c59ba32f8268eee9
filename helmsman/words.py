"""Words of English."""


def word_set(words: str) -> frozenset[str]:
    """Words written in one string."""
    return frozenset(words.split())


def singular(word: str) -> str:
    """A noun without the ending of its plural."""
    if word.endswith("ies") and len(word) > len("ties"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > len("its") else word
