"""Environment variables and properties without which a test does not run."""

import re
from functools import lru_cache

_VARIABLE = re.compile(
    r"(?:environ(?:\.get)?|getenv|Getenv|LookupEnv|getBoolean|getProperty|\bENV(?:\.fetch|\.key\?)?|env::var(?:_os)?)\s?[\[(]\s?"
    r"[\"'](?P<called>[\w.\-]{1,80})[\"']"
    r"|process\.env\.(?P<dotted>\w{1,80})|process\.env\[[\"'](?P<keyed>\w{1,80})"
    r"|[\"'](?P<within>\w{1,80})[\"'] (?:not )?in (?:os\.)?environ",
)
_NAMED = re.compile(
    r"@EnabledIf(?:SystemProperty|EnvironmentVariable)\([^)\n]{0,200}?named\s{0,3}=\s{0,3}\"([\w.\-]{1,80})\""
    r"|#\[cfg_attr\(\s{0,3}not\(\s{0,3}feature\s{0,3}=\s{0,3}\"([\w\-]{1,80})\""
)
_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w{0,60}(?![\w(\"'])")
_SET = re.compile(r"\bis not None\b|(?:!==?|~=)\s?(?:\"\"|''|nil|null|undefined)")
_UNSET = re.compile(
    r"\bnot\b|!=|!(?!=)|\bis None\b|={2,3}\s?(?:\"\"|''|nil\b|null\b|undefined\b)|\.nil\?|\.isEmpty\(\)|\.empty\?|is_err\(\)"
)
_LONGEST = 400
"""Characters of a condition that are looked at."""
_SETTING = re.compile(
    r"(?m)^[ \t]*+(?:(?:var|const|let|export|static|final) )*+(?:\w{1,60}, )?(\w{1,60})\s?:?=(?!=)([^\n]{1,300})",
)


def asked_by(condition: str, text: str, *, runs_where_it_holds: bool) -> str:
    """Name of the variable that must be set for a test to run; empty where none is, or where setting one keeps it from running.

    A name in the condition that the text sets from the environment stands for what it is set to.
    """
    plain = _spelled_out(condition[:_LONGEST], text)
    match = _VARIABLE.search(plain)
    if match is None:
        return ""
    turned = len(_UNSET.findall(_SET.sub("", plain))) % 2 == 1
    return match[match.lastgroup or 0] if turned is not runs_where_it_holds else ""


def asked_in_mark(mark: str) -> str:
    """The same for marks that name it: of JUnit, and features of Rust."""
    match = _NAMED.search(mark[:_LONGEST])
    return match[match.lastindex or 0] if match is not None else ""


def _spelled_out(condition: str, text: str) -> str:
    if _VARIABLE.search(condition):
        return condition
    settings = _settings(text)
    name = next((name for name in _NAME.findall(condition) if name in settings), "")
    return re.sub(rf"\b{name}\b", lambda _: f"({settings[name]})", condition) if name else condition


@lru_cache(maxsize=4)  # every skip of a file asks for the same
def _settings(text: str) -> dict[str, str]:
    """Names that are set from a variable of the environment, with what they are set to."""
    return {name: value for name, value in _SETTING.findall(text) if _VARIABLE.search(value)}
