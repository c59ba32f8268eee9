"""What users of other loops bring along: `.ralphrc`, lines of KEY=VALUE for a shell, and the promise in PROMPT.md."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from helmsman.config.layers import did_you_mean, display
from helmsman.parsers.problem import MOST_PROBLEMS, Problem


class RcLine(NamedTuple):
    """One assignment of `.ralphrc` and what it means here."""

    line: int
    name: str
    values: Mapping[str, Mapping[str, object]]
    """As nested configuration."""


def _share(text: str) -> float:
    return float(text.removesuffix("%")) / 100


def _program(text: str) -> str:
    (program,) = text.split()
    return program


def _tools(text: str) -> list[str]:
    return [tool.strip() for tool in re.findall(r"(?:[^,()]|\([^()]*\))+", text) if tool.strip()]


_SESSION = {"true": "resume", "false": "fresh"}.__getitem__
EXPECTED: Mapping[Callable[[str], object], str] = {
    int: "a whole number",
    float: "a number",
    _share: "a number of per cent",
    _SESSION: "true or false",
    _program: "one program without arguments",
}
KEYS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "MAX_CALLS_PER_HOUR": ("limits.calls_per_hour", int),
    "MAX_ITERATIONS": ("limits.iterations", int),
    "CLAUDE_TIMEOUT_MINUTES": ("claude.timeout_minutes", float),
    "CLAUDE_MODEL": ("claude.model", str),
    "CLAUDE_CODE_CMD": ("claude.binary", _program),
    "CLAUDE_PERMISSION_MODE": ("claude.permission_mode", str),
    "ALLOWED_TOOLS": ("claude.allowed_tools", _tools),
    "CLAUDE_ALLOWED_TOOLS": ("claude.allowed_tools", _tools),
    "SESSION_CONTINUITY": ("claude.session", _SESSION),
    "SESSION_EXPIRY_HOURS": ("claude.session_hours", float),
    "CB_NO_PROGRESS_THRESHOLD": ("detect.stuck_iterations", int),
    "CB_SAME_ERROR_THRESHOLD": ("detect.same_error", int),
    "CB_PERMISSION_DENIAL_THRESHOLD": ("detect.denials", int),
    "CB_OUTPUT_DECLINE_THRESHOLD": ("detect.output_decline", _share),
    "CB_COOLDOWN_MINUTES": ("breaker.cool_down_minutes", float),
}
"""Keys of `.ralphrc`, what they set here, and how their values are read."""
NO_EFFECT = re.compile(
    "PROJECT_(NAME|TYPE|ROOT)|CLAUDE_(OUTPUT_FORMAT|AUTO_UPDATE|MIN_VERSION)|CB_AUTO_RESET|VERBOSE(_PROGRESS)?|SLEEP_DURATION|"
    "TASK_SOURCES|DRY_RUN|KEEP_MONITOR_AFTER_EXIT|(RALPH|LOG|GITHUB|BEADS|LINEAR|SANDBOX_(DOCKER|E2B))_[A-Z_]+"
)
"""Keys for what does not exist here, or is not the loop's to decide: they are read over."""
INSTEAD: Mapping[str, tuple[str, str]] = {
    "MAX_TOKENS_PER_HOUR": ("0", "write 0, and bound all tokens of a loop by limits.tokens in helmsman.toml"),
    "PROMPT_FILE": ("PROMPT.md", 'take the line out, and name the file in helmsman.toml: goal_file = "…"'),
    "FIX_PLAN_FILE": ("fix_plan.md", 'take the line out, and name the file in helmsman.toml: plan.file = "…"'),
    "AGENT_FILE": ("AGENT.md", "take the line out, and name the file in PROMPT.md"),
    "SANDBOX_PROVIDER": ("", "take the line out, and choose a sandbox by sandbox.kind"),
}
"""Keys that would be missed: the one value that changes nothing, and what to do about any other."""

