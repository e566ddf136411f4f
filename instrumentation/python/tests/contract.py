"""Reads the contract and compares responses with it."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator, Optional

CONTRACT = json.loads((Path(__file__).parents[2] / "contract.json").read_text(encoding="utf-8"))
CASES: list[dict[str, Any]] = CONTRACT["cases"]
CLIENTS: list[dict[str, Any]] = CONTRACT["clients"]
FACT_CASES: list[dict[str, Any]] = CONTRACT["fact_cases"]


@dataclass
class Step:
    """One thing that the app does, at a time by the clock of the test."""

    at: float
    send: Optional[bytes] = None
    mark: Optional[dict[str, Any]] = None
    fails: bool = False
    client_leaves: bool = False


@dataclass
class Result:
    """What a client received, and how the exchange ended."""

    status: int
    headers: list[tuple[str, str]]
    chunks: list[bytes]
    """One for each chunk of the app, and one for the end."""
    error: Optional[BaseException] = None
    body: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.body = b"".join(self.chunks)


class AppFailure(Exception):
    """The error of an app whose source failed."""


class Clock:
    """Stands still until a step moves it."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def set_ms(self, since_arrival: float) -> None:
        self.seconds = 1000.0 + since_arrival / 1000


def text(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list):
        return b"".join(map(text, value))
    if "base64" in value:
        return base64.b64decode(value["base64"])
    return bytes(value["repeat"].encode() * value["times"])


def steps(case: dict[str, Any]) -> list[Step]:
    found, at = [], 0.0
    for step in case["steps"]:
        at = step.get("at_ms", at)
        send = text(step["send"]) if "send" in step else None
        found.append(Step(at, send, step.get("mark"), "fail" in step, "client_leaves" in step))
    return found


def cuts(case: dict[str, Any]) -> Iterator[list[Step]]:
    """The steps with one more cut at each position of the body, and with each byte as a chunk."""
    whole = steps(case)
    for at, step in enumerate(whole):
        for cut in range(1, len(step.send or b"")):
            assert step.send is not None
            pieces = [Step(step.at, step.send[:cut]), Step(step.at, step.send[cut:])]
            yield whole[:at] + pieces + whole[at + 1 :]
    yield [
        piece
        for step in whole
        for piece in (
            [Step(step.at, step.send[i : i + 1]) for i in range(len(step.send))] if step.send else [step]
        )
    ]


def method(case: dict[str, Any], client: dict[str, Any]) -> str:
    return str(case.get("request", {}).get("method") or client.get("method") or "POST")


def response(case: dict[str, Any]) -> tuple[int, list[tuple[str, str]]]:
    given = case.get("response", {})
    headers = given.get("headers", {"content-type": "text/event-stream"})
    return given.get("status", 200), list(headers.items())


def check(case: dict[str, Any], client: dict[str, Any], sent: list[Step], result: Result) -> None:
    """Fails if the client did not receive what the contract says."""
    own = b"".join(step.send or b"" for step in sent)
    status, headers = response(case)
    assert result.status == status
    unchanged = not client["comments"] or case["expect"] == "unchanged"
    if not unchanged and "expect_headers" in case:
        headers = list(case["expect_headers"].items())
    assert _lower(result.headers) == _lower(headers)
    if unchanged:
        assert result.body == own
    else:
        expected = _Expected(case["expect"])
        assert expected.body == own
        expected.check(result.body, sent)
    fails = any(step.fails for step in sent)
    assert isinstance(result.error, AppFailure) if fails else result.error is None


def check_fact(case: dict[str, Any], client: dict[str, Any], result: Result, facts: list[dict[str, Any]]) -> None:
    """Fails if the collector did not get what the contract says, or the stream has another id."""
    comments = [json.loads(it) for it in re.findall(rb"^: llm-rum (.*)$", result.body, re.MULTILINE)]
    assert re.sub(rb": llm-rum .*\n\n", b"", result.body) == b"".join(step.send or b"" for step in steps(case))
    if "fact" not in case or not client["comments"]:
        assert (facts, comments) == ([], [])
        return
    [fact] = facts
    server_id = fact.pop("id")
    assert re.fullmatch("[A-Za-z0-9_-]{16,64}", server_id)
    assert fact.pop("source") == "llm-rum-python"
    assert fact == case["fact"]
    assert [comment.get("id") for comment in comments] == [server_id, None][: len(comments)]


class _Expected:
    """The expected body: the app's own, and where each comment may stand in it."""

    def __init__(self, expect: list[Any]) -> None:
        self.body = b""
        self.comments: list[tuple[str, dict[str, Any], bytes]] = []
        self.places: dict[str, list[int]] = {}
        for part in expect:
            if isinstance(part, dict) and "comment" in part:
                self.comments.append((part["comment"], part["values"], part["end"].encode()))
                self.places[part["comment"]] = [len(self.body)]
            elif isinstance(part, dict) and "late" in part:
                self.places[part["late"]].append(len(self.body))
            else:
                self.body += text(part)

    def check(self, body: bytes, sent: list[Step]) -> None:
        cut_at, cuts_at = 0, set()
        for step in sent:
            cut_at += len(step.send or b"")
            cuts_at.add(cut_at)
        own = 0
        for name, values, end in self.comments:
            start = body.find(b": llm-rum ", own)
            assert start >= 0, f"no {name} comment"
            line = re.compile(rb": llm-rum (\{[^\r\n]*\})" + re.escape(end)).match(body, start)
            assert line is not None, body[start : start + 120]
            assert json.loads(line[1]) == values
            assert line.end() - line.start() <= 120
            place = self.places[name]
            is_cut = len(place) > 1 and any(place[0] < cut < place[1] for cut in cuts_at)
            assert start in place if is_cut else start == place[0], (name, start, place)
            body = body[:start] + body[line.end() :]
            own = start
        assert body == self.body


def _lower(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name.lower(), value) for name, value in headers]
