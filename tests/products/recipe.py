"""The blocks of a page of the docs, and programs that run them."""

import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import is_listening, until
from webdriver import chromium

ROOT = Path(__file__).parents[2]


def blocks(page: str, language: str) -> list[str]:
    """The code in this language, as the page has it."""
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def empty_folder(parent: Path) -> Path:
    """A folder beside a clone of the repository, as the pages have it."""
    (parent / "llm-rum").symlink_to(ROOT)
    folder = parent / "app"
    folder.mkdir()
    return folder


@contextmanager
def running(command: str, folder: Path, port: int, environment: dict[str, str]) -> Iterator[str]:
    """A server, started by lines of the shell."""
    process = subprocess.Popen(["sh", "-ec", command], cwd=folder, env=os.environ | environment, start_new_session=True)

    def listens() -> bool | None:
        assert process.poll() is None, f"has ended: {command}"
        return is_listening(port) or None

    try:
        until(listens, "server")
        yield f"http://127.0.0.1:{port}"
    finally:
        # The shell and what it started.
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def ask_in_browser(url: str, chat: str) -> str:
    """Presses the page's button. Gives back the answer once the response of this path is over."""
    with chromium() as page:
        page.open(url)
        return page.run(ASK, chat)


def stream_with_layer(collector: str, layer: str) -> dict:
    """The only stream of the collector, once it has the layer's timing."""

    def matched() -> dict | None:
        with urllib.request.urlopen(f"{collector}/v1/streams") as answer:
            streams = json.load(answer)["streams"]
        return next((stream for stream in streams if layer in stream.get("layers", {})), None)

    return until(matched, f"stream with the layer {layer}")


ASK = """
while (!window.llmRum?.probe) await new Promise((next) => setTimeout(next, 10));
document.querySelector("button").click();
// The browser lists a response once it is over.
const isOver = () => performance.getEntriesByType("resource").some(({ name }) => name === new URL(args[0], location).href);
while (!isOver()) await new Promise((next) => setTimeout(next, 10));
await window.llmRum.probe.flush();
return document.querySelector("p").textContent;
"""
