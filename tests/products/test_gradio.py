"""A real Gradio app in every engine: each answer is one report, with the times that its wire shows."""

import asyncio
import json
import os
import re
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Collector, free_port, serving, until
from webdriver import ENGINES, Page, browser

# Half of the reports differ from the wire by less than this; the text after the first comes 40 ms later.
ERROR_MS = 10.0
CHAT = Path(__file__).with_name("gradio_chat.py")
TWO_CHATS = Path(__file__).with_name("gradio_two_chats.py")
RECIPE = Path(__file__).parents[2] / "docs/gradio.md"
# As `gradio_chat.py` has it.
WORDS = 12
QUESTIONS = [f"question{number}" for number in range(10)]

TOOLS = """
const wait = async (what) => {
  while (!what()) await new Promise((next) => setTimeout(next, 10));
  return what();
};
const shows = (text) => document.body.innerText.includes(text);
await wait(() => window.llmRum?.probe && document.querySelector("button.submit-button"));
const ask = async (text) => {
  const input = await wait(() => document.querySelector("textarea:enabled"));
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(input, text);
  input.dispatchEvent(new Event("input", { bubbles: true }));
  (await wait(() => document.querySelector("button.submit-button:enabled"))).click();
};
"""

ASK = TOOLS + """
for (const question of args[0]) {
  await ask(question);
  await wait(() => shows(`About ${question}:`));
  await wait(() => document.querySelector("button.submit-button") && document.querySelector("textarea:enabled"));
}
await window.llmRum.probe.flush();
"""

STOP = TOOLS + """
await ask("endless");
await wait(() => shows("word3 "));
document.querySelector("button.stop-button").click();
await wait(() => document.querySelector("button.submit-button"));
await window.llmRum.probe.flush();
"""

FAIL = TOOLS + """
await ask(args[0]);
await wait(() => shows("Error"));
await window.llmRum.probe.flush();
"""

ASK_BOTH = """
while (!(window.llmRum?.probe && window.llmRumMore && document.querySelector("#right")))
  await new Promise((next) => setTimeout(next, 10));
const ended = [];
window.llmRum.probe.onStreamEnd((report) => ended.push(report));
for (const id of ["left", "right"]) document.querySelector(`#${id}`).click();
while (ended.length < 2) await new Promise((next) => setTimeout(next, 10));
await window.llmRum.probe.flush();
"""

# As clients before version 1 of `@gradio/client` read the queue.
EVENT_SOURCE = TOOLS + """
await wait(() => window.llmRumMore);
const { dependencies } = await (await fetch("/config")).json();
const fn_index = dependencies.find(({ api_name }) => api_name == "reply").id;
for (const question of args[0]) {
  const body = JSON.stringify({ data: [question, null], fn_index, session_hash: `session-${question}` });
  await fetch("/gradio_api/queue/join", { method: "POST", headers: { "content-type": "application/json" }, body });
  const source = new EventSource(`/gradio_api/queue/data?session_hash=session-${question}`);
  await new Promise((done) => {
    source.onmessage = ({ data }) => JSON.parse(data).msg == "close_stream" && done(source.close());
  });
}
await window.llmRum.probe.flush();
"""


class Wire:
    """Passes connections on to the app, and keeps when each message of the queue passed, since its request."""

    def __init__(self, app: int) -> None:
        self._app = app
        self.messages: list[tuple[float, dict]] = []
        self.port = 0
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self._serve, args=(ready,), daemon=True).start()
        ready.wait()

    def first_text(self, question: str) -> tuple[str, float]:
        """The call that answers the question, and when its first text passed."""
        for at_ms, message in self.messages:
            if f"About {question}: " in json.dumps(message):
                return message["event_id"], at_ms
        raise AssertionError(f"no answer to {question}")

    def calls(self) -> set[str]:
        return {message["event_id"] for _, message in self.messages if message["msg"] == "process_completed"}

    def _serve(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._pass, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self._loop.run_forever()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_app = await asyncio.open_connection("127.0.0.1", self._app)
        asked_at: list[float] = []
        await asyncio.gather(
            self._copy(reader, to_app[1], lambda data: self._note_request(data, asked_at)),
            self._copy(to_app[0], writer, lambda data: self._note_messages(data, asked_at)),
        )

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, note) -> None:
        try:
            while data := await source.read(65_536):
                note(data)
                target.write(data)
                await target.drain()
        except ConnectionError:
            pass
        target.close()

    def _note_request(self, data: bytes, asked_at: list[float]) -> None:
        if b"/queue/data" in data.split(b"\r\n", 1)[0]:
            asked_at[:] = [time.perf_counter()]

    def _note_messages(self, data: bytes, asked_at: list[float]) -> None:
        # The app writes each message as a whole.
        for line in re.findall(rb"data: (\{.*\})\n", data):
            self.messages.append(((time.perf_counter() - asked_at[0]) * 1e3, json.loads(line)))


