"""Answers of Panel, whose pages are shadow roots in shadow roots, as the extension `output` sees them grow."""

import json
import re
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from conftest import Collector, free_port, outputs, serving
from streamlit_pace import LONGER_S, STALL_S, WAIT_S, WORD_S, WORDS
from webdriver import ENTER, Page, chromium, post

FRAME_MS = 1000 / 60
# Between the page's own log and the probe: a step of the clock, and the message after the frame.
ERROR_MS = 8.0
DOCS = Path(__file__).parents[2] / "docs/streams-without-fetch.md"
SOCKET = ["data-with=webSocket", "data-socket=/ws"]

# Starts the page's own log: when Enter was pressed, and when each frame with more words was drawn. The first one draws the
# whole message, which takes longer than a frame.
START = """
const all = (root) => [...root.querySelectorAll("*")].flatMap((element) =>
  element.shadowRoot ? [element, ...all(element.shadowRoot)] : [element]);
const field = () => all(document).find((element) => element.matches("textarea"));
while (!(window.llmRum?.probe && window.llmRumMore && field())) await new Promise((next) => setTimeout(next, 20));
const paragraphs = () => all(document).filter((element) => element.matches("p"));
const words = () => paragraphs().flatMap(({ textContent }) => textContent.match(/word\\d+/g) ?? []).length;
const log = (window.log = []);
const drawn = new MessageChannel();
drawn.port1.onmessage = () => log.at(-1).frames.push(performance.now());
let shown = 0;
addEventListener("keydown", ({ key, timeStamp }) => key == "Enter" && log.push({ asked: timeStamp, frames: [] }), true);
const onFrame = () => {
  requestAnimationFrame(onFrame);
  const now = words();
  if (now > shown) drawn.port2.postMessage(0);
  shown = now;
};
requestAnimationFrame(onFrame);
Object.assign(window, { all, words });
window.ended = [];
window.llmRum.probe.onStreamEnd((report) => window.ended.push(report));
field().focus();
"""
SHOWN = """
while (window.words() < args[0]) await new Promise((next) => setTimeout(next, 20));
"""
STOP = """
window.all(document).find((element) => element.matches("button") && element.textContent.includes("Stop")).click();
"""
ENDED = """
while (window.ended.length < args[0]) await new Promise((next) => setTimeout(next, 20));
await window.llmRum.probe.flush();
return window.log.at(-1);
"""


def panel(collector: Collector, folder: Path, *extensions: str) -> AbstractContextManager[str]:
    program, port = Path(__file__).with_name("panel_chat.py"), free_port()
    command = [sys.executable, program, collector.url, str(port), *extensions]
    return serving(command, port, folder / "log", cwd=folder)


def ask(page: Page, question: str) -> None:
    keys = [{"type": way, "value": key} for key in question + ENTER for way in ("keyDown", "keyUp")]
    post(f"{page._session}/actions", {"actions": [{"type": "key", "id": "keys", "actions": keys}]})


def streams(collector: Collector) -> list[dict]:
    return json.loads(collector.get("/v1/streams"))["streams"]


def documented() -> str:
    """The attributes of the tag that the docs have for Panel."""
    [attributes] = re.findall(r'(data-with="output" data-output[^>]*)>', DOCS.read_text())
    return attributes


def test_answers_of_panel_are_measured(collector: Collector, tmp_path: Path) -> None:
    logs = []
    with panel(collector, tmp_path, documented()) as url, chromium() as page:
        page.open(url)
        page.run(START)
        for question in ["How far is the moon?", "And a stall?", "And a longer wait?"]:
            ask(page, question)
            logs.append(page.run(ENDED, len(logs) + 1))
    reports = outputs(collector, len(logs))
    for report, log in zip(reports, logs):
        first, last = log["frames"][0] - log["asked"], log["frames"][-1] - log["asked"]
        # The log's frame may be the next one.
        errors = [report["ttfp_ms"] - first, report["e2e_ms"] - last]
        print("TTFP and last text against the page's log, in ms:", [round(error, 1) for error in errors])
        assert all(-FRAME_MS - ERROR_MS <= error <= FRAME_MS + ERROR_MS for error in errors), (errors, report, log)
        assert (report["observed"], report["outcome"]) == ("output", "complete"), report
        assert report["ttfp_ms"] >= WAIT_S * 1e3, "neither the question nor the label of a button is the answer"
        assert 2 <= report["deltas"] <= WORDS, report
    assert [report.get("stalls", 0) for report in reports] == [0, 1, 0], reports
    assert reports[2]["ttfp_ms"] >= (WAIT_S + LONGER_S) * 1e3, "the sign that the app is at work is no answer"
    longest = reports[1]["longest_gap_ms"]
    assert STALL_S * 1e3 - FRAME_MS <= longest <= (STALL_S + WORD_S) * 1e3 + 5 * FRAME_MS, longest


def test_an_answer_stopped_in_panel_is_complete(collector: Collector, tmp_path: Path) -> None:
    with panel(collector, tmp_path, documented()) as url, chromium() as page:
        page.open(url)
        page.run(START)
        ask(page, "How far is it?")
        page.run(SHOWN + STOP, WORDS // 2)
        log = page.run(ENDED, 1)
    [report] = outputs(collector, 1)
    assert report["outcome"] == "complete", report
    assert len(log["frames"]) < WORDS
    assert abs(report["e2e_ms"] - (log["frames"][-1] - log["asked"])) <= FRAME_MS + ERROR_MS, (report, log)


def test_the_socket_of_panel_tells_no_questions(collector: Collector, tmp_path: Path) -> None:
    with panel(collector, tmp_path, *SOCKET) as url, chromium() as page:
        page.open(url)
        page.run(START)
        ask(page, "How far is it?")
        page.run(SHOWN + "await window.llmRum.probe.flush();", WORDS)
    assert streams(collector) == []


def test_questions_on_the_socket_of_panel_have_no_text(collector: Collector, tmp_path: Path) -> None:
    with panel(collector, tmp_path, *SOCKET, "data-asks=chat_message_event") as url, chromium() as page:
        page.open(url)
        page.run(START)
        ask(page, "How far is it?")
        page.run(SHOWN + "await window.llmRum.probe.flush();", WORDS)
    [stream] = streams(collector)
    assert (stream["dialect"], stream["deltas"]) == ("generic", 0)
    assert "ttft_ms" not in stream, stream
