"""RUBRIC.md: what is read of it and of its front matter, and what is said of a flawed one."""

from pathlib import Path
from typing import Any

import pytest

from helmsman.parsers.rubric import MOST_ITEMS, MOST_PROBLEMS, find_conflicts, parse_front_matter, read_rubric

pytestmark = pytest.mark.feature("V1")


def checks(body: str) -> list[dict[str, Any]]:
    rubric = read_rubric(f"## Checks\n{body}")
    assert rubric.problems == ()
    return [check.config.model_dump(exclude_defaults=True) for check in rubric.checks]


def criteria(body: str) -> list[dict[str, Any]]:
    rubric = read_rubric(f"## Judge criteria\n{body}")
    assert rubric.problems == ()
    return [criterion.config.model_dump(exclude_defaults=True) for criterion in rubric.criteria]


def flaws(text: str, first_line: int = 1) -> list[tuple[int, str]]:
    return [(flaw.line, f"{flaw.cause}; {flaw.remedy}") for flaw in read_rubric(text, first_line).problems]


WHOLE = """\
# Rubric of the service

## Envisioning
A quiet service.

It fails loudly.

## Checks
# Dual role: fast gate and evidence.
- npm test
- **types**: `npx tsc --noEmit`

## Judge criteria
- Every function has one responsibility.
- [errors] Errors are handled explicitly,
  no empty catch blocks. (2 of 3 votes)

## Notes
- nobody reads this
"""


def test_a_whole_rubric_is_read() -> None:
    rubric = read_rubric(WHOLE)
    assert rubric.problems == ()
    assert rubric.envisioning == "A quiet service.\n\nIt fails loudly."
    assert [(check.line, check.config.title) for check in rubric.checks] == [(10, "npm test"), (11, "types")]
    assert [(criterion.line, criterion.config.id) for criterion in rubric.criteria] == [(14, "c1"), (15, "errors")]
    second = rubric.criteria[1].config
    assert second.text == "Errors are handled explicitly, no empty catch blocks."
    assert (second.needed, second.votes) == (2, 3)


# --- sections -----------------------------------------------------------------------------------------------------


def test_a_heading_is_recognized_in_any_decoration() -> None:
    for heading in ["## **checks**: ##", "##Checks", "  ## 2. Checks", "## ✅ Checks (all)"]:
        assert [check.config.command for check in read_rubric(f"{heading}\n- npm test").checks] == ["npm test"]


@pytest.mark.parametrize(
    ("heading", "meant"),
    [
        ("## Check", "Checks"),
        ("## Judge criterias", "Judge criteria"),
    ],
)
def test_a_heading_that_is_nearly_ours_is_a_flaw_with_a_suggestion(heading: str, meant: str) -> None:
    assert (1, f"unknown section {heading}; did you mean ## {meant}?") in flaws(f"{heading}\n- npm test\n## Checks\n- x")


@pytest.mark.parametrize("heading", ["## Notes", "## Criteria", "## Checklist", "## Goal", "## Out of scope", "## 3", "##"])
def test_an_unknown_section_is_left_alone(heading: str) -> None:
    assert [check.config.command for check in read_rubric(f"{heading}\n- a\n## Checks\n- b\n{heading}\n- c").checks] == ["b"]
    assert flaws(f"{heading}\n- a\n## Checks\n- b\n{heading}\n- c") == []


def test_a_heading_of_another_level_is_a_flaw() -> None:
    for heading in ["# Judge criteria", "### Judge criteria"]:
        told = flaws(f"## Checks\n- a\n\n## Notes\n{heading}\n- It works.")
        assert told == [(5, f"unknown section {heading}; did you mean ## Judge criteria?")]


def test_headings_in_code_are_no_headings() -> None:
    text = "## Envisioning\n```\n## Checks\n- a\n```\n~~~~\n```\n## Judge criteria\n~~~~\n## Checks\n- b"
    rubric = read_rubric(text)
    assert ([check.config.command for check in rubric.checks], rubric.criteria, rubric.problems) == (["b"], (), ())
    assert rubric.envisioning == "```\n## Checks\n- a\n```\n~~~~\n```\n## Judge criteria\n~~~~"


