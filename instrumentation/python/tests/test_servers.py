"""Apps behind real servers, with and without the middleware."""

from __future__ import annotations

import threading
from typing import Any, AsyncIterator, Callable, Iterator

import anyio
import pytest
from apps import ASGI_APPS, EVENTS, flask, fastapi_async
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from flask import Flask
from flask import Response as FlaskResponse
from servers import BROWSER, CURL, LONGEST_WAIT_SECONDS, Answer, curl, fetch, open_stream, serve_asgi, serve_wsgi

from llm_rum import Middleware, WsgiMiddleware


@pytest.mark.parametrize("build", ASGI_APPS)
def test_asgi_apps_send_comments_to_browsers_only(build: Callable[[], Any]) -> None:
    with serve_asgi(build()) as plain, serve_asgi(Middleware(build())) as wrapped:
        compare(f"{plain}/chat", f"{wrapped}/chat")


def test_wsgi_apps_send_comments_to_browsers_only() -> None:
    with serve_wsgi(flask()) as plain, serve_wsgi(WsgiMiddleware(flask())) as wrapped:
        compare(f"{plain}/chat", f"{wrapped}/chat")


def compare(plain: str, wrapped: str) -> None:
    """The same bytes, and for browsers two comments with all that was marked."""
    own = fetch(plain, BROWSER)
    assert own.comments == []
    assert fetch(wrapped, CURL) == fetch(plain, CURL)
    assert curl(wrapped) == own.body
    check_comments(fetch(wrapped, BROWSER), own)


def check_comments(answer: Answer, own: Answer) -> None:
    assert (answer.headers, answer.own_body) == (own.headers, own.body)
    first, second = answer.comments
    assert first["queue_ms"] == 40
    assert first["ttft_ms"] > 0
    assert {**first, **second}["output_tokens"] == 2
    assert second["generation_ms"] >= 0


def test_asgi_chunks_are_not_held_back() -> None:
    """The app sends its next chunk when the client has read the previous one."""
    received = [threading.Event() for _ in EVENTS]
    app = FastAPI()

    @app.post("/chat")
    async def chat() -> StreamingResponse:
        async def events() -> AsyncIterator[str]:
            for event, signal in zip(EVENTS, received):
                yield event
                await anyio.to_thread.run_sync(signal.wait, LONGEST_WAIT_SECONDS)

        return StreamingResponse(events(), media_type="text/event-stream")

    with serve_asgi(Middleware(app)) as url:
        read_in_step(url, received)


def test_wsgi_chunks_are_not_held_back() -> None:
    received = [threading.Event() for _ in EVENTS]
    app = Flask(__name__)

    @app.post("/chat")
    def chat() -> FlaskResponse:
        def events() -> Iterator[str]:
            for event, signal in zip(EVENTS, received):
                yield event
                signal.wait(LONGEST_WAIT_SECONDS)

        return FlaskResponse(events(), content_type="text/event-stream")

    with serve_wsgi(WsgiMiddleware(app)) as url:
        read_in_step(url, received)


def read_in_step(url: str, received: list[threading.Event]) -> None:
    with open_stream(f"{url}/chat", BROWSER) as response:
        for event, signal in zip(EVENTS, received):
            body = b""
            while not body.endswith(event.encode()):
                line = response.readline()
                assert line, f"the stream ended before {event!r}"
                body += line
            signal.set()


@pytest.mark.parametrize("headers", [BROWSER, CURL], ids=["browser", "curl"])
def test_errors_of_the_app_cut_the_stream(headers: dict[str, str]) -> None:
    app = FastAPI()

    @app.post("/chat")
    async def chat() -> StreamingResponse:
        async def events() -> AsyncIterator[str]:
            yield EVENTS[0]
            yield EVENTS[1]
            raise RuntimeError("the model is gone")

        return StreamingResponse(events(), media_type="text/event-stream")

    with serve_asgi(app) as plain, serve_asgi(Middleware(app)) as wrapped:
        own, answer = fetch(f"{plain}/chat", headers), fetch(f"{wrapped}/chat", headers)
    assert own.is_cut and answer.is_cut
    assert answer.own_body == own.body == "".join(EVENTS[:2]).encode()
    assert len(answer.comments) == (headers is BROWSER)


def test_two_of_the_middleware_send_the_outer_times_last() -> None:
    """A gateway with middleware in front of a server with middleware: the browser takes the later time."""
    with serve_asgi(Middleware(Middleware(fastapi_async()))) as url:
        answer = fetch(f"{url}/chat", BROWSER)
    firsts = [comment for comment in answer.comments if "ttft_ms" in comment]
    assert len(firsts) == 2
    assert firsts[1]["ttft_ms"] >= firsts[0]["ttft_ms"]
    assert answer.own_body == "".join(EVENTS).encode()
