"""Middleware for ASGI apps: FastAPI, Starlette, Django's ASGI handler, LangGraph, vLLM."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Awaitable, Callable, MutableMapping, Optional

from .faults import log_once
from .marks import CURRENT
from .push import Push, from_environment
from .response import BROWSER_HEADERS, Clock, Response

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Middleware:
    """Adds the comments to streams of events for browsers.

    The time to first token runs from the call of this middleware: put it outside of all other middleware that takes
    time, and inside compression.
    """

    def __init__(
        self, app: App, *, clock: Clock = time.perf_counter, push: Optional[Push] = None
    ) -> None:
        self._app = app
        self._clock = clock
        self._push = push or from_environment()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_browser(scope):
            await self._app(scope, receive, send)
            return
        response = Response(self._clock, self._push)

        async def send_with_comments(message: Message) -> None:
            await send(_changed(message, response))

        # The variable is visible in every task and thread to which the app's framework passes its context.
        token = CURRENT.set(response.marks)
        ended = "client_gone"
        try:
            await self._app(scope, receive, send_with_comments)
        except Exception as error:
            # Servers tell by an `OSError` that the client has left.
            ended = "client_gone" if isinstance(error, OSError) else "error"
            raise
        finally:
            response.send_fact("complete" if response.is_over else ended)
            # An abandoned task may be closed in another context, where the variable was never set.
            with suppress(ValueError):
                CURRENT.reset(token)


def _is_browser(scope: Scope) -> bool:
    if scope["type"] != "http" or scope.get("method") == "HEAD":
        return False
    return any(name.lower() in _BROWSER_HEADERS for name, _ in scope.get("headers", ()))


def _changed(message: Message, response: Response) -> Message:
    """The message as it is to be sent: the same object where nothing changes."""
    if message["type"] == "http.response.body":
        body: bytes = message.get("body", b"")
        changed = response.feed(body)
        comment = b"" if message.get("more_body", False) else response.end()
        if comment:
            changed = bytes(changed) + comment
        return message if changed is body else {**message, "body": changed}
    if message["type"] == "http.response.start":
        try:
            return _changed_start(message, response)
        except Exception:
            log_once("cannot read the headers of a response", is_exception=True)
    return message


def _changed_start(message: Message, response: Response) -> Message:
    headers = [(bytes(name), bytes(value)) for name, value in message.get("headers", ())]
    texts = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
    if not response.start(message["status"], texts):
        return message
    return {**message, "headers": [it for it in headers if it[0].lower() != b"content-length"]}


_BROWSER_HEADERS = frozenset(name.encode() for name in BROWSER_HEADERS)
