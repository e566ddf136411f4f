"""Middleware for WSGI apps: Flask, and Django's WSGI handler."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Callable, Iterable, Iterator, Optional

from .faults import log_once
from .marks import CURRENT
from .push import Push, from_environment
from .response import BROWSER_HEADERS, Clock, Response

if TYPE_CHECKING:
    from _typeshed import OptExcInfo
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class WsgiMiddleware:
    """Adds the comments to streams of events for browsers.

    The time to first token runs from the call of this middleware. It does not include the wait for a worker.
    """

    def __init__(
        self, app: WSGIApplication, *, clock: Clock = time.perf_counter, push: Optional[Push] = None
    ) -> None:
        self._app = app
        self._clock = clock
        self._push = push or from_environment()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("REQUEST_METHOD") == "HEAD" or not any(name in environ for name in _BROWSER_KEYS):
            return self._app(environ, start_response)
        exchange = _Exchange(Response(self._clock, self._push), start_response)
        token = CURRENT.set(exchange.response.marks)
        try:
            body = self._app(environ, exchange.start)
        finally:
            CURRENT.reset(token)
        # A body without comments stays the app's own object: the server may send a file without reading it.
        return body if exchange.gets_comments is False else _Body(body, exchange)


class _Exchange:
    """One request and the start of its response."""

    def __init__(self, response: Response, start_response: StartResponse) -> None:
        self.response = response
        self.gets_comments: Optional[bool] = None
        """``None`` until the app has started the response. A generator does so when its first chunk is read."""
        self._start_response = start_response

    def start(
        self, status: str, headers: list[tuple[str, str]], exc_info: Optional[OptExcInfo] = None, /
    ) -> Callable[[bytes], object]:
        try:
            self.gets_comments = self.response.start(int(status[:3]), headers)
        except Exception:
            self.gets_comments = False
            log_once("cannot read the headers of a response", is_exception=True)
        if self.gets_comments:
            headers = [it for it in headers if it[0].lower() != "content-length"]
        if exc_info is None:
            write = self._start_response(status, headers)
        else:
            write = self._start_response(status, headers, exc_info)
        return lambda chunk: write(self.response.feed(chunk))


class _Body:
    """Passes on the chunks of the app's body, each within the context of its request."""

    def __init__(self, body: Iterable[bytes], exchange: _Exchange) -> None:
        self._body = body
        self._chunks: Optional[Iterator[bytes]] = None
        self._response = exchange.response
        self._is_over = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._is_over:
            raise StopIteration
        token = CURRENT.set(self._response.marks)
        try:
            if self._chunks is None:
                self._chunks = iter(self._body)
            chunk = next(self._chunks)
        except StopIteration:
            self._is_over = True
            comment = self._response.end()
            if comment:
                return comment
            raise
        except Exception:
            self._response.send_fact("error")
            raise
        finally:
            CURRENT.reset(token)
        return self._response.feed(chunk)

    def close(self) -> None:
        """Called by the server at the end, and when the client has left."""
        close = getattr(self._body, "close", None)
        try:
            if close is not None:
                close()
        finally:
            self._response.send_fact("complete" if self._response.is_over else "client_gone")


_BROWSER_KEYS = tuple("HTTP_" + name.upper().replace("-", "_") for name in BROWSER_HEADERS)
