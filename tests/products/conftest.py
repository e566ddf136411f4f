"""A scripted model server, and a collector that takes what real products say about its streams."""

import json
import os
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import pytest

Answer = TypeVar("Answer")

PROGRAM = os.environ["LLM_RUM"]
BACKEND = "backend-0123456789a"
READER = "reader-0123456789ab"
# Must not be in any file of the collector.
PLANTED = "PLANTED-7f3a"
PREFILL_S = 0.3
DECODE_S = 0.2
# A proxy that starts on a busy machine may need a minute.
PATIENCE_S = 180

CONFIG = f"""
[[sites]]
name = "chat"
keys = ["pk_chat"]
origins = ["loopback"]

[[tokens]]
name = "backend"
token = "{BACKEND}"
scopes = ["server_timings"]
sites = ["chat"]

[[tokens]]
name = "reader"
token = "{READER}"
scopes = ["read", "metrics"]
"""


class Upstream(BaseHTTPRequestHandler):
    """Answers as OpenAI's chat completions do. The model `broken` fails."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked["model"] == "broken":
            return self.whole(500, {"error": {"message": PLANTED, "type": "server_error"}})
        identity = {"id": self.server.next_id(), "created": 1764000000, "model": asked["model"]}
        usage = {"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7}
        time.sleep(PREFILL_S)
        if not asked.get("stream"):
            message = {"role": "assistant", "content": PLANTED}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return self.whole(200, identity | {"object": "chat.completion", "choices": [choice], "usage": usage})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        identity["object"] = "chat.completion.chunk"
        for delta in [{"role": "assistant", "content": PLANTED}, {"content": " and"}, {"content": " more"}]:
            self.event(identity | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            time.sleep(DECODE_S / 3)
        self.event(identity | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self.event(identity | {"choices": [], "usage": usage})
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")

    def whole(self, status: int, answer: dict[str, object]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def event(self, event: dict[str, object]) -> None:
        self.chunk(f"data: {json.dumps(event)}\n\n".encode())

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Says nothing: a test that fails says what it expected."""


class UpstreamServer(ThreadingHTTPServer):
    ids = 0

    def next_id(self) -> str:
        self.ids += 1
        return f"chatcmpl-{self.ids}of{os.getpid()}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


@dataclass
class Collector:
    url: str
    data: Path
    reports: int = 0

    def get(self, path: str) -> bytes:
        request = urllib.request.Request(self.url + path, headers={"authorization": f"Bearer {READER}"})
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def report(self, response_id: str) -> str:
        """What the probe sends about the stream with this id. Gives back the id of the report."""
        self.reports += 1
        stream = f"{self.reports:032x}"
        report = {"v": 1, "id": stream, "response_id": response_id, "outcome": "complete", "use_case": "chat"}
        report |= {"ttft_ms": 900.0, "ttfv_ms": 900.0, "e2e_ms": 2_000.0, "close_ms": 2_000.0}
        report |= {"chunks": 12, "events": 14, "deltas": 11, "bytes": 2_000}
        # Without a browser's name, the site's filter takes the request for a bot's.
        headers = {"user-agent": "Mozilla/5.0 Firefox", "origin": "http://127.0.0.1", "content-type": "text/plain"}
        body = json.dumps({"reports": [report]}).encode()
        request = urllib.request.Request(f"{self.url}/v1/beacons?site=pk_chat", body, headers)
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 204
        return stream

    def layer(self, stream: str, layer: str) -> dict[str, object]:
        """Waits until the stream has timings of the layer."""

        def timings() -> dict[str, object] | None:
            try:
                return json.loads(self.get(f"/v1/streams/{stream}")).get("layers", {}).get(layer)
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    raise
                return None

        return until(timings, f"layer {layer}")

    def facts(self, result: str) -> int:
        name = f'llm_rum_server_facts_total{{result="{result}"}} '
        lines = self.get("/metrics").decode().splitlines()
        return sum(int(line.removeprefix(name)) for line in lines if line.startswith(name))

    def files_with(self, text: str) -> list[Path]:
        return [path for path in self.data.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def until(ask: Callable[[], Answer | None], what: str, patience_s: int = PATIENCE_S) -> Answer:
    """Asks again until there is an answer."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        if (answer := ask()) is not None:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"no {what} within {patience_s} s")


def outputs(collector: Collector, count: int) -> list[dict]:
    """The ended reports of answers seen in the page, the oldest first."""

    def ended() -> list[dict] | None:
        streams = json.loads(collector.get("/v1/streams?stream_kind=output"))["streams"]
        found = [stream for stream in streams if not stream.get("open")]
        return found[::-1] if len(found) == count else None

    return until(ended, f"{count} answers seen in the page")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def serving(command: list[str | Path], port: int, log: Path, **options: Any) -> Iterator[str]:
    """A server that this command starts, with its output in `log`."""
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, **options)

    def listens() -> bool | None:
        assert process.poll() is None, log.read_text()[-2_000:]
        return is_listening(port) or None

    try:
        until(listens, "server")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def upstream() -> Iterator[UpstreamServer]:
    with UpstreamServer(("127.0.0.1", 0), Upstream) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    config = tmp_path / "llm-rum.toml"
    config.write_text(CONFIG)
    data = tmp_path / "data"
    command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--config", config, "--data", data]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout
        yield Collector(process.stdout.readline().rsplit(" ", 1)[1].strip(), data)
    finally:
        process.terminate()
        process.wait()
