"""Apps that stream the same events by different libraries, and mark two values."""

from __future__ import annotations

import asyncio
import json
from typing import Any, AsyncIterator, Callable, Iterable, Iterator

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from flask import Flask
from flask import Response as FlaskResponse
from sse_starlette.sse import EventSourceResponse as SseStarletteResponse
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import llm_rum


def chunk(delta: dict[str, str], finish_reason: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return json.dumps({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})


DATA = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Hé"}),
    chunk({"content": "llo"}),
    chunk({}, "stop"),
    "[DONE]",
]
EVENTS = [f"data: {data}\n\n" for data in DATA]


async def async_events(events: Iterable[Any] = EVENTS) -> AsyncIterator[Any]:
    llm_rum.mark(queue_ms=40)
    *most, last = events
    for event in most:
        yield event
    llm_rum.mark(output_tokens=2)
    yield last


def sync_events() -> Iterator[str]:
    llm_rum.mark(queue_ms=40)
    yield from EVENTS[:-1]
    llm_rum.mark(output_tokens=2)
    yield EVENTS[-1]


def fastapi_async() -> FastAPI:
    app = FastAPI()

    @app.api_route("/chat", methods=["GET", "POST"])
    async def chat() -> StreamingResponse:
        return StreamingResponse(async_events(), media_type="text/event-stream")

    return app


def fastapi_threads() -> FastAPI:
    """A sync endpoint with a sync generator. Both run in threads of the framework."""
    app = FastAPI()

    @app.api_route("/chat", methods=["GET", "POST"])
    def chat() -> StreamingResponse:
        return StreamingResponse(sync_events(), media_type="text/event-stream")

    return app


def fastapi_sse() -> FastAPI:
    app = FastAPI()

    @app.api_route("/chat", methods=["GET", "POST"], response_class=EventSourceResponse)
    async def chat() -> AsyncIterator[ServerSentEvent]:
        async for data in async_events(DATA):
            yield ServerSentEvent(raw_data=data)

    return app


def starlette_behind_base_middleware() -> Starlette:
    """``BaseHTTPMiddleware`` runs the app in another task. Compression leaves streams of events alone."""

    async def chat(request: Request) -> StreamingResponse:
        return StreamingResponse(async_events(), media_type="text/event-stream")

    async def add_header(request: Request, call_next: Callable[[Request], Any]) -> Response:
        response: Response = await call_next(request)
        response.headers["x-app"] = "yes"
        return response

    app = Starlette(routes=[Route("/chat", chat, methods=["GET", "POST"])])
    app.add_middleware(BaseHTTPMiddleware, dispatch=add_header)
    app.add_middleware(GZipMiddleware)
    return app


def sse_starlette() -> Starlette:
    async def chat(request: Request) -> SseStarletteResponse:
        return SseStarletteResponse(async_events(DATA))

    return Starlette(routes=[Route("/chat", chat, methods=["GET", "POST"])])


def starlette_marks_in_thread() -> Starlette:
    """``asyncio.to_thread`` takes the context along."""

    async def chat(request: Request) -> StreamingResponse:
        await asyncio.to_thread(llm_rum.mark, queue_ms=40, output_tokens=2)
        return StreamingResponse(iter(EVENTS), media_type="text/event-stream")

    return Starlette(routes=[Route("/chat", chat, methods=["GET", "POST"])])


def flask() -> Flask:
    app = Flask(__name__)

    @app.route("/chat", methods=["GET", "POST"])
    def chat() -> FlaskResponse:
        return FlaskResponse(sync_events(), content_type="text/event-stream")

    return app


ASGI_APPS = [
    fastapi_async,
    fastapi_threads,
    fastapi_sse,
    starlette_behind_base_middleware,
    sse_starlette,
    starlette_marks_in_thread,
]
