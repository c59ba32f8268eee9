"""Secrets of twenty kinds to plant in a loop, and a search for them in all that it leaves."""

import base64
import gzip
import json
import random
import sqlite3
import string
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from helmsman.secret_shapes import forms
from tasks.repository.git import git, git_bytes

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_URLSAFE = f"{_ALNUM}_-"


class Draw:
    """Characters drawn from a seed: the same secret for the same kind and place, in every run."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def __call__(self, length: int, letters: str = _ALNUM) -> str:
        return "".join(self._random.choices(letters, k=length))


@dataclass(frozen=True)
class PlantedSecret:
    """One secret."""

    kind: str
    place: str
    text: str
    """As it is written down."""
    needles: tuple[str, ...]
    """The parts that must not be found anywhere."""


def _jwt(draw: Draw) -> str:
    head, claims = {"alg": "HS256", "typ": "JWT"}, {"iss": f"https://login.{draw(6)}.io", "sub": draw(12), "exp": 1900000000}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, claims))
    return ".".join((*parts, draw(43, _URLSAFE)))


def _pem(draw: Draw) -> str:
    lines = "\n".join(draw(64, f"{_ALNUM}+/") for _ in range(4))
    return f"-----BEGIN {'RSA'} PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"


KINDS: Mapping[str, Callable[[Draw], str]] = {
    "AWS key id": lambda draw: "AKIA" + draw(16, string.ascii_uppercase + "234567"),
    "AWS secret key": lambda draw: f"aws_secret_access_key = aB3{draw(37)}",
    "GitHub": lambda draw: "ghp_" + draw(36),
    "GitHub OAuth": lambda draw: "gho_" + draw(36),
    "GitHub, fine-grained": lambda draw: f"github_pat_{draw(22)}_{draw(59)}",
    "GitLab": lambda draw: "glpat-" + draw(20),
    "Slack": lambda draw: f"xoxb-{draw(12, string.digits)}-{draw(13, string.digits)}-{draw(24)}",
    "Stripe": lambda draw: "sk_live_" + draw(24),
    "Google": lambda draw: "AIza" + draw(35, _ALNUM),
    "npm": lambda draw: "npm_" + draw(36),
    "PyPI": lambda draw: "pypi-AgEIcHlwaS5vcmc" + draw(80),
    "Anthropic": lambda draw: "sk-ant-api03-" + draw(93) + "AA",
    "OpenAI": lambda draw: "sk-proj-" + draw(48) + "T3BlbkFJ" + draw(48),
    "Hugging Face": lambda draw: "hf_" + draw(34),
    "SendGrid": lambda draw: f"SG.{draw(22)}.{draw(43)}",
    "Telegram": lambda draw: f"{draw(10, '123456789')}:AA{draw(33)}",
    "Twilio": lambda draw: "SK" + draw(32, _HEX),
    "JSON Web Token": _jwt,
    "private key": _pem,
    "password in a URL": lambda draw: f"https://deploy:{draw(18)}@git.corp.internal/app.git",
    "DATABASE_URL": lambda draw: f"DATABASE_URL=postgres://svc:{draw(20)}@db7.prod.internal:5432/main",
    "Azure": lambda draw: f"AccountName=x;AccountKey={draw(86)}==;EndpointSuffix=core",
}
_PART: Mapping[str, Callable[[str], list[str]]] = {
    "AWS secret key": lambda text: [text.partition(" = ")[2]],
    "private key": lambda text: text.splitlines()[1:-1],
    "password in a URL": lambda text: [text.partition("//deploy:")[2].partition("@")[0]],
    "DATABASE_URL": lambda text: [text.partition("//svc:")[2].partition("@")[0]],
    "Azure": lambda text: [text.partition("AccountKey=")[2].partition(";")[0]],
}
"""The secret part of texts that are not secret as a whole."""


def plant_secrets(place: str, fits: Callable[[str], bool] = lambda _: True) -> list[PlantedSecret]:
    """One of each kind whose text fits into the place."""
    made = ((kind, make(Draw(f"{kind} in {place}"))) for kind, make in KINDS.items())
    return [
        PlantedSecret(kind, place, text, tuple(_PART.get(kind, lambda text: [text])(text))) for kind, text in made if fits(text)
    ]


def as_text(secrets: list[PlantedSecret]) -> str:
    return "\n".join(f"{one.kind}: {one.text}" for one in secrets)


def find_leaks(secrets: list[PlantedSecret], surfaces: Iterator[tuple[str, bytes]]) -> list[str]:
    """Each secret that a surface holds, plain or in another form: kind, place planted, place found."""
    wanted = [(one, form.encode()) for one in secrets for needle in one.needles for form in forms(needle)]
    found = (
        f"{one.kind}, planted in {one.place}, found in {where}"
        for where, content in surfaces
        for one, form in wanted
        if form in content
    )
    return list(dict.fromkeys(found))


def files(name: str, root: Path, *, without: str | None = None) -> Iterator[tuple[str, bytes]]:
    """Name and unpacked content of each file in a folder, except in the subfolder `without`; of a database, its rows as well."""
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.relative_to(root).parts[0] != without:
            content = path.read_bytes()
            shown = f"{name}: {path.relative_to(root)}"
            yield shown, gzip.decompress(content) if path.suffix == ".gz" else content
            if content.startswith(b"SQLite format 3\0"):  # in the file, the pages of a long text need not follow each other
                with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
                    yield f"{shown}, rows", "\n".join(database.iterdump()).encode()
            yield f"{name}: a name", str(path.relative_to(root)).encode()


def objects(repository: Path, ref: str) -> Iterator[tuple[str, bytes]]:
    """All objects that a fetch of the ref transfers."""
    listed = git(repository, "rev-list", "--objects", ref).split("\n")
    for name, _, path in (line.partition(" ") for line in listed if line):
        kind = git(repository, "cat-file", "-t", name).strip()
        yield f"{ref}: {kind} {path}", git_bytes(repository, "cat-file", kind, name)