def test_a_check_may_have_a_box_to_tick() -> None:
    for item in ["- [ ] `npm test`", "- [x] npm test", "* [X] **All**: `npm test`"]:
        assert [check["command"] for check in checks(item)] == ["npm test"]


def test_comments_hide_what_is_in_them() -> None:
    assert [check["command"] for check in checks("<!-- - a -->\n- b\n<!--\n- c\n## Notes\n-->\n- d")] == ["b", "d"]
    assert read_rubric("## Envisioning\nSeen.\n<!-- hidden -->\n").envisioning == "Seen."


def test_a_document_without_our_headings_is_not_a_rubric() -> None:
    for text in ["", "\n\n", "# Grading\n\n## Criteria\n- clarity", "Checks\n- a", "```\n## Checks\n```"]:
        assert not read_rubric(text).ours
        assert "it has no section that Helmsman reads" in flaws(text)[0][1]


def test_a_document_with_one_of_our_headings_is_a_rubric() -> None:
    for text in ["## Checks", "x\n\n## judge_criteria\n", "## Envisioning", "## Check\n- a"]:
        assert read_rubric(text).ours


COMMANDS = [
    "npm test",
    "(cd web && npm test)",
    "make a; (make b)",
    "if true; then (make b)",
    "find . \\( -name a \\)",
    "echo `date`",
    "test \"$(git status --porcelain)\" = ''",
    "node -e \"const {v} = require('./v'); process.exit(v(null) === false ? 0 : 1)\"",
    "awk '{print (1)}'",
    "pytest -k 'a: b'",
]


# --- checks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", ["- {}", "* {}", "+   {}", "1. {}", "12) {}", "  - {}", "```\n{}\n```", "~~~sh\n# why\n\n$ {}\n~~~"]
)
def test_a_bare_command_is_kept_unchanged(form: str) -> None:
    assert [checks(form.format(command)) for command in COMMANDS] == [[{"command": command}] for command in COMMANDS]


def test_a_command_in_backticks_may_have_a_remark() -> None:
    for item in ["- ``npm test``", "- `npm test` \u2013 the units", "- `npm test`  # fast", "- `npm test`."]:
        assert checks(item) == [{"command": "npm test"}]


def test_a_label_before_a_command_is_its_name() -> None:
    for item in ["- Unit tests: `npm test`", "- **Unit tests:** `npm test`", "- **Unit tests**: `npm test`"]:
        assert checks(item) == [{"command": "npm test", "name": "Unit tests"}]


def test_a_command_may_go_on_in_the_next_line() -> None:
    assert checks("- npm test \\\n    --all")[0]["command"] == "npm test --all"
    assert [check["command"] for check in checks("```\ncargo test \\\n  --all\nmake\n```")] == ["cargo test --all", "make"]
    assert [check.line for check in read_rubric("## Checks\n```\na \\\n b\nc\nd \\\n```").checks] == [3, 5, 6]


@pytest.mark.parametrize(
    ("body", "line", "told"),
    [
        ("", 1, "## Checks has no command; list commands as"),
        ("- ", 2, "this item has no command"),
        ("- `npm test", 2, "the command has no closing backtick"),
        ("- `a` and `b`", 2, "the command is followed by more than a remark: and `b`"),
        ("- a\n- b\n- a", 4, "the name a is taken by line 2"),
        ("- a\n```\nb", 3, "this fence is never closed"),
        ("- a\n<!-- b", 3, "this comment is never closed"),
        ("- a\0b", 2, "there is a NUL character"),
    ],
)
def test_a_flaw_among_the_checks_names_line_cause_and_remedy(body: str, line: int, told: str) -> None:
    found = flaws(f"## Checks\n{body}")
    assert [place for place, said in found if told in said] == [line], found
    assert all(said.partition("; ")[2] for _, said in found)


