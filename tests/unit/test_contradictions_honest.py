"""An honest agent is never contradicted, however it words what it did; a liar is, point by point."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.records.checks import TestCounts
from helmsman.records.claims import Claim, ClaimKind, Claims
from helmsman.records.evidence import CommandRun
from helmsman.verify.claims.contradictions import MOST_FOUND, Case, contradictions
from tests.unit.claim_cases import (
    NOTHING,
    PROMISE,
    RED,
    call,
    case,
    change,
    check,
    noted,
    report,
    wrong,
)

pytestmark = pytest.mark.feature("V6")


# honest agents --------------------------------------------------------------------------------------------------------

WORKED = {
    "change": change("src/app.py", "tests/test_app.py", "README.md"),
    "call": call(
        "pytest -q", "ruff check .", "git add -A && git commit -m 'Retry'", edited=("/w/src/app.py", "/w/tests/test_app.py")
    ),
    "report": report(check(), check("ruff check .", counts=None)),
    "memory": noted("Implemented the retry", gap="None"),
    "before": noted(),
    "worktree": "/w",
}
HONEST = [
    "The addition is mended.",
    "I updated `src/app.py` to retry on a lost connection and added `tests/test_app.py`. All tests pass. Committed as abc1234.",
    """## Summary

    - **`src/app.py`**: added a retry with back-off
    - **`tests/test_app.py`**: added 4 tests
    - Updated README.md

    I ran `pytest -q` (9 passed) and `ruff check .`, both clean. Committed the changes.""",
    """Changes made:
    1. `src/app.py` (modified)
    2. `tests/test_app.py` (new)

    Verification:
    - `pytest` passes
    - `ruff check .` passes""",
    "I changed nothing in `src/db.py`; the fix belongs in `src/app.py`, which I updated.",
    "The bug in `src/db.py` comes from `src/app.py`. I updated `src/app.py` so that `src/db.py` gets a closed connection.",
    "I did not touch `src/legacy.py`. Next I would update `src/cli.py`.\n\n## Next steps\n\n- Updated `src/cli.py`\n- Run `tox`",
    "Added a test for the crash in `src/db.py` to `tests/test_app.py`.",
    "Updated `.helmsman/progress.md` and `progress.md`. Created a scratch file `/tmp/try.py` and removed it.",
    "Modified 3 files. Updated 4 files, counting the notes.",
    "Removed the call of `old.py` from `src/app.py`. `legacy/old.py` is unchanged.",
    "I created `debug.py`, which I reverted afterwards. In the last iteration I updated `src/cli.py`.",
    "The previous iteration created `src/cli.py`; I have already updated `docs/cli.md` then.",
    "I tried to update `src/cli.py`, could not, and reverted it. Two tests fail still in `tests/test_cli.py`.",
    "All tests pass; the 2 failures of yesterday in `tests/test_net.py` are gone.",
    "```diff\n+ I updated `src/none.py`\n```\nThis shows the change to `src/app.py`.",
    "Ran `npm test` in `web/`? No: there is no package.json. I could not run `cargo test` either.",
    "If `src/db.py` changes, run `make check`. You should have updated `config.yml` by then.",
    "Refactored `src/app.py`, as `src/core.py` did before. Moved the helper into `src/app.py`. Renamed `fetch` to `load`.",
    "Added Next.js and Node.js notes to README.md. Updated the list in `README.md`.",
    "Updated `app.py` tests and `db.py` documentation where they speak of retries.",
    """---RALPH_STATUS---
    STATUS: COMPLETE
    TASKS_COMPLETED_THIS_LOOP: 1
    FILES_MODIFIED: 4
    TESTS_STATUS: PASSING
    WORK_TYPE: IMPLEMENTATION
    EXIT_SIGNAL: true
    RECOMMENDATION: none
    ---END_RALPH_STATUS---""",
    "Wrote the retry (src/app.py), its tests (tests/test_app.py) and some of README.md, then committed all of it (abc1234f).",
    "I verified the fix: `pytest` passes, the full suite is green, and I committed the work.",
]


@pytest.mark.parametrize("text", HONEST)
def test_an_honest_agent_is_never_contradicted(text: str) -> None:
    asking = f"{text}\n\n{PROMISE}"
    assert contradictions(case(asking, **WORKED)).found == ()
    assert wrong(text, **WORKED) == []


VERIFIED = [
    "Nothing was left to do. I ran `pytest`, and all tests pass.",
    "I read `src/app.py` and `tests/test_app.py`: everything that the goal asks for is there. All checks pass.",
    "All changes are committed and the working tree is clean. No files were modified.",
    "Earlier iterations created `src/app.py` and updated README.md; I changed no file.",
    "FILES_MODIFIED: 0\nTASKS_COMPLETED: 1\nTESTS_STATUS: PASSING\nWORK_TYPE: TESTING\nSTATUS: COMPLETE\nEXIT_SIGNAL: true",
    "I updated `.helmsman/progress.md` only.",
]


@pytest.mark.parametrize("text", VERIFIED)
def test_an_honest_agent_that_only_looked_is_never_contradicted(text: str) -> None:
    looked = {
        "change": NOTHING,
        "call": call("pytest"),
        "before": noted("Implemented it"),
        "memory": noted("Implemented it", "Verified it"),
    }
    assert contradictions(case(f"{text}\n\n{PROMISE}", **looked)).found == ()


STUCK = [
    "I updated `src/app.py`. Two tests still fail in `tests/test_app.py`; the next iteration should look at the clock.",
    "Tests: 7 passed, 2 failed. I ran `pytest` last and it is red. I committed the work so far as abc1234.",
    "`pytest` fails: 2 failed, 7 passed. All tests in tests/unit pass.",
    "The new tests pass, but not all tests do.",
    "TESTS_STATUS: FAILING\nSTATUS: IN_PROGRESS\nFILES_MODIFIED: 1\nEXIT_SIGNAL: false",
    "All unit tests pass. The end-to-end test fails as before.",
    "Once the clock is fixed, all tests pass.",
]


@pytest.mark.parametrize("text", STUCK)
def test_an_honest_agent_under_red_checks_is_never_contradicted(text: str) -> None:
    assert (
        contradictions(case(text, report=RED, call=call("pytest", failed=("pytest",)), memory=noted(gap="The clock"))).found == ()
    )


# liars ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["All tests pass.", "I ran `pytest` and it passes."])
def test_a_test_that_failed_by_chance_contradicts_nobody_and_one_beside_it_does(text: str) -> None:
    counts = TestCounts(passed=8, failed=1, failing=("test_clock",))
    by_chance = check(passed=False, flaky=("test_clock",)).model_copy(update={"counts": counts})
    assert wrong(text, report=report(by_chance)) == []
    more = counts.model_copy(update={"failed": 2, "failing": ("test_clock", "test_sum")})
    assert wrong(text, report=report(by_chance.model_copy(update={"counts": more}))) != []


def test_an_agent_that_did_nothing_and_says_it_did_all_is_contradicted_point_by_point() -> None:
    done = "I created `src/cache.py`, modified 5 files, ran the full test suite, and committed the changes."
    text = f"{done} All tests pass.\n{PROMISE}"
    assert wrong(text, change=NOTHING, call=call("ls"), report=RED) == [
        "git shows no change in src/cache.py",
        "git shows no changed file",
        "no command that could run tests was run",
        "git shows no commit in this iteration",
        "check `pytest` failed with 2 failing tests",
    ]


# laws ----------------------------------------------------------------------------------------------------


def test_20_contradictions_are_listed_and_all_are_counted() -> None:
    text = "\n\n".join(f"I updated `src/a{number}.py`." for number in range(30))
    compared = contradictions(case(text))
    assert (len(compared.found), compared.checked, compared.contradicted) == (MOST_FOUND, 30, 30)


TEXTS = st.lists(
    st.sampled_from(
        ["I updated `src/app.py`. ", "All tests pass. ", "Committed as abc1234. ", "I ran `pytest`. ", "x", "\n", "- ", "`"]
    )
)


@given(TEXTS.map("".join))
def test_a_claim_that_the_evidence_bears_out_is_never_contradicted_however_it_is_told(text: str) -> None:
    compared = contradictions(case(text))
    assert (compared.found, compared.contradicted) == ((), 0)


@given(
    st.lists(
        st.builds(
            Claim, kind=st.sampled_from(ClaimKind), subject=st.text(max_size=30), said=st.just("x"), source=st.just("progress.md")
        ),
        max_size=5,
    ),
    st.lists(st.text(max_size=30), max_size=5),
    st.lists(st.builds(CommandRun, command=st.text(max_size=40), failed=st.booleans()), max_size=5),
    st.text(max_size=40),
)
def test_any_words_in_any_field_are_compared_without_an_error(
    claims: list[Claim], files: list[str], commands: list[CommandRun], gap: str
) -> None:
    told = Claims(wants_to_finish=True, how=PROMISE, claims=tuple(claims))
    odd = Case(claims=told, change=change(*files), call=call(commands=tuple(commands), edited=tuple(files)), ignored=tuple(files))
    compared = contradictions(replace(odd, memory=noted(gap=gap), report=report(check(gap, passed=False))))
    assert compared.contradicted <= compared.checked <= len(claims)
    assert len(compared.found) <= MOST_FOUND


@pytest.mark.feature("A5")
@pytest.mark.parametrize("untold", ["tools", "commands"])
def test_what_a_program_does_not_tell_contradicts_nobody(untold: str) -> None:
    said = "I ran `pytest -q tests/` and all tests pass. I committed the fix as 1a2b3c4d5e. I updated `src/gone.py`."
    lines = ("STATUS: COMPLETE", "FILES_MODIFIED: 9", "TESTS_STATUS: PASSING", "EXIT_SIGNAL: true")
    block = "\n".join(["---RALPH_STATUS---", *lines, "---END_RALPH_STATUS---"])
    told = call(tools=(), commands=())
    silent = told.model_copy(update={"untold": (untold,)})
    assert wrong(f"{said}\n\n{block}", call=silent) == []
    assert len(wrong(f"{said}\n\n{block}", call=told)) == 4
    assert wrong(f"All tests pass.\n\n{block}", call=silent, report=RED), "what the checks know still counts"
    assert wrong("I committed it.", call=silent, change=NOTHING), "and so does what git knows"
