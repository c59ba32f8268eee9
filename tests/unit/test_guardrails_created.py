"""Creation of guardrails for recurring failures, their effect, their retirement, and refusal of contradictions."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsman.memory.learned_guardrails import (
    REMOVED,
    UNNEEDED,
    NewGuardrails,
    Verdict,
    contradiction,
    create,
    effect_text,
    failure_advice,
    update_after_iteration,
    update_after_loop,
    verdict,
)
from helmsman.oversee.imperatives import read_imperatives
from helmsman.records.agent import FailureClass
from helmsman.records.control import Imperative
from helmsman.records.lessons import Episode, Guardrail, Subject, TaskType
from tests.unit.builders import NOW
from tests.unit.guardrail_cases import LINT, PROJECT, TEST, TYPES, Counts, episode, failing_episodes, failure, forward, guardrail
from tests.unit.honest_projects import PROJECTS, orders_of

pytestmark = pytest.mark.feature("L5")


def create_from(
    episodes: Sequence[Episode],
    *,
    known: Sequence[Guardrail] = (),
    counts: Counts | None = None,
    orders: Sequence[Imperative] = (),
    most: int = 8,
) -> NewGuardrails:
    """Guardrails created for a project without other loops, unless `counts` is given."""
    seen = {kind: sum(any(one.kind is kind for one in found.errors) for found in episodes) for kind in FailureClass}
    seen_of = counts or {kind: (times, len(episodes)) for kind, times in seen.items()}
    return create(PROJECT, episodes, known, seen_of, orders, most, NOW)


def only_guardrail(found: NewGuardrails) -> Guardrail:
    (only,) = found.guardrails
    return only


# --- when ---------------------------------------------------------------------------------------------------------


def test_the_third_iteration_without_effect_creates_a_guardrail() -> None:
    assert create_from(failing_episodes(2)).guardrails == ()
    found = only_guardrail(create_from(failing_episodes(3)))
    assert (found.failure, found.by, found.edited, found.project) == (TEST, "helmsman", False, PROJECT)
    assert (found.before_seen, found.before_of, found.after_seen, found.after_of) == (3, 3, 0, 0)
    assert found.origin == (
        "loop mend-it: test failures in 3 iterations without progress (1, 2, 3); in 3 of 3 checked iterations of the project"
    )


@pytest.mark.parametrize("times", [3, 30])
def test_progress_from_one_failing_test_to_the_next_creates_none(times: int) -> None:
    assert create_from(forward(times)).guardrails == ()


def test_iterations_with_progress_do_not_count_toward_the_three() -> None:
    stuck = episode(9, failure())
    assert create_from([*forward(8), stuck]).guardrails == ()
    assert create_from([*forward(8), stuck, stuck, stuck]).guardrails != ()


def test_infrastructure_failures_create_none() -> None:
    for where in ["", "pypi.example", "make", "10.0.0.1"]:
        for kind in [FailureClass.NETWORK, FailureClass.RESOURCES, FailureClass.TIMEOUT]:
            assert create_from(failing_episodes(9, kind, where)).guardrails == ()


def test_unclassified_failures_create_none() -> None:
    assert create_from(failing_episodes(9, FailureClass.OTHER, "make")).guardrails == ()


def test_two_classes_create_two_guardrails_the_more_frequent_first() -> None:
    both = [episode(number, failure(TYPES), failure(LINT)) for number in range(3)]
    found = create_from([*both, episode(4, failure(LINT))])
    assert [item.failure for item in found.guardrails] == [LINT, TYPES]


# --- in which words -----------------------------------------------------------------------------------------------


def test_every_class_has_advice_of_its_own_in_positive_words() -> None:
    assert set(failure_advice()) == set(FailureClass)
    assert len({said["do"] for said in failure_advice().values()}) == len(FailureClass)
    negative = {"not", "never", "no", "without", "avoid", "don't", "stop", "cannot", "nothing", "refrain", "forbidden"}
    for said in failure_advice().values():
        assert not negative & set(said["do"].lower().replace(",", " ").replace(".", " ").split()), said["do"]
        assert len(said["do"]) <= 400


@settings(max_examples=200)
@given(st.text(st.one_of(st.characters(), st.sampled_from("`\n\x1b[]/.:; a")), max_size=300))
def test_output_of_tools_is_not_in_a_guardrail(where: str) -> None:
    found = only_guardrail(create_from(failing_episodes(3, where=where)))
    assert (found.trigger, found.instruction) == (failure_advice()[TEST]["when"], failure_advice()[TEST]["do"])


# --- what stands or stood already ---------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["", "tests/test_x.py::test_a", "tests/test_y.py::test_a"])
def test_a_class_with_an_active_guardrail_gets_no_other(where: str) -> None:
    first = only_guardrail(create_from(failing_episodes(3, where="tests/test_x.py::test_a")))
    assert create_from(failing_episodes(3, where=where), known=[first]).guardrails == ()
    assert (
        create_from(failing_episodes(3, where=where), known=[first.model_copy(update={"id": "gold", "edited": True})]).guardrails
        == ()
    )


@pytest.mark.parametrize("where", ["", "tests/test_y.py::test_a"])
def test_ineffective_advice_is_not_repeated(where: str) -> None:
    spent = only_guardrail(create_from(failing_episodes(3))).model_copy(
        update={"retired": "ineffective: it recurs as before", "retired_at": NOW}
    )
    assert create_from(failing_episodes(9, where=where), known=[spent]).guardrails == ()


def test_a_guardrail_removed_by_a_person_does_not_come_back() -> None:
    removed = only_guardrail(create_from(failing_episodes(3))).model_copy(update={"retired": REMOVED, "retired_at": NOW})
    assert create_from(failing_episodes(9), known=[removed]).guardrails == ()
    assert create_from(failing_episodes(9, where="tests/test_x.py::test_a"), known=[removed]).guardrails == ()


def test_an_unneeded_guardrail_is_created_again_when_the_failure_returns() -> None:
    gone = only_guardrail(create_from(failing_episodes(3))).model_copy(
        update={"after_of": 20, "loops": 6, "retired": "unneeded: …", "retired_at": NOW}
    )
    found = only_guardrail(create_from(failing_episodes(1), known=[gone], counts={TEST: (8, 45)}))
    assert (found.id, found.retired, found.retired_at, found.after_of, found.loops) == (gone.id, "", None, 0, 0)
    assert (found.before_seen, found.before_of) == (8, 45)


# --- room ---------------------------------------------------------------------------------------------------------


def test_a_guardrail_beyond_the_limit_is_refused() -> None:
    known = [guardrail(id="g0000000a", failure=None, by="person"), guardrail(id="g0000000b", failure=LINT)]
    found = create_from(failing_episodes(3), known=known, most=2)
    assert found.guardrails == ()
    assert found.refused[0].why == "2 guardrails are the limit; delete one in guardrails.md"
    assert create_from(failing_episodes(3), known=known, most=3).guardrails != ()


@settings(max_examples=60)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(FailureClass), st.sampled_from(["", "a.py", "b.py", "c.py", "d.py"])), max_size=4),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, 4),
)
def test_over_any_number_of_loops_the_limit_holds_without_duplicates(
    loops: list[list[tuple[FailureClass, str]]], most: int
) -> None:
    known = dict[str, Guardrail]()
    for errors in loops:
        lived = [episode(number, *(failure(kind, where) for kind, where in errors)) for number in range(3)]
        found = create_from(lived, known=list(known.values()), most=most)
        known |= {item.id: item for item in found.guardrails}
        standing = [item for item in known.values() if not item.retired]
        assert len(standing) <= most
        assert len({(item.failure, item.trigger) for item in standing}) == len(standing)
        assert all(item.retired for item in found.guardrails if item.retired_at)


# Whether a guardrail helps is counted before and after, judged with small numbers in mind, and what is no good goes


CARRIED: dict[str, Any] = {"guarded": ("g0000000a",)}


DAY = timedelta(days=1)


def with_counts(before: tuple[int, int], after: tuple[int, int], loops: int = 3, **fields: Any) -> Guardrail:
    counts = {"before_seen": before[0], "before_of": before[1], "after_seen": after[0], "after_of": after[1]}
    return guardrail(**counts, loops=loops, **fields)


# --- counting -----------------------------------------------------------------------------------------------------


def test_an_iteration_with_the_guardrail_counts_and_so_does_its_failure() -> None:
    failed = episode(1, failure(), **CARRIED)
    fine = episode(2, failure(TYPES), **CARRIED)
    found = update_after_iteration(update_after_iteration(guardrail(), failed), fine)
    assert (found.after_seen, found.after_of) == (1, 2)
    assert found.loaded_at == fine.at


# --- verdicts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((3, 3), (0, 8), Verdict.EFFECTIVE),
        ((3, 6), (0, 10), Verdict.EFFECTIVE),
        ((30, 60), (3, 30), Verdict.EFFECTIVE),
        ((5000, 10000), (2000, 10000), Verdict.EFFECTIVE),
        ((3, 3), (8, 8), Verdict.INEFFECTIVE),
        ((3, 6), (7, 10), Verdict.INEFFECTIVE),
        ((10, 100), (10, 100), Verdict.INEFFECTIVE),
        ((5000, 10000), (5000, 10000), Verdict.INEFFECTIVE),
        ((3, 6), (2, 8), Verdict.OPEN),
        ((3, 100), (0, 8), Verdict.OPEN),
        ((3, 100), (1, 8), Verdict.OPEN),
        ((0, 0), (8, 8), Verdict.OPEN),
    ],
)
def test_the_verdict_depends_on_both_counts(before: tuple[int, int], after: tuple[int, int], expected: Verdict) -> None:
    assert verdict(with_counts(before, after)) is expected


@given(st.data())
def test_more_failures_never_make_the_verdict_better(data: st.DataObject) -> None:
    of, after_of = data.draw(st.integers(1, 60)), data.draw(st.integers(8, 60))
    seen, after_seen = data.draw(st.integers(0, of)), data.draw(st.integers(0, after_of - 1))
    rank = (Verdict.EFFECTIVE, Verdict.OPEN, Verdict.INEFFECTIVE)
    fewer, more = (verdict(with_counts((seen, of), (times, after_of))) for times in (after_seen, after_seen + 1))
    assert rank.index(fewer) <= rank.index(more)


@given(st.data())
def test_more_failures_are_never_effective_and_none_are_never_ineffective(data: st.DataObject) -> None:
    of, after_of = data.draw(st.integers(1, 200)), data.draw(st.integers(8, 200))
    seen, after_seen = data.draw(st.integers(0, of)), data.draw(st.integers(0, after_of))
    found = verdict(with_counts((seen, of), (after_seen, after_of)))
    if after_seen * of >= seen * after_of:
        assert found is not Verdict.EFFECTIVE
    if after_seen == 0:
        assert found is not Verdict.INEFFECTIVE


def test_the_effect_is_shown_with_its_counts() -> None:
    text = effect_text(with_counts((3, 7), (1, 20)))
    assert (
        text
        == "effective: test failures in 3 of 7 checked iterations before, in 1 of 20 since it is shown; shown in 3 ended loops"
    )


# --- the end ------------------------------------------------------------------------------------------------------


def test_an_ineffective_one_is_retired_at_the_end_of_a_loop_with_its_counts() -> None:
    found = update_after_loop(with_counts((3, 3), (8, 8)), [episode(1, failure(), **CARRIED)], NOW)
    assert found.retired.startswith("ineffective: test failures in 3 of 3 checked iterations before, in 8 of 8 since")
    assert (found.retired_at, found.loops) == (NOW, 4)


@pytest.mark.parametrize("fields", [{"edited": True}, {"by": "person"}])
def test_a_persons_guardrail_is_never_retired_but_reported_as_ineffective(fields: dict[str, Any]) -> None:
    hers = with_counts((3, 3), (8, 8), **fields)
    found = update_after_loop(hers, [episode(1, failure(), **CARRIED)], NOW + 400 * DAY)
    assert found.retired == ""
    assert "ineffective" in effect_text(found)
    assert "until somebody deletes it" in effect_text(found)


def after_loops(one: Guardrail, loops: int, **fields: Any) -> Guardrail:
    for _ in range(loops):
        one = update_after_loop(one, [episode(1, **CARRIED, **fields)], NOW)
    return one


def test_a_guardrail_unneeded_in_many_loops_is_retired() -> None:
    assert after_loops(guardrail(), UNNEEDED - 1).retired == ""
    gone = after_loops(guardrail(), UNNEEDED)
    assert gone.retired.startswith("unneeded")
    assert verdict(gone) is Verdict.UNNEEDED


@pytest.mark.parametrize(
    "fields",
    [
        {"errors": (failure(),)},
        {"troubles": (failure(),)},
        {"subject": Subject(project=PROJECT, task_type=TaskType.BUGFIX, text="mend", failures=(TEST,))},
    ],
)
def test_a_loop_with_its_class_resets_the_count(fields: dict[str, Any]) -> None:
    almost = after_loops(guardrail(), UNNEEDED - 1)
    assert after_loops(almost, 1, **fields).unneeded == 0


DOCUMENTS = [orders_of(project) for project in PROJECTS]


# --- contradictions ----------------------------------------------------------------------------------------------------


def orders(text: str, source: str = "AGENTS.md") -> Sequence[Imperative]:
    return read_imperatives(source, text)


@pytest.mark.feature("S11")
def test_a_guardrail_against_a_prohibition_is_refused_with_both_sentences() -> None:
    forbidden = orders("- Use tabs.\n- Never run the project's formatter.\n")
    found = create(PROJECT, failing_episodes(3, LINT), (), {LINT: (3, 3)}, forbidden, 8, NOW)
    assert found.guardrails == ()
    (refused,) = found.refused
    assert refused.guardrail.failure is LINT
    assert "Never run the project's formatter" in refused.why
    assert "AGENTS.md:2" in refused.why
    assert "Run the project's formatter" in refused.why


@pytest.mark.feature("S11")
def test_a_guardrail_against_an_active_one_is_refused() -> None:
    hers = guardrail(failure=None, by="person", instruction="Never run the project's formatter.")
    found = create(PROJECT, failing_episodes(3, LINT), (hers,), {LINT: (3, 3)}, (), 8, NOW)
    assert found.guardrails == ()
    assert "(guardrails.md:1)" in found.refused[0].why


@pytest.mark.feature("S11")
def test_contradictions_between_existing_instructions_are_ignored() -> None:
    others = [
        pair for number in range(9) for pair in (*orders(f"Always use `a{number}`.", "goal"), *orders(f"Never use `a{number}`."))
    ]
    assert contradiction("Run the linter.", others) is None
    late = (*others, *orders("Run the formatter."))
    found = contradiction("Never run the formatter.", late)
    assert found is not None
    assert {found.first.text, found.second.text} == {"Never run the formatter.", "Run the formatter."}


@pytest.mark.feature("S11")
def test_our_advice_contradicts_no_honest_project() -> None:
    for kind in FailureClass:
        found = [conflict for known in DOCUMENTS if (conflict := contradiction(failure_advice()[kind]["do"], known))]
        assert found == []


@pytest.mark.feature("S11")
def test_our_advice_does_not_contradict_itself() -> None:
    for kind in FailureClass:
        others = [guardrail(instruction=said["do"]) for other, said in failure_advice().items() if other != kind]
        assert contradiction(failure_advice()[kind]["do"], (), others) is None
