"""Git configuration for the box: settings for files and the committer's identity; no address, no credential."""

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


def parse_config_list(text: str) -> list[Setting]:
    """Parse the output of `git config --list -z --show-scope`, without settings of Helmsman's own command line.

    A setting without a value is true.
    """
    parts = text.split("\0")
    scoped_entries = zip(parts[::2], parts[1::2], strict=False)  # ends with a zero byte
    entries = (entry.partition("\n") for scope, entry in scoped_entries if scope != "command")
    return [(key, value if separator else "true") for key, separator, value in entries]


def config_text(settings: Iterable[Setting]) -> str:
    """A git configuration file with the allowed settings, the last value of each."""
    text = ""
    for key, value in dict(settings).items():
        section, _, rest = key.partition(".")
        inner, _, name = rest.rpartition(".")
        if key in CORE | USER or (inner and section in SECTIONS):
            quoted = inner.replace("\\", "\\\\").replace('"', '\\"')
            head = f'{section} "{quoted}"' if inner else section
            text += f'[{head}]\n\t{name} = "{value.translate(_ESCAPED)}"\n'
    return text
