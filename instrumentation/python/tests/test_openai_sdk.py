"""The SDK of OpenAI, as a caller of an app with the middleware and as the app's own client."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, AsyncIterator, Iterator

import anyio
import pytest
from apps import EVENTS
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI, OpenAI
from servers import BROWSER, CURL, LONGEST_WAIT_SECONDS, fetch, open_stream, serve_asgi

from llm_rum import Middleware

CLIENTS = pytest.mark.parametrize("headers", [BROWSER, {}], ids=["browser", "sdk"])


@CLIENTS
@pytest.mark.parametrize("first_lines", ["", "id: 7\n", "retry: 9\r\n"], ids=["plain", "id", "retry"])
def test_the_sdk_reads_the_same_chunks(headers: dict[str, str], first_lines: str) -> None:
    events = [first_lines + event for event in EVENTS]

    app = scripted(events)
    with serve_asgi(app) as plain, serve_asgi(Middleware(app)) as wrapped:
        chunks = read(plain, headers)
        assert [chunk["choices"][0]["delta"]["content"] for chunk in chunks] == ["", "Hé", "llo", None]
        assert read(wrapped, headers) == chunks
        answer = fetch(f"{wrapped}/v1/chat/completions", headers)
        assert answer.own_body == "".join(events).encode()
        assert len(answer.comments) == (2 if headers else 0)


def read(url: str, headers: dict[str, str]) -> list[dict[str, Any]]:
    with OpenAI(base_url=f"{url}/v1", api_key="none", default_headers=headers, max_retries=0) as client:
        stream = client.chat.completions.create(model="m", messages=[], stream=True)
        return [chunk.model_dump() for chunk in stream]


@CLIENTS
def test_a_gateway_passes_on_what_the_sdk_reads(headers: dict[str, str]) -> None:
    with serve_asgi(scripted(EVENTS)) as upstream, serve_asgi(gateway(upstream)) as plain:
        with serve_asgi(Middleware(gateway(upstream))) as wrapped:
            own, answer = fetch(f"{plain}/chat", headers), fetch(f"{wrapped}/chat", headers)
    assert (answer.headers, answer.own_body) == (own.headers, own.body)
    assert len(answer.comments) == (2 if headers else 0)


@CLIENTS
@pytest.mark.parametrize("chunks_before", [0, 2], ids=["before_the_first_byte", "in_the_middle"])
def test_a_leaving_client_stops_the_upstream(headers: dict[str, str], chunks_before: int) -> None:
    with waiting_upstream(EVENTS[:chunks_before]) as (upstream, has_begun, has_stopped):
        with serve_asgi(Middleware(gateway(upstream))) as url:
            with open_stream(f"{url}/chat", headers or CURL) as response:
                body = b""
                while body.count(b"data: ") < chunks_before:
                    body += response.readline()
                assert has_begun.wait(LONGEST_WAIT_SECONDS)
                assert not has_stopped.is_set()
            assert has_stopped.wait(LONGEST_WAIT_SECONDS)


@CLIENTS
def test_upstream_errors_reach_the_client(headers: dict[str, str]) -> None:
    async def broken() -> AsyncIterator[str]:
        yield EVENTS[0]
        yield EVENTS[1]
        raise RuntimeError("the model is gone")

    with serve_asgi(scripted(broken)) as upstream, serve_asgi(gateway(upstream)) as plain:
        with serve_asgi(Middleware(gateway(upstream))) as wrapped:
            own, answer = fetch(f"{plain}/chat", headers), fetch(f"{wrapped}/chat", headers)
    assert own.is_cut and answer.is_cut
    assert answer.own_body == own.body


def scripted(events: Any) -> FastAPI:
    """An API in place of a provider's."""
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def completions() -> StreamingResponse:
        body = events() if callable(events) else iter(events)
        return StreamingResponse(body, media_type="text/event-stream")

    return app


@contextmanager
def waiting_upstream(events: list[str]) -> Iterator[tuple[str, threading.Event, threading.Event]]:
    """Sends the events and then waits until it is cancelled. Gives its address and the signals of both."""
    has_begun, has_stopped = threading.Event(), threading.Event()

    async def body() -> AsyncIterator[str]:
        try:
            for event in events:
                yield event
            has_begun.set()
            await anyio.sleep_forever()
        finally:
            has_stopped.set()

    with serve_asgi(scripted(body)) as url:
        yield url, has_begun, has_stopped


def gateway(upstream: str) -> FastAPI:
    """A backend that asks a provider and passes on its chunks."""
    app = FastAPI()

    @app.post("/chat")
    async def chat() -> StreamingResponse:
        async def events() -> AsyncIterator[str]:
            async with AsyncOpenAI(base_url=f"{upstream}/v1", api_key="none", max_retries=0) as client:
                stream = await client.chat.completions.create(model="m", messages=[], stream=True)
                async for chunk in stream:
                    yield f"data: {chunk.model_dump_json()}\n\n"
                yield "data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    return app
