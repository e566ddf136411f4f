"""Servers on free ports of this machine, and a client that gives back bytes."""

from __future__ import annotations

import http.client
import json
import re
import socket
import socketserver
import subprocess
import threading
from contextlib import contextmanager
from typing import Any, Iterator, Mapping, NamedTuple
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import uvicorn


@contextmanager
def serve_asgi(app: Any) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            # Requests wait in the backlog until the server accepts them.
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def serve_wsgi(app: Any) -> Iterator[str]:
    with make_server("127.0.0.1", 0, app, _ThreadingServer, _QuietHandler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _ThreadingServer(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


class Answer(NamedTuple):
    """A response as a client without any library for events sees it."""

    headers: list[tuple[str, str]]
    """Without the date."""
    body: bytes
    is_cut: bool = False

    @property
    def own_body(self) -> bytes:
        """The body without comments of this package."""
        return COMMENT.sub(b"", self.body)

    @property
    def comments(self) -> list[dict[str, float]]:
        return [json.loads(match[1]) for match in COMMENT.finditer(self.body)]


@contextmanager
def open_stream(url: str, headers: Mapping[str, str]) -> Iterator[http.client.HTTPResponse]:
    """A response whose body is read by the test."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=LONGEST_WAIT_SECONDS)
    try:
        connection.request("POST", parts.path, body=b"{}", headers=dict(headers))
        yield connection.getresponse()
    finally:
        connection.close()


def fetch(url: str, headers: Mapping[str, str]) -> Answer:
    with open_stream(url, headers) as response:
        is_cut = False
        try:
            body = response.read()
        except http.client.IncompleteRead as error:
            body, is_cut = error.partial, True
        names = [(name.lower(), value) for name, value in response.getheaders()]
        return Answer([it for it in names if it[0] != "date"], body, is_cut)


def curl(url: str) -> bytes:
    """The body as the program curl prints it."""
    command = ["curl", "-fsSN", "--max-time", str(LONGEST_WAIT_SECONDS), "--data", "{}", url]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


BROWSER = {"origin": "https://chat.example", "sec-fetch-site": "cross-site"}
CURL = {"user-agent": "curl/8.14.1"}
COMMENT = re.compile(rb": llm-rum (\{[^\r\n]*\})(?:\r\n\r\n|\n\n|\n)")
# Only a broken test waits as long.
LONGEST_WAIT_SECONDS = 30
