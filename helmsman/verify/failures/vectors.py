"""A failed call as a class, a place and a message. The tables say what speaks for what; this is their order."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from helmsman.records.session import ErrorVector
from helmsman.records.session import FailureClass as Class
from helmsman.verify.failures import world
from helmsman.verify.failures.code import BUILD, LINT, TYPES, WRAPPERS
from helmsman.verify.failures.commands import program, programs, steps
from helmsman.verify.failures.crashes import TRACEBACK, crash
from helmsman.verify.failures.early import EARLY, UNREACHED
from helmsman.verify.failures.excerpt import excerpt
from helmsman.verify.failures.extent import extent
from helmsman.verify.failures.frames import own_frame
from helmsman.verify.failures.normal import normal, place
from helmsman.verify.failures.own_words import DENIED, EXITS, OWN_WORDS
from helmsman.verify.failures.rules import ANY, Hit, Programs, first_hit
from helmsman.verify.failures.tests_failed import NO_TESTS, failing_test
from helmsman.verify.loose_json import text as loose_text

_EXIT = re.compile(r"Exit code (\d{1,3})")
_PYTEST_SAYS = re.compile(r"^E {2,}(?=\S)(.*)", re.MULTILINE)
_SETTLING = frozenset({124, 126, 127, 137, 143})
_FRAME_FIRST = frozenset({Class.NETWORK, Class.MISSING_MODULE, Class.SYNTAX})
"""The runner names the test that imported or called what failed; the innermost frame is where it failed."""
_OBJECTIONS = (*world.PERMISSION, *TYPES, *LINT, *BUILD)
_WORLD = (*world.NETWORK, *world.TIMEOUT, *world.COMMAND, *world.FILES)
_REFUSALS = (*world.GIT, *_WORLD, *world.USAGE)
_RAISED = (*EARLY, *_WORLD)
_ANY_ERROR = re.compile(r"^.{0,80}?\b(?:error|fatal|failed|failure|cannot|unable)\b.*", re.IGNORECASE)


class Scene(NamedTuple):
    """What there is of a failed call."""

    tool: str
    detail: str
    lines: Sequence[str]
    code: int
    programs: Programs
    program: str

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def error_vector(tool: str, detail: str, output: str) -> ErrorVector:
    """What went wrong in a call that failed, of what was called with which command or path."""
    scene = _scene(loose_text(tool, 60), loose_text(detail, 4000), excerpt(output))
    hit = first_hit(OWN_WORDS, "\n".join(scene.lines[:3]), ANY)
    if hit is not None:
        where = DENIED if hit.kind is Class.OTHER else hit.name or scene.program
    else:
        hit = _settled(scene) or _read(scene) or _unknown(scene)
        where = _where(scene, hit)
    return ErrorVector(kind=hit.kind, where=place(where), message=normal(hit.said), extent=extent(output))


def _scene(tool: str, detail: str, lines: list[str]) -> Scene:
    match = _EXIT.fullmatch(lines[0]) if lines else None
    if tool != "Bash":
        return Scene(tool, detail, lines, 0, ANY, detail or tool)
    found = steps(detail)
    code = int(match[1]) if match else 0
    own = lines[1:] if match and not any(line.startswith("Command timed out") for line in lines[1:2]) else lines
    return Scene(tool, detail, own, code, programs(found), program(found, detail) or tool)


def _settled(scene: Scene) -> Hit | None:
    """An exit code that says all; the tables only give the words."""
    if scene.code not in _SETTLING:
        return None
    kind = EXITS.get(scene.code) or (Class.TIMEOUT if "timeout" in scene.detail.split() else None)
    if kind is None:
        return None
    table = [one for one in (*EARLY, *_REFUSALS) if one.kind is kind]
    return first_hit(table, scene.text, scene.programs) or Hit(kind, f"exit code {scene.code}")


def _read(scene: Scene) -> Hit | None:
    text, names = scene.text, scene.programs
    test = failing_test(scene.lines, names)
    early = first_hit(EARLY if test else (*UNREACHED, *EARLY), _loud(text), names)
    if early is not None:
        return early._replace(at=early.at or (test.at if test else ""))
    if EXITS.get(scene.code) is Class.EXCEPTION:
        return crash(text, names) or Hit(Class.EXCEPTION, f"exit code {scene.code}")
    return (
        test
        or first_hit(_OBJECTIONS, text, names)
        or _raised(text, names)
        or first_hit(_REFUSALS, text, names)
        or crash(text, names)
        or first_hit((*NO_TESTS, *world.NOTHING_TO_COMMIT, *WRAPPERS), text, names)
    )


def _loud(text: str) -> str:
    """Pytest marks the words of the failures themselves: what a test printed besides says nothing."""
    said = _PYTEST_SAYS.findall(text)
    return "\n".join(said) if said else text


def _raised(text: str, names: Programs) -> Hit | None:
    """The error of a Python traceback, whose own line says what kind it is."""
    error = crash(text, names) if TRACEBACK in text else None
    if error is None:
        return None
    return first_hit(_RAISED, error.said, names) or error


def _unknown(scene: Scene) -> Hit:
    lines = [line.strip() for line in scene.lines if line.strip()]
    said = next((line for line in lines if _ANY_ERROR.match(line)), lines[-1] if lines else "")
    return Hit(Class.OTHER, said or (f"exit code {scene.code}" if scene.code else "no output"))


def _where(scene: Scene, hit: Hit) -> str:
    places = (own_frame(scene.text), hit.at) if hit.kind in _FRAME_FIRST else (hit.at, own_frame(scene.text))
    return next(filter(None, (*places, hit.name, scene.program)), "")
