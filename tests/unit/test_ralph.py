"""`.ralphrc` and the promise of a prompt: what is read of them as it is, and what is refused with its line."""

import pytest

from helmsman.parsers.goal_files import promises, read_rc

pytestmark = pytest.mark.feature("E11")

USUAL = """\
# .ralphrc - project configuration
PROJECT_NAME="${PROJECT_NAME:-my-project}"
export MAX_CALLS_PER_HOUR=50   # an hour
CLAUDE_TIMEOUT_MINUTES="${CLAUDE_TIMEOUT_MINUTES:-15}"
CLAUDE_OUTPUT_FORMAT="json"
ALLOWED_TOOLS="Write,Bash(git add *),
  Bash(npm run a,b)"
SESSION_CONTINUITY=true
CB_SAME_ERROR_THRESHOLD='4'
CB_OUTPUT_DECLINE_THRESHOLD=70
MAX_TOKENS_PER_HOUR=0
CLAUDE_CODE_CMD=claude
CLAUDE_MODEL=
MAX_CALLS_PER_HOUR=60"""


def test_the_usual_file_of_another_loop_is_read_as_it_is() -> None:
    lines, flaws = read_rc(USUAL)
    assert flaws == []
    assert [(one.line, one.name, one.values) for one in lines] == [
        (14, "MAX_CALLS_PER_HOUR", {"limits": {"calls_per_hour": 60}}),
        (4, "CLAUDE_TIMEOUT_MINUTES", {"claude": {"timeout_minutes": 15.0}}),
        (
            6,
            "ALLOWED_TOOLS",
            {"claude": {"allowed_tools": ["Write", "Bash(git add *)", "Bash(npm run a,b)"], "permission_mode": "dontAsk"}},
        ),
        (8, "SESSION_CONTINUITY", {"claude": {"session": "resume"}}),
    ]


@pytest.mark.parametrize(
    ("line", "cause", "remedy"),
    [
        ("MAX_CALLS_PER_HOUR=many", "MAX_CALLS_PER_HOUR: expected a whole number, found 'many'", "correct it"),
        ("SESSION_CONTINUITY=yes", "SESSION_CONTINUITY: expected true or false, found 'yes'", "correct it"),
        ('CLAUDE_CODE_CMD="npx claude"', "CLAUDE_CODE_CMD: expected one program without arguments, found", "correct"),
        ("CLAUDE_MODEL=$(cat model)", "only a shell knows the value of CLAUDE_MODEL", "write it out"),
        ('CLAUDE_MODEL="$MODEL"', "only a shell knows the value of CLAUDE_MODEL", "write it out"),
        ("MAX_CALL_PER_HOUR=1", "unknown key 'MAX_CALL_PER_HOUR'; did you mean MAX_CALLS_PER_HOUR", "take the line out"),
        ("MAX_TOKENS_PER_HOUR=9", "there is nothing like MAX_TOKENS_PER_HOUR here", "limits.tokens"),
        ("PROMPT_FILE=GO.md", "there is nothing like PROMPT_FILE here", "goal_file"),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_its_line_and_what_to_do(line: str, cause: str, remedy: str) -> None:
    lines, flaws = read_rc(f"\nCLAUDE_TIMEOUT_MINUTES=2\n{line}\nCLAUDE_AUTO_UPDATE=true\n")
    assert [one.name for one in lines] == ["CLAUDE_TIMEOUT_MINUTES"]
    assert [flaw.line for flaw in flaws] == [3]
    assert flaws[0].cause.startswith(cause)
    assert remedy in flaws[0].remedy


def test_each_promise_of_a_prompt_is_found_once_with_its_line() -> None:
    prompt = "# Work\nSay <promise>DONE</promise>, and only\nthen <promise>DONE</promise>, never <promise>NO</promise>.\n"
    assert promises(prompt) == [(2, "<promise>DONE</promise>"), (3, "<promise>NO</promise>")]
    assert promises("say <promise> when </promise\n") == []
