"""The folder of one agent call: the call's files on disk, and reading them back after a crash.

`started.json` records its start, its first commit and the resumed session, `transcript.jsonl` grows during the call, and
`call.json` records its end. A call that ended is never made again.

The two JSON files are signed with the loop's key, for one iteration and attempt: unsigned ones are ignored.
"""

import gzip
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from helmsman.parsers.agent_actions import parse_event
from helmsman.parsers.agent_dialects import DialectReader, reader_of
from helmsman.parsers.claude_stream import ClaudeReader
from helmsman.records.agent import AgentCall, AgentOutcome, InterruptedCall, KeptSession
from helmsman.records.agents import AgentKind
from helmsman.records.base import Usage
from helmsman.records.iteration import Briefing
from helmsman.verify.judge.request import JudgeRequest
from tasks.system.files import write_atomic
from tasks.system.keys import verified_text, with_signature
from tasks.system.paths import Within
from tasks.system.secrets import redact, without_secrets

PURPOSE = "helmsman call 1"
KILLED = frozenset({AgentOutcome.BLOCKED_BY_HOOK, AgentOutcome.ABORTED, AgentOutcome.CRASHED})
"""A session that had to be killed counts as crashed."""


@dataclass(frozen=True)
class CallFolder:
    root: Path
    uid: str
    """The loop's uid."""

    prompt = Within("prompt.md")
    briefing = Within("briefing.json")
    """The parts of the prompt."""
    judge = Within("judge.json")
    """The prompt of the judge of this call's work."""
    started = Within("started.json")
    transcript = Within("transcript.jsonl")
    packed = Within("transcript.jsonl.gz")
    call = Within("call.json")


def interrupted_call(folder: CallFolder) -> InterruptedCall | None:
    """The call that started and never ended, or None."""
    start_record = _read_start(folder)
    if start_record is None or finished_call(folder) is not None:
        return None
    began = datetime.fromisoformat(start_record["at"])
    usage = _read_transcript(folder).usage if folder.transcript.exists() else Usage()
    return InterruptedCall(start=start_record["start"], started_at=began, ended_at=began + _duration(folder), usage=usage)


def finished_call(folder: CallFolder) -> AgentCall | None:
    """The ended call, or None. A result event is an end, also where the process died before recording it."""
    ended = _read_authentic(folder, folder.call)
    if ended is not None:
        return AgentCall.model_validate_json(ended)
    if not has_started(folder) or not folder.transcript.exists():
        return None
    reader = _read_transcript(folder)
    if not reader.finished:
        return None
    seconds = _duration(folder).total_seconds()
    if isinstance(reader, DialectReader):
        return reader.conclude(exit_code=None, ended_by="itself", stderr="", seconds=seconds)
    return reader.conclude(exit_code=None, ended_by="itself", stderr="", seconds=seconds, now=datetime.now(UTC))


def requested_session(folder: CallFolder) -> KeptSession | None:
    """The session that the call in this folder was asked to resume."""
    session = (_read_start(folder) or {}).get("session")
    return KeptSession.model_validate(session) if session else None


def begin(folder: CallFolder, prompt: str, start: str, session: KeptSession | None, agent: AgentKind | None = None) -> None:
    """Record the start of a call. `start`: its first commit; `agent`: the called agent, if not Claude Code."""
    folder.root.mkdir(parents=True, exist_ok=True)
    folder.prompt.write_text(prompt, encoding="utf-8")
    folder.transcript.unlink(missing_ok=True)
    resumed = session.model_dump(mode="json") if session else None
    other = {"agent": agent.model_dump(mode="json")} if agent else {}
    start_record = {"start": start, "at": datetime.now(UTC).isoformat(), "session": resumed, **other}
    write_atomic(folder.started, _sign(folder, folder.started, json.dumps(start_record)))


def finish(folder: CallFolder, call: AgentCall) -> None:
    """Record the end durably, then compress the transcript."""
    if _read_authentic(folder, folder.call) is None:
        write_atomic(folder.call, _sign(folder, folder.call, call.model_dump_json(indent=1)))
    if folder.transcript.exists():
        with gzip.open(folder.packed, "wb") as packed:
            _move_redacted(folder.transcript, packed)


def discard_call(folder: CallFolder) -> None:
    """Discard a call that ended before it did anything; its transcript is kept for people."""
    folder.started.unlink(missing_ok=True)
    if folder.transcript.exists():
        with (folder.root / "transcript.failed.jsonl").open("wb") as failed:
            _move_redacted(folder.transcript, failed)


def _move_redacted(transcript: Path, to: BinaryIO | gzip.GzipFile) -> None:
    """Move the transcript, with secrets redacted: from now on only people read it. Invalid UTF-8 is preserved."""
    with transcript.open("rb") as lines:
        for line in lines:
            to.write(redact(line.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"))
    transcript.unlink()


def has_started(folder: CallFolder) -> bool:
    return _read_start(folder) is not None


def _read_start(folder: CallFolder) -> dict[str, Any] | None:
    text = _read_authentic(folder, folder.started)
    return None if text is None else json.loads(text)


def _sign(folder: CallFolder, file: Path, text: str) -> str:
    return with_signature(folder.uid, f"{PURPOSE} {folder.root.name}/{file.name}", text)


def _read_authentic(folder: CallFolder, file: Path) -> str | None:
    """The text of a record; None without one that Helmsman signed for this call."""
    try:
        return verified_text(folder.uid, f"{PURPOSE} {folder.root.name}/{file.name}", file.read_bytes())
    except FileNotFoundError:
        return None


def _read_transcript(folder: CallFolder) -> ClaudeReader | DialectReader:
    """Read the transcript with the reader of the called agent."""
    agent = (_read_start(folder) or {}).get("agent")
    with folder.transcript.open("rb") as lines:
        if agent:
            reader = reader_of(AgentKind.model_validate(agent))
            for line in lines:
                reader.feed(line)
            return reader
        claude = ClaudeReader(requested_session(folder))
        for event in filter(None, map(parse_event, lines)):
            claude.feed(event)
    return claude


def _duration(folder: CallFolder) -> timedelta:
    """Time from the start of the call to its last output."""
    if not folder.transcript.exists():
        return timedelta(0)
    return timedelta(seconds=max(folder.transcript.stat().st_mtime - folder.started.stat().st_mtime, 0.0))


# --- the prompts of agent and judge: stored for people, and nothing depends on them -----------------------------------------


def keep_briefing(folder: CallFolder, briefing: Briefing) -> None:
    write_atomic(folder.briefing, briefing.model_dump_json(indent=1))


def keep_request(folder: CallFolder, request: JudgeRequest) -> None:
    """Store the judge's prompt; of several requests the last, which contains the first."""
    write_atomic(folder.judge, without_secrets(request).briefing.model_dump_json(indent=1))


def stored_briefing(folder: CallFolder, *, judge: bool) -> Briefing | None:
    """The stored prompt of the agent, or of the judge of its work; None where none was sent, or by an earlier version."""
    try:
        return Briefing.model_validate_json((folder.judge if judge else folder.briefing).read_bytes())
    except FileNotFoundError:
        return None