_ASSIGNMENT = re.compile(
    r"""[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_]\w*)=(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"'#;&|]*))"""
    r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)"
)
_NOTHING = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_LINE = re.compile(r"(?P<line>[^\n]+)\n?")
_OWN_DEFAULT = re.compile(r"\$\{(?P<name>\w+):-(?P<default>[^${}]*)\}")
MOST_PROMISES = 5
_PROMISE = re.compile(r"<promise>[^<>\n]{1,200}</promise>")


def read_rc(text: str) -> tuple[list[RcLine], list[Problem]]:
    """What `.ralphrc` sets, a later line over an earlier one of the same name; and the first of what cannot be understood."""
    lines, flaws = dict[str, RcLine](), list[Problem]()
    for number, name, value in _assignments(text):
        try:
            lines[name] = RcLine(number, name, _meant(name, value))
        except _Unusable as error:
            flaws.append(Problem(number, *error.args))
        if len(flaws) == MOST_PROBLEMS:
            break
    order = tuple(KEYS)
    return sorted((one for one in lines.values() if one.values), key=lambda one: order.index(one.name)), flaws


def promises(text: str) -> list[tuple[int, str]]:
    """The promises that a prompt names, each once with its first line; of very many the first few."""
    found = dict[str, int]()
    for one in _PROMISE.finditer(text):
        if one[0] not in found:
            found[one[0]] = text.count("\n", 0, one.start()) + 1
        if len(found) == MOST_PROMISES:
            break
    return [(line, promise) for promise, line in found.items()]


class _Unusable(Exception):  # noqa: N818 - it never leaves this file
    """Why an assignment cannot be used, and what to do."""


def _assignments(text: str) -> Iterator[tuple[int, str, str | None]]:
    """Numbers of lines, names and values; None for a value that only a shell knows. What is no assignment has no name."""
    at, number = 0, 1
    while at < len(text):
        found = _NOTHING.match(text, at) or _ASSIGNMENT.match(text, at) or _LINE.match(text, at)
        assert found is not None  # noqa: S101 - for the type checker; anything is a line
        said = found.groupdict()
        if said.get("name"):
            yield number, said["name"], _literal(said["name"], said["single"], said["double"] or said["bare"] or "")
        elif said.get("line"):
            yield number, "", said["line"].strip()
        number += text.count("\n", at, found.end())
        at = found.end()


def _literal(name: str, single: str | None, other: str) -> str | None:
    """A value without quotes; `${NAME:-default}` of the same name is its default."""
    if single is not None:
        return single
    plain = _OWN_DEFAULT.sub(lambda found: found["default"] if found["name"] == name else found[0], other.replace("\\\n", ""))
    return None if re.search(r"[$`\\]", plain) else plain


def _meant(name: str, value: str | None) -> Mapping[str, Mapping[str, object]]:
    """What a line sets; nothing where it has no effect here. Raises _Unusable."""
    if not name:
        raise _Unusable(f"expected KEY=value, found {display(value)}", "take the line out: no shell reads it here")
    if NO_EFFECT.fullmatch(name) or value == "":
        return {}
    if name in INSTEAD:
        harmless, remedy = INSTEAD[name]
        if value in {harmless, f"@{harmless}"}:
            return {}
        raise _Unusable(f"there is nothing like {name} here", remedy)
    if name not in KEYS:
        raise _Unusable(f"unknown key {display(name)}{did_you_mean(name, KEYS)}", "correct it, or take the line out")
    if value is None:
        raise _Unusable(f"only a shell knows the value of {name}", "write it out")
    (section, key), read = KEYS[name][0].split("."), KEYS[name][1]
    try:
        found = read(value)
    except (ValueError, KeyError):
        raise _Unusable(f"{name}: expected {EXPECTED[read]}, found {display(value)}", "correct it") from None
    if read is _program and found == "claude":  # as it is called anyway
        return {}
    # Other loops refuse whatever is not in the list, so that mode comes with it.
    return {section: {key: found, **({"permission_mode": "dontAsk"} if read is _tools else {})}}
