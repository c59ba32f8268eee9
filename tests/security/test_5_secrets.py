"""No secret, known by its value or by its shape, is stored, shown or sent."""

import json
import logging
import os
import shlex
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from deployments.show import report_page
from helmsman.errors import OperatorError
from helmsman.records.decision import Outcome
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from helmsman.records.triggers import IssueEvent
from tasks.engine.runs import flush
from tasks.loop.configure import configure
from tasks.repository.git import git, open_repository
from tasks.repository.state_ref import read_state
from tasks.system.paths import state_home
from tasks.system.secrets import redact, redacting_errors, register, without_secrets
from tasks.triggers.deliveries import Deliveries
from tests.fakes.collector import Collector, run_collector
from tests.fakes.command_line import offline_command_line
from tests.fakes.faults import Fault
from tests.fakes.judge_api import JudgeApi
from tests.fakes.judge_questions import answer, criterion, judge_turn
from tests.fakes.planted_secrets import KINDS, as_text, files, find_leaks, objects, plant_secrets
from tests.fakes.scripted_agent import PROMISE, Call, message_events, prompt_of, result, says, scripted_agent
from tests.flows.conftest import repository

__all__ = ["repository"]
pytestmark = pytest.mark.feature("X1")

SOLVE = "echo 42 > answer; git add answer; git commit -qm Answer"
RUBRIC = {"criteria": [{"id": "c1", "text": "It is done well."}], "way": "api"}


# --- shapes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_of_a_known_shape_is_replaced_wherever_it_stands(kind: str) -> None:
    (secret,) = [secret for secret in plant_secrets("a text") if secret.kind == kind]
    for around in ("{}", "see {}.", '"{}"', "a={}&b=1", "\x1b[32m{}\x1b[0m", "('{}',)", "x\n{}\ny"):
        told = redact(around.format(secret.text), {})
        assert not [needle for needle in secret.needles if needle in told]
        in_json = redact(json.dumps({"said": around.format(secret.text)}), {})
        assert json.loads(in_json)
        assert not [needle for needle in secret.needles if needle in in_json]


HONEST = {
    "a commit": "commit 5d41402abc4b2a76b9719d911017c5929cf23ab1\nMerge: 9a1b2c3 4d5e6f7",
    "a checksum": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  dist/app.whl",
    "a UUID": "run 123e4567-e89b-42d3-a456-426614174000 finished",
    "an image": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kg==",
    "a lock file": '"integrity": "sha512-q8Zx2LrXw7/Tb4VnYc8Hd3MfJp6Gs5QaEu1Wik9Rq8Zx2LrXw7/Tb4VnYc8Hd3MfJp6Gs5QaEu1Wik9R=="',
    "a pinned requirement": "--hash=sha256:772353c949a131b7b5efd2b20473e0128af9c25ea27cdb15a3a6a6727ca73c4e",
    "words with prefixes": "task-management-of-many-things npm_config_registry hf_token_name sk-loading-spinner-of-a-long-kind-",
    "the example of AWS": "AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "a form to fill in": "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx xoxb-your-token-here postgres://user:password@host/db",
    "a URL with a variable": "https://${USER}:${PASSWORD}@host/ and http://localhost:8080/a@b ssh://git@host:22/x.git",
    "code that looks for keys": 'if "-----BEGIN RSA PRIVATE KEY-----" in text: raise ValueError("-----END")',
    "a public key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0p2f3K0x5J8L1q9v7Zt3Yx6Wb4Nc2Md8Rf5Sg1Uh0 me@host",
    "a traceback": 'File "/srv/app/tests/test_a.py", line 12, in test_sum\n    assert 1 == 2, {"key": "value:with@signs"}',
}


def test_honest_output_is_left_as_it_is() -> None:
    assert {what: redact(text, {}) for what, text in HONEST.items()} == HONEST


