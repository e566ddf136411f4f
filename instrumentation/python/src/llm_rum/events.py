"""Finds the events in a stream that comes in chunks."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Optional


class Event(NamedTuple):
    """An event whose last line end is in the chunk just read."""

    start: Optional[int]
    """Where it begins in the chunk. ``None`` if nothing can be put before it: it began in an earlier chunk, or it
    begins with the byte order mark of the stream."""
    end: int
    """The place after its last line end."""
    head: bytes
    """The event, or if it is longer than that, its first ``HEAD_BYTES``."""


class EventReader:
    """The state between two chunks. It keeps only the head and the last bytes of an unfinished event."""

    def __init__(self) -> None:
        self.line_end = b"\n"
        """Of the latest line before an empty line."""
        self.has_id = False
        """Whether the stream has had a line ``id:`` or ``retry:``. Some clients take an empty line after such a line
        for an event, even if only a comment precedes it."""
        self.ends_with_cr = False
        """Whether the latest event ended with a CR at the end of its chunk. A following LF belongs to it."""
        self._is_first = True
        self._size = 0
        self._head = b""
        self._tail = b""

    @property
    def is_between_events(self) -> bool:
        """Whether the bytes so far end with an event."""
        return self._size == 0 and not self._is_first

    def first_boundary(self, chunk: bytes) -> int:
        """The place in the next chunk where the previous event is over, if it is."""
        return int(self.ends_with_cr and chunk.startswith(b"\n"))

    def read(self, chunk: bytes) -> Iterator[Event]:
        """Gives each event that ends in the chunk. Then it keeps what it needs of the rest."""
        at = self.first_boundary(chunk)
        self.ends_with_cr = False
        while at < len(chunk):
            # The last bytes of an unfinished event may be the first part of a line end or of a field name.
            kept = len(self._tail)
            part, start = (self._tail + chunk[at:], 0) if kept else (chunk, at)
            boundary = self._find_end(part, start)
            end = boundary or len(part)
            self._look_for_id(part, start, end)
            taken = end - start - kept
            if len(self._head) < HEAD_BYTES:
                self._head += chunk[at : at + min(taken, HEAD_BYTES - len(self._head))]
            self._size += taken
            if boundary is None:
                self._tail = part[max(start, end - _TAIL_BYTES) :]
                return
            self.ends_with_cr = at + taken == len(chunk) and part[end - 1] == _CR
            head, is_movable = self._head, not kept
            if self._is_first and head.startswith(_BYTE_ORDER_MARK):
                head, is_movable = head[len(_BYTE_ORDER_MARK) :], False
            self._is_first = False
            self._size, self._head, self._tail = 0, b"", b""
            yield Event(at if is_movable else None, at + taken, head)
            at += taken

    def _find_end(self, part: bytes, start: int) -> Optional[int]:
        """The place after the next empty line."""
        if not self._tail:
            empty_line = _EMPTY_LINE.match(part, start)
            if empty_line is not None:
                return empty_line.end()
        if b"\r" not in part:
            # This takes a quarter of the time of the expression.
            at = part.find(b"\n\n", start)
            if at < 0:
                return None
            self.line_end = b"\n"
            return at + 2
        boundary = _EVENT_END.search(part, start)
        if boundary is None:
            return None
        self.line_end = boundary.group(1)
        return boundary.end()

    def _look_for_id(self, part: bytes, start: int, end: int) -> None:
        is_whole = self._size <= _TAIL_BYTES
        if is_whole and part.startswith(_FIRST_ID_LINES, start, end):
            self.has_id = True
        for line in _ID_LINES:
            if part.find(line, start, end) >= 0:
                self.has_id = True


HEAD_BYTES = 16385
"""One more than is parsed, so that a longer event is known as such."""

_CR = 13
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_EMPTY_LINE = re.compile(rb"\r\n|\n|\r")
# A CR before an LF is no line end of its own.
_EVENT_END = re.compile(rb"(\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))")
_ID_LINES = (b"\nid:", b"\nretry:", b"\rid:", b"\rretry:")
_FIRST_ID_LINES = (b"id:", b"retry:", _BYTE_ORDER_MARK + b"id:", _BYTE_ORDER_MARK + b"retry:")
# As long as the longest first line, and longer than the others.
_TAIL_BYTES = 9
