"""A page in Chromium, driven by the WebDriver protocol."""

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager


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


@contextmanager
def chromium() -> Iterator[Page]:
    process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        port = next(line.split("port ")[1].rstrip(".\n") for line in process.stdout if "started successfully" in line)
        driver = f"http://127.0.0.1:{port}"
        # The collector leaves out browsers that name themselves headless.
        arguments = ["--headless", "--no-sandbox", "--disable-dev-shm-usage", "--user-agent=Mozilla/5.0 Chrome/156.0.0.0"]
        options = {"goog:chromeOptions": {"args": arguments}, "timeouts": {"script": 600_000}}
        session = post(f"{driver}/session", {"capabilities": {"alwaysMatch": options}})["sessionId"]
        try:
            yield Page(driver, session)
        finally:
            urllib.request.urlopen(urllib.request.Request(f"{driver}/session/{session}", method="DELETE"))
    finally:
        process.terminate()
        process.wait()


def post(url: str, body: object) -> object:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["value"]
