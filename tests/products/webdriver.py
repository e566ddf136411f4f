"""A page in a browser, driven by the WebDriver protocol."""

import json
import os
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from conftest import free_port, serving


ENTER = "\ue007"


class Page:
    def __init__(self, driver: str, session: str) -> None:
        self._session = f"{driver}/session/{session}"

    def open(self, url: str) -> None:
        post(f"{self._session}/url", {"url": url})

    def run(self, script: str, *arguments: object) -> object:
        """What the promise of the script's body resolves to."""
        body = f"const done = arguments[arguments.length - 1]; (async (...args) => {{{script}}})(...arguments).then(done)"
        return post(f"{self._session}/execute/async", {"script": body, "args": list(arguments)})

    def type(self, selector: str, text: str) -> None:
        """Presses the keys of the text in the element."""
        post(f"{self._element(selector)}/value", {"text": text})

    def click(self, selector: str) -> None:
        post(f"{self._element(selector)}/click", {})

    def _element(self, selector: str) -> str:
        found = post(f"{self._session}/element", {"using": "css selector", "value": selector})
        return f"{self._session}/element/{next(iter(found.values()))}"


ENGINES = ["chromium", "firefox", "webkit"]

# The collector leaves out browsers that name themselves headless.
CHROMIUM = ["--headless", "--no-sandbox", "--disable-dev-shm-usage", "--user-agent=Mozilla/5.0 Chrome/156.0.0.0"]
MINI_BROWSER = "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser"
TOOLS = Path(__file__).parents[2] / "target/tools/bin"

OPTIONS = {
    "chromium": {"goog:chromeOptions": {"args": CHROMIUM}},
    "firefox": {"moz:firefoxOptions": {"binary": "/usr/bin/firefox-esr", "args": ["-headless"]}},
    "webkit": {"webkitgtk:browserOptions": {"binary": MINI_BROWSER, "args": ["--automation"]}},
}


@contextmanager
def browser(engine: str) -> Iterator[Page]:
    """A page in one of the `ENGINES`."""
    with driving(engine) as driver:
        options = OPTIONS[engine] | {"timeouts": {"script": 600_000}}
        session = post(f"{driver}/session", {"capabilities": {"alwaysMatch": options}})["sessionId"]
        try:
            yield Page(driver, session)
        finally:
            urllib.request.urlopen(urllib.request.Request(f"{driver}/session/{session}", method="DELETE"))


def chromium() -> AbstractContextManager[Page]:
    return browser("chromium")


@contextmanager
def driving(engine: str) -> Iterator[str]:
    """The address of the engine's driver, which runs meanwhile."""
    if engine == "chromium":
        with printing(["chromedriver", "--port=0"], r"started successfully on port (\d+)") as port:
            yield f"http://127.0.0.1:{port}"
    elif engine == "firefox":
        program = shutil.which("geckodriver") or TOOLS / "geckodriver"
        command = [program, "--host", "127.0.0.1", "--port", "0"]
        with printing(command, r"Listening on 127.0.0.1:(\d+)") as port:
            yield f"http://127.0.0.1:{port}"
    else:
        # It has no headless mode: an X server draws into memory.
        display = ["Xvfb", "-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"]
        with printing(display, r"^(\d+)$") as number, TemporaryDirectory() as folder:
            # It does not say where it listens.
            port = free_port()
            command = ["WebKitWebDriver", "--host=127.0.0.1", f"--port={port}"]
            environment = os.environ | {"DISPLAY": f":{number}"}
            with serving(command, port, Path(folder) / "log", env=environment) as driver:
                yield driver


@contextmanager
def printing(command: list[str | Path], pattern: str) -> Iterator[str]:
    """What a program that runs meanwhile has printed at the place of the pattern's group."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout
        yield next(found[1] for line in process.stdout if (found := re.search(pattern, line)))
    finally:
        process.terminate()
        process.wait()


def post(url: str, body: object) -> object:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["value"]
