"""The first program inside a sandbox: it forwards to the sockets that lead out, and becomes the command.

Run by path with the standard library alone. Each socket is named by the port that it answers at on the sandbox's loopback.
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
    """Become the command. Whoever forwards is a process beside it that ends with the sandbox."""
    listeners = [(listener, str(path)) for path in sorted(Path(sockets).glob("*")) for listener in listen(int(path.name))]
    if listeners and os.fork() == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):  # it keeps none of the command's pipes, or nobody would see them close
            os.dup2(null, number)
        threads = [threading.Thread(target=serve, args=pair) for pair in listeners]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # ignored until here, so that bubblewrap does not end before the command
    try:
        os.execvp(command[0], command)  # noqa: S606 - to become the command is what this is for
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be run in the sandbox: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127)


def listen(port: int) -> list[socket.socket]:
    """On both loopbacks, where there are both: a name may lead to either."""
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
    """Forward whoever connects, each by itself."""
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=forward, args=(connection, path), daemon=True).start()


def forward(connection: socket.socket, path: str) -> None:
    outside = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with connection, outside, suppress(OSError):
        outside.connect(path)
        both_ways(connection, outside)


def both_ways(one: socket.socket, other: socket.socket) -> None:
    """Until both have ended."""
    back = threading.Thread(target=copy, args=(other, one), daemon=True)
    back.start()
    copy(one, other)
    back.join()


def copy(source: socket.socket, target: socket.socket) -> None:
    """Until one side ends; the other is told so."""
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
