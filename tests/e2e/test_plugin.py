"""The plugin in the real editor's command line: what a person types there starts, shows, ends and resumes real loops."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deployments.demo_model import Request, Script, Turn, bash, call, say
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import show_state
from tasks.system.lock import holder
from tests.fakes.claude_cli import Session, bundled_cli
from tests.fakes.command_line import HELMSMAN, RESULT_KEYS, ScriptedCommandLine, read_object, scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import eventually
from tests.fakes.repositories import make_repository

ROOT = Path(__file__).parents[2]
ARGUMENTS = ("-p", "--output-format", "stream-json", "--verbose", "--setting-sources", "", "--plugin-dir", str(ROOT / "plugin"))
"""No permission flags: what a command does not grant is refused, as no person can be asked."""
FORM = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"<command-name>/helmsman:([a-z]+)</command-name>")


@dataclass(frozen=True)
class Editor:
    """Opened in the repository of a command line."""

    helmsman: ScriptedCommandLine

    def type(self, prompt: str) -> Session:
        """Run one session with this prompt."""
        environment = {**self.helmsman.variables, "PATH": f"{HELMSMAN.parent}{os.pathsep}{os.environ['PATH']}"}
        ended = subprocess.run(
            [bundled_cli(), *ARGUMENTS],
            input=prompt,
            cwd=self.helmsman.repository,
            env=environment,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        return Session(ended.returncode, [json.loads(line) for line in ended.stdout.splitlines()], ended.stderr)


def command_of(request: Request) -> str:
    """The plugin command typed in the session of a request; empty for other sessions."""
    found = COMMAND.search(request.prompt)
    return found[1] if found else ""


def form_of(request: Request) -> str:
    """The form that the command's prompt asks the model to fill in."""
    (form,) = FORM.findall(request.prompt)
    return str(form)


def tool_results(session: Session) -> list[tuple[bool, str]]:
    """For each tool call whether it failed, and its result."""
    contents: list[Any] = [part for event in session.of_type("user") for part in event["message"]["content"]]
    return [(bool(part.get("is_error")), str(part["content"])) for part in contents if part["type"] == "tool_result"]


pytestmark = [pytest.mark.timeout(400), pytest.mark.feature("A6")]

PATIENCE = 120
CHECK = "grep -q '4''2' answer"
GOAL = """The file `answer` says 42, and isn't empty.
$(touch stolen) `touch stolen`; touch stolen' " \\n !`touch stolen`"""
"""What a shell would make much of, wherever it met it outside of quotes."""
SHELL_QUOTED = CHECK.replace("'", "'\\''")


def script(folder: Path) -> Script:
    """In the editor the model fills in the form that it was told; in a loop it does the work as soon as nobody holds it."""

    def answer(request: Request) -> Turn:
        command = command_of(request)
        if request.turn:
            return say("That was it." if command else "Done.\n<promise>COMPLETE</promise>")
        if command:
            return call(*(bash(line, timeout=180_000) for line in lines(command, request)))
        wait = "from pathlib import Path; import time\nwhile Path('hold').exists(): time.sleep(0.1)"
        (folder / "wait.py").write_text(wait.replace("hold", str(folder / "hold")))
        return call(
            bash(f"touch {folder}/working; python3 {folder}/wait.py; echo 42 > answer; git add -A; git commit -qm Answer")
        )

    return answer


def lines(command: str, request: Request) -> list[str]:
    if command == "start":
        assert (
            f"<typed>\n{GOAL.replace('!`', chr(92) + '! `')} --check" in request.prompt
        )  # the CLI has taken the sting out of it
        form = form_of(request).replace("THE GOAL", GOAL).replace("COMMAND", SHELL_QUOTED)
        return [form.replace("--detach", "--detach --name 'loop'"), "helmsman cancel loop", "touch stolen"]
    if command == "resume":
        return [form_of(request).replace("LOOP", "loop"), "helmsman run --detach"]
    return {"status": ["helmsman list", "helmsman status 'loop'"], "cancel": ["helmsman cancel 'loop'"]}[command]


def state_of(helmsman: ScriptedCommandLine) -> LoopState:
    return show_state(open_repository(helmsman.repository), "loop").state


def is_driven(helmsman: ScriptedCommandLine) -> bool:
    return holder(loop_folder(open_repository(helmsman.repository), "loop").lock) is not None


@pytest.mark.slow
def test_a_loop_started_in_the_editor_outlives_the_session_and_its_goal_reaches_no_shell(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    make_repository(tmp_path / "repository", {})
    (tmp_path / "hold").touch()
    with scripted_command_line(tmp_path, prefect_server.url, script(tmp_path)) as helmsman:
        editor = Editor(helmsman)
        session = editor.type(f'/helmsman:start {GOAL} --check "{CHECK}"')
        started, *refused = tool_results(session)
        assert session.exit_code == 0, session.stderr
        assert not started[0], started
        assert "loop       loop\noutcome    ▶ under way" in started[1]
        assert [wrong for wrong, _ in refused] == [True, True]  # its grant is for starting loops alone
        assert eventually((tmp_path / "working").exists, PATIENCE)
        assert is_driven(helmsman)
        (tmp_path / "hold").unlink()
        assert eventually(lambda: state_of(helmsman).outcome is Outcome.COMPLETED, PATIENCE), state_of(helmsman)
        assert eventually(lambda: not is_driven(helmsman))
        shown = tool_results(editor.type("/helmsman:status"))
        assert not any(wrong for wrong, _ in shown), shown
        assert all("✔ completed" in words for _, words in shown), shown
    assert (state_of(helmsman).config.goal, state_of(helmsman).config.checks[0].command) == (GOAL, CHECK)
    assert not [path for path in tmp_path.rglob("stolen") if path.is_file()]


@pytest.mark.slow
def test_a_loop_started_from_a_terminal_that_closed_is_cancelled_and_resumed_in_the_editor(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    make_repository(tmp_path / "repository", {})
    (tmp_path / "hold").touch()
    with scripted_command_line(tmp_path, prefect_server.url, script(tmp_path), warm=False) as helmsman:
        editor = Editor(helmsman)
        begun = helmsman.run_loop("Write the answer", "--check", CHECK, "--detach", "--json")
        assert begun.exit_code == 0, begun.errors
        told = read_object(begun.output)
        assert set(told) == RESULT_KEYS | {"driver", "output"}
        assert (told["loop"], told["outcome"]) == ("loop", None)
        assert eventually((tmp_path / "working").exists, PATIENCE)
        cancelled = tool_results(editor.type("/helmsman:cancel loop"))
        assert "has stopped" in cancelled[0][1], cancelled
        assert (state_of(helmsman).outcome, is_driven(helmsman)) == (Outcome.CANCELLED, False)
        (tmp_path / "hold").unlink()
        resumed, refused = tool_results(editor.type("/helmsman:resume loop"))
        assert "▶ under way" in resumed[1], resumed
        assert refused[0]
        assert eventually(lambda: "✔ completed" in Path(told["output"]).read_text("utf-8"), PATIENCE), state_of(helmsman)
