"""What a loop listens on is one address of loopback, and nothing else of this machine."""

import socket
from urllib.parse import urlsplit

import pytest

from tasks.agents.hooks import hook_server

pytestmark = pytest.mark.feature("X2")

ELSEWHERE = ("127.0.0.2", "::1")
"""Whoever listens on all addresses also answers here."""


def answers_at(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=10).close()
    except OSError:
        return False
    return True


def test_the_embedded_engine_and_the_hooks_answer_at_one_address_of_loopback(engine_url: str) -> None:
    with hook_server(lambda _: {}) as hooks:
        for url in (engine_url, hooks.url):
            port = urlsplit(url).port
            assert port
            assert answers_at("127.0.0.1", port)
            assert not [address for address in ELSEWHERE if answers_at(address, port)]
