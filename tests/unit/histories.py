"""Histories of iteration summaries with defaults."""

from typing import Any

from helmsman.records.agent import AgentOutcome, ErrorVector, FailureClass
from helmsman.records.control import IterationSummary, Movement
from tests.unit.builders import HOUR, NOW

FORWARD, SIDEWAYS, STILL, BACK, WAITED = Movement
Step = dict[str, Any]


def step(movement: Movement = SIDEWAYS, **fields: Any) -> Step:
    """One iteration: by default a new tree with failing checks."""
    return {"movement": movement, **fields}


def history(*steps: Step) -> tuple[IterationSummary, ...]:
    """One summary for each step, an hour apart, each with its own tree and file."""
    return tuple(_moment(number, given) for number, given in enumerate(steps, start=1))


def error(kind: FailureClass = FailureClass.TEST, where: str = "tests/test_app.py::test_add", extent: int = 0) -> ErrorVector:
    return ErrorVector(kind=kind, where=where, message="assert 1 == 2", extent=extent)


def red(movement: Movement = SIDEWAYS, *names: str, **fields: Any) -> Step:
    """Tests that fail by name."""
    errors = (error(where=names[0], extent=len(names)),)
    return step(movement, failing=("pytest", *names), failing_tests=len(names), passing_tests=20, errors=errors, **fields)


def green(movement: Movement = SIDEWAYS, **fields: Any) -> Step:
    return step(movement, **{"completion": 0.9, "green": True, "passing_tests": 21, **fields})


def still(**fields: Any) -> Step:
    """A session that worked and changed nothing."""
    return step(STILL, **{"tree": "same", "files": (), "files_changed": 0, "insertions": 0, "deletions": 0, **fields})


def waited() -> Step:
    """The agent never got to work."""
    nothing = {"tool_calls": 0, "written": 0, "tokens": 0, "cost_usd": 0.0, "checked": False, "completion": 0.0}
    return still(**nothing, outcome=AgentOutcome.USAGE_LIMIT) | {"movement": WAITED}


def _moment(number: int, given: Step) -> IterationSummary:
    usual = {
        "iteration": number,
        "at": NOW + number * HOUR,
        "seconds": 600.0,
        "cost_usd": 0.5,
        "tokens": 100_000,
        "written": 2000,
        "outcome": AgentOutcome.FINISHED,
        "completion": 0.5,
        "start": f"commit{number - 1}",
        "commit": f"commit{number}",
        "tree": f"tree{number}",
        "files": (f"src/part{number}.py",),
        "files_changed": 1,
        "insertions": 20,
        "deletions": 5,
        "commits": 1,
        "tool_calls": 12,
    }
    return IterationSummary.model_validate({**usual, **given})


def _refactor() -> tuple[IterationSummary, ...]:
    """Torn apart once, then fewer tests fail each time; not below the record of none, so that it is not forward."""
    falling = [40, 34, 31, 27, 22, 16, 9, 4]
    torn = [
        step(
            BACK if number == 0 else SIDEWAYS,
            completion=0.6 + number * 0.002,
            failing_tests=failing,
            passing_tests=1000 - failing,
            failing=("pytest", *(f"tests/test_{name}.py::test_it" for name in range(min(failing, 19)))),
            errors=(error(where="tests/test_0.py::test_it", extent=failing),),
            insertions=50 + number,
        )
        for number, failing in enumerate(falling)
    ]
    return history(green(FORWARD, passing_tests=1000), *torn, green(FORWARD, passing_tests=1001))


def _climb() -> tuple[IterationSummary, ...]:
    steps = [
        step(
            FORWARD,
            completion=0.1 + 0.02 * number,
            failing_tests=100 - number,
            passing_tests=number,
            failing=("pytest",),
            errors=(error(extent=100 - number),),
        )
        for number in range(20)
    ]
    return history(*steps)


