"""Open WebUI with its own page: answers over socket.io against the messages on the wire, as the page got them."""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import Collector, Upstream, UpstreamServer, free_port, serving, until
from test_chainlit import ENDED_STREAMS, ERROR_MS, UNTIL, WIRE
from webdriver import Page, chromium, post

RECIPE = Path(__file__).parents[2] / "docs/recipes/open-webui.js"

# Notes the time of each request for an answer, too.
REQUESTS = """
window.fetch = new Proxy(fetch, {
  apply(native, self, call) {
    if (String(call[0]).endsWith("/api/chat/completions")) note("ask", call[1].body);
    return Reflect.apply(native, self, call);
  },
});
"""

# What is asked, and the outcome and the deltas of the answer.
ANSWERED = [
    ("hello there", "complete", 6),
    ("again", "complete", 6),
    ("fail", "provider_error", 4),
    ("cut", "provider_error", 4),
    ("refuse", "provider_error", 0),
    ("stop it", "aborted", None),
    ("once more", "complete", 6),
]

PIECES = ["The", " moon", " is", " far", " away", "."]


class Model(Upstream):
    """One model, whose answer depends on the question."""

    def do_GET(self) -> None:
        self.whole(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        question = asked["messages"][-1]["content"]
        self.identity = {"id": self.server.next_id(), "created": 1764000000, "model": asked["model"]}
        if not asked.get("stream"):
            # A title for the chat, or tags.
            choice = {"index": 0, "message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}
            return self.whole(200, self.identity | {"object": "chat.completion", "choices": [choice]})
        if question == "refuse":
            return self.whole(500, {"error": {"message": "the upstream broke", "type": "server_error"}})
        time.sleep(0.3)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.delta({"role": "assistant", "content": ""})
        for piece in PIECES:
            self.delta({"content": piece})
            time.sleep(0.03)
            if question == "fail" and piece == " far":
                self.event({"error": {"message": "the upstream broke", "type": "server_error", "code": 500}})
                return self.chunk(b"")
            if question == "cut" and piece == " far":
                self.close_connection = True
                return
        try:
            while question == "stop it":
                self.delta({"content": " on"})
                time.sleep(0.05)
        except OSError:
            # The user has stopped it.
            self.close_connection = True
            return
        self.delta({}, "stop")
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")

    def delta(self, delta: dict[str, str], finish_reason: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        self.event(self.identity | {"object": "chat.completion.chunk", "choices": [choice]})


@contextmanager
def open_webui(collector: Collector, folder: Path) -> Iterator[str]:
    port = free_port()
    (folder / "webui").mkdir()
    with UpstreamServer(("127.0.0.1", 0), Model) as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        environment = os.environ | {
            "DATA_DIR": str(folder / "webui"),
            "STATIC_DIR": str(folder / "static"),
            "OPENAI_API_BASE_URL": model.url,
            "OPENAI_API_KEY": "none",
            "WEBUI_AUTH": "False",
            "WEBUI_SECRET_KEY": "none",
            "ENABLE_OLLAMA_API": "False",
            "OFFLINE_MODE": "True",
            # Nothing of what searches documents is installed. This one does not connect before it is used.
            "BYPASS_EMBEDDING_AND_RETRIEVAL": "True",
            "RAG_EMBEDDING_ENGINE": "openai",
            "VECTOR_DB": "opensearch",
            "OPENSEARCH_USERNAME": "none",
            "OPENSEARCH_PASSWORD": "none",
        }
        program = Path(sys.executable).parent / "open-webui"
        command = [program, "serve", "--host", "127.0.0.1", "--port", str(port)]
        with serving(command, port, folder / "open-webui.log", cwd=folder, env=environment) as url:
            loader = RECIPE.read_text().replace("https://rum.example", collector.url).replace("pk_live_1", "pk_chat")
            (folder / "static/loader.js").write_text(loader + ENDED_STREAMS)
            yield url
        model.shutdown()


class Chat:
    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        post(f"{page._session}/goog/cdp/execute",
             {"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {"source": WIRE + REQUESTS}})
        page.open(url)
        # Its first page has a message about the version, over the others.
        news = "[...document.querySelectorAll('button')].find((button) => button.textContent.includes('Go!'))"
        self.until(f"window.llmRum?.probe && document.querySelector('#chat-input') && {news}", f"{news}.click()")
        self.until(f"!{news}")

    def until(self, condition: str, result: str = "null") -> object:
        return self.page.run(UNTIL % (condition, result))

    def click(self, selector: str) -> None:
        self.until(f"document.querySelector('{selector}:not(:disabled)')")
        self.page.click(selector)

    def ask(self, text: str) -> None:
        self.page.run("wire.length = 0;")
        self.page.type("#chat-input", text)
        self.click("#send-message-button")

    def ended(self, count: int) -> dict:
        return self.until(f"endedStreams.length == {count}", "endedStreams.at(-1)")


def times(wire: list[list]) -> tuple[float, list[float]]:
    """When the question was sent, and when each piece of its answer came."""
    sent = next(at for way, at, _ in wire if way == "ask")
    return sent, [at for way, at, text in wire if way == "in" and "response.output_text.delta" in text]


def test_answers_over_socket_io_are_as_on_the_wire(collector: Collector, tmp_path: Path) -> None:
    with open_webui(collector, tmp_path) as url, chromium() as page:
        chat = Chat(page, url)
        errors = []
        for count, (question, outcome, deltas) in enumerate(ANSWERED, start=1):
            chat.ask(question)
            if outcome == "aborted":
                chat.until("wire.filter(([, , text]) => text.includes('output_text.delta')).length > 10")
                chat.click("button[aria-label=Stop]")
            report = chat.ended(count)
            sent, came = times(page.run("return wire;"))
            assert (report["outcome"], report["deltas"]) == (outcome, len(came)), (question, report)
            assert deltas in [None, len(came)], (question, came)
            if not came:
                assert "ttft_ms" not in report, report
                continue
            assert report["dialect"] == "inferred"
            errors.append(report["ttft_ms"] - (came[0] - sent))
            # Messages that waited together for a busy page have the time of the first.
            assert came[-2] - ERROR_MS <= sent + report["e2e_ms"] <= came[-1] + ERROR_MS, (question, report)
        print("largest error in ms:", round(max(map(abs, errors)), 2))
        assert max(map(abs, errors)) <= ERROR_MS, [round(error, 1) for error in errors]
        assert page.run("return llmRum.probe.faults;") == 0
        page.run("await window.llmRum.probe.flush();")

        def counted() -> list[dict] | None:
            streams = json.loads(collector.get("/v1/streams?limit=50"))["streams"]
            return streams if len(streams) == len(ANSWERED) else None

        outcomes = sorted(stream["outcome"] for stream in until(counted, "a stream of each question"))
        assert outcomes == sorted(outcome for _, outcome, _ in ANSWERED)
