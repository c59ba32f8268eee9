"""First program inside a sandbox: forwards ports to the sockets that lead out, and executes the command.

Runs by path with the standard library alone. Each socket is named after its port on the sandbox's loopback.
"""

import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

CHUNK = 64 * 1024


def main(sockets: str, command: list[str]) -> None:
    """Execute the command. A second process forwards, and ends with the sandbox."""
    listeners = [(listener, str(path)) for path in sorted(Path(sockets).glob("*")) for listener in listen(int(path.name))]
    if listeners and os.fork() == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):  # close the command's pipes here, so that they end with the command
            os.dup2(null, number)
        threads = [threading.Thread(target=serve, args=pair) for pair in listeners]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # ignored until here, so that bubblewrap does not end before the command
    try:
        os.execvp(command[0], command)  # noqa: S606 - the purpose of this program
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be run in the sandbox: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127)


def listen(port: int) -> list[socket.socket]:
    """Listen on both loopbacks, if available: a name may resolve to either."""
    listeners = list[socket.socket]()
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            listener = socket.socket(family, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen(64)
            listeners.append(listener)
        except OSError:
            if family == socket.AF_INET:
                raise
    return listeners


def serve(listener: socket.socket, path: str) -> None:
    """Forward each connection in its own thread."""
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=forward, args=(connection, path), daemon=True).start()


def forward(connection: socket.socket, path: str) -> None:
    outside = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with connection, outside, suppress(OSError):
        outside.connect(path)
        copy_both_ways(connection, outside)


def copy_both_ways(one: socket.socket, other: socket.socket) -> None:
    """Copy in both directions until both have ended."""
    back = threading.Thread(target=copy, args=(other, one), daemon=True)
    back.start()
    copy(one, other)
    back.join()


def copy(source: socket.socket, target: socket.socket) -> None:
    """Copy until the source ends, then shut down the target for writing."""
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
