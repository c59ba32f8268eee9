"""How far a loop's telemetry has been delivered: a small file beside the loop, so that nothing is told twice after a crash."""

from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from helmsman.records.base import Record
from helmsman.records.iteration import IterationRecord
from helmsman.records.verdict import Decision


class _Delivered(Record):
    iteration: int = 0
    attempt: int = 0
    ended: datetime | None = None


class Marks:
    """Reads the file at the start and writes it anew with every delivery. One that cannot be read says nothing."""

    def __init__(self, path: Path) -> None:
        """The file may be missing."""
        self._path = path
        self._delivered = _read(path)

    @property
    def recorded(self) -> tuple[int, int] | None:
        """The last iteration that was delivered, and its attempt; None: nobody has ever told of this loop."""
        return (self._delivered.iteration, self._delivered.attempt) if self._delivered else None

    @property
    def ended(self) -> datetime | None:
        """The end that was delivered."""
        return self._delivered.ended if self._delivered else None

    def knows(self, record: IterationRecord) -> bool:
        return self.recorded == (record.iteration, record.attempt)

    def begin(self) -> None:
        self._write(_Delivered())

    def record(self, record: IterationRecord) -> None:
        self._write(_Delivered(iteration=record.iteration, attempt=record.attempt, ended=self.ended))

    def end(self, ending: Decision) -> None:
        before = self._delivered or _Delivered()
        self._write(before.model_copy(update={"ended": ending.at}))

    def _write(self, delivered: _Delivered) -> None:
        self._delivered = delivered
        new = self._path.with_suffix(".new")
        new.write_text(delivered.model_dump_json(), encoding="utf-8")
        new.replace(self._path)


def _read(path: Path) -> _Delivered | None:
    try:
        return _Delivered.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
