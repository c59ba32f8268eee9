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
from helmsman.parsers.alignment_file import read as read_alignment
from helmsman.parsers.alignment_file import render as render_alignment
from helmsman.parsers.definitions import read_hat, read_kind, read_sheet
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
from helmsman.parsers.test_report import read_summary
from helmsman.plain import clean, clean_lines, short_line
from helmsman.records.agents import TELLS, Format
from helmsman.records.alignment import Alignment
from helmsman.records.base import Reply
from helmsman.records.forms import LONGEST_SETTINGS
from helmsman.records.iteration import IterationRecord
from helmsman.records.plan import Plan, PlanItem
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.hints import Change, hints
from helmsman.verify.touched import classify_changes, settings_of
from helmsman.verify.variety import counts_of
from tasks.loop.configure import read_file, read_layers
from tasks.memory.exchange import read as read_exported
from tasks.observers.follow import last_entries
from tasks.repository.state_ref import parse_state
from tasks.system.secrets import redact
from tools.fuzz_output import fuzz_claims, fuzz_dialect, fuzz_failure, fuzz_junit, fuzz_stream, fuzz_template, fuzz_vote, text

ROOT = Path(__file__).parents[1]
FOLDER = Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # noqa: S108 - a place that costs no disk; each run has its own
ALIGNMENT = Alignment(goal="a goal")
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
    examples: tuple[bytes, ...] = ()
    """Seed inputs where no file is one."""
    max_bytes: int = 4096
    """Maximum bytes of an input."""


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
    alignment = read_alignment(text(data))
    if isinstance(alignment, Alignment):
        reread = read_alignment(render_alignment(alignment))
        assert reread == alignment, (reread, alignment)


def _progress(data: bytes) -> None:
    kept = progress.read(text(data))
    assert progress.read(progress.render(kept)) == kept.model_copy(update={"problems": ()})
    assert max(map(len, kept.notes.split("\n"))) <= progress.KEPT_CHARACTERS
    assert max(len(kept.completed), len(kept.decisions), len(kept.uncertainties)) <= progress.KEPT_ENTRIES


def _guardrails(data: bytes) -> None:
    edits = read_guardrails(text(data), (), "project", NOW)
    guardrails = edits.guardrails
    if not edits.broken:
        reread = read_guardrails(render_guardrails(guardrails), guardrails, "project", NOW)
        assert [guardrail.id for guardrail in reread.guardrails] == [guardrail.id for guardrail in guardrails]


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
    kind, content = SOURCES[data[0] % len(SOURCES) if data else 0], text(data[1:])
    name = f"src/test_it{kind}" if data[:1] > b"\x80" else f"src/it{kind}"
    counts_of(name, content)
    is_test_file(name, content)
    source = Source(name, content)
    for places in (source.tests, source.skips, source.suppressions, source.doubles, source.places("literal")):
        assert all(1 <= one.line <= content.count("\n") + 1 for one in places)
    settings_of(name, content)
    read_table("package.json", content)
    read_table("pyproject.toml", content)


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


def _imperatives(data: bytes) -> None:
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
        config = LoopConfig.model_validate_json(data)
        assert LoopConfig.model_validate_json(config.model_dump_json()) == config


def _state(data: bytes) -> None:
    with suppress(OperatorError):
        state = parse_state(text(data), "it")
        assert parse_state(state.model_dump_json(), "it") == state


def _record(data: bytes) -> None:
    with suppress(ValueError):
        record = IterationRecord.model_validate_json(data)
        assert IterationRecord.model_validate_json(record.model_dump_json()) == record


def _printed_text(data: bytes) -> None:
    content = text(data)
    for printed in (clean(content), clean_lines(content), short_line(content)):
        assert not any(ord(character) < ord(" ") and character != "\n" for character in printed)
    assert SECRET["API_TOKEN"] not in redact(f"{content}{SECRET['API_TOKEN']}{content}", SECRET)


