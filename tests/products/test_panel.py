"""Panel's chat, which no extension can read: its pages are shadow roots, and its events are changes of models. Then the
probe has to claim nothing."""

import json
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from conftest import Collector, free_port, serving
from streamlit_pace import WORDS
from webdriver import ENTER, Page, chromium, post

# The page's elements, also in shadow roots.
ALL = """
const all = (root) => [...root.querySelectorAll("*")].flatMap((element) =>
  element.shadowRoot ? [element, ...all(element.shadowRoot)] : [element]);
const until = async (there) => { while (!there()) await new Promise((next) => setTimeout(next, 20)); };
const field = () => all(document).find((element) => element.matches("textarea"));
"""
START = """
await until(() => window.llmRum?.probe && window.llmRumMore && field());
field().focus();
"""
ANSWERED = """
const isWhole = (element) => element.matches("p") && element.textContent.includes(args[0]);
await until(() => all(document).some(isWhole));
await window.llmRum.probe.flush();
"""


def panel(collector: Collector, folder: Path, *asks: str) -> AbstractContextManager[str]:
    program, port = Path(__file__).with_name("panel_chat.py"), free_port()
    return serving([sys.executable, program, collector.url, str(port), *asks], port, folder / "log", cwd=folder)


def ask(page: Page, url: str) -> None:
    page.open(url)
    page.run(ALL + START)
    keys = [{"type": way, "value": key} for key in "How far is it?" + ENTER for way in ("keyDown", "keyUp")]
    post(f"{page._session}/actions", {"actions": [{"type": "key", "id": "keys", "actions": keys}]})
    page.run(ALL + ANSWERED, f"word{WORDS - 1}")


def test_answers_of_panel_are_not_seen(collector: Collector, tmp_path: Path) -> None:
    with panel(collector, tmp_path) as url, chromium() as page:
        ask(page, url)
    for kind in "", "?stream_kind=output":
        assert json.loads(collector.get(f"/v1/streams{kind}"))["streams"] == []


def test_questions_of_panel_that_are_named_have_no_text(collector: Collector, tmp_path: Path) -> None:
    with panel(collector, tmp_path, "data-asks=chat_message_event") as url, chromium() as page:
        ask(page, url)
    streams = json.loads(collector.get("/v1/streams"))["streams"]
    assert [(stream["dialect"], stream["deltas"]) for stream in streams] == [("generic", 0)]
    assert "ttft_ms" not in streams[0], streams
