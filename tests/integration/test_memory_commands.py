"""`helmsman memory list`, `search`, `show`, `forget` and `stats` as a person uses them."""

import json
from typing import Any

import pytest

from helmsman.memory.learned_guardrails import effect_text
from helmsman.records.agent import FailureClass
from helmsman.records.lessons import Lesson, LessonKind, TaskType
from tasks.memory import guardrails_path, open_store, write_guardrails
from tasks.repository.git import open_repository
from tests.fakes.command_line import RESULT_KEYS, read_object
from tests.integration.memory_bench import EVIL, FIRST, SECOND, TESTED, MemoryBench, bench, fill, ids, project
from tests.integration.memory_stores import DAY, NOW, episode, guardrail, lesson, summary

__all__ = ["bench", "project"]
pytestmark = [pytest.mark.slow, pytest.mark.feature("L6")]


# --- list and search ----------------------------------------------------------------------------------------------


@pytest.mark.feature("L1")
def test_a_list_has_a_line_for_each_lesson_and_guardrail_the_ones_seen_last_first(bench: MemoryBench) -> None:
    old = lesson("old", "Long ago " * 20, updated_at=NOW - 2 * DAY, uses=4, successes=3, tier="semantic")
    fill(bench.url, old, guardrail("g1", created_at=NOW - 3 * DAY, loaded_at=NOW - DAY), FIRST)
    rows = bench.tell("list").output.splitlines()
    assert ids(rows) == ["s1", "g1", "old"]
    assert rows[3].split()[1:5] == ["strategy", "semantic", "0.80", "3/4"]
    assert rows[3].endswith("Long ago…")
    assert rows[2].endswith("Read the file before you edit it")


@pytest.mark.feature("L1")
def test_a_list_is_narrowed_by_kind_by_type_of_work_and_by_whether_they_are_retired(bench: MemoryBench) -> None:
    gone = lesson("gone", "Old ways", retired="it failed", updated_at=NOW - DAY)
    anti = lesson("anti", kind=LessonKind.ANTIPATTERN, task_type=TaskType.DOCS, updated_at=NOW - 2 * DAY)
    fill(bench.url, FIRST, gone, anti, guardrail("g1", created_at=NOW - 3 * DAY))
    asked = {
        (): ["s1", "anti", "g1"],
        ("--retired",): ["s1", "gone", "anti", "g1"],
        ("--kind", "antipattern"): ["anti"],
        ("--kind", "guardrail"): ["g1"],
        ("--type", "feature"): ["s1"],
    }
    assert {asking: ids(bench.tell("list", *asking).output.splitlines()) for asking in asked} == asked
    assert "retired" in bench.tell("list", "--retired").output


def test_a_folder_selects_its_project_and_the_configured_store(bench: MemoryBench, project: str) -> None:
    fill(bench.url, FIRST, lesson("mine", project=project), guardrail("g1", project=project), guardrail("g2"))
    deep = bench.helmsman.repository / "deep"
    deep.mkdir()
    assert sorted(ids(bench.tell("list", "--project", deep).output.splitlines())) == ["g1", "mine"]
    assert len(ids(bench.tell("list").output.splitlines())) == 4
    elsewhere = f"sqlite:///{bench.helmsman.folder}/team.db"
    bench.helmsman.operator_sets(f'memory.url = "{elsewhere}"\n')
    fill(elsewhere, lesson("team", project=project))
    assert ids(bench.tell("list", "--project", deep).output.splitlines()) == ["team"]


@pytest.mark.feature("L4")
def test_a_search_puts_what_fits_best_first_with_its_score(bench: MemoryBench) -> None:
    fill(bench.url, FIRST, SECOND, lesson("m2", "Write migrations by hand", kind=LessonKind.CONVENTION))
    found = bench.plain("search", "migrations tests")["found"]
    assert [one["id"] for one in found] == ["s1", "m2"]
    assert 1 >= found[0]["score"] > found[1]["score"] > 0
    assert ids(bench.tell("search", "migrations", "--kind", "convention").output.splitlines()) == [f"{1:.2f}"]
    assert bench.tell("search", "zeppelin").output == "no lesson contains any of these words\n"
    assert bench.plain("search", "zeppelin")["found"] == []


# --- show ---------------------------------------------------------------------------------------------------------


@pytest.mark.feature("L3")
def test_a_lesson_is_shown_with_everything_that_speaks_for_it(bench: MemoryBench) -> None:
    counts: dict[str, Any] = {"observed": 3, "uses": 4, "successes": 3, "sources": ("u1", "gone"), "tests": ("test_pay",)}
    one = lesson("s1", detail="red, then green", failure=FailureClass.TEST, used_at=NOW + DAY, tier="semantic", **counts)
    fill(bench.url, one, episode(1, uid="u1"))
    shown = bench.tell("show", "s1").output
    words = ("Run the migrations", "red, then green", "semantic", "0.8", "observed         3", "uses             4",
             "successes        3", "test_pay", "pay (u1)", "gone", "2026-11-22T10:00:00", "2026-11-23", "shop")  # fmt: skip
    assert not [word for word in words if word not in shown]
    found = bench.plain("show", "s1")
    assert Lesson.model_validate_json(json.dumps(found["lesson"])) == one
    assert found["loops"] == {"u1": "pay", "gone": ""}


