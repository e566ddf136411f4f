"""Facts that the middleware sends to a collector of a few lines."""

from __future__ import annotations

import asyncio
import json
import queue
import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Callable, Iterator

import pytest
from contract import CLIENTS, FACT_CASES, Clock, Result, check_fact, steps
from llm_rum import Middleware, Push, WsgiMiddleware, mark
from llm_rum.push import from_environment
from test_contract_asgi import run as run_asgi
from test_contract_wsgi import run as run_wsgi

BROWSER = [(b"sec-fetch-site", b"same-origin")]
TEXT = b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'


class Collector:
    """Its address, and the requests that it took."""

    def __init__(self) -> None:
        self.requests: queue.Queue[tuple[str, str, dict[str, Any]]] = queue.Queue()
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                requests.put((self.path, self.headers.get("authorization", ""), body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def fact(self) -> dict[str, Any]:
        [fact] = self.requests.get(timeout=30)[2]["facts"]
        return dict(fact)


@pytest.fixture()
def collector() -> Iterator[Collector]:
    running = Collector()
    yield running
    running.server.shutdown()
    running.server.server_close()


def stream(push: Push, headers: Any, how: str) -> bytes:
    """The body that a client gets of a stream that ends like this."""
    clock, body = Clock(), bytearray()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        kind = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        clock.set_ms(400)
        await send({"type": "http.response.body", "body": TEXT, "more_body": True})
        clock.set_ms(700)
        await send({"type": "http.response.body", "body": TEXT, "more_body": True})
        mark(output_tokens=9)
        clock.set_ms(900)
        if how == "error":
            raise LookupError
        if how == "gone":
            raise asyncio.CancelledError
        if how == "closed":
            raise ConnectionResetError
        if how == "complete":
            await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": False})

    async def take(message: Any) -> None:
        body.extend(message.get("body", b""))

    scope = {"type": "http", "method": "POST", "headers": headers}
    try:
        asyncio.run(Middleware(app, clock=clock, push=push)(scope, None, take))  # type: ignore[arg-type]
    except (LookupError, asyncio.CancelledError, ConnectionResetError):
        pass
    return bytes(body)


def test_a_fact_has_the_id_of_the_comment(collector: Collector) -> None:
    body = stream(Push(collector.url, "secret", "my chat"), BROWSER, "complete")
    path, authorization, sent = collector.requests.get(timeout=30)
    assert (path, authorization) == ("/v1/server-timings?site=my%20chat", "Bearer secret")
    comments = [json.loads(it) for it in re.findall(rb": llm-rum (.*)\n", body)]
    assert "id" in comments[0] and "id" not in comments[1]
    assert sent["facts"] == [
        {
            "id": comments[0]["id"],
            "layer": "app",
            "source": "llm-rum-python",
            "starts_from": "arrival",
            "ttft_ms": 400.0,
            "generation_ms": 300.0,
            "duration_ms": 900.0,
            "output_tokens": 9,
            "ended": "complete",
        }
    ]


@pytest.mark.parametrize(
    ("how", "ended"),
    [("error", "error"), ("gone", "client_gone"), ("closed", "client_gone"), ("returns", "client_gone")],
)
def test_a_fact_says_how_the_stream_ended(collector: Collector, how: str, ended: str) -> None:
    stream(Push(collector.url), BROWSER, how)
    assert collector.fact()["ended"] == ended


@pytest.mark.parametrize("run", [run_asgi, run_wsgi], ids=["asgi", "wsgi"])
def test_the_collector_gets_the_facts_of_the_contract(collector: Collector, run: Callable[..., Result]) -> None:
    push = from_environment({"LLM_RUM_COLLECTOR": collector.url})
    runs = [(case, client, run(case, client, steps(case), push)) for case in FACT_CASES for client in CLIENTS]
    expected = sum("fact" in case and client["comments"] for case, client, _ in runs)
    facts: list[dict[str, Any]] = []
    while len(facts) < expected:
        facts += collector.requests.get(timeout=30)[2]["facts"]
    assert len(facts) == expected
    for case, client, result in runs:
        own = facts[:1] if "fact" in case and client["comments"] else []
        facts = facts[len(own) :]
        check_fact(case, client, result, own)


def test_tokens_after_the_client_left_follow_in_a_second_fact(collector: Collector) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        kind = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        await send({"type": "http.response.body", "body": TEXT, "more_body": True})
        asyncio.get_running_loop().call_soon(read_on)
        raise asyncio.CancelledError

    def read_on() -> None:
        """What the app does with the rest of its upstream, in the context of the request."""
        sent.append(collector.fact())
        mark(output_tokens=40, tokens_after_gone=-1)
        mark(output_tokens=40, tokens_after_gone=31)
        mark(output_tokens=40, tokens_after_gone=32)

    async def serve() -> None:
        request = {"type": "http", "method": "POST", "headers": BROWSER}
        with pytest.raises(asyncio.CancelledError):
            await Middleware(app, push=Push(collector.url))(request, None, take)  # type: ignore[arg-type]
        await asyncio.sleep(0)

    async def take(message: Any) -> None:
        pass

    sent: list[dict[str, Any]] = []
    asyncio.run(serve())
    assert collector.fact() == {**sent[0], "output_tokens": 40, "tokens_after_gone": 31}
    assert (sent[0]["ended"], sent[0].get("output_tokens")) == ("client_gone", None)


def test_tokens_after_gone_are_absent_from_a_whole_stream(collector: Collector) -> None:
    def app(environ: Any, start_response: Any) -> Any:
        start_response("200 OK", [("Content-Type", "text/event-stream")])
        yield TEXT
        mark(output_tokens=3, tokens_after_gone=0)
        yield b"data: [DONE]\n\n"

    environ = {"REQUEST_METHOD": "POST", "HTTP_ORIGIN": "https://chat.example"}
    body: Any = WsgiMiddleware(app, push=Push(collector.url))(environ, lambda *_: None)  # type: ignore[arg-type]
    assert b"tokens_after_gone" not in b"".join(body)
    body.close()
    fact = collector.fact()
    assert (fact["ended"], fact["output_tokens"], "tokens_after_gone" in fact) == ("complete", 3, False)


def test_other_clients_get_no_id_and_send_no_fact(collector: Collector) -> None:
    push = Push(collector.url)
    assert stream(push, [], "complete") == TEXT + TEXT + b"data: [DONE]\n\n"
    stream(push, BROWSER, "complete")
    collector.fact()
    assert collector.requests.empty()


@pytest.mark.parametrize(("reads", "ended"), [(1, "client_gone"), (3, "complete")])
def test_a_wsgi_body_says_how_it_ended(collector: Collector, reads: int, ended: str) -> None:
    def app(environ: Any, start_response: Any) -> Any:
        start_response("200 OK", [("Content-Type", "text/event-stream")])
        return iter([TEXT, b"data: [DONE]\n\n"])

    environ = {"REQUEST_METHOD": "POST", "HTTP_ORIGIN": "https://chat.example"}
    body: Any = WsgiMiddleware(app, push=Push(collector.url))(environ, lambda *_: None)  # type: ignore[arg-type]
    for _ in range(reads):
        next(body, b"")
    body.close()
    assert collector.fact()["ended"] == ended


def test_a_collector_that_is_away_costs_the_app_nothing() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        push = Push(f"http://127.0.0.1:{closed.getsockname()[1]}")
    for _ in range(3_000):
        push.send({"id": "x"})
    assert push.dropped > 0, "the queue is bounded"


def test_it_is_off_unless_configured() -> None:
    assert from_environment({}) is None
    assert from_environment({"LLM_RUM_COLLECTOR": "rum.example"}) is None
    assert from_environment({"LLM_RUM_COLLECTOR": "https://rum.example"}) is not None
