"""Chainlit with its own page: answers over socket.io against the messages on the wire, as the page got them."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import pytest
from conftest import Collector, free_port, serving, until
from webdriver import Page, chromium, post

ERROR_MS = 10.0

# Notes the time of each packet before the page and the probe see it, and how many sockets the page opens.
WIRE = """
window.wire = [];
window.sockets = 0;
const note = (way, text) => wire.push([way, performance.now(), text]);
const { send } = WebSocket.prototype;
WebSocket.prototype.send = function (text) { note("out", text); return send.call(this, text); };
window.WebSocket = new Proxy(WebSocket, {
  construct(...call) {
    window.sockets++;
    const socket = Reflect.construct(...call);
    socket.addEventListener("message", ({ data }) => note("in", data));
    return socket;
  },
});
const { send: sendRequest } = XMLHttpRequest.prototype;
XMLHttpRequest.prototype.send = function (body) {
  const noteAll = (way, packets) => packets.split("\\x1e").forEach((packet) => note(way, packet));
  if (typeof body == "string") noteAll("out", body);
  this.addEventListener("load", () => /^(text)?$/.test(this.responseType) && noteAll("in", this.responseText));
  return sendRequest.call(this, body);
};
"""

RECIPE = Path(__file__).parents[2] / "docs/recipes/chainlit.js"

ENDED_STREAMS = """
const ended = window.endedStreams = [];
const wait = setInterval(() => {
  if (!window.llmRum?.probe) return;
  clearInterval(wait);
  window.llmRum.probe.onStreamEnd((report) => ended.push(report));
}, 5);
"""

# What is asked, and the outcome and the deltas of the answer.
ANSWERED = [
    ("hello there", "complete", 6),
    ("whole", "complete", 1),
    ("again", "complete", 6),
    ("fail", "provider_error", 4),
]

UNTIL = "while (!(%s)) await new Promise((next) => setTimeout(next, 20)); return %s;"


@contextmanager
def chainlit(collector: Collector, folder: Path, transport: str) -> Iterator[str]:
    port = free_port()
    (folder / "public").mkdir()
    loader = RECIPE.read_text().replace("https://rum.example", collector.url).replace("pk_live_1", "pk_chat")
    (folder / "public/llm-rum-loader.js").write_text(loader + ENDED_STREAMS)
    (folder / ".chainlit").mkdir()
    # It refuses the file of another version.
    meta = f'[meta]\ngenerated_by = "{version("chainlit")}"\n'
    ui = '[UI]\nname = "Assistant"\ncustom_js = "/public/llm-rum-loader.js"\n'
    project = f'[project]\ntransports = ["{transport}"]\n'
    (folder / ".chainlit/config.toml").write_text(project + ui + meta)
    app = Path(__file__).parent / "chainlit_chat.py"
    command = [sys.executable, "-m", "chainlit", "run", app, "--headless", "--host", "127.0.0.1", "--port", str(port)]
    environment = os.environ | {"CHAINLIT_APP_ROOT": str(folder)}
    with serving(command, port, folder / "chainlit.log", cwd=folder, env=environment) as url:
        yield url


class Chat:
    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        post(f"{page._session}/goog/cdp/execute",
             {"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {"source": WIRE}})
        page.open(url)
        self.until("window.llmRum?.probe && document.querySelector('#chat-input') && wire.some(([way]) => way == 'in')")

    def until(self, condition: str, result: str = "null") -> object:
        return self.page.run(UNTIL % (condition, result))

    def find(self, selector: str) -> str:
        self.until(f"document.querySelector('{selector}:not(:disabled)')")
        found = post(f"{self.page._session}/element", {"using": "css selector", "value": selector})
        return f"{self.page._session}/element/{next(iter(found.values()))}"

    def ask(self, text: str) -> None:
        self.page.run("wire.length = 0;")
        post(f"{self.find('#chat-input')}/value", {"text": text})
        post(f"{self.find('#chat-submit')}/click", {})

    def ended(self, count: int) -> dict:
        return self.until(f"endedStreams.length == {count}", "endedStreams.at(-1)")

    def wire(self) -> list[list]:
        return self.page.run("return wire;")


def times(wire: list[list]) -> tuple[float, list[float]]:
    """When the question was sent, and when each piece of its answer came."""
    sent = next(at for way, at, text in wire if way == "out" and "client_message" in text)
    came = [at for way, at, text in wire if way == "in" and is_text(text)]
    return sent, came


def is_text(packet: str) -> bool:
    if not packet.startswith("42"):
        return False
    name, *arguments = json.loads(packet[2:])
    is_answer = name == "new_message" and arguments[0]["type"] == "assistant_message"
    return name in ["stream_start", "stream_token"] or is_answer


@pytest.mark.parametrize("transport", ["websocket", "polling"])
def test_answers_over_socket_io_are_as_on_the_wire(collector: Collector, tmp_path: Path, transport: str) -> None:
    with chainlit(collector, tmp_path, transport) as url, chromium() as page:
        chat = Chat(page, url)
        assert (page.run("return sockets;") > 0) == (transport == "websocket")
        errors = []
        for count, (question, outcome, deltas) in enumerate(ANSWERED, start=1):
            chat.ask(question)
            report = chat.ended(count)
            sent, came = times(chat.wire())
            assert (report["outcome"], report["deltas"]) == (outcome, deltas), (question, report)
            assert report["dialect"] == "inferred"
            errors.append(report["ttft_ms"] - (came[0] - sent))
            # Messages that waited together for a busy page have the time of the first.
            earliest = came[-2] if deltas > 1 else came[0]
            assert earliest - ERROR_MS <= sent + report["e2e_ms"] <= came[-1] + ERROR_MS, (question, report)
        chat.ask("slow")
        chat.until("wire.filter(([, , text]) => text.includes('stream_token')).length > 10")
        post(f"{chat.find('#stop-button')}/click", {})
        report = chat.ended(5)
        sent, came = times(chat.wire())
        assert report["outcome"] == "aborted", report
        errors.append(report["ttft_ms"] - (came[0] - sent))
        print("largest error in ms:", round(max(map(abs, errors)), 2))
        assert max(map(abs, errors)) <= ERROR_MS, [round(error, 1) for error in errors]
        page.run("await window.llmRum.probe.flush();")

        def counted() -> list[dict] | None:
            streams = json.loads(collector.get("/v1/streams?limit=50"))["streams"]
            return streams if len(streams) == 5 else None

        outcomes = sorted(stream["outcome"] for stream in until(counted, "five streams"))
        assert outcomes == ["aborted", "complete", "complete", "complete", "provider_error"]