@pytest.mark.feature("L5")
def test_a_guardrail_is_shown_with_its_effect(bench: MemoryBench, project: str) -> None:
    mine = TESTED.model_copy(update={"project": project, "origin": "loop pay, iterations 1 to 3"})
    fill(bench.url, mine)
    shown = bench.tell("show", "g1", "--repo", bench.helmsman.repository).output
    words = ("Before editing", mine.instruction, effect_text(mine), "loop pay, iterations 1 to 3", project)
    assert not [word for word in words if word not in shown]
    assert bench.plain("show", "g1")["effect"] == effect_text(mine)


@pytest.mark.parametrize("command", ["show", "forget"])
def test_an_unknown_id_is_refused_with_what_shows_the_known_ones(command: str, bench: MemoryBench) -> None:
    told = bench.tell(command, EVIL, "--json", code=2)
    assert set(read_object(told.output)) == RESULT_KEYS
    assert not [word for word in ("operator error", "no lesson or guardrail", "helmsman memory list") if word not in told.errors]
    assert not {character for character in told.errors if not character.isprintable()} - {"\n"}


# --- forget -------------------------------------------------------------------------------------------------------


def test_forget_deletes_exactly_one_entry(bench: MemoryBench) -> None:
    fill(bench.url, FIRST, SECOND, TESTED)
    told = bench.tell("forget", "s1")
    assert told.output == f"deleted: lesson s1: {FIRST.text}\n"
    assert "daily backups" in told.errors
    assert bench.plain("forget", "g1", "--yes")["guardrail"]["id"] == "g1"
    assert ids(bench.tell("list", "--retired").output.splitlines()) == ["a1"]
    assert bench.plain("search", "migrations")["found"] == []


def test_forget_asks_in_a_terminal(bench: MemoryBench) -> None:
    fill(bench.url, FIRST)
    declined = bench.helmsman.run_in_terminal("memory", "forget", "s1", typed="\n")
    assert declined.exit_code == 2
    assert not [word for word in (FIRST.text, "[y/N]", "nothing was deleted") if word not in declined.output]
    assert bench.plain("show", "s1")["lesson"]["id"] == "s1"
    assert bench.helmsman.run_in_terminal("memory", "forget", "s1", typed="y\n").exit_code == 0
    bench.tell("show", "s1", code=2)


@pytest.mark.feature("L5")
def test_a_forgotten_guardrail_leaves_the_file_and_what_a_person_wrote_there_meanwhile_counts(
    bench: MemoryBench, project: str
) -> None:
    repository = open_repository(bench.helmsman.repository)
    other = guardrail("g2", project=project, instruction="Ask before you delete")
    fill(bench.url, TESTED.model_copy(update={"project": project}), other)
    with open_store(bench.url, NOW) as store:
        write_guardrails(repository, store, project, NOW)
    file = guardrails_path(repository)
    file.write_text(
        file.read_text().replace("Ask before you delete", "Ask me before you delete").replace("Read the file", "Read it")
    )
    bench.tell("forget", "g1", "--repo", repository.top)
    assert not [word for word in ("Before editing", "Read", "known no more") if word in file.read_text()]
    assert bench.plain("show", "g2")["guardrail"]["instruction"] == "Ask me before you delete"
    assert ids(bench.tell("list").output.splitlines()) == ["g2"]
    with open_store(bench.url, NOW) as store:
        write_guardrails(repository, store, project, NOW)
        assert [one.id for one in store.guardrails(project, retired=True)] == ["g2"]


# --- stats --------------------------------------------------------------------------------------------------------


@pytest.mark.feature("L5")
def test_stats_show_content_and_effects_of_guardrails(bench: MemoryBench, project: str) -> None:
    told_again = TESTED.model_copy(update={"loops": 3})
    episodes = [episode(number, FailureClass.TEST) for number in (1, 2)]
    fill(bench.url, FIRST)
    fill(bench.url, lesson("gone", retired="useless"), told_again, guardrail("g2", retired="useless"), *episodes, summary("u1"))
    at = ("--repo", bench.helmsman.repository)
    found = bench.plain("stats", *at)
    assert [found[name] for name in ("lessons", "retired", "guardrails", "episodes", "summaries")] == [2, 1, 2, 2, 1]
    assert found["place"] == str(bench.file)
    assert found["verdicts"] == {"effective": 1}
    file = guardrails_path(open_repository(bench.helmsman.repository))
    assert found["guardrails_file"] == str(file)
    shown = bench.tell("stats", *at).output
    words = (str(bench.file), effect_text(told_again), str(file), "memory.db.backup-2026-11-22")
    assert not [word for word in words if word not in shown], project
