"""Decides which responses get comments, and keeps faults of this package away from them."""

from __future__ import annotations

from secrets import token_urlsafe
from typing import Callable, Iterable, Optional, Tuple

from .comments import CommentWriter
from .faults import log_once
from .marks import Marks
from .push import Push

Clock = Callable[[], float]
"""The seconds of a clock that never goes back."""

BROWSER_HEADERS = ("sec-fetch-site", "origin")
"""Only browsers send these. ``Sec-Fetch-Mode`` is not among them: the ``fetch`` of Node.js sends it, too."""


class Response:
    """The response to a browser. Until ``start`` has found a stream of events, the body passes unchanged."""

    def __init__(self, clock: Clock, push: Optional[Push] = None) -> None:
        self.marks = Marks()
        self.is_over = False
        """The app has sent the whole body."""
        self._push = push
        self._id = ""
        self._clock = clock
        self._arrival = clock()
        self._writer: Optional[CommentWriter] = None

    def start(self, status: int, headers: Iterable[Tuple[str, str]]) -> bool:
        """Whether this response gets comments. Then its length changes."""
        self._writer = None
        fields = {name.lower(): value.strip().lower() for name, value in headers}
        content_type = fields.get("content-type", "").split(";")[0].strip()
        is_identity = fields.get("content-encoding", "identity") in ("", "identity")
        if status == 200 and content_type == "text/event-stream" and is_identity:
            self._id = token_urlsafe(12) if self._push else ""
            self._writer = CommentWriter(self._arrival, self.marks, self._id)
        return self._writer is not None

    def feed(self, chunk: bytes) -> bytes:
        """The chunk as it is to be sent."""
        if self._writer is None:
            return chunk
        try:
            # Frameworks also send `memoryview`.
            return self._writer.feed(chunk if isinstance(chunk, bytes) else bytes(chunk), self._clock())
        except Exception:
            return self._fail(chunk)

    def end(self) -> bytes:
        """What follows the last chunk."""
        self.is_over = True
        if self._writer is None:
            return b""
        try:
            return self._writer.end()
        except Exception:
            return self._fail(b"")

    def send_fact(self, ended: str) -> None:
        """Sends the fact of this response, once: how it ended, and its times. If the client left, it is sent once more
        when the app has counted the tokens after that: the collector keeps the fact that has more values."""
        if self._push is None or self._writer is None or not self._id:
            return
        server_id, self._id = self._id, ""
        try:
            push, marks = self._push, self.marks
            fact = {
                "id": server_id,
                "layer": "app",
                "source": "llm-rum-python",
                "starts_from": "arrival",
                "duration_ms": round((self._clock() - self._arrival) * 1000, 3),
                "ended": ended,
                **self._writer.times(),
            }
            marked = dict(marks.latest)
            if ended != "client_gone":
                marked.pop("tokens_after_gone", None)
            elif "tokens_after_gone" not in marked:
                marks.on_late = lambda: push.send({**fact, **marks.latest})
            push.send({**fact, **marked})
        except Exception:
            log_once("no timing of a stream because of a fault in llm_rum", is_exception=True)

    def _fail(self, chunk: bytes) -> bytes:
        self._writer = None
        log_once("no comment in this stream because of a fault in llm_rum", is_exception=True)
        return chunk
