"""Puts the comments into the stream of one response."""

from __future__ import annotations

import json
from typing import Optional

from .events import Event, EventReader
from .marks import Marks
from .text import kind_of, may_be_end


class CommentWriter:
    """Writes at most two comments: before the first event with text and before the event that ends the stream.

    Times are seconds of one clock. Where an event began in an earlier chunk, its comment follows it.
    """

    def __init__(self, arrival: float, marks: Marks, server_id: str = "") -> None:
        self._arrival = arrival
        self._server_id = server_id
        """Until a comment has had it. Empty if no facts are sent."""
        self._marks = marks
        self._events = EventReader()
        self._first_text: Optional[float] = None
        self._last_text: Optional[float] = None
        """The time of the latest event with text after the first one."""
        self._unparsed: list[tuple[bytes, float]] = []
        """Later events that may have text, with their times."""
        self._delayed = b""
        """A comment that waits for the next byte, because the last one was a CR."""
        self._is_done = False

    def feed(self, chunk: bytes, now: float) -> bytes:
        """The chunk with the comments that belong into it. It is the same object if there are none."""
        if not chunk or (self._is_done and not self._delayed):
            return chunk
        parts: list[bytes] = []
        copied = 0
        if self._delayed:
            copied = self._events.first_boundary(chunk)
            parts = [chunk[:copied], self._delayed]
            self._delayed = b""
        if not self._is_done:
            for event in self._events.read(chunk):
                comment = self._comment_for(event, now)
                if comment and event.start is None and self._events.ends_with_cr:
                    self._delayed = comment
                elif comment:
                    at = event.end if event.start is None else event.start
                    parts += [chunk[copied:at], comment]
                    copied = at
                if self._is_done:
                    break
        return b"".join([*parts, chunk[copied:]]) if parts else chunk

    def end(self) -> bytes:
        """The comment at the end of a body without an end event."""
        if self._delayed or self._is_done or not self._events.is_between_events:
            delayed, self._delayed = self._delayed, b""
            return delayed
        return self._second()

    def times(self) -> dict[str, float]:
        """The times so far, by their names in a fact."""
        self._parse_latest()
        if self._first_text is None:
            return {}
        times = {"ttft_ms": _ms(self._first_text - self._arrival)}
        if self._last_text is not None:
            times["generation_ms"] = _ms(self._last_text - self._first_text)
        return times

    def _comment_for(self, event: Event, now: float) -> bytes:
        if self._first_text is not None and not may_be_end(event.head):
            self._unparsed.append((event.head, now))
            if len(self._unparsed) == _MOST_UNPARSED:
                self._parse_latest()
            return b""
        kind = kind_of(event.head)
        if kind.is_end:
            return self._second()
        if kind.has_text and self._first_text is None:
            self._first_text = now
            return self._comment("ttft_ms", now - self._arrival)
        if kind.has_text:
            self._last_text = now
            self._unparsed.clear()
        return b""

    def _parse_latest(self) -> None:
        """Finds the latest event with text. Only its time counts, so that earlier ones are never parsed."""
        for head, time in reversed(self._unparsed):
            if kind_of(head).has_text:
                self._last_text = time
                break
        self._unparsed.clear()

    def _second(self) -> bytes:
        self._is_done = True
        self._parse_latest()
        if self._first_text is None or self._last_text is None:
            return self._comment("generation_ms", None)
        return self._comment("generation_ms", self._last_text - self._first_text)

    def _comment(self, name: str, seconds: Optional[float]) -> bytes:
        fields: dict[str, object] = {} if seconds is None else {name: _ms(seconds)}
        fields.update(self._marks.take())
        if not fields:
            return b""
        if self._server_id:
            fields["id"] = self._server_id
            self._server_id = ""
        line_end = self._events.line_end
        text = json.dumps(fields, separators=(",", ":")).encode()
        return b": llm-rum " + text + (line_end if self._events.has_id else line_end * 2)


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


# Fewer than one chunk in a hundred waits for an event to be parsed. They take about 40 kB.
_MOST_UNPARSED = 128