def test_lines_count_from_the_top_of_the_file() -> None:
    told = "the name a is taken by line 5; rename one of them: - **OTHER**: `COMMAND`"
    assert flaws("## Checks\n- a\n- a", 4) == [(6, told)]


# --- criteria -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("- It works.", {"text": "It works.", "id": "c1"}),
        ("- [ ] [a.1] It works.", {"text": "It works.", "id": "a.1"}),
        ("- [a-1]: It works.", {"text": "It works.", "id": "a-1"}),
        ("- [RFC](x.md) is kept.", {"text": "[RFC](x.md) is kept.", "id": "c1"}),
        ("- It works (RFC 9457).", {"text": "It works (RFC 9457).", "id": "c1"}),
        ("- It works (see docs: errors)", {"text": "It works (see docs: errors)", "id": "c1"}),
        ("- It works (since 2024 (12)) (12)", {"text": "It works (since 2024 (12)) (12)", "id": "c1"}),
        ("- It works (2 of 3 votes)", {"text": "It works", "id": "c1", "needed": 2, "votes": 3}),
        ("- It works (2 of 3)", {"text": "It works", "id": "c1", "needed": 2, "votes": 3}),
        ("- It works (votes: 3)", {"text": "It works (votes: 3)", "id": "c1"}),
        ("- It works\n  well.", {"text": "It works well.", "id": "c1"}),
        (
            "- It works:\n  - here\n  - there (2 of 2 votes)",
            {"text": "It works:\n- here\n- there", "id": "c1", "needed": 2, "votes": 2},
        ),
        ("- As here:\n  ```\n  - {}\n  ```", {"text": "As here:\n  ```\n  - {}\n  ```", "id": "c1"}),
        ("- As here:\n```\n- {}\n```\nMore.", {"text": "As here:\n```\n- {}\n```", "id": "c1"}),
        ("- It works.\n\n  Always. (2 of 3)", {"text": "It works.\nAlways.", "id": "c1", "needed": 2, "votes": 3}),
    ],
)
def test_a_criterion_is_read(item: str, expected: dict[str, Any]) -> None:
    assert criteria(item) == [expected]


@pytest.mark.parametrize(
    ("body", "line", "told"),
    [
        ("", 1, "## Judge criteria has no criterion"),
        ("- ", 2, "criterion c1 has no text"),
        ("- [a b] c", 2, "an id consists of letters, digits and . _ -"),
        (f"- [{'a' * 61}] c", 2, "at most 60 characters"),
        (f"- {'a' * 4001}", 2, "a criterion has at most 4000 characters"),
        ("- a (0 of 3 votes)", 2, "(0 of 3 votes): expected K of N votes"),
        ("- a (5 of 10 votes)", 2, "N at most 9"),
        ("- [a] b\n- [a] c", 3, "the id a is taken by line 2"),
        ("- [c2] b\n- c", 3, "the id c2 is taken"),
    ],
)
def test_a_flaw_among_the_criteria_names_line_cause_and_remedy(body: str, line: int, told: str) -> None:
    found = flaws(f"## Judge criteria\n{body}")
    assert [place for place, said in found if told in said] == [line], found


def test_a_too_long_envisioning_is_a_problem() -> None:
    assert flaws(f"## Envisioning\n{'a' * 20_001}") == [
        (1, "## Envisioning has 20001 characters; keep it to 20000: the judge reads all of it")
    ]


def test_items_and_problems_are_bounded() -> None:
    rubric = read_rubric("## Checks\n" + "".join(f"- a{number}\n" for number in range(MOST_ITEMS + 5)))
    assert len(rubric.checks) == MOST_ITEMS
    assert [(flaw.line, flaw.cause) for flaw in rubric.problems] == [(MOST_ITEMS + 2, f"there are more than {MOST_ITEMS} items")]
    assert len(read_rubric("## Checks\n" + "- \n" * 100).problems) == MOST_PROBLEMS


