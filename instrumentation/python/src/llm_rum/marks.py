"""What only the app knows about its stream."""

from __future__ import annotations

import math
from contextvars import ContextVar
from numbers import Real
from typing import Callable, Optional, Union

from .faults import log_once

Value = Union[int, float]


class Marks:
    """Marked values of one request that no comment has had yet."""

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}
        self.latest: dict[str, Value] = {}
        """Marked values, those that a comment has had included."""
        self.on_late: Optional[Callable[[], None]] = None
        """Called once when the app counts what came after its client had left, if the fact was sent without it."""

    def put(self, name: str, value: Value) -> None:
        """A later value replaces an earlier one."""
        self._values[name] = value
        self.latest[name] = value

    def end_late(self) -> None:
        """Tells that the marks of a call are complete."""
        if self.on_late is not None and "tokens_after_gone" in self.latest:
            on_late, self.on_late = self.on_late, None
            on_late()

    def take(self) -> dict[str, Value]:
        """The values, which are then forgotten. Another thread may add some at the same time."""
        names = [name for name in _NAMES if name in self._values]
        return {name: self._values.pop(name) for name in names}


def mark(
    *,
    queue_ms: Optional[float] = None,
    output_tokens: Optional[int] = None,
    tokens_after_gone: Optional[int] = None,
) -> None:
    """Adds values to the next comment of the current request.

    ``queue_ms`` is the part of the time to first token in which the request waited in a queue. ``output_tokens`` is
    the number of generated tokens. Call it before the event that ends the stream is sent.

    ``tokens_after_gone`` is the part of ``output_tokens`` that was generated after the client had left. Only the
    collector gets it. Call it once, also after the response is over.

    The request is found by a context variable. Outside of a request, and for clients that are no browsers, the call
    does nothing. It never raises: a value that is negative, not finite or no number is ignored and logged once.
    """
    marks = CURRENT.get()
    if marks is None:
        return
    counts = (("output_tokens", output_tokens), ("tokens_after_gone", tokens_after_gone))
    for name, value in (("queue_ms", queue_ms), *counts):
        if value is None:
            continue
        number = _valid(value, is_count=name != "queue_ms")
        if number is None:
            log_once("mark() ignored a wrong value of %s", name)
        else:
            marks.put(name, number)
    marks.end_late()


def _valid(value: object, is_count: bool) -> Optional[Value]:
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    number = float(value)
    if not math.isfinite(number) or number < 0 or (is_count and not number.is_integer()):
        return None
    return int(number) if is_count else round(number, 3)


CURRENT: ContextVar[Optional[Marks]] = ContextVar("llm_rum_marks", default=None)
"""The marks of the request that the current code works for."""

# Those of comments.
_NAMES = ("queue_ms", "output_tokens")