@contextmanager
def app(collector: Collector, log: Path, program: Path = CHAT) -> Iterator[Wire]:
    port = free_port()
    environment = os.environ | {
        "COLLECTOR": collector.url, "GRADIO_SERVER_NAME": "127.0.0.1", "GRADIO_SERVER_PORT": str(port),
        "GRADIO_ANALYTICS_ENABLED": "False",
    }
    with serving([sys.executable, program], port, log, env=environment):
        yield Wire(port)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


@contextmanager
def page_of(wire: Wire, engine: str) -> Iterator[Page]:
    with browser(engine) as page:
        page.open(f"http://127.0.0.1:{wire.port}/")
        yield page


def reports(collector: Collector, is_all, kind: str = "answer") -> list[dict]:
    """All streams of this kind, once they are all there."""

    def found() -> list[dict] | None:
        streams = json.loads(collector.get(f"/v1/streams?limit=500&stream_kind={kind}"))["streams"]
        return streams if is_all(streams) else None

    return until(found, "streams of Gradio")


def has_answers(count: int):
    return lambda streams: sum("ttft_ms" in stream for stream in streams) >= count


def report_of(wire: Wire, streams: list[dict], question: str) -> tuple[dict, float]:
    """The only report of this answer, and by how much its TTFT differs from the wire's."""
    call, at_ms = wire.first_text(question)
    [report] = [stream for stream in streams if stream.get("response_id") == call]
    return report, abs(report["ttft_ms"] - at_ms)


def check_answers(wire: Wire, streams: list[dict]) -> None:
    """Each question has one answer in the reports, at the time of the wire."""
    errors = []
    for question in QUESTIONS:
        report, error_ms = report_of(wire, streams, question)
        errors.append(error_ms)
        assert (report["outcome"], report["deltas"]) == ("complete", WORDS)
    print(f"error of TTFT in ms: median {statistics.median(errors):.2f}, largest {max(errors):.2f}")
    assert statistics.median(errors) <= ERROR_MS, errors


def test_each_answer_is_one_stream_with_the_times_of_the_wire(collector: Collector, tmp_path: Path, engine: str) -> None:
    with app(collector, tmp_path / "log") as wire, page_of(wire, engine) as page:
        page.run(ASK, QUESTIONS)
        streams = reports(collector, has_answers(len(QUESTIONS)))
        check_answers(wire, streams)
        assert len(streams) == len(QUESTIONS)
        # The calls that enable the input again.
        others = len(wire.calls()) - len(QUESTIONS)
        assert others >= len(QUESTIONS)
        reports(collector, lambda streams: len(streams) >= others, "background")


def test_stop_aborts_and_errors_are_the_apps(collector: Collector, tmp_path: Path, engine: str) -> None:
    with app(collector, tmp_path / "log") as wire, page_of(wire, engine) as page:
        page.run(STOP)
        streams = reports(collector, has_answers(1))
        report, _ = report_of(wire, streams, "endless")
        assert report["outcome"] == "aborted"
        for failed, question in enumerate(["break", "fail"], 1):
            page.open(f"http://127.0.0.1:{wire.port}/")
            page.run(FAIL, question)
            streams = reports(collector, lambda all: count_failed(all) == failed)
        report, _ = report_of(wire, streams, "break")
        assert (report["outcome"], report["deltas"]) == ("provider_error", 3)


def count_failed(streams: list[dict]) -> int:
    return sum(stream["outcome"] == "provider_error" for stream in streams)


def test_two_chats_side_by_side_have_two_reports(collector: Collector, tmp_path: Path, engine: str) -> None:
    with app(collector, tmp_path / "log", TWO_CHATS) as wire, page_of(wire, engine) as page:
        page.run(ASK_BOTH)
        streams = reports(collector, has_answers(2))
        told = {stream["response_id"]: (stream["outcome"], stream["deltas"]) for stream in streams}
        left, right = wire.first_text("left")[0], wire.first_text("right")[0]
        assert told == {left: ("complete", 12), right: ("complete", 6)}


def test_event_source_reads_the_queue_as_well(collector: Collector, tmp_path: Path, engine: str) -> None:
    with app(collector, tmp_path / "log") as wire, page_of(wire, engine) as page:
        page.run(EVENT_SOURCE, QUESTIONS)
        check_answers(wire, reports(collector, has_answers(len(QUESTIONS))))


def test_the_recipe_of_the_docs_reports_each_answer(collector: Collector, tmp_path: Path, engine: str) -> None:
    [code] = re.findall(r"^```python\n(.*?)^```", RECIPE.read_text(), re.DOTALL | re.MULTILINE)
    code = code.replace("https://rum.example", collector.url).replace("pk_live_1", "pk_chat")
    program = tmp_path / "chat.py"
    program.write_text(f"""def model(message):
    yield from [f"About {{message}}: ", "some ", "words"]


{code}""")
    with app(collector, tmp_path / "log", program) as wire, page_of(wire, engine) as page:
        page.run(ASK, ["moon"])
        report, _ = report_of(wire, reports(collector, has_answers(1)), "moon")
        assert (report["outcome"], report["deltas"]) == ("complete", 3)
