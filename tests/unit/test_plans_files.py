"""Plans as people and other loops write them: read whole, ticked by one mark, and complained about by line."""

import json
from contextlib import suppress

import pytest

from helmsman.parsers.plan_files import parse_plan, read_plan, tick_items
from helmsman.parsers.plan_form import PlanError
from helmsman.parsers.plan_order import with_done
from helmsman.records.plan import LAST_RANK, Plan, PlanItem

pytestmark = pytest.mark.feature("M8")

TASKS = """\
# Tasks: search

```
- [ ] T999 an example in a fence
```

## Phase 1: Setup (Priority: P1)

- [ ] T001 Create the package
  - in src/search
  - check: `make build`
- [x] T002 [P] [US1] Index in src/index.py
- [ ] **T003** [P] Query (needs T001, T002) (check: `pytest -k query`)
- [ ] V4 [VERIFY] Full run: `make all`

## Low priority

- [ ] 1. Documents
- [ ] 1.1 Guide
- [ ]* 1.2 Reference
  - Done when: every option is in it
- [ ] retry 3 times
- [ ] Retry 3 times!
- [ ] Group
  - [ ] inner a
  - [x] inner b
"""
STORIES = """\
{
  "project": "shop",
  "userStories": [
    {"id": "US-001", "title": "Cart", "priority": 2, "passes": false, "notes": ""},
    {
      "id": "US-002",
      "title": "Pay",
      "acceptanceCriteria": ["a card is charged", "a receipt is sent"],
      "dependencies": ["US-001"],
      "unknown": {"kept": [1, 2.50]}
    }
  ]
}
"""
TABLES = '''\
# by hand
[[item]] # one
id = "a"
title = """Two
[[item]] lines"""
needs = [
  "b", # comment
]

  [[item]]
  title = 'The second'
  id = "b"
  priority = 1
  done = false  # not yet
'''
FILES = {"tasks.md": TASKS, "prd.json": STORIES, "plan.toml": TABLES}


def plan_of(path: str, text: str | None = None) -> Plan:
    return read_plan(path, (FILES[path] if text is None else text).encode())


def item(path: str, name: str) -> PlanItem:
    found = plan_of(path).item(name)
    assert found is not None
    return found


def test_checkboxes_are_read_with_ids_markers_commands_and_ranks() -> None:
    plan = plan_of("tasks.md")
    assert [one.id for one in plan.items] == [
        "T001", "T002", "T003", "V4", "1.1", "1.2", "retry-3-times-3b2246", "retry-3-times-90368a", "inner-a", "inner-b",
    ]  # fmt: skip
    assert [one.id for one in plan.items if one.done] == ["T002", "inner-b"]
    assert [one.id for one in plan.items if one.parallel] == ["T002", "T003"]
    assert (item("tasks.md", "T001").check, item("tasks.md", "T001").details) == ("make build", "in src/search")
    third = item("tasks.md", "T003")
    assert (third.title, third.needs, third.check) == ("Query", ("T001", "T002"), "pytest -k query")
    assert (item("tasks.md", "V4").verify, item("tasks.md", "V4").check) == (True, "make all")
    assert {one.priority for one in plan.items} == {1, 3}
    assert item("tasks.md", "1.2").acceptance == ("every option is in it",)
    assert item("tasks.md", "inner-a").details == "Part of: Group"


def test_stories_are_read_with_what_other_loops_write() -> None:
    second = item("prd.json", "US-002")
    assert second.acceptance == ("a card is charged", "a receipt is sent")
    assert (second.needs, second.priority, second.done) == (("US-001",), LAST_RANK, False)
    bare = parse_plan("json", '[{"description": "A thing", "steps": ["try it"], "passes": true}]').items[0]
    assert (bare.id, bare.title, bare.acceptance, bare.done) == ("a-thing", "A thing", ("try it",), True)
    numbered = parse_plan("json", '{"tasks": [{"id": 1, "title": "x"}, {"id": 2, "title": "y", "dependsOn": [1]}]}')
    assert [one.needs for one in numbered.items] == [(), ("1",)]
    assert parse_plan("json", '[{"title": "x", "priority": "High"}]').items[0].priority == 1
    told = parse_plan("json", '[{"description": "A thing", "notes": "soon", "passes": null, "done": true}]').items[0]
    assert (told.title, told.details, told.done) == ("A thing", "soon", True)
    assert not parse_plan("json", '[{"title": "x", "passes": false, "done": true}]').items[0].done