@pytest.mark.parametrize("kind", ["GitHub", "Anthropic", "Google", "npm", "Slack", "JSON Web Token"])
def test_a_token_that_a_cut_has_halved_is_replaced_as_well(kind: str) -> None:
    (secret,) = [secret for secret in plant_secrets("a cut") if secret.kind == kind]
    half = secret.text[: len(secret.text) // 2]
    assert half[-8:] not in redact(f"it says {half}", {})
    assert half[-8:] not in redact(f"it says {half}…", {})


def test_a_private_key_of_which_either_end_was_cut_off_is_replaced_and_lines_keep_their_numbers() -> None:
    (key,) = [secret for secret in plant_secrets("a cut") if secret.kind == "private key"]
    lines = key.text.splitlines()
    for part in (lines[:4], lines[2:], lines):
        told = redact("\n".join(["before", *part, "after"]), {})
        assert not [line for line in key.needles if line in told]
        assert "before" in told
        assert told.splitlines()[-1].endswith("after")
    assert redact(f"{key.text}\nafter", {}).splitlines()[len(lines)] == "after"


# --- known values -------------------------------------------------------------------------------------------------


def test_a_password_in_the_url_of_any_variable_is_known_by_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAREHOUSE", "postgres://etl:orange-tractor@db.corp.internal/main")
    assert redact("connected as etl with orange-tractor") == "connected as etl with [WAREHOUSE]"


def test_what_a_block_holds_is_known_to_everything_that_this_process_stores() -> None:
    register({"JUDGE_KEY": "value-of-the-judge-block"})
    assert redact("it says value-of-the-judge-block.") == "it says [JUDGE_KEY]."


def test_a_word_that_is_a_password_changes_no_name_by_which_a_loop_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.unit.builders import state

    monkeypatch.setenv("DB_PASSWORD", "frontend")
    begun = state(loop="frontend-1", branch="helmsman/frontend-1", guidance=("the password is frontend",))
    told = without_secrets(begun)
    assert (told.loop, told.branch) == (begun.loop, begun.branch)
    assert told.guidance == ("the password is [DB_PASSWORD]",)


@pytest.mark.parametrize("kind", ["GitHub", "private key"])
def test_no_line_of_the_log_and_no_error_says_a_secret(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    (secret,) = [secret for secret in plant_secrets("the log") if secret.kind == kind]
    log = logging.getLogger("helmsman.test")
    with caplog.at_level(logging.INFO):
        log.info("it says %s", secret.text)
        with pytest.raises(OperatorError) as raised, redacting_errors():
            raise OperatorError("no", found=secret.text)
        log.error("it broke: %s", raised.value, exc_info=ValueError(secret.text))
        told = str(raised.value)
    said = "\n".join(logging.Formatter("%(message)s").format(record) for record in caplog.records)
    assert "it broke" in said
    assert not [needle for needle in secret.needles if needle in said + told]


# --- what an operator writes --------------------------------------------------------------------------------------


def test_a_goal_loses_its_secrets_before_a_loop_is_named_after_it(repository: Path) -> None:
    planted = plant_secrets("goal", lambda text: "\n" not in text)
    config = configure(repository, LoopRequest(repository=str(repository), goal=as_text(planted))).config
    assert find_leaks(planted, iter([("the goal", config.model_dump_json().encode())])) == []


def test_a_check_with_a_secret_is_refused_because_the_state_would_be_pushed_with_it(tmp_path: Path) -> None:
    token = plant_secrets("a check")[2].text
    command = offline_command_line(tmp_path)
    git(tmp_path, "init", "--quiet", "repository")
    git(command.repository, "commit", "--quiet", "--allow-empty", "--message", "start")
    refused = command.run(
        "run", "Do it", "--check", f"curl -H 'Authorization: {token}' http://x", "--yes", "--repo", command.repository
    )
    assert refused.exit_code == 2
    assert "a secret in checks" in refused.errors
    assert token not in refused.errors + refused.output


def test_an_issue_loses_its_secrets_before_it_is_kept_or_handed_to_the_engine(tmp_path: Path) -> None:
    planted = plant_secrets("issue comment")
    event = IssueEvent.model_validate(
        {
            "repository": "acme/site", "location": "/srv/site", "full_name": "acme/site", "branch": "main", "number": 1,
            "moment": "1", "by": "alice", "title": "A", "body": as_text(planted), "said": as_text(planted), "source": "gitea",
            "delivery": "delivery-1", "happened": "labelled", "received_at": datetime.now(UTC),
        }
    )  # fmt: skip
    (kept,) = Deliveries(tmp_path / "deliveries.sqlite").accept("delivery-1", [event], datetime.now(UTC))
    handed_on = [("the run's parameters", kept.model_dump_json().encode())]
    assert find_leaks(planted, iter([*handed_on, *files("deliveries", tmp_path)])) == []


# --- whole loops --------------------------------------------------------------------------------------------------


AGENT = "agent's words"
PASSED_BY = ("refs/helmsman/loop/state: blob", "beside the loop", "Prefect", "memory", "report.html", "prompt", "helmsman log")


class Loop:
    """A loop in a repository with a scripted agent, and all that it leaves behind."""

    def __init__(self, repository: Path, folder: Path, calls: list[Call], **settings: Any) -> None:
        self.repository, self.folder = repository, folder
        agent = scripted_agent(folder / "agent", calls)
        claude = {"binary": str(agent), "permission_mode": "acceptEdits"}
        self.settings = {"claude": claude, "steering": {"hooks": False}, "limits": {"iterations": 5}, **settings}

    def run(self, **more: Any) -> LoopState:
        from flows.loop import loop

        named = LoopRequest(repository=str(self.repository), loop="loop", goal="make it so", settings=self.settings)
        loop(LoopRequest.model_validate({**named.model_dump(), **more}), return_state=True)
        return read_state(open_repository(self.repository), "loop")[0]

    def surfaces(self) -> Iterator[tuple[str, bytes]]:
        """Everything but what the agent itself has: its session, its branch, and work that was kept of it on this machine.

        The clean checkout is no record either: it holds that work, and what the checks themselves wrote.
        """
        flush()
        yield from objects(self.repository, "refs/helmsman/loop/state")
        yield from files("beside the loop", self.repository / ".git" / "helmsman")
        yield from files("Prefect", Path(os.environ["PREFECT_HOME"]))
        yield from files("memory", state_home(), without="checkouts")
        yield "report.html", report_page(open_repository(self.repository), "loop").encode()
        for number, prompt in enumerate(sorted((self.folder / "agent").glob("*.prompt"))):
            yield f"prompt {number}", prompt.read_bytes()
        yield from self._shown()

    def _shown(self) -> Iterator[tuple[str, bytes]]:
        command = offline_command_line(self.folder)
        for name in ("status", "log", "explain"):
            for form in ([], ["--json"]):
                told = command.run(name, "loop", "--repo", self.repository, *form)
                yield " ".join(["helmsman", name, *form]), f"{told.output}{told.errors}".encode()


def at_collector(collector: Collector) -> Iterator[tuple[str, bytes]]:
    yield "telemetry", f"{collector.spans} {collector.points} {collector.resource}".encode()


def using_a_tool(secret: str) -> tuple[dict[str, Any], ...]:
    used = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": f"echo {secret}"}}
    message = {"id": "m", "model": "scripted", "content": [used], "usage": {"input_tokens": 10}}
    returned = {"type": "tool_result", "tool_use_id": "toolu_1", "content": secret, "is_error": True}
    return (
        {"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": "s"},
        {"type": "user", "message": {"content": [returned]}, "session_id": "s"},
    )


def printing(folder: Path, name: str, text: str) -> str:
    """A shell command that prints it from a file outside of the repository."""
    (folder / name).write_text(text + "\n")
    return f"cat {shlex.quote(str(folder / name))}"


def junit(text: str) -> str:
    from xml.sax.saxutils import escape, quoteattr

    line = text.replace("\n", " ")
    failure = f"<failure message={quoteattr(line)}>{escape(text)}</failure>"
    return f'<testsuite tests="1" failures="1"><testcase classname="t" name={quoteattr(line)}>{failure}</testcase></testsuite>'


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_twenty_kinds_of_secrets_in_eight_places_are_found_nowhere(
    engine_url: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failing line says the kind, the place where it was planted, and the place where it was found."""
    places = ("check output", AGENT, "tool output", "environment", "error", "judge's answer", "comment", "test report")
    planted = {place: plant_secrets(place) for place in places}
    for number, secret in enumerate(planted["environment"]):
        monkeypatch.setenv(f"PLANTED_{number}_TOKEN", secret.needles[0])
    known = " ".join(secret.needles[0] for secret in planted["environment"])
    check = f"{printing(tmp_path, 'check', as_text(planted['check output']))}; env | grep PLANTED_; {_encoded(tmp_path, known)}"
    report = f"{printing(tmp_path, 'junit', junit(as_text(planted['test report'])))} > report.xml"
    words = repository / ".git" / "helmsman" / "loops" / "loop" / "words"
    said = f"mkdir -p {words}; {printing(tmp_path, 'comment', as_text(planted['comment']))} > {words}/{1:020d}.txt"
    told = f"{as_text(planted[AGENT])}\nand {known}"
    calls = [
        Call(events=message_events("hm"), exit_code=137, shell=f"{printing(tmp_path, 'error', as_text(planted['error']))} >&2"),
        Call(
            shell=f"{said}; echo 1 > answer",
            events=(*using_a_tool(as_text(planted["tool output"])), *message_events(told), result(told)),
        ),
        says(f"{PROMISE}\n{told}", shell=SOLVE),
        says(PROMISE, shell="date +%N > more"),
    ]
    checks = [{"command": f'{check}; {report}; test "$(cat answer)" = 42', "report": "report.xml", "environment": ["PLANTED_*"]}]
    reason = as_text(planted["judge's answer"])
    verdict = judge_turn(answer(criterion("c1", met=False, reason=reason), principle=reason))
    with run_collector() as collector, JudgeApi([verdict, Fault(status=401, error_message=reason)]) as judge:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-test")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", judge.url)
        loop = Loop(repository, tmp_path, calls, checks=checks, judge=RUBRIC, retry={"attempts": 0})
        state = loop.run()
    assert state.iteration >= 2
    assert len(judge.requests) == 2
    asked = [
        (f"question {number} to the judge", json.dumps(request.body).encode()) for number, request in enumerate(judge.requests)
    ]
    everything = [*loop.surfaces(), *at_collector(collector), *asked]
    assert {"Prefect", "beside the loop", "memory"} <= {name.partition(":")[0] for name, _ in everything}
    assert find_leaks([secret for secrets in planted.values() for secret in secrets], iter(everything)) == []
    for where in PASSED_BY:  # they were on their way there
        assert any(name.startswith(where) and b"[Stripe Access Key]" in content for name, content in everything), where


def _encoded(folder: Path, text: str) -> str:
    (folder / "known").write_text(text)
    return f"base64 -w0 {folder / 'known'}; od -An -tx1 {folder / 'known'} | tr -d ' \\n'"


def in_message(folder: Path, secret: str) -> str:
    (folder / "message").write_text(f"Answer\n\n{secret}\n")
    return f"echo 41 > answer; git add answer; git commit -qF {folder / 'message'}"


def in_name(folder: Path, secret: str) -> str:
    return f"echo 41 > notes-{shlex.quote(secret)}.txt; git add .; git commit -qm Notes"


PLACES: dict[str, tuple[Callable[[Path, str], str], Callable[[str], bool]]] = {
    "commit message": (in_message, lambda _: True),
    "file name": (in_name, lambda text: not set("\n/ ") & set(text)),
}


@pytest.mark.slow
@pytest.mark.feature("S13")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("place", PLACES)
def test_a_secret_in_a_message_or_a_name_ends_the_loop_and_is_found_nowhere_but_in_the_work_that_was_kept(
    engine_url: str, repository: Path, tmp_path: Path, place: str
) -> None:
    write, fits = PLACES[place]
    planted = plant_secrets(place, fits)
    shell = (
        "\n".join(write(tmp_path, secret.text) for secret in planted)
        if place == "file name"
        else write(tmp_path, as_text(planted))
    )
    loop = Loop(repository, tmp_path, [says(shell=shell), says("Going on.")], checks=["false"], limits={"iterations": 2})
    state = loop.run()
    assert state.ending is not None
    assert (state.outcome, state.ending.rule) == (Outcome.EJECTED, "pain.secret"), state.ending
    assert git(repository, "log", "--format=%s", state.branch) == "start\n"
    assert loop.run(reopen=True).iteration == 2
    assert "secret" in prompt_of(tmp_path / "agent", 1)
    assert find_leaks(planted, loop.surfaces()) == []


def test_each_secret_in_a_message_or_a_name_is_reported_by_kind_and_place(tmp_path: Path) -> None:
    from helmsman.records.agent import Change
    from tasks.checks.scan import secrets_in
    from tests.fakes.repositories import commit, make_repository, sh

    top = make_repository(tmp_path / "top", {"app.py": "one\n"})
    start, (named, said) = sh(top, "rev-parse", "HEAD"), (plant_secrets("name")[2].text, plant_secrets("message")[2].text)
    end = commit(top, f"Answer {said}", {f"{named}.txt": "x\n"})
    found = secrets_in(top, Change(start=start, commit=end, tree="d" * 40)).leaks
    assert {(leak.path, leak.line) for leak in found} == {("[GitHub Token].txt", 0), (f"{end[:12]}:commit message", 1)}
