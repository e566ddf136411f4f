"""A page of the docs that builds an app in an empty folder, and what runs it."""

import json
import os
import re
import shlex
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from conftest import PROGRAM, free_port, is_listening, until
from webdriver import chromium

ROOT = Path(__file__).parents[2]


class Recipe:
    """The text of a page, with free ports in the place of its own, and the folder in which it is run."""

    def __init__(self, page: str, parent: Path, *ports: str) -> None:
        self.text = (ROOT / "docs" / page).read_text()
        self._ports = {port: free_port() for port in ("8787", *ports)}
        for port, free in self._ports.items():
            self.text = re.sub(rf"\b{port}\b", str(free), self.text)
        # Beside a clone of the repository, as the pages have it.
        (parent / "llm-rum").symlink_to(ROOT)
        self._folder = parent / "app"
        self._folder.mkdir()

    def block(self, language: str, word: str = "") -> str:
        """The only code in this language with this word in it."""
        blocks = re.findall(rf"^```{language}\n(.*?)^```", self.text, re.DOTALL | re.MULTILINE)
        [code] = [block for block in blocks if word in block]
        return code

    def write(self, name: str, code: str) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)

    def collector(self) -> AbstractContextManager[str]:
        """The collector of the page's first step."""
        self.write("llm-rum.toml", self.block("toml"))
        serve = self.block("sh", "llm-rum serve").replace("../llm-rum/target/release/llm-rum", shlex.quote(PROGRAM))
        listen = f"{serve.rstrip()} --listen 127.0.0.1:{self._ports['8787']}"
        return running(listen, self._folder, self._ports["8787"], {})

    def server(self, word: str, port: str, environment: dict[str, str]) -> AbstractContextManager[str]:
        """A server of a later step, installed and started. The page starts it on this port."""
        return running(self.block("sh", word), self._folder, self._ports[port], environment)


@contextmanager
def running(command: str, folder: Path, port: int, environment: dict[str, str]) -> Iterator[str]:
    """A server, started by lines of the shell."""
    process = subprocess.Popen(["sh", "-ec", command], cwd=folder, env=os.environ | environment, start_new_session=True)

    def listens() -> bool | None:
        assert process.poll() is None, f"has ended: {command}"
        return is_listening(port) or None

    try:
        until(listens, "server", PATIENCE_S)
        yield f"http://127.0.0.1:{port}"
    finally:
        # The shell and what it started. If both have ended, `listens` says so.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def ask_in_browser(url: str, chat: str, collector: str, layer: str = "app") -> tuple[str, dict]:
    """Presses the page's button. Gives back the answer, once the response of this address is over, and its report, once
    the collector has the timing of the layer."""

    def matched() -> dict | None:
        with urllib.request.urlopen(f"{collector}/v1/streams") as answer:
            streams = json.load(answer)["streams"]
        return next((stream for stream in streams if layer in stream.get("layers", {})), None)

    with chromium() as page:
        page.open(url)
        return page.run(ASK, chat), until(matched, f"stream with the layer {layer}")


# Packages are installed and built first.
PATIENCE_S = 600

ASK = """
const [chat] = args, button = document.querySelector("button");
const until = async (isTrue) => { while (!isTrue()) await new Promise((next) => setTimeout(next, 10)); };
const text = () => document.querySelector("p").textContent;
// Before React has taken over its HTML, a click does nothing.
await until(() => button.onclick || Object.keys(button).some((key) => key.startsWith("__reactProps")));
button.click();
// The browser lists a response once it is over. React may render its end later.
await until(() => performance.getEntriesByName(new URL(chat, location).href).length > 0 && text().endsWith("more"));
return text();
"""
