"""Words that make a sentence no claim: denials, plans, conditions, guesses, and what somebody else or an earlier time did."""

import re


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def any_word(patterns: str) -> re.Pattern[str]:
    """Find any of these words, each a small pattern of its own; `n't` at the end of a word is a denial as well."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(patterns.split())})(?!\w)|n't\b", re.IGNORECASE)


UNREAL = any_word(
    """
    no not never cannot none nothing neither nobody unable without if once when whenever until unless before should would could
    might may must will shall can need(s|ed)? want(s|ed)? expect(s|ed|ing)? hope(s|fully)? likely probably presumably
    assum(e|es|ed|ing) believe[sd]? think seem(s|ed)? appear(s|ed)? ensure[sd]? sure whether goal aim requir(e|es|ed)
    plan(s|ned)? todo please you your let's try tried trying attempt(s|ed|ing)? example imagine suppose instead rather next later
    going intend(s|ed)? asks? asked
    """
)
"""Before a verb these say that it did not happen, or not yet, or not for certain."""

PARTLY = any_word(
    """
    most(ly)? some many few only except apart besides but however although though despite almost nearly other remain(s|ing)?
    pending after earlier previous(ly)? already last unverified untested partial(ly)? half unrelated pre-?existing flaky locally
    unit integration e2e end-to-end relevant related affected corresponding existing new those these their its
    """
)
"""With these a statement on tests speaks of a part of them, or of another time."""

FAILING = any_word("fail(s|ed|ing|ures?)? errors? errored broken breaks? red crash(es|ed|ing)? timed times? timeouts?")

HARMLESS = re.compile(
    r"\b(?:with )?(?:no|0|zero|without(?: any)?) (?:\w+ )?(?:failures?|errors?|warnings?|regressions?|failed|skipped|skips)\b",
    re.IGNORECASE,
)
"""Good news in the words of bad news."""

ADMITS = re.compile(
    r"\bstill (?:fail|red\b|broken)|\b[1-9][0-9]{0,5} (?:\w{1,30} )?fail|"
    r"\b(?:tests?|suite|checks?|it|they) (?:\w{1,30} ){0,3}"
    r"(?:fails?\b|failing\b|broken\b|(?:do not|does not|don't|doesn't|didn't) pass)",
    re.IGNORECASE,
)
"""Says openly that something fails."""

ELSEWHEN = any_word(
    """
    revert(s|ed|ing)? undid undone undo backed rolled restored? discard(s|ed)? stash(ed)? temporar(y|ily) earlier previous(ly)?
    already last prior upstream altogether overall total since someone somebody user operator gitignored untracked ignored scratch
    iterations? session originally initially formerly history ago yesterday far but
    """
)
"""With these a change was taken back, made earlier or elsewhere, or counted over more than this iteration."""

BAD_MARKS = frozenset("❌✗✘☐⬜🚧⚠⏳")
"""Signs in place of a `not`, a `not yet` or a `beware`."""
