"""Recorded streams of many APIs: the middleware finds the same first token as the probe in the browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from servers import COMMENT

from llm_rum.comments import CommentWriter
from llm_rum.marks import Marks

FOLDER = Path(__file__).parents[3] / "tests/fixtures/streams"


def timelines() -> list[tuple[str, list[dict[str, Any]], float]]:
    """Streams of events with times, and the time to first token of the expected report."""
    found = []
    for path in sorted(FOLDER.glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        report = json.loads(path.with_name(f"{path.stem}.expected.json").read_text(encoding="utf-8"))
        types = [line["headers"].get("content-type", "") for line in lines if "headers" in line]
        # The probe learns from several events where the text is, which the middleware cannot wait for.
        is_known = report.get("dialect") not in ("inferred", "generic", "gradio", "gradio_call", "mcp", "plain_text")
        if "ttft_ms" in report and any("event-stream" in it for it in types) and is_known:
            found.append((path.stem, lines, report["ttft_ms"]))
    assert found, f"no recordings in {FOLDER}"
    return found


@pytest.mark.parametrize(("name", "lines", "ttft_ms"), timelines(), ids=lambda it: it if isinstance(it, str) else "")
def test_the_first_token_is_that_of_the_probe(name: str, lines: list[dict[str, Any]], ttft_ms: float) -> None:
    writer = CommentWriter(0, Marks())
    body = b"".join(
        writer.feed(line["text"].encode(), line["t_ms"] / 1000) for line in lines if "text" in line
    )
    first = COMMENT.search(body + writer.end())
    assert first is not None
    assert json.loads(first[1])["ttft_ms"] == ttft_ms


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.body")), ids=lambda it: it.stem)
def test_comments_leave_recorded_bytes_unchanged(path: Path) -> None:
    body = path.read_bytes()
    for size in (len(body) or 1, 7, 1):
        writer = CommentWriter(0, Marks())
        chunks = [writer.feed(body[at : at + size], 1) for at in range(0, len(body), size)]
        # Some recordings have a comment of their own.
        assert COMMENT.sub(b"", b"".join(chunks) + writer.end()) == COMMENT.sub(b"", body)
