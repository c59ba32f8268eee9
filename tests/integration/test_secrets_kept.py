"""No secret value survives in a text that is stored or shown, and nothing else is touched."""

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote_from_bytes, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.repository.git import IDENTITY
from tasks.system.secrets import SHORTEST, redact

pytestmark = pytest.mark.feature("X1")

SECRET = "sk-0123456789"
KINDS = (
    "API_KEY",
    "github_token",
    "CLIENT_SECRET",
    "DB_PASSWORD",
    "SMTP_PASS",
    "SSH_PASSPHRASE",
    "AWS_CREDENTIALS",
    "BASIC_AUTH",
)
NAMES = st.sampled_from(KINDS)
VALUES = st.text(alphabet=st.characters(codec="utf-8"), min_size=SHORTEST).filter(
    # a path of an existing file is no secret, and hypothesis tries texts of the source, such as /dev/stdin
    lambda value: not value.startswith("/") and not any(value in f"[{kind}]" or f"[{kind}]" in value for kind in KINDS)
)


@pytest.mark.parametrize("name", KINDS)
def test_a_secret_is_replaced_by_its_name_anywhere(name: str) -> None:
    assert redact(f"{SECRET}, x{SECRET}y and {SECRET}", {name: SECRET}) == f"[{name}], x[{name}]y and [{name}]"


@pytest.mark.parametrize("name", ["HOME", "PATH", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "LANG"])
def test_what_is_no_secret_by_its_name_is_left_alone(name: str) -> None:
    assert redact(f"at {SECRET}", {name: SECRET}) == f"at {SECRET}"


def test_our_own_name_is_no_secret() -> None:
    text = f"helmsman: Helmsman <{IDENTITY['GIT_AUTHOR_EMAIL']}> kept it"
    assert redact(text, IDENTITY) == text


def test_short_values_would_match_by_accident_and_are_left_alone() -> None:
    assert redact("limits 32000 true", {"MAX_TOKENS": "32000", "USE_KEYS": "true", "TOKEN": ""}) == "limits 32000 true"


def test_a_secret_that_begins_like_another_gives_nothing_of_it_away() -> None:
    environment = {"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefgh-and-more"}
    for ordered in (environment, dict(reversed(environment.items()))):
        assert redact("abcdefgh-and-more, abcdefgh", ordered) == "[B_TOKEN], [A_TOKEN]"


def test_a_secret_of_many_lines_is_found_line_by_line() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----\n"
    shown = redact('  | MIIEvQIBADANBg\r\n  "kqhkiG9w0BAQEF",', {"DEPLOY_KEY": key})
    assert shown == '  | [DEPLOY_KEY]\r\n  "[DEPLOY_KEY]",'


@given(st.dictionaries(NAMES, VALUES, min_size=1), st.lists(st.text()))
def test_no_value_survives_between_whatever_texts(environment: dict[str, str], texts: list[str]) -> None:
    text = " ".join([*texts, *(part for value in environment.values() for part in (value, "and again", value))])
    cleaned = redact(text, environment)
    lines = [line.strip() for value in environment.values() for line in value.splitlines()]
    assert not [line for line in lines if len(line) >= SHORTEST and line in cleaned]


@given(st.dictionaries(NAMES, VALUES), st.text())
def test_a_text_without_secrets_stays_as_it_is(environment: dict[str, str], text: str) -> None:
    assert redact(text, {}) == text
    if not any(line.strip() in text for value in environment.values() for line in value.splitlines()):
        assert redact(text, environment) == text


@pytest.mark.parametrize(
    ("cut", "left"),
    [
        (f"curl -H {SECRET[:10]}", "curl -H [API_KEY]"),
        (f"curl -H {SECRET[:10]}…", "curl -H [API_KEY]…"),
        (f"{SECRET[-9:]} was the key", "[API_KEY] was the key"),
        (f"ends with {SECRET[:7]}", f"ends with {SECRET[:7]}"),
        (SECRET[:-1], "[API_KEY]"),
    ],
)
def test_half_of_a_secret_at_the_end_of_a_text_that_was_cut_is_replaced_as_well(cut: str, left: str) -> None:
    assert redact(cut, {"API_KEY": SECRET}) == left


AROUND = st.binary(max_size=7)
ONE_LINE = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=SHORTEST, max_size=40).filter(
    lambda text: not text.startswith("/")  # a path is no secret
)
WRITTEN: dict[str, Callable[[bytes], str]] = {
    "base64": lambda octets: base64.b64encode(octets).decode(),
    "base64 for URLs": lambda octets: base64.urlsafe_b64encode(octets).decode().rstrip("="),
    "hexadecimal": lambda octets: octets.hex(),
    "a dump in capitals": lambda octets: octets.hex().upper(),
    "an URL": quote_from_bytes,
}
"""What others make of octets that hold a secret, by what it is called."""


@pytest.mark.parametrize("form", WRITTEN)
@given(secret=ONE_LINE, before=AROUND, after=AROUND)
def test_a_secret_is_known_again_in_another_form_whatever_stands_around_it(
    form: str, secret: str, before: bytes, after: bytes
) -> None:
    said = WRITTEN[form](before + secret.encode() + after)
    assert "[API_KEY]" in redact(f"it says {said}.", {"API_KEY": secret})


@pytest.mark.parametrize("write", [json.dumps, html.escape, quote_plus, repr])
def test_a_secret_is_known_again_where_its_signs_are_escaped(write: Callable[[str], str]) -> None:
    secret = 'pä"ss&w<rd/+1'
    assert redact(f"at {write(secret)}!", {"DB_PASSWORD": secret}).strip("at '\"!") == "[DB_PASSWORD]"


def test_the_password_of_a_basic_authorization_is_replaced() -> None:
    said = base64.b64encode(f"alice:{SECRET}".encode()).decode()
    assert (
        redact(f"Authorization: Basic {said}", {"SMTP_PASS": SECRET}) == f"Authorization: Basic {said[:8]}[SMTP_PASS]{said[25:]}"
    )


def test_half_of_another_form_at_the_end_of_a_text_that_was_cut_is_replaced_as_well() -> None:
    said = base64.b64encode(SECRET.encode()).decode()
    assert redact(f"it says {said[:12]}…", {"API_KEY": SECRET}) == "it says [API_KEY]…"
