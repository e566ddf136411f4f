"""Answers of Streamlit, whose stream no probe can read, as the extension `output` sees them grow."""

import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import Collector, free_port, outputs, serving
from streamlit_pace import STALL_AFTER, STALL_S, WAIT_S, WORDS
from webdriver import ENTER, Page, chromium

FRAME_MS = 1000 / 60
# Between the page's own log and the probe: a step of the clock, and the message after the frame.
ERROR_MS = 8.0
# Several times the pause between two words.
LATE_S = 0.4
FIELD = '[data-testid="stChatInputTextArea"]'
STOP = '[data-testid="stStatusWidget"] button'

DOCS = Path(__file__).parents[2] / "docs/streams-without-fetch.md"

# Starts the probe, and the page's own log: when Enter was pressed, each frame with more words, and when the app rests.
START = """
const [collector, field] = args;
const until = async (there) => { while (!there()) await new Promise((next) => setTimeout(next, 20)); };
await until(() => document.querySelector(field) && document.querySelector('[data-test-script-state="notRunning"]'));
for (const [file, data] of [["llm-rum.js", { site: "pk_chat" }], ["llm-rum-more.js", { with: "output" }]]) {
  const script = Object.assign(document.createElement("script"), { src: `${collector}/${file}` });
  Object.assign(script.dataset, data);
  document.head.append(script);
}
await until(() => window.llmRum?.probe && window.llmRumMore);
const log = (window.log = []);
const words = () => [...document.querySelectorAll('[data-testid="stChatMessageContent"]')].map(
  (message) => message.textContent.match(/word\\d+/g)?.length ?? 0).reduce((sum, count) => sum + count, 0);
let shown = words(), asked;
addEventListener("keydown", ({ key, timeStamp }) => key == "Enter" && log.push({ asked: timeStamp, frames: [] }), true);
addEventListener("click", ({ timeStamp }) => log.length && (log.at(-1).clicked = timeStamp), true);
new MutationObserver(() => {
  const last = log.at(-1) ?? {};
  if (document.querySelector('[data-test-script-state="running"]')) last.ran = true;
  else if (last.ran) last.rested ??= performance.now();
  if (asked || words() <= shown) return;
  asked = true;
  requestAnimationFrame((start) => {
    asked = false;
    const now = words();
    if (now > shown) log.at(-1).frames.push(start);
    shown = now;
  });
}).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
"""
# Keeps the page busy while the last word before the stall comes.
PAINT_LATE = f"""
const observer = new MutationObserver(() => {{
  if (!document.body.textContent.includes("word{STALL_AFTER - 1}")) return;
  observer.disconnect();
  setTimeout(() => {{
    const end = performance.now() + {LATE_S * 1e3};
    while (performance.now() < end);
  }});
}});
observer.observe(document.body, {{ subtree: true, childList: true, characterData: true }});
"""
RESTS = """
const end = performance.now() + 60000;
while (!window.log.at(-1)?.rested && performance.now() < end) await new Promise((next) => setTimeout(next, 20));
// Text right after the end still belongs to the answer.
await new Promise((next) => setTimeout(next, 700));
await window.llmRum.probe.flush();
return window.log;
"""


@pytest.fixture
def app(tmp_path: Path) -> Iterator[str]:
    program = Path(__file__).with_name("streamlit_chat.py")
    options = ["--server.address=127.0.0.1", "--server.port=0", "--server.headless=true"]
    options += ["--browser.gatherUsageStats=false", "--server.fileWatcherType=none"]
    command = [sys.executable, "-u", "-m", "streamlit", "run", program, *options]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        url = next(line.split("URL: ")[1].strip() for line in process.stdout if "URL: " in line)
        yield url
    finally:
        process.terminate()
        process.wait()


def ask(page: Page, question: str) -> dict:
    page.type(FIELD, question + ENTER)
    return page.run(RESTS)[-1]


def check(report: dict, log: dict) -> list[float]:
    """Holds the report to the page's own log. Gives back by how much they differ."""
    assert report["observed"] == "output"
    assert not {"ttft_ms", "ttfv_ms", "dialect", "finish_reason", "headers_ms"} & report.keys(), report
    first, last = log["frames"][0] - log["asked"], log["frames"][-1] - log["asked"]
    # A frame is presented after its start, and the log's frame may be the next one.
    errors = [report["ttfp_ms"] - first, report["e2e_ms"] - last]
    assert all(-FRAME_MS - ERROR_MS <= error <= FRAME_MS + ERROR_MS for error in errors), (errors, report, log)
    # Not the server's pace: a busy page paints a word late, and the gap after it is shorter.
    gap = max(after - before for before, after in pairwise(log["frames"]))
    assert abs(report["longest_gap_ms"] - gap) <= 2 * (FRAME_MS + ERROR_MS), (gap, report, log)
    return errors


