"""Measures the time that the middleware adds to one chunk: ``python benchmark.py``.

The same stream runs several times. Of each chunk the shortest time counts, which leaves out other programs' work.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "src"))

from llm_rum.comments import CommentWriter
from llm_rum.marks import Marks

CHUNKS = 20_000
RUNS = 7


def chat(index: int) -> bytes:
    delta = {"content": f" word{index}", "role": None, "tool_calls": None}
    chunk = {
        "id": "chatcmpl-8f2a3b5e6d7c4a1b9e0f",
        "object": "chat.completion.chunk",
        "created": 1796000000,
        "model": "large-instruct",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}],
    }
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def messages(index: int) -> bytes:
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f" w{index}"}}
    return b"event: content_block_delta\ndata: " + json.dumps(delta).encode() + b"\n\n"


def halves(index: int) -> bytes:
    event = chat(index // 2)
    middle = len(event) // 2
    return event[middle:] if index % 2 else event[:middle]


def ten_events(index: int) -> bytes:
    return b"".join(chat(index + offset) for offset in range(10))


def run(chunks: list[bytes]) -> list[int]:
    """The nanoseconds of each chunk of one stream."""
    writer = CommentWriter(time.perf_counter(), Marks())
    times = []
    for chunk in chunks:
        begun = time.perf_counter_ns()
        writer.feed(chunk, time.perf_counter())
        times.append(time.perf_counter_ns() - begun)
    return times


def measure(name: str, make: object, count: int) -> None:
    assert callable(make)
    chunks = [make(index) for index in range(count)]
    runs = [run(chunks) for _ in range(RUNS)]
    times = sorted(map(min, *runs))
    p50, p99 = (times[int(len(times) * share)] / 1000 for share in (0.5, 0.99))
    print(f"{name:<28} {len(chunks[0]):>6} bytes  p50 {p50:6.1f} µs  p99 {p99:6.1f} µs")


if __name__ == "__main__":
    measure("Chat Completions", chat, CHUNKS)
    measure("Anthropic Messages", messages, CHUNKS)
    measure("half an event per chunk", halves, CHUNKS)
    measure("ten events per chunk", ten_events, CHUNKS // 10)
