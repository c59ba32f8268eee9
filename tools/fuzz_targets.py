"""Every parser of foreign text as a function of bytes: the table of fuzzing and of tests/unit/test_corpus.py.

A target takes any bytes and returns. It may raise only OperatorError, which tells a person what to fix; the targets handle that
themselves. If the parsed value can be written again, parsing the result gives the same value.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import TemplateSyntaxError

from deployments.group import read_links
from helmsman.config import LoopConfig
from helmsman.config.layers import from_assignments, from_environment
from helmsman.errors import OperatorError
from helmsman.memory.agents_md import add_lines
from helmsman.memory.guardrails_page import read as read_guardrails
from helmsman.memory.guardrails_page import render as render_guardrails
from helmsman.memory.wiki import INDEX, update_page
from helmsman.orient.alignment import read_proposal
from helmsman.orient.research import read as read_research
from helmsman.orient.written import read_compacted, read_focus
from helmsman.oversee.best import Candidate, read_choice
from helmsman.oversee.imperatives import read_imperatives
from helmsman.parsers import progress_file as progress
from helmsman.parsers.agent_actions import detail_of, parse_event
from helmsman.parsers.agent_dialects import reader_of
from helmsman.parsers.alignment_file import read as read_alignment
from helmsman.parsers.alignment_file import render as render_alignment
from helmsman.parsers.claude_stream import ClaudeReader, is_model_message, tool_calls, tool_results
from helmsman.parsers.definitions import read_hat, read_kind, read_sheet
from helmsman.parsers.failure_words import MESSAGE, WHERE
from helmsman.parsers.failures import failed_by_output, failure_of, list_failures
from helmsman.parsers.issues import parse_command, read_mark
from helmsman.parsers.plan_files import read_plan, tick_items
from helmsman.parsers.plan_form import PlanError
from helmsman.parsers.plan_order import with_done
from helmsman.parsers.project import read_table
from helmsman.parsers.pushes import filter_updates, read_allowed, read_forge, read_hook
from helmsman.parsers.rubric import read_rubric, settings
from helmsman.parsers.security_scan import read_scan
from helmsman.parsers.shell import commands
from helmsman.parsers.source import Source, is_test_file
from helmsman.parsers.test_report import read_junit, read_summary
from helmsman.plain import clean, clean_lines, short_line
from helmsman.prompts.message import check_template
from helmsman.records.agent import AgentCall, ErrorVector
from helmsman.records.agents import TELLS, AgentKind, Format
from helmsman.records.alignment import Alignment
from helmsman.records.base import Reply
from helmsman.records.claims import Claims
from helmsman.records.forms import LONGEST_SETTINGS
from helmsman.records.iteration import IterationRecord
from helmsman.records.plan import Plan, PlanItem
from helmsman.verify.claims import read_claims
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.hints import Change, hints
from helmsman.verify.judge.votes import UnreadableError, read_vote
from helmsman.verify.touched import classify_changes, settings_of
from helmsman.verify.variety import counts_of
from tasks.loop.configure import read_file, read_layers
from tasks.memory.exchange import read as read_exported
from tasks.observers.follow import last_entries
from tasks.repository.state_ref import parse_state
from tasks.system.secrets import redact

ROOT = Path(__file__).parents[1]
FOLDER = Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # noqa: S108 - a place that costs no disk; each run has its own
AGREED = Alignment(goal="a goal")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = {"API_TOKEN": "s3cr3t-value-xyz"}
SOURCES = (
    ".py", ".js", ".go", ".rs", ".json", ".toml", ".yml", ".cfg", ".rb", ".java", "Makefile", ".sh", ".ts", ".cs", ".kt", ".php",
    ".cpp", ".exs",
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """One parser."""

    read: Callable[[bytes], object]
    seeds: tuple[str, ...] = ()
    """Globs relative to the repository: files that people or programs wrote."""
    words: tuple[bytes, ...] = ()
    """Seed inputs where no file is one."""
    longest: int = 4096
    """Maximum bytes of an input."""


def text(data: bytes) -> str:
    """Decode like our own readers, which refuse nothing."""
    return data.decode("utf-8", "replace")


# --- output of agents, runners and models ---------------------------------------------------------------------------


def _stream(data: bytes) -> None:
    reader = ClaudeReader()
    for line in data.split(b"\n"):
        event = parse_event(line)
        if event is None:
            continue
        reader.feed(event)
        is_model_message(event)
        for called in tool_calls(event):
            detail_of(called.arguments)
        tool_results(event)
    _whole(reader.conclude(exit_code=1, ended_by="itself", stderr=text(data[:500]), seconds=1, now=NOW))


def _template(data: bytes) -> None:
    with suppress(TemplateSyntaxError):
        check_template(text(data))


def _dialect(output: Format, data: bytes) -> None:
    reader = reader_of(AgentKind(name="it", title="It", command=("it",), output=output))
    for line in data.split(b"\n"):
        reader.feed(line)
    _whole(reader.conclude(exit_code=0, ended_by="itself", stderr="", seconds=1))


def _whole(call: AgentCall) -> None:
    """It stays the same when it is written to disk and read again."""
    assert AgentCall.model_validate_json(call.model_dump_json()) == call


def _junit(data: bytes) -> None:
    report = read_junit(text(data))
    assert (report.counts is None) <= (not report.ran)


def _failure(data: bytes) -> None:
    command, _, output = text(data).partition("\0")
    found = failure_of("Bash", command, output)
    assert ErrorVector.model_validate_json(found.model_dump_json()) == found
    assert (len(found.where) <= WHERE, len(found.message) <= MESSAGE) == (True, True)
    assert max(len(said.splitlines()) for said in (found.where, found.message)) <= 1
    failed_by_output(command, output)
    list_failures(output, command)


def _claims(data: bytes) -> None:
    for only_at_end in (False, True):
        found = read_claims(text(data), "DONE-IS-DONE", only_at_end=only_at_end)
        assert Claims.model_validate_json(found.model_dump_json()) == found
        assert not found.wants_to_finish or found.how in {"DONE-IS-DONE", "EXIT_SIGNAL"}


def _vote(data: bytes) -> None:
    with suppress(UnreadableError):
        read_vote(Reply(text=text(data), stop="end_turn"), ("C1", "C2"))


# --- files of the repository ----------------------------------------------------------------------------------------


def _plan(name: str, data: bytes) -> None:
    try:
        plan = read_plan(name, data)
        first = plan.items[0]
        after = tick_items(name, data, [first.id])
        assert _unplaced(read_plan(name, after)) == _unplaced(with_done(plan, {first.id}))
        assert tick_items(name, after, [first.id]) == after
        assert after != data or first.done
    except PlanError:
        return


def _unplaced(plan: Plan) -> list[PlanItem]:
    return [item.model_copy(update={"line": 0}) for item in plan.items]


def _alignment(data: bytes) -> None:
    found = read_alignment(text(data))
    if isinstance(found, Alignment):
        again = read_alignment(render_alignment(found))
        assert again == found, (again, found)


def _progress(data: bytes) -> None:
    kept = progress.read(text(data))
    assert progress.read(progress.render(kept)) == kept.model_copy(update={"problems": ()})
    assert max(map(len, kept.notes.split("\n"))) <= progress.KEPT_CHARACTERS
    assert max(len(kept.completed), len(kept.decisions), len(kept.uncertainties)) <= progress.KEPT_ENTRIES


def _guardrails(data: bytes) -> None:
    edits = read_guardrails(text(data), (), "project", NOW)
    standing = edits.guardrails
    if not edits.broken:
        again = read_guardrails(render_guardrails(standing), standing, "project", NOW)
        assert [one.id for one in again.guardrails] == [one.id for one in standing]


def _wiki(data: bytes) -> None:
    page = update_page(INDEX, "ours", text(data))
    assert update_page(INDEX, "ours", page) == page


def _on_disk(read: Callable[[Path], object], name: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        with suppress(OperatorError):
            read(path)


def _rubric(data: bytes) -> None:
    said = text(data)
    rubric = read_rubric(said)
    lines = [flaw.line for flaw in rubric.problems]
    assert lines == sorted(lines)
    assert all(1 <= line <= said.count("\n") + 1 for line in lines)
    if not lines:
        config = LoopConfig.model_validate({"goal": "g", **settings(rubric)}, strict=True)
        assert len(config.checks) == len(rubric.checks)


def _layers(name: str, data: bytes) -> None:
    _on_disk(lambda path: read_layers(path.parent), name, data)


def _read_links(path: Path) -> None:
    with suppress(OperatorError):
        read_links(path, "chain", "write one")


def _source(data: bytes) -> None:
    kind, said = SOURCES[data[0] % len(SOURCES) if data else 0], text(data[1:])
    name = f"src/test_it{kind}" if data[:1] > b"\x80" else f"src/it{kind}"
    counts_of(name, said)
    is_test_file(name, said)
    source = Source(name, said)
    for places in (source.tests, source.skips, source.suppressions, source.doubles, source.places("literal")):
        assert all(1 <= one.line <= said.count("\n") + 1 for one in places)
    settings_of(name, said)
    read_table("package.json", said)
    read_table("pyproject.toml", said)


def _change(data: bytes) -> None:
    kind = SOURCES[data[0] % len(SOURCES) if data else 0]
    before, _, after = text(data[1:]).partition("\0")
    files = (FileDiff(f"tests/test_it{kind}", before, after), FileDiff(f"src/it{kind}", after, before))
    sides = {file.path: (file.before or "", file.after or "") for file in files}
    kinds = classify_changes(
        sides, [before[:100]], lambda path: sides.get(path, ("", ""))[0], lambda path: sides.get(path, ("", ""))[1]
    )
    hints(Change(TreeDiff(files), kinds))


def _shell(data: bytes) -> None:
    commands(text(data), "/tree")


def _orders(data: bytes) -> None:
    list(read_imperatives("CLAUDE.md", text(data)))


def _agents_md(data: bytes) -> None:
    assert "a line that was learnt" in add_lines(text(data), ("a line that was learnt",))


# --- other input -----------------------------------------------------------------------------------------------------


def _webhook(read: Callable[[bytes], Any], data: bytes) -> None:
    facts = {"repository": "a/b", "location": "/srv/b", "source": "git", "delivery": "12345678", "received_at": NOW}
    with suppress(ValueError):
        filter_updates(read(data).updates, ("**", "ma*n"), facts)


def _allowed(data: bytes) -> None:
    table = read_table("a.toml", text(data))
    with suppress(OperatorError):
        read_allowed(table or {}, "repositories.toml")


def _comment(data: bytes) -> None:
    parse_command(text(data))
    read_mark(text(data))


def _assignments(data: bytes) -> None:
    data = data[:LONGEST_SETTINGS]
    with suppress(OperatorError):
        from_assignments(text(data).split("\n"))
    with suppress(OperatorError):
        from_environment({f"HELMSMAN_{pair.partition('=')[0]}": pair.partition("=")[2] for pair in text(data).split("\n")})


def _config(data: bytes) -> None:
    with suppress(ValueError):
        found = LoopConfig.model_validate_json(data)
        assert LoopConfig.model_validate_json(found.model_dump_json()) == found


def _state(data: bytes) -> None:
    with suppress(OperatorError):
        found = parse_state(text(data), "it")
        assert parse_state(found.model_dump_json(), "it") == found


def _record(data: bytes) -> None:
    with suppress(ValueError):
        found = IterationRecord.model_validate_json(data)
        assert IterationRecord.model_validate_json(found.model_dump_json()) == found


def _shown(data: bytes) -> None:
    said = text(data)
    for shown in (clean(said), clean_lines(said), short_line(said)):
        assert not any(ord(sign) < ord(" ") and sign != "\n" for sign in shown)
    assert SECRET["API_TOKEN"] not in redact(f"{said}{SECRET['API_TOKEN']}{said}", SECRET)


def _refusing(read: Callable[[str, str], object]) -> Callable[[bytes], None]:
    def target(data: bytes) -> None:
        with suppress(OperatorError):
            read(text(data), "it")

    return target


def _plainly(read: Callable[[str], object]) -> Callable[[bytes], None]:
    return lambda data: (read(text(data)), None)[1]


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


_STARTS: Mapping[Format, str] = {name: f"tests/recordings/agents/{name}/*" for name in TELLS}

TARGETS: Mapping[str, Target] = {
    "stream": Target(_stream, ("tests/recordings/claude/*.jsonl",), longest=16384),
    **{f"agent-{name}": Target(partial(_dialect, name), (_STARTS[name],)) for name in TELLS},
    "junit": Target(
        _junit,
        words=(b'<testsuite><testcase classname="a" name="b"><failure/></testcase></testsuite>', b"<testsuites/>"),
    ),
    "summary": Target(_plainly(read_summary), ("tests/recordings/summaries/*.txt",)),
    "failure": Target(
        _failure,
        ("tests/recordings/summaries/pytest_red*.txt",),
        (b"set -e; cd a && pytest -q | tail -5\0FAILED a.py::b - assert 1 == 2\n1 failed in 0.1s",),
    ),
    "claims": Target(_claims, words=(b"---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---", b"{}")),
    "vote": Target(_vote, words=(b'{"criteria":[{"id":"C1","reason":"a","verdict":"met","fix":"","need":[]}],"principle":""}',)),
    "proposal": Target(
        lambda data: read_proposal(Reply(text=text(data), stop="end_turn"), "a"), words=(b'{"specification":{},"process":{}}',)
    ),
    "template": Target(
        _template,
        words=(b'{% extends "iteration.md.j2" %}{% block rules %}{{ goal if iteration > 1 else branch }}{% endblock %}',),
    ),
    "focus": Target(_plainly(read_focus), words=(b'```json\n{"focus":"a","why":"b"}\n```',)),
    "compacted": Target(_plainly(read_compacted), words=(b'{"goal":"a","approach":"b","completed":[],"next":[]}',)),
    "choice": Target(lambda data: read_choice(text(data), [Candidate(loop="A")]), words=(b'{"best":"A","reason":"r"}',)),
    "scan": Target(
        lambda data: read_scan(text(data), "/tree"),
        words=(b'{"results":[{"code":"1 x"}]}', b'{"runs":[{"tool":{"driver":{"rules":[]}},"results":[{}]}]}'),
    ),
    "rubric": Target(
        _rubric, ("docs/rubric.md",), (b"## Checks\n- `a`\n## Judge criteria\n- [x] b (2 of 3 votes)\n<!-- c -->\n",)
    ),
    "rubric-layers": Target(partial(_layers, "RUBRIC.md"), ("docs/rubric.md",), (b"---\ngoal: a\n---\n# Checks\n- `make`\n",)),
    "helmsman-toml": Target(partial(_layers, "helmsman.toml"), words=(b'goal = "a"\nchecks = [{command = "make"}]\n',)),
    "pyproject": Target(partial(_layers, "pyproject.toml"), ("pyproject.toml",), (b'[tool.helmsman]\ngoal = "a"',)),
    "config-file": Target(partial(_on_disk, read_file, "any.toml"), words=(b'goal_file = "x"', b"[limits]\niterations = 3")),
    "config": Target(_config, words=(LoopConfig(goal="a").model_dump_json().encode(),), longest=16384),
    "plan-json": Target(
        partial(_plan, "prd.json"), words=(b'{"userStories":[{"id":"US-1","title":"a","priority":1,"passes":false}]}', b"[]")
    ),
    "plan-markdown": Target(partial(_plan, "fix_plan.md"), ("docs/plans.md",), (b"- [ ] T1 one\n  - [ ] [P] two (T1)\n",)),
    "plan-toml": Target(partial(_plan, "plan.toml"), words=(b'[[items]]\nid = "a"\ntitle = "b"\nneeds = []\ncheck = "make"\n',)),
    "alignment": Target(_alignment, ("docs/align.md",), (render_alignment(AGREED).encode(),)),
    "progress": Target(
        _progress,
        words=(b"# Progress\n\n## Completed\n- [x] a (90 %)\n\n## Confidence\n80\n", b"Next: first\n ## COMPLETED\nlast"),
    ),
    "research": Target(_plainly(read_research), words=(b"## STRENGTHS\n- a\n\n## APPROACH\nb\n\n## CONFIDENCE\n40\n",)),
    "guardrails": Target(_guardrails, words=(render_guardrails(()).encode(), b"# Guardrails\n\n- when a: do b\n")),
    "wiki-index": Target(_wiki, words=(b"# Index\n\n- [a](a.md): b\n",)),
    "source": Target(_source, ("tests/unit/test_group.py", "pyproject.toml", ".ci/run"), longest=8192),
    "change": Target(_change, ("tests/unit/test_*.py",), longest=8192),
    "shell": Target(_shell, (".ci/run",), (b"cd /x && rm -rf \"$HOME\"/* | tee <(cat <<'E'\nx\nE\n)",)),
    "orders": Target(_orders, ("CONTRIBUTING.md",)),
    "agents-md": Target(_agents_md, ("CONTRIBUTING.md",)),
    "hat": Target(_refusing(read_hat), ("tasks/hats/personas/*.md",)),
    "preset": Target(_refusing(read_sheet), ("tasks/hats/presets/*.md",)),
    "agent-file": Target(_refusing(read_kind), ("tasks/agents/presets/*",)),
    "loops": Target(partial(_on_disk, _read_links, "loops.toml"), words=(b'[[loops]]\ngoal = "a"\nchecks = ["make"]\n',)),
    "webhook-forge": Target(
        partial(_webhook, read_forge),
        words=(_json({"ref": "refs/heads/main", "before": "0" * 40, "after": "1" * 40, "repository": {"full_name": "a/b"}}),),
    ),
    "webhook-git": Target(partial(_webhook, read_hook), words=(b"a/b\n" + b"0" * 40 + b" " + b"1" * 40 + b" refs/heads/main\n",)),
    "repositories": Target(_allowed, words=(b'[repositories]\n"a/b" = "/srv/b"\n',)),
    "comment": Target(_comment, words=(b"/helmsman set limits.iterations=40\nwords", b"<!-- helmsman stage=a -->")),
    "assignments": Target(_assignments, words=(b'limits.iterations=40\nchecks=["make"]\nGOAL=a',)),
    "state": Target(_state, ("tests/fixtures/states/*.json",), longest=16384),
    "record": Target(_record, ("tests/fixtures/records/*.json",), longest=16384),
    "journal": Target(partial(_on_disk, last_entries, "journal.jsonl"), words=(b'2026-01-01 {"kind":"check_started"}\n',)),
    "memory": Target(partial(_on_disk, read_exported, "memory.json"), words=(b'{"format":"helmsman-memory","version":1}',)),
    "shown": Target(_shown, words=(b"a\x1b[31m\xe2\x80\xae|<b>`",)),
}


def seeds(target: Target) -> Iterator[bytes]:
    """Seed inputs of a target."""
    yield from target.words
    for pattern in target.seeds:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file():
                yield path.read_bytes()[: target.longest]


def corpus(name: str) -> list[Path]:
    """Earlier findings of a target."""
    folder = ROOT / "tests" / "corpus" / name
    return sorted(folder.iterdir()) if folder.is_dir() else []