def _may_refuse(read: Callable[[str, str], object]) -> Callable[[bytes], None]:
    def target(data: bytes) -> None:
        with suppress(OperatorError):
            read(text(data), "it")

    return target


def _read_text(read: Callable[[str], object]) -> Callable[[bytes], None]:
    return lambda data: (read(text(data)), None)[1]


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


_AGENT_RECORDINGS: Mapping[Format, str] = {name: f"tests/recordings/agents/{name}/*" for name in TELLS}

TARGETS: Mapping[str, Target] = {
    "stream": Target(fuzz_stream, ("tests/recordings/claude/*.jsonl",), max_bytes=16384),
    **{f"agent-{name}": Target(partial(fuzz_dialect, name), (_AGENT_RECORDINGS[name],)) for name in TELLS},
    "junit": Target(
        fuzz_junit,
        examples=(b'<testsuite><testcase classname="a" name="b"><failure/></testcase></testsuite>', b"<testsuites/>"),
    ),
    "summary": Target(_read_text(read_summary), ("tests/recordings/summaries/*.txt",)),
    "failure": Target(
        fuzz_failure,
        ("tests/recordings/summaries/pytest_red*.txt",),
        (b"set -e; cd a && pytest -q | tail -5\0FAILED a.py::b - assert 1 == 2\n1 failed in 0.1s",),
    ),
    "claims": Target(
        fuzz_claims, examples=(b"---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---", b"{}")
    ),
    "vote": Target(
        fuzz_vote, examples=(b'{"criteria":[{"id":"C1","reason":"a","verdict":"met","fix":"","need":[]}],"principle":""}',)
    ),
    "proposal": Target(
        lambda data: read_proposal(Reply(text=text(data), stop="end_turn"), "a"), examples=(b'{"specification":{},"process":{}}',)
    ),
    "template": Target(
        fuzz_template,
        examples=(b'{% extends "iteration.md.j2" %}{% block rules %}{{ goal if iteration > 1 else branch }}{% endblock %}',),
    ),
    "focus": Target(_read_text(read_focus), examples=(b'```json\n{"focus":"a","why":"b"}\n```',)),
    "compacted": Target(_read_text(read_compacted), examples=(b'{"goal":"a","approach":"b","completed":[],"next":[]}',)),
    "choice": Target(lambda data: read_choice(text(data), [Candidate(loop="A")]), examples=(b'{"best":"A","reason":"r"}',)),
    "scan": Target(
        lambda data: read_scan(text(data), "/tree"),
        examples=(b'{"results":[{"code":"1 x"}]}', b'{"runs":[{"tool":{"driver":{"rules":[]}},"results":[{}]}]}'),
    ),
    "rubric": Target(
        _rubric, ("docs/rubric.md",), (b"## Checks\n- `a`\n## Judge criteria\n- [x] b (2 of 3 votes)\n<!-- c -->\n",)
    ),
    "rubric-layers": Target(partial(_layers, "RUBRIC.md"), ("docs/rubric.md",), (b"---\ngoal: a\n---\n# Checks\n- `make`\n",)),
    "helmsman-toml": Target(partial(_layers, "helmsman.toml"), examples=(b'goal = "a"\nchecks = [{command = "make"}]\n',)),
    "pyproject": Target(partial(_layers, "pyproject.toml"), ("pyproject.toml",), (b'[tool.helmsman]\ngoal = "a"',)),
    "config-file": Target(partial(_on_disk, read_file, "any.toml"), examples=(b'goal_file = "x"', b"[limits]\niterations = 3")),
    "config": Target(_config, examples=(LoopConfig(goal="a").model_dump_json().encode(),), max_bytes=16384),
    "plan-json": Target(
        partial(_plan, "prd.json"), examples=(b'{"userStories":[{"id":"US-1","title":"a","priority":1,"passes":false}]}', b"[]")
    ),
    "plan-markdown": Target(partial(_plan, "fix_plan.md"), ("docs/plans.md",), (b"- [ ] T1 one\n  - [ ] [P] two (T1)\n",)),
    "plan-toml": Target(
        partial(_plan, "plan.toml"), examples=(b'[[items]]\nid = "a"\ntitle = "b"\nneeds = []\ncheck = "make"\n',)
    ),
    "alignment": Target(_alignment, ("docs/align.md",), (render_alignment(ALIGNMENT).encode(),)),
    "progress": Target(
        _progress,
        examples=(b"# Progress\n\n## Completed\n- [x] a (90 %)\n\n## Confidence\n80\n", b"Next: first\n ## COMPLETED\nlast"),
    ),
    "research": Target(_read_text(read_research), examples=(b"## STRENGTHS\n- a\n\n## APPROACH\nb\n\n## CONFIDENCE\n40\n",)),
    "guardrails": Target(_guardrails, examples=(render_guardrails(()).encode(), b"# Guardrails\n\n- when a: do b\n")),
    "wiki-index": Target(_wiki, examples=(b"# Index\n\n- [a](a.md): b\n",)),
    "source": Target(_source, ("tests/unit/test_group.py", "pyproject.toml", ".ci/run"), max_bytes=8192),
    "change": Target(_change, ("tests/unit/test_*.py",), max_bytes=8192),
    "shell": Target(_shell, (".ci/run",), (b"cd /x && rm -rf \"$HOME\"/* | tee <(cat <<'E'\nx\nE\n)",)),
    "orders": Target(_imperatives, ("CONTRIBUTING.md",)),
    "agents-md": Target(_agents_md, ("CONTRIBUTING.md",)),
    "hat": Target(_may_refuse(read_hat), ("tasks/hats/personas/*.md",)),
    "preset": Target(_may_refuse(read_sheet), ("tasks/hats/presets/*.md",)),
    "agent-file": Target(_may_refuse(read_kind), ("tasks/agents/presets/*",)),
    "loops": Target(partial(_on_disk, _read_links, "loops.toml"), examples=(b'[[loops]]\ngoal = "a"\nchecks = ["make"]\n',)),
    "webhook-forge": Target(
        partial(_webhook, read_forge),
        examples=(_json({"ref": "refs/heads/main", "before": "0" * 40, "after": "1" * 40, "repository": {"full_name": "a/b"}}),),
    ),
    "webhook-git": Target(
        partial(_webhook, read_hook), examples=(b"a/b\n" + b"0" * 40 + b" " + b"1" * 40 + b" refs/heads/main\n",)
    ),
    "repositories": Target(_allowed, examples=(b'[repositories]\n"a/b" = "/srv/b"\n',)),
    "comment": Target(_comment, examples=(b"/helmsman set limits.iterations=40\nwords", b"<!-- helmsman stage=a -->")),
    "assignments": Target(_assignments, examples=(b'limits.iterations=40\nchecks=["make"]\nGOAL=a',)),
    "state": Target(_state, ("tests/fixtures/states/*.json",), max_bytes=16384),
    "record": Target(_record, ("tests/fixtures/records/*.json",), max_bytes=16384),
    "journal": Target(partial(_on_disk, last_entries, "journal.jsonl"), examples=(b'2026-01-01 {"kind":"check_started"}\n',)),
    "memory": Target(partial(_on_disk, read_exported, "memory.json"), examples=(b'{"format":"helmsman-memory","version":1}',)),
    "shown": Target(_printed_text, examples=(b"a\x1b[31m\xe2\x80\xae|<b>`",)),
}


def seeds(target: Target) -> Iterator[bytes]:
    """Seed inputs of a target."""
    yield from target.examples
    for pattern in target.seeds:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file():
                yield path.read_bytes()[: target.max_bytes]


def corpus(name: str) -> list[Path]:
    """Earlier findings of a target."""
    folder = ROOT / "tests" / "corpus" / name
    return sorted(folder.iterdir()) if folder.is_dir() else []
