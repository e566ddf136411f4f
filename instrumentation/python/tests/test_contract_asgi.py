"""The contract, for the ASGI middleware."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Callable, Optional

import pytest
from contract import CASES, CLIENTS, AppFailure, Clock, Result, Step, check, cuts, method, response, steps
from llm_rum import Middleware, Push, mark
from llm_rum.asgi import Message

CUT_CASES = [case for case in CASES if case.get("cut_at_every_byte")]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda it: it["name"])
@pytest.mark.parametrize("case", CASES, ids=lambda it: it["name"])
def test_each_client_gets_its_body(case: dict[str, Any], client: dict[str, Any]) -> None:
    check(case, client, steps(case), run(case, client, steps(case)))


@pytest.mark.parametrize("case", CUT_CASES, ids=lambda it: it["name"])
def test_any_cut_gives_the_same_body(case: dict[str, Any]) -> None:
    for sent in cuts(case):
        for client in (CLIENTS[0], CLIENTS[-1]):
            check(case, client, sent, run(case, client, sent))


@pytest.mark.parametrize("client", CLIENTS, ids=lambda it: it["name"])
def test_cancellation_reaches_the_source(client: dict[str, Any]) -> None:
    """Some servers cancel the task of the app when the client leaves."""

    async def scenario() -> float:
        waiting, cancelled = asyncio.Event(), asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": EVENT_STREAM})
            await send({"type": "http.response.body", "body": b"data: A\n\n", "more_body": True})
            waiting.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        async def ignore(message: Message) -> None:
            pass

        task = asyncio.ensure_future(call(Middleware(app), {"request": {}}, client, asyncio.Queue(), ignore))
        await waiting.wait()
        begun = time.monotonic()
        task.cancel()
        await cancelled.wait()
        duration = time.monotonic() - begun
        with pytest.raises(asyncio.CancelledError):
            await task
        return duration

    assert asyncio.run(scenario()) < LONGEST_CANCELLATION_SECONDS


def run(case: dict[str, Any], client: dict[str, Any], sent: list[Step], push: Optional[Push] = None) -> Result:
    return asyncio.run(exchange(case, client, sent, push))


async def exchange(
    case: dict[str, Any], client: dict[str, Any], sent: list[Step], push: Optional[Push]
) -> Result:
    """Runs an app that takes the steps. Each of its chunks must have been sent before it goes on."""
    clock, events = Clock(), asyncio.Queue[Message]()
    received: list[Message] = []
    left: list[float] = []

    async def send(message: Message) -> None:
        received.append(message)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "http.request"
        status, headers = response(case)
        encoded = [(name.encode(), value.encode()) for name, value in headers]
        await send({"type": "http.response.start", "status": status, "headers": encoded})
        for step in sent:
            clock.set_ms(step.at)
            if step.send is not None:
                before = len(received)
                await send({"type": "http.response.body", "body": step.send, "more_body": True})
                assert len(received) == before + 1
            elif step.mark is not None:
                mark(**step.mark)
            elif step.fails:
                raise AppFailure
            elif step.client_leaves:
                left.append(time.monotonic())
                events.put_nowait({"type": "http.disconnect"})
                assert (await receive())["type"] == "http.disconnect"
                assert time.monotonic() - left[0] < LONGEST_CANCELLATION_SECONDS
                return
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    events.put_nowait({"type": "http.request", "body": b"", "more_body": False})
    error = None
    try:
        await call(Middleware(app, clock=clock, push=push), case, client, events, send)
    except AppFailure as failure:
        error = failure
    start, *bodies = received
    headers = [(name.decode(), value.decode()) for name, value in start["headers"]]
    return Result(start["status"], headers, [message["body"] for message in bodies], error)


async def call(
    app: Middleware,
    case: dict[str, Any],
    client: dict[str, Any],
    events: asyncio.Queue[Message],
    send: Callable[[Message], Any],
) -> None:
    headers = [(name.encode(), value.encode()) for name, value in client["headers"].items()]
    scope = {"type": "http", "method": method(case, client), "headers": headers}
    await app(scope, events.get, send)


EVENT_STREAM = [(b"content-type", b"text/event-stream")]
LONGEST_CANCELLATION_SECONDS = 0.1
