"""Answers of NiceGUI, which draws its pages on the server, as the extension `output` sees them grow."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Collector, free_port, outputs, serving
from streamlit_pace import STALL_S, WAIT_S, WORD_S, WORDS
from webdriver import ENTER, Page, chromium

FRAME_MS = 1000 / 60
# Between the page's own log and the probe: a step of the clock, and the message after the frame.
ERROR_MS = 8.0
FIELD = 'input[placeholder="Ask"]'

# Starts the page's own log: when Enter was pressed, and each frame with more words.
START = """
while (!(window.llmRum?.probe && window.llmRumMore && document.querySelector(args[0])))
  await new Promise((next) => setTimeout(next, 20));
const log = (window.log = []);
const words = () => document.body.innerText.match(/word\\d+/g)?.length ?? 0;
let shown = 0, asked;
addEventListener("keydown", ({ key, timeStamp }) => key == "Enter" && log.push({ asked: timeStamp, frames: [] }), true);
new MutationObserver(() => {
  if (asked || words() <= shown) return;
  asked = true;
  requestAnimationFrame((start) => {
    asked = false;
    if (words() > shown) log.at(-1).frames.push(start);
    shown = words();
  });
}).observe(document.body, { subtree: true, childList: true, characterData: true });
window.ended = [];
window.llmRum.probe.onStreamEnd((report) => window.ended.push(report));
"""
ENDED = """
while (window.ended.length < args[0]) await new Promise((next) => setTimeout(next, 20));
await window.llmRum.probe.flush();
return window.log.at(-1);
"""


@pytest.fixture
def app(collector: Collector, tmp_path: Path) -> Iterator[str]:
    program, port = Path(__file__).with_name("nicegui_chat.py"), free_port()
    # Under pytest it would take another port.
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    command = [sys.executable, program, collector.url, str(port)]
    with serving(command, port, tmp_path / "log", cwd=tmp_path, env=environment) as url:
        yield url


def ask(page: Page, question: str, count: int) -> dict:
    page.type(FIELD, question + ENTER)
    return page.run(ENDED, count)


def test_answers_of_nicegui_are_measured(collector: Collector, app: str) -> None:
    with chromium() as page:
        page.open(app)
        page.run(START, FIELD)
        questions = ["How far is the moon?", "And a stall?"]
        logs = [ask(page, question, count) for count, question in enumerate(questions, start=1)]
    reports = outputs(collector, len(questions))
    for report, log in zip(reports, logs):
        first, last = log["frames"][0] - log["asked"], log["frames"][-1] - log["asked"]
        # A frame is presented after its start, and the log's frame may be the next one.
        errors = [report["ttfp_ms"] - first, report["e2e_ms"] - last]
        print("TTFP and last text against the page's log, in ms:", [round(error, 1) for error in errors])
        assert all(-FRAME_MS - ERROR_MS <= error <= FRAME_MS + ERROR_MS for error in errors), (errors, report, log)
        assert (report["observed"], report["outcome"]) == ("output", "complete"), report
        assert report["ttfp_ms"] >= WAIT_S * 1e3, "the question is not the answer"
        assert 2 <= report["deltas"] <= WORDS + 1, report
    assert [report.get("stalls", 0) for report in reports] == [0, 1], reports
    longest = reports[1]["longest_gap_ms"]
    assert STALL_S * 1e3 - FRAME_MS <= longest <= (STALL_S + WORD_S) * 1e3 + 5 * FRAME_MS, longest