def _test_first() -> tuple[IterationSummary, ...]:
    pairs = [(red(BACK, f"tests/test_{number}.py::test_new", completion=0.7), green(SIDEWAYS)) for number in range(8)]
    return history(*(given for pair in pairs for given in pair))


def _migration() -> tuple[IterationSummary, ...]:
    """Torn from one library to the next: the compiler stops at another place each time, now and then in a file again."""
    places = ["src/a.c:3", "src/b.c:9", "src/a.c:70", "src/c.c:1", "src/b.c:12", "src/d.c:5"]
    broken = [
        step(
            FORWARD if number else BACK,
            completion=0.0,
            failing=("make",),
            errors=(error(FailureClass.BUILD, where).model_copy(update={"message": f"no member called {where}"}),),
        )
        for number, where in enumerate(places)
    ]
    return history(green(passing_tests=200), *broken, green(FORWARD, passing_tests=200))


def _slow_integration() -> tuple[IterationSummary, ...]:
    """A new tree each time; every second time the one check that needs a server has no end."""
    late = green(green=False, failing=("integration",), errors=(error(FailureClass.TIMEOUT, "integration"),))
    return history(green(FORWARD), *[late, green()] * 10)


def _tests_first() -> tuple[IterationSummary, ...]:
    """Two iterations that only write tests, then the code that they ask for."""
    parts = [[f"tests/test_{part}{number}.py::test_it" for number in range(4)] for part in "abc"]
    rounds = [
        (
            red(SIDEWAYS, *names[:2], test_only=True),
            red(SIDEWAYS, *names, test_only=True),
            red(FORWARD, *names[2:]),
            green(FORWARD),
        )
        for names in parts
    ]
    return history(*(given for one in rounds for given in one))


LEGITIMATE = {
    "many small tasks, green all along, with the same event each": history(*[green()] * 30),
    "many small tasks without any check": history(*[step(checked=False, completion=0.0)] * 30),
    "many small tasks that each ask to be done": history(*[green(asked=True, files=("TODO.md",))] * 12),
    "a long refactor with red tests in between and falling failures": _refactor(),
    "one research iteration at the start": history(still(completion=0.0), red(SIDEWAYS, "a", completion=0.0), green(FORWARD)),
    "a research iteration without relevance, and a red one after it": history(
        still(completion=0.0, relevance=0.1), red(SIDEWAYS, "a"), red(SIDEWAYS, "b")
    ),
    "one research iteration in between": history(*[green()] * 4, still(green=True, relevance=0.1), *[green()] * 4),
    "a slow climb of 2 % a step": _climb(),
    "iterations that only wait for a limit": history(*[waited()] * 12),
    "waits in the midst of work": history(green(), *[waited()] * 6, still(green=True), *[waited()] * 6, green(), waited()),
    "one fall, many waits": history(red(FORWARD, "a"), red(BACK, "a", "b"), *[waited()] * 5),
    "a first iteration in a project without any passing test": history(
        step(SIDEWAYS, completion=0.0, failing=("pytest",), errors=(error(FailureClass.BUILD),))
    ),
    "two iterations in a project without any passing test": history(
        *[step(SIDEWAYS, completion=0.0, failing=("pytest",), errors=(error(FailureClass.BUILD),))] * 2
    ),
    "test first: red and green in turn, with another test each time": _test_first(),
    "one build error got past after another": history(
        *(step(FORWARD, completion=0.0, errors=(error(FailureClass.BUILD, f"src/{name}.c:3"),)) for name in "abcdefghij")
    ),
    "a migration whose build errors move": _migration(),
    "an integration check that times out every second time": _slow_integration(),
    "tests written first, then the code": _tests_first(),
    "a loop without checks": history(*[green(completion=0.0, passing_tests=0)] * 30),
    "a loop without checks, with research in between": history(
        *[green(completion=0.0, passing_tests=0), still(green=True, completion=0.0), green(completion=0.0, passing_tests=0)] * 5
    ),
    "nothing at all": (),
}
"""Legitimate work: no detector may fire."""