def test_the_example_of_the_documentation_is_without_flaw() -> None:
    text = (Path(__file__).parents[2] / "docs" / "rubric.md").read_text(encoding="utf-8")
    example = text.partition("```markdown\n")[2].partition("\n```\n")[0]
    _, front, body = example.split("---\n", 2)
    rubric = read_rubric(body, front.count("\n") + 3)
    assert rubric.problems == ()
    assert [check.config.title for check in rubric.checks] == ["Unit tests", "lint", "types", "./scripts/smoke.sh"]
    assert [criterion.config.id for criterion in rubric.criteria] == ["api-errors", "c2", "c3"]


HOSTILE = [
    "`" * 100_000,
    "` " * 50_000,
    "- `a` (" * 20_000,
    "(" * 100_000,
    ")" * 100_000,
    "a (" + "[" * 1_900 + ")",
    f"- a ({'[' * 1_900})\n" * 100,
    '- "' * 50_000,
    "* _" * 50_000,
    "a:" + " " * 100_000,
    "".join("`" * length + "\n" for length in range(400, 2, -1)),
    "<!--\n" * 20_000,
    "a\n" * 50_000,
    "a\n- b\n  c\n" * 10_000,
    "## chek\n" * 10_000,
]


@pytest.mark.feature("X3")
@pytest.mark.parametrize("heading", ["## Checks\n- ", "## Judge criteria\n- "])
def test_hostile_text_is_parsed_in_bounded_time(heading: str) -> None:
    for text in HOSTILE:
        assert len(read_rubric(heading + text).problems) <= MOST_PROBLEMS


# Front matter of a rubric as configuration


def lines(said: dict[Any, Any]) -> list[str]:
    return ["---", *(f"{key}: {value}" for key, value in said.items()), "---"]


def test_short_keys_are_those_of_the_configuration() -> None:
    said = {"model": "opus", "hitl_threshold": 3, "force_max": True, "max_iterations": 9, "goal": "g"}
    said |= {"milestone_every": 4, "structured_memory": True}
    assert parse_front_matter(said, lines(said)) == (
        {
            "goal": "g",
            "judge": {"model": "opus", "rejections": 3},
            "completion": {"force_max": True},
            "limits": {"iterations": 9},
            "gates": {"milestone_every": 4},
            "memory": {"wiki": True},
        },
        [],
    )


def test_a_short_key_stands_beside_others_of_its_section() -> None:
    said = {"max_iterations": 9, "limits": {"tokens": 5}}
    assert parse_front_matter(said, lines(said)) == ({"limits": {"tokens": 5, "iterations": 9}}, [])


@pytest.mark.parametrize("key", ["base_branch", "autonomous", "title", "version"])
def test_keys_of_other_loops_are_ignored(key: str) -> None:
    assert parse_front_matter({key: 5}, []) == ({}, [])


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("hitl_treshold", "unknown key 'hitl_treshold'; did you mean hitl_threshold?"),
        ("tokens", "unknown key 'tokens'; did you mean limits.tokens"),
        ("limits.tokens", "write sections as nested tables"),
        ("nonsense", "unknown key 'nonsense'; correct or remove it"),
        (5, "unknown key '5'"),
    ],
)
def test_an_unknown_key_is_a_flaw_with_its_line(key: Any, told: str) -> None:
    values, (flaw,) = parse_front_matter({"goal": "g", key: 1}, ["---", "goal: g", f"{key}: 1"])
    assert values == {"goal": "g"}
    assert told in f"{flaw.cause}; {flaw.remedy}"
    assert flaw.line == 3


def test_a_key_in_short_and_in_full_is_a_flaw() -> None:
    said = {"model": "a", "judge": {"model": "b"}}
    _, (flaw,) = parse_front_matter(said, lines(said))
    assert (flaw.line, flaw.cause) == (2, "model and judge.model set the same value")


def test_what_stands_in_the_front_matter_and_in_a_section_is_a_flaw() -> None:
    assert [flaw.cause for flaw in find_conflicts({"checks": "a"}, {"checks": "b"}, [])] == [
        "checks are in both the front matter and ## Checks"
    ]
    assert list(find_conflicts({"checks": "a"}, {}, [])) == []
