"""Answers of Shiny's chat over its WebSocket, against the messages on the wire, as the page got them."""

import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import Collector, free_port, serving, until
from streamlit_pace import STALL_S, WORDS
from webdriver import ENTER, Page, chromium, post

ERROR_MS = 10.0
FIELD = ".tiptap"
STOP = ".shiny-chat-btn-send[data-state=cancel]"

# Notes the time of each message before the page and the probe see it.
WIRE = """
window.wire = [];
const { send } = WebSocket.prototype;
WebSocket.prototype.send = function (text) {
  wire.push(["out", performance.now(), text]);
  return send.call(this, text);
};
window.WebSocket = new Proxy(WebSocket, {
  construct(...call) {
    const socket = Reflect.construct(...call);
    socket.addEventListener("message", ({ data }) => wire.push(["in", performance.now(), data]));
    return socket;
  },
});
"""
START = """
while (!(window.llmRum?.probe && window.llmRumMore && document.querySelector(args[0])))
  await new Promise((next) => setTimeout(next, 20));
window.ended = [];
window.llmRum.probe.onStreamEnd((report) => window.ended.push(report));
"""
UNTIL = "while (!(%s)) await new Promise((next) => setTimeout(next, 20)); return %s;"

# What is asked, and the outcome, the deltas and the stalls of the answer. Of a stopped one no count of deltas is known.
ANSWERED = [
    ("How far is the moon?", "complete", WORDS, 0),
    ("And a stall?", "complete", WORDS, 1),
    ("A long one", "aborted", None, 0),
    ("How far is the moon?", "complete", WORDS, 0),
    # Last, as what it shows lies over the button that stops.
    ("Please fail", "provider_error", 5, 0),
]


@pytest.fixture
def app(collector: Collector, tmp_path: Path) -> Iterator[str]:
    program, port = Path(__file__).with_name("shiny_chat.py"), free_port()
    command = [sys.executable, program, collector.url, str(port)]
    with serving(command, port, tmp_path / "log", cwd=tmp_path) as url:
        yield url


def open_chat(page: Page, url: str) -> None:
    source = {"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {"source": WIRE}}
    post(f"{page._session}/goog/cdp/execute", source)
    page.open(url)
    page.run(START, FIELD)


def ask(page: Page, question: str) -> None:
    page.run("wire.length = 0;")
    page.type(FIELD, question + ENTER)


def ended(page: Page, count: int) -> tuple[dict, float, list[float]]:
    """The last report, when its question was sent, and when each piece of its answer came."""
    report, wire = page.run(UNTIL % (f"ended.length == {count}", "[ended.at(-1), wire]"))
    sent = next(at for way, at, text in wire if way == "out" and "userInput" in text)
    came = [at for way, at, text in wire if way == "in" and '"type": "chunk",' in text]
    return report, sent, came


def test_answers_of_shiny_are_as_on_the_wire(collector: Collector, app: str) -> None:
    with chromium() as page:
        open_chat(page, app)
        errors = []
        for count, (question, outcome, deltas, stalls) in enumerate(ANSWERED, start=1):
            ask(page, question)
            if outcome == "aborted":
                page.run(UNTIL % (f"document.querySelector('{STOP}') && wire.length > 10", "null"))
                page.click(STOP)
            report, sent, came = ended(page, count)
            assert (report["outcome"], report["deltas"]) == (outcome, deltas or report["deltas"]), (question, report)
            assert report["dialect"] == "inferred"
            errors.append(report["ttft_ms"] - (came[0] - sent))
            # Messages that waited together for a busy page have the time of the first. Some may come after Stop.
            last = came[report["deltas"] - 1]
            earliest = came[report["deltas"] - 2]
            assert earliest - ERROR_MS <= sent + report["e2e_ms"] <= last + ERROR_MS, (question, report)
            if stalls:
                assert report["stalls"] == stalls, report
                longest = max(later - earlier for earlier, later in pairwise(came))
                assert abs(report["longest_gap_ms"] - longest) <= ERROR_MS, report
                assert longest >= STALL_S * 1e3 - ERROR_MS
        print("largest error in ms:", round(max(map(abs, errors)), 2))
        assert max(map(abs, errors)) <= ERROR_MS, [round(error, 1) for error in errors]
        page.run("await window.llmRum.probe.flush();")

    def counted() -> list[dict] | None:
        streams = json.loads(collector.get("/v1/streams?limit=50"))["streams"]
        return streams if len(streams) == len(errors) else None

    outcomes = sorted(stream["outcome"] for stream in until(counted, "reports of all answers"))
    assert outcomes == ["aborted", "complete", "complete", "complete", "provider_error"]
