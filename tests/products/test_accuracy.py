"""Every part of the wait against the logs of a scripted backend: arrival, app work, queue, prefill."""

import asyncio
import json
import os
import shutil
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import BACKEND, Collector, free_port, serving, until
from webdriver import chromium

STREAMS = 200
AT_ONCE = 4
QUEUE_S, PREFILL_S, TOKEN_S, TOKENS = 0.3, 0.5, 0.02, 10
# The collector's figures may differ from a log by this much, or by this share.
ERROR_MS, ERROR_SHARE = 10.0, 0.03

CHAT = """
const [streams, atOnce] = args, waits = [];
while (!window.llmRum?.probe) await new Promise((next) => setTimeout(next, 10));
const one = async () => {
  const start = performance.now();
  const reader = (await fetch("/chat", { method: "POST" })).body.getReader();
  let first, text = "";
  for (let read; !(read = await reader.read()).done; ) {
    text += new TextDecoder().decode(read.value);
    if (!first && /"content":"[^"]/.test(text)) first = performance.now() - start;
  }
  waits.push([/"id":"(chatcmpl[^"]*)/.exec(text)[1], first]);
};
const worker = async () => { while (streams > waits.length + running) { running++; await one().finally(() => running--); } };
let running = 0;
await Promise.all(Array.from({ length: atOnce }, worker));
await window.llmRum.probe.flush();
return waits;
"""


