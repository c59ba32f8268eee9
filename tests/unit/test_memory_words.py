"""Telling words: what lessons are stored and looked for by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.memory.words import LONGEST_READ, LONGEST_WORD, MOST_TERMS, normal, terms

pytestmark = pytest.mark.feature("L1")

ONE_WORD = [
    "cache caches cached caching",
    "parse parses parsed parsing",
    "normalise normalize normalised normalizing normalisation normalization",
    "run runs running",
    "write writes writing",
    "migrate migrates migrated migrating migration migrations",
    "validate validates validation",
    "query queries queried",
    "retry retries retried retrying",
    "deploy deploys deployed deploying deployment deployments",
    "behaviour behaviours behavior",
    "install installs installed installing installation",
    "cancel cancels canceled cancelled cancellation",
    "log logs logged logging",
    "connect connects connected connection connections",
    "class classes",
    "status statuses",
    "name names named naming",
    "document documents documented documentation",
    "implement implements implemented implementation",
    "notify notifies notified notification notifications",
    "raise raises raised raising",
    "close closes closed closing",
    "process processes processed processing",
    "dependency dependencies",
    "fixture fixtures",
    "box boxes boxed boxing",
]
APART = [
    ("user", "use"),
    ("string", "str"),
    ("test", "text"),
    ("format", "form"),
    ("class", "clash"),
    ("state", "status"),
    ("import", "importance"),
    ("server", "service"),
    ("version", "verse"),
    ("need", "net"),
    ("thing", "th"),
]


@pytest.mark.parametrize("words", ONE_WORD)
def test_forms_of_one_word_are_one_term(words: str) -> None:
    assert len({normal(word) for word in words.split()}) == 1, [normal(word) for word in words.split()]


@pytest.mark.parametrize(("one", "other"), APART)
def test_words_that_only_look_alike_stay_apart(one: str, other: str) -> None:
    assert normal(one) != normal(other)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("parseInvoice", ("parse", "invoic")),
        ("parse_invoice", ("parse", "invoic")),
        ("ParseHTTPResponse", ("parse", "http", "response")),
        ("src/shop/cart.py::test_empty[3-4]", ("src", "shop", "cart", "py", "test", "empty")),
        ("C++, C# and F# on GitHub in TypeScript", ("cpp", "csharp", "fsharp", "github", "typescript")),
        ("fromGitHubToPostgreSQL", ("github", "postgresql")),
        ("utf8 sha256Sum e2e", ("utf8", "sha256", "sum", "e2e")),
        ("It is not what you would have done with the", ()),
        ("404 12ms 3.11 v2 0xdeadbeef 1st 30s 2026-11-22T10:00:00", ()),
        ("at 9fceb02d0ae598e95dc970b74767f19372d61af8 and 9fceb02", ()),
        ("550e8400-e29b-41d4-a716-446655440000", ()),
        ("facade decade deadbeef", ("facad", "decad", "deadbeef")),
        ("Café NAÏVE Straße", ("cafe", "naiv", "strasse")),
        ("cafe\u0301 \ufb01le", ("cafe", "file")),
        ("Überprüfung der Größe", ("uberprufung", "der", "grosse")),
        ("修复测试 bug", ("修复", "复测", "测试", "bug")),
        ("修bug复", ("bug",)),
        ("हिन्दी में", ("हिन्दी", "में")),
        ("исправить тесты", ("исправить", "тесты")),
        ("", ()),
        ("\ud800\x00\x1b[31mred\u202e", ("red",)),
        ("x" * (LONGEST_WORD + 1), ()),
    ],
)
def test_a_text_has_these_terms(text: str, found: tuple[str, ...]) -> None:
    assert terms(text) == found


def test_what_is_written_first_counts() -> None:
    many = " ".join(f"word{letter}{other}" for letter in "abcdefghijkl" for other in "mnopqrst")
    assert len(terms(many)) == MOST_TERMS
    assert terms(many)[0] == normal("wordam")


@pytest.mark.parametrize(
    "unit", ["a", "aA", "a_", "ab1 ", "\ufdfa", "e\u0301", "\ud800", "ing", "0", "-", "00000000-", "GitHu", "修"]
)
def test_a_hostile_megabyte_is_read_no_further_than_its_beginning(unit: str) -> None:
    hostile = unit * (1_000_000 // len(unit))
    assert terms(hostile) == terms(hostile[:LONGEST_READ])
    assert terms(f"{hostile} invoice") == terms(hostile)


@given(st.text())
def test_terms_are_unique_bounded_and_can_be_stored(text: str) -> None:
    found = terms(text)
    assert len(set(found)) == len(found) <= MOST_TERMS
    for term in found:
        term.encode("utf-8")
        assert 1 < len(term) <= LONGEST_WORD
        assert not any(letter.isspace() or letter in "\"'`%*()" for letter in term)


WORDS = st.lists(st.sampled_from(" ".join(ONE_WORD).split()), max_size=30).map(" ".join)


@given(WORDS | st.text(alphabet="abcdefgilmnoprstuxyz ", max_size=60) | st.text(max_size=60))
def test_terms_of_terms_are_the_same_terms(text: str) -> None:
    assert terms(" ".join(terms(text))) == terms(text)


@given(WORDS)
def test_capitals_and_punctuation_do_not_matter(text: str) -> None:
    assert terms(text.upper()) == terms(text.replace(" ", ", ")) == terms(text)
