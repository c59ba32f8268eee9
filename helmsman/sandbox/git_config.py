"""What of a repository's configuration goes into the box: how files are written, and who commits; no address, no credential."""

from collections.abc import Iterable

CORE = frozenset(
    f"core.{name}"
    for name in (
        "autocrlf", "eol", "filemode", "hookspath", "ignorecase", "longpaths", "precomposeunicode", "safecrlf",
        "sparsecheckout", "sparsecheckoutcone", "symlinks",
    )
)  # fmt: skip
USER = frozenset({"user.name", "user.email"})
SECTIONS = "filter", "diff", "merge"
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\b": "\\b"})

Setting = tuple[str, str]  # a key as git prints it, and its value


def listed(text: str) -> list[Setting]:
    """The settings that `git config --list -z --show-scope` printed, without those of our own command line.

    One without a value is true.
    """
    parts = text.split("\0")
    told = zip(parts[::2], parts[1::2], strict=False)  # a zero byte is at the end
    entries = (entry.partition("\n") for scope, entry in told if scope != "command")
    return [(key, value if between else "true") for key, between, value in entries]


def config_text(settings: Iterable[Setting]) -> str:
    """A configuration file of git's with those of the settings that may be seen: of each the last, or none could be set."""
    text = ""
    for key, value in dict(settings).items():
        section, _, rest = key.partition(".")
        inner, _, name = rest.rpartition(".")
        if key in CORE | USER or (inner and section in SECTIONS):
            quoted = inner.replace("\\", "\\\\").replace('"', '\\"')
            head = f'{section} "{quoted}"' if inner else section
            text += f'[{head}]\n\t{name} = "{value.translate(_ESCAPED)}"\n'
    return text