def test_tables_are_read() -> None:
    first, second = plan_of("plan.toml").items
    assert (first.title, first.needs, first.line) == ("Two [[item]] lines", ("b",), 2)
    assert (second.id, second.priority, second.line) == ("b", 1, 10)


def test_a_tick_changes_one_mark_and_what_is_read_is_the_same_with_that_one_done() -> None:
    for path, text in FILES.items():
        for form in (text, text.replace("\n", "\r\n"), f"\ufeff{text}", text.rstrip("\n")):
            data = form.encode()
            before = read_plan(path, data)
            for one in before.left:
                after = tick_items(path, data, [one.id])
                assert items_of(read_plan(path, after)) == items_of(with_done(before, {one.id}))
                assert tick_items(path, after, [one.id]) == after
                assert path == "prd.json" or changed_lines(data, after) <= 2
            whole = tick_items(path, data, [one.id for one in before.left])
            assert not read_plan(path, whole).left


def items_of(plan: Plan) -> list[PlanItem]:
    return [one.model_copy(update={"line": 0}) for one in plan.items]


def changed_lines(before: bytes, after: bytes) -> int:
    """Lines that are not among those of before: the mark, and a comma or the box above."""
    old, new = before.splitlines(), after.splitlines()
    return len([line for line in new if line not in old])


def test_a_box_above_others_is_ticked_with_the_last_of_them() -> None:
    data = TASKS.encode()
    once = tick_items("tasks.md", data, ["1.1"])
    assert b"- [ ] 1. Documents" in once
    assert b"- [x] 1. Documents" in tick_items("tasks.md", once, ["1.2"])
    assert b"- [x] Group" in tick_items("tasks.md", data, ["inner-a"])


def test_stories_are_written_in_their_order_and_indent_with_every_other_value_kept() -> None:
    after = tick_items("prd.json", STORIES.encode(), ["US-001", "US-002"]).decode()
    wanted = json.loads(STORIES.replace('"passes": false', '"passes": true'))
    wanted["userStories"][1]["passes"] = True
    assert after == f"{json.dumps(wanted, indent=2)}\n"
    assert tick_items("prd.json", after.encode(), ["US-001"]).decode() == after
    for text in ('{"tasks": [{"title": "λ", "x": "\\ud800"}]}', '{"tasks": [{"title": "λ", "x": "é"}]}\r\n'):
        assert tick_items("prd.json", text.encode(), ["item"]).decode().endswith(text[text.index("}]}") :])


def test_tables_keep_comments_and_get_their_mark_in_their_own_indent() -> None:
    assert tick_items("plan.toml", TABLES.encode(), ["a", "b"]).decode() == TABLES.replace(
        "# comment\n]\n", "# comment\n]\ndone = true\n"
    ).replace("done = false  # not yet", "done = true  # not yet")


def test_an_invalid_plan_is_an_error_with_its_line() -> None:
    for path, text, complaint in [
        ("plan.toml", "[[item]]\nid = 1\ntitle = 'x'\n", "line 1: id: expected text, found 1"),
        (
            "prd.json",
            '[{"title": "x", "priority": "urgent"}]',
            "priority: expected a whole number or one of critical, high, medium, low, found 'urgent'",
        ),
        ("plan.toml", "[[item]]\ntitle = 'x'\nprioritie = 1\n", "line 1: unknown key 'prioritie'; did you mean priority?"),
        ("plan.toml", "[[items]]\ntitle = 'x'\n", "line 1: unknown key 'items'; did you mean item?"),
        ("plan.toml", "item = [{title = 'x'}]\n", "write each item as its own [[item]] table"),
        ("plan.toml", "[[item]]\ntitle = \n", "line 2: Invalid value"),
        ("plan.toml", "", "it contains no items"),
        ("prd.json", "{", "line 1: invalid JSON"),
        ("prd.json", '[{"title": "x", "passes": "yes"}]', "story 1: passes: expected true or false"),
        ("prd.json", '[{"title": "x", "verified": 1, "dependOn": [1]}]', "unknown key 'dependOn'; did you mean dependsOn?"),
        ("prd.json", '[{"id":"a","title":"x"},\n{"id":"a","title":"y"}]', "the id a appears twice"),
        ("tasks.md", "- [ ] T001 x\n- [ ] T001 y\n", "line 2: the id T001 appears twice"),
        ("tasks.md", "- [ ] T001 x (needs T0O2)\n- [ ] T002 y\n", "T001 needs T0O2, which is not an item; did you mean T002?"),
        ("tasks.md", "- [ ] T001 x (needs T002)\n- [ ] T002 y (depends on T001)\n", "dependency cycle"),
        ("tasks.md", "- [ ] Test\n- [ ] Test\n", "line 2: the title 'Test' appears twice; give each an id"),
        ("prd.json", '[{"title": "x"},\n{"title": "a \\ud800 b"}]', "story 2: title: expected text without null"),
        ("tasks.md", "- [ ] T001 x\n- [] T002 y\n", "line 2: expected a checkbox such as `- [ ] what` or `- [x] what`, found"),
        ("tasks.md", "- [ ] T001 x (check: `true`)\n  - [ ] a\n", "line 1: an item with sub-items cannot have a check or needs"),
        ("tasks.md", "- [ ] T001 x\n- [ ] G1 x (needs T001)\n  - [ ] a\n", "line 2: an item with sub-items cannot have a check"),
        ("tasks.md", "- [ ] G1 x\n  - [ ] T001 a\n- [ ] T002 x (needs G1)\n", "line 3: T002 needs G1, which is not an item"),
        ("tasks.md", "- [ ] T001 x (check: `a` and `b`)\n", "line 1: its check cannot be parsed"),
        ("tasks.md", "- [ ] T001 x\n```sh\n- [ ] T002 y\n", "line 2: the code block or comment that begins here is never closed"),
        ("plan.yaml", "", "expected a file that ends with"),
    ]:  # fmt: skip
        with pytest.raises(PlanError) as caught:
            read_plan(path, text.encode())
        assert complaint in str(caught.value)
        assert path in str(caught.value.about(path))