class Engine:
    """Answers as OpenAI's chat completions, and sends its own timings, as an engine's span does."""

    def __init__(self, collector: str) -> None:
        self.collector = collector
        self.logs: dict[str, dict[str, float]] = {}
        self.port = 0
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self._serve, args=(ready,), daemon=True).start()
        ready.wait()

    def _serve(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._answer, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self._loop.run_forever()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                arrival = time.perf_counter()
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                await reader.readexactly(int(length.split(b":")[1]))
                await self._stream(writer, arrival)
        except asyncio.IncompleteReadError:
            writer.close()

    async def _stream(self, writer: asyncio.StreamWriter, arrival: float) -> None:
        identity = f"chatcmpl-{len(self.logs)}of{os.getpid()}"
        log = self.logs[identity] = {}
        await asyncio.sleep(QUEUE_S)
        log["queue_ms"] = (time.perf_counter() - arrival) * 1e3
        await asyncio.sleep(PREFILL_S)
        log["ttft_ms"] = (time.perf_counter() - arrival) * 1e3
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for number in range(TOKENS):
            self._event(writer, identity, {"content": f"word{number} "}, None)
            await asyncio.sleep(TOKEN_S)
        self._event(writer, identity, {}, "stop")
        done = b"data: [DONE]\n\n"
        writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(done), done))
        await writer.drain()

    def _event(self, writer: asyncio.StreamWriter, identity: str, delta: dict[str, str], reason: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        event = {"id": identity, "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [choice]}
        data = f"data: {json.dumps(event)}\n\n".encode()
        writer.write(b"%x\r\n%b\r\n" % (len(data), data))

    def send_timings(self) -> None:
        facts = [{"id": identity, "layer": "engine", "source": "scripted", "starts_from": "arrival", **log}
                 for identity, log in self.logs.items()]
        headers = {"content-type": "application/json", "authorization": f"Bearer {BACKEND}"}
        body = json.dumps({"facts": facts}).encode()
        request = urllib.request.Request(f"{self.collector}/v1/server-timings", body, headers)
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer)["accepted"] == len(facts)


@contextmanager
def backend(collector: Collector, engine: Engine, log: Path) -> Iterator[str]:
    port = free_port()
    environment = os.environ | {
        "PYTHONPATH": str(Path(__file__).parents[2] / "instrumentation/python/src"),
        "COLLECTOR": collector.url, "UPSTREAM": f"http://127.0.0.1:{engine.port}/v1", "LOG": str(log),
    }
    uvicorn = [sys.executable, "-m", "uvicorn", "fastapi_chat:app", "--port", str(port), "--log-level", "warning"]
    with serving(uvicorn, port, log.with_suffix(".output"), env=environment, cwd=Path(__file__).parent) as url:
        yield url


@contextmanager
def nginx(upstream: str, folder: Path) -> Iterator[str]:
    port = free_port()
    paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in
                    ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    (folder / "nginx.conf").write_text(f"""
        daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}
        http {{ access_log off; {paths} server {{ listen 127.0.0.1:{port};
        location / {{ proxy_pass {upstream}; proxy_buffering on; }} }} }}""")
    command = ["nginx", "-p", folder, "-c", folder / "nginx.conf"]
    with serving(command, port, folder / "nginx.output") as url:
        yield url


def chat(url: str, streams: int) -> dict[str, float]:
    """Time to first token as the page itself saw it, by the id of the response."""
    with chromium() as page:
        page.open(url)
        return dict(page.run(CHAT, streams, AT_ONCE))


def reports(collector: Collector, count: int) -> dict[str, dict]:
    """The streams with the engine's timing, by the id of the response."""

    def matched() -> dict[str, dict] | None:
        streams = json.loads(collector.get("/v1/streams?limit=500"))["streams"]
        found = {stream["response_id"]: stream for stream in streams if "engine" in stream.get("layers", {})}
        return found if len(found) == count else None

    return until(matched, f"{count} streams with the engine's timing")


def is_right(figure_ms: float, truth_ms: float) -> bool:
    return abs(figure_ms - truth_ms) <= max(ERROR_MS, ERROR_SHARE * truth_ms)


def parts(report: dict) -> dict[str, float]:
    """The parts of the user's wait, as docs/phases.md defines them."""
    app_ms, engine = report["server"]["ttft_ms"], report["layers"]["engine"]
    return {
        "network": report["ttft_ms"] - app_ms,
        "app": app_ms - engine["ttft_ms"],
        "queue": engine["queue_ms"],
        "prefill": engine["ttft_ms"] - engine["queue_ms"],
    }


def test_every_part_of_the_wait_is_right(collector: Collector, tmp_path: Path) -> None:
    engine = Engine(collector.url)
    with backend(collector, engine, tmp_path / "log") as url:
        seen = chat(url, STREAMS)
    engine.send_timings()
    found = reports(collector, STREAMS)
    app_log = {line["id"]: line for line in map(json.loads, (tmp_path / "log").read_text().splitlines())}
    errors: dict[str, float] = {}
    wrong = []
    for identity, report in found.items():
        engine_log, part = engine.logs[identity], parts(report)
        truth = {
            "network": seen[identity] - app_log[identity]["ttft_ms"],
            "app": app_log[identity]["ttft_ms"] - engine_log["ttft_ms"],
            "queue": engine_log["queue_ms"],
            "prefill": engine_log["ttft_ms"] - engine_log["queue_ms"],
        }
        for name, truth_ms in truth.items():
            errors[name] = max(errors.get(name, 0), abs(part[name] - truth_ms))
            if not is_right(part[name], truth_ms):
                wrong.append((identity, name, part[name], truth_ms))
    print("largest errors in ms:", {name: round(error, 2) for name, error in errors.items()})
    assert not wrong
    check_phases(collector, engine)


def check_phases(collector: Collector, engine: Engine) -> None:
    """The panel's own answer has all streams, and the medians of the logs."""

    def counted() -> dict[str, dict] | None:
        phases = {phase["phase"]: phase for phase in json.loads(collector.get("/v1/phases"))["phases"]}
        return phases if phases.get("app", {}).get("n") == STREAMS else None

    phases = until(counted, "phases of all streams")
    queues = sorted(log["queue_ms"] for log in engine.logs.values())
    prefills = sorted(log["ttft_ms"] - log["queue_ms"] for log in engine.logs.values())
    for name, waits in {"server_queue": queues, "prefill": prefills}.items():
        assert is_right(phases[name]["p50_ms"], waits[STREAMS // 2]), name
    print({name: phase.get("p50_ms") for name, phase in phases.items() if phase["n"]})


def test_a_buffering_proxy_counts_as_network(collector: Collector, tmp_path: Path) -> None:
    assert shutil.which("nginx"), "nginx is installed"
    engine = Engine(collector.url)
    with backend(collector, engine, tmp_path / "log") as url, nginx(url, tmp_path) as proxy:
        chat(proxy, 20)
    engine.send_timings()
    generation_ms = TOKENS * TOKEN_S * 1e3
    for report in reports(collector, 20).values():
        part = parts(report)
        # nginx holds the whole answer back, and no server is blamed.
        assert part["network"] >= generation_ms * 0.9, part
        assert part["app"] + part["queue"] + part["prefill"] <= report["ttft_ms"] - generation_ms * 0.9
