"""The embedded engine's own process: `python -P -m tasks.engine.server SOCKET PORT`, its login on standard input.

SOCKET is the number of a descriptor that listens on PORT. It prints a line once it accepts requests.
Only `tasks/engine/embedded.py` starts it. The login comes through a pipe because an agent's process can read the initial
environment of a program until the program hides it.
"""

import os
import socket
import sys

from tasks.engine.embedded import IS_UP
from tasks.system.environment import hide_process

GRACE_SECONDS = 3


def main() -> None:
    """Serve until a signal stops the process."""
    hide_process()
    os.environ["PREFECT_SERVER_API_AUTH_STRING"] = sys.stdin.read()
    import uvicorn  # not its command line, which puts the working directory first on sys.path

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            os.write(sys.stdout.fileno(), IS_UP + b"\n")

    config = uvicorn.Config(
        "prefect.server.api.server:create_app",
        factory=True,
        log_level="error",
        lifespan="on",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    Server(config).run([socket.socket(fileno=int(sys.argv[1]))])


if __name__ == "__main__":
    main()
