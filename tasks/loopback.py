"""Small servers of our own, to which a program that we run speaks: none of their connections outlives them."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from socketserver import ThreadingTCPServer
from typing import Any, TypeVar

_S = TypeVar("_S", bound="LoopbackServer")


class LoopbackServer(ThreadingTCPServer):  # not HTTPServer, which asks the name service for the name of 127.0.0.1
    """A thread for each connection. It knows all that are open."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64  # many may come at once

    def __init__(self, address: Any, exchange: Any) -> None:
        """`exchange` is called with a connection, its address and this server."""
        self.connections: set[socket.socket] = set()
        super().__init__(address, exchange)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self.connections.add(connection)
        return connection, address

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        if isinstance(request, socket.socket):
            self.connections.discard(request)
        super().shutdown_request(request)

    def close_all(self) -> None:
        """Whoever reads or writes on a connection finds it ended."""
        for connection in list(self.connections):
            with suppress(OSError):  # it has just ended by itself
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        """A client that goes away or sends nonsense is its own problem; nothing of it may reach the loop's terminal."""


@contextmanager
def serving(server: _S, name: str) -> Generator[_S]:
    """Have it answer while the block runs, in a thread of that name."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), name=name, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.close_all()
        server.server_close()
        thread.join()
