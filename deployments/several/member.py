"""What drives one loop of a group: `python -m deployments.several.member`, with environment and request on standard input.

`tasks/groups/members.py` alone starts it. It shows itself in the loop's journal; what it complains of goes to whoever started it.
"""

import gc
import json
import os
import signal
import sys
from pathlib import Path

from deployments.complaints import status_of
from tasks.system.environment import hide_process

YOUNG_OBJECTS = 50_000
"""As for the command line: what is imported lives to the end."""


def main() -> None:
    """Drive the loop to its end. The exit status is the loop's own."""
    hide_process()
    gc.set_threshold(YOUNG_OBJECTS)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background ignores it, and so would we
    environment, request = sys.stdin.readline(), sys.stdin.read()
    os.environ.update(json.loads(environment))
    sys.exit(status_of(lambda: _driven(request, embedded="--embedded" in sys.argv[1:])))


def _driven(request: str, *, embedded: bool) -> int:
    from deployments.running import drive
    from helmsman.records.request import LoopRequest
    from tasks.engine.embedded import adopt_engine
    from tasks.repository.git import open_repository

    if embedded:
        adopt_engine()
    asked = LoopRequest.model_validate_json(request)
    return drive(open_repository(Path(asked.repository)), asked, as_json=False)


if __name__ == "__main__":
    main()
