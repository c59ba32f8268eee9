"""Small loopback servers for programs that Helmsman runs; none of their connections outlives them."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from socketserver import ThreadingTCPServer
from typing import Any, TypeVar

_S = TypeVar("_S", bound="LoopbackServer")


class LoopbackServer(ThreadingTCPServer):  # not HTTPServer, which asks the name service for the name of 127.0.0.1
    """A server with one thread per connection, which tracks its open connections."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64  # many may connect at once

    def __init__(self, address: Any, exchange: Any) -> None:
        """Bind to the address. `exchange` is called with a connection, its address and this server."""
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
        """Shut down all connections, which ends blocked reads and writes."""
        for connection in list(self.connections):
            with suppress(OSError):  # it has just been closed
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        """Ignore errors of clients that disconnect or send invalid data: nothing may reach the loop's terminal."""


@contextmanager
def serving(server: _S, name: str) -> Generator[_S]:
    """Run the server while the block runs, in a thread of that name."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), name=name, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.close_all()
        server.server_close()
        thread.join()