@pytest.mark.feature("X4")
def test_hostile_plans_are_parsed_in_bounded_time() -> None:
    cases = {
        "needs": ("tasks.md", "- [ ] Sort out (needs " + "aand" * 60 + "!"),
        "needs in a note": ("tasks.md", "- [ ] Sort out\n  needs: " + "aand" * 60 + "!"),
        "verify": ("tasks.md", "- [ ] " + "[VERIFY]:" * 150_000),
        "stories": ("prd.json", "[" + "{},\n" * 350_000 + "{}]"),
    }
    for path, text in cases.values():
        with suppress(PlanError):
            read_plan(path, text.encode())


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tasks.md", "- [ ] x (check: `{command}`)"),
        ("plan.toml", "[[item]]\ntitle = 'x'\ncheck = '{command}'"),
        ("prd.json", '[{"title": "x", "check": "{command}"}]'),
    ],
)
def test_a_check_is_never_truncated(path: str, text: str) -> None:
    longest = "make " + "x" * 1995
    assert read_plan(path, text.replace("{command}", longest).encode()).items[0].check == longest
    with pytest.raises(PlanError, match="check: expected at most 2000 characters"):
        read_plan(path, text.replace("{command}", f"{longest}x").encode())


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("\ufeff- [ ] T001 a\n  - [ ] T002 b\n- [ ] T003 c\n", ["T002", "T003"]),
        ("- [ ] T001 a\n  ```make build```\n- [ ] T002 b\n", ["T001", "T002"]),
        ("<!--\n- [ ] T009 how to\n-->\n<!-- one line -->\n> - [ ] T008 how to\n\n- [ ] T001 a\n", ["T001"]),
        ("- ```sh\n  - [ ] T009 how to\n  ```\n- [ ] T001 a\n", ["T001"]),
        ("- [x](link) and [ ][ref]\n- [ ] T001 a\n", ["T001"]),
        ("- [x] T001 a (check: `true`)\n  - [x] T002 b\n- [ ] T003 c\n", ["T002", "T003"]),
    ],
)
def test_items_in_code_and_comments_are_ignored(text: str, ids: list[str]) -> None:
    plan = read_plan("tasks.md", text.encode())
    assert [one.id for one in plan.items] == ids
    after = tick_items("tasks.md", text.encode(), ids)
    assert not read_plan("tasks.md", after).left
    assert len(after) == len(text.encode())


def test_a_derived_id_does_not_depend_on_other_items() -> None:
    text = "## Parser\n- [ ] Write tests\n## Printer\n- [ ] Write tests\n"
    more = f"## Lexer\n- [ ] Write tests\n{text}"
    assert [one.id for one in parse_plan("markdown", text).items] == ["parser-write-tests", "printer-write-tests"]
    assert [one.id for one in parse_plan("markdown", more).items][1:] == ["parser-write-tests", "printer-write-tests"]
    first = "- [ ] Implement the endpoint that returns the users\n"
    both = f"- [ ] Implement the endpoint that returns the orders\n{first}"
    before = parse_plan("markdown", f"{both}- [ ] Implement the endpoint that returns the bills\n").items[1]
    assert parse_plan("markdown", both).items[1].id == before.id
