"""Faults of the middleware and wrong use do not reach the app or its client."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from typing import Any, Iterator

import pytest
from servers import COMMENT

import llm_rum
from llm_rum import Middleware, WsgiMiddleware, faults
from llm_rum.comments import CommentWriter
from llm_rum.events import EventReader

BODY = [b"data: A\n\n", b"data: B\n\n", b"data: [DONE]\n\n"]
EVENT_STREAM = [(b"content-type", b"text/event-stream")]


@pytest.fixture(autouse=True)
def nothing_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "_LOGGED", set())


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(CommentWriter, "feed", fail)
    monkeypatch.setattr(CommentWriter, "end", fail)


@pytest.mark.usefixtures("faulty")
def test_faults_leave_streams_unchanged(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        assert asgi_body(BODY) == b"".join(BODY)
        assert wsgi_body(BODY) == b"".join(BODY)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "ZeroDivisionError" in caplog.text


def test_a_fault_at_the_end_loses_no_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventReader, "is_between_events", property(lambda _: 1 / 0))
    assert COMMENT.sub(b"", asgi_body(BODY[:2])) == b"".join(BODY[:2])
    assert COMMENT.sub(b"", wsgi_body(BODY[:2])) == b"".join(BODY[:2])


def test_unreadable_headers_leave_streams_unchanged(caplog: pytest.LogCaptureFixture) -> None:
    assert asgi_body(BODY, headers=[(b"content-type", b"text/event-stream"), 7]) == b"".join(BODY)
    assert wsgi_body(BODY, status="fine") == b"".join(BODY)
    assert len(caplog.records) == 1


def test_wrong_marks_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def stream() -> Iterator[bytes]:
        for _ in range(2):
            llm_rum.mark(queue_ms=-1)
            yield b"data: A\n\n"

    wsgi_body(stream())
    assert len(caplog.records) == 1


def test_marks_outside_of_a_request_do_nothing(caplog: pytest.LogCaptureFixture) -> None:
    llm_rum.mark(queue_ms=1, output_tokens=1)
    llm_rum.mark(queue_ms=-1)
    assert caplog.records == []


def test_a_thread_marks_with_a_copied_context_only() -> None:
    """A thread that the app starts has an empty context of its own."""

    def stream() -> Iterator[bytes]:
        copied = contextvars.copy_context()
        for thread in (
            threading.Thread(target=llm_rum.mark, kwargs={"queue_ms": 7}),
            threading.Thread(target=lambda: copied.run(llm_rum.mark, output_tokens=2)),
        ):
            thread.start()
            thread.join()
        yield b"data: A\n\n"

    assert b'"output_tokens":2}' in wsgi_body(stream())
    assert b"queue_ms" not in wsgi_body(stream())


def test_marks_of_two_requests_stay_apart() -> None:
    async def scenario() -> list[bytes]:
        return list(await asyncio.gather(*(call_asgi(app) for _ in range(20))))

    numbers = iter(range(20))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        own = next(numbers)
        llm_rum.mark(output_tokens=own)
        await asyncio.sleep(0)
        await send({"type": "http.response.start", "status": 200, "headers": EVENT_STREAM})
        await send({"type": "http.response.body", "body": b"data: %d\n\n" % own})

    for body in asyncio.run(scenario()):
        comment, _, own = body.partition(b"\n\ndata: ")
        assert comment.endswith(b'"output_tokens":' + own.strip() + b"}")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_chunks_may_be_any_kind_of_bytes(kind: Any) -> None:
    body = asgi_body([kind(chunk) for chunk in BODY])
    assert len(COMMENT.findall(body)) == 2
    assert COMMENT.sub(b"", body) == b"".join(BODY)


def test_a_file_of_a_wsgi_server_stays_its_own_object() -> None:
    file = [b"bytes"]

    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "image/png")])
        return file

    environ = {"REQUEST_METHOD": "GET", "HTTP_ORIGIN": "https://chat.example"}
    assert WsgiMiddleware(app)(environ, lambda *_: lambda _: None) is file


def test_wsgi_apps_may_start_late_and_write() -> None:
    written: list[bytes] = []
    started: list[Any] = []

    def start_response(*arguments: Any) -> Any:
        started.append(arguments)
        return written.append

    def app(environ: Any, start: Any) -> Iterator[bytes]:
        write = start("200 OK", [("Content-Type", "text/event-stream"), ("Content-Length", "18")])
        write(BODY[0])
        yield BODY[1]

    environ = {"REQUEST_METHOD": "GET", "HTTP_ORIGIN": "https://chat.example"}
    body = b"".join(WsgiMiddleware(app)(environ, start_response))
    assert started == [("200 OK", [("Content-Type", "text/event-stream")])]
    assert [len(COMMENT.findall(it)) for it in (written[0], body)] == [1, 1]
    assert COMMENT.sub(b"", written[0] + body) == b"".join(BODY[:2])


def test_other_scopes_pass() -> None:
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append((scope, receive, send))

    async def call() -> None:
        for kind in ("lifespan", "websocket"):
            exchange: Any = ({"type": kind, "headers": [(b"origin", b"x")]}, object(), object())
            await Middleware(app)(*exchange)
            assert seen.pop() == exchange

    asyncio.run(call())


def asgi_body(chunks: Any, headers: Any = EVENT_STREAM) -> bytes:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body"})

    return asyncio.run(call_asgi(app))


async def call_asgi(app: Any) -> bytes:
    body: list[bytes] = []

    async def send(message: Any) -> None:
        body.append(bytes(message.get("body", b"")))

    async def receive() -> Any:
        raise AssertionError("the app reads nothing")

    scope = {"type": "http", "method": "POST", "headers": [(b"origin", b"https://chat.example")]}
    await Middleware(app)(scope, receive, send)
    return b"".join(body)


def wsgi_body(chunks: Any, status: str = "200 OK") -> bytes:
    def app(environ: Any, start_response: Any) -> Any:
        start_response(status, [("Content-Type", "text/event-stream")])
        return chunks

    environ = {"REQUEST_METHOD": "POST", "HTTP_ORIGIN": "https://chat.example"}
    return b"".join(WsgiMiddleware(app)(environ, lambda *_: lambda _: None))
