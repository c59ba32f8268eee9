"""The folder of one call of the agent: what is known of the call on disk, and how it is read back after a crash.

`started.json` says that it began, from which commit and with which session of an earlier call it went on,
`transcript.jsonl` grows as it goes, `call.json` says that it ended. A call that ended is never made again.

The two notes are signed with the loop's key, for one iteration and attempt: a call that somebody else noted did not happen.
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
from helmsman.records.agent import AgentCall, AgentOutcome, Interrupted, KeptSession
from helmsman.records.agents import AgentKind
from helmsman.records.base import Usage
from helmsman.records.iteration import Briefing
from helmsman.verify.judge.request import JudgeRequest
from tasks.system.files import write_atomic
from tasks.system.keys import authentic, signed
from tasks.system.paths import Within
from tasks.system.secrets import redact, without_secrets

PURPOSE = "helmsman call 1"
STOPPED = frozenset({AgentOutcome.BLOCKED_BY_HOOK, AgentOutcome.ABORTED, AgentOutcome.CRASHED})
"""A session that had to be killed counts as crashed."""


@dataclass(frozen=True)
class CallFolder:
    root: Path
    uid: str
    """Of the loop."""

    prompt = Within("prompt.md")
    briefing = Within("briefing.json")
    """What the prompt was made of."""
    judge = Within("judge.json")
    """What the judge of this call's work was sent."""
    started = Within("started.json")
    transcript = Within("transcript.jsonl")
    packed = Within("transcript.jsonl.gz")
    call = Within("call.json")


def interrupted_call(folder: CallFolder) -> Interrupted | None:
    """A call that began and never ended, or None when there is none."""
    note = _note(folder)
    if note is None or finished_call(folder) is not None:
        return None
    begun = datetime.fromisoformat(note["at"])
    usage = _read(folder).usage if folder.transcript.exists() else Usage()
    return Interrupted(start=note["start"], started_at=begun, ended_at=begun + _at_work(folder), usage=usage)


def finished_call(folder: CallFolder) -> AgentCall | None:
    """The call as it ended, also when the process died before it could note so: a result event is an end."""
    ended = _authentic(folder, folder.call)
    if ended is not None:
        return AgentCall.model_validate_json(ended)
    if not has_begun(folder) or not folder.transcript.exists():
        return None
    reader = _read(folder)
    if not reader.finished:
        return None
    seconds = _at_work(folder).total_seconds()
    if isinstance(reader, DialectReader):
        return reader.conclude(exit_code=None, ended_by="itself", stderr="", seconds=seconds)
    return reader.conclude(exit_code=None, ended_by="itself", stderr="", seconds=seconds, now=datetime.now(UTC))


def session_asked_for(folder: CallFolder) -> KeptSession | None:
    """The session that the call in this folder was to go on with."""
    said = (_note(folder) or {}).get("session")
    return KeptSession.model_validate(said) if said else None


def begin(folder: CallFolder, prompt: str, start: str, session: KeptSession | None, agent: AgentKind | None = None) -> None:
    """Note that a call begins; `start` is the commit that it begins with, `agent` the one that is called, if not Claude Code."""
    folder.root.mkdir(parents=True, exist_ok=True)
    folder.prompt.write_text(prompt, encoding="utf-8")
    folder.transcript.unlink(missing_ok=True)
    resumed = session.model_dump(mode="json") if session else None
    other = {"agent": agent.model_dump(mode="json")} if agent else {}
    note = {"start": start, "at": datetime.now(UTC).isoformat(), "session": resumed, **other}
    write_atomic(folder.started, _signed(folder, folder.started, json.dumps(note)))


def finish(folder: CallFolder, call: AgentCall) -> None:
    """Note the end, durably and first; then pack the transcript."""
    if _authentic(folder, folder.call) is None:
        write_atomic(folder.call, _signed(folder, folder.call, call.model_dump_json(indent=1)))
    if folder.transcript.exists():
        with gzip.open(folder.packed, "wb") as packed:
            _move(folder.transcript, packed)


def set_aside(folder: CallFolder) -> None:
    """A call that ended before it did anything is no call; its transcript is kept for people."""
    folder.started.unlink(missing_ok=True)
    if folder.transcript.exists():
        with (folder.root / "transcript.failed.jsonl").open("wb") as kept:
            _move(folder.transcript, kept)


def _move(transcript: Path, to: BinaryIO | gzip.GzipFile) -> None:
    """Without secrets: the program has ended, and from now on only people read it. Whatever it printed is kept as it is."""
    with transcript.open("rb") as lines:
        for line in lines:
            to.write(redact(line.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"))
    transcript.unlink()


def has_begun(folder: CallFolder) -> bool:
    return _note(folder) is not None


def _note(folder: CallFolder) -> dict[str, Any] | None:
    text = _authentic(folder, folder.started)
    return None if text is None else json.loads(text)


def _signed(folder: CallFolder, file: Path, text: str) -> str:
    return signed(folder.uid, f"{PURPOSE} {folder.root.name}/{file.name}", text)


def _authentic(folder: CallFolder, file: Path) -> str | None:
    """The text of a note; None where there is none that Helmsman wrote for this call."""
    try:
        return authentic(folder.uid, f"{PURPOSE} {folder.root.name}/{file.name}", file.read_bytes())
    except FileNotFoundError:
        return None


def _read(folder: CallFolder) -> ClaudeReader | DialectReader:
    """What is known of a call by what its program printed."""
    agent = (_note(folder) or {}).get("agent")
    with folder.transcript.open("rb") as lines:
        if agent:
            reader = reader_of(AgentKind.model_validate(agent))
            for line in lines:
                reader.hear(line)
            return reader
        claude = ClaudeReader(session_asked_for(folder))
        for event in filter(None, map(parse_event, lines)):
            claude.feed(event)
    return claude


def _at_work(folder: CallFolder) -> timedelta:
    """From the note that a call began to the last thing that was heard of it."""
    if not folder.transcript.exists():
        return timedelta(0)
    return timedelta(seconds=max(folder.transcript.stat().st_mtime - folder.started.stat().st_mtime, 0.0))


# --- what agent and judge were sent: kept for people, and nothing is decided by it ------------------------------------------


def keep_briefing(folder: CallFolder, briefing: Briefing) -> None:
    folder.root.mkdir(parents=True, exist_ok=True)
    write_atomic(folder.briefing, briefing.model_dump_json(indent=1))


def keep_request(folder: CallFolder, request: JudgeRequest) -> None:
    """Keep what the judge is sent; of several requests the last, which says all that the first one did."""
    folder.root.mkdir(parents=True, exist_ok=True)
    write_atomic(folder.judge, without_secrets(request).briefing.model_dump_json(indent=1))


def kept(folder: CallFolder, *, judge: bool) -> Briefing | None:
    """What was sent to the agent, or to the judge of its work; None where nothing was, or by an earlier version."""
    try:
        return Briefing.model_validate_json((folder.judge if judge else folder.briefing).read_bytes())
    except FileNotFoundError:
        return None