def test_answers_of_streamlit_are_measured(collector: Collector, app: str) -> None:
    with chromium() as page:
        page.open(app)
        page.run(START, collector.url, FIELD)
        questions = ["Why is it **bold**?", "And a stall?", "Why is it **bold**?"]
        logs = [ask(page, question) for question in questions]
    reports = outputs(collector, len(questions))
    errors = [error for report, log in zip(reports, logs) for error in check(report, log)]
    print("TTFP and last text against the page's log, in ms:", [round(error, 1) for error in errors])
    for report, log in zip(reports, logs):
        assert report["outcome"] == "complete", report
        assert report["ttfp_ms"] >= WAIT_S * 1e3, "neither the question nor the name of an icon is the answer"
        assert 2 <= report["deltas"] <= WORDS + 1, report
        assert abs(report["close_ms"] - max(log["rested"] - log["asked"], report["e2e_ms"])) <= FRAME_MS, (report, log)
    assert [report.get("stalls", 0) for report in reports] == [0, 1, 0], reports


def test_gaps_are_those_between_paints(collector: Collector, app: str) -> None:
    with chromium() as page:
        page.open(app)
        page.run(START, collector.url, FIELD)
        page.run(PAINT_LATE)
        log = ask(page, "And a stall?")
    [report] = outputs(collector, 1)
    check(report, log)
    assert report["stalls"] == 1, report
    assert report["longest_gap_ms"] <= (STALL_S - LATE_S / 2) * 1e3, "the word before the stall was painted late"


def test_stop_in_streamlit_is_an_abort(collector: Collector, app: str) -> None:
    with chromium() as page:
        page.open(app)
        page.run(START, collector.url, FIELD)
        page.type(FIELD, "a long one" + ENTER)
        page.run("while (!(window.log.at(-1)?.frames.length > 3)) await new Promise((next) => setTimeout(next, 20));")
        page.click(STOP)
        [log] = page.run(RESTS)
    [report] = outputs(collector, 1)
    assert report["outcome"] == "aborted", report
    assert abs(report["close_ms"] - (log["clicked"] - log["asked"])) <= FRAME_MS, (report, log)


def test_statistics_keep_streamlit_apart(collector: Collector, app: str) -> None:
    with chromium() as page:
        page.open(app)
        page.run(START, collector.url, FIELD)
        ask(page, "Why?")
    outputs(collector, 1)
    assert json.loads(collector.get("/v1/summary?range=1h"))["streams"] == 0
    asked = "/v1/histogram?range=1h&metric=ttfp&stream_kind=output"
    assert json.loads(collector.get(asked))["n"] == 1


@pytest.fixture
def proxied(collector: Collector, app: str, tmp_path: Path) -> Iterator[str]:
    """The app behind nginx, which adds the tags as the docs have it."""
    port = free_port()
    [location] = re.findall(r"^```nginx\n(.*?)^```", DOCS.read_text(), re.DOTALL | re.MULTILINE)
    own = {"http://127.0.0.1:8501": app, "https://rum.example": collector.url, "pk_live_1": "pk_chat"}
    for name, value in own.items():
        assert name in location
        location = location.replace(name, value)
    kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    paths = "".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
    config = tmp_path / "nginx.conf"
    config.write_text(f"""
        daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log; events {{}}
        http {{ access_log off; {paths} server {{ listen 127.0.0.1:{port};
        {location} }} }}""")
    with serving(["nginx", "-p", tmp_path, "-c", config], port, tmp_path / "nginx.output") as url:
        yield url


def test_tags_that_nginx_adds_measure_streamlit(collector: Collector, proxied: str) -> None:
    with chromium() as page:
        page.open(proxied)
        page.run("""
            const there = () => window.llmRum?.probe && window.llmRumMore && document.querySelector(args[0]);
            while (!there()) await new Promise((next) => setTimeout(next, 20));
            window.ended = [];
            window.llmRum.probe.onStreamEnd((report) => window.ended.push(report));""", FIELD)
        page.type(FIELD, "Why?" + ENTER)
        page.run("""
            while (!window.ended.length) await new Promise((next) => setTimeout(next, 20));
            await window.llmRum.probe.flush();""")
    [report] = outputs(collector, 1)
    assert (report["outcome"], report["observed"]) == ("complete", "output"), report
    assert report["ttfp_ms"] >= WAIT_S * 1e3, report
